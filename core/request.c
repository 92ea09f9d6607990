/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - see request.h. */
#include "core/request.h"

#include "core/target.h"

const char *sbx_request_why_text(enum sbx_request_why why)
{
	static const char *const text[] = {
#define X(name, text) text,
		SBX_REQUEST_WHYS(X)
#undef X
	};

	return why < SBX_REQUEST_WHY_COUNT ? text[why] : "?";
}

static struct sbx_glob glob_at(const struct sbx_requests *r, uint32_t i)
{
	const struct sbx_request_glob *g = &r->glob[i];

	/* an image without ranges has no table for them */
	return (struct sbx_glob){.op = g->nops ? r->op + g->first_op : NULL,
				 .nops = g->nops,
				 .separator = g->separator,
				 .range = g->nranges ? r->range + g->first_range : NULL,
				 .nranges = g->nranges};
}

static bool one_matches(const struct sbx_requests *r, uint32_t first, uint32_t n, const char *text,
			size_t len)
{
	for (uint32_t i = first; i < first + n; i++) {
		struct sbx_glob g = glob_at(r, i);

		if (sbx_glob_match(&g, text, len))
			return true;
	}
	return false;
}

static bool is_same(const char *a, size_t n, const char *b, size_t m, bool folds)
{
	if (n != m)
		return false;
	for (size_t i = 0; i < n; i++) {
		char x = a[i], y = b[i];

		if (folds && x >= 'a' && x <= 'z')
			x = (char)(x - 32);
		if (folds && y >= 'a' && y <= 'z')
			y = (char)(y - 32);
		if (x != y)
			return false;
	}
	return true;
}

static bool is_for_method(const struct sbx_requests *r, const struct sbx_request_rule *rule,
			  const struct sbx_request *q)
{
	const char *text = r->text + rule->method.at;
	size_t len = rule->method.len;

	return len == 0 || is_same(text, len, q->method, q->method_len, true) ||
	       (is_same(text, len, "GET", 3, true) &&
		is_same(q->method, q->method_len, "HEAD", 4, true));
}

/* ---- queries ---- */

enum query_said { QUERY_MATCHES, QUERY_DIFFERS, QUERY_BAD };

/* Bits of the rule's parameters: those of this key, and those whose pattern its value meets. */
struct met {
	uint32_t keys, values;
};

static struct met meet(const struct sbx_requests *r, const struct sbx_request_rule *rule,
		       const struct sbx_query_pair *p)
{
	struct met m = {0, 0};

	for (uint32_t i = 0; i < rule->nparams; i++) {
		const struct sbx_request_param *param = &r->param[rule->first_param + i];

		if (!is_same(r->text + param->key.at, param->key.len, p->key, p->key_len, false))
			continue;
		m.keys |= UINT32_C(1) << i;
		if (one_matches(r, param->first_glob, param->nglobs, p->value, p->value_len))
			m.values |= UINT32_C(1) << i;
	}
	return m;
}

static enum query_said read_query(const struct sbx_requests *r, const struct sbx_request_rule *rule,
				  const struct sbx_request *q, char *room)
{
	uint32_t all = (uint32_t)((UINT64_C(1) << rule->nparams) - 1), seen = 0, met = 0,
		 not_met = 0;
	struct sbx_query_pair p;
	enum sbx_query_said said;
	size_t at = 0;

	while ((said = sbx_query_next(q->query, q->query_len, &at, room, &p)) == SBX_QUERY_PAIR) {
		struct met m = meet(r, rule, &p);

		seen |= m.keys;
		met |= m.values;
		not_met |= m.keys & ~m.values;
	}
	if (said == SBX_QUERY_BAD)
		return QUERY_BAD;
	if (rule->allow)
		return seen == all && !not_met ? QUERY_MATCHES : QUERY_DIFFERS;
	return met == all ? QUERY_MATCHES : QUERY_DIFFERS;
}

/* ---- the judgement ---- */

