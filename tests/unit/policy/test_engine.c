/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/engine.c, sets.c, cli.c: from a request to answers. */
#include "policy/engine.h"

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
#include "policy/rules/workspace.h"

static struct b_arena arena;
static const char *top, *ws, *home;
static struct pol_request rq;
static struct pol_engine *engine;
static struct b_err err;

static const char *in(const char *dir, const char *name)
{
	return b_arena_printf(&arena, "%s/%s", dir, name);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert(fd >= 0, "%s", path);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void setup(void)
{
	static char name[] = "/tmp/sbx-test-engine-XXXXXX";

	cr_assert(mkdtemp(name));
	top = pol_canonical(&arena, name);
	ws = in(top, "ws");
	home = in(top, "home");
	cr_assert_eq(mkdir(ws, 0700) | mkdir(home, 0700), 0);
	setenv("HOME", home, 1);
	cr_assert_eq(chdir(ws), 0);
}

static void teardown(void)
{
	b_auto(b_str_release) struct b_str cmd = {0};

	pol_engine_free(engine);
	cr_assert_eq(chdir("/"), 0);
	b_str_addf(&cmd, "rm -rf '%s'", top);
	cr_assert_eq(system(b_str_c(&cmd)), 0);
	b_arena_release(&arena);
}

TestSuite(policy_engine, .init = setup, .fini = teardown);

static void make(void)
{
	pol_engine_free(engine);
	engine = NULL;
	cr_assert_eq(pol_engine_new(&rq, &engine, &err), 0, "%s", err.msg);
}

static void reads_system(void)
{
	static struct pol_said said;

	said = pol_said_nothing();
	said.v[POL_SET_reads] = POL_READS_SYSTEM;
	rq.said = &said;
}

static void fails(enum b_kind kind, const char *part)
{
	struct pol_engine *none = NULL;

	err = (struct b_err){0};
	cr_expect_eq(pol_engine_new(&rq, &none, &err), -1);
	cr_expect_eq(err.kind, kind, "%s", err.msg);
	cr_expect(strstr(err.msg, part), "%s", err.msg);
	cr_expect_null(none);
}

static struct pol_answer ask(enum sbx_op op, const char *path)
{
	struct pol_answer a;

	cr_assert_eq(pol_engine_check(engine, op, path, &a, &err), 0, "%s", err.msg);
	return a;
}

static bool allows(enum sbx_op op, const char *path)
{
	struct pol_answer a = ask(op, path);

	/* Whatever the answer, it has a reason with an origin. */
	cr_expect(a.matched[0] && a.origin[0], "%s", path);
	return a.allowed;
}

static void policy(const char *spec)
{
	static const char *file[1];

	file[0] = in(top, "p.yaml");
	put(file[0],
	    b_arena_printf(&arena, "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n%s",
			   spec));
	rq.policies = file;
	rq.npolicies = 1;
}

Test(policy_engine, built_in_default_reads_broadly_and_changes_the_workspace)
{
	make();
	cr_expect_str_eq(engine->policy_name, "builtin:default");
	cr_expect_str_eq(engine->rules.profile, "default");
	cr_expect(allows(SBX_READ, "/etc/passwd"));
	cr_expect(allows(SBX_EXEC, "/bin/sh"));
	cr_expect(allows(SBX_MODIFY, "x/y"));
	cr_expect(allows(SBX_MODIFY, in(ws, ".git/config")), "protected is left out");
	cr_expect_not(allows(SBX_MODIFY, in(top, "outside")));
	cr_expect_not(allows(SBX_MODIFY, in(home, "f")));
	cr_expect(allows(SBX_READ, in(home, ".bashrc")));
	cr_expect_not(allows(SBX_CONNECT, "/run/docker.sock"));
	cr_expect_str_eq(ask(SBX_MODIFY, "a").origin, "builtin:default:12:16");
}

Test(policy_engine, secrets_are_neither_read_nor_changed)
{
	static const char *const names[] = {
		".ssh",		".ssh/id_ed25519", ".aws/credentials",
		".netrc",	".gnupg/x",	   ".config/gh/hosts.yml",
		".config/op/x", ".kube/config",	   ".docker/config.json",
		".mozilla/a/b", ".pypirc",	   ".cargo/credentials.toml",
		".azure/x",	".git-credentials"};
	struct pol_answer a;

	make();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		cr_expect_not(allows(SBX_READ, in(home, names[i])), "%s", names[i]);
		cr_expect_not(allows(SBX_EXEC, in(home, names[i])), "%s", names[i]);
		cr_expect_not(allows(SBX_MODIFY, in(home, names[i])), "%s", names[i]);
	}
	cr_expect_not(allows(SBX_READ, "/etc/shadow"));
	cr_expect_not(allows(SBX_READ, "/etc/ssh/ssh_host_ed25519_key"));
	cr_expect(allows(SBX_READ, in(home, ".docker/other")));
	cr_expect(allows(SBX_READ, in(home, ".gitconfig")));
	a = ask(SBX_READ, in(home, ".ssh/x"));
	cr_expect_str_eq(a.matched, "~/.ssh/**");
	cr_expect_str_eq(a.origin, "preset:secrets:13:7");
	cr_assert(a.overrode);
	cr_expect_str_eq(a.overrode->origin, "builtin:base:2");
}

