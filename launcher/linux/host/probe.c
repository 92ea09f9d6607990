/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - what this host can do, tried in children, and the verdict on it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/chain.h"
#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/channel.h"
#include "launcher/linux/broker/public.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/filters/filters.h"
#include "launcher/linux/nested/nest.h"
#include "launcher/linux/process/process.h"
#include "launcher/report/host.h"
#include "launcher/run/confine.h"
#include "launcher/run/os.h"
#include "launcher/run/spawn.h"

#define SECCOMP_NOTIFY_FLAG (1ul << 3) /* SECCOMP_FILTER_FLAG_NEW_LISTENER, 5.0 */

/* Runs an attempt where it leaves no trace; the child's exit status is the errno. */
static struct lau_ability attempt(int (*act)(void))
{
	const struct sigaction waitable = {.sa_handler = SIG_DFL};
	struct sigaction before;
	int status = 0, sys = EAGAIN;
	pid_t pid;

	/* Ignored, as it may be inherited, it would leave no child to wait for. */
	sigaction(SIGCHLD, &waitable, &before);
	pid = fork();
	if (pid == 0)
		_exit(act() < 0 ? errno : 0);
	if (pid > 0) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		sys = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
	}
	sigaction(SIGCHLD, &before, NULL);
	return (struct lau_ability){.has = !sys, .sys = sys};
}

static int install_filter(unsigned long flags)
{
	struct sock_filter room[LAU_FILTER_MAX];
	struct sock_fprog prog = {.len = lau_filter_unpack(0, room).len, .filter = room};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static int try_filter(void)
{
	return install_filter(0);
}

static int try_notify(void)
{
	return install_filter(SECCOMP_NOTIFY_FLAG);
}

/* What a run does, to the letter. */
static int try_net_ns(void)
{
	const struct lau_confine c = {.want_net_ns = true};

	return lau_confine_namespaces(&c, NULL);
}

static int try_shm(void)
{
	const struct lau_confine c = {.isolate = LAU_ISOLATE_SHM,
				      .isolate_must = LAU_ISOLATE_SHM,
				      .landlock_fd = -1,
				      .broker_landlock_fd = -1};

	return lau_confine_namespaces(&c, NULL);
}

/* The first process of the namespace is made a child of ours, so of one that has time to wait. */
static int try_pid_ns(void)
{
	const struct lau_confine c = {.isolate = LAU_ISOLATE_PID,
				      .isolate_must = LAU_ISOLATE_PID,
				      .landlock_fd = -1,
				      .broker_landlock_fd = -1};
	pid_t self = getpid(), pid = fork(), init;
	int status, sys;

	if (pid == 0) {
		sys = lau_confine_namespaces(&c, NULL) < 0 ||
				      lau_confine_init(&c, self, -1, &init, NULL) < 0
			      ? errno
			      : 0;
		_exit(sys);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
	return errno ? -1 : 0; /* and our end is that of the first process */
}

static int try_pidfd(void)
{
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static int try_cgroup(void)
{
	struct b_str parent = {0};
	unsigned can = lau_cgroup_parent(&parent);

	b_str_release(&parent);
	errno = EOPNOTSUPP;
	return can == LAU_CGROUP_BOUNDS ? 0 : -1;
}

static bool apparmor_restricts(void)
{
	char c = '0';
	int fd = open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, &c, 1) != 1)
		c = '0';
	close(fd);
	return c == '1';
}

static int try_openat2(void)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);
}

/* The kernel looks at the flags (WAIT_KILLABLE_RECV: Linux 5.19) before it looks at the filter,
 * which is none here. */
static bool has_broker(int abi)
{
	return abi > 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, LAU_TRAP_FLAGS, NULL) < 0 &&
	       errno != EINVAL;
}

void lau_host_quick(struct lau_host *h)
{
	struct utsname un;
	struct stat st;

	*h = (struct lau_host){.is_root = geteuid() == 0};
	errno = 0;
	h->landlock_abi = lau_landlock_abi();
	h->landlock_errno = h->landlock_abi ? 0 : errno;
	if (uname(&un) == 0)
		snprintf(h->kernel, sizeof h->kernel, "%.64s", un.release);
	h->has_broker = has_broker(h->landlock_abi);
	h->has_shm = lstat("/dev/shm", &st) == 0 && S_ISDIR(st.st_mode);
	h->is_inside = h->landlock_errno == EOPNOTSUPP && getenv(SBX_ENV_CHANNEL);
}

bool lau_host_has_net_ns(void)
{
	return attempt(try_net_ns).has;
}

void lau_host_settle(struct lau_host *h, const char *state, bool own_ns)
{
	if (h->is_settled)
		return;
	h->is_settled = true;
	h->own_ns = own_ns && !h->is_root;
	if (!h->has_broker)
		return;
	lau_serving_find(state, h->own_ns, &h->serving);
	h->has_broker = lau_serving_choose(&h->serving, h->own_ns, &h->kinship);
}

bool lau_host_settle_apart(struct lau_host *h)
{
	if (h->has_broker || h->own_ns || h->is_root || h->is_inside ||
	    !has_broker(h->landlock_abi) || !lau_serving_choose(&h->serving, true, &h->kinship))
		return false;
	h->own_ns = h->has_broker = true;
	return true;
}

/* "STATE/runs" -> "STATE" */
static const char *state_of(char *runs)
{
	char *end = runs ? strrchr(runs, '/') : NULL;

	if (end)
		*end = '\0';
	return end ? runs : NULL;
}

