/*
 * exception.c - `!path` among the global denyModify rules.
 *
 * An exception undoes, at and below its path, the denies that contain it, and grants nothing: the
 * profile decides there, and the other denies stay. In one ordered list where the last match
 * wins, that is the list so far said once more, without those denies, cut down to the path. A
 * glob is cut down by its residuals: what of it is left to match below the path once the path
 * itself is consumed. A residual is a suffix of the glob, so nothing new has to be written.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/build.h"
#include "policy/glob.h"

/* A set of positions in a glob; `inside` marks star-star-slash that has begun a directory. */
struct live {
	bool at[POL_MAX_RULE_LEN + 1];
	bool inside[POL_MAX_RULE_LEN + 1];
};

static bool starts(const char *p, const char *what)
{
	return strncmp(p, what, strlen(what)) == 0;
}

/* Positions reached without consuming anything. Each edge leads forward: one pass is enough. */
static void close_over(const char *glob, size_t n, struct live *s)
{
	for (size_t i = 0; i < n; i++) {
		const char *p = glob + i;

		if (!s->at[i])
			continue;
		if (strcmp(p, "/**") == 0)
			s->at[n] = true;
		else if (starts(p, "**/"))
			s->at[i + 3] = true;
		else if (starts(p, "**"))
			s->at[i + 2] = true;
		else if (*p == '*')
			s->at[i + 1] = true;
	}
}

/* One character of a path, `len` bytes at c. */
static void step(const char *glob, size_t n, const struct live *from, const char *c, unsigned len,
		 struct live *to)
{
	bool slash = *c == '/';

	memset(to, 0, sizeof *to);
	for (size_t i = 0; i < n; i++) {
		const char *p = glob + i;

		if (from->inside[i] || (from->at[i] && starts(p, "**/"))) {
			to->inside[i] = true;
			to->at[i + 3] |= slash;
		}
		if (!from->at[i] || starts(p, "**/"))
			continue;
		if (starts(p, "**"))
			to->at[i] = true;
		else if (*p == '*')
			to->at[i] |= !slash;
		else if (*p == '?')
			to->at[i + 1] |= !slash;
		else if (strncmp(p, c, len) == 0)
			to->at[i + len] = true;
	}
	close_over(glob, n, to);
}

static void residuals(const char *glob, const char *path, struct live *out)
{
	size_t n = strlen(glob), len = strlen(path);
	struct live cur, next;

	memset(&cur, 0, sizeof cur);
	cur.at[0] = true;
	close_over(glob, n, &cur);
	for (size_t i = 0; i <= len;) {
		const char *c = i < len ? path + i : "/";
		unsigned step_len = b_utf8_len((const unsigned char *)c, strlen(c));

		step_len = step_len ? step_len : 1;
		step(glob, n, &cur, c, step_len, &next);
		cur = next;
		i += step_len;
	}
	/* Just behind a slash, star-star-slash may go on or stop: as if it had not begun. */
	for (size_t i = 0; i < n; i++)
		cur.at[i] |= cur.inside[i];
	*out = cur;
}

static void emit(struct pol_build *b, const struct pol_rule *proto, enum pol_shape shape,
		 const char *path, const char *glob)
{
	struct pol_rule r = *proto;

	r.shape = shape;
	r.glob = glob;
	for (size_t w = pol_build_first(b); w < pol_build_end(b); w++) {
		r.base = pol_build_join(b, b->rs->workspaces[w], path);
		pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_WORKSPACE);
	}
}

static void replay(struct pol_build *b, const struct pol_eff_rule *e, const char *path, bool below)
{
	struct pol_rule proto = {
		.allow = !e->negated,
		.tier = e->is_global_deny ? POL_TIER_DENY : POL_TIER_PROFILE,
		.matched = e->rule,
		.origin = pol_build_origin(b, &e->pos),
	};
	bool at = pol_glob_match(e->rule, path, strlen(path));
	struct live left;

	if (at)
		emit(b, &proto, POL_EXACT, path, NULL);
	if (!below || strcmp(e->rule, ".") == 0)
		return;
	residuals(e->rule, path, &left);
	for (size_t i = 0; e->rule[i]; i++) {
		const char *rest = e->rule + i;

		/* No path below begins with a slash or has a component "."; as whole globs these
		 * would mean something else. */
		if (left.at[i] && *rest != '/' && strcmp(rest, ".") != 0)
			emit(b, &proto, POL_GLOB, path,
			     b_arena_strndup(&b->rs->arena, rest, strlen(rest)));
	}
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
	for (size_t k = 0; k < i; k++) {
		if (list[k].is_exception ||
		    (list[k].is_global_deny && pol_rule_contains(list[k].rule, ex->rule)))
			continue;
		if (b->rs->op[SBX_MODIFY].n > POL_MAX_LOWERED)
			return b_fail(err, B_LIMIT, 0,
				      "%s:%u:%u: exceptions times rules make more than %d rules",
				      ex->pos.file, ex->pos.line, ex->pos.col, POL_MAX_LOWERED);
		replay(b, &list[k], path, below);
	}
	return 0;
}
