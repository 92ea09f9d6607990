/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/front/dialect.c: which language a document is in. */
#include "policy/front/dialect.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

static struct b_err err;

static const char srt[] = "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},"
			  "\"filesystem\":{\"denyRead\":[],\"allowWrite\":[],\"denyWrite\":[]}}";
static const char caliban[] = "# mine\n\n[model]\nname = \"x\"\n[sandbox]\nenabled = true\n";
static const char openshell[] = "version: 1\n";
static const char orbit[] = "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec: {}\n";
static const char flow[] = "{\"schemaVersion\": 2, \"kind\": \"Policy\", \"metadata\": {\"name\": "
			   "\"t\"}, \"spec\": {}}";

static enum pol_dialect of(const char *text, enum pol_dialect forced)
{
	const struct pol_input in = {
		.name = "p", .text = text, .len = strlen(text), .dialect = forced};
	struct pol_doc doc = {0};
	enum pol_dialect d;

	if (pol_front_parse(&in, &doc, &err) < 0)
		return POL_DIALECT_auto;
	d = doc.foreign.dialect;
	pol_doc_release(&doc);
	return d;
}

static const char claude[] = "{\"env\": {}, \"permissions\": {\"deny\": [\"Read(./.env)\"]}}";
static const char codex[] = "model = \"m\"\nsandbox_mode = \"read-only\"\n";

Test(policy_dialect, settings_of_agents_are_told_by_their_keys)
{
	cr_expect_eq(of(claude, POL_DIALECT_auto), POL_DIALECT_claude, "%s", err.msg);
	cr_expect_eq(of("{\"sandbox\": {\"enabled\": true}}", POL_DIALECT_auto), POL_DIALECT_claude,
		     "%s", err.msg);
	cr_expect_eq(of(codex, POL_DIALECT_auto), POL_DIALECT_codex, "%s", err.msg);
	/* a table of caliban's */
	cr_expect_neq(of("[model]\nname = \"m\"\n", POL_DIALECT_auto), POL_DIALECT_codex);
}

Test(policy_dialect, the_content_tells_the_language)
{
	struct b_str s = {0};

	cr_expect_eq(of(orbit, POL_DIALECT_auto), POL_DIALECT_orbit, "%s", err.msg);
	cr_expect_eq(of(flow, POL_DIALECT_auto), POL_DIALECT_orbit, "%s", err.msg);
	cr_expect_eq(of(openshell, POL_DIALECT_auto), POL_DIALECT_openshell, "%s", err.msg);
	cr_expect_eq(of("{\"landlock\": {}}", POL_DIALECT_auto), POL_DIALECT_openshell, "%s",
		     err.msg);
	cr_expect_eq(of(srt, POL_DIALECT_auto), POL_DIALECT_srt, "%s", err.msg);
	cr_expect_eq(of(caliban, POL_DIALECT_auto), POL_DIALECT_caliban, "%s", err.msg);
	b_str_addf(&s, "\xef\xbb\xbf// what { \"kind\": this is\n/* \"kind\" */ %s", srt);
	cr_expect_eq(of(b_str_c(&s), POL_DIALECT_auto), POL_DIALECT_srt, "%s", err.msg);
	b_str_release(&s);
	cr_expect_eq(of("sandbox.enabled = true\n", POL_DIALECT_auto), POL_DIALECT_caliban, "%s",
		     err.msg);
}

Test(policy_dialect, a_word_in_a_text_does_not)
{
	struct b_str s = {0};

	b_str_addf(&s, "# [sandbox]\nversion: 1\n");
	cr_expect_eq(of(b_str_c(&s), POL_DIALECT_auto), POL_DIALECT_openshell, "%s", err.msg);
	b_str_reset(&s);
	b_str_addf(&s, "{\"ignoreViolations\":{\"kind\":[\"landlock\"]},%s", srt + 1);
	cr_expect_eq(of(b_str_c(&s), POL_DIALECT_auto), POL_DIALECT_srt, "%s", err.msg);
	b_str_release(&s);
}

Test(policy_dialect, what_is_none_of_the_others_is_orbits)
{
	static const char *const texts[] = {"",	  "kind: Policy\n", "x",     "[1, 2]",
					    "{}", "\xff",	    "a: b\n"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct b_err forced;
		const struct pol_input in = {.name = "p",
					     .text = texts[i],
					     .len = strlen(texts[i]),
					     .dialect = POL_DIALECT_orbit};
		struct pol_doc doc = {0};

		cr_expect_eq(pol_front_parse(&in, &doc, &forced), -1);
		if (texts[i][0] == '[')
			continue; /* a table, as far as its first line says */
		cr_expect_eq(of(texts[i], POL_DIALECT_auto), POL_DIALECT_auto);
		cr_expect_str_eq(err.msg, forced.msg, "%s", texts[i]);
	}
}

Test(policy_dialect, a_forced_one_is_taken_at_its_word)
{
	static const char *const texts[] = {
		[POL_DIALECT_orbit] = orbit,   [POL_DIALECT_openshell] = openshell,
		[POL_DIALECT_srt] = srt,       [POL_DIALECT_caliban] = caliban,
		[POL_DIALECT_claude] = claude, [POL_DIALECT_codex] = codex};

	for (int is = POL_DIALECT_orbit; is < POL_DIALECT_COUNT; is++)
		for (int said = POL_DIALECT_orbit; said < POL_DIALECT_COUNT; said++)
			cr_expect_eq(of(texts[is], (enum pol_dialect)said),
				     is == said ? (enum pol_dialect)said : POL_DIALECT_auto,
				     "%d as %d", is, said);
}
