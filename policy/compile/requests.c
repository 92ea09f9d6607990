/* SPDX-License-Identifier: Apache-2.0 */
/* requests.c - see requests.h. */
#include "policy/compile/requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"

/* ---- what a document says ---- */

void pol_http_rules_add(struct b_arena *a, struct pol_http_rules *rules,
			const struct pol_http_rule *one)
{
	struct pol_http_rule *v;

	if (rules->n == rules->cap) {
		rules->cap = rules->cap ? rules->cap * 2 : 8;
		v = b_arena_alloc(a, rules->cap * sizeof *v);
		if (rules->n)
			memcpy(v, rules->v, rules->n * sizeof *v);
		rules->v = v;
	}
	v = &rules->v[rules->n++];
	*v = *one;
	if (!v->matched) {
		b_auto(b_str_release) struct b_str text = {0};

		pol_http_rule_text(v, &text);
		v->matched = b_arena_strndup(a, b_str_c(&text), text.len);
	}
}

void pol_http_rules_access(struct b_arena *a, struct pol_http_rules *rules, enum pol_access access,
			   const char *origin)
{
	/* those that write come last: a prefix of the list is the smaller preset */
	static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH"};
	static const size_t n[] = {[POL_ACCESS_READ_ONLY] = 3, [POL_ACCESS_READ_WRITE] = 6};
	struct pol_http_rule one = {.allow = true, .origin = origin};

	if (access == POL_ACCESS_FULL) {
		pol_http_rules_add(a, rules, &one);
		return;
	}
	for (size_t i = 0; i < n[access]; i++) {
		one.method = methods[i];
		pol_http_rules_add(a, rules, &one);
	}
}

void pol_http_rule_text(const struct pol_http_rule *r, struct b_str *out)
{
	b_str_addf(out, "%s %s", r->method ? r->method : "*", r->path ? r->path : "**");
	for (size_t i = 0; i < r->nparams; i++) {
		const struct pol_http_param *p = &r->param[i];

		b_str_addf(out, "%c%s=", i ? '&' : '?', p->key);
		for (size_t k = 0; k < p->nglobs; k++)
			b_str_addf(out, "%s%s", k ? "|" : "", p->glob[k]);
	}
}

static const char *copy(struct b_arena *a, const char *s)
{
	return s ? b_arena_strndup(a, s, strlen(s)) : NULL;
}

static const struct pol_http_param *copy_params(struct b_arena *a, const struct pol_http_rule *r)
{
	struct pol_http_param *v = b_arena_alloc(a, (r->nparams + 1) * sizeof *v);

	for (size_t i = 0; i < r->nparams; i++) {
		const struct pol_http_param *p = &r->param[i];
		const char **glob = b_arena_alloc(a, (p->nglobs + 1) * sizeof *glob);

		for (size_t k = 0; k < p->nglobs; k++)
			glob[k] = copy(a, p->glob[k]);
		v[i] = (struct pol_http_param){copy(a, p->key), glob, p->nglobs};
	}
	return v;
}

const struct pol_http_rules *pol_http_rules_copy(struct b_arena *a,
						 const struct pol_http_rules *from)
{
	struct pol_http_rules *to = b_arena_alloc(a, sizeof *to);

	*to = *from;
	to->name = copy(a, from->name);
	to->n = to->cap = 0;
	to->v = NULL;
	for (size_t i = 0; i < from->n; i++) {
		struct pol_http_rule r = from->v[i];

		r.method = copy(a, r.method);
		r.path = copy(a, r.path);
		r.matched = copy(a, r.matched);
		r.origin = copy(a, r.origin);
		r.param = copy_params(a, &r);
		pol_http_rules_add(a, to, &r);
	}
	return to;
}

static void hash_text(struct b_sha256 *h, const char *s)
{
	const uint8_t is_there = s != NULL;

	b_sha256_update(h, &is_there, 1);
	b_sha256_update(h, s ? s : "", s ? strlen(s) + 1 : 0);
}

void pol_http_rules_hash(struct b_sha256 *h, const struct pol_http_rules *rules)
{
	const uint64_t head[] = {rules != NULL, rules ? rules->n : 0, rules && rules->is_audit,
				 rules && rules->keeps_slashes, rules && rules->no_tls};

	b_sha256_update(h, head, sizeof head);
	hash_text(h, rules ? rules->name : NULL);
	for (size_t i = 0; rules && i < rules->n; i++) {
		const struct pol_http_rule *r = &rules->v[i];
		const uint64_t one[] = {r->allow, r->nparams, r->query};

		b_sha256_update(h, one, sizeof one);
		hash_text(h, r->method);
		hash_text(h, r->path);
		hash_text(h, r->matched);
		hash_text(h, r->origin);
		for (size_t k = 0; k < r->nparams; k++) {
			const uint64_t n = r->param[k].nglobs;

			b_sha256_update(h, &n, sizeof n);
			hash_text(h, r->param[k].key);
			for (size_t m = 0; m < n; m++)
				hash_text(h, r->param[k].glob[m]);
		}
	}
}

