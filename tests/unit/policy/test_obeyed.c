/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/rules/obeyed.c: no preset opens what outsiders run or obey, and what the
 * user opens is named. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "policy/engine.h"
#include "policy/front/presets.h"
#include "policy/rules/workspace.h"

static struct b_arena arena;
static const char *home, *ws;
static struct pol_engine *engine;
static struct b_err err;
static struct pol_cli_rule rules[1024];
static size_t nrules;

static const char *in(const char *dir, const char *name)
{
	return b_arena_printf(&arena, "%s/%s", dir, name);
}

static void setup(void)
{
	static char name[] = "/tmp/sbx-obeyed-XXXXXX";

	cr_assert(mkdtemp(name));
	home = pol_canonical(&arena, name);
	ws = in(home, "src/ws");
	mkdir(in(home, "src"), 0700);
	mkdir(ws, 0700);
	setenv("HOME", home, 1);
	unsetenv("CLAUDE_CONFIG_DIR");
	unsetenv("CODEX_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("GEMINI_CLI_HOME");
	nrules = 0;
}

static void teardown(void)
{
	pol_engine_free(engine);
	engine = NULL;
	if (system(b_arena_printf(&arena, "rm -rf '%s'", home)) != 0)
		cr_log_warn("%s is left", home);
	b_arena_release(&arena);
}

TestSuite(policy_obeyed, .init = setup, .fini = teardown);

static void make_at(const char *workspace, const char *preset)
{
	const struct pol_request rq = {.workspaces = &workspace,
				       .nworkspaces = 1,
				       .presets = &preset,
				       .npresets = preset != NULL,
				       .rules = rules,
				       .nrules = nrules,
				       .managed = "/nonexistent",
				       .with_protected = true};

	pol_engine_free(engine);
	engine = NULL;
	cr_assert_eq(pol_engine_new(&rq, &engine, &err), 0, "%s", err.msg);
}

static void modify(const char *text)
{
	rules[nrules] = (struct pol_cli_rule){.op = SBX_MODIFY,
					      .allow = true,
					      .text = text,
					      .option = "--modify",
					      .nth = (unsigned)nrules + 1};
	nrules++;
}

static bool may(const char *path)
{
	struct pol_answer a;

	cr_assert_eq(pol_engine_check(engine, SBX_MODIFY, path, &a, &err), 0, "%s", err.msg);
	return a.allowed;
}

static bool noticed(const char *text)
{
	for (size_t i = 0; i < engine->nnotices; i++)
		if (strstr(engine->notices[i], text))
			return true;
	return false;
}

static const struct pol_ynode *rows(void)
{
	return pol_yaml_get(pol_yaml_get(pol_preset_root(pol_preset_find("protected")), "spec"),
			    "reached");
}

/* A path that the row means: names for its wildcards, something below a tree. */
static const char *sample(const char *text)
{
	char *s = b_arena_strndup(&arena, text, strlen(text)), *star;
	size_t n = strlen(s);
	bool below = n > 3 && strcmp(s + n - 3, "/**") == 0;

	if (below)
		s[n - 3] = '\0';
	while ((star = strchr(s, '*')))
		*star = '3';
	return in(home, below ? b_arena_printf(&arena, "%s/x", s) : s);
}

static bool is_policy(const struct pol_preset *p)
{
	const struct pol_ynode *kind = pol_yaml_get(pol_preset_root(p), "kind");

	return kind && kind->s && strcmp(kind->s, "Policy") == 0;
}

Test(policy_obeyed, each_row_says_who_obeys_why_and_what)
{
	size_t n = 0;

	for (size_t i = 0; i < rows()->n; i++) {
		const struct pol_ynode *row = rows()->v[i], *on = pol_yaml_get(row, "on");

		cr_expect(pol_yaml_get(row, "by") && pol_yaml_get(row, "why"), "%u", row->pos.line);
		cr_expect(!on || strcmp(on->s, "linux") == 0 || strcmp(on->s, "macos") == 0);
		cr_assert(pol_yaml_get(row, "paths"), "%u", row->pos.line);
		n += pol_yaml_get(row, "paths")->n;
	}
	cr_expect_gt(n, 300);
}

Test(policy_obeyed, no_preset_opens_a_row)
{
	size_t policies = 0;

	for (unsigned p = 0; p < pol_presets_n; p++) {
		if (!is_policy(&pol_presets[p]))
			continue;
		policies++;
		make_at(ws, pol_presets[p].name);
		for (size_t i = 0; i < rows()->n; i++) {
			const struct pol_ynode *paths = pol_yaml_get(rows()->v[i], "paths"),
					       *on = pol_yaml_get(rows()->v[i], "on");

			for (size_t k = 0; k < paths->n && !(on && strcmp(on->s, "macos") == 0);
			     k++)
				cr_expect_not(may(sample(paths->v[k]->s)), "%s: %s",
					      pol_presets[p].name, paths->v[k]->s);
		}
	}
	cr_expect_gt(policies, 12);
}

Test(policy_obeyed, agents_keep_what_outlives_a_run)
{
	make_at(ws, "claude");
	cr_expect(may(in(home, ".claude/projects/p/s.jsonl")));
	cr_expect(may(in(home, ".claude/.credentials.json")));
	cr_expect_not(may(in(home, ".claude/projects/p/memory/MEMORY.md")));
	cr_expect_not(may(in(home, ".claude/whatever.comes")));
	make_at(ws, "codex");
	cr_expect(may(in(home, ".codex/sessions/2026/s.jsonl")));
	cr_expect_not(may(in(home, ".codex/packages/standalone/current")));
	make_at(ws, "gemini");
	cr_expect(may(in(home, ".gemini/tmp/p/chats/s.json")));
	cr_expect_not(may(in(home, ".gemini/tmp/bin/rg")));
}

Test(policy_obeyed, a_variable_moves_the_rows_with_it)
{
	setenv("CLAUDE_CONFIG_DIR", in(home, "cc"), 1);
	make_at(ws, "claude");
	cr_expect(may(in(home, "cc/projects/p/s.jsonl")));
	cr_expect_not(may(in(home, "cc/projects/p/memory/MEMORY.md")));
	modify("~/cc");
	make_at(ws, NULL);
	cr_expect(noticed("`${CLAUDE_CONFIG_DIR}/.claude.json`"));
}

Test(policy_obeyed, a_home_as_workspace_keeps_its_rows)
{
	make_at(home, NULL);
	cr_expect(may(in(home, "notes.txt")));
	for (size_t i = 0; i < rows()->n; i++) {
		const struct pol_ynode *paths = pol_yaml_get(rows()->v[i], "paths"),
				       *on = pol_yaml_get(rows()->v[i], "on");

		for (size_t k = 0; k < paths->n && !(on && strcmp(on->s, "macos") == 0); k++)
			cr_expect_not(may(sample(paths->v[k]->s)), "%s", paths->v[k]->s);
	}
	cr_expect_eq(engine->nopened, 0);
}

/* An editor's settings may be what is worked on; that much is said. */
Test(policy_obeyed, a_workspace_in_a_row_is_open_and_said)
{
	const char *dir = in(home, ".config/nvim");

	mkdir(in(home, ".config"), 0700);
	mkdir(dir, 0700);
	make_at(dir, NULL);
	cr_expect(may(in(dir, "init.lua")));
	cr_expect_eq(engine->nopened, 1);
	cr_expect(noticed("opens `~/.config/nvim/**`, run or obeyed outside by vim"));
}

Test(policy_obeyed, what_the_user_opens_stays_open_and_is_named)
{
	modify("~/.claude");
	make_at(ws, NULL);
	cr_expect(may(in(home, ".claude/settings.json")));
	cr_assert_eq(engine->nopened, 1);
	cr_expect_str_eq(engine->opened[0].origin, "cli:--modify:1");
	cr_expect(strstr(engine->opened[0].text,
			 "run or obeyed outside by claude (preset:protected:"),
		  "%s", engine->opened[0].text);
	cr_expect(noticed("--modify `~/.claude/**` opens `~/.claude/.claude.json`"));
	nrules = 0;
	modify("~/.cache/thing");
	make_at(ws, NULL);
	cr_expect_eq(engine->nopened, 0);
}

Test(policy_obeyed, what_the_environment_names_stays_open_and_is_named)
{
	static const char *const names[] = {"PATH",
					    "ZDOTDIR",
					    "BASH_ENV",
					    "ENV",
					    "GIT_CONFIG_GLOBAL",
					    "GIT_CONFIG_SYSTEM",
					    "PYTHONPATH",
					    "NODE_PATH",
					    "PERL5LIB",
					    "LD_LIBRARY_PATH",
					    "PYTHONSTARTUP",
					    "XDG_CONFIG_DIRS",
					    "VIRTUAL_ENV",
					    "RUBYLIB"};
	const char *path = b_strdup(getenv("PATH")), *places;

	mkdir(in(home, "real"), 0700);
	cr_assert_eq(symlink("real", in(home, "opt")), 0);
	places = b_arena_printf(&arena, "%s/build::%s/opt/tools", ws, home);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		nrules = 0;
		modify("~/real");
		setenv(names[i], places, 1);
		make_at(ws, NULL);
		cr_expect(may(in(home, "real/tools/x")), "%s", names[i]);
		cr_assert_eq(engine->nopened, 1, "%s", names[i]);
		cr_expect(strstr(engine->opened[0].text, in(home, "real/tools")) &&
				  strstr(engine->opened[0].text,
					 b_arena_printf(&arena, "($%s)", names[i])),
			  "%s", engine->opened[0].text);
		nrules = 0;
		modify("build");
		modify("~/.cache/thing");
		make_at(ws, NULL);
		cr_expect_eq(engine->nopened, 0, "%s", names[i]);
		if (i)
			unsetenv(names[i]);
		else
			setenv("PATH", path, 1);
	}
}