void lau_host_probe(struct lau_host *h)
{
	struct b_err err;
	b_auto_free char *runs = aud_runs_root(&err);
	const char *state = state_of(runs);
	long errata;

	/* as a run does: what meets the limit of file sizes fails, and is told */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)lau_umask_relax();
	lau_host_quick(h);
	h->is_served = h->is_inside && lau_nest_is_served();
	lau_serving_forget(state); /* tried anew */
	lau_host_settle(h, state, true);
	errata = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u << 1); /* ERRATA, 6.15 */
	h->landlock_errata = errata > 0 ? (unsigned)errata : 0;
	h->apparmor_userns = apparmor_restricts();
	h->seccomp_filter = attempt(try_filter);
	h->seccomp_notify = attempt(try_notify);
	h->user_ns = attempt(lau_userns_try);
	h->net_ns = attempt(try_net_ns);
	h->pid_ns = attempt(try_pid_ns);
	h->mount_ns = attempt(try_shm);
	h->openat2 = attempt(try_openat2);
	h->pidfd = attempt(try_pidfd);
	h->cgroup = attempt(try_cgroup);
	lau_verdicts_ask(h->verdicts);
	h->has_verdicts = true;
}

/* ---- the verdict ---- */

static const struct {
	const char *text;
	const char *words[2];
} asked[LAU_VERDICTS] = {
	{"", {NULL}},
	{"--deny-read '**/*.env'", {"--deny-read", "**/*.env"}},
	{"--network none", {"--network", "none"}},
	{"--network loopback", {"--network", "loopback"}},
	{"--network host", {"--network", "host"}},
	{"--network watch", {"--network", "watch"}},
};

/* The record is not made, but would be. */
static int try_record(struct b_err *err)
{
	unsigned char key[B_HMAC_KEY];
	struct aud_rundir d;
	b_auto_free char *runs = aud_runs_root(err);
	int rc;

	if (!runs || aud_rundir_new(&d, err) < 0)
		return -1;
	rc = aud_key_load(runs, true, key, err);
	aud_rundir_discard(&d);
	return rc;
}

static _Noreturn void be_run(const char *self, const char *const words[2], int err)
{
	const char *argv[12];
	int n = 0, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	argv[n++] = self;
	argv[n++] = "--strict";
	argv[n++] = "--audit-level";
	argv[n++] = "none";
	for (int i = 0; i < 2 && words[i]; i++)
		argv[n++] = words[i];
	argv[n++] = "--";
	argv[n++] = self;
	argv[n++] = "--version";
	argv[n] = NULL;
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	dup2(null >= 0 ? null : err, STDOUT_FILENO); /* what it prints is no part of our answer */
	dup2(err, STDERR_FILENO);
	execv(self, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* The last line that is an error: those before it are others of the same kind, or notes. */
static void take_why(const char *text, struct lau_verdict *v)
{
	static const char mark[] = "sbx-launch: E_";
	const char *last = NULL;

	for (const char *at = text; (at = strstr(at, mark)); at++)
		last = at + sizeof mark - 3;
	if (last)
		snprintf(v->why, sizeof v->why, "%.*s", (int)strcspn(last, "\n"), last);
}

/* "sbx-launch: note: TEXT": what fails in a run that is made. */
static void take_notes(const char *text, struct lau_verdict *v)
{
	static const char mark[] = "sbx-launch: note: ";
	size_t len = 0;

	for (const char *at = text; (at = strstr(at, mark)); at++) {
		const char *line = at + sizeof mark - 1;
		size_t n = strcspn(line, "\n");

		if (len + n + 2 > sizeof v->notes)
			return;
		memcpy(v->notes + len, line, n);
		len += n;
		v->notes[len++] = '\n';
	}
}

/* A host that refuses pipe2(2) refuses runs for what it is that they meet first. */
static int make_pipe(int out[2])
{
	if (pipe2(out, O_CLOEXEC) == 0)
		return 0;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out); /* pipe(3) is pipe2(2) */
}

static void ask(const char *self, const char *const words[2], struct lau_verdict *v)
{
	char text[16384] = "";
	int out[2], status = 0;
	struct b_err err;
	ssize_t n;
	pid_t pid;

	if (make_pipe(out) < 0) {
		snprintf(v->why, sizeof v->why, "the run could not be tried: pipe2(2): %s",
			 strerror(errno));
		return;
	}
	pid = fork();
	if (pid == 0)
		be_run(self, words, out[1]);
	close(out[1]);
	n = b_read_full(out[0], text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	close(out[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return;
	if (pid < 0) {
		(void)lau_spawn_no_process(&err); /* which is what a run meets */
		snprintf(v->why, sizeof v->why, "%s: %.500s", b_kind_code(err.kind), err.msg);
		return;
	}
	v->runs = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	snprintf(v->why, sizeof v->why, "%s", v->runs ? "" : "the run failed without a message");
	if (v->runs)
		take_notes(text, v);
	else
		take_why(text, v);
}

void lau_verdicts_ask(struct lau_verdict out[LAU_VERDICTS])
{
	const struct sigaction waitable = {.sa_handler = SIG_DFL};
	struct sigaction before;
	struct b_err err;
	char self[PATH_MAX];
	bool has_self = lau_os_own_path(self, sizeof self), has_record = try_record(&err) == 0;

	sigaction(SIGCHLD, &waitable, &before);
	for (int i = 0; i < LAU_VERDICTS; i++) {
		struct lau_verdict *v = &out[i];

		*v = (struct lau_verdict){.options = asked[i].text};
		if (!has_self)
			snprintf(v->why, sizeof v->why, "E_FLOOR: %s", lau_no_proc_text);
		else
			ask(self, asked[i].words, v);
		if (v->runs && !has_record) {
			v->runs = false;
			snprintf(v->why, sizeof v->why, "E_AUDIT: %.500s", err.msg);
		}
	}
	sigaction(SIGCHLD, &before, NULL);
}