/* ---- what is judged by ---- */

static struct sbx_request_text add_text(struct pol_requests *all, const char *s)
{
	size_t len = s ? strlen(s) : 0;
	struct sbx_request_text at = {(uint32_t)all->ntext, (uint32_t)len};

	for (size_t i = 0; i < len; i++) {
		b_grow(all->text, all->ntext, all->text_cap);
		all->text[all->ntext++] = s[i];
	}
	return at;
}

/* How many patterns came of it, behind those that are there: *n. */
static int add_glob(struct pol_requests *all, const char *pattern, enum pol_glob_text text,
		    uint32_t *n, struct b_err *err)
{
	size_t from = all->globs.n;

	if (pol_globs_add(&all->globs, pattern, text, err) < 0)
		return -1;
	for (size_t i = from; i < all->globs.n; i++) {
		const struct pol_glob *g = &all->globs.v[i];

		b_grow(all->glob, all->nglobs, all->globs_cap);
		all->glob[all->nglobs++] = (struct sbx_request_glob){
			g->first_op, g->nops, g->first_range, g->nranges, g->separator};
		++*n;
	}
	return 0;
}

static int add_param(struct pol_requests *all, const struct pol_http_param *p,
		     enum pol_glob_text text, struct b_err *err)
{
	struct sbx_request_param one = {.key = add_text(all, p->key),
					.first_glob = (uint32_t)all->nglobs};

	for (size_t i = 0; i < p->nglobs; i++)
		if (add_glob(all, p->glob[i], text, &one.nglobs, err) < 0)
			return -1;
	b_grow(all->param, all->nparams, all->params_cap);
	all->param[all->nparams++] = one;
	return 0;
}

static int add_rule(struct pol_requests *all, const struct pol_http_rule *r, struct b_err *err)
{
	struct sbx_request_rule one = {.allow = r->allow,
				       .method = add_text(all, r->method),
				       .matched = add_text(all, r->matched),
				       .origin = add_text(all, r->origin),
				       .first_glob = (uint32_t)all->nglobs};

	if (r->nparams > SBX_REQUEST_PARAMS)
		return b_fail(err, B_POLICY, 0, "a rule on more than %u keys of a query",
			      SBX_REQUEST_PARAMS);
	if (r->path && add_glob(all, r->path, POL_GLOB_PATH, &one.nglobs, err) < 0)
		return -1;
	one.first_param = (uint32_t)all->nparams;
	for (size_t i = 0; i < r->nparams; i++)
		if (add_param(all, &r->param[i], r->query, err) < 0)
			return -1;
	one.nparams = (uint32_t)r->nparams;
	b_grow(all->rule, all->nrules, all->rules_cap);
	all->rule[all->nrules++] = one;
	return 0;
}

int pol_requests_add(struct pol_requests *all, const struct pol_http_rules *rules,
		     uint32_t *out_set, struct b_err *err)
{
	struct sbx_request_set set = {.first_rule = (uint32_t)all->nrules};

	for (size_t i = 0; i < rules->n; i++)
		if (add_rule(all, &rules->v[i], err) < 0)
			return -1;
	set.nrules = (uint32_t)rules->n;
	set.name = add_text(all, rules->name);
	set.flags = (rules->is_audit ? SBX_REQUEST_AUDIT : 0) |
		    (rules->keeps_slashes ? SBX_REQUEST_SLASHES : 0) |
		    (rules->no_tls ? SBX_REQUEST_NO_TLS : 0);
	b_grow(all->set, all->nsets, all->sets_cap);
	*out_set = (uint32_t)all->nsets;
	all->set[all->nsets++] = set;
	return 0;
}

void pol_requests_view(const struct pol_requests *all, struct sbx_requests *out)
{
	*out = (struct sbx_requests){.set = all->set,
				     .rule = all->rule,
				     .param = all->param,
				     .glob = all->glob,
				     .range = all->globs.range,
				     .op = all->globs.op,
				     .text = all->text,
				     .nsets = (uint32_t)all->nsets,
				     .nrules = (uint32_t)all->nrules,
				     .nparams = (uint32_t)all->nparams,
				     .nglobs = (uint32_t)all->nglobs,
				     .nranges = (uint32_t)all->globs.nranges,
				     .nops = (uint32_t)all->globs.nops,
				     .ntext = (uint32_t)all->ntext};
}

void pol_requests_release(struct pol_requests *all)
{
	free(all->set);
	free(all->rule);
	free(all->param);
	free(all->glob);
	free(all->text);
	pol_globs_release(&all->globs);
	*all = (struct pol_requests){0};
}
