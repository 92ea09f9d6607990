/* boundsplan.c - who holds a limit of bounds.h: lau_bounds_plan(), lau_bounds_make(). */
#include "launcher/bounds.h"
#include "launcher/confine.h"
#include "launcher/host.h"
#include "launcher/limits.h"
#include "launcher/linux/cgroup.h"
#include "launcher/options.h"
#include "launcher/plan.h"

/* setrlimit(2): of processes that are really root's none are counted. */
static bool is_counted(const struct lau_host *host, const struct lau_plan *p)
{
	return !host->is_root || p->identity.is_set;
}

/* In a user namespace of the run's own, which an ordinary user needs for any other, the kernel
 * counts what is in it (Linux 5.14). */
static bool counts_run(const struct lau_host *host, const struct lau_plan *p)
{
	return !host->is_root && (p->want_net_ns || p->isolate || p->is_wrapped);
}

void lau_bounds_plan(const struct lau_options *o, const struct lau_host *host, unsigned cgroup,
		     struct lau_plan *p)
{
	p->bounds = o->bounds;
	for (int b = 0; b < LAU_BOUND_COUNT; b++)
		if (o->bounds.v[b])
			p->bounds.by[b] = cgroup >> b & 1 ? LAU_HELD_CGROUP : LAU_HELD_RLIMIT;
	if (p->bounds.by[LAU_BOUND_MEMORY] == LAU_HELD_RLIMIT)
		lau_plan_limit(p, "--memory: holds for each process, and for memory of its own "
				  "that it can write to: the run as a whole is limited in a "
				  "delegated cgroup (systemd-run --user --scope)");
	if (p->bounds.by[LAU_BOUND_NPROC] != LAU_HELD_RLIMIT)
		return;
	if (!is_counted(host, p)) {
		p->bounds.by[LAU_BOUND_NPROC] = LAU_HELD_NOT;
		lau_plan_loss(p, "--nproc: the kernel counts no processes of root's: run as an "
				 "ordinary user, or in a cgroup below one that has the controller "
				 "pids");
	} else if (!counts_run(host, p)) {
		lau_plan_limit(p, "--nproc: all processes of the user count, not those of the run "
				  "alone");
	}
}

int lau_bounds_make(const struct lau_plan *p, struct lau_cgroup *cgroup, struct lau_limits *l,
		    struct b_err *err)
{
	l->bounds = p->bounds;
	/* Of an ordinary user's processes ours are counted with its own: the first of the pid
	 * namespace, the broker and its thread, or bubblewrap's two. */
	l->beside = (p->isolate & LAU_ISOLATE_PID ? 1 : 0) +
		    (p->floor.uses_broker || p->is_wrapped ? 2 : 0);
	if (!p->cgroup)
		return 0;
	if (lau_cgroup_make(p->cgroup, &p->bounds, cgroup, err) < 0)
		return -1;
	l->has_cgroup = true;
	l->cgroup = cgroup->procs;
	return 0;
}