Test(policy_engine, a_secret_that_is_a_link_is_closed_where_it_leads)
{
	cr_assert_eq(mkdir(in(top, "vault"), 0700), 0);
	cr_assert_eq(symlink("../vault", in(home, ".ssh")), 0);
	make();
	cr_expect_not(allows(SBX_READ, in(top, "vault/id")));
	cr_expect_str_eq(ask(SBX_READ, in(home, ".ssh/id")).real, in(top, "vault/id"));
}

Test(policy_engine, links_in_a_secret_directory_are_closed_where_they_lead)
{
	cr_assert_eq(mkdir(in(home, ".ssh"), 0700) | mkdir(in(home, "dots"), 0700) |
			     mkdir(in(home, "keys"), 0700),
		     0);
	put(in(home, "dots/key"), "secret");
	put(in(home, "dots/other"), "no secret");
	cr_assert_eq(symlink("../dots/key", in(home, ".ssh/id_ed25519")) |
			     symlink(in(home, "keys"), in(home, ".ssh/all")) |
			     symlink("id_ed25519", in(home, ".ssh/id")) |
			     symlink("/etc/hostname", in(home, ".ssh/host")) |
			     symlink(ws, in(home, ".ssh/ws")) | symlink(home, in(home, ".ssh/h")),
		     0);
	make();
	cr_expect_not(allows(SBX_READ, in(home, "dots/key")));
	cr_expect_not(allows(SBX_READ, in(home, "keys/deep/key")));
	cr_expect_str_eq(ask(SBX_READ, in(home, "dots/key")).matched, "~/.ssh/**");
	cr_expect(allows(SBX_READ, in(home, "dots/other")));
	cr_expect(allows(SBX_READ, "/etc/hostname"));
	cr_expect(allows(SBX_READ, in(ws, "x")));
	cr_expect_eq(engine->nnotices, 3);
	for (size_t i = 0; i < engine->nnotices; i++)
		cr_expect(strstr(engine->notices[i], ", which stays open"));
}

Test(policy_engine, protected_closes_hooks_and_settings_to_changes_only)
{
	rq.with_protected = true;
	make();
	cr_expect_not(allows(SBX_MODIFY, ".git/hooks/pre-commit"));
	cr_expect_not(allows(SBX_MODIFY, ".git/config"));
	cr_expect_not(allows(SBX_MODIFY, ".mcp.json"));
	cr_expect(allows(SBX_READ, ".git/config"));
	cr_expect(allows(SBX_MODIFY, ".git/index"));
	cr_expect(allows(SBX_MODIFY, "sub/.mcp.json"));
}

