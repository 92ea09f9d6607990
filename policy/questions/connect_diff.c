/* SPDX-License-Identifier: Apache-2.0 */
/* connect_diff.c - endpoints that two policies decide differently. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/engine.h"
#include "policy/questions/connect.h"
#include "policy/questions/explain.h"

#define MAX_QUESTIONS 4000000 /* some seconds */

struct sides {
	const struct pol_engine *e[2];
	struct pol_differences *out;
	size_t first; /* of those on endpoints */
};

static void verdict_of(const struct pol_engine *e, const struct sbx_connect_answer *a,
		       struct sbx_verdict *out)
{
	out->allowed = a->allowed;
	sbx_explain_rule(&e->image, SBX_CONNECT, a->rule, out);
	if (a->rule < 0)
		out->matched = e->rules.net.n ? "<no matching rule>" : "[]";
}

static bool is_told(const struct sides *s, const struct sbx_connect_answer a[2])
{
	for (size_t i = s->first; i < s->out->n; i++)
		if (s->out->v[i].before.rule == a[0].rule && s->out->v[i].after.rule == a[1].rule)
			return true;
	return false;
}

/* The shortest of each pair of rules would need all of them: the first is told. */
static void tell(struct sides *s, const char *asked, const char *program,
		 const struct sbx_connect_answer a[2])
{
	struct pol_difference d = {.op = SBX_CONNECT, .is_allowed = a[1].allowed};

	if (is_told(s, a) || s->out->n >= POL_MAX_DIFFERENCES)
		return;
	d.path = program ? b_arena_printf(&s->out->arena, "%s by %s", asked, program) : asked;
	verdict_of(s->e[0], &a[0], &d.before);
	verdict_of(s->e[1], &a[1], &d.after);
	b_grow(s->out->v, s->out->n, s->out->cap);
	s->out->v[s->out->n++] = d;
}

/* A whole name opens private addresses, which a wildcard does not. */
static void ask_private(struct sides *s, const struct sbx_host *host, uint16_t port,
			const char *program, const struct sbx_programs who[2])
{
	static const struct sbx_addr somewhere = {0, {192, 168, 255, 254}};
	struct sbx_connect_answer a[2];

	for (int side = 0; side < 2; side++)
		sbx_connect_resolved(&s->e[side]->image, host->name, host->len, &somewhere, 1, port,
				     &who[side], &a[side]);
	if (a[0].allowed != a[1].allowed)
		tell(s,
		     b_arena_printf(&s->out->arena, "%s at a private address",
				    pol_connect_asked(&s->out->arena, host, port)),
		     program, a);
}

/* Of an endpoint that both open. */
static void ask_requests(struct sides *s, const struct sbx_host *host, uint16_t port,
			 const char *program, const struct sbx_programs who[2],
			 const struct sbx_connect_answer a[2])
{
	const struct sbx_image *const image[2] = {&s->e[0]->image, &s->e[1]->image};
	struct sbx_connect_answer b[2] = {a[0], a[1]};
	b_auto(b_str_release) struct b_str text = {0};

	if (!pol_requests_differ(image, host, port, who, &text, &b[1].allowed))
		return;
	tell(s,
	     b_arena_printf(&s->out->arena, "%s at %s", b_str_c(&text),
			    pol_connect_asked(&s->out->arena, host, port)),
	     program, b);
}

static void ask_one(struct sides *s, const struct sbx_host *host, uint16_t port,
		    const char *program, const struct sbx_programs who[2])
{
	struct sbx_connect_answer a[2];

	for (int side = 0; side < 2; side++)
		sbx_connect_host(&s->e[side]->image, host, port, &who[side], &a[side]);
	if (a[0].allowed != a[1].allowed)
		tell(s, pol_connect_asked(&s->out->arena, host, port), program, a);
	else if (a[0].allowed && host->kind == SBX_HOST_NAME)
		ask_private(s, host, port, program, who);
	if (a[0].allowed && a[1].allowed)
		ask_requests(s, host, port, program, who, a);
}

static void ask(struct sides *s, const struct pol_samples *q, size_t program)
{
	struct sbx_programs who[2] = {{0}};
	const char *text = program ? q->texts[program - 1] : NULL;

	for (int side = 0; program && side < 2; side++)
		sbx_connect_programs(&s->e[side]->image, &q->programs[program - 1], 1, &who[side]);
	for (size_t h = 0; h < q->nhosts; h++)
		for (size_t p = 0; p < q->nports; p++)
			ask_one(s, &q->hosts[h], q->ports[p], text, who);
}

int pol_connect_differences(const struct pol_engine *before, const struct pol_engine *after,
			    struct pol_differences *out, struct b_err *err)
{
	struct sides s = {{before, after}, out, out->n};
	struct pol_samples q = {.nhosts = 0};
	int rc = 0;

	/* One with the whole network differs by that setting. */
	if (before->rules.net.n + after->rules.net.n == 0 ||
	    (before->effect.network == POL_NET_HOST) != (after->effect.network == POL_NET_HOST))
		return 0;
	pol_samples_add(&q, &before->rules.net);
	pol_samples_add(&q, &after->rules.net);
	if (pol_samples_count(&q) > MAX_QUESTIONS)
		rc = b_fail(err, B_LIMIT, 0, "too many rules on endpoints to compare");
	for (size_t program = 0; rc == 0 && program <= q.nprograms; program++)
		ask(&s, &q, program);
	pol_samples_release(&q);
	return rc;
}
