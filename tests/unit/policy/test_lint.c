/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/questions/lint_rules.c: each finding, and what is none. */
#include "policy/questions/lint.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/dialect.h"

#define HEAD "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n"

/* Findings of a spec, a line each: "line:col code". */
static void findings(const char *spec, struct b_str *out)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(pol_lint_release) struct pol_lint lint = {0};
	struct pol_doc doc;
	struct b_err err;

	b_str_addf(&text, HEAD "%s", spec);
	cr_assert_eq(pol_orbit_parse("p", text.s, text.len, &doc, &err), 0, "%s", err.msg);
	cr_assert_eq(pol_lint_document(&lint, &doc, &err), 0, "%s", err.msg);
	text.len = 0;
	pol_lint_text(&lint, &text);
	for (size_t i = 0; i < lint.n; i++)
		b_str_addf(out, "%s%s %s", i ? ", " : "", lint.v[i].where + 2,
			   pol_lint_name(lint.v[i].code));
	pol_doc_release(&doc);
}

static void expect(const char *spec, const char *want)
{
	b_auto(b_str_release) struct b_str got = {0};

	findings(spec, &got);
	cr_expect_str_eq(b_str_c(&got), want, "%s\ngot %s", spec, b_str_c(&got));
}

Test(policy_lint, a_plain_policy_has_no_findings)
{
	expect("  denyRead: ['**/*.env']\n  denyModify: ['**/*.env', 'a/**', '!a/b']\n"
	       "  fsProfiles: {w: {read: ['**'], modify: ['src/**', '!src/gen/**', 'a/*']}}\n",
	       "");
}

Test(policy_lint, rules_that_later_ones_undo_whatever_the_spelling)
{
	expect("  fsProfiles: {w: {read: ['src/*', '!src/**', '**/x', '?', '**']}}\n",
	       "5:27 shadowed, 5:36 shadowed, 5:47 shadowed, 5:55 shadowed");
	expect("  denyRead: ['secret/**']\n"
	       "  fsProfiles: {w: {read: ['**', 'secret/a/*.c']}}\n",
	       "6:33 shadowed");
}

Test(policy_lint, denials_that_others_make)
{
	expect("  denyModify: ['z/**', 'z/a', 'y']\n  fsProfiles: {w: {read: ['**'], modify: "
	       "['**']}}\n",
	       "5:24 no-effect");
	expect("  denyModify: ['z/**']\n  fsProfiles: {w: {read: ['**'], modify: ['src/**']}}\n",
	       "");
}

Test(policy_lint, two_rules_together_shadow_a_third)
{
	expect("  fsProfiles: {w: {read: ['a?', 'a*', '!a/**']}}\n", "5:27 shadowed");
	expect("  fsProfiles: {w: {read: ['d/**', '!d', 'd/*/**']}}\n", "5:27 shadowed");
}

Test(policy_lint, a_rule_that_adds_nothing)
{
	expect("  fsProfiles: {w: {read: ['**', 'src/**']}}\n", "5:33 no-effect");
	expect("  fsProfiles: {w: {read: ['src/**', '!lib/**']}}\n", "5:37 no-effect");
}

Test(policy_lint, an_exception_that_opens_nothing)
{
	expect("  denyModify: ['a/**', '!a/b/**']\n"
	       "  fsProfiles: {w: {read: ['**'], modify: ['src/**']}}\n",
	       "5:24 no-effect");
	expect("  denyModify: ['a/**', '!a/b/**']\n"
	       "  fsProfiles: {w: {read: ['**'], modify: ['a/b/c']}}\n",
	       "");
}

Test(policy_lint, a_global_deny_counts_in_all_profiles)
{
	expect("  denyRead: ['a/b', 'a/**']\n  denyModify: ['a/**']\n"
	       "  fsProfiles: {w: {read: ['**']}, n: {}}\n",
	       "5:14 shadowed");
	expect("  denyRead: ['x']\n  denyModify: ['x']\n"
	       "  fsProfiles: {w: {read: ['**']}, n: {}}\n",
	       "");
}

Test(policy_lint, reading_denied_and_changing_not)
{
	expect("  denyRead: ['*.env']\n  fsProfiles: {w: {read: ['**'], modify: ['*']}}\n",
	       "5:14 deny-read-only");
	expect("  denyRead: ['*.env']\n  denyModify: ['**/*.env']\n"
	       "  fsProfiles: {w: {read: ['**'], modify: ['*']}}\n",
	       "");
}

Test(policy_lint, what_is_no_wildcard_here)
{
	expect("  fsProfiles: {w: {read: ['[ab].c', '*.{c,h}', 'a\\b', '{x}', '[]']}}\n",
	       "5:27 literal-character, 5:37 literal-character, 5:48 literal-character");
}

Test(policy_lint, exhausted_work_is_told)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(pol_lint_release) struct pol_lint lint = {.work = POL_LINT_WORK};
	struct pol_doc doc;
	struct b_err err;

	b_str_add(&text, HEAD "  fsProfiles: {w: {read: ['a', 'a']}}\n");
	cr_assert_eq(pol_orbit_parse("p", text.s, text.len, &doc, &err), 0);
	cr_assert_eq(pol_lint_document(&lint, &doc, &err), 0);
	cr_expect_eq(lint.n, 0);
	cr_expect_gt(lint.unexamined, 0);
	pol_doc_release(&doc);
}
