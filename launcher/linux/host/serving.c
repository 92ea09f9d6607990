/* SPDX-License-Identifier: Apache-2.0 */
/* serving.c - the attempt. */
#include "launcher/report/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "launcher/linux/broker/public.h"
#include "launcher/linux/confine/confine_priv.h"

/* A call that does not come is waited for so long: the machine may be busy. */
enum { PATIENCE_MS = 5000 };

/* What the caller passes, and what the broker must find there. Both have it at one address. */
static char words[] = "sbx-launch looks into its callers";

struct attempt {
	enum lau_kinship kin;
	int socks[2];		/* the listener goes over these */
	struct lau_served *out; /* shared with those who try */
};

/* Nothing is known yet: who was killed says nothing. */
#define UNKNOWN LAU_SERVE_COUNT

static void fail(const struct attempt *a, enum lau_serving_step step)
{
	if (a->out->step == UNKNOWN)
		*a->out = (struct lau_served){.step = step, .sys = errno ? errno : EPROTO};
}

/* ---- the command, and its child that calls ---- */

static int trap(struct b_err *err)
{
	const struct sock_filter insn[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LAU_GREETING, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return lau_broker_trap(insn, sizeof insn / sizeof *insn, err);
}

static _Noreturn void be_command(const struct attempt *a)
{
	struct b_err err = {.kind = B_OK};
	int listener = trap(&err), status;
	pid_t pid;

	close(a->socks[0]);
	if (listener < 0) {
		errno = err.sys;
		fail(a, LAU_SERVE_LISTENER);
		_exit(1);
	}
	if (lau_fd_send(a->socks[1], listener) < 0)
		fail(a, LAU_SERVE_HANDING);
	close(listener);
	pid = fork();
	if (pid == 0) {
		/* the answer is the number of a descriptor that it then has */
		long fd = syscall(SYS_prctl, (long)LAU_GREETING, words, (long)a->socks[1], 0, 0);

		if (fd < 0 || fcntl((int)fd, F_GETFD) < 0)
			fail(a, LAU_SERVE_RECEIVE); /* the broker has said what else it was */
		else if (a->out->step == UNKNOWN)
			a->out->step = LAU_SERVE_DONE;
		_exit(0);
	}
	if (pid < 0)
		fail(a, LAU_SERVE_PROCESS);
	else
		(void)waitpid(pid, &status, 0);
	_exit(0);
}

/* ---- the broker ---- */

static bool sees_proc(pid_t caller)
{
	char text[32], path[64];
	ssize_t n = readlink("/proc/self", text, sizeof text - 1);
	int fd;

	text[n > 0 ? n : 0] = '\0';
	if (n <= 0)
		return false;
	errno = ESRCH; /* the /proc of other processes than ours */
	if (strtol(text, NULL, 10) != getpid())
		return false;
	snprintf(path, sizeof path, "/proc/%d/status", (int)caller);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool opens(void)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool reads(pid_t caller, uint64_t at, bool back)
{
	char found[sizeof words] = "";
	const struct iovec ours = {found, sizeof found};
	struct iovec theirs = {.iov_len = sizeof found};
	ssize_t n;

	memcpy(&theirs.iov_base, &at, sizeof at);
	n = process_vm_readv(caller, &ours, 1, &theirs, 1, 0);
	if (n == (ssize_t)sizeof found && back)
		n = process_vm_writev(caller, &ours, 1, &theirs, 1, 0);
	return n == (ssize_t)sizeof found && memcmp(found, words, sizeof words) == 0;
}

/* Sockets alone need it: its lack is told, and does not end the attempt. */
static int takes(pid_t caller, int number)
{
	int pidfd = (int)syscall(SYS_pidfd_open, caller, 0);
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	int sys = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	if (pidfd >= 0)
		close(pidfd);
	return sys;
}

static struct stat nowhere[1];

/* Each with a name that is looked up in no directory: EBADF. */
static const struct {
	const char *text;
	long nr;
	long args[5];
} acts[] = {
	{"mkdirat(2) is refused", SYS_mkdirat, {-1, (long)"x"}},
	{"mknodat(2) is refused", SYS_mknodat, {-1, (long)"x", S_IFREG}},
	{"unlinkat(2) is refused", SYS_unlinkat, {-1, (long)"x"}},
	{"renameat2(2) is refused", SYS_renameat2, {-1, (long)"x", -1, (long)"y"}},
	{"linkat(2) is refused", SYS_linkat, {-1, (long)"x", -1, (long)"y"}},
	{"symlinkat(2) is refused", SYS_symlinkat, {(long)"x", -1, (long)"y"}},
	{"fchmodat(2) is refused", SYS_fchmodat, {-1, (long)"x"}},
	{"fchownat(2) is refused", SYS_fchownat, {-1, (long)"x", -1, -1}},
	{"readlinkat(2) is refused", SYS_readlinkat, {-1, (long)"x", (long)nowhere, 1}},
	{"newfstatat(2) is refused", SYS_newfstatat, {-1, (long)"x", (long)nowhere}},
};

/* The first that is refused, or -1. */
static int refused_act(void)
{
	for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
		const long *a = acts[i].args;

		if (syscall(acts[i].nr, a[0], a[1], a[2], a[3], a[4]) < 0 && errno != EBADF)
			return (int)i;
	}
	return -1;
}

const char *lau_serving_act(int acting)
{
	return acts[acting].text;
}

uint64_t lau_serving_words(void)
{
	return (uint64_t)(uintptr_t)words;
}

struct lau_served lau_serving_of(pid_t caller, uint64_t at)
{
	struct lau_served out = {.step = LAU_SERVE_DONE};

	if (!sees_proc(caller))
		out.step = LAU_SERVE_PROC;
	else if (!opens())
		out.step = LAU_SERVE_OPENAT2;
	else if (at && !reads(caller, at, false))
		out.step = LAU_SERVE_MEMORY;
	else if (at && !reads(caller, at, true))
		out.step = LAU_SERVE_WRITING;
	else if ((out.acting = refused_act()) >= 0)
		out.step = LAU_SERVE_ACTING;
	else
		return (struct lau_served){.step = LAU_SERVE_DONE};
	out.sys = errno ? errno : EPROTO;
	return out;
}

static bool answers(int listener, const struct seccomp_notif *n)
{
	struct seccomp_notif_addfd add = {
		.id = n->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (unsigned)listener};

	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0;
}

static bool receives(int listener, struct seccomp_notif *n)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};

	memset(n, 0, sizeof *n);
	errno = ETIMEDOUT;
	return poll(&p, 1, PATIENCE_MS) > 0 && p.revents & POLLIN &&
	       ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, n) == 0;
}

