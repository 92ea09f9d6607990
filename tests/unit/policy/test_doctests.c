/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/questions/explain.c: what a list of tests may look like. */
#include "policy/questions/explain.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"

static int parse(const char *text, struct pol_tests *out, struct b_err *err)
{
	return pol_tests_parse("t.yaml", text, strlen(text), out, err);
}

static void refused(const char *text, const char *want)
{
	struct pol_tests t;
	struct b_err err;

	cr_assert_eq(parse(text, &t, &err), -1, "%s", text);
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect(strstr(err.msg, want), "%s\nnot in: %s", want, err.msg);
}

Test(policy_doctests, all_fields)
{
	struct pol_tests t;
	struct b_err err;

	cr_assert_eq(parse("tests:\n  - {op: modify, path: a b, allowed: false, matched_rule: '*', "
			   "rule: 'p:1:2', profile: w}\n  - op: connect\n    path: /s\n"
			   "    allowed: true\n",
			   &t, &err),
		     0);
	cr_assert_eq(t.n, 2);
	cr_expect_eq(t.v[0].op, SBX_MODIFY);
	cr_expect_str_eq(t.v[0].path, "a b");
	cr_expect(t.v[0].has_allowed && !t.v[0].allowed);
	cr_expect_str_eq(t.v[0].matched, "*");
	cr_expect_str_eq(t.v[0].rule, "p:1:2");
	cr_expect_str_eq(t.v[0].profile, "w");
	cr_expect_eq(t.v[1].op, SBX_CONNECT);
	cr_expect(t.v[1].allowed && !t.v[1].matched && !t.v[1].profile);
	cr_expect_eq(t.v[1].pos.line, 3);
	pol_tests_release(&t);
}

Test(policy_doctests, a_list_alone_and_a_document_without)
{
	struct pol_tests t;
	struct b_err err;

	cr_assert_eq(parse("[{\"op\": \"read\", \"path\": \"x\", \"allowed\": true}]", &t, &err),
		     0);
	cr_expect_eq(t.n, 1);
	pol_tests_release(&t);
	cr_assert_eq(parse("kind: Policy\n", &t, &err), 0);
	cr_expect_eq(t.n, 0);
	pol_tests_release(&t);
	cr_assert_eq(parse("tests:\n", &t, &err), 0);
	pol_tests_release(&t);
}

Test(policy_doctests, what_is_wrong_is_told_with_its_place)
{
	refused("tests: {}", "t.yaml:1:8: tests is a mapping, expected a list");
	refused("- {op: read, path: x}", "t.yaml:1:3: a test that expects nothing");
	refused("- {op: write, path: x, allowed: true}", "op is `write`, expected one of read");
	refused("- {path: x, allowed: true}", "missing field `op` in a test");
	refused("- {op: read, allowed: true}", "missing field `path`");
	refused("- {op: read, path: x, allwed: true}", "did you mean `allowed`?");
	refused("- {op: read, path: x, allowed: 1}", "allowed is an integer, expected a boolean");
	refused("- x", "a test is a string, expected a mapping");
	refused("x", "expected a list");
	refused("- {op: read, path: \"a\\0b\", allowed: true}", "contains a NUL");
}
