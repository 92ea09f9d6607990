/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of spec.sandbox: policy/front/orbit.c, settings.c, vars.c, roots.c. */
#include "policy/document/settings.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/engine.h"
#include "policy/front/dialect.h"
#include "policy/document/layers.h"
#include "policy/rules/workspace.h"

static struct b_arena arena;
static struct b_err err;
static struct pol_doc doc;

static int parse_into(struct pol_doc *out, const char *sandbox)
{
	const char *text =
		b_arena_printf(&arena,
			       "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n"
			       "  sandbox: %s\n",
			       sandbox);

	return pol_orbit_parse("p", text, strlen(text), out, &err);
}

static void parses(const char *sandbox)
{
	pol_doc_release(&doc);
	cr_assert_eq(parse_into(&doc, sandbox), 0, "%s: %s", sandbox, err.msg);
}

static void refused(const char *sandbox, const char *text)
{
	struct pol_doc none = {0};

	err.msg[0] = '\0';
	cr_expect_eq(parse_into(&none, sandbox), -1, "%s", sandbox);
	cr_expect(strstr(err.msg, text), "%s: %s", sandbox, err.msg);
	cr_expect(strncmp(err.msg, "p:5:", 4) == 0, "%s", err.msg);
	pol_doc_release(&none);
}

Test(policy_settings, every_mistake_is_refused_with_its_place)
{
	refused("{network: loopbak}", "network is `loopbak`, did you mean `loopback`?");
	refused("{network: all}", "network is `all`, expected one of none|loopback|watch|host");
	refused("{network: true}", "network is a boolean, expected a string");
	refused("{reads: 1}", "reads is an integer, expected a string");
	refused("{scratch: \"no\"}", "scratch is a string, expected a boolean");
	refused("{scratch: no}", "scratch is a string, expected a boolean");
	refused("{netwrk: none}", "unknown field `netwrk` in sandbox, did you mean `network`?");
	refused("{strict: true, allowFallback: true}",
		"allowFallback and strict contradict each other");
	refused("{sideRoots: /x}", "sideRoots is a string, expected a list");
	refused("{sideRoots: [x]}", "`x`, expected a rule that begins with /, ~/ or a variable");
	refused("{sideRoots: [\"!/x\"]}", "expected a rule that begins with /");
	refused("{sideRoots: [~user/x]}", "expected a rule that begins with /");
	refused("{sideRoots: [/a/../b]}", "`/a/../b` contains `..`");
	refused("{sideRoots: [\"${HOME}/..\"]}", "contains `..`");
	refused("{sideRoots: [\"${HME}/x\"]}",
		"unknown variable `${HME}`, did you mean `${HOME}`?");
	refused("{sideRoots: [\"${PATH_TO_ALL}\"]}", "unknown variable");
	refused("{sideRoots: [\"${HOME}x\"]}", "expected a rule that begins with /");
	refused("{unixSockets: [run/x]}", "unixSockets: `run/x`, expected a rule");
	refused("{presets: [npn]}", "presets: no `npn`, expected one of those of sbx-policy");
	refused("{providers: [npm]}", "providers: no `npm`, expected one of codex, claude");
	refused("[]", "sandbox is a list, expected a mapping");
}

static struct pol_effect settle(const struct pol_said *said)
{
	const struct pol_said nothing = pol_said_nothing();
	struct pol_effect e;

	cr_assert_eq(
		pol_settings_settle(&doc.settings, NULL, 0, said ? said : &nothing, true, &e, &err),
		0, "%s", err.msg);
	return e;
}

Test(policy_settings, what_nobody_says_has_its_default)
{
	struct pol_effect e;

	parses("{}");
	e = settle(NULL);
	cr_expect(e.reads == POL_READS_BROAD && e.network == POL_NET_NONE &&
		  e.unix_ == POL_UNIX_NONE && e.scratch && !e.cache && !e.lax);
}

Test(policy_settings, the_document_is_heard_and_the_command_line_wins)
{
	struct pol_said said = pol_said_nothing();
	struct pol_effect e;

	parses("{reads: system, network: host, unixSockets: host, scratch: false, cache: true, "
	       "strict: false}");
	e = settle(NULL);
	cr_expect(e.reads == POL_READS_SYSTEM && e.network == POL_NET_HOST &&
		  e.unix_ == POL_UNIX_HOST && !e.scratch && e.cache && e.lax);
	said.v[POL_SET_reads] = POL_READS_BROAD;
	said.v[POL_SET_network] = POL_NET_NONE;
	said.v[POL_SET_unixSockets] = POL_UNIX_NONE;
	said.v[POL_SET_strict] = true;
	e = settle(&said);
	cr_expect(e.reads == POL_READS_BROAD && e.network == POL_NET_NONE &&
		  e.unix_ == POL_UNIX_NONE && !e.lax);
	parses("{allowFallback: true}");
	cr_expect(settle(NULL).lax);
	parses("{allowFallback: false}");
	cr_expect_not(settle(NULL).lax);
}

