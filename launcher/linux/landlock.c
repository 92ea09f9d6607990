#include "launcher/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "launcher/linux/uapi_compat.h"
#include "policy/back/landlock.h"

#define FILE_RIGHTS                                                                                \
	(POL_LL_EXECUTE | POL_LL_WRITE_FILE | POL_LL_READ_FILE | POL_LL_TRUNCATE | POL_LL_IOCTL_DEV)

static long ruleset_new(const struct lau_ll_attr *attr, int abi)
{
	/* The size says which ABI the caller speaks; an older kernel refuses a longer struct
	 * only when its tail is not zero, but then says E2BIG. */
	size_t size = abi >= 6	 ? sizeof *attr
		      : abi >= 4 ? offsetof(struct lau_ll_attr, scoped)
				 : offsetof(struct lau_ll_attr, handled_access_net);

	return syscall(SYS_landlock_create_ruleset, attr, size, 0);
}

int lau_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

/*
 * The plan speaks of canonical paths. A symlink on the way has come since, or was put there to
 * have something else granted: not followed. openat2 without O_NOFOLLOW refuses one at the end,
 * too, which saves an fstat for each of some hundred rules of a launch.
 */
static int open_path(const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
			       .resolve = RESOLVE_NO_SYMLINKS};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	struct stat st;

	/* An outer sandbox may hide openat2: then at least the end is checked. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW | flags);
		if (fd >= 0 && (fstat((int)fd, &st) < 0 || S_ISLNK(st.st_mode))) {
			close((int)fd);
			return -1;
		}
	}
	return (int)fd;
}

/* 0 also when there is nothing (any more) to grant. */
static int add_rule(int ruleset, const struct pol_ll_rule *rule, struct b_err *err)
{
	/* The kernel refuses rights on directories for anything else, so what stopped being a
	 * directory since the plan gets nothing. */
	int flags = rule->access & ~(uint64_t)FILE_RIGHTS ? O_DIRECTORY : 0;
	b_auto_fd int fd = open_path(rule->path, flags);
	const struct landlock_path_beneath_attr attr = {.allowed_access = rule->access,
							.parent_fd = fd};

	if (fd < 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) == 0)
		return 0;
	/* Objects of internal file systems (an open pipe by /proc/PID/fd) take no rule and need
	 * none. */
	if (errno == EBADFD)
		return 0;
	return b_fail(err, B_FLOOR, errno, "landlock: rule for %s: %s", rule->path,
		      strerror(errno));
}

int lau_landlock_prepare(const struct pol_ll_plan *plan, int *out_fd, struct b_err *err)
{
	struct lau_ll_attr attr = {.handled_access_fs = plan->handled_fs,
				   .handled_access_net = plan->handled_net,
				   .scoped = plan->scoped};
	b_auto_fd int fd = -1;

	if (plan->abi < 1) {
		*out_fd = -1;
		return 0;
	}
	fd = (int)ruleset_new(&attr, plan->abi);
	if (fd < 0)
		return b_fail(err, B_FLOOR, errno, "landlock: create_ruleset: %s", strerror(errno));
	for (size_t i = 0; i < plan->nrules; i++)
		if (add_rule(fd, &plan->rules[i], err) < 0)
			return -1;
	*out_fd = b_take_fd(&fd);
	return 0;
}

/* A layer of its own that handles TCP and allows none: the filter's second lock, for sockets
 * that came in some other way than socket(2). */
static int refuse_tcp(struct b_err *err)
{
	const struct lau_ll_attr attr = {
		.handled_access_net = LAU_LL_NET_BIND_TCP | LAU_LL_NET_CONNECT_TCP,
	};
	b_auto_fd int fd = -1;

	if (lau_landlock_abi() < 4)
		return 0;
	fd = (int)ruleset_new(&attr, 4);
	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return b_fail(err, B_FLOOR, errno, "landlock: tcp: %s", strerror(errno));
	return 0;
}

/* Needs no_new_privs (step 3), and comes after it so that it holds as root as well. */
int lau_confine_landlock(const struct lau_confine *c, int net_rc, struct b_err *err)
{
	if (c->landlock_fd >= 0 && syscall(SYS_landlock_restrict_self, c->landlock_fd, 0) < 0)
		return b_fail(err, B_FLOOR, errno, "landlock: restrict_self: %s", strerror(errno));
	return net_rc == LAU_NET_FILTERED ? refuse_tcp(err) : 0;
}
