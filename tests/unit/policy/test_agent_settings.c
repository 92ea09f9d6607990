/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of Claude Code and Codex as policies: what of them becomes which rule. */
#include "policy/front/dialect.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "policy/document/model.h"
#include "policy/document/settings.h"

static struct b_err err;
static struct pol_doc doc;

static int parse(const char *text)
{
	const struct pol_input in = {.name = "s", .text = text, .len = strlen(text)};

	doc = (struct pol_doc){0};
	return pol_front_parse(&in, &doc, &err);
}

static void read_as(enum pol_dialect dialect, const char *text)
{
	cr_assert_eq(parse(text), 0, "%s: %s", text, err.msg);
	cr_assert_eq(doc.foreign.dialect, dialect, "%s", text);
}

static void refused(const char *text, const char *part)
{
	cr_assert_eq(parse(text), -1, "%s", text);
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect(strstr(err.msg, part), "%s: %s", text, err.msg);
}

/* Is exactly this in the list? */
static void holds(enum pol_root_list list, const char *want)
{
	const struct pol_texts *t = &doc.settings.roots[list];

	cr_assert_eq(t->n, 1, "%zu", t->n);
	cr_expect_str_eq(t->v[0].s, want);
}

Test(policy_agent_settings, a_rule_of_permission_is_a_path)
{
	static const struct {
		const char *rule, *want;
	} rows[] = {{"./.env", "${WORKSPACE}/.env"}, {"a/b", "${WORKSPACE}/a/b"},
		    {"/a/b", "${WORKSPACE}/a/b"},    {"//etc/x", "/etc/x"},
		    {"~/.aws/**", "~/.aws"},	     {"~/x", "~/x"}};
	char text[256];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(text, sizeof text, "{\"permissions\": {\"deny\": [\"Read(%s)\"]}}",
			 rows[i].rule);
		read_as(POL_DIALECT_claude, text);
		holds(POL_ROOTS_denyRead, rows[i].want);
		pol_doc_release(&doc);
		snprintf(text, sizeof text, "{\"permissions\": {\"deny\": [\"Edit(%s)\"]}}",
			 rows[i].rule);
		read_as(POL_DIALECT_claude, text);
		holds(POL_ROOTS_denyModify, rows[i].want);
		pol_doc_release(&doc);
	}
}

Test(policy_agent_settings, a_name_alone_is_meant_in_each_directory)
{
	static const char want[] = "${WORKSPACE}/**/secret.txt";

	read_as(POL_DIALECT_claude, "{\"permissions\": {\"deny\": [\"Read(secret.txt)\"]}}");
	cr_assert_eq(doc.settings.roots[POL_ROOTS_denyRead].n, 1);
	cr_expect_eq(strncmp(doc.settings.roots[POL_ROOTS_denyRead].v[0].s, want, sizeof want - 1),
		     0);
	pol_doc_release(&doc);
}

Test(policy_agent_settings, what_allows_opens_for_writing_alone)
{
	read_as(POL_DIALECT_claude,
		"{\"permissions\": {\"allow\": [\"Edit(//srv/out/**)\", \"Read(~/.ssh/**)\", "
		"\"Bash(ls)\", \"Edit\"], \"ask\": [\"Bash(rm *)\"], \"defaultMode\": \"plan\"}}");
	holds(POL_ROOTS_openModify, "/srv/out");
	cr_expect_eq(doc.settings.roots[POL_ROOTS_allowRead].n, 0);
	cr_expect_eq(doc.foreign.notes.n, 0);
	pol_doc_release(&doc);
}