Test(policy_engine, a_document_keeps_base_sets_and_command_line)
{
	struct pol_cli_rule cli[] = {{SBX_READ, false, "src/x", "--deny-read", 1, false, false}};

	policy("  fsProfiles:\n    p: {read: [src/**], modify: [src/a]}\n");
	rq.rules = cli;
	rq.nrules = 1;
	make();
	cr_expect(allows(SBX_READ, "src/y"));
	cr_expect_not(allows(SBX_READ, "src/x/deep"));
	cr_expect_not(allows(SBX_READ, "other"));
	cr_expect(allows(SBX_READ, "/etc/passwd"));
	cr_expect_not(allows(SBX_READ, "/etc/shadow"));
	cr_expect_str_eq(ask(SBX_READ, "src/x").origin, "cli:--deny-read:1");
	cr_expect_str_eq(ask(SBX_READ, "src/x").matched, "src/x/**");
	cr_expect_str_eq(ask(SBX_READ, "other").matched, "<no matching rule>");
	cr_expect_null(ask(SBX_READ, "other").rule);
	cr_expect_str_eq(ask(SBX_READ, "src/y").origin, in(top, "p.yaml:6:16"));
}

Test(policy_engine, profiles_are_chosen_by_name_or_by_being_the_only_one)
{
	policy("  fsProfiles: {a: {}, b: {read: [x]}}\n");
	fails(B_PROFILE, "--profile one of a, b");
	rq.profile = "c";
	fails(B_PROFILE, "`a`, `b` or `unrestricted`");
	rq.profile = "unrestricted";
	make();
	cr_expect(allows(SBX_MODIFY, "x"));
	rq.profile = NULL;
	policy("  denyRead: [x]\n");
	fails(B_PROFILE, "no fsProfile");
}

Test(policy_engine, several_policies_merge_in_their_order)
{
	const char *two[2];

	policy("  denyRead: [s]\n  fsProfiles: {p: {read: [a]}, q: {}}\n");
	two[0] = in(top, "first.yaml");
	cr_assert_eq(rename(in(top, "p.yaml"), two[0]), 0);
	policy("  fsProfiles: {p: {read: [\"**\"]}}\n");
	two[1] = in(top, "p.yaml");
	rq.policies = two;
	rq.npolicies = 2;
	rq.profile = "p";
	make();
	cr_expect(allows(SBX_READ, "x"));
	cr_expect_not(allows(SBX_READ, "s"));
	cr_expect(strstr(ask(SBX_READ, "s").origin, "/first.yaml:5:14"));
	cr_expect(strstr(engine->policy_name, "/first.yaml + "));
	rq.profile = "q";
	make();
	cr_expect_not(allows(SBX_READ, "x"));
}

Test(policy_engine, bad_files_are_refused)
{
	const char *none[] = {"./a"};

	rq.policies = none;
	rq.npolicies = 1;
	fails(B_POLICY, "a: No such file");
	policy("  bogus: 1\n");
	fails(B_POLICY, "p.yaml:5:3: unknown field `bogus`");
}

Test(policy_engine, a_name_asked_for_is_taken_byte_by_byte)
{
	policy("  denyRead: [b, d/e]\n  fsProfiles: {p: {read: ['**'], modify: []}}\n");
	make();
	cr_expect_not(allows(SBX_READ, "b"));
	cr_expect_not(allows(SBX_READ, "d/e"));
	cr_expect(allows(SBX_READ, "b "));
	cr_expect(allows(SBX_READ, " b"));
	cr_expect(allows(SBX_READ, "d\\e"));
	cr_expect_str_eq(ask(SBX_READ, "  ").path, "./  ");
	cr_expect_str_eq(ask(SBX_READ, "\\x").path, "./\\x");
}

Test(policy_engine, relative_questions_follow_orbit)
{
	struct pol_answer a;

	make();
	cr_expect_eq(pol_engine_check(engine, SBX_READ, "../x", &a, &err), -1);
	cr_expect_eq(pol_engine_check(engine, SBX_READ, "~/x", &a, &err), -1);
	cr_expect_eq(pol_engine_check(engine, SBX_READ, "", &a, &err), -1);
	cr_expect_eq(err.kind, B_USAGE);
	a = ask(SBX_READ, "./a//b/");
	cr_expect_str_eq(a.path, "./a/b");
	cr_expect_str_eq(a.real, in(ws, "a/b"));
	cr_expect_str_eq(ask(SBX_READ, ".").path, ".");
}

