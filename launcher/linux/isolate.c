/*
 * isolate.c - what a run has for itself: /dev/shm, and a pid namespace with its /proc.
 *
 * Called in the new mount namespace (netns.c). The order of the mounts: the directory of the host's
 * /dev/shm that is to stay is held open before the tmpfs hides it, and found by the old /proc
 * before the new one does.
 */
#include "launcher/linux/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "launcher/confine.h"
#include "launcher/linux/fdclose.h"
#include "launcher/linux/uapi_compat.h"

#define SHM	"/dev/shm"
#define SHM_LEN (sizeof SHM - 1)

/* Mounts of the host come in, none of ours goes out. */
static int cut_off(void)
{
	return mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL);
}

/* Directories of `path` below SHM, as the host has them: for the user alone. */
static int make_dirs(const char *path)
{
	char dir[4096];
	size_t n = strlen(path);

	if (n >= sizeof dir)
		return -1;
	memcpy(dir, path, n + 1);
	for (char *p = dir + SHM_LEN + 1;; p++) {
		char c = *p;

		if (c && c != '/')
			continue;
		*p = '\0';
		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return -1;
		*p = c;
		if (!c)
			return 0;
	}
}

static int mount_shm(const char *keep)
{
	b_auto_fd int kept = keep ? open(keep, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	char source[32];

	if (keep && kept < 0)
		return -1;
	if (mount("shm", SHM, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
		return -1;
	if (!keep)
		return 0;
	snprintf(source, sizeof source, "/proc/self/fd/%d", kept);
	return make_dirs(keep) < 0 ? -1 : mount(source, keep, NULL, MS_BIND, NULL);
}

/* A rule of the kernel is of an object: what a mount hides takes its rules along. */
static int grant_again(const struct lau_confine *c, const char *dir, struct b_err *err)
{
	if (c->plan && c->landlock_fd >= 0 &&
	    lau_landlock_add_in(c->landlock_fd, c->plan, dir, err) < 0)
		return -1;
	if (c->broker_plan && c->broker_landlock_fd >= 0)
		return lau_landlock_add_in(c->broker_landlock_fd, c->broker_plan, dir, err);
	return 0;
}

/* ---- devices ---- */

/* A copy of what is mounted at and below the path, with its flags as they are now. */
static int copy_tree(const char *path)
{
	return (int)syscall(SYS_open_tree, AT_FDCWD, path,
			    LAU_OPEN_TREE_CLONE | LAU_AT_RECURSIVE | O_CLOEXEC);
}

static int put_tree(int tree, const char *path)
{
	return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, path, LAU_MOVE_MOUNT_EMPTY_PATH);
}

/*
 * A rule knows a device by its name, and a node with another name is a file like others: the whole
 * disk, in the root of a container. So no mount opens devices but /dev, and copies of the nodes
 * that rules name, which are made before. A user namespace may not take the flag away again where
 * the host has set it; to set it is always allowed. Descriptors of the caller keep the host's
 * mounts.
 */
static int close_devices(const struct lau_confine *c)
{
	const struct lau_mount_attr attr = {.attr_set = LAU_MOUNT_ATTR_NODEV};
	const struct lau_mount_attr fixed = {.attr_set = LAU_MOUNT_ATTR_RDONLY};
	size_t n = c->ndevices < LAU_DEVICES_MAX ? c->ndevices : LAU_DEVICES_MAX;
	int dev = copy_tree("/dev"), nodes[LAU_DEVICES_MAX], rc = 0;

	if (dev < 0)
		return LAU_NO_NODEV;
	for (size_t i = 0; i < n; i++)
		nodes[i] = copy_tree(c->devices[i]);
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", LAU_AT_RECURSIVE, &attr, sizeof attr) < 0)
		rc = LAU_NO_NODEV;
	else if (put_tree(dev, "/dev") < 0)
		rc = -1;
	close(dev);
	/* One that is hidden by another is no mount point now, and nobody gets there. */
	for (size_t i = 0; rc == 0 && i < c->ndev_again; i++)
		(void)syscall(SYS_mount_setattr, AT_FDCWD, c->dev_again[i], 0, &fixed,
			      sizeof fixed);
	for (size_t i = 0; i < n; i++) {
		/* one that has gone meanwhile is opened by nobody */
		if (rc == 0 && nodes[i] >= 0)
			(void)put_tree(nodes[i], c->devices[i]);
		if (nodes[i] >= 0)
			close(nodes[i]);
	}
	return rc;
}

int lau_isolate_mounts(const struct lau_confine *c, struct b_err *err)
{
	int lost;

	if (cut_off() < 0)
		return b_fail(err, B_FLOOR, errno, "mount namespace: %s", strerror(errno));
	lost = close_devices(c);
	if (lost < 0)
		return b_fail(err, B_FLOOR, errno, "mounts without devices: /dev: %s",
			      strerror(errno));
	if (!(c->isolate & LAU_ISOLATE_SHM))
		return lost;
	if (mount_shm(c->shm_keep) < 0)
		return b_fail(err, B_FLOOR, errno, "private " SHM ": %s", strerror(errno));
	return grant_again(c, SHM, err) < 0 ? -1 : lost;
}

/* ---- the first process of the pid namespace ---- */

/* It holds nothing and may do nothing: whoever talks it into something gains nothing. */
static void give_up_everything(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {0};

	(void)syscall(SYS_capset, &head, none);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "sbx-init", 0, 0, 0);
	lau_fdclose_range(0, ~0u);
}

static bool is_alone(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	/* Everybody in the namespace but us (kill(2)); a zombie that its parent outside has not
	 * reaped counts, too. */
	return kill(-1, 0) < 0 && errno == ESRCH;
}

/* Signals from inside reach it only when it asks for them; it asks for all and acts on two. A
 * SIGTERM from inside ends it no sooner: it goes when it is alone, as it should. */
static _Noreturn void serve(void)
{
	bool may_go = false;
	sigset_t all;
	siginfo_t info;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	for (;;) {
		if (sigwaitinfo(&all, &info) < 0)
			continue;
		may_go = may_go || info.si_signo == SIGTERM;
		if (is_alone() && may_go)
			_exit(0);
	}
}

/* A launcher that died before the death signal was asked for sends none, and getppid(2) knows of
 * nobody outside the namespace. The /proc of the host, which is still there, does. */
static pid_t parent_seen(void)
{
	char text[256];
	b_auto_fd int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : b_read_full(fd, text, sizeof text - 1);
	const char *at;
	pid_t parent = 0;

	if (n <= 0)
		return 0; /* there is none: nobody can tell */
	text[n] = '\0';
	at = strrchr(text, ')'); /* proc_pid_stat(5): "pid (name) S ppid" */
	if (!at || strlen(at) < 5)
		return 0;
	for (at += 4; *at >= '0' && *at <= '9'; at++)
		parent = parent * 10 + (*at - '0');
	return parent;
}

/* The death signal comes even to the first process of a namespace when its parent lives outside
 * of it (pid_namespaces(7)). */
static _Noreturn void init(int ready, pid_t parent)
{
	int sys = 0;

	/* what is sent to the command's group is not meant for it */
	(void)setsid();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		sys = errno;
	else if (parent_seen() != parent)
		sys = ESRCH;
	else if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		sys = errno;
	(void)b_write_all(ready, &sys, sizeof sys);
	if (sys)
		_exit(1);
	give_up_everything();
	serve();
}

/* Its answer is read only when nobody else can give one. */
static int ask(int ready[2], struct b_err *err)
{
	int sys = EPIPE;

	close(ready[1]);
	if (b_read_full(ready[0], &sys, sizeof sys) != (ssize_t)sizeof sys)
		sys = EPIPE;
	close(ready[0]);
	return sys ? b_fail(err, B_FLOOR, sys, "pid namespace: /proc: %s", strerror(sys)) : 0;
}

int lau_confine_init(const struct lau_confine *c, pid_t supervisor, pid_t *out_pid,
		     struct b_err *err)
{
	int ready[2];

	/* the supervisor's number as that /proc has it, which may be of another namespace */
	pid_t parent = parent_seen();

	*out_pid = 0;
	if (getppid() != supervisor)
		return b_fail(err, B_SYSTEM, 0, "the launcher is gone");
	if (pipe2(ready, O_CLOEXEC) < 0)
		return b_fail(err, B_SYSTEM, errno, "pipe: %s", strerror(errno));
	*out_pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
	if (*out_pid == 0)
		init(ready[1], parent);
	if (*out_pid < 0) {
		*out_pid = 0;
		close(ready[0]);
		close(ready[1]);
		return b_fail(err, B_FLOOR, errno, "pid namespace: %s", strerror(errno));
	}
	if (ask(ready, err) < 0)
		return -1;
	/* It is armed now: a supervisor that died before is no longer our parent either. */
	if (getppid() != supervisor)
		return b_fail(err, B_SYSTEM, 0, "the launcher is gone");
	return grant_again(c, "/proc", err);
}
