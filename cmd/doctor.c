/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c - see doctor.h. */
#include "cmd/doctor.h"

#include "base/err.h"
#include "base/mem.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "launcher/run/dirs.h"
#include "policy/compile/ruleset.h"
#include "policy/questions/hardlinks.h"

enum { NAMES_MAX = 20000 /* looked at */, FOUND_MAX = 20 };

struct found {
	struct b_arena arena;
	struct lau_linked v[FOUND_MAX];
	size_t n;
};

static void take(void *ctx, const struct pol_linked *linked)
{
	struct found *f = ctx;

	if (f->n < FOUND_MAX)
		f->v[f->n++] = (struct lau_linked){
			.path = b_arena_printf(&f->arena, "%s", linked->path),
			.rule = b_arena_printf(&f->arena, "%s", linked->rule->matched),
			.others = linked->others,
		};
}

void doctor_find_linked(struct lau_host *h)
{
	static struct found found;
	struct lau_host host;
	struct lau_options o;
	struct lau_dirs dirs;
	struct lau_plan plan = {.engine = NULL};
	struct b_err err;

	lau_options_init(&o);
	o.dry_run = true;
	o.audit_level = SBX_AUDIT_NONE;
	lau_host_quick(&host);
	if (lau_dirs_find(&o, &dirs, &err) == 0) {
		if (lau_plan_policy(&o, &host, &dirs, &plan, &err) == 0)
			(void)pol_hardlinks(plan.engine, NAMES_MAX, take, &found);
		lau_plan_release(&plan);
	}
	lau_dirs_release(&dirs);
	lau_options_release(&o);
	h->linked = found.v;
	h->nlinked = found.n;
}