static void decide(const struct sbx_requests *r, const struct sbx_request_set *s,
		   const struct sbx_request *q, char *room, struct sbx_request_answer *out)
{
	for (uint32_t i = s->first_rule + s->nrules; i > s->first_rule; i--) {
		const struct sbx_request_rule *rule = &r->rule[i - 1];
		enum query_said said = QUERY_MATCHES;

		if (!is_for_method(r, rule, q) ||
		    (rule->nglobs &&
		     !one_matches(r, rule->first_glob, rule->nglobs, q->path, q->path_len)))
			continue;
		if (rule->nparams)
			said = read_query(r, rule, q, room);
		if (said == QUERY_DIFFERS)
			continue;
		out->rule = (int)(i - 1);
		out->why = said == QUERY_BAD ? SBX_REQUEST_QUERY : SBX_REQUEST_RULE;
		out->allowed = said == QUERY_MATCHES && rule->allow;
		return;
	}
}

bool sbx_request_judge(const struct sbx_requests *r, uint32_t set, const struct sbx_request *q,
		       char *room, struct sbx_request_answer *out)
{
	const struct sbx_request_set *s = &r->set[set];

	*out = (struct sbx_request_answer){.rule = -1, .why = SBX_REQUEST_NO_RULE};
	decide(r, s, q, room, out);
	out->passes =
		out->allowed || ((s->flags & SBX_REQUEST_AUDIT) && out->why != SBX_REQUEST_QUERY);
	return out->passes;
}

/* ---- what was not made here ---- */

void sbx_requests_of(const struct sbx_image *img, struct sbx_requests *out)
{
	const struct sbx_image_requests *r = &img->hdr->net.requests;
	const unsigned char *base = img->base;

	*out = (struct sbx_requests){
		.set = (const void *)(base + r->sets),
		.rule = (const void *)(base + r->rules),
		.param = (const void *)(base + r->params),
		.glob = (const void *)(base + r->globs),
		.range = (const void *)(base + r->ranges),
		.op = (const void *)(base + r->ops),
		.text = (const char *)base + r->text,
		.nsets = r->nsets,
		.nrules = r->nrules,
		.nparams = r->nparams,
		.nglobs = r->nglobs,
		.nranges = r->nranges,
		.nops = r->nops,
		.ntext = r->ntext,
	};
}

static bool is_within(uint32_t first, uint32_t n, uint32_t all)
{
	return first <= all && n <= all - first;
}

static bool is_text_within(const struct sbx_requests *r, const struct sbx_request_text *t)
{
	return is_within(t->at, t->len, r->ntext);
}

static bool check_globs(const struct sbx_requests *r)
{
	for (uint32_t i = 0; i < r->nglobs; i++) {
		const struct sbx_request_glob *g = &r->glob[i];
		struct sbx_glob one;

		if (!is_within(g->first_op, g->nops, r->nops) ||
		    !is_within(g->first_range, g->nranges, r->nranges))
			return false;
		one = glob_at(r, i);
		if (!sbx_glob_check(&one))
			return false;
	}
	return true;
}

static bool check_params(const struct sbx_requests *r)
{
	for (uint32_t i = 0; i < r->nparams; i++)
		if (!is_text_within(r, &r->param[i].key) ||
		    !is_within(r->param[i].first_glob, r->param[i].nglobs, r->nglobs))
			return false;
	return true;
}

bool sbx_requests_check(const struct sbx_requests *r)
{
	for (uint32_t i = 0; i < r->nrules; i++) {
		const struct sbx_request_rule *rule = &r->rule[i];

		if (!is_text_within(r, &rule->method) || !is_text_within(r, &rule->matched) ||
		    !is_text_within(r, &rule->origin) ||
		    !is_within(rule->first_glob, rule->nglobs, r->nglobs) ||
		    !is_within(rule->first_param, rule->nparams, r->nparams) ||
		    rule->nparams > SBX_REQUEST_PARAMS)
			return false;
	}
	for (uint32_t i = 0; i < r->nsets; i++)
		if (!is_text_within(r, &r->set[i].name) ||
		    !is_within(r->set[i].first_rule, r->set[i].nrules, r->nrules))
			return false;
	return check_globs(r) && check_params(r);
}