static void serve_one(const struct attempt *a, int listener)
{
	struct seccomp_notif n;
	struct lau_served of;

	if (!receives(listener, &n)) {
		fail(a, LAU_SERVE_RECEIVE);
		return;
	}
	of = lau_serving_of((pid_t)n.pid, n.data.args[1]);
	if (of.step != LAU_SERVE_DONE && a->out->step == UNKNOWN)
		*a->out = of;
	if (of.step != LAU_SERVE_DONE)
		return;
	a->out->descriptor = takes((pid_t)n.pid, (int)n.data.args[2]);
	if (!answers(listener, &n))
		fail(a, LAU_SERVE_ANSWER);
}

/* A listener that is closed answers what waits for it: with ENOSYS. */
static void serve(const struct attempt *a)
{
	int listener = lau_fd_receive(a->socks[0]);

	if (listener < 0) {
		if (errno != ECONNRESET) /* else the command has said why */
			fail(a, LAU_SERVE_HANDING);
		return;
	}
	serve_one(a, listener);
	close(listener);
}

/* ---- around them ---- */

static bool enter_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	return unshare(CLONE_NEWUSER) == 0 && lau_userns_map(uid, gid) == 0;
}

static void await(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* In place of the supervisor, or of a broker that is the command's parent. */
static void stage(struct attempt *a)
{
	pid_t command, broker = 0;

	if (a->kin == LAU_KIN_OWN_NS && !enter_namespace()) {
		fail(a, LAU_SERVE_NAMESPACE);
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a->socks) < 0) {
		fail(a, LAU_SERVE_PROCESS);
		return;
	}
	command = fork();
	if (command == 0)
		be_command(a);
	if (command < 0) {
		fail(a, LAU_SERVE_PROCESS);
		return;
	}
	close(a->socks[1]);
	if (a->kin != LAU_KIN_PARENT) {
		broker = fork();
		if (broker < 0)
			fail(a, LAU_SERVE_PROCESS);
	}
	if (broker == 0) {
		serve(a);
		if (a->kin != LAU_KIN_PARENT)
			_exit(0);
	}
	close(a->socks[0]);
	await(broker);
	await(command);
}

