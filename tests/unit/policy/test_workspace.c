/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/rules/workspace.c, canonical.c, home.c and load.c on a real directory. */
#include "policy/rules/workspace.h"

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
#include "policy/document/documents.h"
#include "policy/front/presets.h"

static struct b_arena arena;
static const char *top; /* canonical */
static struct b_err err;

static const char *in(const char *name)
{
	return b_arena_printf(&arena, "%s/%s", top, name);
}

static void put(const char *name, const char *text)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert(fd >= 0, "%s", name);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void dir(const char *name)
{
	cr_assert_eq(mkdir(in(name), 0700), 0, "%s", name);
}

static void setup(void)
{
	static char name[] = "/tmp/sbx-test-workspace-XXXXXX";

	cr_assert(mkdtemp(name));
	top = pol_canonical(&arena, name);
	/* A home that is neither above nor below what the tests use. */
	dir("home");
	setenv("HOME", in("home"), 1);
}

static void teardown(void)
{
	b_auto(b_str_release) struct b_str cmd = {0};

	cr_assert_eq(chdir("/"), 0);
	b_str_addf(&cmd, "rm -rf '%s'", top);
	cr_assert_eq(system(b_str_c(&cmd)), 0);
	b_arena_release(&arena);
}

TestSuite(policy_workspace, .init = setup, .fini = teardown);

Test(policy_workspace, canonical_follows_links_dots_and_what_is_missing)
{
	dir("d");
	dir("d/e");
	cr_assert_eq(symlink("d/e", in("l")) | symlink(in("nowhere"), in("dangling")) |
			     symlink("../l", in("d/up")) | symlink("loop", in("loop")),
		     0);
	cr_expect_str_eq(pol_canonical(&arena, in("l/x/y")), in("d/e/x/y"));
	cr_expect_str_eq(pol_canonical(&arena, in("d/up")), in("d/e"));
	cr_expect_str_eq(pol_canonical(&arena, in("l/..")), in("d"));
	cr_expect_str_eq(pol_canonical(&arena, in("dangling/x")), in("nowhere/x"));
	cr_expect_str_eq(pol_canonical(&arena, in("./d//e/.")), in("d/e"));
	cr_expect_str_eq(pol_canonical(&arena, in("loop/x")), in("loop/x"));
	cr_expect_str_eq(pol_canonical(&arena, "/"), "/");
	cr_expect_str_eq(pol_canonical(&arena, "/../.."), "/");
	cr_expect_str_eq(pol_canonical(&arena, "/proc/self/fd"), "/proc/self/fd");
	cr_expect_str_eq(pol_canonical(&arena, "/dev/fd/3"), "/proc/self/fd/3");
}

Test(policy_workspace, given_is_canonical_and_must_be_a_directory)
{
	const char *ws;

	put("file", "x");
	cr_assert_eq(symlink("home", in("link")), 0);
	cr_expect_eq(pol_workspace_given(&arena, in("link"), &ws, &err), 0);
	cr_expect_str_eq(ws, in("home"));
	cr_expect_eq(pol_workspace_given(&arena, "~", &ws, &err), 0);
	cr_expect_str_eq(ws, in("home"));
	cr_expect_eq(pol_workspace_given(&arena, in("file"), &ws, &err), -1);
	cr_expect_eq(err.kind, B_WORKSPACE);
	cr_expect_eq(pol_workspace_given(&arena, in("none"), &ws, &err), -1);
	cr_expect_eq(pol_workspace_given(&arena, "", &ws, &err), -1);
}

Test(policy_workspace, default_is_the_git_toplevel_else_the_current_directory)
{
	const char *ws;

	dir("p");
	dir("p/sub");
	cr_assert_eq(chdir(in("p/sub")), 0);
	cr_assert_eq(pol_workspace_default(&arena, &ws, &err), 0, "%s", err.msg);
	cr_expect_str_eq(ws, in("p/sub"));
	dir("p/.git");
	cr_assert_eq(pol_workspace_default(&arena, &ws, &err), 0);
	cr_expect_str_eq(ws, in("p/sub"), "an empty .git is no repository");
	put("p/.git/HEAD", "ref: refs/heads/main\n");
	cr_assert_eq(pol_workspace_default(&arena, &ws, &err), 0);
	cr_expect_str_eq(ws, in("p"));
}

