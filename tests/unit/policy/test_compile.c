/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/back/{image,tables}.c: pol_compile(). */
#include "policy/compile/ruleset.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/support/engine.h"

/* Sanitizers take their time, and their memory. */
#if defined(__SANITIZE_ADDRESS__)
enum { SLOWER = 5 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SLOWER = 5 };
#else
enum { SLOWER = 1 };
#endif
#else
enum { SLOWER = 1 };
#endif

static struct engine e;

static void setup(void)
{
	engine_init(&e);
}

static void teardown(void)
{
	engine_release(&e);
}

TestSuite(policy_compile, .init = setup, .fini = teardown);

Test(policy_compile, equal_rulesets_give_equal_bytes)
{
	struct engine other;
	struct draw d;

	engine_init(&other);
	for (int i = 0; i < 2; i++) {
		draw_seed(&d, 41);
		for (int n = 0; n < 60; n++)
			draw_rule(&d, true, i ? &other.rules : &e.rules);
	}
	engine_compile(&e);
	engine_compile(&other);
	cr_assert_eq(e.size, other.size);
	cr_expect_eq(memcmp(e.data, other.data, e.size), 0);
	engine_release(&other);
}

Test(policy_compile, texts_and_options_are_in_the_image)
{
	const struct pol_alias aliases[] = {
		{"/bin", "/usr/bin"}, {"/lib64/x", "/usr/lib64/x"}, {"/lib", "/usr/lib"}};
	struct pol_compile_opts opts = {.aliases = aliases, .naliases = 3, .deny_on_error = true};
	const struct sbx_image_alias *a;
	const struct sbx_image_rule *rules;

	engine_rule(&e, "+ /usr/");
	e.rules.profile = "editor";
	cr_assert_eq(pol_compile(&e.rules, &opts, &e.data, &e.size, &e.err), 0);
	cr_assert_eq(sbx_image_open(&e.image, e.data, e.size, true), SBX_IMAGE_OK);
	cr_expect_str_eq(sbx_image_text(&e.image, e.image.hdr->profile), "editor");
	cr_expect_eq(e.image.hdr->on_error, 1);
	cr_assert_eq(e.image.hdr->naliases, 3);
	a = (const void *)(e.image.base + e.image.hdr->aliases);
	cr_expect_str_eq(sbx_image_text(&e.image, a[0].from), "/lib64/x");
	cr_expect_str_eq(sbx_image_text(&e.image, a[0].to), "/usr/lib64/x");
	cr_expect_str_eq(sbx_image_text(&e.image, a[1].from), "/bin");
	rules = (const void *)(e.image.base + e.image.hdr->rules);
	cr_expect_eq(rules[0].allow, 1);
	cr_expect_str_eq(sbx_image_text(&e.image, rules[0].origin), "+ /usr/");
}

Test(policy_compile, operations_with_equal_lists_share_their_automata)
{
	const struct sbx_image_op *op;

	for (int i = 0; i < 2; i++) {
		engine_rule_for(&e, i ? SBX_EXEC : SBX_READ, "+ /usr/");
		engine_rule_for(&e, i ? SBX_EXEC : SBX_READ, "- /usr **/*.so");
	}
	engine_rule_for(&e, SBX_MODIFY, "+ /usr/");
	engine_compile(&e);
	op = e.image.hdr->op;
	cr_expect_eq(op[SBX_EXEC].verdict.table, op[SBX_READ].verdict.table);
	cr_expect_neq(op[SBX_MODIFY].verdict.table, op[SBX_READ].verdict.table);
	/* Names stay their own. */
	cr_expect_eq(sbx_attribute(&e.image, SBX_EXEC, "/usr/x", 6), 3);
	cr_expect_eq(sbx_attribute(&e.image, SBX_READ, "/usr/x", 6), 0);
}