Test(policy_engine, a_link_out_of_the_workspace_is_judged_where_it_leads)
{
	cr_assert_eq(symlink("/etc", in(ws, "etc")) | symlink(top, in(ws, "out")), 0);
	make();
	cr_expect(allows(SBX_READ, "etc/passwd"));
	cr_expect_not(allows(SBX_READ, "etc/shadow"));
	cr_expect_not(allows(SBX_MODIFY, "out/x"));
	cr_expect_str_eq(ask(SBX_MODIFY, "out/x").matched, "<outside workspace>");
}

/* Orbit's check_resolved: rows 001 to 007 by layout; where a link leads out of the workspace the
 * whole ruleset answers. */
Test(policy_engine, links_inside_the_workspace_are_judged_where_they_lead)
{
	struct pol_answer a;

	cr_assert_eq(mkdir(in(ws, "allowed"), 0700) | mkdir(in(ws, "denied"), 0700), 0);
	cr_assert_eq(symlink("../denied", in(ws, "allowed/link")) |
			     symlink("../denied/planted.txt", in(ws, "allowed/dangling")) |
			     symlink(in(top, "planted.txt"), in(ws, "escape")) |
			     symlink("b", in(ws, "a")) | symlink("a", in(ws, "b")),
		     0);
	policy("  denyRead: [denied/**]\n  denyModify: [denied/**]\n"
	       "  fsProfiles:\n    p: {read: [./**], modify: [./**]}\n");
	make();
	a = ask(SBX_READ, "allowed/link/secret.txt");
	cr_expect_not(a.allowed);
	cr_expect_str_eq(a.matched, "denied/**");
	cr_expect_str_eq(a.path, "./denied/secret.txt");
	cr_expect_str_eq(ask(SBX_READ, "allowed/ok.txt").matched, "**");
	cr_expect_not(allows(SBX_MODIFY, "allowed/link/new.txt"));
	a = ask(SBX_MODIFY, "allowed/dangling");
	cr_expect_not(a.allowed);
	cr_expect_str_eq(a.path, "./denied/planted.txt");
	a = ask(SBX_MODIFY, "escape");
	cr_expect_not(a.allowed);
	cr_expect_str_eq(a.matched, "<outside workspace>");
	cr_expect_str_eq(a.path, in(top, "planted.txt"));
	cr_expect_eq(pol_engine_check(engine, SBX_MODIFY, "a", &a, &err), -1);
	cr_expect_eq(err.kind, B_USAGE);
}

static void cli(enum sbx_op op, bool allow, const char *text, const char *option)
{
	static struct pol_cli_rule rule;

	rule = (struct pol_cli_rule){op, allow, text, option, 1, false, false};
	rq.rules = &rule;
	rq.nrules = 1;
}

Test(policy_engine, a_relative_text_is_not_followed_out_of_the_workspace)
{
	static const char *const planted[] = {"planted"};

	cr_assert_eq(mkdir(in(top, "host"), 0700), 0);
	cr_assert_eq(symlink("../host", in(ws, "planted")) | mkdir(in(ws, "real"), 0700) |
			     symlink("real", in(ws, "link")),
		     0);
	cli(SBX_MODIFY, true, "planted", "--modify");
	make();
	cr_expect_not(allows(SBX_MODIFY, in(top, "host/x")));
	cr_assert_eq(engine->nnotices, 1);
	cr_expect(strstr(engine->notices[0], "not followed: name the target itself"), "%s",
		  engine->notices[0]);
	cli(SBX_MODIFY, true, in(ws, "planted"), "--modify");
	make();
	cr_expect_not(allows(SBX_MODIFY, in(top, "host/x")), "nor by an absolute one");
	cli(SBX_MODIFY, true, in(top, "host"), "--modify");
	make();
	cr_expect(allows(SBX_MODIFY, in(top, "host/x")));
	cr_assert_eq(symlink("host", in(top, "users")), 0);
	cli(SBX_MODIFY, true, in(top, "users/x"), "--modify");
	make();
	cr_expect(allows(SBX_MODIFY, in(top, "host/x")), "no run has made this link");
	cli(SBX_MODIFY, false, "link", "--deny-modify");
	make();
	cr_expect_not(allows(SBX_MODIFY, "real/x"));
	rq.nrules = 0;
	rq.workspaces = planted;
	rq.nworkspaces = 1;
	fails(B_WORKSPACE, "an earlier run could have made it: name that itself");
}

