#include "launcher/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "launcher/linux/isolate.h"
#include "launcher/linux/netns.h"

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

/*
 * Where AppArmor restricts user namespaces (Ubuntu 24.04), unshare succeeds and the maps are
 * refused afterwards: the process would be left as uid 65534 in its own eyes, for good. So the
 * maps are tried by somebody else first, on a stack of its own in our memory: no copy of the
 * page tables, and we stand still until it is gone. Without an exit signal, because a caller that
 * ignores SIGCHLD would leave nothing to wait for.
 */
int lau_userns_try(void)
{
	_Alignas(16) char stack[16384];
	pid_t pid = clone(map_in_new_userns, stack + sizeof stack, CLONE_VM | CLONE_VFORK, NULL);
	int status;

	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -1;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
	return errno ? -1 : 0;
}

/* Atomic: none of them, when one is refused. IPC goes with each: nothing else of the floor sees
 * segments, semaphores and queues, and whatever the run has of its own, the host's are not. */
static int enter(int flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	flags |= CLONE_NEWIPC;
	/* A root that may not (a container's) is not helped by a user namespace: with one id
	 * mapped, its capabilities would no longer apply to anybody else's files. */
	if (uid == 0)
		return unshare(flags);
	if (lau_userns_try() < 0 || unshare(CLONE_NEWUSER | flags) < 0)
		return -1;
	return lau_userns_map(uid, gid);
}

static const char *remedy(int e)
{
	if (e == ENOSPC)
		return "raise user.max_user_namespaces and its like (sysctl)";
	if (e == EINVAL || e == ENOSYS)
		return "the kernel lacks CONFIG_USER_NS, CONFIG_NET_NS or CONFIG_IPC_NS";
	return "allow user namespaces (kernel.apparmor_restrict_unprivileged_userns=0, "
	       "kernel.unprivileged_userns_clone=1)";
}

static int refused(const char *what, const char *other, int sys, struct b_err *err)
{
	return b_fail(err, B_FLOOR, sys, "%s: %s: %s or use %s", what, strerror(sys), remedy(sys),
		      other);
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
	       (c->isolate & LAU_ISOLATE_PID ? LAU_NO_PID : 0) | LAU_NO_NODEV;
}

/* Before Landlock, which would refuse to write the maps, and before the capabilities that a
 * new namespace gives are dropped: lo needs one. A network namespace without lo has no network at
 * all, so going on with the stricter filter loses nothing. */
int lau_confine_namespaces(const struct lau_confine *c, struct b_err *err)
{
	bool is_in = c->isolate && enter(net_flags(c) | isolate_flags(c)) == 0;
	int lost = c->lost;

	if (c->isolate && !is_in) {
		if (c->isolate_must)
			return refused(c->isolate_must & LAU_ISOLATE_PID ? "required: pid-namespace"
									 : "required: private-shm",
				       "--isolate none", errno, err);
		lost = lost_isolation(c);
	}
	if (is_in) {
		int rc = lau_isolate_mounts(c, err);

		if (rc < 0)
			return -1;
		lost |= rc;
	}
	if (!c->want_net_ns)
		return is_in || !c->bpf_no_ipc ? lost : lost | LAU_NO_IPC;
	if ((is_in || enter(net_flags(c)) == 0) && loopback_up() == 0)
		return lost;
	if (c->bpf_no_inet)
		return lost | LAU_NET_FILTERED;
	return refused("required: network-namespace", "--network host", errno, err);
}
