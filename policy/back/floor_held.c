/* floor_held.c - denied reads that file permissions refuse already, so that nothing is carved. */
#include "policy/back/floor_priv.h"

#include <string.h>

#include "policy/ruleset.h"

/* Written again by each directory above it that is looked at; shown once. */
static void note(struct pol_floor *f, const struct pol_rule *r)
{
	for (size_t i = 0; i < f->nheld; i++)
		if (!strcmp(f->held[i], r->base))
			return;
	b_grow(f->held, f->nheld, f->held_cap);
	f->held[f->nheld++] = b_arena_strndup(&f->arena, r->base, r->base_len);
}

/* A denied literal below the directory that the file system keeps closed. */
static bool is_held(const struct pol_plan *p, const struct pol_rule *r)
{
	return !r->allow && r->shape != POL_GLOB && p->fs->is_closed(p->fs->ctx, r->base);
}

bool pol_plan_held(struct pol_plan *p, enum sbx_op op, const char *path, size_t len)
{
	const struct pol_list *list = &p->rules->op[op];

	if (op == SBX_MODIFY || !p->fs->is_closed || !pol_plan_allows(p, op, path, len) ||
	    !pol_plan_new_names(p, op, path, len))
		return false;
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		if (r->shape == POL_GLOB &&
		    (pol_plan_is_below(path, r->base, r->base_len) || !strcmp(path, r->base)))
			return false;
		if (pol_plan_is_below(r->base, path, len) && !is_held(p, r))
			return false;
	}
	for (size_t i = 0; i < list->n; i++)
		if (pol_plan_is_below(list->v[i].base, path, len))
			note(p->out, &list->v[i]);
	return true;
}
