/*
 * spared.c - denials that spare what is below directories of some names.
 *
 * To take a denial back would be to allow, and nothing but the document may do that. So these
 * denials are a layer of their own, which allows all else: every layer must allow. The name that
 * stands first in a path decides, whether it is denied or spared; where the last match wins, what
 * can stand deeper is said before.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/absolute.h"
#include "policy/front/yaml.h"
#include "policy/layers.h"
#include "policy/vars.h"

static void add_all(struct pol_build *b, const char *origin)
{
	const struct pol_rule all = {.allow = true,
				     .shape = POL_TREE,
				     .tier = POL_TIER_BASE,
				     .base = "/",
				     .matched = "/**",
				     .origin = origin};

	pol_build_add(b, POL_OPS(SBX_MODIFY), &all, POL_TWIN_NONE);
}

/* Below a directory of the name, `level` directories down. */
static void spare(struct pol_build *b, const struct pol_text *name, size_t level)
{
	struct b_arena *a = &b->rs->arena;
	struct b_str up = {0};

	for (size_t i = 0; i < level; i++)
		b_str_add(&up, "*/");
	for (size_t w = pol_build_first(b); w < pol_build_end(b); w++) {
		const char *glob = b_arena_printf(a, "%s%s/**", b_str_c(&up), name->s);
		const struct pol_rule r = {.allow = true,
					   .shape = POL_GLOB,
					   .tier = POL_TIER_SIDE,
					   .base = pol_build_local(b, w),
					   .glob = glob,
					   .matched = glob,
					   .origin = pol_build_origin(b, &name->pos)};

		pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_NONE);
	}
	b_str_release(&up);
}

/* What the command line opens is open in every list of the document. */
static void open_for_cli(struct pol_build *b, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		struct pol_rule r = b->rs->op[SBX_MODIFY].v[i];

		if (!r.allow || r.tier != POL_TIER_CLI || r.layer != POL_LAYER_MAIN)
			continue;
		r.layer = pol_build_layer_number(b);
		pol_ruleset_add_to(b->rs, POL_OPS(SBX_MODIFY), &r);
	}
}

size_t pol_build_level(const struct pol_text *t)
{
	const char *p = t->s + pol_root_head(t->s);
	size_t n = 0;

	for (p += *p == '/'; strncmp(p, "*/", 2) == 0; p += 2)
		n++;
	return n;
}

int pol_build_spared(struct pol_build *b, struct b_err *err)
{
	const struct pol_settings *s = &b->layers->main.settings;
	const struct pol_texts *denied = &s->roots[POL_ROOTS_denyModifyAnyCase];
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];
	struct pol_layer layer = {
		.label = "", .doc = b->layers->main, .end_ws = b->rs->nworkspaces};
	size_t deepest = 0, end = list->n;

	if (!s->spares.n || !denied->n)
		return 0;
	layer.number = list->v[list->n - 1].layer + 1u;
	if (layer.number >= POL_LAYERS_MAX)
		return pol_pos_fail(err, &s->spares.v[0].pos, "too many documents beside this one");
	for (size_t i = 0; i < denied->n; i++)
		if (pol_build_level(&denied->v[i]) > deepest)
			deepest = pol_build_level(&denied->v[i]);
	b->at = &layer;
	add_all(b, pol_build_origin(b, &s->spares.v[0].pos));
	for (size_t level = deepest + 1; level-- > 0;) {
		for (size_t i = 0; level < deepest && i < s->spares.n; i++)
			spare(b, &s->spares.v[i], level);
		pol_build_any_case(b, s, level);
	}
	open_for_cli(b, end);
	b->at = NULL;
	return 0;
}