Test(policy_workspace, default_refuses_home_what_is_above_it_and_everything)
{
	const char *ws;

	cr_assert_eq(chdir(in("home")), 0);
	cr_expect_eq(pol_workspace_default(&arena, &ws, &err), -1);
	cr_expect_eq(err.kind, B_WORKSPACE);
	cr_expect(strstr(err.msg, "it is your home directory"), "%s", err.msg);
	cr_expect(strstr(err.msg, "--workspace DIR"), "%s", err.msg);
	cr_assert_eq(chdir(top), 0);
	cr_expect_eq(pol_workspace_default(&arena, &ws, &err), -1);
	cr_expect(strstr(err.msg, "your home directory lies below it"), "%s", err.msg);
	cr_assert_eq(chdir("/"), 0);
	cr_expect_eq(pol_workspace_default(&arena, &ws, &err), -1);
	cr_expect(strstr(err.msg, "it is the whole file system"), "%s", err.msg);
}

Test(policy_workspace, default_refuses_what_belongs_to_somebody_else)
{
	const char *ws;

	if (geteuid() != 0) {
		/* /tmp is root's */
		cr_assert_eq(chdir("/usr/share"), 0);
		cr_expect_eq(pol_workspace_default(&arena, &ws, &err), -1);
		cr_expect(strstr(err.msg, "another user owns it"), "%s", err.msg);
		return;
	}
	dir("p");
	dir("p/.git");
	put("p/.git/HEAD", "ref: refs/heads/main\n");
	cr_assert_eq(chown(in("p/.git"), 65534, 65534), 0);
	cr_assert_eq(chdir(in("p")), 0);
	cr_expect_eq(pol_workspace_default(&arena, &ws, &err), -1);
	cr_expect(strstr(err.msg, "another user owns its .git"), "%s", err.msg);
}

static void make_worktree(void)
{
	dir("main");
	dir("main/.git");
	dir("main/.git/objects");
	dir("main/.git/refs");
	put("main/.git/HEAD", "ref: refs/heads/main\n");
	dir("main/.git/worktrees");
	dir("main/.git/worktrees/w");
	put("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
	put("main/.git/worktrees/w/commondir", "../..\n");
	put("main/.git/worktrees/w/gitdir", b_arena_printf(&arena, "%s/w/.git\n", top));
	dir("w");
	put("w/.git", b_arena_printf(&arena, "gitdir: %s/main/.git/worktrees/w\n", top));
}

Test(policy_workspace, a_gitfile_is_read_as_git_reads_it)
{
	static const struct {
		const char *text, *leads; /* NULL: nowhere */
	} rows[] = {
		{"gitdir: ../real", "real"},
		{"gitdir: ../real\r\n\n", "real"},
		{"gitdir: ../real\nb\n", "real\nb"},
		{"gitdir: ../real\rb", "real\rb"},
		{"gitdir: ../real ", "real "},
		{"gitdir: \n", NULL},
		{"gitdir:../real", NULL},
		{"x\ngitdir: ../real", NULL},
	};

	dir("w");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *got;

		put("w/.git", rows[i].text);
		got = pol_git_inside(&arena, in("w"));
		cr_expect(rows[i].leads ? got && !strcmp(got, in(rows[i].leads)) : !got, "%s: %s",
			  rows[i].text, got ? got : "nowhere");
	}
	put("w/file", "gitdir: ../real\nb\n");
	cr_assert_eq(unlink(in("w/.git")) | symlink("file", in("w/.git")), 0);
	cr_expect_str_eq(pol_git_inside(&arena, in("w")), in("real\nb"));
}

