/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/compile/ruleset.c: the conformance rows, and what they leave out. */
#include "policy/compile/ruleset.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <criterion/criterion.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "tests/support/tsv.h"

static bool match(const char *glob, const char *path)
{
	return pol_glob_match(glob, path, strlen(path));
}

static bool regex_match(const char *regex, const char *path)
{
	int code, rc;
	PCRE2_SIZE at;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED,
				       PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY, &code, &at, NULL);
	pcre2_match_data *md = pcre2_match_data_create(1, NULL);

	cr_assert(re, "`%s` does not compile", regex);
	rc = pcre2_match(re, (PCRE2_SPTR)path, strlen(path), 0, 0, md, NULL);
	pcre2_match_data_free(md);
	pcre2_code_free(re);
	return rc >= 0;
}

/* Rules of these rows are as written; only "./" in front needs the normal form. */
static const char *normal(const char *rule)
{
	return !strncmp(rule, "./", 2) ? rule + 2 : rule;
}

Test(policy_glob, rows)
{
	struct tsv *t = tsv_load("tests/vectors/glob.tsv");
	size_t tried = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *rule = normal(tsv_cell(row, "rule"));
		const char *path = tsv_cell(row, "path_norm_head");
		struct b_str regex = {0};

		if (!strcmp(tsv_cell(row, "match_head"), "ERR"))
			continue; /* refused before there is a path: see test_normalise.c */
		pol_glob_regex(rule, &regex);
		cr_expect_eq(match(rule, path), tsv_is_true(row, "match_head"), "%s: `%s` on `%s`",
			     row->cells[0], rule, path);
		cr_expect_eq(regex_match(regex.s, path), tsv_is_true(row, "match_head"),
			     "%s: %s on `%s`", row->cells[0], regex.s, path);
		b_str_release(&regex);
		tried++;
	}
	cr_expect_gt(tried, 70);
	tsv_free(t);
}

/* The text binds where no `?` is in it: ours is spelled out in bytes. */
Test(policy_glob, regex_rows)
{
	struct tsv *t = tsv_load("tests/vectors/glob_regex.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *rule = tsv_cell(row, "rule_normalised");
		struct b_str regex = {0};

		pol_glob_regex(rule, &regex);
		if (!strchr(rule, '?'))
			cr_expect_str_eq(regex.s, tsv_cell(row, "regex_head"), "%s", row->cells[0]);
		else
			cr_expect(regex_match(regex.s, "src/x.rs") &&
				  !regex_match(regex.s, "src/xy.rs") &&
				  !regex_match(regex.s, "src//.rs"));
		b_str_release(&regex);
	}
	tsv_free(t);
}

/* Everything in one place: glob, path, answer. */
Test(policy_glob, a_question_mark_is_one_token)
{
	static const struct {
		const char *glob, *path;
		bool matches;
	} rows[] = {
		{"?", "a", true},
		{"?", "\xc3\xa9", true},
		{"??", "\xc3\xa9", false},
		{"?", "\xf0\x9f\x98\x80", true},
		{"?", "\xc3", true}, /* belongs to no character */
		{"?", "\xa9", true},
		{"??", "\xc3\xc3", true},
		{"?", "\xed\xa0\x80", false}, /* a surrogate is three stray bytes */
		{"???", "\xed\xa0\x80", true},
		{"??", "\xc0\xaf", true}, /* overlong: two stray bytes */
		{"????", "\xf5\x80\x80\x80", true},
		{"??", "\xe2\x82", true}, /* cut off: two stray bytes */
		{"?", "\xe2\x82", false},
		{"???", "\xe2\x82/", false},
		{"\xc3?", "\xc3\xa9", false}, /* the second byte is no token */
		{"\xc3*", "\xc3\xa9", true},  /* `*` runs over bytes */
		{"*\xa9", "\xc3\xa9", true},
		{"?", "\n", true},
		{"?", "/", false},
		{"a?b", "a/b", false},
		{"**?", "a/b", true},
		{"**?", "a/", false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct b_str regex = {0};

		pol_glob_regex(rows[i].glob, &regex);
		cr_expect_eq(match(rows[i].glob, rows[i].path), rows[i].matches, "row %zu", i);
		cr_expect_eq(regex_match(regex.s, rows[i].path), rows[i].matches, "row %zu: %s", i,
			     regex.s);
		b_str_release(&regex);
	}
}

Test(policy_glob, newlines_are_bytes_like_others)
{
	cr_expect(match("*", "a\nb"));
	cr_expect(match("**/x", "a\n/x"));
	cr_expect_not(match("a", "a\n"));
}

Test(policy_glob, stars_do_not_explode)
{
	char glob[4001], path[4001];
	clock_t start = clock();

	for (int i = 0; i < 4000; i++)
		glob[i] = "*a"[i % 2];
	memset(path, 'a', 4000);
	glob[4000] = path[4000] = '\0';
	path[3999] = 'b';
	cr_expect_not(pol_glob_match(glob, path, 4000));
	cr_expect_lt(clock() - start, 5 * CLOCKS_PER_SEC);
}

Test(policy_glob, literal_prefixes_end_at_a_directory)
{
	cr_expect_eq(pol_glob_literal_prefix("src/a*.c"), 3);
	cr_expect_eq(pol_glob_literal_prefix("*x"), 0);
	cr_expect_eq(pol_glob_literal_prefix("a/b/**"), 3);
	cr_expect_eq(pol_glob_literal_prefix("a?/b"), 0);
	cr_expect_eq(pol_glob_literal_prefix("a/b"), 3);
	cr_expect(pol_glob_is_literal("a/[b]{c}"));
	cr_expect_not(pol_glob_is_literal("a?"));
	cr_expect_not(pol_glob_is_literal("a*"));
}
