/* SPDX-License-Identifier: Apache-2.0 */
/* planmarks.c - --marked-calls: the directories in which only the kernel decides (docs/adr/016), or
 * why there are none. */
#include "base/mem.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "launcher/report/host.h"
#include "policy/engine.h"
#include "policy/plan/landlock.h"
#include "policy/rules/mountinfo.h"

/* Whatever directories there are. NULL: nothing is against it. */
static const char *why_not(const struct lau_options *o, const struct lau_host *host,
			   const struct lau_plan *p)
{
	if (!p->floor.uses_broker)
		return "the run has no broker";
	if (!p->use_shim)
		return "only the shim marks calls";
	if (host->landlock_abi < POL_LL_ABI_TRUNCATE)
		return "Landlock does not see truncation (Linux 6.2)";
	if (p->floor.read_level == POL_READ_ALL)
		return "a rule denies reading by a pattern";
	if (p->engine->image.hdr->op[SBX_MODIFY].nlayers > 1)
		return "several policy documents are in force";
	if (o->audit_required || o->audit_level == SBX_AUDIT_ALL)
		return "the record must have each change from the broker";
	if (p->identity.is_set)
		return "the command runs as another user";
	if (p->engine->rules.own_tmp)
		return "the run has a /tmp of its own";
	return NULL;
}

static size_t mark(struct lau_plan *p)
{
	struct pol_mounted *mounts;
	size_t n = pol_mountinfo(&p->arena, &mounts);
	const char **at = b_arena_alloc(&p->arena, (n + 1) * sizeof *at);

	for (size_t i = 0; i < n; i++)
		at[i] = mounts[i].at;
	return n ? pol_floor_mark(&p->floor, &p->engine->image, pol_fsview_host(), at, n) : 0;
}

void lau_plan_marks(const struct lau_options *o, const struct lau_host *host, struct lau_plan *p)
{
	const char *why;

	if (!o->marked_calls)
		return;
	why = why_not(o, host, p);
	if (!why)
		p->nclean = mark(p);
	if (!why && p->nclean)
		return;
	lau_plan_add(
		p, false,
		b_arena_printf(&p->arena,
			       "--marked-calls has no effect, the broker performs all calls: %s",
			       why ? why : "every directory has paths with different verdicts"));
	p->losses[p->nlosses - 1].is_note = true;
}