/* Each literal row of a home, one by one: opened by a link to it, and as a link into what is
 * opened. Every third for speed. */
Test(policy_obeyed, links_count_both_ways)
{
	size_t n = 0, at = 0;

	mkdir(in(home, "dot"), 0700);
	for (size_t i = 0; i < rows()->n; i++) {
		const struct pol_ynode *paths = pol_yaml_get(rows()->v[i], "paths"),
				       *on = pol_yaml_get(rows()->v[i], "on");

		for (size_t k = 0; k < paths->n && !(on && strcmp(on->s, "macos") == 0); k++) {
			const char *text = paths->v[k]->s;
			size_t len = strcspn(text, "/*");
			const char *name = b_arena_strndup(&arena, text, len), *rest = text + len;

			if (text[len] == '*' || at++ % 3)
				continue;
			cr_assert_eq(symlink(in(home, name), in(home, "lnk")), 0);
			nrules = 0;
			modify("~/lnk");
			make_at(ws, NULL);
			cr_expect_eq(engine->nopened, 1, "%s", text);
			unlink(in(home, "lnk"));
			cr_assert_eq(symlink("dot/x", in(home, name)), 0);
			rules[0].text = "~/dot";
			make_at(ws, NULL);
			cr_assert_eq(engine->nopened, 1, "%s", text);
			cr_expect(strstr(engine->opened[0].text, name), "%s",
				  engine->opened[0].text);
			nrules = 0;
			make_at(in(home, "dot"), NULL);
			cr_expect_eq(engine->nopened, 0, "%s", text);
			cr_expect(may(in(home, "dot/y")));
			cr_expect_not(may(sample(b_arena_printf(&arena, "dot/x%s", rest))), "%s",
				      text);
			unlink(in(home, name));
			n++;
		}
	}
	cr_expect_gt(n, 100);
}