Test(policy_settings, disabled_is_a_refusal_to_run)
{
	const struct pol_said nothing = pol_said_nothing();
	struct pol_effect e;

	parses("{enabled: false}");
	cr_expect_eq(pol_settings_settle(&doc.settings, NULL, 0, &nothing, true, &e, &err), -1);
	cr_expect(strstr(err.msg, "p:5:22: sandbox.enabled is false"), "%s", err.msg);
}

Test(policy_settings, a_limit_only_tightens)
{
	struct pol_doc limit = {0}, all = {0};
	const struct pol_settings *limits[2] = {&limit.settings, &all.settings};
	const struct pol_said nothing = pol_said_nothing();
	struct pol_effect e;

	parses("{network: loopback, reads: broad, strict: false, unixSockets: host, cache: true}");
	cr_assert_eq(parse_into(&limit, "{network: none, reads: system, strict: true, "
					"unixSockets: none, cache: false, scratch: false}"),
		     0);
	cr_assert_eq(parse_into(&all, "{network: host, reads: broad, strict: false, "
				      "unixSockets: host, cache: true, scratch: true}"),
		     0);
	cr_assert_eq(pol_settings_settle(&doc.settings, limits, 2, &nothing, true, &e, &err), 0);
	cr_expect(e.reads == POL_READS_SYSTEM && e.network == POL_NET_NONE &&
		  e.unix_ == POL_UNIX_NONE && !e.scratch && !e.cache && !e.lax);
	cr_assert(e.forbids_lax);
	cr_expect_eq(e.forbids_lax->line, 5);
	cr_assert_eq(pol_settings_settle(&doc.settings, limits + 1, 1, &nothing, true, &e, &err),
		     0);
	cr_expect(e.network == POL_NET_LOOPBACK && e.lax && e.unix_ == POL_UNIX_HOST);
	pol_doc_release(&limit);
	pol_doc_release(&all);
}

/* ---- rules on absolute paths ---- */

static const char *top, *ws, *home;
static struct pol_request rq;
static struct pol_engine *engine;

static const char *in(const char *dir, const char *name)
{
	return b_arena_printf(&arena, "%s/%s", dir, name);
}

static void run(const char *cmd)
{
	cr_assert_eq(system(cmd), 0, "%s", cmd);
}

static void setup(void)
{
	static char name[] = "/tmp/sbx-test-settings-XXXXXX";

	cr_assert(mkdtemp(name));
	top = pol_canonical(&arena, name);
	ws = in(top, "ws");
	home = in(top, "home");
	cr_assert_eq(mkdir(ws, 0700) | mkdir(home, 0700), 0);
	setenv("HOME", home, 1);
	unsetenv("XDG_CACHE_HOME");
	cr_assert_eq(chdir(ws), 0);
	rq = (struct pol_request){.workspaces = &ws, .nworkspaces = 1};
}

static void teardown(void)
{
	pol_engine_free(engine);
	pol_doc_release(&doc);
	cr_assert_eq(chdir("/"), 0);
	run(b_arena_printf(&arena, "rm -rf '%s'", top));
	b_arena_release(&arena);
}

TestSuite(policy_roots, .init = setup, .fini = teardown);

