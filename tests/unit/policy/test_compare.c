/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/compile/compare.c: what is found is true and shortest, what is not found is
 * not there. */
#include "policy/compile/ruleset.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tests/support/engine.h"

#define DIFFERENT (POL_WHERE(1) | POL_WHERE(2))

static int difference(const struct engine *a, const struct engine *b, struct b_str *path)
{
	const struct pol_side sides[] = {{&a->image, SBX_READ}, {&b->image, SBX_READ}};
	struct b_err err;

	return pol_find_path(sides, 2, DIFFERENT, path, &err);
}

static void expect(const char *const *a, const char *const *b, const char *want)
{
	b_auto(b_str_release) struct b_str path = {0};
	struct engine x, y;
	int rc;

	engine_init(&x);
	engine_init(&y);
	for (; *a; a++)
		engine_rule(&x, *a);
	for (; *b; b++)
		engine_rule(&y, *b);
	engine_compile(&x);
	engine_compile(&y);
	rc = difference(&x, &y, &path);
	cr_expect_eq(rc, want != NULL, "%s: %d", want ? want : "equal", rc);
	cr_expect_str_eq(b_str_c(&path), want ? want : "");
	engine_release(&x);
	engine_release(&y);
}
#define RULES(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(policy_compare, shortest_path_that_is_judged_differently)
{
	expect(RULES("+ /ws/"), RULES("+ /ws/", "- /ws **/*.env"), "/ws/.env");
	expect(RULES("+ /"), RULES("+ / *"), "/a/a");
	expect(RULES("+ /ws"), RULES("+ /ws/"), "/ws/a");
	expect(RULES("+ /"), RULES("- /"), "/");
}

Test(policy_compare, equal_whatever_the_spelling)
{
	expect(RULES("+ /ws **"), RULES("+ /ws/"), NULL);
	expect(RULES("+ /a/", "- /b/"), RULES("+ /a/"), NULL);
	expect(RULES("+ /a/b/", "+ /a/"), RULES("+ /a **"), NULL);
	expect(RULES("+ /a ?"), RULES("+ /a ?", "- /a ??*/**/x", "+ /a ?"), NULL);
}

Test(policy_compare, only_canonical_paths_count)
{
	expect(RULES("+ /"), RULES("+ /", "- /a/./b", "- /a/../b", "- /a//b"), NULL);
	expect(RULES("+ /"), RULES("+ /", "- /a x/.", "- /a x/../y"), NULL);
	expect(RULES("+ /"), RULES("+ /", "- /a .../x"), "/a/.../x");
}

Test(policy_compare, bytes_and_characters)
{
	expect(RULES("+ / ?"), RULES("+ / ?*"), "/aa");
	expect(RULES("+ /\xc3/"), RULES("+ /\xc3/", "- /\xc3 \xff"), "/\xc3/\xff");
	expect(RULES("+ /"), RULES("+ /", "- / \n"), "/\n");
}

Test(policy_compare, what_a_rule_decides)
{
	struct engine e;
	struct pol_verdicts v;
	struct pol_side side = {&v.image, SBX_READ};
	b_auto(b_str_release) struct b_str path = {0};
	struct b_err err;

	engine_init(&e);
	engine_rule(&e, "+ /a/");
	engine_rule(&e, "- /a *.c");
	engine_rule(&e, "+ /a x*");
	engine_rule(&e, "- /a/");
	cr_assert_eq(pol_verdicts_decided(&e.rules.op[SBX_READ], 1, &v, &err), 0);
	cr_expect_eq(pol_find_path(&side, 1, POL_WHERE(1), &path, &err), 0, "%s", path.s);
	pol_verdicts_release(&v);
	e.rules.op[SBX_READ].n--;
	cr_assert_eq(pol_verdicts_decided(&e.rules.op[SBX_READ], 1, &v, &err), 0);
	cr_expect_eq(pol_find_path(&side, 1, POL_WHERE(1), &path, &err), 1);
	cr_expect_str_eq(path.s, "/a/.c");
	pol_verdicts_release(&v);
	engine_release(&e);
}

static int count_path(void *arg, const char *path, size_t len)
{
	size_t *count = arg;

	cr_expect_eq(strlen(path), len);
	++*count;
	return 0;
}

Test(policy_compare, each_state_has_its_path)
{
	struct engine e;
	size_t count = 0;
	struct pol_side side = {&e.image, SBX_READ};
	struct b_err err;

	engine_init(&e);
	engine_rule(&e, "+ /a");
	engine_rule(&e, "+ /b/");
	engine_compile(&e);
	cr_expect_eq(pol_each_state(&side, 1, POL_WHERE(1), count_path, &count, &err), 0);
	cr_expect_geq(count, 2);
	engine_release(&e);
}

/* ---- against judging path by path ---- */

enum { PAIRS = 500, PATHS = 500 };

static void draw_two(struct draw *d, struct engine *a, struct engine *b)
{
	struct pol_list *list = &a->rules.op[SBX_READ];
	unsigned n = 1 + draw(d, 6), odd = draw(d, 3);

	engine_init(a);
	engine_init(b);
	for (unsigned i = 0; i < n; i++)
		draw_rule(d, draw(d, 2), &a->rules);
	/* The second list is the first without a rule, or with one more. */
	for (unsigned i = 0; i < list->n; i++)
		if (odd != 0 || i != list->n / 2)
			pol_ruleset_add(&b->rules, SBX_READ, &list->v[i]);
	if (odd == 1)
		draw_rule(d, true, &b->rules);
	engine_compile(a);
	engine_compile(b);
}

static bool naive(const struct engine *e, const char *path, size_t len)
{
	const struct pol_list *list = &e->rules.op[SBX_READ];
	int i = pol_list_last_match(list, list->n, path, len);

	return i >= 0 && list->v[i].allow;
}

static void compare_with_samples(unsigned seed)
{
	struct draw d;
	unsigned equal = 0;

	draw_seed(&d, seed);
	for (int i = 0; i < PAIRS; i++) {
		b_auto(b_str_release) struct b_str found = {0};
		struct engine a, b;
		int rc;

		draw_two(&d, &a, &b);
		rc = difference(&a, &b, &found);
		cr_assert_geq(rc, 0);
		equal += rc == 0;
		if (rc == 1)
			cr_assert_neq(naive(&a, found.s, found.len), naive(&b, found.s, found.len),
				      "seed %u: `%s` is judged alike", seed, found.s);
		for (int k = 0; k < PATHS; k++) {
			char path[DRAWN_MAX];
			size_t len = draw_path(&d, path);
			bool differs = naive(&a, path, len) != naive(&b, path, len);
			bool is_canonical =
				sbx_decide(&a.image, SBX_READ, path, len) == naive(&a, path, len);

			if (!differs || !is_canonical)
				continue;
			cr_assert_eq(rc, 1, "seed %u: `%s` differs, none was found", seed, path);
			cr_assert_leq(found.len, len, "seed %u: `%s` is shorter than `%s`", seed,
				      path, found.s);
		}
		engine_release(&a);
		engine_release(&b);
	}
	cr_expect_gt(equal, PAIRS / 10);
	cr_expect_lt(equal, PAIRS);
}

Test(policy_compare, equal_exactly_when_no_sample_differs_first_half)
{
	compare_with_samples(21);
}

Test(policy_compare, equal_exactly_when_no_sample_differs_second_half)
{
	compare_with_samples(22);
}
