/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/approve/: what is read-only by its words. */
#include "policy/approve/approve.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tests/support/tsv.h"

static bool looks(const char *text)
{
	b_auto(b_str_release) struct b_str why = {0};
	bool ok = pol_approve_shell(text, &why);

	cr_expect_eq(ok, why.len == 0, "%s: %s", text, b_str_c(&why));
	return ok;
}

/* Each of a NULL-terminated list. */
static void expect(bool is_readonly, const char *const *texts)
{
	for (; *texts; texts++)
		cr_expect_eq(looks(*texts), is_readonly, "%s", *texts);
}

static bool row_looks(const struct tsv_row *row)
{
	b_auto(b_str_release) struct b_str why = {0};
	json_t *args = tsv_json(row, "args");
	size_t n = json_array_size(args);
	const char **argv = calloc(n + 1, sizeof *argv);
	bool ok;

	argv[0] = tsv_cell(row, "cmd");
	for (size_t i = 0; i < n; i++)
		argv[i + 1] = json_string_value(json_array_get(args, i));
	ok = pol_approve_argv(argv, n + 1, &why);
	json_decref(args);
	free(argv);
	return ok;
}

Test(policy_approve, the_rows_of_read_only_commands_hold)
{
	struct tsv *t = tsv_load("tests/vectors/readonly_commands.tsv");

	for (size_t i = 0; i < t->n_rows; i++)
		cr_expect_eq(row_looks(&t->rows[i]), tsv_is_true(&t->rows[i], "read_only"), "%s",
			     t->rows[i].cells[0]);
	tsv_free(t);
}

static bool is_listed(const struct tsv_row *row)
{
	json_t *list = tsv_json(row, "allow_unsandboxed_commands");
	size_t n = json_array_size(list);
	const char **v = calloc(n + 1, sizeof *v);
	bool ok;

	for (size_t i = 0; i < n; i++)
		v[i] = json_string_value(json_array_get(list, i));
	ok = pol_approve_listed(v, n, tsv_cell(row, "command"));
	json_decref(list);
	free(v);
	return ok;
}

Test(policy_approve, the_rows_of_listed_commands_hold)
{
	struct tsv *t = tsv_load("tests/vectors/caliban_unsandboxed.tsv");

	for (size_t i = 0; i < t->n_rows; i++)
		cr_expect_eq(is_listed(&t->rows[i]), tsv_is_true(&t->rows[i], "bypasses_sandbox"),
			     "%s", t->rows[i].cells[0]);
	tsv_free(t);
}

Test(policy_approve, what_looks_is_read_only)
{
	static const char *const texts[] = {
		"ls -la",
		"cat a b | sort -k2 -u | uniq -c | head -n 3",
		"cd src && git status; git --no-pager log --oneline -n 5",
		"grep -rn 'a; rm -rf $HOME' . 2>/dev/null || true",
		"grep \"a\\.b|c>d\" f",
		"find . -name '*.c' -newer x -print0 2>&1",
		"sed -n '1,20p' file",
		"rg -n --glob '*.ts' -e x",
		"git diff HEAD~1 -- a",
		"ls\nls\n",
		"echo a=b",
		"diff -u a b > /dev/null",
		"git log --output-indicator-new=x",
		"sh -c 'ls -l | wc -l'",
		"ls ;",
		"cat < /dev/null",
		NULL};

	expect(true, texts);
}

static const char *const writers[] = {"rg --pre x y",
				      "rg -z x",
				      "rg -nz x",
				      "rg --search-zip x",
				      "rg --pr x",
				      "git log --output=x",
				      "git log --outp=x",
				      "git log --output x",
				      "git diff --ext-diff",
				      "git diff --ext",
				      "git show --textconv x",
				      "git log --show-signature",
				      "git log '--format=%GK'",
				      "git log '--format=%+G?'",
				      "git log '--format=%-G?'",
				      "git show '--format=% G?'",
				      "git log --help",
				      "git status --he",
				      "git -ccore.pager=x log",
				      "git -c core.pager=x log",
				      "git --config-env=a=b log",
				      "git -p log",
				      "git --paginate log",
				      "git grep -Ox y",
				      "git diff --submodule=diff",
				      "git log --remerge-diff",
				      "git status=x",
				      "git ''",
				      "git --work-tree x status",
				      "find . -fprintf x y",
				      "find . -fls x",
				      "find . -fprint x",
				      "find . -delete",
				      "find . -name -delete",
				      "find -files0-from x",
				      "sort -o x y",
				      "sort -uo x",
				      "sort --output=x",
				      "sort --outp x",
				      "sort --compress-program=x y",
				      "sort -T x y",
				      "sort y -o x",
				      "sed -i s/a/b/ f",
				      "sed 'w x' f",
				      "sed -n '1e id' f",
				      "sed -n 's/a/b/w x' f",
				      "sed -n 1p -i f",
				      "sed -n 1p --expression=w f",
				      "awk '{print}' f",
				      "awk 'BEGIN{system(\"id\")}'",
				      "tar -tf x --to-command=id",
				      "less x",
				      "more x",
				      "env ls",
				      "xargs ls",
				      "time ls",
				      "nice ls",
				      "uniq a b",
				      "uniq -- a -c",
				      "uniq -- a",
				      "diff -l a b",
				      "printf -v 'a[$(id)]' x",
				      "tee x",
				      "date -s x",
				      "command ls",
				      "exec ls",
				      "eval ls",
				      ". ./x",
				      "source x",
				      "bash x",
				      "sh -lc ls",
				      "zsh -c ls",
				      "sh -c 'rm x'",
				      "if true",
				      "! ls",
				      "dd of=x",
				      "cp a b",
				      NULL};

