/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of what a profile opens for the system, and of what is closed there all the same. */
#include "sbpl/emit.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "policy/document/settings.h"
#include "sbpl/sbpl.h"

#define C "/Users/u/proj"

static struct pol_ruleset rs;
static struct sbpl_opts opts;
static struct sbpl_profile prof;
static struct sbpl_program *prog;
static struct b_err err;

static void setup(void)
{
	pol_ruleset_init(&rs);
	opts = sbpl_opts_default();
}

static void drop(void)
{
	sbpl_program_free(prog);
	prog = NULL;
	sbpl_profile_release(&prof);
}

static void teardown(void)
{
	drop();
	pol_ruleset_release(&rs);
}

TestSuite(sbpl_groups, .init = setup, .fini = teardown);

static void tree(enum sbx_op op, bool allow, enum pol_tier tier, const char *base)
{
	pol_ruleset_add(&rs, op,
			&(struct pol_rule){.allow = allow,
					   .shape = POL_TREE,
					   .tier = tier,
					   .base = base,
					   .base_len = strlen(base),
					   .matched = base,
					   .origin = "p.yaml:1:1"});
}

static void compile(void)
{
	drop();
	cr_assert_eq(sbpl_compile(&rs, NULL, &opts, &prof, &err), 0, "%s", err.msg);
	cr_assert_eq(sbpl_program_new(&(struct sbpl_source){"p", prof.text, prof.len, prof.params,
							    prof.nparams},
				      &prog, &err),
		     0, "%s", err.msg);
}

static bool allows(const char *op, const char *path)
{
	struct sbpl_question q = {.op = sbpl_op_find(op),
				  .path = path,
				  .len = strlen(path),
				  .vnode = SBPL_V_REGULAR_FILE};

	cr_assert_neq(q.op, SBPL_OP_NONE, "%s", op);
	return sbpl_program_allows(prog, &q, NULL);
}

Test(sbpl_groups, rules_may_take_back_what_groups_open)
{
	tree(SBX_READ, false, POL_TIER_BASE, "");
	tree(SBX_READ, false, POL_TIER_PROFILE, "/usr/local/secret");
	compile();
	cr_expect(allows("file-read-data", "/usr/local/bin/x"));
	cr_expect_not(allows("file-read-data", "/usr/local/secret/x"));
	cr_expect_not(allows("file-read-data", "/Users/u/x"));
	cr_expect(allows("file-write-data", "/dev/null"));
	cr_expect_not(allows("file-write-data", "/usr/local/bin/x"));
}

/* The evaluator asks paths alone: of other filters the last that fits stands last in the text. */
static const char *last_of(const char *text)
{
	const char *found = NULL;

	for (const char *p = prof.text; (p = strstr(p, text)); p++)
		found = p;
	return found;
}

Test(sbpl_groups, other_processes_keep_their_environment)
{
	const char *deny;

	opts.groups = (1u << SBPL_GROUP_COUNT) - 1;
	compile();
	deny = last_of("\n(deny sysctl-read (sysctl-name-prefix \"kern.procargs\")) ;");
	cr_assert(deny);
	cr_expect(last_of("(allow sysctl-read ") < deny);
	deny = last_of("\n(deny process-info*) ;");
	cr_assert(deny);
	cr_expect(last_of("(allow process-info* (target same-sandbox))") > deny);
	cr_expect_not(strstr(prof.text, "(allow process-info*)"));
}

Test(sbpl_groups, releases_get_what_they_have)
{
	tree(SBX_READ, true, POL_TIER_BASE, "");
	opts.groups = 1u << SBPL_GROUP_SSH_AGENT;
	opts.macos = 2600;
	compile();
	cr_expect(strstr(prof.text, "/private/tmp/com") &&
		  !strstr(prof.text, "/private/var/run/com"));
	opts.macos = 2604;
	compile();
	cr_expect(!strstr(prof.text, "/private/tmp/com") &&
		  strstr(prof.text, "/private/var/run/com"));
}

