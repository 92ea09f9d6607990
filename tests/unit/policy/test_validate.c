/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/document/model.c: the conformance rows, each built into a whole document. */
#include "policy/document/model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "tests/support/tsv.h"

/* A row's fragment is either one line that replaces or joins a line of the whole document, or
 * lists: `read ["a"] denyRead ["b"]`. */
struct parts {
	char kind[256], version[256], name[256], spec[512], profiles[512];
};

static const char *after(const char *fragment, const char *prefix)
{
	return b_has_prefix(fragment, prefix) ? fragment + strlen(prefix) : NULL;
}

/* Copies up to the note in brackets that a fragment may end with. */
static void without_note(char *out, size_t size, const char *text)
{
	const char *note = strstr(text, " (");

	snprintf(out, size, "%.*s", note ? (int)(note - text) : (int)strlen(text), text);
}

static void add_list(char *out, size_t size, const char *key, const char *fragment)
{
	const char *p = fragment;
	size_t n = strlen(key);

	while ((p = strstr(p, key)) != NULL) {
		bool is_word = (p == fragment || p[-1] == ' ') && b_has_prefix(p + n, " [");

		if (is_word) {
			const char *end = strchr(p, ']');

			cr_assert(end);
			snprintf(out + strlen(out), size - strlen(out), "%s%s: %.*s",
				 *out ? ", " : "", key, (int)(end - (p + n + 1) + 1), p + n + 1);
			return;
		}
		p += n;
	}
}

static void build(const char *fragment, struct b_str *out)
{
	struct parts d = {"Policy", "2", "test", "", ""};
	char profile[512] = "";
	const char *v;

	if ((v = after(fragment, "kind: ")))
		without_note(d.kind, sizeof d.kind, v);
	else if ((v = after(fragment, "schemaVersion: ")))
		without_note(d.version, sizeof d.version, v);
	else if ((v = after(fragment, "metadata.name: ")))
		without_note(d.name, sizeof d.name, v);
	else if ((v = after(fragment, "spec.")))
		without_note(d.spec, sizeof d.spec, v);
	else if (after(fragment, "fsProfiles.p.write: []"))
		snprintf(d.profiles, sizeof d.profiles, "p: {write: []}");
	else if ((v = after(fragment, "fsProfiles.")))
		without_note(d.profiles, sizeof d.profiles, v);
	else if (!after(fragment, "spec: {}")) {
		add_list(d.spec, sizeof d.spec, "denyRead", fragment);
		add_list(d.spec, sizeof d.spec, "denyModify", fragment);
		add_list(profile, sizeof profile, "read", fragment);
		add_list(profile, sizeof profile, "modify", fragment);
		cr_assert(*d.spec || *profile, "fragment not understood: %s", fragment);
		snprintf(d.profiles, sizeof d.profiles, "p: {%s}", profile);
	}
	b_str_addf(out, "kind: %s\nschemaVersion: %s\nmetadata: {name: %s}\n", d.kind, d.version,
		   d.name);
	b_str_addf(out, "spec: {%s%sfsProfiles: {%s}}\n", d.spec, *d.spec ? ", " : "", d.profiles);
}

/* The rows whose second column is the text itself, not a remark about it. */
static const char *const exact_reasons[] = {
	"policy_validate-001", "policy_validate-002", "policy_validate-003", "policy_validate-005",
	"policy_validate-006", "policy_validate-009", "policy_validate-010", "policy_validate-011",
	"policy_validate-012", "policy_validate-013", "policy_validate-014", "policy_validate-015",
	"policy_validate-016", "policy_validate-017", "policy_validate-018", "policy_validate-020",
	"policy_validate-031", "policy_validate-033", "policy_validate-034",
};

static bool is_exact(const char *id)
{
	for (size_t i = 0; i < sizeof exact_reasons / sizeof *exact_reasons; i++)
		if (strcmp(id, exact_reasons[i]) == 0)
			return true;
	return false;
}

Test(policy_validate, rows)
{
	struct tsv *t = tsv_load("tests/vectors/policy_validate.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		b_auto(b_str_release) struct b_str text = {0};
		struct pol_doc doc;
		struct b_err err = {0};
		bool ok;

		if (strcmp(tsv_cell(row, "era"), "seed") == 0)
			continue;
		build(tsv_cell(row, "policy_fragment"), &text);
		ok = pol_orbit_parse("p.yaml", b_str_c(&text), text.len, &doc, &err) == 0;
		cr_expect_eq(ok, strcmp(tsv_cell(row, "result"), "OK") == 0, "%s: %s%s",
			     row->cells[0], b_str_c(&text), err.msg);
		if (ok) {
			pol_doc_release(&doc);
			continue;
		}
		cr_expect_eq(err.kind, B_POLICY);
		cr_expect(b_has_prefix(err.msg, "p.yaml:"), "%s: %s", row->cells[0], err.msg);
		if (is_exact(row->cells[0]))
			cr_expect(strstr(err.msg, tsv_cell(row, "reason_text")), "%s: %s",
				  row->cells[0], err.msg);
	}
	tsv_free(t);
}

static void refused(const char *spec, const char *message)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_doc doc;
	struct b_err err = {0};

	b_str_addf(&text, "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n%s", spec);
	cr_expect_eq(pol_orbit_parse("p", b_str_c(&text), text.len, &doc, &err), -1, "%s", spec);
	cr_expect_str_eq(err.msg, message);
}

Test(policy_validate, errors_point_at_the_rule)
{
	refused("  denyRead:\n    - ok\n    - ../x\n",
		"p:7:7: denyRead rule `../x` must stay inside the workspace root");
	refused("  fsProfiles:\n    w:\n      read: [a/**]\n      modify:\n        - a/**\n"
		"        - b\n",
		"p:10:11: fsProfile `w` has modify rule `b` that is not covered by any read rule, "
		"expected the same rule, `**` or `<prefix>/**` under read");
}

Test(policy_validate, an_exception_must_follow_the_deny_it_opens)
{
	refused("  denyModify: [\"!a/b\", a/**]\n",
		"p:5:16: denyModify exception `!a/b` must be strictly contained by an earlier "
		"denyModify rule");
}

Test(policy_validate, an_exception_may_not_open_the_whole_deny)
{
	refused("  denyModify: [a/**, \"!a/**\"]\n",
		"p:5:22: denyModify exception `!a/**` must be strictly contained by an earlier "
		"denyModify rule");
}

Test(policy_validate, coverage_of_many_rules_agrees_with_the_pairwise_rule)
{
	static const char *const reads[] = {"**/x", "a/**", "a/*", "b", "c/d/**"};
	static const char *const modifies[] = {"a",    "a/b",	"a/b/**", "b", "b/c", "c/d",
					       "c/de", "c/d/e", "**/x",	  "x", "c/**"};

	for (size_t m = 0; m < sizeof modifies / sizeof *modifies; m++) {
		b_auto(b_str_release) struct b_str text = {0};
		struct pol_doc doc = {0};
		bool want = false, got;

		b_str_add(&text, "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\n"
				 "spec: {fsProfiles: {p: {read: [");
		for (size_t r = 0; r < sizeof reads / sizeof *reads; r++) {
			b_str_addf(&text, "\"%s\",", reads[r]);
			want |= pol_rule_covers(reads[r], modifies[m]);
		}
		b_str_addf(&text, "], modify: [\"%s\"]}}}\n", modifies[m]);
		got = pol_orbit_parse("p", b_str_c(&text), text.len, &doc, NULL) == 0;
		cr_expect_eq(got, want, "%s", modifies[m]);
		pol_doc_release(&doc);
	}
}
