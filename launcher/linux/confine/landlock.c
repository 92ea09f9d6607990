/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/run/confine.h"
#include "policy/plan/landlock.h"

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

/* Without openat2: is the object where its path says, so that no symlink led to it? */
static bool is_at(int fd, const char *path)
{
	char link[32], real[PATH_MAX];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof real - 1);
	return n > 0 && (size_t)n == strlen(path) && !memcmp(real, path, (size_t)n) &&
	       fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode);
}

/*
 * The plan speaks of canonical paths. A symlink on the way has come since, or was put there to
 * have something else granted: not followed. openat2 without O_NOFOLLOW refuses one at the end,
 * too, which saves an fstat for each of some hundred rules of a launch. `path` ends in `name`,
 * which is relative to `dir`.
 */
static int open_path(int dir, const char *name, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
			       .resolve = RESOLVE_NO_SYMLINKS};
	long fd = syscall(SYS_openat2, dir, name, &how, sizeof how);

	/* an outer sandbox may hide openat2 */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		fd = openat(dir, name, O_PATH | O_CLOEXEC | O_NOFOLLOW | flags);
		if (fd >= 0 && !is_at((int)fd, path)) {
			close((int)fd);
			errno = ELOOP;
			return -1;
		}
	}
	return (int)fd;
}

/*
 * Rules on their way into a ruleset. Neighbours lie in one directory most of the time (a carved
 * one): it is opened once and they by their names. Descriptors are closed by the batch.
 */
#define BATCH 32 /* the kernel's smallest table, of 64 descriptors, needs not grow */
struct adder {
	int ruleset;
	int dir; /* the directory `path[..len]` of the rule before, -1 = none */
	const char *path;
	size_t len;
	int fds[BATCH];
	size_t n;
};

/* Handed out one after another, they are neighbours but for what we inherited between them. */
static void close_batch(struct adder *a)
{
	for (size_t i = 0, end; i < a->n; i = end) {
		for (end = i + 1; end < a->n && a->fds[end] == a->fds[end - 1] + 1; end++)
			;
		lau_fdclose_range((unsigned)a->fds[i], (unsigned)a->fds[end - 1]);
	}
	a->n = 0;
}

static void end_batch(struct adder *a)
{
	close_batch(a);
	a->dir = -1; /* was one of them */
}

static int keep(struct adder *a, int fd)
{
	if (fd >= 0)
		a->fds[a->n++] = fd;
	return fd;
}

static size_t parent_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static bool is_in(const char *path, const char *dir, size_t len)
{
	return len && parent_len(path) == len && !strncmp(path, dir, len);
}

static void open_dir(struct adder *a, const char *path, size_t len)
{
	char dir[PATH_MAX];

	if (len >= sizeof dir)
		return;
	memcpy(dir, path, len);
	dir[len] = '\0';
	a->dir = keep(a, open_path(AT_FDCWD, dir, dir, O_DIRECTORY));
	a->path = path;
	a->len = len;
}

/* Moving the directory between its opening and theirs changes nothing: rules are of objects, and
 * move with these after they were made as well. */
static int open_rule(struct adder *a, const struct pol_ll_rule *rule,
		     const struct pol_ll_rule *next)
{
	/* The kernel refuses rights on directories for anything else, so what stopped being a
	 * directory since the plan gets nothing. */
	int flags = rule->access & ~(uint64_t)FILE_RIGHTS ? O_DIRECTORY : 0;
	size_t len = parent_len(rule->path);
	int fd;

	if (a->n + 2 > BATCH)
		end_batch(a);
	if (next && is_in(next->path, rule->path, len) &&
	    !(a->dir >= 0 && is_in(rule->path, a->path, a->len)))
		open_dir(a, rule->path, len);
	if (a->dir >= 0 && is_in(rule->path, a->path, a->len))
		fd = open_path(a->dir, rule->path + len + 1, rule->path, flags);
	else
		fd = open_path(AT_FDCWD, rule->path, rule->path, flags);
	if (fd < 0 && errno == EMFILE && a->n) { /* who started us left few descriptors */
		end_batch(a);
		fd = open_path(AT_FDCWD, rule->path, rule->path, flags);
	}
	return keep(a, fd);
}

/* 0 also when there is nothing (any more) to grant. */
static int add_rule(struct adder *a, const struct pol_ll_rule *rule, const struct pol_ll_rule *next,
		    struct b_err *err)
{
	const struct landlock_path_beneath_attr attr = {.allowed_access = rule->access,
							.parent_fd = open_rule(a, rule, next)};