Test(policy_engine, a_modify_option_opens_a_tree_for_reading_too)
{
	reads_system();
	cli(SBX_MODIFY, true, in(top, "side/"), "--modify");
	make();
	cr_expect(allows(SBX_MODIFY, in(top, "side/a/b")));
	cr_expect(allows(SBX_READ, in(top, "side/a/b")));
	cr_expect_not(allows(SBX_READ, in(top, "other")));
	cr_expect_str_eq(ask(SBX_READ, in(top, "side")).origin, "cli:--modify:1");
	cr_expect_eq(engine->nnotices, 0);
}

Test(policy_engine, options_take_homes_globs_and_workspace_paths)
{
	cli(SBX_READ, false, "~/notes", "--deny-read");
	make();
	cr_expect_not(allows(SBX_READ, in(home, "notes/x")));
	cr_expect_str_eq(ask(SBX_READ, in(home, "notes/x")).matched, "~/notes/**");
	cli(SBX_READ, false, in(top, "*/x"), "--deny-read");
	make();
	cr_expect_not(allows(SBX_READ, in(top, "any/x")));
	cr_expect(allows(SBX_READ, in(top, "any/y")));
	cli(SBX_READ, false, "**/*.env", "--deny-read");
	make();
	cr_expect_not(allows(SBX_READ, "a/b.env"));
	cr_expect(allows(SBX_READ, in(top, "b.env")));
	cli(SBX_READ, false, "/", "--deny-read");
	make();
	cr_expect_not(allows(SBX_READ, "/usr"));
	cr_expect_not(allows(SBX_READ, "/"));
	cli(SBX_READ, false, "/**", "--deny-read");
	make();
	cr_expect_not(allows(SBX_READ, "/usr/x"));
	cli(SBX_READ, false, ".", "--deny-read");
	make();
	cr_expect_not(allows(SBX_READ, "a"));
}

Test(policy_engine, options_refuse_dotdot_and_nothing)
{
	cli(SBX_READ, true, "../x", "--read");
	fails(B_USAGE, "--read ../x: contains `..`");
	cli(SBX_READ, true, "/a/../x", "--read");
	fails(B_USAGE, "contains `..`");
	cli(SBX_READ, true, "", "--read");
	fails(B_USAGE, "empty");
}

Test(policy_engine, reopening_a_set_rule_is_told_in_one_line)
{
	cli(SBX_READ, true, "~/.ssh/known_hosts", "--read");
	make();
	cr_expect(allows(SBX_READ, in(home, ".ssh/known_hosts")));
	cr_expect_not(allows(SBX_READ, in(home, ".ssh/id")));
	cr_assert_eq(engine->nnotices, 1);
	cr_expect_str_eq(engine->notices[0],
			 "--read ~/.ssh/known_hosts re-opens `~/.ssh/**` for read "
			 "(preset:secrets:13:7)");
	cli(SBX_MODIFY, true, "~", "--modify");
	make();
	cr_assert_eq(engine->nnotices, 3);
	cr_expect(strstr(engine->notices[0], "re-opens `~/.ssh/**` and "), "%s",
		  engine->notices[0]);
	cr_expect(strstr(engine->notices[2], "opens `~/.bashrc`, run or obeyed outside by shells"),
		  "%s", engine->notices[2]);
	cli(SBX_READ, true, "~/.bashrc", "--read");
	make();
	cr_expect_eq(engine->nnotices, 0);
}

