/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - see launcher/plan/plan.h: on macOS the floor is one profile for Seatbelt. */
#include "launcher/plan/plan.h"

#include <stdlib.h>

#include "launcher/run/dirs.h"
#include "launcher/options/options.h"
#include "launcher/run/run.h"
#include "launcher/plan/program.h"
#include "policy/engine.h"
#include "sbpl/sbpl.h"

int lau_plan_policy(const struct lau_options *o, struct lau_host *host, struct lau_dirs *dirs,
		    struct lau_plan *p, struct b_err *err)
{
	const char *own[LAU_OWN_MAX];
	struct pol_ruleset system;
	struct sbpl_opts opts;
	struct lau_request q;
	int rc;

	(void)host;
	*p = (struct lau_plan){.use_shim = !o->no_shim};
	lau_parts_request(o, dirs, &q);
	q.rq.own_files = own;
	q.rq.nown_files = lau_own_files(&p->arena, dirs->workspaces, dirs->nworkspaces, own);
	q.rq.with_protected = true; /* denies inside what may be written are rules like others */
	pol_ruleset_init(&system);
	opts = sbpl_opts_of(&dirs->layers.effect);
	sbpl_opts_add(&opts, &dirs->layers.main.settings, dirs->layers.n > 0);
	sbpl_system_rules(&opts, &system);
	q.rq.system = &system;
	q.rq.is_on_macos = true;
	rc = pol_engine_new(&q.rq, &p->engine, err);
	pol_ruleset_release(&system);
	return rc;
}

const char *lau_document_lost(const struct pol_settings *s, size_t i)
{
	(void)s, (void)i;
	return NULL;
}

const char **lau_plan_mechanisms(struct lau_plan *p, int lost, size_t *out_n)
{
	const char **list = b_arena_alloc(&p->arena, sizeof *list);

	(void)lost;
	list[0] = p->nfatal ? "the shim alone" : "seatbelt profile";
	*out_n = 1;
	return list;
}

void lau_plan_release(struct lau_plan *p)
{
	if (p->engine)
		pol_engine_free(p->engine);
	free(p->losses);
	b_arena_release(&p->arena);
	*p = (struct lau_plan){0};
}