Test(policy_approve, options_that_write_or_run_are_not)
{
	expect(false, writers);
}

static const char *const unknown[] = {"",
				      " ",
				      "\n",
				      "ls >x",
				      "ls >>x",
				      "ls 2>x",
				      "ls >/dev/nullx",
				      "ls >&3",
				      "ls <x",
				      "ls <<X\nX",
				      "ls <<<x",
				      "ls <(id)",
				      "ls $(id)",
				      "ls `id`",
				      "ls $HOME",
				      "ls \"$(id)\"",
				      "ls \"`id`\"",
				      "ls \"$HOME\"",
				      "ls *",
				      "ls ?",
				      "ls [a]",
				      "ls ~/x",
				      "ls ~",
				      "ls a/~",
				      "ls a=~",
				      "ls {a,b}",
				      "ls &",
				      "ls & rm x",
				      "ls |& cat",
				      "ls ||| cat",
				      "ls &&",
				      "ls |",
				      "&& ls",
				      "; ls",
				      "ls ;; ls",
				      "(ls)",
				      "{ ls; }",
				      "PAGER=x git log",
				      "GIT_PAGER=x git log",
				      "A=b",
				      "'A'=b ls",
				      "ls # x",
				      "ls \\\n-l",
				      "l\\s",
				      "ls 'x",
				      "ls \"x",
				      "ls \"a\\\nb\"",
				      "ls\r",
				      "ls\vx",
				      "ls \xc2\xa0x",
				      "ls; rm x",
				      "ls | sh",
				      "ls && rm x",
				      "ls || rm x",
				      "ls\nrm x",
				      "/bin/ls",
				      "./ls",
				      "2>/dev/null/x ls",
				      "ls >/dev/null>x",
				      "f() ls",
				      NULL};

Test(policy_approve, syntax_that_is_not_known_is_not)
{
	expect(false, unknown);
}

Test(policy_approve, a_long_text_is_not)
{
	char *text = malloc(70000);

	memset(text, 'a', 69999);
	text[69999] = '\0';
	memcpy(text, "ls ", 3);
	cr_expect_not(looks(text));
	free(text);
}

Test(policy_approve, variables_that_change_commands_are_found)
{
	static const char *const bad[] = {"BASH_ENV=x",
					  "BASH_FUNC_ls%%=() { id; }",
					  "RIPGREP_CONFIG_PATH=x",
					  "GIT_EXTERNAL_DIFF=x",
					  "GIT_TRACE=/x",
					  "GIT_CONFIG_COUNT=1",
					  NULL};
	const char *good[] = {"HOME=/x",	   "PAGER=less", "GIT_PAGER=x",
			      "GIT_AUTHOR_NAME=x", "BASH=x",	 NULL};

	for (size_t i = 0; bad[i]; i++) {
		const char *env[] = {"A=b", bad[i], NULL};
		b_auto(b_str_release) struct b_str why = {0};

		cr_expect_not(pol_approve_environment(env, &why), "%s", bad[i]);
		cr_expect(why.len > 0);
	}
	b_auto(b_str_release) struct b_str why = {0};
	cr_expect(pol_approve_environment(good, &why), "%s", b_str_c(&why));
}

Test(policy_approve, patterns_of_lists_match_as_globs)
{
	static const struct {
		const char *pattern, *command;
		bool is_match;
	} rows[] = {
		{"g?t", "git", true},
		{"g[a-i]t", "git", true},
		{"g[!a-h]t", "git", true},
		{"g[!a-i]t", "git", false},
		{"*t", "gitt", true},
		{"*t", "gi", false},
		{"g*t*", "got", true},
		{"git * -v", "git a b -v", true},
		{"git * -v", "git -v", false},
		{"[", "[", true},
		{"", "git", false},
		{"gi", "git", false},
		{"gitt", "git", false},
		{"**", "x", true},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(pol_approve_listed(&rows[i].pattern, 1, rows[i].command),
			     rows[i].is_match, "%s %s", rows[i].pattern, rows[i].command);
}
