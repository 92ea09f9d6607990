/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of OpenShell's documents: policy/front/openshell.c, openshell_net.c. */
#include "policy/front/dialect.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/document/settings.h"
#include "tests/support/tsv.h"

static struct b_err err;

static int parse(const char *text, struct pol_doc *out, struct b_str *report)
{
	const struct pol_input in = {
		.name = "p", .text = text, .len = strlen(text), .report = report};

	return pol_front_parse(&in, out, &err);
}

static size_t lines(const struct b_str *s)
{
	size_t n = 0;

	for (const char *p = b_str_c(s); *p; p++)
		n += *p == '\n';
	return n;
}

static bool is_told(const struct pol_doc *doc, const char *text)
{
	for (size_t i = 0; i < doc->foreign.notes.n; i++)
		if (strstr(doc->foreign.notes.v[i].s, text))
			return true;
	return false;
}

/* Every mistake is counted, every place is in the document; what is no mistake is told. */
static void judge(const char *file)
{
	struct tsv *t = tsv_load(file);

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *text = tsv_cell(row, "text");
		size_t mistakes = (size_t)atoi(tsv_cell(row, "mistakes"));
		b_auto(b_str_release) struct b_str report = {0};
		struct pol_doc doc = {0};
		int rc = parse(tsv_cell(row, "document"), &doc, &report);

		cr_expect_eq(rc, mistakes ? -1 : 0, "%s: %s", row->cells[0], err.msg);
		cr_expect_eq(lines(&report), mistakes, "%s: %s", row->cells[0], b_str_c(&report));
		if (mistakes) {
			cr_expect(strstr(b_str_c(&report), text), "%s: %s", row->cells[0],
				  b_str_c(&report));
			cr_expect(strncmp(report.s, "p:", 2) == 0 && report.s[2] >= '2', "%s: %s",
				  row->cells[0], report.s);
		} else if (rc == 0) {
			cr_expect_eq(doc.foreign.dialect, POL_DIALECT_openshell);
			cr_expect(!*text || is_told(&doc, text), "%s", row->cells[0]);
			pol_doc_release(&doc);
		}
	}
	tsv_free(t);
}

Test(policy_openshell, documents_are_judged_as_the_rows_say)
{
	judge("tests/vectors/openshell_validate.tsv");
}

Test(policy_openshell, endpoints_are_judged_as_the_rows_say)
{
	judge("tests/vectors/openshell_l7_validate.tsv");
}

Test(policy_openshell, paths_are_cleaned_as_the_rows_say)
{
	struct tsv *t = tsv_load("tests/vectors/openshell_normalize_path.tsv");
	struct b_arena a = {0};

	for (size_t i = 0; i < t->n_rows; i++)
		cr_expect_str_eq(pol_openshell_path(&a, tsv_cell(&t->rows[i], "in")),
				 tsv_cell(&t->rows[i], "out"));
	b_arena_release(&a);
	tsv_free(t);
}

static bool lists(const struct pol_doc *doc, enum pol_root_list list, const char *path)
{
	const struct pol_texts *t = &doc->settings.roots[list];

	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i].s, path) == 0 && t->v[i].is_literal)
			return true;
	return false;
}

static const char net[] = "version: 1\n"
			  "filesystem_policy: {read_only: [/srv]}\n"
			  "network_policies:\n"
			  "  a: {endpoints: [{host: a.example.com, port: 443}]}\n";

/* Of the rows the newer era counts: no /sandbox; what is a graphics card's is not here. */
Test(policy_openshell, the_baseline_comes_with_network_policies_only)
{
	struct tsv *t = tsv_load("tests/vectors/openshell_baseline.tsv");
	struct pol_doc with = {0}, without = {0};

	cr_assert_eq(parse(net, &with, NULL), 0, "%s", err.msg);
	cr_assert_eq(parse("filesystem_policy: {read_only: [/srv]}\n", &without, NULL), 0, "%s",
		     err.msg);
	for (size_t i = 0; i < t->n_rows; i++) {
		const char *kind = tsv_cell(&t->rows[i], "kind");
		const char *path = tsv_cell(&t->rows[i], "path");
		enum pol_root_list list =
			strcmp(kind, "ro") == 0 ? POL_ROOTS_openRead : POL_ROOTS_openModify;

		if (strlen(kind) != 2 || strcmp(path, "/sandbox") == 0)
			continue;
		cr_expect(lists(&with, list, path), "%s", path);
		cr_expect(!lists(&without, list, path), "%s", path);
	}
	cr_expect(lists(&with, POL_ROOTS_openRead, "/srv"));
	cr_expect_eq(with.foreign.net_losses.n, 1);
	cr_expect(strstr(with.foreign.net_losses.v[0].s, "p:4:3: network policy `a`"), "%s",
		  with.foreign.net_losses.v[0].s);
	pol_doc_release(&with);
	pol_doc_release(&without);
	tsv_free(t);
}

Test(policy_openshell, a_listed_path_stays_where_the_document_put_it)
{
	struct pol_doc doc = {0};

	cr_assert_eq(parse("filesystem_policy: {read_only: [/tmp]}\n"
			   "network_policies: {a: {}}\n",
			   &doc, NULL),
		     0, "%s", err.msg);
	cr_expect(lists(&doc, POL_ROOTS_openRead, "/tmp"));
	cr_expect(!lists(&doc, POL_ROOTS_openModify, "/tmp"));
	pol_doc_release(&doc);
}

Test(policy_openshell, laxness_is_what_the_document_says_and_nothing_else)
{
	struct pol_doc doc = {0};

	cr_assert_eq(parse("version: 1\n", &doc, NULL), 0);
	cr_expect(!doc.settings.value[POL_SET_strict].said);
	cr_expect(lists(&doc, POL_ROOTS_openModify, "/sandbox"));
	cr_expect_eq(doc.profiles[0].modify.n, 1);
	pol_doc_release(&doc);
	cr_assert_eq(parse("landlock: {compatibility: best_effort}\n", &doc, NULL), 0);
	cr_expect(doc.settings.value[POL_SET_strict].said && !doc.settings.value[POL_SET_strict].v);
	cr_expect(!doc.foreign.must_exist);
	pol_doc_release(&doc);
	cr_assert_eq(parse("landlock: {compatibility: hard_requirement}\n", &doc, NULL), 0);
	cr_expect(doc.settings.value[POL_SET_strict].v && doc.foreign.must_exist);
	pol_doc_release(&doc);
	cr_expect_eq(parse("landlock: {compatibility: best_efort}\n", &doc, NULL), -1);
	cr_expect(strstr(err.msg, "did you mean `best_effort`?"), "%s", err.msg);
}

Test(policy_openshell, the_first_mistake_stands_in_front_of_how_many_more)
{
	struct pol_doc doc = {0};

	cr_expect_eq(parse("filesystem_policy: {read_only: [../x]}\n", &doc, NULL), -1);
	cr_expect_str_eq(err.msg, "p:1:33: path must be absolute (start with '/'): ../x; 1 more: "
				  "sbx-policy check names all");
}
