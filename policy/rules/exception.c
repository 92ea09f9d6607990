/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `!path` among the global denyModify rules.
 *
 * An exception undoes, at and below its path, the denies that contain it, and grants nothing: the
 * profile decides there, and the other denies stay. In one ordered list where the last match
 * wins, that is the list so far said once more, without those denies, cut down to the path. A
 * glob is cut down by its residuals: what of it is left to match below the path once the path
 * itself is consumed. A residual is a suffix of the glob, so nothing new has to be written.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

static void emit(struct pol_build *b, const struct pol_rule *proto, enum pol_shape shape,
		 const char *path, const char *glob)
{
	/* An allow stays where it is written: where a link leads, other denies may close what is
	 * said open here, and they are not said once more there. */
	enum pol_twin twin = proto->allow ? POL_TWIN_NONE : POL_TWIN_WORKSPACE;
	struct pol_rule r = *proto;

	r.shape = shape;
	r.glob = glob;
	for (size_t w = pol_build_first(b); w < pol_build_end(b); w++) {
		r.base = pol_build_join(b, b->rs->workspaces[w], path);
		pol_build_add(b, POL_OPS(SBX_MODIFY), &r, twin);
	}
}

/* What of a rule is left below the path. Without wildcards it is a place of its own, which then
 * has its twin as every place. */
static void emit_rest(struct pol_build *b, const struct pol_rule *proto, const char *path,
		      const char *rest)
{
	struct b_arena *a = &b->rs->arena;
	size_t len;
	bool below;

	if (pol_rule_is_subtree(rest, &len, &below) && len > 0)
		emit(b, proto, below ? POL_TREE : POL_EXACT,
		     b_arena_printf(a, "%s/%.*s", path, (int)len, rest), NULL);
	else
		emit(b, proto, POL_GLOB, path, b_arena_strndup(a, rest, strlen(rest)));
}

/* ---- what links close ---- */

struct twins {
	struct pol_rule *v;
	size_t n, cap;
};

static bool touches(const struct pol_build *b, const struct pol_rule *r, const char *path)
{
	for (size_t w = pol_build_first(b); w < pol_build_end(b); w++) {
		const char *ws = b->rs->workspaces[w];
		b_auto(b_str_release) struct b_str at = {0};

		b_str_addf(&at, "%s/%s", strcmp(ws, "/") == 0 ? "" : ws, path);
		if (sbx_path_under(at.s, at.len, r->base, r->base_len) ||
		    sbx_path_under(r->base, r->base_len, at.s, at.len))
			return true;
	}
	return false;
}

/* Denies that lead to the exception's place, or around it, through a link. A residual knows only
 * the spelling of a rule. */
static struct twins find_twins(const struct pol_build *b, const char *path)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];
	struct twins t = {0};

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		if (!r->twin || r->allow || r->layer != pol_build_layer_number(b) ||
		    (r->tier != POL_TIER_PROFILE && r->tier != POL_TIER_DENY) ||
		    !touches(b, r, path))
			continue;
		b_grow(t.v, t.n, t.cap);
		t.v[t.n] = *r;
		t.v[t.n++].twin = false; /* the next exception finds the first one again */
	}
	return t;
}

/* ---- one rule said again ---- */

static void replay(struct pol_build *b, const struct pol_eff_rule *e, const char *path, bool below)
{
	struct pol_rule proto = {
		.allow = !e->negated,
		.tier = e->is_global_deny ? POL_TIER_DENY : POL_TIER_PROFILE,
		.matched = e->rule,
		.origin = pol_build_origin(b, &e->pos),
	};
	bool at = pol_glob_match(e->rule, path, strlen(path));
	struct pol_residuals left;

	if (at)
		emit(b, &proto, POL_EXACT, path, NULL);
	if (!below || strcmp(e->rule, ".") == 0)
		return;
	pol_residuals(e->rule, path, &left);
	for (size_t i = 0; e->rule[i]; i++)
		if (left.at[i])
			emit_rest(b, &proto, path, e->rule + i);
}

static void replay_twins(struct pol_build *b, const struct pol_eff_rule *e, const struct twins *t)
{
	const char *origin = t->n ? pol_build_origin(b, &e->pos) : NULL;

	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i].origin, origin) == 0)
			pol_ruleset_add_to(b->rs, POL_OPS(SBX_MODIFY), &t->v[i]);
}

/* Each step over a byte of the path looks at each byte of the rule. */
static bool is_affordable(struct pol_build *b, const struct pol_eff_rule *e, size_t len)
{
	b->exception_work += (strlen(e->rule) + 1) * (len + 1);
	return b->exception_work <= POL_MAX_EXCEPTION_WORK &&
	       b->rs->op[SBX_MODIFY].n <= POL_MAX_LOWERED;
}

static void tell_linked(struct pol_build *b, const struct pol_eff_rule *ex, const char *path)
{
	for (size_t w = pol_build_first(b); w < pol_build_end(b); w++) {
		const char *spelled = pol_build_join(b, b->rs->workspaces[w], path);
		const char *real = pol_canonical(&b->rs->arena, spelled);

		if (strcmp(real, spelled) != 0)
			pol_build_notice(b,
					 "%s:%u:%u: `!%s` passes through a symlink to %s and opens "
					 "nothing there",
					 ex->pos.file, ex->pos.line, ex->pos.col, ex->rule, real);
	}
}

static int replay_all(struct pol_build *b, const struct pol_effective *eff, size_t i,
		      const char *path, bool below, struct b_err *err)
{
	const struct pol_eff_rule *list = eff->v[SBX_MODIFY], *ex = &list[i];
	struct twins twins = find_twins(b, path);
	int rc = 0;

	for (size_t k = 0; k < i && rc == 0; k++) {
		if (list[k].is_exception ||
		    (list[k].is_global_deny && pol_rule_contains(list[k].rule, ex->rule)))
			continue;
		if (!is_affordable(b, &list[k], strlen(path))) {
			rc = b_fail(
				err, B_LIMIT, 0,
				"%s:%u:%u: too many combinations of exceptions and rules: expected "
				"fewer of either",
				ex->pos.file, ex->pos.line, ex->pos.col);
			break;
		}
		replay(b, &list[k], path, below);
		replay_twins(b, &list[k], &twins);
	}
	free(twins.v);
	return rc;
}

int pol_build_exception(struct pol_build *b, const struct pol_effective *eff, size_t i,
			struct b_err *err)
{
	const struct pol_eff_rule *list = eff->v[SBX_MODIFY], *ex = &list[i];
	const char *path;
	size_t len;
	bool below;

	if (!pol_rule_is_subtree(ex->rule, &len, &below) || len == 0)
		return b_fail(err, B_POLICY, 0, "%s:%u:%u: `!%s` cannot be an exception",
			      ex->pos.file, ex->pos.line, ex->pos.col, ex->rule);
	path = b_arena_strndup(&b->rs->arena, ex->rule, len);
	tell_linked(b, ex, path);
	return replay_all(b, eff, i, path, below, err);
}
