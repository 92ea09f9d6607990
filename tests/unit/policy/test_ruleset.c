/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/compile/ruleset.c. */
#include "policy/compile/ruleset.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/engine.h"

static bool rule_matches(enum pol_shape shape, const char *base, const char *glob,
			 bool base_is_root, const char *path)
{
	struct pol_rule r = {.shape = shape,
			     .base = base,
			     .base_len = strlen(base),
			     .glob = glob,
			     .base_is_root = base_is_root};

	return pol_rule_matches(&r, path, strlen(path));
}

Test(policy_ruleset, exact_rules_match_their_path_only)
{
	cr_expect(rule_matches(POL_EXACT, "/a/b", NULL, false, "/a/b"));
	cr_expect_not(rule_matches(POL_EXACT, "/a/b", NULL, false, "/a/b/c"));
	cr_expect_not(rule_matches(POL_EXACT, "/a/b", NULL, false, "/a"));
	cr_expect(rule_matches(POL_EXACT, "", NULL, false, "/"));
	cr_expect_not(rule_matches(POL_EXACT, "", NULL, false, "/a"));
}

Test(policy_ruleset, trees_match_what_is_below_but_no_namesakes)
{
	cr_expect(rule_matches(POL_TREE, "/a", NULL, false, "/a"));
	cr_expect(rule_matches(POL_TREE, "/a", NULL, false, "/a/b/c"));
	cr_expect_not(rule_matches(POL_TREE, "/a", NULL, false, "/ab"));
	cr_expect(rule_matches(POL_TREE, "", NULL, false, "/"));
	cr_expect(rule_matches(POL_TREE, "", NULL, false, "/x"));
}

Test(policy_ruleset, globs_are_relative_and_need_leave_to_match_their_base)
{
	cr_expect(rule_matches(POL_GLOB, "/ws", "*.c", false, "/ws/a.c"));
	cr_expect_not(rule_matches(POL_GLOB, "/ws", "*.c", false, "/ws/d/a.c"));
	cr_expect_not(rule_matches(POL_GLOB, "/ws", "*", false, "/ws"));
	cr_expect(rule_matches(POL_GLOB, "/ws", "*", true, "/ws"));
	cr_expect_not(rule_matches(POL_GLOB, "/ws", "a*", true, "/ws"));
	cr_expect(rule_matches(POL_GLOB, "/ws", ".", true, "/ws"));
	cr_expect(rule_matches(POL_GLOB, "", "**/x", false, "/a/x"));
}

Test(policy_ruleset, rules_are_copied_and_judged_from_the_end)
{
	char base[] = "/ws", glob[] = "*";
	struct pol_ruleset rs;
	struct pol_rule r = {.allow = true,
			     .shape = POL_GLOB,
			     .tier = POL_TIER_CLI,
			     .base = base,
			     .base_len = 3,
			     .glob = glob,
			     .matched = glob,
			     .origin = "cli:--read:1"};
	struct pol_rule *copy;

	pol_ruleset_init(&rs);
	copy = pol_ruleset_add(&rs, SBX_READ, &r);
	base[1] = glob[0] = 'x';
	cr_expect_str_eq(copy->base, "/ws");
	cr_expect_str_eq(copy->glob, "*");
	r.base = "/ws", r.glob = "a", r.allow = false;
	pol_ruleset_add(&rs, SBX_READ, &r);
	cr_expect_eq(pol_list_last_match(&rs.op[SBX_READ], 2, "/ws/a", 5), 1);
	cr_expect_eq(pol_list_last_match(&rs.op[SBX_READ], 1, "/ws/a", 5), 0);
	cr_expect_eq(pol_list_last_match(&rs.op[SBX_READ], 99, "/ws/b", 5), 0);
	cr_expect_eq(pol_list_last_match(&rs.op[SBX_READ], 2, "/x", 2), -1);
	pol_ruleset_release(&rs);
}

Test(policy_ruleset, tiers_have_names)
{
	cr_expect_str_eq(pol_tier_name(POL_TIER_BASE), "base");
	cr_expect_str_eq(pol_tier_name(POL_TIER_CLI), "cli");
	cr_expect_str_eq(pol_tier_name(POL_TIER_COUNT), "?");
}
