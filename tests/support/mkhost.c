/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkhost.c - a host that has less: runs a command below a filter that answers some system calls as
 * an older or stricter kernel would, and under a tracer that gives Landlock an older ABI.
 *
 *	mkhost [--abi N] [--no LACK[=ERRNO]]... [--call NUMBER[:ARG:VALUE]=ERRNO]... [--in FILTER]
 *		COMMAND ARGS...		(the tables below)
 *	mkhost --filters		their names
 *
 * ERRNO of --call is a number, and the call is refused where the low half of that argument is
 * VALUE. Exit status: the command's, 128+n for a signal, 99 when the host cannot be made.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __x86_64__
int main(void)
{
	fprintf(stderr, "mkhost: x86-64 only\n");
	return 99;
}
#else

#define STMT(code, k)	      ((struct sock_filter)BPF_STMT((code), (k)))
#define JUMP(code, k, jt, jf) ((struct sock_filter)BPF_JUMP((code), (k), (jt), (jf)))
#define NR(field)	      (unsigned)offsetof(struct seccomp_data, field)

#define ALL_NS                                                                                     \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

static struct sock_filter prog[256];
static unsigned n;
static uint64_t keep_caps = UINT64_MAX; /* of the filters that are put on */

/* The call answers `sys`, when bits of its argument `arg` are among `bits`; 0 = always. */
static void refuse(int call, unsigned arg, unsigned bits, unsigned action)
{
	if (!bits) {
		prog[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
		prog[n++] = STMT(BPF_RET | BPF_K, action);
		return;
	}
	prog[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 4);
	prog[n++] = STMT(BPF_LD | BPF_W | BPF_ABS, NR(args) + 8 * arg);
	prog[n++] = JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	prog[n++] = STMT(BPF_RET | BPF_K, action);
	prog[n++] = STMT(BPF_LD | BPF_W | BPF_ABS, NR(nr));
}

static const struct {
	const char *name;
	int sys; /* what is answered unless said otherwise */
	struct {
		int call;
		unsigned arg, bits;
	} calls[12];
} lacks[] = {
	{"landlock",
	 ENOSYS,
	 {{SYS_landlock_create_ruleset, 0, 0},
	  {SYS_landlock_add_rule, 0, 0},
	  {SYS_landlock_restrict_self, 0, 0}}},
	{"namespaces", EPERM, {{SYS_unshare, 0, ALL_NS}, {SYS_clone, 0, ALL_NS}}},
	{"unshare", EPERM, {{SYS_unshare, 0, 0}, {SYS_clone, 0, ALL_NS}}},
	{"listener", EBUSY, {{SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER}}},
	{"mounts", EPERM, {{SYS_mount, 0, 0}}},
	{"killable", EINVAL, {{SYS_seccomp, 1, 1u << 5}}}, /* WAIT_KILLABLE_RECV: Linux 5.19 */
	{"openat2", ENOSYS, {{SYS_openat2, 0, 0}}},
	{"memory", EPERM, {{SYS_process_vm_readv, 0, 0}}},
	{"writing", EPERM, {{SYS_process_vm_writev, 0, 0}}},
	{"getfd", EPERM, {{SYS_pidfd_getfd, 0, 0}}},
	{"pidfd", EPERM, {{SYS_pidfd_open, 0, 0}}},
	{"seccomp", EPERM, {{SYS_seccomp, 0, 0}}},
	{"clone3", ENOSYS, {{SYS_clone3, 0, 0}}},
	{"admin",
	 EPERM,
	 {{SYS_mount, 0, 0},
	  {SYS_umount2, 0, 0},
	  {SYS_setns, 0, 0},
	  {SYS_pivot_root, 0, 0},
	  {SYS_bpf, 0, 0},
	  {SYS_perf_event_open, 0, 0},
	  {SYS_open_by_handle_at, 0, 0},
	  {SYS_fanotify_init, 0, 0}}},
	{"keys", EPERM, {{SYS_keyctl, 0, 0}, {SYS_add_key, 0, 0}, {SYS_request_key, 0, 0}}},
	{"keyadd", ENOSYS, {{SYS_add_key, 0, 0}, {SYS_request_key, 0, 0}}},
	{"kcmp", EPERM, {{SYS_kcmp, 0, 0}}},
	{"chroot", EPERM, {{SYS_chroot, 0, 0}}},
	{"ptrace", EPERM, {{SYS_ptrace, 0, 0}, {SYS_kcmp, 0, 0}}},
	{"newer",
	 EPERM,
	 {{SYS_openat2, 0, 0},
	  {SYS_faccessat2, 0, 0},
	  {SYS_close_range, 0, 0},
	  {SYS_pidfd_open, 0, 0},
	  {SYS_pidfd_getfd, 0, 0}}},
};

/* Capabilities that container engines leave root by default, and those before Podman 4. */
#define CAP(name) (UINT64_C(1) << CAP_##name)
#define PODMAN_CAPS                                                                                \
	(CAP(CHOWN) | CAP(DAC_OVERRIDE) | CAP(FOWNER) | CAP(FSETID) | CAP(KILL) |                  \
	 CAP(NET_BIND_SERVICE) | CAP(SETFCAP) | CAP(SETGID) | CAP(SETPCAP) | CAP(SETUID) |         \
	 CAP(SYS_CHROOT))
#define CRIO_CAPS   (PODMAN_CAPS & ~(CAP(SETFCAP) | CAP(SYS_CHROOT)))
#define DOCKER_CAPS (PODMAN_CAPS | CAP(AUDIT_WRITE) | CAP(MKNOD) | CAP(NET_RAW))
#define ALL_CAPS    UINT64_MAX

/* What filters people have refuse, as far as a run asks for it. The defaults of container engines
 * are those of their published profiles, with the capabilities they leave: moby/profiles,
 * containers/common (Podman and CRI-O), containerd contrib/seccomp. */
static const struct {
	const char *name;
	uint64_t caps;
	const char *lacks[10];
} filters[] = {
	{"docker", DOCKER_CAPS, {"unshare", "clone3", "admin", "keys", "getfd", "kcmp"}},
	{"docker+SYS_PTRACE",
	 DOCKER_CAPS | CAP(SYS_PTRACE),
	 {"unshare", "clone3", "admin", "keys"}},
	{"docker+SYS_ADMIN", DOCKER_CAPS | CAP(SYS_ADMIN), {"keys", "getfd", "kcmp"}},
	{"docker-20.10",
	 DOCKER_CAPS,
	 {"unshare", "clone3", "admin", "keys", "getfd", "landlock=EPERM"}},
	{"docker-19.03",
	 DOCKER_CAPS,
	 {"unshare", "clone3=EPERM", "admin", "keys", "newer", "landlock=EPERM"}},
	{"podman", PODMAN_CAPS, {"keyadd", "kcmp"}}, /* 4.2 and newer */
	{"podman-4.1", PODMAN_CAPS, {"keyadd", "kcmp", "landlock"}},
	{"podman-3", DOCKER_CAPS, {"keyadd", "memory", "writing", "ptrace", "landlock"}},
	{"kubernetes", DOCKER_CAPS, {"unshare", "clone3", "admin", "keys", "getfd", "kcmp"}},
	{"cri-o", CRIO_CAPS, {"unshare=ENOSYS", "clone3", "keyadd", "kcmp", "chroot"}},
	{"containerd-1.6",
	 DOCKER_CAPS,
	 {"unshare", "clone3", "admin", "keys", "memory", "writing", "getfd", "kcmp"}},
	{"containerd-1.4",
	 DOCKER_CAPS,
	 {"unshare", "clone3=EPERM", "admin", "keys", "memory", "writing", "pidfd", "getfd",
	  "landlock=EPERM"}},
	{"flatpak", 0, {"unshare", "clone3", "admin", "keys", "ptrace"}},
	{"agent", ALL_CAPS, {"listener=EBUSY"}},
	{"no-seccomp", ALL_CAPS, {"seccomp"}},
	{"old-libseccomp", ALL_CAPS, {"openat2=EPERM", "clone3=EPERM"}},
};

static int errno_of(const char *name, int otherwise)
{
	static const struct {
		const char *name;
		int sys;
	} names[] = {{"ENOSYS", ENOSYS}, {"EPERM", EPERM},   {"EBUSY", EBUSY},
		     {"ENOSPC", ENOSPC}, {"EINVAL", EINVAL}, {"EOPNOTSUPP", EOPNOTSUPP}};

	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i].name, name))
			return names[i].sys;
	return name ? -1 : otherwise;
}