/* Two base rules of Linux close devices that are there under other names on macOS. */
Test(sbpl_groups, devices_stay_open_behind_the_base)
{
	tree(SBX_READ, true, POL_TIER_BASE, "");
	tree(SBX_READ, false, POL_TIER_BASE, "/dev");
	tree(SBX_READ, true, POL_TIER_PROFILE, C);
	pol_ruleset_copy(&rs, SBX_READ, SBX_EXEC);
	compile();
	cr_expect(allows("file-read-data", "/dev/ttys001"));
	cr_expect(allows("file-read-data", "/dev/dtracehelper"));
	cr_expect_not(allows("file-read-data", "/dev/disk0"));
	tree(SBX_READ, false, POL_TIER_PROFILE, "/dev/ttys001");
	compile();
	cr_expect_not(allows("file-read-data", "/dev/ttys001"));
	cr_expect(allows("file-read-data", "/dev/ttys002"));
}

Test(sbpl_groups, what_no_rule_opens_is_said_and_may_be_executed)
{
	tree(SBX_READ, false, POL_TIER_BASE, "");
	tree(SBX_READ, true, POL_TIER_PROFILE, C);
	tree(SBX_READ, true, POL_TIER_PROFILE, "/usr");
	pol_ruleset_copy(&rs, SBX_READ, SBX_EXEC);
	compile();
	cr_expect(allows("process-exec*", "/bin/sh"));
	cr_assert_geq(prof.nnotes, 2);
	cr_expect(strstr(prof.notes[0], ", /bin,") && strstr(prof.notes[0], ", /opt/homebrew,"));
	cr_expect_not(strstr(prof.notes[0], "/usr/lib"), "%s", prof.notes[0]);
	cr_expect(strstr(prof.notes[1], "modify") && strstr(prof.notes[1], "/dev/ttys*"));
}

Test(sbpl_groups, tools_are_no_need_where_rules_list_what_is_read)
{
	opts = sbpl_opts_of(&(struct pol_effect){.reads = POL_READS_LISTED});
	compile();
	cr_expect(allows("file-read-data", "/usr/lib/x"));
	cr_expect_not(allows("file-read-data", "/usr/local/x"));
	opts = sbpl_opts_of(&(struct pol_effect){.reads = POL_READS_SYSTEM});
	compile();
	cr_expect(allows("file-read-data", "/usr/local/x"));
}

Test(sbpl_groups, documents_open_more_unless_others_limit_them)
{
	struct pol_text words[] = {{.s = "keychain"}, {.s = "mach:a.b"}, {.s = "proxy:81"}};
	struct pol_settings doc = {.macos = {.v = words, .n = 3}};

	tree(SBX_READ, true, POL_TIER_BASE, "");
	sbpl_opts_add(&opts, &doc, false);
	compile();
	cr_expect(strstr(prof.text, "com.apple.secd"));
	cr_expect(strstr(prof.text, "(allow mach-lookup (global-name \"a.b\"))"));
	cr_expect(strstr(prof.text, "(allow network-outbound (remote ip \"localhost:81\"))"));
	opts = sbpl_opts_default();
	sbpl_opts_add(&opts, &doc, true);
	compile();
	cr_expect_not(strstr(prof.text, "com.apple.secd") || strstr(prof.text, "a.b"));
	cr_expect(strstr(prof.notes[0], "`macos` of the document"));
}

Test(sbpl_groups, the_network_comes_with_names_and_certificates)
{
	opts = sbpl_opts_of(&(struct pol_effect){.network = POL_NET_HOST});
	compile();
	cr_expect(allows("network-outbound", "/private/var/run/mDNSResponder"));
	cr_expect(strstr(prof.text, "com.apple.trustd.agent"));
	cr_expect_not(strstr(prof.text, "com.apple.SecurityServer"));
	opts = sbpl_opts_of(&(struct pol_effect){.network = POL_NET_NONE});
	compile();
	cr_expect_not(allows("network-outbound", "/private/var/run/mDNSResponder"));
}

Test(sbpl_groups, they_are_not_added_to_a_list_that_has_them)
{
	b_auto_free char *text = NULL;
	tree(SBX_READ, false, POL_TIER_BASE, "");
	tree(SBX_MODIFY, false, POL_TIER_BASE, "");
	compile();
	text = b_strdup(prof.text);
	sbpl_system_rules(&opts, &rs);
	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		for (size_t i = 0; i < rs.op[op].n; i++)
			rs.op[op].v[i].layer = POL_LAYER_MAIN;
	compile();
	cr_expect_str_eq(prof.text, text);
	cr_expect(allows("file-read-data", "/tmp"));
}
