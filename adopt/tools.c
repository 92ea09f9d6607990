/* SPDX-License-Identifier: Apache-2.0 */
/* tools.c - see tools.h. */
#include "adopt/tools.h"

#include <string.h>

#include "adopt/block.h"
#include "adopt/hook.h"
#include "base/err.h"
#include "base/json.h"
#include "base/opt.h"

static const char written[] =
	"#!/bin/sh\n# Written by `sbx-launch --setup`; `--undo` removes it.\n";

/* Refuses a word that one of these files would need quotes for. */
static int check_plain(const char *word, const char *where, struct b_err *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./:,@+=~*?";

	if (*word && !word[strspn(word, plain)])
		return 0;
	return b_fail(err, B_USAGE, 0, "%s cannot express `%s`: put it into a policy (-p FILE)",
		      where, word);
}

static bool has_options(const struct ad_tool_words *w)
{
	return w->launcher->n > 1;
}

static int add_plain_options(const struct ad_tool_words *w, const char *where, struct b_str *out,
			     struct b_err *err)
{
	for (size_t i = 1; i < w->launcher->n; i++) {
		if (check_plain(w->launcher->v[i], where, err) < 0)
			return -1;
		b_str_addf(out, "%s ", w->launcher->v[i]);
	}
	return 0;
}

static void add_quoted_words(const struct ad_tool_words *w, struct b_str *out)
{
	for (size_t i = 0; i < w->launcher->n; i++) {
		ad_quote(out, w->launcher->v[i]);
		b_str_addc(out, ' ');
	}
}

/* ---- npm: the path of a shell ---- */

static const char *const npm_helpers[] = {"npm-shell", NULL};

static bool npm_needs_helper(const struct ad_tool_words *w)
{
	return has_options(w) || !w->shell;
}

static void add_npm_helper(const struct ad_tool_words *w, struct b_str *out)
{
	b_str_addf(out, "%sexec ", written);
	add_quoted_words(w, out);
	b_str_add(out, "-- /bin/sh \"$@\"\n");
}

static int add_npm_lines(const struct ad_tool_words *w, const char *text, struct b_str *out,
			 struct b_err *err)
{
	(void)text;
	if (!npm_needs_helper(w)) {
		b_str_addf(out, "script-shell=%s\n", w->shell);
		return check_plain(w->shell, ".npmrc", err);
	}
	b_str_addf(out, "script-shell=%s/%s\n", w->helper, *npm_helpers);
	return check_plain(w->helper, ".npmrc", err);
}

/* ---- make: a shell, or a prefix before the one that the makefile asks for ---- */

static bool is_sh(const char *shell, size_t n)
{
	static const char *const names[] = {"/bin/sh", "sh", "/usr/bin/sh"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == n && memcmp(names[i], shell, n) == 0)
			return true;
	return n == 0;
}

static int add_make_lines(const struct ad_tool_words *w, const char *text, struct b_str *out,
			  struct b_err *err)
{
	size_t nshell, nflags;
	const char *shell = ad_block_value(text, "SHELL", true, &nshell);
	const char *flags = ad_block_value(text, ".SHELLFLAGS", true, &nflags);

	if ((shell && memchr(shell, '$', nshell)) || (flags && memchr(flags, '$', nflags)))
		return b_fail(
			err, B_USAGE, 0,
			"the makefile computes its SHELL: run make itself inside: sbx-launch make");
	if (is_sh(shell, nshell) && !flags && w->shell && !has_options(w)) {
		b_str_addf(out, "override SHELL := %s\n", w->shell);
		return check_plain(w->shell, "a makefile", err);
	}
	b_str_addf(out, "override SHELL := %s\noverride .SHELLFLAGS := ", w->launcher->v[0]);
	if (check_plain(w->launcher->v[0], "a makefile", err) < 0 ||
	    add_plain_options(w, "a makefile", out, err) < 0)
		return -1;
	b_str_addf(out, "-- %.*s %.*s\n", nshell ? (int)nshell : 7, nshell ? shell : "/bin/sh",
		   nflags ? (int)nflags : 2, nflags ? flags : "-c");
	return 0;
}

/* ---- git: hooks in front of the repository's ---- */

/* githooks(5). One that is not here would never run. */
static const char *const git_hooks[] = {"applypatch-msg",
					"pre-applypatch",
					"post-applypatch",
					"pre-commit",
					"pre-merge-commit",
					"prepare-commit-msg",
					"commit-msg",
					"post-commit",
					"pre-rebase",
					"post-checkout",
					"post-merge",
					"pre-push",
					"pre-receive",
					"update",
					"proc-receive",
					"post-receive",
					"post-update",
					"reference-transaction",
					"push-to-checkout",
					"pre-auto-gc",
					"post-rewrite",
					"sendemail-validate",
					"fsmonitor-watchman",
					"p4-changelist",
					"p4-prepare-changelist",
					"p4-post-changelist",
					"p4-pre-submit",
					"post-index-change",
					NULL};

