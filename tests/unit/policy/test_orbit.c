/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/front/orbit.c. */
#include "policy/front/dialect.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/document/model.h"

#define HEAD "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\n"

static void refused(const char *text, const char *message)
{
	struct pol_doc doc;
	struct b_err err = {0};

	cr_expect_eq(pol_orbit_parse("p", text, strlen(text), &doc, &err), -1, "%s", text);
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect_str_eq(err.msg, message);
}

static void accepted(const char *text)
{
	struct pol_doc doc;
	struct b_err err = {0};

	cr_assert_eq(pol_orbit_parse("p", text, strlen(text), &doc, &err), 0, "%s", err.msg);
	pol_doc_release(&doc);
}

Test(policy_orbit, a_whole_document_is_read_with_positions)
{
	const char *text =
		"schemaVersion: 2\nkind: Policy\nfuture: yes\n"
		"metadata:\n  name: default\n  labels: {a: b}\n  annotations: {}\n  x: 1\n"
		"spec:\n  description: words\n  created_at: 2026-05-18T09:30:00.25Z\n"
		"  updated_at: \"2026-05-18T09:30:00+02:00\"\n"
		"  denyRead: [\"**/*.env\"]\n  denyModify: [.orbit/**]\n"
		"  fsProfiles:\n    one: {read: [\"./**\"], modify: []}\n    two: {}\n";
	struct pol_doc doc;
	struct b_err err = {0};

	cr_assert_eq(pol_orbit_parse("d.yaml", text, strlen(text), &doc, &err), 0, "%s", err.msg);
	cr_expect_str_eq(doc.name.s, "default");
	cr_expect_str_eq(doc.description, "words");
	cr_expect_eq(doc.deny_read.n, 1);
	cr_expect_eq(doc.deny_modify.n, 1);
	cr_assert_eq(doc.nprofiles, 2);
	cr_expect_str_eq(doc.profiles[0].name.s, "one");
	cr_expect_str_eq(doc.profiles[0].read.v[0].s, "./**");
	cr_expect_str_eq(doc.profiles[0].read.v[0].pos.file, "d.yaml");
	cr_expect_eq(doc.profiles[0].read.v[0].pos.line, 16);
	cr_expect_eq(doc.profiles[0].read.v[0].pos.col, 18);
	cr_expect_eq(doc.profiles[1].read.n, 0);
	pol_doc_release(&doc);
}

Test(policy_orbit, the_name_of_the_text_need_not_outlive_the_call)
{
	char name[] = "gone.yaml";
	const char *text = HEAD "spec: {denyRead: [x]}\n";
	struct pol_doc doc;

	cr_assert_eq(pol_orbit_parse(name, text, strlen(text), &doc, NULL), 0);
	memset(name, 'X', sizeof name - 1);
	cr_expect_str_eq(doc.deny_read.v[0].pos.file, "gone.yaml");
	pol_doc_release(&doc);
}

Test(policy_orbit, what_must_be_there_is_missed)
{
	refused("{}", "p:1:1: missing field `kind` in the policy");
	refused("kind: Policy\n", "p:1:1: missing field `schemaVersion` in the policy");
	refused("kind: Policy\nschemaVersion: 2\n",
		"p:1:1: missing field `metadata` in the policy");
	refused("kind: Policy\nschemaVersion: 2\nmetadata: {}\nspec: {}\n",
		"p:3:11: missing field `name` in metadata");
	refused("kind: Policy\nschemaVersion: 2\nmetadata: {name: t}\n",
		"p:1:1: missing field `spec` in the policy");
	refused("", "p:1:1: empty, expected a YAML document");
	refused("- a\n", "p:1:1: the policy is a list, expected a mapping");
}

Test(policy_orbit, unknown_fields_are_told_with_those_there_are)
{
	refused(HEAD "spec: {rules: {}}\n",
		"p:4:8: unknown field `rules` in spec, expected one of description, denyRead, "
		"denyModify, denyConnect, fsProfiles, created_at, updated_at, sandbox");
	refused(HEAD "spec: {}\ndenyRead: [a]\n",
		"p:5:1: `denyRead` is outside of spec, where it has no effect: indent it "
		"under spec");
	refused(HEAD "spec: {deny_read: []}\n",
		"p:4:8: unknown field `deny_read` in spec, did you mean `denyRead`?");
	refused(HEAD "spec: {fsProfiles: {a: {Modify: []}}}\n",
		"p:4:25: unknown field `Modify` in fsProfile `a`, did you mean `modify`?");
	refused(HEAD "spec: {fsProfiles: {a: {exec: []}}}\n",
		"p:4:25: unknown field `exec` in fsProfile `a`, expected one of read, modify, "
		"connect");
}

