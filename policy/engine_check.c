/* SPDX-License-Identifier: Apache-2.0 */
/* engine_check.c - what a compiled policy says of a path, and by which rule. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/fold.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/engine.h"
#include "policy/plan/floor.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

/* The base rows that stand for "no rule matched" are found by their text: "<...>" and "[]" are
 * no rules that anybody could have written there. */
static bool is_sentinel(const struct pol_rule *r)
{
	return r->tier == POL_TIER_BASE && (r->matched[0] == '<' || r->matched[0] == '[');
}

static const struct pol_rule *find_overrode(const struct pol_list *list, size_t end, bool allow,
					    const char *path, size_t len)
{
	for (size_t i = end; i-- > 0;)
		if (list->v[i].layer == list->v[end].layer && list->v[i].allow != allow &&
		    !is_sentinel(&list->v[i]) && pol_rule_matches(&list->v[i], path, len))
			return &list->v[i];
	return NULL;
}

/* Where the question leads, and how the path is shown: as "./x" when it was asked relative to the
 * workspace and does not lead out of it. */
static int locate(const struct pol_engine *e, struct b_arena *a, const char *path, bool is_resolved,
		  const char **out_real, const char **out_shown, struct b_err *err)
{
	const char *ws = e->rules.workspaces[0], *norm, *asked = path, *real;
	size_t n = strcmp(ws, "/") == 0 ? 0 : strlen(ws);

	if (path[0] != '/') {
		norm = pol_path_inside(a, path, err);
		if (!norm)
			return -1;
		asked = strcmp(norm, ".") == 0 || !*norm
				? ws
				: b_arena_printf(a, "%.*s/%s", (int)n, ws, norm);
	}
	if (is_resolved && strlen(asked) >= SBX_PATH_MAX)
		return b_fail(err, B_USAGE, 0, "a path of more than %d bytes", SBX_PATH_MAX - 1);
	real = is_resolved ? asked : pol_canonical_strict(a, asked, err);
	if (!real)
		return -1;
	*out_real = *out_shown = real;
	if (path[0] != '/' && strcmp(real, ws) == 0)
		*out_shown = ".";
	else if (path[0] != '/' && sbx_path_under(real, strlen(real), ws, strlen(ws)))
		*out_shown = b_arena_printf(a, ".%s", real + n);
	return 0;
}

/* Where names are not told apart: what a rule says of another spelling of this one. */
static bool explain_folded(const struct pol_engine *e, enum sbx_op op, const char *path, size_t len,
			   struct sbx_verdict *out)
{
	int rule = sbx_folded_rule(&e->image, op, path, len, SBX_FOLDS_CASE | SBX_FOLDS_ALIAS);

	if (rule >= 0)
		rule = sbx_folded_rule(&e->image, op, path, len, pol_path_folds(path, len, false));
	if (rule < 0)
		return false;
	out->allowed = false;
	sbx_explain_rule(&e->image, op, rule, out);
	return true;
}

static int check(const struct pol_engine *e, struct b_arena *arena, enum sbx_op op,
		 const char *path, bool is_resolved, struct pol_answer *out, struct b_err *err)
{
	const struct pol_list *list = &e->rules.op[op];
	const char *real = NULL, *shown = NULL;
	struct sbx_verdict v;
	bool folded;
	size_t len;

	if (locate(e, arena, path, is_resolved, &real, &shown, err) < 0)
		return -1;
	len = strlen(real);
	sbx_explain(&e->image, op, real, len, &v);
	folded = v.allowed && explain_folded(e, op, real, len, &v);
	/* No list: what the setting opens is open whole. */
	if (op == SBX_CONNECT && list->n == 0 && e->effect.unix_ == POL_UNIX_HOST)
		v = (struct sbx_verdict){true, -1, "unixSockets: host", "builtin:sockets:1"};
	*out = (struct pol_answer){
		.op = op,
		.allowed = v.allowed,
		.path = shown,
		.real = real,
		.matched = v.matched,
		.origin = v.origin,
		.folded = folded,
	};
	if (v.rule >= 0) {
		size_t i = (size_t)v.rule - e->image.hdr->op[op].first_rule;

		B_ASSERT(i < list->n);
		out->rule = is_sentinel(&list->v[i]) ? NULL : &list->v[i];
		out->overrode = find_overrode(list, i, list->v[i].allow, real, len);
	}
	return 0;
}

int pol_engine_check_in(const struct pol_engine *e, struct b_arena *arena, enum sbx_op op,
			const char *path, struct pol_answer *out, struct b_err *err)
{
	return check(e, arena, op, path, false, out, err);
}

int pol_engine_check_resolved(const struct pol_engine *e, struct b_arena *arena, enum sbx_op op,
			      const char *path, struct pol_answer *out, struct b_err *err)
{
	return check(e, arena, op, path, true, out, err);
}

int pol_engine_check(struct pol_engine *e, enum sbx_op op, const char *path, struct pol_answer *out,
		     struct b_err *err)
{
	return pol_engine_check_in(e, &e->rules.arena, op, path, out, err);
}

void pol_engine_matches(const struct pol_engine *e, const struct pol_answer *a,
			void (*each)(void *arg, const struct pol_rule *, bool decides), void *arg)
{
	const struct pol_list *list = &e->rules.op[a->op];
	size_t len = strlen(a->real);

	for (size_t i = 0; i < list->n; i++)
		if (!is_sentinel(&list->v[i]) && pol_rule_matches(&list->v[i], a->real, len))
			each(arg, &list->v[i], &list->v[i] == a->rule);
}

void pol_engine_shown(const struct pol_engine *e, const char *real, struct b_str *out)
{
	const char *ws = e->rules.workspaces[0];
	size_t n = strcmp(ws, "/") == 0 ? 0 : strlen(ws);

	if (strcmp(real, ws) == 0)
		b_str_addc(out, '.');
	else if (sbx_path_under(real, strlen(real), ws, strlen(ws)))
		b_str_addf(out, ".%s", real + n);
	else
		b_str_add(out, real);
}

/* ---- programs that are the command's to change ---- */

static bool may_change(const struct pol_engine *e, const struct pol_program *p)
{
	b_auto(b_str_release) struct b_str name = {0};
	size_t n = strcspn(p->text, "*?");

	if (!p->glob)
		return p->ino && sbx_decide(&e->image, SBX_MODIFY, p->text, strlen(p->text));
	while (n > 0 && p->text[n - 1] != '/')
		n--;
	if (!n)
		return false;
	b_str_addf(&name, "%.*ssbx~p", (int)n, p->text);
	return sbx_decide(&e->image, SBX_MODIFY, name.s, name.len);
}

/* One entry makes several rules. */
static bool is_named_before(const struct pol_endpoints *net, size_t rule, const char *text)
{
	for (size_t i = 0; i < rule; i++)
		for (size_t k = 0; k < net->v[i].by.n; k++)
			if (strcmp(net->v[i].by.v[k].text, text) == 0)
				return true;
	return false;
}

void pol_engine_changeable(const struct pol_engine *e,
			   void (*told)(void *ctx, const struct pol_endpoint *,
					const struct pol_program *),
			   void *ctx)
{
	const struct pol_endpoints *net = &e->rules.net;

	for (size_t i = 0; i < net->n; i++)
		for (size_t k = 0; k < net->v[i].by.n; k++)
			if (may_change(e, &net->v[i].by.v[k]) &&
			    !is_named_before(net, i, net->v[i].by.v[k].text))
				told(ctx, &net->v[i], &net->v[i].by.v[k]);
}