static void policy(const char *sandbox)
{
	static const char *file[1];
	int fd;

	file[0] = in(top, "p.yaml");
	fd = open(file[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert(fd >= 0);
	dprintf(fd,
		"schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n"
		"  fsProfiles: {p: {read: [\"**\"], modify: [\"**\"]}}\n  sandbox: %s\n",
		sandbox);
	close(fd);
	rq.policies = file;
	rq.npolicies = 1;
	pol_engine_free(engine);
	engine = NULL;
	cr_assert_eq(pol_engine_new(&rq, &engine, &err), 0, "%s", err.msg);
}

static struct pol_answer ask(enum sbx_op op, const char *path)
{
	struct pol_answer a;

	cr_assert_eq(pol_engine_check(engine, op, path, &a, &err), 0, "%s", err.msg);
	return a;
}

static bool noticed(const char *text)
{
	for (size_t i = 0; i < engine->nnotices; i++)
		if (strstr(engine->notices[i], text))
			return true;
	return false;
}

Test(policy_roots, side_roots_are_read_and_changed)
{
	struct pol_answer a;

	policy("{sideRoots: [/srv/out, \"~/notes/*.md\", \"${XDG_CACHE_HOME}/npm\"]}");
	cr_expect(ask(SBX_MODIFY, "/srv/out/x").allowed);
	cr_expect_not(ask(SBX_MODIFY, "/srv/other").allowed);
	cr_expect(ask(SBX_MODIFY, in(home, "notes/a.md")).allowed);
	cr_expect_not(ask(SBX_MODIFY, in(home, "notes/a.txt")).allowed);
	a = ask(SBX_MODIFY, in(home, ".cache/npm/x"));
	cr_expect(a.allowed);
	cr_expect_str_eq(a.matched, "${XDG_CACHE_HOME}/npm/**");
	cr_expect(strstr(a.origin, "p.yaml:6:"), "%s", a.origin);
	setenv("XDG_CACHE_HOME", in(top, "cache"), 1);
	policy("{sideRoots: [\"${XDG_CACHE_HOME}/npm\"]}");
	cr_expect(ask(SBX_MODIFY, in(top, "cache/npm/x")).allowed);
	cr_expect_not(ask(SBX_MODIFY, in(home, ".cache/npm/x")).allowed);
}

Test(policy_roots, what_a_variable_holds_is_no_pattern)
{
	const char *star = in(top, "a*");

	setenv("XDG_CACHE_HOME", star, 1);
	policy("{sideRoots: [\"${XDG_CACHE_HOME}/x\"]}");
	cr_expect(ask(SBX_MODIFY, in(star, "x/y")).allowed);
	cr_expect_not(ask(SBX_MODIFY, in(top, "abc/x/y")).allowed);
	/* everything is no place of its own */
	setenv("XDG_CACHE_HOME", "//", 1);
	policy("{sideRoots: [\"${XDG_CACHE_HOME}\"]}");
	cr_expect_not(ask(SBX_MODIFY, "/etc/x").allowed);
	cr_expect(ask(SBX_MODIFY, in(home, ".cache/x")).allowed);
}

Test(policy_roots, denies_beat_roots_of_the_document_and_a_secret_opened_is_told)
{
	policy("{sideRoots: [\"~\"], denyRead: [\"~/mail\"], denyModify: [\"/**/*.lock\"]}");
	cr_expect_not(ask(SBX_READ, in(home, "mail/x")).allowed);
	cr_expect(ask(SBX_MODIFY, in(home, "mail/x")).allowed);
	cr_expect_not(ask(SBX_MODIFY, in(home, "y.lock")).allowed);
	cr_expect_not(ask(SBX_MODIFY, "y.lock").allowed);
	cr_expect(noticed("re-opens `~/.ssh/**`"));
}

Test(policy_roots, read_roots_open_what_is_not_of_the_system)
{
	policy("{reads: system, readRoots: [\"~/data\"]}");
	cr_expect(ask(SBX_READ, in(home, "data/x")).allowed);
	cr_expect_not(ask(SBX_MODIFY, in(home, "data/x")).allowed);
	cr_expect_not(ask(SBX_READ, in(home, "other")).allowed);
	cr_expect(ask(SBX_READ, "/etc/passwd").allowed);
}

Test(policy_roots, sockets_are_opened_one_by_one)
{
	static struct pol_said said;

	policy("{unixSockets: [/run/x.sock, \"${WORKSPACE}/s\"]}");
	cr_expect(ask(SBX_CONNECT, "/run/x.sock").allowed);
	cr_expect(ask(SBX_CONNECT, "s").allowed);
	cr_expect_not(ask(SBX_CONNECT, "/run/y.sock").allowed);
	said = pol_said_nothing();
	said.v[POL_SET_unixSockets] = POL_UNIX_NONE;
	rq.said = &said;
	policy("{unixSockets: [/run/x.sock]}");
	cr_expect_not(ask(SBX_CONNECT, "/run/x.sock").allowed);
}

Test(policy_roots, planted_links_are_not_followed_and_the_hosts_are)
{
	run("ln -s \"$HOME/mine\" link && mkdir \"$HOME/mine\" && ln -s /etc \"$HOME/cfg\"");
	policy("{sideRoots: [\"${WORKSPACE}/link\", \"~/cfg\", /var/run/x]}");
	cr_expect_not(ask(SBX_MODIFY, in(home, "mine/x")).allowed);
	cr_expect_not(ask(SBX_MODIFY, "/etc/x").allowed);
	cr_expect(noticed("not followed: name the target itself"));
	cr_expect(ask(SBX_MODIFY, "/run/x").allowed ||
		  strcmp(pol_canonical(&arena, "/var/run"), "/run") != 0);
}

Test(policy_roots, git_is_found_for_each_workspace)
{
	static const char *both[2];

	run("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x "
	    "&& git worktree add -q ../wt");
	both[0] = ws;
	both[1] = in(top, "wt");
	rq.workspaces = both;
	rq.nworkspaces = 2;
	policy("{sideRoots: [\"${GIT_COMMON_DIR}/hooks\", \"${GIT_DIR}/mine\"]}");
	cr_expect(ask(SBX_MODIFY, in(ws, ".git/hooks/x")).allowed);
	cr_expect(ask(SBX_MODIFY, in(ws, ".git/worktrees/wt/mine")).allowed);
	cr_expect_not(noticed("has no value here"));
	/* a gitfile without the back-pointer is nobody's */
	run("rm -rf ../fake && mkdir ../fake && cp ../wt/.git ../fake/.git");
	both[1] = in(top, "fake");
	policy("{sideRoots: [\"${GIT_COMMON_DIR}/zzz\"]}");
	cr_expect(noticed("${GIT_COMMON_DIR} has no value here: the rule is left out"));
}

Test(policy_roots, a_later_document_overrides_settings_and_adds_rules)
{
	struct pol_doc a = {0}, b = {0}, both = {0};

	cr_assert_eq(parse_into(&a, "{network: host, strict: false, denyRead: [/a]}"), 0);
	cr_assert_eq(parse_into(&b, "{allowFallback: false, denyRead: [/b]}"), 0);
	cr_assert_eq(pol_doc_merge(&a, &b, &both, &err), 0, "%s", err.msg);
	cr_expect(both.settings.value[POL_SET_network].said);
	cr_expect_not(both.settings.value[POL_SET_strict].said);
	cr_expect(both.settings.value[POL_SET_allowFallback].said);
	cr_expect_eq(both.settings.roots[POL_ROOTS_denyRead].n, 2);
	pol_doc_release(&a);
	pol_doc_release(&b);
	pol_doc_release(&both);
}

Test(policy_roots, a_preset_lies_under_the_document)
{
	static const char *const orbit[] = {"orbit"};

	policy("{presets: [cargo], denyModify: [\"${CARGO_HOME}/git/keep\"]}");
	cr_expect(ask(SBX_MODIFY, in(home, ".cargo/git/x")).allowed);
	cr_expect(strncmp(ask(SBX_MODIFY, in(home, ".cargo/git/x")).origin, "preset:cargo:", 13) ==
		  0);
	cr_expect_not(ask(SBX_MODIFY, in(home, ".cargo/git/keep/x")).allowed);
	cr_expect_not(ask(SBX_MODIFY, in(home, ".cargo/config.toml")).allowed);
	rq.presets = orbit;
	rq.npresets = 1;
	policy("{}");
	cr_expect_not(ask(SBX_READ, "a/.env").allowed);
	cr_expect_not(ask(SBX_MODIFY, ".orbit/x").allowed);
	cr_expect(ask(SBX_MODIFY, ".orbit/resources/x").allowed);
	cr_expect(ask(SBX_MODIFY, ".orbit/tasks/x").allowed, "a side root, behind the denies");
	cr_expect(ask(SBX_MODIFY, ".orbit/state/semantic.db-wal").allowed);
	cr_expect_eq(engine->nnotices, 0);
}

Test(policy_roots, a_profile_of_a_preset_replaces_only_the_built_in)
{
	static const char *const readonly[] = {"readonly"};

	rq.presets = readonly;
	rq.npresets = 1;
	cr_assert_eq(pol_engine_new(&rq, &engine, &err), 0, "%s", err.msg);
	cr_expect_not(ask(SBX_MODIFY, "x").allowed);
	policy("{}");
	cr_expect(ask(SBX_MODIFY, "x").allowed);
}

Test(policy_roots, also_read_takes_a_file_as_it_is_called)
{
	struct pol_cli_rule rule = {
		.op = SBX_READ, .allow = true, .option = "--also-read", .nth = 1, .is_file = true};

	run("mkdir sub ../out && echo x >'../out/a*' && echo y >../out/ab && chmod 700 ../out");
	cr_assert_eq(chdir("sub"), 0);
	rule.text = "../../out/a*";
	rq.rules = &rule;
	rq.nrules = 1;
	policy("{reads: system}");
	cr_expect(ask(SBX_READ, in(top, "out/a*")).allowed);
	cr_expect_not(ask(SBX_READ, in(top, "out/ab")).allowed);
	cr_expect_str_eq(ask(SBX_READ, in(top, "out/a*")).origin, "cli:--also-read:1");
	rule.text = "nowhere";
	pol_engine_free(engine);
	engine = NULL;
	cr_expect_eq(pol_engine_new(&rq, &engine, &err), -1);
	cr_expect(strstr(err.msg, "--also-read: nowhere: No such file"), "%s", err.msg);
}
