/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of caliban's `[sandbox]`: policy/front/caliban.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "policy/document/settings.h"

static struct b_err err;

static int parse(const char *text, struct pol_doc *out)
{
	const struct pol_input in = {
		.name = "c", .text = text, .len = strlen(text), .dialect = POL_DIALECT_caliban};

	return pol_front_parse(&in, out, &err);
}

static void refused(const char *text, const char *message)
{
	struct pol_doc doc = {0};

	err.msg[0] = '\0';
	cr_expect_eq(parse(text, &doc), -1, "%s", text);
	cr_expect(strstr(err.msg, message), "%s: %s", text, err.msg);
}

Test(policy_caliban, every_key_has_its_type)
{
	struct pol_doc doc = {0};

	cr_assert_eq(
		parse("[sandbox]\nenabled = true\nfail_if_unavailable = true\n"
		      "auto_allow_bash_if_sandboxed = true\n"
		      "allow_unsandboxed_commands = [\"git\", \"gh\"]\n"
		      "enable_weaker_nested_sandbox = true\nbwrap_path = \"/usr/bin/bwrap\"\n"
		      "sandbox_exec_path = \"/usr/bin/sandbox-exec\"\n"
		      "[sandbox.filesystem]\nallow_read = [\"/data\"]\nallow_write = [\"/work\"]\n"
		      "deny_read = [\"/home/u/.ssh\"]\ndeny_write = [\"/proj/.git/hooks\"]\n"
		      "[sandbox.network]\nallowed_domains = [\"github.com\"]\n"
		      "denied_domains = []\nhttp_proxy_port = 8888\nsocks_proxy_port = 0\n"
		      "allow_all_outbound = false\nallow_unix_sockets = false\n"
		      "allow_local_binding = true\nallow_mach_lookup = [\"x\"]\n"
		      "[sandbox.env]\nscrub_secrets = false\npassthrough = [\"A\"]\n",
		      &doc),
		0, "%s", err.msg);
	cr_expect(doc.settings.value[POL_SET_strict].v);
	cr_expect_eq(doc.settings.value[POL_SET_reads].v, POL_READS_LISTED);
	cr_expect_eq(doc.settings.value[POL_SET_network].v, POL_NET_NONE);
	cr_expect_eq(doc.foreign.net_losses.n, 1); /* the proxy */
	cr_expect_str_eq(doc.foreign.bwrap.s, "/usr/bin/bwrap");
	cr_expect(doc.foreign.must_have_bwrap && doc.foreign.is_nested);
	cr_expect_eq(doc.settings.value[POL_SET_env].v, POL_ENV_KEEP);
	cr_expect(doc.settings.pass_env.n == 1 && doc.settings.pass_env.v[0].is_literal);
	cr_expect_eq(doc.settings.roots[POL_ROOTS_denyModify].n, 2);
	cr_expect_eq(doc.settings.roots[POL_ROOTS_denyRead].n, 1);
	pol_doc_release(&doc);
}

Test(policy_caliban, what_is_left_out_has_its_default)
{
	struct pol_doc doc = {0};

	cr_assert_eq(parse("[sandbox]\n", &doc), 0, "%s", err.msg);
	cr_expect(doc.settings.value[POL_SET_enabled].said &&
		  !doc.settings.value[POL_SET_enabled].v);
	cr_expect(!doc.settings.value[POL_SET_strict].said);
	pol_doc_release(&doc);
	cr_assert_eq(parse("[sandbox]\nenabled = true\nfail_if_unavailable = false\n", &doc), 0);
	cr_expect(doc.settings.value[POL_SET_strict].said && !doc.settings.value[POL_SET_strict].v);
	pol_doc_release(&doc);
	cr_assert_eq(parse("[sandbox]\nenabled = true\nnetwork.allow_all_outbound = true\n", &doc),
		     0, "%s", err.msg);
	cr_expect_eq(doc.settings.value[POL_SET_network].v, POL_NET_HOST);
	pol_doc_release(&doc);
	/* a proxy wins */
	cr_assert_eq(
		parse("[sandbox.network]\nallow_all_outbound = true\nsocks_proxy_port = 1\n", &doc),
		0, "%s", err.msg);
	cr_expect_eq(doc.settings.value[POL_SET_network].v, POL_NET_NONE);
	pol_doc_release(&doc);
}

Test(policy_caliban, secrets_are_scrubbed_when_it_says_so)
{
	struct pol_doc doc = {0};

	cr_assert_eq(
		parse("[sandbox.env]\nscrub_secrets = true\npassthrough = [\"GH_TOKEN\"]\n", &doc),
		0, "%s", err.msg);
	cr_expect_eq(doc.settings.value[POL_SET_env].v, POL_ENV_SCRUB);
	cr_expect_str_eq(doc.settings.pass_env.v[0].s, "GH_TOKEN");
	cr_expect_eq(doc.foreign.losses.n, 0);
	pol_doc_release(&doc);
	refused("[sandbox.env]\npassthrough = [\"\"]\n", "passthrough: empty");
}

/* caliban_detect-019 to -021 and -028. */
Test(policy_caliban, contradictions_and_unknown_keys_are_refused)
{
	refused("[sandbox.network]\nhttp_proxy_port = 1\nsocks_proxy_port = 2\n",
		"c:3:20: invalid sandbox config: http_proxy_port and socks_proxy_port are both "
		"set");
	refused("[sandbox.network]\nallowed_domains = [\"x\"]\n",
		"c:2:19: invalid sandbox config: allowed_domains needs");
	refused("[sandbox.network]\ndenied_domains = [\"x\"]\n",
		"invalid sandbox config: denied_domains needs");
	refused("[sandbox]\nbogus_field = 1\n", "c:2:1: unknown field `bogus_field` in [sandbox]");
	refused("[sandbox.filesystem]\nallow_reads = []\n", "did you mean `allow_read`?");
	refused("[sandbox.env]\nscrub = true\n", "unknown field `scrub` in env");
	refused("[sanbox]\nenabled = true\n",
		"missing field `sandbox` in caliban's settings (another kind: --dialect)");
	refused("[sandbox.network]\nhttp_proxy_port = 65536\n", "expected 0 to 65535");
	refused("[sandbox]\nenabled = \"yes\"\n", "enabled is a string, expected a boolean");
	refused("[sandbox.filesystem]\nallow_read = [\"rel\"]\n",
		"expected a rule that begins with /");
	refused("[sandbox.filesystem]\nallow_read = [\"${WORKSPAC}/x\"]\n",
		"unknown variable `${WORKSPAC}`, did you mean `${WORKSPACE}`?");
}

Test(policy_caliban, the_root_is_all_that_may_be_read)
{
	struct pol_doc doc = {0};

	cr_assert_eq(parse("[sandbox]\nenabled = true\nfilesystem.allow_read = [\"/\"]\n", &doc), 0,
		     "%s", err.msg);
	cr_expect_eq(doc.settings.value[POL_SET_reads].v, POL_READS_BROAD);
	pol_doc_release(&doc);
}
