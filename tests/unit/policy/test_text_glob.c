/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/compile/text_glob.c and core/text_glob.c. */
#include "policy/compile/text_glob.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/support/tsv.h"

static struct b_err err;

/* -1: it is not a pattern. */
static int matches(const char *pattern, enum pol_glob_text text, const char *value)
{
	struct pol_globs g = {0};
	int rc = pol_globs_add(&g, pattern, text, &err);

	for (size_t i = 0; rc == 0 && i < g.n; i++) {
		struct sbx_glob one = pol_globs_get(&g, i);

		cr_expect(sbx_glob_check(&one), "%s", pattern);
	}
	if (rc == 0)
		rc = pol_globs_match(&g, 0, g.n, value, strlen(value));
	pol_globs_release(&g);
	return rc;
}

Test(policy_text_glob, globs_are_as_the_rows_say)
{
	struct tsv *t = tsv_load("tests/vectors/openshell_glob.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *pattern = tsv_cell(row, "pattern"), *match = tsv_cell(row, "match");
		enum pol_glob_text text =
			*tsv_cell(row, "delimiters") == '.' ? POL_GLOB_DOTS : POL_GLOB_PLAIN;
		int want = strcmp(match, "ERR") == 0 ? -1 : strcmp(match, "T") == 0;

		cr_expect_eq(matches(pattern, text, tsv_cell(row, "value")), want, "%s",
			     row->cells[0]);
	}
	tsv_free(t);
}

Test(policy_text_glob, what_is_wrong_is_said)
{
	cr_expect_str_eq(pol_glob_check("a}"), "has unopened '}'");
	cr_expect_str_eq(pol_glob_check("a\\"), "ends in a backslash");
	cr_expect_str_eq(pol_glob_check("{a,[}]"), "has unclosed '{'");
	cr_expect_eq(matches("{a", POL_GLOB_PATH, ""), -1);
	cr_expect_str_eq(err.msg, "glob pattern '{a' has unclosed '{'");
}

Test(policy_text_glob, no_pattern_takes_long)
{
	char stars[1001], value[4001], more[2048];

	for (int i = 0; i < 1000; i++)
		stars[i] = i % 2 ? 'a' : '*';
	memset(value, 'a', 4000);
	stars[1000] = value[4000] = '\0';
	value[3999] = 'b';
	cr_expect_eq(matches(stars, POL_GLOB_PATH, value), 0);
	cr_expect_eq(matches("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}c",
			     POL_GLOB_PATH, "x"),
		     -1);
	cr_expect(strstr(err.msg, "256 alternatives"), "%s", err.msg);
	memset(more, 'a', sizeof more - 1);
	more[sizeof more - 1] = '\0';
	cr_expect_eq(matches(more, POL_GLOB_PATH, "x"), -1);
	cr_expect(strstr(err.msg, "too long"), "%s", err.msg);
	more[0] = '[';
	more[sizeof more - 2] = ']';
	cr_expect_eq(matches(more, POL_GLOB_PATH, "a"), 1);
}

