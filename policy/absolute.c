/* absolute.c - see absolute.h. */
#include "policy/absolute.h"

#include <string.h>

#include "base/str.h"
#include "core/path.h"
#include "policy/glob.h"
#include "policy/workspace.h"

/* ".." would mean two things in a glob. */
const char *pol_components(struct b_arena *a, const char *text)
{
	char *s = b_arena_strndup(a, text, strlen(text)), *to = s;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return NULL;
		if (n > 0 && !(n == 1 && p[0] == '.')) {
			if (to != s)
				*to++ = '/';
			memcpy(to, p, n);
			to += n;
		}
		p += n + (p[n] == '/');
	}
	*to = '\0';
	return s;
}

/* A glob-free text is a tree, as people expect of an option that takes a directory. */
static struct pol_rule lower(struct pol_build *b, const struct pol_absolute *t)
{
	struct b_arena *a = &b->rs->arena;
	struct pol_rule r = {
		.allow = t->allow, .tier = t->tier, .shape = POL_TREE, .origin = t->origin};
	size_t len = strlen(t->path), prefix;
	bool below;

	if (t->is_exact) {
		r.shape = POL_EXACT;
		r.base = len ? pol_build_join(b, t->dir, t->path) : t->dir;
		r.matched = b_arena_printf(a, "%s%s", t->lead, t->path);
		return r;
	}
	if (len == 0 ||
	    (!t->folds && (t->is_literal || pol_rule_is_subtree(t->path, &len, &below)))) {
		r.base = len ? pol_build_join(b, t->dir, b_arena_strndup(a, t->path, len)) : t->dir;
		r.matched = b_arena_printf(a, "%s%.*s%s", t->lead, (int)len, t->path,
					   len ? "/**" : "**");
		return r;
	}
	below = t->folds && !strpbrk(t->path, "*?");
	r.shape = POL_GLOB;
	r.base = t->dir;
	r.glob = below ? b_arena_printf(a, "%s/**", t->path) : t->path;
	r.matched = b_arena_printf(a, "%s%s", t->lead, r.glob);
	r.base_is_root = true;
	r.folds = t->folds;
	prefix = *t->lead && !t->folds ? pol_glob_literal_prefix(t->path) : 0;
	if (prefix > 0) {
		r.base = pol_build_join(b, t->dir, b_arena_strndup(a, t->path, prefix));
		r.glob = t->path + prefix + 1;
		r.base_is_root = false;
	}
	return r;
}

static bool under(const char *path, const char *dir)
{
	return dir[0] == '\0' || sbx_path_under(path, strlen(path), dir, strlen(dir));
}

/* May allow rule r open something that set rule s closes? */
static bool opens(const struct pol_rule *r, const struct pol_rule *s)
{
	if (pol_rule_matches(r, s->base, s->base_len))
		return true;
	return s->shape == POL_TREE && r->base_len > 0 && under(r->base, s->base);
}

static void tell_reopened(struct pol_build *b, const char *what, const struct pol_rule *r,
			  enum sbx_op op)
{
	const struct pol_list *list = &b->rs->op[op];
	const struct pol_rule *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *s = &list->v[i];

		/* what is obeyed outside is told once all rules are there: obeyed.c */
		if (s->layer != pol_build_layer_number(b) || s->tier != POL_TIER_SET || s->twin ||
		    s->allow || s->obeyed_by || !opens(r, s))
			continue;
		first = first ? first : s;
		n++;
	}
	if (n == 1)
		pol_build_notice(b, "%s re-opens `%s` for %s (%s)", what, first->matched,
				 sbx_op_name(op), first->origin);
	else if (n > 1)
		pol_build_notice(b, "%s re-opens `%s` and %zu more for %s (%s)", what,
				 first->matched, n - 1, sbx_op_name(op), first->origin);
}

/* Does a set close the path that the rule names? */
static bool is_closed(const struct pol_build *b, const struct pol_rule *r, enum sbx_op op)
{
	const struct pol_list *list = &b->rs->op[op];

	for (size_t i = 0; i < list->n && r->shape == POL_TREE; i++) {
		const struct pol_rule *s = &list->v[i];

		if (s->tier == POL_TIER_SET && !s->allow && s->layer == pol_build_layer_number(b) &&
		    pol_rule_matches(s, r->base, r->base_len))
			return true;
	}
	return false;
}

/* Is it the temporary name of the file that the rule `r` opens, by which that is saved? */
static bool is_temporary(const struct pol_rule *s, const struct pol_rule *r)
{
	size_t n = s->base_len;

	if (s->shape == POL_EXACT)
		return n == r->base_len + 5 && memcmp(s->base, r->base, r->base_len) == 0 &&
		       strcmp(s->base + r->base_len, ".lock") == 0;
	return s->shape == POL_GLOB && r->base_len > n + 1 && memcmp(s->base, r->base, n) == 0 &&
	       r->base[n] == '/' && b_has_prefix(s->glob, r->base + n + 1) &&
	       strcmp(s->glob + (r->base_len - n - 1), ".tmp.*") == 0;
}

/* Whoever may change a file that a set closes may save it. */
static void open_temporaries(struct pol_build *b, const struct pol_rule *r)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];
	size_t n = list->n;

	for (size_t i = 0; i < n; i++) {
		const struct pol_rule *s = &list->v[i];
		struct pol_rule t = *r;

		if (!s->obeyed_by || s->allow || s->layer != pol_build_layer_number(b) ||
		    !is_temporary(s, r))
			continue;
		t.shape = s->shape;
		t.base = s->base;
		t.glob = s->glob;
		t.twin = true; /* a part of the rule before it */
		pol_build_add(b, POL_OPS(SBX_MODIFY) | POL_OPS(SBX_READ), &t, POL_TWIN_NONE);
	}
}

void pol_build_absolute(struct pol_build *b, const struct pol_absolute *t)
{
	struct pol_rule r = lower(b, t);
	unsigned ops = POL_OPS(t->op);

	pol_build_at(&r, r.base);
	if (t->only_closed && !is_closed(b, &r, t->op))
		return;
	/* What may be changed may be read: a directory that can be written and not listed is of no
	 * use to the programs that people name it for. */
	if (t->allow && t->op == SBX_MODIFY) {
		tell_reopened(b, t->what, &r, SBX_READ);
		ops |= POL_OPS(SBX_READ);
	}
	if (t->allow)
		tell_reopened(b, t->what, &r, t->op);
	pol_build_add(b, ops, &r, t->twin);
	if (t->allow && t->op == SBX_MODIFY && r.shape != POL_GLOB)
		open_temporaries(b, &r);
	if (t->allow && t->op == SBX_MODIFY)
		pol_build_git_behind(b, &r);
}
