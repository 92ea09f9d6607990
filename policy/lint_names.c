/* lint_names.c - names that look like what a rule denies, and are another file only where names are
 * told apart: on a disk without case, in a clone on another system, they are that file. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/fold.h"
#include "policy/back/floor.h"
#include "policy/engine.h"
#include "policy/glob.h"
#include "policy/lint_priv.h"

#define RULES_MAX 2000 /* compared with one another */

struct names {
	struct pol_lint *lint;
	const struct pol_rule *rule;
	const char *name; /* of the rule, in its directory */
	const char *folded;
};

static const char *folded(struct pol_lint *l, const char *text)
{
	size_t len = strlen(text), size = SBX_FOLD_MAX * len + 1;
	char *out = b_arena_alloc(&l->arena, size);

	(void)sbx_fold_text(out, size, text, len, SBX_FOLD_TRIMS);
	return out;
}

static int meet_entry(void *arg, const char *name, char type)
{
	struct names *n = arg;

	(void)type;
	if (strcmp(name, n->name) != 0 && strcmp(folded(n->lint, name), n->folded) == 0)
		pol_lint_add(n->lint, POL_LINT_LOOKALIKE, n->rule->origin, n->rule->matched,
			     "`%s` lies beside what rule `%s` denies and is the same name where "
			     "case and form do not count",
			     name, n->rule->matched)
			->is_exact = true;
	return 0;
}

/* Each name of a literal rule below the workspace, in the directory where it would be. */
static void look_along(struct pol_lint *l, const struct pol_rule *r, const char *path, size_t ws)
{
	for (const char *at = path + ws; *at == '/';) {
		size_t n = strcspn(at + 1, "/");
		const char *dir = b_arena_strndup(&l->arena, path, (size_t)(at - path));
		const char *name = b_arena_strndup(&l->arena, at + 1, n);
		struct names names = {l, r, name, folded(l, name)};
		const struct pol_fsview *fs = pol_fsview_host();

		if (fs->list(fs->ctx, *dir ? dir : "/", meet_entry, &names) < 0)
			return;
		at += 1 + n;
	}
}

static const char *path_of(struct pol_lint *l, const struct pol_rule *r)
{
	return r->shape == POL_GLOB ? b_arena_printf(&l->arena, "%s/%s", r->base, r->glob)
				    : b_arena_strndup(&l->arena, r->base, r->base_len);
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* A rule that allows what another denies by another spelling. */
static void compare(struct pol_lint *l, const struct pol_list *list, size_t i)
{
	const char *path = path_of(l, &list->v[i]), *text = folded(l, path);

	for (size_t k = 0; k < list->n; k++) {
		const struct pol_rule *r = &list->v[k];
		const char *other = r->allow ? path : path_of(l, r);

		if (strcmp(other, path) != 0 && strcmp(folded(l, other), text) == 0)
			pol_lint_add(
				l, POL_LINT_LOOKALIKE, list->v[i].origin, list->v[i].matched,
				"rule `%s` allows what `%s` (%s) denies where case and form do "
				"not count",
				list->v[i].matched, r->matched, r->origin)
				->is_exact = true;
	}
}

void pol_lint_names(struct pol_lint *l, const struct pol_engine *engine, const char *ws)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		const struct pol_list *list = &engine->rules.op[op];

		for (size_t i = 0; i < list->n && list->n <= RULES_MAX; i++) {
			const struct pol_rule *r = &list->v[i];
			const char *path;

			if (r->allow && r->tier == POL_TIER_PROFILE)
				compare(l, list, i);
			if (r->allow || (r->shape == POL_GLOB && !pol_glob_is_literal(r->glob)))
				continue;
			path = path_of(l, r);
			if (is_below(path, ws))
				look_along(l, r, path, strlen(ws));
		}
	}
}
