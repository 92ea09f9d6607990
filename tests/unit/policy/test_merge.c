/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/document/merge.c: Orbit's merged(global, workspace). */
#include "policy/document/model.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "policy/front/dialect.h"
#include "tests/support/engine.h"
#include "tests/support/tsv.h"

static struct pol_doc global, workspace, both;
static struct b_err err;
static struct b_arena arena;

static void teardown(void)
{
	pol_doc_release(&global);
	pol_doc_release(&workspace);
	pol_doc_release(&both);
	b_arena_release(&arena);
}

TestSuite(policy_merge, .fini = teardown);

static void parse(const char *file, const char *spec, struct pol_doc *out)
{
	const char *text = b_arena_printf(
		&arena, "schemaVersion: 2\nkind: Policy\nmetadata: {name: %s}\nspec: %s\n", file,
		spec);

	cr_assert_eq(pol_orbit_parse(file, text, strlen(text), out, &err), 0, "%s", err.msg);
}

static int merge(const char *g, const char *w)
{
	teardown();
	parse("g", g, &global);
	parse("w", w, &workspace);
	return pol_doc_merge(&global, &workspace, &both, &err);
}

static void merges(const char *g, const char *w)
{
	cr_assert_eq(merge(g, w), 0, "%s", err.msg);
}

static bool is(const struct pol_texts *list, const char *joined)
{
	const char *s = "";

	for (size_t i = 0; i < list->n; i++)
		s = b_arena_printf(&arena, "%s%s%s", s, i ? " " : "", list->v[i].s);
	return strcmp(s, joined) == 0;
}

/* ---- the rows ---- */

static void profile_of_the_workspace(void)
{
	merges("{fsProfiles: {x: {read: [a]}}}", "{fsProfiles: {x: {read: [b]}}}");
	cr_expect_eq(both.nprofiles, 1);
	cr_expect(is(&both.profiles[0].read, "b"));
}

static void profiles_of_both(void)
{
	merges("{fsProfiles: {x: {}}}", "{fsProfiles: {y: {}}}");
	cr_assert_eq(both.nprofiles, 2);
	cr_expect_str_eq(both.profiles[0].name.s, "x");
	cr_expect_str_eq(both.profiles[1].name.s, "y");
}

static void name_of_the_workspace(void)
{
	merges("{}", "{}");
	cr_expect_str_eq(both.name.s, "w");
}

static void description_of_global(void)
{
	merges("{description: A}", "{description: null}");
	cr_expect_str_eq(both.description, "A");
}

static void description_of_workspace(void)
{
	merges("{description: A}", "{description: B}");
	cr_expect_str_eq(both.description, "B");
}

#define T(day) "2026-05-0" #day "T00:00:00Z"

static void created_by_global(void)
{
	merges("{created_at: \"" T(1) "\"}", "{created_at: \"" T(2) "\"}");
	cr_expect_str_eq(both.created_at, T(1));
}

static void updated_by_workspace(void)
{
	merges("{updated_at: \"" T(1) "\"}", "{updated_at: \"" T(2) "\"}");
	cr_expect_str_eq(both.updated_at, T(2));
}

static void updated_by_global(void)
{
	merges("{updated_at: \"" T(3) "\"}", "{updated_at: \"" T(2) "\"}");
	cr_expect_str_eq(both.updated_at, T(3));
}

static void revalidated(void)
{
	err.msg[0] = '\0';
	cr_expect_eq(merge("{denyModify: [\"b/**\"]}",
			   "{fsProfiles: {p: {read: [\"b/**\"], modify: [\"b/**\"]}}}"),
		     -1);
	cr_expect(strstr(err.msg, "duplicates global denyModify entry"), "%s", err.msg);
	cr_expect(strstr(err.msg, "w:4:"), "%s", err.msg);
}

/* Of the rows about the store, see policy_store. */
static const struct {
	const char *id;
	void (*run)(void);
} rows[] = {
	{"policy_merge-003", profile_of_the_workspace},
	{"policy_merge-004", profiles_of_both},
	{"policy_merge-005", name_of_the_workspace},
	{"policy_merge-006", description_of_global},
	{"policy_merge-007", description_of_workspace},
	{"policy_merge-008", created_by_global},
	{"policy_merge-009", updated_by_workspace},
	{"policy_merge-010", updated_by_global},
	{"policy_merge-011", revalidated},
};