Test(policy_engine, our_own_files_are_closed_to_changes_until_an_option_opens_them)
{
	const char *const own[] = {in(ws, "build/sbx-launch"), in(ws, "build/shim.so")};

	rq.own_files = own;
	rq.nown_files = 2;
	make();
	cr_expect_not(allows(SBX_MODIFY, "build/sbx-launch"));
	cr_expect_not(allows(SBX_MODIFY, "build/shim.so"));
	cr_expect(allows(SBX_READ, "build/shim.so"));
	cr_expect(allows(SBX_EXEC, "build/sbx-launch"));
	cr_expect(allows(SBX_MODIFY, "build/other"));
	cli(SBX_MODIFY, true, "build", "--modify");
	make();
	cr_expect(allows(SBX_MODIFY, "build/sbx-launch"));
	cr_expect_eq(engine->nnotices, 1);
}

Test(policy_engine, equal_requests_give_equal_images)
{
	char hash[sizeof engine->hash];

	make();
	memcpy(hash, engine->hash, sizeof hash);
	make();
	cr_expect_str_eq(engine->hash, hash);
	cli(SBX_READ, false, "x", "--deny-read");
	make();
	cr_expect_str_neq(engine->hash, hash);
}

Test(policy_engine, show_names_each_rule_with_tier_and_origin)
{
	b_auto(b_str_release) struct b_str out = {0};

	cr_assert_eq(symlink("real", in(ws, "link")), 0);
	cli(SBX_READ, false, "link", "--deny-read");
	make();
	pol_engine_show(engine, &out);
	cr_expect(strstr(b_str_c(&out), "deny   cli      "), "%s", b_str_c(&out));
	cr_expect(strstr(b_str_c(&out),
			 "/real/**  as link/**  (cli:--deny-read:1, by its real path)"),
		  "%s", b_str_c(&out));
	cr_expect(strstr(b_str_c(&out), "(preset:secrets:13:7)"));
	cr_expect(strstr(b_str_c(&out), "connect: the last rule that matches decides\n  nothing"));
}

Test(policy_engine, a_linked_worktree_may_commit_and_not_touch_hooks)
{
	const char *main_git = in(top, "main/.git"), *own = in(main_git, "worktrees/w");

	cr_assert_eq(system("cd .. && mkdir -p main/.git/worktrees/w && cd main/.git && "
			    "mkdir objects refs && touch HEAD worktrees/w/HEAD"),
		     0);
	put(in(own, "commondir"), "../..\n");
	put(in(own, "gitdir"), b_arena_printf(&arena, "%s/.git\n", ws));
	put(in(ws, ".git"), b_arena_printf(&arena, "gitdir: %s\n", own));
	reads_system();
	make();
	cr_expect(allows(SBX_MODIFY, in(own, "commondir")), "a deny in there needs the broker");
	rq.with_protected = true;
	make();
	cr_expect_not(allows(SBX_MODIFY, in(own, "commondir")));
	cr_expect_not(allows(SBX_MODIFY, in(own, "gitdir")));
	cr_expect_not(allows(SBX_MODIFY, in(own, "config.worktree")));
	cr_expect(allows(SBX_MODIFY, in(own, "index.lock")));
	cr_expect(allows(SBX_MODIFY, in(main_git, "objects/ab/cd")));
	cr_expect(allows(SBX_MODIFY, in(main_git, "refs/heads/x")));
	cr_expect(allows(SBX_MODIFY, in(main_git, "logs/HEAD")));
	cr_expect(allows(SBX_MODIFY, in(main_git, "packed-refs.lock")));
	cr_expect(allows(SBX_READ, in(main_git, "config")));
	cr_expect_not(allows(SBX_MODIFY, in(main_git, "config")));
	cr_expect_not(allows(SBX_MODIFY, in(main_git, "hooks/x")));
	cr_expect_not(allows(SBX_MODIFY, in(main_git, "worktrees/other")));
	cr_expect_not(allows(SBX_MODIFY, in(top, "main/file")));
	cr_expect_eq(ask(SBX_MODIFY, in(own, "HEAD")).rule->tier, POL_TIER_SIDE);
}