	if (attr.parent_fd < 0 && errno != EMFILE && errno != ENFILE && errno != ENOMEM)
		return 0;
	if (attr.parent_fd < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", rule->path, strerror(errno));
	if (syscall(SYS_landlock_add_rule, a->ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) == 0)
		return 0;
	/* Objects of internal file systems (an open pipe by /proc/PID/fd) take no rule and need
	 * none. */
	if (errno == EBADFD)
		return 0;
	return b_fail(err, B_FLOOR, errno, "landlock: rule for %s: %s", rule->path,
		      strerror(errno));
}

static bool lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

/* Rules of a plan that stand together, so that the adder finds its directories. */
struct part {
	const char *in;			/* only in it; NULL = everywhere */
	const struct lau_own_dirs *own; /* not in these; NULL = no such */
};

static bool is_hidden(const struct lau_own_dirs *own, const char *path)
{
	if (own->shm && lies_in(path, "/dev/shm"))
		return !own->shm_keep || !lies_in(path, own->shm_keep);
	if (!own->tmp || !lies_in(path, "/tmp"))
		return false;
	for (size_t i = 0; i < own->ntmp_keep; i++)
		if (lies_in(path, own->tmp_keep[i]))
			return false;
	return true;
}

static bool is_part(const struct part *p, const char *path)
{
	if (p->in)
		return lies_in(path, p->in);
	return !p->own || !is_hidden(p->own, path);
}

static int add_part(int ruleset, const struct pol_ll_plan *plan, const struct part *part,
		    struct b_err *err)
{
	struct adder a = {.ruleset = ruleset, .dir = -1};
	int rc = 0;

	for (size_t i = 0; i < plan->nrules && rc == 0; i++)
		if (is_part(part, plan->rules[i].path))
			rc = add_rule(&a, &plan->rules[i],
				      i + 1 < plan->nrules ? &plan->rules[i + 1] : NULL, err);
	end_batch(&a);
	return rc;
}

int lau_landlock_add_in(int ruleset, const struct pol_ll_plan *plan, const char *dir,
			struct b_err *err)
{
	return add_part(ruleset, plan, &(struct part){.in = dir}, err);
}

/* *out_fd -1: no Landlock here. */
static int make_ruleset(const struct pol_ll_plan *plan, int *out_fd, struct b_err *err)
{
	struct lau_ll_attr attr = {.handled_access_fs = plan->handled_fs,
				   .handled_access_net = plan->handled_net,
				   .scoped = plan->scoped};

	*out_fd = -1;
	if (plan->abi < 1)
		return 0;
	*out_fd = (int)ruleset_new(&attr, plan->abi);
	if (*out_fd < 0)
		return b_fail_sys(err, B_FLOOR, errno, "landlock: create_ruleset");
	return 0;
}

int lau_landlock_prepare_in(const struct pol_ll_plan *plan, const struct lau_own_dirs *own,
			    int *out_fd, struct b_err *err)
{
	const struct part part = {.own = own};
	b_auto_fd int fd = -1;

	if (make_ruleset(plan, &fd, err) < 0 || (fd >= 0 && add_part(fd, plan, &part, err) < 0))
		return -1;
	*out_fd = b_take_fd(&fd);
	return 0;
}

int lau_landlock_prepare(const struct pol_ll_plan *plan, int *out_fd, struct b_err *err)
{
	return lau_landlock_prepare_in(plan, NULL, out_fd, err);
}

/* ---- beside the caller ---- */

/* Before the byte no child applies the ruleset. No memory is taken: a fork meanwhile must not find
 * it locked. */
static void *work(void *arg)
{
	struct lau_landlock_job *job = arg;
	const struct part part = {.own = &job->own};

	job->rc = add_part(job->ruleset, job->plan, &part, &job->err);
	/* for a second child, too: the first may have been killed after it had read its own */
	(void)b_write_all(job->ready[1], job->rc == 0 ? "\0\0" : "\1\1", 2);
	return NULL;
}

/* Signals are the main thread's, who blocks them to wait for them. */
static bool start(struct lau_landlock_job *job)
{
	sigset_t all, before;
	bool ok;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return false;
	ok = pthread_create(&job->thread, NULL, work, job) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

int lau_landlock_begin(struct lau_landlock_job *job, struct b_err *err)
{
	if (make_ruleset(job->plan, &job->ruleset, err) < 0)
		return -1;
	if (job->ruleset < 0)
		return 0;
	if (pipe2(job->ready, O_CLOEXEC) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "pipe");
	job->has_thread = start(job);
	if (!job->has_thread)
		(void)work(job);
	return 0;
}

int lau_landlock_finish(struct lau_landlock_job *job, struct b_err *err)
{
	if (job->has_thread)
		(void)pthread_join(job->thread, NULL);
	job->has_thread = false;
	for (int i = 0; i < 2; i++) {
		if (job->ready[i] >= 0)
			close(job->ready[i]);
		job->ready[i] = -1;
	}
	if (job->rc < 0)
		*err = job->err;
	return job->rc;
}

static int wait_for_rules(const struct lau_confine *c, struct b_err *err)
{
	char failed;

	if (!c->landlock_ready || c->landlock_ready[0] < 0)
		return 0;
	close(c->landlock_ready[1]); /* ours would keep us waiting for a launcher that is gone */
	if (b_read_full(c->landlock_ready[0], &failed, 1) == 1 && !failed)
		return 0;
	return b_fail(err, B_FLOOR, 0, "landlock: the launcher could not make the rules");
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
		return b_fail_sys(err, B_FLOOR, errno, "landlock: tcp");
	return 0;
}

/* Needs no_new_privs (step 3), and comes after it so that it holds as root as well. */
int lau_confine_landlock(const struct lau_confine *c, int lost, struct b_err *err)
{
	if (wait_for_rules(c, err) < 0)
		return -1;
	if (c->landlock_fd >= 0 && syscall(SYS_landlock_restrict_self, c->landlock_fd, 0) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "landlock: restrict_self");
	return lost & LAU_NET_FILTERED ? refuse_tcp(err) : 0;
}