/* What amounts to a path is looked up, not walked: no automaton tells such rules apart. */
Test(policy_compile, literal_rules_of_every_spelling_are_named)
{
	static const char *const rules[] = {"+ /a/",	 "- /a/b",   "+ /a b/c", "- /a b/d/**",
					    "+ /a/e **", "- /a/f .", "+ /a/b/",	 "- /a/e"};
	static const struct {
		const char *path;
		int rule;
	} rows[] = {{"/a", 0},	     {"/a/b", 6},  {"/a/b/c", 6}, {"/a/b/d", 6},
		    {"/a/b/d/x", 6}, {"/a/e", 7},  {"/a/e/x", 4}, {"/a/f", 5},
		    {"/a/f/x", 0},   {"/a/bb", 0}, {"/", -1},	  {"/b", -1}};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		engine_rule(&e, rules[i]);
	engine_compile(&e);
	cr_expect_eq(e.image.hdr->op[SBX_READ].layer[0].ngroups, 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(sbx_attribute(&e.image, SBX_READ, rows[i].path, strlen(rows[i].path)),
			     rows[i].rule, "%s", rows[i].path);
}

/* Compiles, or is refused with a rule's origin; in either case soon. */
static bool compile_or_refuse(const char *origin)
{
	clock_t start = clock();
	struct rusage used;
	int rc = engine_try(&e);

	cr_expect_lt(clock() - start, (clock_t)(SLOWER * 2 * CLOCKS_PER_SEC), "%s", origin);
	cr_expect_eq(getrusage(RUSAGE_SELF, &used), 0);
	if (SLOWER == 1)
		cr_expect_lt(used.ru_maxrss, 256 * 1024, "%s: %ld KiB", origin, used.ru_maxrss);
	if (rc == 0)
		return true;
	cr_expect_eq(e.err.kind, B_LIMIT);
	cr_expect(strstr(e.err.msg, origin), "%s", e.err.msg);
	return false;
}

Test(policy_compile, a_token_far_from_the_end_is_refused)
{
	engine_rule(&e, "+ /ws **");
	engine_rule(&e, "- /ws **a??????????????????");
	cr_expect_not(compile_or_refuse("- /ws **a?"));
}

Test(policy_compile, sixteen_tokens_are_compiled_or_refused)
{
	engine_rule(&e, "+ /ws **");
	engine_rule(&e, "- /ws **a????????????????");
	if (compile_or_refuse("- /ws **a?"))
		cr_expect_not(engine_allows(&e, "/ws/xa0123456789abcdef"));
}

Test(policy_compile, equal_stars_in_many_rules_end_soon)
{
	char rule[64];

	engine_rule(&e, "+ /ws **");
	for (int i = 0; i < 200; i++) {
		snprintf(rule, sizeof rule, "- /ws **/a*b*c*/%d*d*e*f/**", i);
		engine_rule(&e, rule);
	}
	compile_or_refuse("/ws **/a*b*c*");
}

Test(policy_compile, ten_thousand_rules_compile_soon)
{
	char rule[96];
	clock_t start;

	engine_rule(&e, "+ /ws **");
	for (int i = 0; i < 10000; i++) {
		if (i % 4 == 0)
			snprintf(rule, sizeof rule, "- /ws **/n%d.%d/**", i, i * 7);
		else if (i % 4 == 1)
			snprintf(rule, sizeof rule, "- /ws lib/k%d-%d/*.key", i, i * 7);
		else
			snprintf(rule, sizeof rule, "- /ws/src/m%d/f%d.c", i, i * 7);
		engine_rule(&e, rule);
	}
	start = clock();
	engine_compile(&e);
	/* The goal is 0.5 s; the rest is for a busy machine. */
	cr_expect_lt(clock() - start, (clock_t)(SLOWER * 2 * CLOCKS_PER_SEC));
	cr_expect_not(engine_allows(&e, "/ws/a/n9996.69972/x"));
	cr_expect(engine_allows(&e, "/ws/a/n9996.6997/x"));
}

Test(policy_compile, many_stars_in_many_rules_end_soon)
{
	char rule[64];

	engine_rule(&e, "+ /ws **");
	for (int i = 0; i < 200; i++) {
		snprintf(rule, sizeof rule, "%c /ws **/a%d*b%d*c%d*/**", i % 2 ? '-' : '+', i,
			 i * 7, i * 3);
		engine_rule(&e, rule);
	}
	compile_or_refuse("/ws **/a");
}

Test(policy_compile, a_thousand_infixes_compile)
{
	char rule[64];

	engine_rule(&e, "+ /ws **");
	for (int i = 0; i < 1000; i++) {
		snprintf(rule, sizeof rule, "- /ws **/*x%d*/**", i * 37);
		engine_rule(&e, rule);
	}
	cr_expect(compile_or_refuse("/ws **/*x"));
	cr_expect_not(engine_allows(&e, "/ws/a/bx37c/d"));
	cr_expect(engine_allows(&e, "/ws/a/bx36c/d"));
}

Test(policy_compile, alternating_answers_below_names_are_refused)
{
	char rule[64];

	for (unsigned i = 0; i < 1500; i++) {
		snprintf(rule, sizeof rule, "%c /ws **/%08x/**", i % 2 ? '-' : '+',
			 i * 2654435761u);
		engine_rule(&e, rule);
	}
	cr_expect_not(compile_or_refuse("/ws **/"));
}

Test(policy_compile, rules_told_apart_in_several_groups_keep_their_order)
{
	char rule[64];

	/* Stars inside names: many small automata. */
	engine_rule(&e, "+ /ws **");
	for (int i = 0; i < 60; i++) {
		snprintf(rule, sizeof rule, "- /ws **/%c%d*x", 'a' + i % 5, i);
		engine_rule(&e, rule);
	}
	engine_rule(&e, "+ /ws/a0yx");
	engine_compile(&e);
	cr_expect_gt(e.image.hdr->op[SBX_READ].layer[0].ngroups, 3);
	for (int i = 0; i < 60; i++) {
		int named;

		snprintf(rule, sizeof rule, "/ws/d/%c%d-x", 'a' + i % 5, i);
		named = sbx_attribute(&e.image, SBX_READ, rule, strlen(rule));
		cr_expect_eq(named,
			     pol_list_last_match(&e.rules.op[SBX_READ], 62, rule, strlen(rule)));
	}
	cr_expect_eq(sbx_attribute(&e.image, SBX_READ, "/ws/a0yx", 8), 61);
}

Test(policy_compile, more_states_than_sixteen_bits_number)
{
	char rule[64];
	unsigned seed = 1;

	engine_rule(&e, "+ /ws/");
	for (int i = 0; i < 9000; i++) {
		seed = seed * 1103515245u + 12345u;
		snprintf(rule, sizeof rule, "- /ws/%08x%08x", seed, seed * 2654435761u);
		engine_rule(&e, rule);
	}
	engine_compile(&e);
	cr_expect_eq(e.image.hdr->op[SBX_READ].verdict.width, 4);
	cr_expect_not(engine_allows(&e, rule + 2));
	cr_expect_eq(sbx_attribute(&e.image, SBX_READ, rule + 2, strlen(rule + 2)), 9000);
	rule[strlen(rule) - 1] = 'x';
	cr_expect(engine_allows(&e, rule + 2));
}