static void repository(const char *dir)
{
	mkdir(dir, 0700);
	mkdir(in(dir, "objects"), 0700);
	fclose(fopen(in(dir, "HEAD"), "we"));
}

static void closed_in(const char *dir)
{
	static const char *const names[] = {"hooks/pre-commit", "config", "config.worktree",
					    "commondir",	"gitdir", "info/attributes"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_expect_not(may(in(dir, names[i])), "%s/%s", dir, names[i]);
	cr_expect(may(in(dir, "index")));
	cr_expect(may(in(dir, "objects/ab/cd")));
}

Test(policy_obeyed, a_git_directory_that_the_user_opens_keeps_what_git_runs)
{
	const char *repo = in(home, "src/other"), *git = in(repo, ".git");

	mkdir(repo, 0700);
	repository(git);
	modify(git);
	make_at(ws, NULL);
	closed_in(git);
	cr_expect_eq(engine->nopened, 0);
	rules[0].text = repo;
	make_at(ws, NULL);
	closed_in(git);
	rules[0].text = in(home, "src");
	make_at(ws, NULL);
	closed_in(git);
	rules[0].text = git;
	modify(in(git, "hooks"));
	make_at(ws, NULL);
	cr_expect(may(in(git, "hooks/pre-commit")));
	cr_expect_not(may(in(git, "config")));
	cr_expect(noticed("/hooks/**`, run or obeyed outside by git"));
}

/* Each row of the system, opened by its own path and by the directory around it. */
Test(policy_obeyed, what_the_system_runs_is_named)
{
	const struct pol_ynode *list =
		pol_yaml_get(pol_yaml_get(pol_preset_root(pol_preset_find("protected")), "spec"),
			     "reachedSystem");
	size_t n = 0;

	cr_assert(list);
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_ynode *paths = pol_yaml_get(list->v[i], "paths");

		if (strcmp(pol_yaml_get(list->v[i], "on")->s, "linux") != 0)
			continue;
		for (size_t k = 0; k < paths->n; k += 5, n++) {
			char *path = b_arena_strndup(&arena, paths->v[k]->s,
						     strcspn(paths->v[k]->s, "*"));
			size_t len = strlen(path);

			nrules = 0;
			modify(path);
			make_at(ws, NULL);
			cr_expect_eq(engine->nopened, 1, "%s", path);
			if (path[len - 1] == '/')
				path[len - 1] = '\0';
			*strrchr(path, '/') = '\0';
			nrules = 0;
			modify(*path ? path : "/");
			make_at(ws, NULL);
			cr_expect_eq(engine->nopened, 1, "above: %s", paths->v[k]->s);
		}
	}
	cr_expect_gt(n, 20);
	nrules = 0;
	modify("/usr/share/doc");
	modify("/var/tmp");
	make_at(ws, NULL);
	cr_expect_eq(engine->nopened, 0);
}