static int add_lack(char *text)
{
	char *why = strchr(text, '=');

	if (why)
		*why++ = '\0';
	for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
		int sys = errno_of(why, lacks[i].sys);

		if (strcmp(lacks[i].name, text) != 0 || sys < 0)
			continue;
		for (size_t k = 0; k < 12 && lacks[i].calls[k].call; k++)
			refuse(lacks[i].calls[k].call, lacks[i].calls[k].arg,
			       lacks[i].calls[k].bits, SECCOMP_RET_ERRNO | (unsigned)sys);
		return 0;
	}
	return -1;
}

/* "NUMBER=ERRNO", "NUMBER:ARG:VALUE=ERRNO" */
static int add_call(const char *text)
{
	unsigned call, arg, value, sys;

	if (n + 8 > sizeof prog / sizeof *prog)
		return -1;
	if (sscanf(text, "%u=%u", &call, &sys) == 2) {
		refuse((int)call, 0, 0, SECCOMP_RET_ERRNO | sys);
		return 0;
	}
	if (sscanf(text, "%u:%u:%u=%u", &call, &arg, &value, &sys) != 4 || arg > 5)
		return -1;
	prog[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
	prog[n++] = STMT(BPF_LD | BPF_W | BPF_ABS, NR(args) + 8 * arg);
	prog[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	prog[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | sys);
	prog[n++] = STMT(BPF_LD | BPF_W | BPF_ABS, NR(nr));
	return 0;
}

static int add_filter(const char *name)
{
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		if (strcmp(filters[i].name, name) != 0)
			continue;
		keep_caps &= filters[i].caps;
		for (size_t k = 0; k < 10 && filters[i].lacks[k]; k++) {
			char text[32];

			snprintf(text, sizeof text, "%s", filters[i].lacks[k]);
			if (add_lack(text) < 0)
				return -1;
		}
		return 0;
	}
	return -1;
}

static int list_filters(void)
{
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
		printf("%s\n", filters[i].name);
	return 0;
}

/* Those of a user are none, whatever an engine leaves to root. */
static int drop_caps(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct had[2];
	uint64_t kept;

	if (keep_caps == ALL_CAPS)
		return 0;
	if (syscall(SYS_capget, &head, had) < 0)
		return -1;
	kept = (had[0].permitted | (uint64_t)had[1].permitted << 32) & keep_caps;
	for (int cap = 0; had[0].permitted & 1u << CAP_SETPCAP && cap < 64; cap++)
		if (!(keep_caps >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 &&
		    errno != EINVAL)
			return -1;
	had[0] = (struct __user_cap_data_struct){(uint32_t)kept, (uint32_t)kept, 0};
	had[1] = (struct __user_cap_data_struct){(uint32_t)(kept >> 32), (uint32_t)(kept >> 32), 0};
	return syscall(SYS_capset, &head, had) < 0 ? -1 : 0;
}

static int put_on(void)
{
	const struct sock_fprog filter = {.filter = prog, .len = (unsigned short)n};

	return drop_caps() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
			       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0
		       ? -1
		       : 0;
}

/* ---- an older Landlock ---- */

/* What landlock_create_ruleset(2) of that ABI would answer; 1 = as it is. */
static long old_answer(pid_t pid, const struct user_regs_struct *r, int abi)
{
	static const int fs_bits[] = {0, 13, 14, 15, 15, 16};
	uint64_t attr[3] = {0};
	struct iovec to = {attr, r->rsi < sizeof attr ? r->rsi : sizeof attr};
	struct iovec from = {(void *)r->rdi, to.iov_len};
	int bits = abi < 5 ? fs_bits[abi] : fs_bits[5];

	if (r->rdx == LANDLOCK_CREATE_RULESET_VERSION)
		return abi;
	if (r->rdx)
		return -EINVAL; /* errata: newer */
	if (process_vm_readv(pid, &to, 1, &from, 1, 0) < 0)
		return -EFAULT;
	if ((abi < 4 && attr[1]) || (abi < 6 && attr[2]))
		return -E2BIG;
	return attr[0] >> bits ? -EINVAL : 1;
}

static void answer(pid_t pid, int abi)
{
	struct user_regs_struct r;
	long rc;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &r) < 0)
		return;
	rc = old_answer(pid, &r, abi);
	if (rc == 1 && !r.rdx)
		return;
	r.orig_rax = (unsigned long long)-1; /* no call is made, and this is its result */
	r.rax = (unsigned long long)rc;
	(void)ptrace(PTRACE_SETREGS, pid, NULL, &r);
}

