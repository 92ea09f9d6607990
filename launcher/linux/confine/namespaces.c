/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.c - user, network, mount and pid namespaces of a run. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/run/confine.h"

static int write_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc, saved;

	if (fd < 0)
		return -1;
	rc = b_write_all(fd, text, strlen(text));
	saved = errno;
	close(fd);
	errno = saved;
	return rc;
}

/* The command keeps its own ids: a map of one, to itself. setgroups must be denied first, or
 * an unprivileged gid_map is refused (user_namespaces(7), since 3.19). */
int lau_userns_map(unsigned uid, unsigned gid)
{
	char line[64];

	if (write_proc("/proc/self/setgroups", "deny") < 0)
		return -1;
	snprintf(line, sizeof line, "%u %u 1", uid, uid);
	if (write_proc("/proc/self/uid_map", line) < 0)
		return -1;
	snprintf(line, sizeof line, "%u %u 1", gid, gid);
	return write_proc("/proc/self/gid_map", line);
}

static int loopback_up(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = {.ifr_name = "lo"};
	int rc, saved;

	if (fd < 0)
		return -1;
	rc = ioctl(fd, SIOCGIFFLAGS, &req);
	if (rc == 0) {
		req.ifr_flags |= IFF_UP;
		rc = ioctl(fd, SIOCSIFFLAGS, &req);
	}
	saved = errno;
	close(fd);
	errno = saved;
	return rc;
}

static int map_in_new_userns(void *unused)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	(void)unused;
	return unshare(CLONE_NEWUSER) < 0 || lau_userns_map(uid, gid) < 0 ? errno : 0;
}

/* On a stack of its own in our memory: no copy of the page tables, and we stand still until it is
 * gone. Without an exit signal, because a caller that ignores SIGCHLD would leave nothing to wait
 * for. */
int lau_by_child(int (*act)(void *), void *ctx, int flags)
{
	_Alignas(16) char stack[16384];
	pid_t pid = clone(act, stack + sizeof stack, CLONE_VM | CLONE_VFORK | flags, ctx);
	int status;

	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -1;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
	return errno ? -1 : 0;
}

int lau_userns_try(void)
{
	return lau_by_child(map_in_new_userns, NULL, 0);
}

/*
 * Atomic: none of them, when one is refused. IPC goes with each: nothing else of the floor sees
 * segments, semaphores and queues, and whatever the run has of its own, the host's are not.
 *
 * Where AppArmor restricts user namespaces, or /proc is read-only, unshare may succeed and the maps
 * be refused afterwards. The process is then uid 65534 in its own eyes, for good: LAU_SPOILED, and
 * whoever started it starts another, which knows (no_userns). Nobody tries beforehand: where all
 * is well, which is nearly always, that is a process more for each run.
 */
static int enter(const struct lau_confine *c, int flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	flags |= CLONE_NEWIPC;
	/* A root that may not (a container's) is not helped by a user namespace: with one id
	 * mapped, its capabilities would no longer apply to anybody else's files. */
	if (uid == 0)
		return unshare(flags);
	if (c->no_userns) {
		errno = c->no_userns;
		return -1;
	}
	if (unshare(CLONE_NEWUSER | flags) < 0)
		return -1;
	return lau_userns_map(uid, gid) < 0 ? LAU_SPOILED : 0;
}

static const char *remedy(int e)
{
	if (e == ENOSPC)
		return "raise user.max_user_namespaces and its like (sysctl)";
	if (e == EINVAL || e == ENOSYS)
		return "the kernel lacks CONFIG_USER_NS, CONFIG_NET_NS or CONFIG_IPC_NS";
	if (geteuid() == 0)
		return "grant root CAP_SYS_ADMIN, start as an ordinary user";
	return "allow user namespaces (kernel.apparmor_restrict_unprivileged_userns=0, "
	       "kernel.unprivileged_userns_clone=1)";
}

static int refused(const char *what, const char *other, int sys, struct b_err *err)
{
	return b_fail(err, B_FLOOR, sys, "%s: %s: %s or use %s", what, strerror(sys), remedy(sys),
		      other);
}

static int spoiled(struct b_err *err)
{
	int sys = errno ? errno : EPERM;

	b_fail(err, B_FLOOR, sys,
	       "user namespace: its user and group maps cannot be written: %s: %s", strerror(sys),
	       remedy(EPERM));
	return LAU_SPOILED;
}

static int net_flags(const struct lau_confine *c)
{
	return c->want_net_ns ? CLONE_NEWNET : 0;
}

static int isolate_flags(const struct lau_confine *c)
{
	if (!c->isolate)
		return 0;
	return CLONE_NEWNS | (c->isolate & LAU_ISOLATE_PID ? CLONE_NEWPID : 0);
}

static int lost_isolation(const struct lau_confine *c)
{
	return (c->isolate & LAU_ISOLATE_SHM ? LAU_NO_SHM : 0) |
	       (c->isolate & LAU_ISOLATE_TMP ? LAU_NO_TMP : 0) |
	       (c->isolate & LAU_ISOLATE_PID ? LAU_NO_PID : 0) | LAU_NO_NODEV;
}

