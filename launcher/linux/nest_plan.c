/* nest_plan.c - what a run inside a run may have: the outer run's, and less. */
#include "launcher/linux/nest.h"

#include "base/err.h"
#include "launcher/dirs.h"
#include "launcher/plan.h"
#include "policy/engine.h"

int lau_nest_plan(const struct lau_nest_guest *g, const struct lau_options *o,
		  struct lau_host *host, struct lau_dirs *dirs, struct lau_plan *plan,
		  struct b_err *err)
{
	const struct lau_plan *outer = g->outer->plan;

	if (lau_dirs_find_inside(o, g->outer->dirs, dirs, err) < 0)
		return -1;
	dirs->outer = &outer->engine->rules;
	if (lau_plan_policy(o, host, dirs, plan, err) < 0)
		return -1;
	if (plan->identity.is_set)
		return b_fail(err, B_FLOOR, 0,
			      "the policy names whom the command runs as, which a run inside a "
			      "run cannot");
	/* else the host's processes would be seen where the outer run sees its own alone */
	if (outer->isolate & LAU_ISOLATE_PID && !(g->outer->lost & LAU_NO_PID)) {
		plan->isolate |= LAU_ISOLATE_PID;
		plan->isolate_must |= LAU_ISOLATE_PID;
	}
	return 0;
}

void lau_nest_limit(const struct lau_nest_guest *g, struct lau_plan *plan)
{
	if (plan->keep_caps & ~g->outer->plan->keep_caps)
		lau_plan_loss(plan, "--caps: the outer run has fewer, and so has the inner one: "
				    "give them to the outer run");
	plan->keep_caps &= g->outer->plan->keep_caps;
}

bool lau_nest_may(const struct lau_nest_guest *g, const struct lau_plan *plan)
{
	/* a limit that counts processes by user namespace would be had once more by each */
	if (plan->bounds.by[LAU_BOUND_NPROC] == LAU_HELD_RLIMIT)
		return false;
	return plan->floor.uses_broker && !plan->is_wrapped && !plan->identity.is_set &&
	       (!g || g->outer->depth + 1 < LAU_NEST_DEPTH);
}