Test(policy_orbit, types_are_exact)
{
	refused("kind: Policy\nschemaVersion: \"2\"\n",
		"p:2:16: schemaVersion is a string, expected an integer");
	refused("kind: 1\nschemaVersion: 2\n", "p:1:7: kind is an integer, expected a string");
	refused("kind: Policy\nschemaVersion: 2\nmetadata: {name: 5}\nspec: {}\n",
		"p:3:18: name is an integer, expected a string");
	refused(HEAD "spec:\n", "p:4:6: spec is nothing, expected a mapping");
	refused(HEAD "spec: {denyRead: x}\n", "p:4:18: denyRead is a string, expected a list");
	refused(HEAD "spec: {denyRead: }\n", "p:4:18: denyRead is nothing, expected a list");
	refused(HEAD "spec: {denyRead: [1]}\n",
		"p:4:19: an entry of denyRead is an integer, expected a string: a name that reads "
		"as a number needs quotes");
	refused(HEAD "spec: {denyRead: [1e3]}\n",
		"p:4:19: an entry of denyRead is a number, expected a string: a name that reads as "
		"a number needs quotes");
	refused(HEAD "spec: {denyRead: [.inf]}\n",
		"p:4:19: an entry of denyRead is a number, expected a string: a name that reads as "
		"a number needs quotes");
	refused(HEAD "spec: {denyRead: [true]}\n",
		"p:4:19: an entry of denyRead is a boolean, expected a string: a name that reads "
		"as a boolean needs quotes");
	refused(HEAD "spec: {denyRead: [~]}\n",
		"p:4:19: an entry of denyRead is nothing, expected a string: rules that start with "
		"* ! # { [ & ~ @ % need quotes");
	refused(HEAD "spec: {denyRead: [\"a\\0b\"]}\n",
		"p:4:19: a rule contains a NUL, expected a name or rule without");
	refused(HEAD "spec: {fsProfiles: []}\n",
		"p:4:20: fsProfiles is a list, expected a mapping");
	refused(HEAD "spec: {fsProfiles: {a: }}\n",
		"p:4:24: fsProfile `a` is nothing, expected a mapping");
	refused(HEAD "spec: {created_at: 2026}\n",
		"p:4:20: created_at is an integer, expected a string");
	refused(HEAD "spec: {created_at: yesterday}\n",
		"p:4:20: created_at is `yesterday`, expected a time like 2026-05-18T09:30:00Z");
	refused("kind: Policy\nschemaVersion: 2\nmetadata: {name: t, labels: {a: 1}}\nspec: {}\n",
		"p:3:33: a is an integer, expected a string");
	accepted(HEAD "spec: {description: ~, created_at: ~}\n");
}

Test(policy_orbit, a_name_with_a_nul_is_judged_whole)
{
	refused("kind: Policy\nschemaVersion: 2\nmetadata: {name: \"a\\0b\"}\nspec: {}\n",
		"p:3:18: metadata.name `a` must not contain separators, drive prefixes, or control "
		"characters");
}

Test(policy_orbit, duplicates_are_refused_in_the_envelope_too)
{
	refused("kind: Policy\nkind: Policy\n",
		"p:2:1: duplicate key `kind`, first given in line 1");
	refused(HEAD "other: {a: 1, a: 2}\n", "p:4:15: duplicate key `a`, first given in line 4");
}

Test(policy_orbit, aliases_work_as_lists)
{
	accepted(HEAD "spec:\n  fsProfiles:\n    a: {read: &r [x/**], modify: *r}\n");
}

Test(policy_orbit, rules_are_counted)
{
	b_auto(b_str_release) struct b_str s = {0};
	struct pol_doc doc;
	struct b_err err = {0};

	b_str_add(&s, HEAD "spec:\n  denyRead:\n");
	for (int i = 0; i <= POL_MAX_RULES; i++)
		b_str_addf(&s, "  - r%d\n", i);
	cr_expect_eq(pol_orbit_parse("p", b_str_c(&s), s.len, &doc, &err), -1);
	cr_expect_str_eq(err.msg, "p:20006:5: more than 20000 rules");
}
