/* limits.c - see limits.h; setrlimit(2). */
#include "launcher/limits.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "launcher/guard.h"
#include "launcher/linux/cgroup.h"

/* Raising a soft limit needs no privilege. */
static void raise_one(int which, struct rlimit *found)
{
	struct rlimit more;

	if (getrlimit(which, found) < 0)
		return;
	more = (struct rlimit){found->rlim_max, found->rlim_max};
	if (found->rlim_cur < found->rlim_max)
		(void)setrlimit(which, &more);
}

int lau_limits_raise(struct lau_limits *l, struct b_err *err)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	*l = (struct lau_limits){.files = {RLIM_INFINITY, RLIM_INFINITY},
				 .size = {RLIM_INFINITY, RLIM_INFINITY}};
	sigaction(SIGXFSZ, &ignore, &l->xfsz);
	sigaction(SIGPIPE, &ignore, &l->pipe);
	raise_one(RLIMIT_FSIZE, &l->size);
	if (getrlimit(RLIMIT_NOFILE, &l->files) < 0 || l->files.rlim_cur >= LAU_FILES_NEEDED)
		return 0;
	raise_one(RLIMIT_NOFILE, &l->files);
	if (l->files.rlim_max >= LAU_FILES_NEEDED)
		return 0;
	return b_fail(err, B_LIMIT, EMFILE,
		      "only %llu files may be open at once (ulimit -Hn), a run needs %d: raise the "
		      "hard limit (limits.conf(5), or LimitNOFILE= of the service)",
		      (unsigned long long)l->files.rlim_max, LAU_FILES_NEEDED);
}

/* Processes are counted where they are made; the mark is the run's (guard.h). */
bool lau_limits_keeps(int which)
{
	return which != RLIMIT_NPROC && which != RLIMIT_LOCKS;
}

void lau_limits_restore(const struct lau_limits *l)
{
	sigaction(SIGXFSZ, &l->xfsz, NULL);
	sigaction(SIGPIPE, &l->pipe, NULL);
	for (int which = 0; l->given && which < (int)RLIM_NLIMITS; which++)
		if (lau_limits_keeps(which))
			(void)setrlimit((enum __rlimit_resource)which, &l->given[which]);
	if (l->given)
		return;
	if (l->size.rlim_cur != l->size.rlim_max)
		(void)setrlimit(RLIMIT_FSIZE, &l->size);
	if (l->files.rlim_cur < LAU_FILES_NEEDED)
		(void)setrlimit(RLIMIT_NOFILE, &l->files);
}

void lau_limits_share(const struct lau_limits *l)
{
	if (l->given)
		(void)setrlimit(RLIMIT_FSIZE, &l->given[RLIMIT_FSIZE]);
}

int lau_limits_enter(const struct lau_limits *l, struct b_err *err)
{
	lau_guard_put(l->mark); /* which the filter forbids */
	if (!l->has_cgroup || lau_cgroup_enter(l->cgroup) == 0)
		return 0;
	return b_fail(err, B_LIMIT, errno, "cgroup: cannot be entered: %s", strerror(errno));
}

/* RLIMIT_DATA, not RLIMIT_AS: node, Java and sanitizers reserve terabytes that they never use
 * (since Linux 4.7 it counts all private memory that can be written). */
static const int resources[LAU_BOUND_COUNT] = {
	[LAU_BOUND_MEMORY] = RLIMIT_DATA,   [LAU_BOUND_CPU] = RLIMIT_CPU,
	[LAU_BOUND_NPROC] = RLIMIT_NPROC,   [LAU_BOUND_FSIZE] = RLIMIT_FSIZE,
	[LAU_BOUND_NOFILE] = RLIMIT_NOFILE,
};

int lau_limits_apply(const struct lau_limits *l, struct b_err *err)
{
	for (int b = 0; b < LAU_BOUND_COUNT; b++) {
		rlim_t most = l->bounds.v[b];
		struct rlimit found, lim;

		if (l->bounds.by[b] != LAU_HELD_RLIMIT)
			continue;
		if (b == LAU_BOUND_NPROC)
			most += l->beside;
		if (getrlimit(resources[b], &found) < 0)
			found.rlim_max = RLIM_INFINITY;
		if (most > found.rlim_max)
			most = found.rlim_max;
		lim = (struct rlimit){most, most};
		/* one second between SIGXCPU, which can be handled, and SIGKILL */
		if (b == LAU_BOUND_CPU && most < found.rlim_max)
			lim.rlim_max = most + 1;
		if (setrlimit(resources[b], &lim) < 0)
			return b_fail(err, B_LIMIT, errno, "--%s: %s",
				      lau_bound_name((enum lau_bound)b), strerror(errno));
	}
	return 0;
}
