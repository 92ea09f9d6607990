/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several documents that must all allow: the product automaton against each layer compiled alone,
 * on random rules and paths. No layer ever allows what another denies, the layer named is the
 * first that denies, and what the planner asks of whole subtrees agrees, too.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/engine.h"

#define LAYERS	  3
#define RULES_MAX 6 /* of a layer */
#define RULESETS  350
#define PATHS	  300 /* for each: 2 x 105,000 in the two tests */

struct world {
	struct engine all, alone[LAYERS];
	size_t first[LAYERS]; /* rule of the whole list that the layer begins with */
	int n;
};

/* The layers that have rules: one that has none is not there. */
static void draw_world(struct draw *d, bool rich, struct world *w)
{
	*w = (struct world){.n = 0};
	engine_init(&w->all);
	for (unsigned number = 0; number < LAYERS; number++) {
		struct engine *one = &w->alone[w->n];
		struct pol_list *list;
		unsigned n = draw(d, RULES_MAX + 1);

		if (n == 0)
			continue;
		engine_init(one);
		for (; n > 0; n--)
			draw_rule(d, rich, &one->rules);
		list = &one->rules.op[SBX_READ];
		w->first[w->n++] = w->all.rules.op[SBX_READ].n;
		for (size_t i = 0; i < list->n; i++) {
			list->v[i].layer = (uint8_t)number;
			pol_ruleset_add(&w->all.rules, SBX_READ, &list->v[i]);
		}
		engine_compile(one);
	}
	engine_compile(&w->all);
}

static void release(struct world *w)
{
	engine_release(&w->all);
	for (int i = 0; i < w->n; i++)
		engine_release(&w->alone[i]);
}

/* What the layers say one by one: the verdict, and the rule to be named. */
static bool judge(const struct world *w, const char *path, size_t len, int *out_rule)
{
	int named = -1;

	for (int i = 0; i < w->n; i++) {
		const struct sbx_image *img = &w->alone[i].image;
		int rule = sbx_attribute(img, SBX_READ, path, len);
		int whole = rule < 0 ? -1 : (int)w->first[i] + rule;

		if (!sbx_decide(img, SBX_READ, path, len)) {
			*out_rule = whole;
			return false;
		}
		if (named < 0 || w->alone[i].rules.op[SBX_READ].v[0].layer == POL_LAYER_MAIN)
			named = whole;
	}
	*out_rule = named;
	return w->n > 0;
}

static void compare_subtrees(const struct world *w, const char *path, size_t len, unsigned seed)
{
	enum sbx_subtree got = sbx_subtree(&w->all.image, SBX_READ, path, len);
	int allow = 0, deny = 0;

	for (int i = 0; i < w->n; i++) {
		enum sbx_subtree one = sbx_subtree(&w->alone[i].image, SBX_READ, path, len);

		allow += one == SBX_SUBTREE_ALLOW;
		deny += one == SBX_SUBTREE_DENY;
	}
	if (deny > 0 || w->n == 0)
		cr_assert_eq(got, SBX_SUBTREE_DENY, "seed %u: `%s`", seed, path);
	else
		cr_assert_eq(got == SBX_SUBTREE_ALLOW, allow == w->n, "seed %u: `%s`", seed, path);
}

static void agree(unsigned seed, bool rich)
{
	const char *times = getenv("AGREEMENT_TIMES");
	unsigned n = RULESETS * (times ? (unsigned)strtoul(times, NULL, 10) : 1);
	struct draw d;

	draw_seed(&d, seed);
	for (; n > 0; n--) {
		struct world w;
		char path[DRAWN_MAX];

		draw_world(&d, rich, &w);
		for (int p = 0; p < PATHS; p++) {
			size_t len = draw_path(&d, path);
			int rule;
			bool allowed = judge(&w, path, len, &rule);

			cr_assert_eq(sbx_decide(&w.all.image, SBX_READ, path, len), allowed,
				     "seed %u: `%s`", seed, path);
			cr_assert_eq(sbx_attribute(&w.all.image, SBX_READ, path, len), rule,
				     "seed %u: `%s`", seed, path);
			cr_assert_eq(pol_list_decide(&w.all.rules.op[SBX_READ], path, len), rule,
				     "seed %u: `%s`", seed, path);
			compare_subtrees(&w, path, len, seed);
		}
		release(&w);
	}
}

Test(agreement_layers, plain_globs)
{
	agree(31, false);
}

Test(agreement_layers, characters_and_broken_bytes)
{
	agree(32, true);
}