static const char *required(unsigned must)
{
	if (must & LAU_ISOLATE_PID)
		return "required: pid-namespace";
	return must & LAU_ISOLATE_SHM ? "required: private-shm" : "required: private-tmp";
}

/* Before Landlock, which would refuse to write the maps, and before the capabilities that a
 * new namespace gives are dropped: lo needs one. A network namespace without lo has no network at
 * all, so going on with the stricter filter loses nothing. */
int lau_confine_namespaces(const struct lau_confine *c, struct b_err *err)
{
	int entered = c->isolate ? enter(c, net_flags(c) | isolate_flags(c)) : -1;
	bool is_in = entered == 0;
	int lost = c->lost;

	if (entered == LAU_SPOILED)
		return spoiled(err);
	if (c->isolate && !is_in) {
		if (c->isolate_must)
			return refused(required(c->isolate_must), "--isolate none", errno, err);
		lost |= lost_isolation(c);
	}
	if (is_in) {
		int rc = lau_isolate_mounts(c, err);

		if (rc < 0)
			return -1;
		lost |= rc;
	}
	if (!c->want_net_ns)
		return is_in || !c->bpf_no_ipc ? lost : lost | LAU_NO_IPC;
	if (!is_in)
		entered = enter(c, net_flags(c));
	if (entered == LAU_SPOILED)
		return spoiled(err);
	if (entered == 0 && loopback_up() == 0)
		return lost;
	if (c->bpf_no_inet)
		return lost | LAU_NET_FILTERED;
	return refused(c->has_endpoints ? "rules on endpoints: no network namespace"
					: "required: network-namespace",
		       c->has_endpoints ? "--best-effort, which runs the command without a network"
					: "--network host",
		       errno, err);
}

/*
 * What a run has for itself: /dev/shm, /tmp (private_tmp.c), and a pid namespace with its /proc.
 *
 * Called in the new mount namespace (namespaces.c). The order of the mounts: the directory of the
 * host's /dev/shm that is to stay is held open before the tmpfs hides it, and found by the old
 * /proc before the new one does.
 */

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
int lau_grant_again(const struct lau_confine *c, const char *dir, struct b_err *err)
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
		return b_fail_sys(err, B_FLOOR, errno, "mount namespace");
	lost = close_devices(c);
	if (lost < 0)
		return b_fail_sys(err, B_FLOOR, errno, "mounts without devices: /dev");
	if (c->isolate & LAU_ISOLATE_SHM && mount_shm(c->shm_keep) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "private " SHM);
	if (c->isolate & LAU_ISOLATE_SHM && lau_grant_again(c, SHM, err) < 0)
		return -1;
	return lau_mount_tmp(c, err) < 0 ? -1 : lost;
}

/* ---- the first process of the pid namespace ---- */

/* It may do nothing, and holds at most what it says a byte to, as descriptor 0: whoever talks it
 * into something gains nothing. */
static void give_up_everything(int alone)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {0};

	(void)syscall(SYS_capset, &head, none);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "sbx-init", 0, 0, 0);
	if (alone > 0)
		(void)dup2(alone, 0);
	lau_fdclose_range(alone >= 0 ? 1 : 0, ~0u);
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
 * SIGTERM from inside ends it no sooner: it goes when it is alone, as it should. That others have
 * been reaped by a parent outside it hears from nobody: once it may go it looks now and then. */
static _Noreturn void serve(void)
{
	const struct timespec rest = {0, 20 * 1000 * 1000};
	bool may_go = false;
	sigset_t all;
	siginfo_t info;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	for (;;) {
		int signo = sigtimedwait(&all, &info, may_go ? &rest : NULL);

		if (signo < 0 && errno != EAGAIN)
			continue;
		may_go = may_go || signo == SIGTERM;
		if (!is_alone() || !may_go)
			continue;
		/* heard while the kernel takes the namespaces down, which is a part of our end */
		(void)b_write_all(0, "", 1);
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
static _Noreturn void init(int ready, int alone, pid_t parent)
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
	give_up_everything(alone);
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
	return sys ? b_fail_sys(err, B_FLOOR, sys, "pid namespace: /proc") : 0;
}

int lau_confine_init(const struct lau_confine *c, pid_t supervisor, int alone, pid_t *out_pid,
		     struct b_err *err)
{
	int ready[2];

	/* the supervisor's number as that /proc has it, which may be of another namespace */
	pid_t parent = parent_seen();

	*out_pid = 0;
	if (getppid() != supervisor)
		return b_fail(err, B_SYSTEM, 0, "the launcher has ended");
	if (pipe2(ready, O_CLOEXEC) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "pipe");
	*out_pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
	if (*out_pid == 0)
		init(ready[1], alone, parent);
	if (*out_pid < 0) {
		*out_pid = 0;
		close(ready[0]);
		close(ready[1]);
		return b_fail_sys(err, B_FLOOR, errno, "pid namespace");
	}
	if (ask(ready, err) < 0)
		return -1;
	/* It is armed now: a supervisor that died before is no longer our parent either. */
	if (getppid() != supervisor)
		return b_fail(err, B_SYSTEM, 0, "the launcher has ended");
	return lau_grant_again(c, "/proc", err);
}