Test(policy_obeyed, what_is_obeyed_in_another_project_is_named)
{
	static const char *const names[] = {
		"", "/.envrc", "/.vscode", "/.vscode/tasks.json", "/.claude/hooks/x", "/.."};
	const char *project = in(home, "src/other");

	mkdir(project, 0700);
	mkdir(in(project, ".git"), 0700);
	mkdir(in(home, "src/plain"), 0700);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		nrules = 0;
		modify(i + 1 < sizeof names / sizeof *names
			       ? b_arena_printf(&arena, "%s%s", project, names[i])
			       : in(home, "src"));
		make_at(ws, NULL);
		cr_assert_eq(engine->nopened, 1, "%s", names[i]);
		cr_expect(i + 1 == sizeof names / sizeof *names ||
				  strstr(engine->opened[0].text, "src/other/."),
			  "%s", engine->opened[0].text);
		cr_expect(strstr(engine->opened[0].line, engine->opened[0].kinds[0].matched));
	}
	/* who obeys, of all that is opened */
	cr_expect(strstr(engine->opened[0].text, "direnv") &&
			  strstr(engine->opened[0].text, "vscode"),
		  "%s", engine->opened[0].text);
	nrules = 0;
	modify(in(home, "src/plain"));
	make_at(ws, NULL);
	cr_expect_eq(engine->nopened, 0, "no project");
	mkdir(in(home, "src/plain/.vscode"), 0700);
	make_at(ws, NULL);
	cr_expect_eq(engine->nopened, 1, "what is there");
}

