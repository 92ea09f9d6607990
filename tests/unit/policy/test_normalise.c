/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/document/model.c: the conformance rows, and what they leave out. */
#include "policy/document/model.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "tests/support/tsv.h"

static struct b_arena arena;

static const char *rule(const char *raw)
{
	bool negated;
	const char *s = pol_rule_normalise(&arena, raw, "list", &negated, NULL);

	return s ? b_arena_printf(&arena, "%s%s", negated ? "!" : "", s) : "ERR";
}

static const char *path(const char *raw)
{
	const char *s = pol_path_normalise(&arena, raw, NULL);

	return s ? s : "ERR";
}

Test(policy_normalise, rule_rows)
{
	struct tsv *t = tsv_load("tests/vectors/rule_normalise.tsv");

	for (size_t i = 0; i < t->n_rows; i++)
		cr_expect_str_eq(rule(tsv_cell(&t->rows[i], "rule_raw")),
				 tsv_cell(&t->rows[i], "norm_head"), "%s", t->rows[i].cells[0]);
	tsv_free(t);
}

Test(policy_normalise, path_rows)
{
	struct tsv *t = tsv_load("tests/vectors/path_normalise.tsv");

	for (size_t i = 0; i < t->n_rows; i++)
		cr_expect_str_eq(path(tsv_cell(&t->rows[i], "path_raw")),
				 tsv_cell(&t->rows[i], "norm_head"), "%s", t->rows[i].cells[0]);
	tsv_free(t);
}

Test(policy_normalise, covers_rows)
{
	struct tsv *t = tsv_load("tests/vectors/rule_covers.tsv");

	for (size_t i = 0; i < t->n_rows; i++)
		cr_expect_eq(pol_rule_covers(tsv_cell(&t->rows[i], "read_rule"),
					     tsv_cell(&t->rows[i], "modify_rule")),
			     tsv_is_true(&t->rows[i], "covered"), "%s", t->rows[i].cells[0]);
	tsv_free(t);
}

/* The rows spell bytes that TSV cannot carry as <NUL> and <U+0001>. */
static size_t bytes_of(const char *cell, char *out)
{
	size_t n = 0;

	while (*cell) {
		if (b_has_prefix(cell, "<NUL>")) {
			out[n++] = '\0';
			cell += strlen("<NUL>");
		} else if (b_has_prefix(cell, "<U+0001>")) {
			out[n++] = 1;
			cell += strlen("<U+0001>");
		} else {
			out[n++] = *cell++;
		}
	}
	return n;
}

Test(policy_normalise, name_rows)
{
	struct tsv *t = tsv_load("tests/vectors/name_validator.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *want = tsv_cell(row, "reason_text"), *got;
		char name[256];

		got = pol_name_check_n(name, bytes_of(tsv_cell(row, "name"), name));
		cr_expect_eq(got == NULL, tsv_is_true(row, "ok"), "%s", row->cells[0]);
		if (got)
			cr_expect_str_eq(got, want, "%s", row->cells[0]);
	}
	tsv_free(t);
}

Test(policy_normalise, an_empty_name_is_refused)
{
	cr_expect_str_eq(pol_name_check(""), "must not be empty");
}

Test(policy_normalise, only_the_first_bang_negates)
{
	cr_expect_str_eq(rule("!!x"), "!!x");
	cr_expect_str_eq(rule("! x"), "! x");
	cr_expect_str_eq(rule(" !x"), "!x");
}

Test(policy_normalise, tilde_with_a_name_is_an_ordinary_name)
{
	cr_expect_str_eq(rule("~user/x"), "~user/x");
	cr_expect_str_eq(rule("~"), "ERR");
	cr_expect_str_eq(rule("./~"), "ERR");
	cr_expect_str_eq(rule("a/~"), "a/~");
}

Test(policy_normalise, dotdot_hidden_by_dots_slashes_and_backslashes_is_found)
{
	cr_expect_str_eq(rule("a/./../b"), "ERR");
	cr_expect_str_eq(rule("a//..//b"), "ERR");
	cr_expect_str_eq(rule("a\\..\\b"), "ERR");
	cr_expect_str_eq(rule("..."), "...");
	cr_expect_str_eq(rule("a../..b"), "a../..b");
}

Test(policy_normalise, a_stripped_prefix_may_not_uncover_an_absolute_path)
{
	cr_expect_str_eq(rule(".//etc"), "ERR");
	cr_expect_str_eq(rule("././etc"), "etc");
}

Test(policy_normalise, unicode_space_is_trimmed)
{
	cr_expect_str_eq(rule("\xe3\x80\x80src\xc2\xa0"), "src");
	cr_expect_str_eq(rule("\xe2\x80\x8bsrc"), "\xe2\x80\x8bsrc"); /* U+200B is no white space */
	cr_expect_str_eq(rule("\xc2\xa0"), "ERR");
}

Test(policy_normalise, newline_inside_is_kept)
{
	cr_expect_str_eq(rule("a\nb"), "a\nb");
	cr_expect_str_eq(path("a\nb"), "a\nb");
}

Test(policy_normalise, bad_utf8_and_excess_length_are_refused_in_rules)
{
	char longer[POL_MAX_RULE_LEN + 2];

	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	cr_expect_str_eq(rule(longer), "ERR");
	longer[POL_MAX_RULE_LEN] = '\0';
	cr_expect_str_eq(rule(longer), longer);
	cr_expect_str_eq(rule("a\xff"), "ERR");
}

Test(policy_normalise, the_message_names_list_and_rule)
{
	struct b_err err;
	bool negated;

	cr_expect_null(pol_rule_normalise(&arena, "../x", "denyRead", &negated, &err));
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect_str_eq(err.msg, "denyRead rule `../x` must stay inside the workspace root");
}

Test(policy_normalise, strict_containment_is_textual)
{
	cr_expect(pol_rule_contains(".orbit/**", ".orbit/a"));
	cr_expect(pol_rule_contains(".orbit/**", ".orbit/a/**"));
	cr_expect(pol_rule_contains("**", "a"));
	cr_expect_not(pol_rule_contains(".orbit/**", ".orbit"));
	cr_expect_not(pol_rule_contains(".orbit/**", ".orbit/**"));
	cr_expect_not(pol_rule_contains(".orbit/**", ".orbitx/a"));
	cr_expect_not(pol_rule_contains(".orbit", ".orbit/a"));
	cr_expect_not(pol_rule_contains("**/a/**", "a/b"));
	cr_expect_not(pol_rule_contains("**", "."));
}
