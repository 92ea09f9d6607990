/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of caliban's own assertions on its profiles: what ours may say, and what no profile may.
 */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "policy/compile/ruleset.h"
#include "sbpl/sbpl.h"
#include "tests/support/tsv.h"

static void asserts(const struct tsv_row *row)
{
	const char *policy = tsv_cell(row, "policy_or_rule"), *text = tsv_cell(row, "text");
	const char *path = strncmp(policy, "path ", 5) == 0 ? policy + 5 : "/Users/u/ws";
	struct sbpl_opts o = sbpl_opts_default();
	struct sbpl_profile prof;
	struct pol_ruleset rs;
	struct b_err err;

	o.inline_paths = true;
	o.net = strstr(policy, "8080")	  ? SBPL_NET_PROXY
		: strstr(policy, "local") ? SBPL_NET_LOOPBACK
					  : SBPL_NET_NONE;
	o.proxy_port = 8080;
	pol_ruleset_init(&rs);
	pol_ruleset_add(&rs, SBX_MODIFY,
			&(struct pol_rule){.allow = true,
					   .shape = POL_TREE,
					   .base = path,
					   .base_len = strlen(path),
					   .matched = path,
					   .origin = "t:1"});
	cr_assert_eq(sbpl_compile(&rs, NULL, &o, &prof, &err), 0, "%s", err.msg);
	/* /tmp is a link on macOS: the row's path is written behind /private */
	cr_expect_eq(strstr(prof.text, *text == '"' ? text + 1 : text) != NULL,
		     strcmp(tsv_cell(row, "assertion"), "contains") == 0, "%s: %s", row->cells[0],
		     text);
	sbpl_profile_release(&prof);
	pol_ruleset_release(&rs);
}

static void is_invalid(const struct tsv_row *row)
{
	struct sbpl_program *p;
	struct b_err err;
	char text[256];
	int n = snprintf(text, sizeof text, "(version 1)(deny default)(allow network* %s)",
			 tsv_cell(row, "policy_or_rule"));

	cr_expect_eq(
		sbpl_program_new(&(struct sbpl_source){"t", text, (size_t)n, NULL, 0}, &p, &err),
		-1, "%s: %s", row->cells[0], text);
}

Test(sbpl_caliban, rows_of_its_assertions)
{
	struct tsv *t = tsv_load("tests/vectors/caliban_seatbelt_assert.tsv");

	for (size_t i = 0; i < t->n_rows; i++)
		if (strcmp(tsv_cell(&t->rows[i], "kind"), "has") == 0)
			asserts(&t->rows[i]);
		else
			is_invalid(&t->rows[i]);
	cr_expect_eq(t->n_rows, 9);
	tsv_free(t);
}