Test(policy_merge, rows)
{
	struct tsv *t = tsv_load("tests/vectors/policy_merge.tsv");
	size_t tried = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
			if (strcmp(t->rows[i].cells[0], rows[k].id) == 0) {
				rows[k].run();
				tried++;
			}
	cr_expect_eq(tried, sizeof rows / sizeof *rows);
	tsv_free(t);
}

/* ---- beyond them ---- */

Test(policy_merge, denies_are_added_once_global_first)
{
	merges("{denyRead: [a, b], denyModify: [c]}",
	       "{denyRead: [b, d, ./a], denyModify: [c, e]}");
	cr_expect(is(&both.deny_read, "a b d ./a"));
	cr_expect(is(&both.deny_modify, "c e"));
}

Test(policy_merge, rules_keep_the_place_they_were_written_at)
{
	merges("{denyRead: [a]}", "{denyRead: [b]}");
	cr_expect_str_eq(both.deny_read.v[0].pos.file, "g");
	cr_expect_str_eq(both.deny_read.v[1].pos.file, "w");
	cr_expect_eq(both.deny_read.v[1].pos.line, 4);
}

Test(policy_merge, exceptions_stay_within_those_of_the_host)
{
	merges("{denyModify: [\"o/**\", \"!o/r/**\"]}",
	       "{denyModify: [\"o/**\", \"!o/r/x/**\", \"!o/r/**\"]}");
	cr_expect_eq(merge("{denyModify: [\"o/**\", \"!o/r/**\"]}",
			   "{denyModify: [\"o/**\", \"!o/q/**\"]}"),
		     -1);
	cr_expect(strstr(err.msg, "w:4:"), "%s", err.msg);
	cr_expect(strstr(err.msg, "`!o/q/**` is outside the host policy exception surface"), "%s",
		  err.msg);
	/* what the host closes again stays closed */
	cr_expect_eq(merge("{denyModify: [\"o/**\", \"!o/r/**\", \"o/r/x/**\"]}",
			   "{denyModify: [\"o/**\", \"!o/r/x/y\"]}"),
		     -1);
	/* one directory is not within one file of it */
	cr_expect_eq(merge("{denyModify: [\"o/**\", \"!o/r\"]}",
			   "{denyModify: [\"o/**\", \"!o/r/**\"]}"),
		     -1);
}

Test(policy_merge, a_deny_behind_an_exception_is_said_again)
{
	merges("{denyModify: [\"o/**\", \"!o/r/**\"]}", "{denyModify: [\"o/**\"]}");
	cr_expect(is(&both.deny_modify, "o/** !o/r/** o/**"));
	merges("{denyModify: [\"o/**\", \"!o/r/**\"]}", "{denyModify: [\"o/**\", \"!o/r/**\"]}");
	cr_expect(is(&both.deny_modify, "o/** !o/r/** o/** !o/r/**"));
	/* a no-break space is trimmed as any other */
	merges("{denyModify: [\"o/**\", \"\\u00a0!o/r/**\"]}", "{denyModify: [\"o/**\"]}");
	cr_expect(is(&both.deny_modify, "o/** \xc2\xa0!o/r/** o/**"));
}

Test(policy_merge, times_are_compared_as_moments)
{
	merges("{updated_at: \"2026-05-01T00:30:00+01:00\"}",
	       "{updated_at: \"2026-05-01T00:00:00Z\"}");
	cr_expect_str_eq(both.updated_at, "2026-05-01T00:00:00Z");
	merges("{updated_at: \"2026-05-01T00:00:00.5Z\"}",
	       "{updated_at: \"2026-05-01T00:00:00.25Z\"}");
	cr_expect_str_eq(both.updated_at, "2026-05-01T00:00:00.5Z");
	merges("{updated_at: \"2026-05-01T00:00:00Z\"}", "{}");
	cr_expect_str_eq(both.updated_at, "2026-05-01T00:00:00Z");
}