static struct lau_served attempt(enum lau_kinship kin)
{
	struct lau_served result = {.step = LAU_SERVE_PROCESS, .sys = ENOMEM};
	struct attempt a = {.kin = kin};
	pid_t pid;

	a.out = mmap(NULL, sizeof *a.out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (a.out == MAP_FAILED)
		return result;
	*a.out = (struct lau_served){.step = UNKNOWN};
	pid = fork();
	if (pid == 0) {
		stage(&a);
		_exit(0);
	}
	result.sys = errno;
	await(pid);
	if (pid > 0)
		result = *a.out;
	if (result.step == UNKNOWN)
		result = (struct lau_served){.step = LAU_SERVE_RECEIVE, .sys = EPROTO};
	(void)munmap(a.out, sizeof *a.out);
	return result;
}

static int yama_scope(void)
{
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	char c = 0;

	if (fd < 0)
		return -1;
	if (read(fd, &c, 1) != 1)
		c = 0;
	close(fd);
	return c >= '0' && c <= '9' ? c - '0' : -1;
}

/* Nobody but a filter keeps a process from its own memory. */
static int reads_itself(void)
{
	char found[sizeof words];
	const struct iovec to = {found, sizeof found}, from = {words, sizeof words};

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 ? errno : 0;
}

static int writes_itself(void)
{
	char to_be[1] = "";
	const struct iovec from = {to_be, 1}, to = {to_be, 1};

	return process_vm_writev(getpid(), &from, 1, &to, 1, 0) < 0 ? errno : 0;
}

static void take_own(struct lau_serving *s)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), fd;

	s->pidfd_sys = pidfd < 0 ? errno : 0;
	if (pidfd < 0)
		return;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, pidfd, 0);
	s->getfd_sys = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	close(pidfd);
}

void lau_serving_look(struct lau_serving *s)
{
	*s = (struct lau_serving){.yama = yama_scope(),
				  .is_filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0};
	if (!s->is_filtered)
		return;
	s->self_sys = reads_itself();
	s->writing_sys = writes_itself();
	s->acting = refused_act();
	take_own(s);
}

void lau_serving_try(struct lau_serving *s)
{
	const struct sigaction waitable = {.sa_handler = SIG_DFL};
	struct sigaction before;

	lau_serving_look(s);
	/* Ignored, as it may be inherited, it would leave no child to wait for. */
	sigaction(SIGCHLD, &waitable, &before);
	for (int kin = 0; kin < LAU_KIN_COUNT; kin++) {
		bool is_known = kin && s->by[kin - 1].step == LAU_SERVE_DONE;

		/* root makes no user namespace, and none is needed where it works without */
		s->by[kin] = is_known || (kin == LAU_KIN_OWN_NS && geteuid() == 0)
				     ? s->by[kin - 1]
				     : attempt((enum lau_kinship)kin);
	}
	sigaction(SIGCHLD, &before, NULL);
	s->is_tried = true;
}

bool lau_serving_choose(const struct lau_serving *s, bool own_ns, enum lau_kinship *out)
{
	for (int kin = 0; kin < LAU_KIN_COUNT; kin++)
		if (s->by[kin].step == LAU_SERVE_DONE && (kin != LAU_KIN_OWN_NS || own_ns)) {
			*out = (enum lau_kinship)kin;
			return true;
		}
	*out = LAU_KIN_PARENT;
	return false;
}