/* As a rule that names it: a row's tree by its root, a star by some name. */
static const char *granted(const char *dir, const char *text)
{
	size_t n =
		strlen(text) - (strlen(text) > 3 && !strcmp(text + strlen(text) - 3, "/**")) * 3u;
	char *path = b_arena_strndup(&arena, text, n);

	for (char *star; (star = strchr(path, '*'));)
		*star = 'x';
	return *dir ? in(dir, path) : path;
}

static void grant_all(const struct pol_ynode *all, const char *dir, const char **by)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct pol_ynode *paths = pol_yaml_get(all->v[i], "paths"),
				       *on = pol_yaml_get(all->v[i], "on");

		for (size_t k = 0; k < paths->n && !(on && strcmp(on->s, "macos") == 0); k++) {
			/* the name by which another row's file is saved is opened with that */
			if (strstr(paths->v[k]->s, ".tmp."))
				continue;
			/* the documents in use stay closed, whatever a rule says */
			if (strstr(paths->v[k]->s, "/sbx-launch/"))
				continue;
			by[nrules] = pol_yaml_get(all->v[i], "by")->s;
			modify(granted(dir, paths->v[k]->s));
			cr_assert_lt(nrules, sizeof rules / sizeof *rules);
		}
	}
}

/* Of one that lies in another's the others are named as well. */
static bool is_named(size_t i, const char *by)
{
	const char *origin = b_arena_printf(&arena, "cli:--modify:%zu", i + 1);

	for (size_t k = 0; k < engine->nopened; k++)
		for (size_t j = 0;
		     !strcmp(engine->opened[k].origin, origin) && j < engine->opened[k].nkinds; j++)
			if (!strcmp(engine->opened[k].kinds[j].by, by))
				return true;
	return false;
}

static void expect_named(const struct pol_ynode *all, const char *dir)
{
	static const char *by[sizeof rules / sizeof *rules];
	size_t n;

	nrules = 0;
	grant_all(all, dir, by);
	n = nrules;
	/* of rows that lie in each other the last one decides: the deeper ones last */
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (strlen(rules[k].text) < strlen(rules[i].text)) {
				const char *text = rules[i].text, *who = by[i];

				rules[i].text = rules[k].text, rules[k].text = text;
				by[i] = by[k], by[k] = who;
			}
	make_at(ws, NULL);
	for (size_t i = 0; i < n; i++)
		cr_expect(is_named(i, by[i]), "%s: %s", rules[i].text, by[i]);
}

Test(policy_obeyed, a_grant_of_each_row_is_named_with_who_obeys)
{
	const struct pol_ynode *spec =
		pol_yaml_get(pol_preset_root(pol_preset_find("protected")), "spec");

	expect_named(pol_yaml_get(spec, "reached"), home);
	expect_named(pol_yaml_get(spec, "reachedSystem"), "");
}

Test(policy_obeyed, all_kinds_of_a_wide_grant_are_named)
{
	const struct pol_opened *o;

	modify("/etc");
	make_at(ws, NULL);
	cr_assert_eq(engine->nopened, 1);
	o = &engine->opened[0];
	cr_expect_gt(o->nkinds, 8);
	for (size_t i = 0; i < o->nkinds; i++)
		cr_expect(strstr(o->text, o->kinds[i].by), "%s", o->kinds[i].by);
}