Test(policy_agent_settings, what_a_sandbox_cannot_keep_is_named)
{
	read_as(POL_DIALECT_claude,
		"{\"permissions\": {\"deny\": [\"Bash(curl *)\", \"WebFetch\"]}, \"sandbox\": "
		"{\"excludedCommands\": [\"docker\"]}}");
	cr_assert_eq(doc.foreign.notes.n, 3);
	cr_expect(strstr(doc.foreign.notes.v[0].s, "`Bash(curl *)`"));
	cr_expect(strstr(doc.foreign.notes.v[2].s, "excludedCommands"));
	pol_doc_release(&doc);
	read_as(POL_DIALECT_claude,
		"{\"sandbox\": {\"network\": {\"allowedDomains\": [\"example.com\"]}}}");
	cr_expect_eq(doc.foreign.notes.n, 1);
	cr_expect_eq(doc.foreign.host_losses.n, 1);
	pol_doc_release(&doc);
}

Test(policy_agent_settings, the_sandbox_of_claude_code)
{
	read_as(POL_DIALECT_claude,
		"{\"hooks\": {}, \"sandbox\": {\"enabled\": false, \"filesystem\": {\"denyRead\": "
		"[\"//x/y\"], \"denyWrite\": [\"gen\"], \"allowWrite\": [\"/srv/a\"]}, "
		"\"network\": {\"allowAllUnixSockets\": true}}}");
	holds(POL_ROOTS_denyRead, "/x/y");
	holds(POL_ROOTS_denyModify, "${WORKSPACE}/gen");
	holds(POL_ROOTS_openModify, "/srv/a");
	cr_expect_eq(doc.settings.value[POL_SET_unixSockets].v, POL_UNIX_HOST);
	cr_expect_eq(doc.settings.value[POL_SET_network].v, POL_NET_NONE);
	pol_doc_release(&doc);
}

Test(policy_agent_settings, what_is_not_known_is_refused)
{
	refused("{\"permissions\": {\"denied\": []}}", "denied");
	refused("{\"sandbox\": {\"filesystem\": {\"denyReads\": []}}}", "denyReads");
	refused("{\"sandbox\": {\"escape\": true}}", "escape");
	refused("{\"permissions\": {\"deny\": [\"Read\"]}}", "closes everything");
	refused("{\"permissions\": {\"deny\": [\"Edit(**)\"]}}", "closes everything");
	refused("{\"permissions\": {\"deny\": [1]}}", "expected a string");
	refused("{\"permissions\": []}", "permissions");
}

Test(policy_agent_settings, codex_reads_only_unless_it_is_told)
{
	read_as(POL_DIALECT_codex, "model = \"m\"\n[mcp_servers.x]\ncommand = \"y\"\n");
	cr_expect_eq(doc.profiles[0].modify.n, 0);
	pol_doc_release(&doc);
	read_as(POL_DIALECT_codex,
		"sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\n"
		"writable_roots = [\"/srv/a\"]\nnetwork_access = true\nexclude_slash_tmp = true\n");
	cr_expect_eq(doc.profiles[0].modify.n, 1);
	holds(POL_ROOTS_openModify, "/srv/a");
	cr_expect_eq(doc.settings.roots[POL_ROOTS_denyModify].n, 3);
	cr_expect_eq(doc.settings.value[POL_SET_network].v, POL_NET_HOST);
	pol_doc_release(&doc);
}

Test(policy_agent_settings, a_profile_that_is_chosen_says_the_mode)
{
	read_as(POL_DIALECT_codex,
		"profile = \"w\"\nsandbox_mode = \"read-only\"\n[profiles.w]\nsandbox_mode = "
		"\"workspace-write\"\n[profiles.x]\nsandbox_mode = \"danger-full-access\"\n");
	cr_expect_eq(doc.profiles[0].modify.n, 1);
	pol_doc_release(&doc);
	refused("model = \"m\"\nprofile = \"x\"\n[profiles.x]\nsandbox_mode = "
		"\"danger-full-access\"\n",
		"runs nothing without a sandbox");
	refused("sandbox_mode = \"open\"\n", "sandbox_mode");
	refused("default_permissions = \":workspace\"\n", "permission profiles are not supported");
	refused("sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nroots = []\n",
		"roots");
}
