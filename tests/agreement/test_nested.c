/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run inside a run: on random policies and paths, what is allowed inside is exactly what both
 * the outer and the inner policy allow, for every operation; also when one has no rule for it, and
 * in a third run inside of these two.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "policy/rules/build.h"
#include "tests/support/engine.h"

#define RULES_MAX 5 /* of a layer */
#define ROUNDS	  300
#define PATHS	  60 /* for each: 300 x 60 x 4 operations x 2 depths = 144,000 */

static void draw_layer(struct draw *d, unsigned layer, enum sbx_op op, struct pol_ruleset *out)
{
	struct engine one;
	struct pol_list *list;

	engine_init(&one);
	if (draw(d, 3)) /* else most paths are denied by most policies */
		engine_rule(&one, "+ / **");
	for (unsigned n = draw(d, RULES_MAX + 1); n > 0; n--)
		draw_rule(d, false, &one.rules);
	list = &one.rules.op[SBX_READ];
	for (size_t i = 0; i < list->n; i++) {
		list->v[i].layer = (uint8_t)layer;
		pol_ruleset_add(out, op, &list->v[i]);
	}
	pol_ruleset_release(&one.rules);
}

/* One or two layers, each of which may have no rule. */
static void draw_policy(struct draw *d, struct engine *out)
{
	engine_init(out);
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (unsigned layer = 0, n = 1 + draw(d, 2); layer < n; layer++)
			draw_layer(d, POL_LAYER_MAIN + layer, (enum sbx_op)op, &out->rules);
}

static void put_inside(struct engine *inner, const struct engine *outer)
{
	const struct pol_request rq = {.outer = &outer->rules};
	struct pol_build b = {.rs = &inner->rules, .rq = &rq};
	struct b_err err;

	cr_assert_eq(pol_build_outer(&b, &err), 0, "%s", err.msg);
	engine_compile(inner);
}

static void copy_policy(const struct engine *from, struct engine *to)
{
	engine_init(to);
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < from->rules.op[op].n; i++)
			pol_ruleset_add(&to->rules, (enum sbx_op)op, &from->rules.op[op].v[i]);
}

Test(agreement_nested, allowed_inside_is_what_outer_and_inner_allow)
{
	unsigned allowed = 0, only_inner = 0;
	char path[DRAWN_MAX];
	struct draw d;

	draw_seed(&d, 20261128);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct engine outer, inner, alone, innermost, alone2;

		draw_policy(&d, &outer);
		draw_policy(&d, &inner);
		copy_policy(&inner, &alone);
		draw_policy(&d, &innermost);
		copy_policy(&innermost, &alone2);
		engine_compile(&outer);
		engine_compile(&alone);
		engine_compile(&alone2);
		put_inside(&inner, &outer);
		put_inside(&innermost, &inner);
		for (unsigned i = 0; i < PATHS * SBX_OP_COUNT; i++) {
			enum sbx_op op = (enum sbx_op)(i % SBX_OP_COUNT);
			size_t len = draw_path(&d, path);
			bool a = sbx_decide(&outer.image, op, path, len);
			bool b = sbx_decide(&alone.image, op, path, len);
			bool c = sbx_decide(&alone2.image, op, path, len);

			cr_assert_eq(sbx_decide(&inner.image, op, path, len), a && b,
				     "round %u, %s %s: outer %d, inner %d", round, sbx_op_name(op),
				     path, a, b);
			cr_assert_eq(sbx_decide(&innermost.image, op, path, len), a && b && c,
				     "round %u, %s %s: %d %d %d", round, sbx_op_name(op), path, a,
				     b, c);
			allowed += a && b;
			only_inner += b && !a;
		}
		engine_release(&outer);
		engine_release(&inner);
		engine_release(&alone);
		engine_release(&innermost);
		engine_release(&alone2);
	}
	/* else nothing was tried */
	cr_assert_gt(allowed, 1000);
	cr_assert_gt(only_inner, 1000);
}

Test(agreement_nested, a_rule_of_the_outer_run_is_named_as_its)
{
	struct engine outer, inner;
	struct sbx_verdict v;

	engine_init(&outer);
	engine_init(&inner);
	engine_rule(&outer, "+ /ws **");
	engine_rule(&outer, "- /ws/secret");
	engine_rule(&inner, "+ /ws **");
	put_inside(&inner, &outer);
	sbx_explain(&inner.image, SBX_READ, "/ws/secret", strlen("/ws/secret"), &v);
	cr_assert_not(v.allowed);
	cr_assert_str_eq(v.origin, "outer:- /ws/secret");
	engine_release(&inner);
	engine_release(&outer);
}

Test(agreement_nested, more_layers_than_an_image_holds_are_refused)
{
	const struct pol_rule rule = {
		.allow = true, .shape = POL_TREE, .base = "", .matched = "/**", .origin = "x"};
	struct engine outer, inner;
	const struct pol_request rq = {.outer = &outer.rules};
	struct pol_build b = {.rs = &inner.rules, .rq = &rq};
	struct b_err err;

	engine_init(&outer);
	engine_init(&inner);
	for (unsigned layer = 0; layer < 8; layer++) {
		struct pol_rule r = rule;

		r.layer = (uint8_t)layer;
		pol_ruleset_add(&outer.rules, SBX_READ, &r);
	}
	pol_ruleset_add(&inner.rules, SBX_READ, &rule);
	cr_assert_eq(pol_build_outer(&b, &err), -1);
	cr_assert_eq(err.kind, B_LIMIT);
	pol_ruleset_release(&inner.rules);
	pol_ruleset_release(&outer.rules);
}

Test(agreement_nested, settings_are_those_that_both_have)
{
	struct pol_effect inner = {.reads = POL_READS_BROAD,
				   .network = POL_NET_HOST,
				   .unix_ = POL_UNIX_HOST,
				   .all_sockets = true,
				   .abstract_sockets = true,
				   .scratch = true,
				   .cache = true,
				   .lax = true};
	const struct pol_effect outer = {.reads = POL_READS_SYSTEM};

	pol_effect_tighten(&inner, &outer);
	cr_assert_eq(inner.reads, POL_READS_SYSTEM);
	cr_assert_eq(inner.network, POL_NET_NONE);
	cr_assert_eq(inner.unix_, POL_UNIX_NONE);
	cr_assert_not(inner.all_sockets || inner.abstract_sockets || inner.scratch || inner.cache ||
		      inner.lax);
}