static bool always(const struct ad_tool_words *w)
{
	(void)w;
	return true;
}

/* git asks for some of them at each change of a reference: where a `.git` lies here, nobody has to
 * be asked for it. */
static void add_git_helper(const struct ad_tool_words *w, struct b_str *out)
{
	b_str_addf(out,
		   "%s# The repository's own hook of this name, under sbx-launch.\n"
		   "dir=.git\n"
		   "[ -z \"${GIT_DIR-}\" ] && [ -d .git ] || dir=$(git rev-parse --git-common-dir) "
		   "|| exit 1\n"
		   "hook=$dir/hooks/${0##*/}\n"
		   "[ -x \"$hook\" ] || exit 0\n"
		   "exec ",
		   written);
	add_quoted_words(w, out);
	b_str_add(out, "-- \"$hook\" \"$@\"\n");
}

static int add_git_lines(const struct ad_tool_words *w, const char *text, struct b_str *out,
			 struct b_err *err)
{
	(void)text;
	b_str_addf(out, "[core]\n\thooksPath = %s\n", w->helper);
	return check_plain(w->helper, "git's configuration", err);
}

/* ---- cargo: what it runs ---- */

static int add_cargo_lines(const struct ad_tool_words *w, const char *text, struct b_str *out,
			   struct b_err *err)
{
	struct b_json j = {.out = out};

	(void)text;
	(void)err;
	b_str_add(out, "[target.'cfg(all())']\nrunner = ");
	b_json_open(&j, '[');
	for (size_t i = 0; i < w->launcher->n; i++)
		b_json_str(&j, w->launcher->v[i]);
	b_json_str(&j, "--");
	b_json_close(&j, ']');
	b_str_addc(out, '\n');
	return 0;
}

/* ---- GitHub Actions: what a step's lines are given to ---- */

static int add_github_lines(const struct ad_tool_words *w, const char *text, struct b_str *out,
			    struct b_err *err)
{
	/* that of a job is further in, and counts more for the job */
	if (strncmp(text, "defaults:", 9) == 0 || strstr(text, "\ndefaults:"))
		return b_fail(err, B_USAGE, 0, "it already has `defaults:`: add the shell there");
	b_str_add(out, "defaults:\n  run:\n    shell: sbx-launch --preset=github ");
	if (add_plain_options(w, "a workflow", out, err) < 0)
		return -1;
	b_str_add(out, "-- bash --noprofile --norc -eo pipefail {0}\n");
	return 0;
}

const struct ad_tool ad_tools[] = {
	{.name = "npm",
	 .variable = "npm_config_userconfig",
	 .user = {".npmrc"},
	 .project = {".npmrc"},
	 .taken = "script-shell",
	 .needs_helper = npm_needs_helper,
	 .helpers = npm_helpers,
	 .add_helper = add_npm_helper,
	 .add_lines = add_npm_lines,
	 .note = "the .npmrc of a project overrides this; for a project that you do not trust, run "
		 "npm itself inside: sbx-launch --preset npm -- npm ci"},
	{.name = "make",
	 .project = {"GNUmakefile", "makefile", "Makefile"},
	 .must_be = true,
	 .is_top = true,
	 .add_lines = add_make_lines,
	 .note = "a command can change the makefile that the next make reads; for commands that "
		 "you do not trust, run make itself inside: sbx-launch make"},
	{.name = "git",
	 .variable = "GIT_CONFIG_GLOBAL",
	 .user = {".gitconfig", ".config/git/config"},
	 .project = {".git/config"},
	 .must_be = true,
	 .taken = "hookspath",
	 .needs_helper = always,
	 .helpers = git_hooks,
	 .add_helper = add_git_helper,
	 .add_lines = add_git_lines,
	 .note = "a repository that sets core.hooksPath itself (as husky does) does not use these "
		 "hooks"},
	{.name = "cargo",
	 .variable_dir = "CARGO_HOME",
	 .below_dir = "config.toml",
	 .user = {".cargo/config.toml"},
	 .project = {".cargo/config.toml"},
	 .taken = "runner",
	 .add_lines = add_cargo_lines,
	 .note = "this covers what cargo run and cargo test start; for build scripts, run the "
		 "build itself inside: sbx-launch --preset cargo -- cargo build"},
	{.name = "github",
	 .project = {".github/workflows"},
	 .is_many = true,
	 .must_be = true,
	 .add_lines = add_github_lines,
	 .kept = "shell",
	 .note = "a job needs sbx-launch installed before its first `run:`, by a step that says "
		 "`shell: bash`"},
};
const size_t ad_ntools = sizeof ad_tools / sizeof *ad_tools;

const struct ad_tool *ad_tool_find(const char *name)
{
	for (size_t i = 0; i < ad_ntools; i++)
		if (strcmp(ad_tools[i].name, name) == 0)
			return &ad_tools[i];
	return NULL;
}