Test(policy_workspace, a_linked_worktree_has_two_directories)
{
	const char *dirs[2];
	size_t n;

	make_worktree();
	pol_worktree_dirs(&arena, in("w"), dirs, &n);
	cr_assert_eq(n, 2);
	cr_expect_str_eq(dirs[0], in("main/.git/worktrees/w"));
	cr_expect_str_eq(dirs[1], in("main/.git"));
	pol_worktree_dirs(&arena, in("main"), dirs, &n);
	cr_expect_eq(n, 0);
}

Test(policy_workspace, a_gitfile_without_its_back_pointer_is_not_believed)
{
	const char *dirs[2];
	size_t n;

	make_worktree();
	put("main/.git/worktrees/w/gitdir", "/elsewhere/.git\n");
	pol_worktree_dirs(&arena, in("w"), dirs, &n);
	cr_expect_eq(n, 0);
	put("main/.git/worktrees/w/gitdir", b_arena_printf(&arena, "%s/w/.git\n", top));
	pol_worktree_dirs(&arena, in("w"), dirs, &n);
	cr_expect_eq(n, 2);
	put("main/.git/worktrees/w/commondir", "../../..\n");
	pol_worktree_dirs(&arena, in("w"), dirs, &n);
	cr_expect_eq(n, 0);
}

Test(policy_workspace, what_is_no_repository_has_no_worktrees)
{
	static const char *const parts[] = {"main/.git/HEAD", "main/.git/refs", "main/.git/objects",
					    "main/.git/worktrees/w/HEAD"};
	const char *dirs[2];
	size_t n;

	make_worktree();
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		cr_assert_eq(rename(in(parts[i]), in("aside")), 0);
		pol_worktree_dirs(&arena, in("w"), dirs, &n);
		cr_expect_eq(n, 0, "%s", parts[i]);
		cr_assert_eq(rename(in("aside"), in(parts[i])), 0);
	}
	pol_worktree_dirs(&arena, in("w"), dirs, &n);
	cr_expect_eq(n, 2);
}

Test(policy_workspace, a_repository_without_its_head_leads_no_further_up)
{
	const char *ws;

	dir("p");
	dir("p/.git");
	put("p/.git/HEAD", "ref: refs/heads/main\n");
	dir("p/q");
	dir("p/q/.git");
	dir("p/q/sub");
	cr_assert_eq(chdir(in("p/q/sub")), 0);
	cr_assert_eq(pol_workspace_default(&arena, &ws, &err), 0, "%s", err.msg);
	cr_expect_str_eq(ws, in("p/q/sub"));
}

Test(policy_workspace, projects_around_it_are_found_below_the_home)
{
	const char *above[POL_ABOVE_MAX];

	dir("home/.git");
	dir("home/a");
	dir("home/a/.git");
	dir("home/a/b");
	dir("home/a/b/c");
	put("home/a/b/c/.sbx-launch.yaml", "");
	dir("home/a/b/c/d");
	cr_assert_eq(pol_workspace_above(&arena, in("home/a/b/c/d"), above), 2);
	cr_expect_str_eq(above[0], in("home/a/b/c"));
	cr_expect_str_eq(above[1], in("home/a"));
	cr_assert_eq(chmod(in("home/a"), 0777), 0);
	cr_expect_eq(pol_workspace_above(&arena, in("home/a/b/c/d"), above), 1,
		     "where everybody can make a .git");
}

Test(policy_workspace, a_git_directory_is_found_where_the_workspace_says)
{
	dir("w");
	cr_expect_null(pol_git_inside(&arena, in("w")));
	put("w/.git", "gitdir: ./.bare\n");
	cr_expect_str_eq(pol_git_inside(&arena, in("w")), in("w/.bare"));
	put("w/.git", "gitdir ./.bare\n");
	cr_expect_null(pol_git_inside(&arena, in("w")));
	put("w/HEAD", "ref: refs/heads/main\n");
	dir("w/objects");
	cr_expect_null(pol_git_inside(&arena, in("w")));
	dir("w/refs");
	cr_expect_str_eq(pol_git_inside(&arena, in("w")), in("w"));
	cr_assert_eq(unlink(in("w/.git")), 0);
	dir("w/.git");
	put("w/.git/HEAD", "ref: refs/heads/main\n");
	cr_expect_null(pol_git_inside(&arena, in("w")));
}