static int end_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int trace(pid_t command, int abi)
{
	int status, result = 99;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int event = status >> 16, sig = 0;

		if (!WIFSTOPPED(status)) {
			if (pid == command)
				result = end_of(status);
			continue;
		}
		if (event == PTRACE_EVENT_SECCOMP)
			answer(pid, abi);
		else if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP) {
			(void)ptrace(PTRACE_LISTEN, pid, NULL, NULL);
			continue;
		} else if (!event)
			sig = WSTOPSIG(status);
		(void)ptrace(PTRACE_CONT, pid, NULL, (void *)(long)sig);
	}
	return result;
}

static int start(char **argv, int abi)
{
	const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	int go[2], status;
	pid_t pid;
	char c;

	if (pipe(go) < 0)
		return 99;
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1 || put_on() < 0)
			_exit(99);
		close(go[0]);
		execvp(argv[0], argv);
		_exit(99);
	}
	if (pid < 0 || (abi && ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) < 0))
		return 99;
	if (write(go[1], "", 1) != 1)
		return 99;
	close(go[0]);
	close(go[1]);
	if (abi)
		return trace(pid, abi);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 99;
	return end_of(status);
}

int main(int argc, char **argv)
{
	int i, abi = 0;

	if (argc == 2 && !strcmp(argv[1], "--filters"))
		return list_filters();
	prog[n++] = STMT(BPF_LD | BPF_W | BPF_ABS, NR(nr));
	for (i = 1; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "--abi"))
			abi = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--in") && add_filter(argv[i + 1]) == 0)
			continue;
		else if (!strcmp(argv[i], "--call") && add_call(argv[i + 1]) == 0)
			continue;
		else if (strcmp(argv[i], "--no") != 0 || add_lack(argv[i + 1]) < 0)
			i = argc;
	}
	if (i >= argc || abi < 0 || abi > 7) {
		fprintf(stderr, "usage: mkhost [--abi 1..7] [--no LACK[=ERRNO]]... "
				"[--call NR[:ARG:VALUE]=ERRNO]... [--in FILTER] COMMAND\n");
		return 99;
	}
	if (abi)
		refuse(SYS_landlock_create_ruleset, 0, 0, SECCOMP_RET_TRACE);
	prog[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return start(argv + i, abi);
}
#endif