Test(policy_text_glob, components_and_classes)
{
	static const struct {
		const char *pattern, *value;
		enum pol_glob_text text;
		int want;
	} rows[] = {
		{"{a,{b,c}d}/[!x]?", "cd/y\xc3\xa9", POL_GLOB_PLAIN, 1},
		{"{a,{b,c}d}/[!x]?", "b/yy", POL_GLOB_PLAIN, 0},
		{"[\xc3\xa0-\xc3\xaf]", "\xc3\xa9", POL_GLOB_PLAIN, 1},
		{"[]a]", "]", POL_GLOB_PLAIN, 1},
		{"[a-]", "-", POL_GLOB_PLAIN, 1},
		{"a{}b", "ab", POL_GLOB_PLAIN, 1},
		{"\\*", "*", POL_GLOB_PLAIN, 1},
		{"\\*", "a", POL_GLOB_PLAIN, 0},
		{"/a/**/b", "/a/b", POL_GLOB_PLAIN, 1},
		{"/a/**/b", "/a/x/y/b", POL_GLOB_PLAIN, 1},
		{"/a/**/b", "/a/xb", POL_GLOB_PLAIN, 0},
		{"/a/**/b", "/ab", POL_GLOB_PLAIN, 0},
		{"/a/**/**/b", "/a/b", POL_GLOB_PLAIN, 1},
		{"/a/**/**", "/a/b/c", POL_GLOB_PLAIN, 1},
		{"/a/**/*", "/a/b/c", POL_GLOB_PLAIN, 1},
		{"/a/**/*/c", "/a/b/c", POL_GLOB_PLAIN, 1},
		{"/a/**/*/c", "/a/c", POL_GLOB_PLAIN, 0},
		{"/a/***", "/a/b/c", POL_GLOB_PLAIN, 0},
		{"**", "", POL_GLOB_PLAIN, 1},
		{"", "", POL_GLOB_PLAIN, 1},
		{"", "a", POL_GLOB_PLAIN, 0},
		{"1.**", "1.2.3", POL_GLOB_DOTS, 1},
		{"*.b", "a.a.b", POL_GLOB_DOTS, 0},
		{"a*z", "a.b/z", POL_GLOB_TEXT, 1},
		{"a**z", "a.b/z", POL_GLOB_TEXT, 1},
		{"a?z", "a/z", POL_GLOB_TEXT, 1},
		{"a*z", "a.b/zz!", POL_GLOB_TEXT, 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(matches(rows[i].pattern, rows[i].text, rows[i].value), rows[i].want,
			     "%s %s", rows[i].pattern, rows[i].value);
}

/* A person writes a path as he knows it; requests have it escaped. */
Test(policy_text_glob, a_pattern_on_paths_is_spelt_as_they_are)
{
	cr_expect_eq(matches("/caf\xc3\xa9 x/*", POL_GLOB_PATH, "/caf%C3%A9%20x/y"), 1);
	cr_expect_eq(matches("/caf%c3%a9/%61%2F", POL_GLOB_PATH, "/caf%C3%A9/a%2F"), 1);
	cr_expect_eq(matches("/100%25", POL_GLOB_PATH, "/100%25"), 1);
	cr_expect_eq(matches("/100%", POL_GLOB_PATH, "/100%25"), 1);
	cr_expect_eq(matches("/a%zz", POL_GLOB_PATH, "/a%25zz"), 1);
	cr_expect_eq(matches("/\\{a\\}", POL_GLOB_PATH, "/%7Ba%7D"), 1);
	cr_expect_eq(matches("/caf\xc3\xa9", POL_GLOB_PLAIN, "/caf\xc3\xa9"), 1);
}

/* As a file may have it that was not made here. */
Test(policy_text_glob, what_cannot_be_walked_is_found)
{
	const uint32_t inside[] = {SBX_GLOB_OP(SBX_GLOB_INSIDE, 0)},
		       entry[] = {SBX_GLOB_OP(SBX_GLOB_ENTRY, 0), SBX_GLOB_OP(SBX_GLOB_CHAR, 'a')},
		       lone[] = {SBX_GLOB_OP(SBX_GLOB_CHAR, 'a'), SBX_GLOB_OP(SBX_GLOB_INSIDE, 0)},
		       kind[] = {SBX_GLOB_OP(SBX_GLOB_KINDS, 0)},
		       range[] = {SBX_GLOB_OP(SBX_GLOB_CLASS, 2 << 12)};
	const struct sbx_glob_range one = {'a', 'z'};

	cr_expect_not(sbx_glob_check(&(struct sbx_glob){.op = inside, .nops = 1}));
	cr_expect_not(sbx_glob_check(&(struct sbx_glob){.op = entry, .nops = 2}));
	cr_expect_not(sbx_glob_check(&(struct sbx_glob){.op = entry, .nops = 1}));
	cr_expect_not(sbx_glob_check(&(struct sbx_glob){.op = lone, .nops = 2}));
	cr_expect_not(sbx_glob_check(&(struct sbx_glob){.op = kind, .nops = 1}));
	cr_expect_not(sbx_glob_check(
		&(struct sbx_glob){.op = range, .nops = 1, .range = &one, .nranges = 1}));
	cr_expect_not(sbx_glob_check(&(struct sbx_glob){.op = inside, .nops = SBX_GLOB_OPS + 1}));
}