Test(policy_workspace, homes_are_canonical_and_named_once)
{
	const char **homes;
	size_t n;

	cr_assert_eq(symlink("home", in("hl")), 0);
	setenv("HOME", b_arena_printf(&arena, "%s/hl/", top), 1);
	cr_expect_str_eq(pol_home(&arena), in("home"));
	homes = pol_homes(&arena, &n);
	cr_assert_geq(n, 1);
	cr_expect_str_eq(homes[0], in("home"));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			cr_expect_str_neq(homes[i], homes[k]);
	unsetenv("HOME");
	cr_expect(pol_home(&arena), "passwd knows");
}

Test(policy_workspace, a_home_without_hidden_entries_holds_no_secrets)
{
	dir("daemon");
	put("daemon/data", "x");
	cr_expect_not(pol_home_may_hold_secrets(in("daemon")));
	cr_expect_not(pol_home_may_hold_secrets(in("none")));
	put("daemon/.pgpass", "x");
	cr_expect(pol_home_may_hold_secrets(in("daemon")));
	dir("other");
	dir("other/snap");
	cr_expect(pol_home_may_hold_secrets(in("other")));
}

/* What pol_home_may_hold_secrets() looks for. */
Test(policy_workspace, secrets_of_a_home_are_hidden_or_in_snap)
{
	const struct pol_ynode *root = pol_preset_root(pol_preset_find("secrets")), *section;

	section = pol_yaml_get(pol_yaml_get(root, "spec"), "home");
	cr_assert(section && section->n > 20);
	for (size_t i = 0; i < section->n; i++)
		cr_expect(section->v[i]->s[0] == '.' || !strncmp(section->v[i]->s, "snap/", 5),
			  "%s", section->v[i]->s);
}

static const char *read_error(const char *name)
{
	b_auto(b_str_release) struct b_str text = {0};

	err = (struct b_err){0};
	return pol_policy_read(in(name), &text, &err) < 0 ? err.msg : b_str_c(&text)[0] ? "" : "-";
}

Test(policy_workspace, policy_files_are_plain_files_of_ours)
{
	struct b_str text = {0};

	put("p", "hello");
	cr_expect_eq(pol_policy_read(in("p"), &text, &err), 0);
	cr_expect_str_eq(b_str_c(&text), "hello");
	b_str_release(&text);
	cr_expect_eq(chmod(in("p"), 0620), 0);
	cr_expect(strstr(read_error("p"), "chmod go-w"), "%s", err.msg);
	cr_expect_eq(chmod(in("p"), 0602), 0);
	cr_expect(strstr(read_error("p"), "writable by others"), "%s", err.msg);
	cr_expect_eq(err.kind, B_POLICY);
	dir("d");
	cr_expect(strstr(read_error("d"), "a directory"), "%s", err.msg);
	cr_assert_eq(mkfifo(in("f"), 0600), 0);
	cr_expect(strstr(read_error("f"), "not a regular file"), "%s", err.msg);
	cr_expect(strstr(read_error("none"), "No such file"), "%s", err.msg);
	put("big", "x");
	cr_assert_eq(truncate(in("big"), (4 << 20) + 1), 0);
	cr_expect(strstr(read_error("big"), "larger than"), "%s", err.msg);
	if (geteuid() != 0)
		return;
	cr_expect_eq(chmod(in("p"), 0644), 0);
	cr_expect_eq(chown(in("p"), 65534, 65534), 0);
	cr_expect(strstr(read_error("p"), "owned by uid 65534"), "%s", err.msg);
}