Test(policy_engine, a_bare_repository_keeps_its_configuration_and_moves_its_head)
{
	cr_assert_eq(mkdir(in(ws, "objects"), 0700) | mkdir(in(ws, "refs"), 0700) |
			     mkdir(in(ws, "worktrees"), 0700) |
			     mkdir(in(ws, "worktrees/.odd*"), 0700),
		     0);
	reads_system();
	rq.with_protected = true;
	make();
	cr_expect_not(allows(SBX_MODIFY, in(ws, "HEAD")), "no repository without it");
	cr_expect(allows(SBX_MODIFY, in(ws, "config")));
	put(in(ws, "HEAD"), "ref: refs/heads/main\n");
	make();
	cr_expect(allows(SBX_MODIFY, in(ws, "HEAD")));
	cr_expect_not(allows(SBX_MODIFY, in(ws, "config")));
	cr_expect_not(allows(SBX_MODIFY, in(ws, "hooks/pre-push")));
	cr_expect_not(allows(SBX_MODIFY, in(ws, "commondir")));
	cr_expect_not(allows(SBX_MODIFY, in(ws, "worktrees/.odd*/commondir")));
	cr_expect(allows(SBX_MODIFY, in(ws, "worktrees/.oddly/commondir")), "a star is a name");
}

Test(policy_engine, what_gits_configuration_runs_in_the_workspace_is_closed)
{
	cr_assert_eq(mkdir(in(ws, ".git"), 0700), 0);
	put(in(ws, ".git/config"),
	    "# [core] hooksPath = no\n[Core] hookspath = \"tools/hooks\" ; mine\n"
	    "[includeIf \"onbranch:x\"]\n\tpath = ../more.cfg\n[include]\npath=/etc/none\n");
	put(in(ws, "more.cfg"), "[user]\nname = x\n[include]\n\tPath = deep.cfg\n");
	put(in(ws, "deep.cfg"), "[include]\npath = deep.cfg\n[core]\nhooksPath = .husky/_\n");
	reads_system();
	make();
	cr_expect(allows(SBX_MODIFY, in(ws, "tools/hooks/x")), "that set is left out");
	rq.with_protected = true;
	make();
	cr_expect_not(allows(SBX_MODIFY, in(ws, "tools/hooks/x")));
	cr_expect_str_eq(ask(SBX_MODIFY, in(ws, "tools/hooks")).origin, "builtin:git:1");
	cr_expect_not(allows(SBX_MODIFY, in(ws, "more.cfg")));
	cr_expect_not(allows(SBX_MODIFY, in(ws, "deep.cfg")));
	cr_expect_not(allows(SBX_MODIFY, in(ws, ".husky/pre-commit")));
	cr_expect(allows(SBX_MODIFY, in(ws, "tools/x")));
	cr_expect(allows(SBX_MODIFY, in(ws, "no/x")));
	put(in(ws, ".git/config"), "[core]\nhooksPath = .\n[include]\npath\n[broken\n= x\n");
	make();
	cr_expect(allows(SBX_MODIFY, in(ws, "x")), "the workspace is not closed as a whole");
}

Test(policy_engine, every_rule_of_the_tables_says_where_it_comes_from)
{
	rq.with_protected = true;
	make();
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < engine->rules.op[op].n; i++) {
			const struct pol_rule *r = &engine->rules.op[op].v[i];

			cr_expect(r->origin[0] && r->matched[0]);
			cr_expect(r->base_len == 0 || r->base[0] == '/', "%s", r->base);
			cr_expect(r->base_len == 0 || r->base[r->base_len - 1] != '/', "%s",
				  r->base);
			cr_expect_null(strstr(r->base, "//"));
		}
}
