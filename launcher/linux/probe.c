#include "launcher/host.h"
#include "launcher/linux/nest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/channel.h"
#include "launcher/broker.h"
#include "launcher/confine.h"
#include "launcher/linux/cgroup.h"
#include "launcher/linux/filters.h"
#include "launcher/linux/netns.h"

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
	const struct lau_filter *f = &lau_filters[0];
	struct sock_fprog prog = {.len = f->len};

	memcpy(&prog.filter, &f->prog, sizeof f->prog);
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
				      lau_confine_init(&c, self, &init, NULL) < 0
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
