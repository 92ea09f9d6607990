/* SPDX-License-Identifier: Apache-2.0 */
/* The presets of Grida: its lists, by the rows that say what they close. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "policy/engine.h"
#include "tests/support/tsv.h"

static char home[] = "/tmp/sbx-grida.XXXXXX", ws[64];
static struct pol_engine *engine;

static void load_on(const char *preset, bool is_on_macos)
{
	const char *const presets[] = {preset}, *const roots[] = {ws};
	const struct pol_request rq = {.presets = presets,
				       .npresets = preset != NULL,
				       .is_on_macos = is_on_macos,
				       .workspaces = roots,
				       .nworkspaces = 1,
				       .managed = "/nonexistent/policy.yaml",
				       .scratch = "/tmp/sbx-scratch",
				       .with_protected = true};
	struct b_err err;

	strcpy(home, "/tmp/sbx-grida.XXXXXX");
	cr_assert(mkdtemp(home));
	snprintf(ws, sizeof ws, "%s/ws", home);
	cr_assert_eq(mkdir(ws, 0700), 0);
	setenv("HOME", home, 1);
	unsetenv("GRIDA_USER_DATA");
	cr_assert_eq(pol_engine_new(&rq, &engine, &err), 0, "%s", err.msg);
}

static void load(const char *preset)
{
	load_on(preset, false);
}

static void unload(void)
{
	pol_engine_free(engine);
	rmdir(ws);
	rmdir(home);
}

static bool may(enum sbx_op op, const char *dir, const char *path)
{
	struct pol_answer answer;
	struct b_err err;
	char full[256];

	snprintf(full, sizeof full, "%s/%s", dir, path);
	cr_assert_eq(pol_engine_check(engine, op, full, &answer, &err), 0, "%s", err.msg);
	return answer.allowed;
}

static void check_protected(const char *preset)
{
	struct tsv *t = tsv_load("tests/vectors/protected_paths.tsv");

	load(preset);
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *path = tsv_cell(row, "path");

		path += strspn(path, "/");
		/* what is closed to every command stays so */
		if (!*path || strcmp(path, ".vscode/settings.json") == 0)
			continue;
		cr_expect_eq(!may(SBX_MODIFY, ws, path), tsv_is_true(row, "write_denied"), "%s %s",
			     preset, row->cells[0]);
	}
	tsv_free(t);
	t = tsv_load("tests/vectors/protected_path_list.tsv");
	for (size_t i = 0; i < t->n_rows; i++) {
		const char *name = tsv_cell(&t->rows[i], "name");
		char below[128];

		snprintf(below, sizeof below, "a/b/%s", name);
		cr_expect_not(may(SBX_MODIFY, ws, name), "%s", name);
		cr_expect_not(may(SBX_MODIFY, ws, below), "%s", below);
		snprintf(below, sizeof below, "a/x%s", name);
		cr_expect(may(SBX_MODIFY, ws, below), "%s", below);
	}
	tsv_free(t);
	unload();
}

Test(policy_grida, protected_paths_of_a_call)
{
	check_protected("grida-call");
}

Test(policy_grida, protected_paths_of_the_host)
{
	check_protected("grida-outer");
}

static void check_sensitive(const char *preset)
{
	struct tsv *t = tsv_load("tests/vectors/sensitive_paths.tsv");

	load(preset);
	for (size_t i = 0; i < t->n_rows; i++) {
		const char *path = tsv_cell(&t->rows[i], "path");
		char below[128];

		if (strcmp(tsv_cell(&t->rows[i], "system"), "grida") != 0)
			continue;
		cr_assert(strncmp(path, "~/", 2) == 0);
		snprintf(below, sizeof below, "%s/below", path + 2);
		for (enum sbx_op op = SBX_READ; op <= SBX_MODIFY; op++) {
			cr_expect_not(may(op, home, path + 2), "%s", path);
			cr_expect_not(may(op, home, below), "%s", below);
		}
	}
	tsv_free(t);
}

Test(policy_grida, the_host_reads_its_data_and_no_logins)
{
	check_sensitive("grida-outer");
	cr_expect(may(SBX_READ, home, ".config/Grida/auth.json"));
	cr_expect(may(SBX_MODIFY, home, ".config/Grida/auth.json"));
	cr_expect(may(SBX_MODIFY, home, "notes"));
	unload();
}

Test(policy_grida, a_call_has_neither)
{
	check_sensitive("grida-call");
	cr_expect_not(may(SBX_READ, home, ".config/Grida/auth.json"));
	cr_expect_not(may(SBX_MODIFY, home, ".config/Grida/auth.json"));
	cr_expect_not(may(SBX_MODIFY, home, "notes"));
	cr_expect(may(SBX_READ, home, "notes"));
	cr_expect(may(SBX_MODIFY, ws, "notes"));
	cr_expect(may(SBX_MODIFY, "/tmp/sbx-scratch", "x"));
	cr_expect_not(may(SBX_READ, home, ".npm/_logs/x"));
	cr_expect_not(may(SBX_READ, "/tmp/claude", "x"));
	cr_expect_eq(engine->effect.env, POL_ENV_CLEAR);
	cr_expect_eq(engine->effect.network, POL_NET_NONE);
	unload();
}

/* What Orbit's profiles for macOS close is in the set of secrets there, at the root and in homes.
 */
Test(policy_grida, what_orbit_closes_on_macos)
{
	struct tsv *t = tsv_load("tests/vectors/sensitive_paths.tsv");
	size_t n = 0;

	load_on(NULL, true);
	for (size_t i = 0; i < t->n_rows; i++) {
		const char *path = tsv_cell(&t->rows[i], "path");
		char below[160];

		if (strcmp(tsv_cell(&t->rows[i], "system"), "orbit HEAD (SBPL only)") != 0)
			continue;
		n++;
		snprintf(below, sizeof below, "%s/x", path + 1 + (*path == '~'));
		cr_expect_not(may(SBX_READ, *path == '~' ? home : "", below), "%s", path);
		cr_expect_not(may(SBX_MODIFY, *path == '~' ? home : "", below), "%s", path);
	}
	cr_expect_gt(n, 5);
	cr_expect(may(SBX_READ, home, "Library/Preferences/x"));
	unload();
	tsv_free(t);
}

Test(policy_grida, places_of_macos_cost_nothing_elsewhere)
{
	load_on(NULL, false);
	cr_expect(may(SBX_READ, home, "Library/Keychains/x"));
	unload();
}

/* "a, b": each of them, but for the names of macOS. */
Test(policy_grida, what_a_call_is_denied_beside_its_lists)
{
	struct tsv *t = tsv_load("tests/vectors/sensitive_paths.tsv");
	size_t n = 0;

	load("grida-call");
	for (size_t i = 0; i < t->n_rows; i++) {
		char paths[200];

		if (strcmp(tsv_cell(&t->rows[i], "system"), "grida HEAD per-call") != 0)
			continue;
		snprintf(paths, sizeof paths, "%s", tsv_cell(&t->rows[i], "path"));
		for (char *p = strtok(paths, ", "); p; p = strtok(NULL, ", ")) {
			if (strncmp(p, "/private/", 9) == 0)
				continue;
			n++;
			cr_expect_not(may(SBX_READ, *p == '~' ? home : "", p + 1 + (*p == '~')),
				      "%s", p);
		}
	}
	cr_expect_eq(n, 3);
	unload();
	tsv_free(t);
}

/* What Orbit denies by default is in its preset, at any depth. */
Test(policy_grida, what_orbit_denies_by_default)
{
	struct tsv *t = tsv_load("tests/vectors/sensitive_paths.tsv");
	size_t n = 0;

	load("orbit");
	for (size_t i = 0; i < t->n_rows; i++) {
		static const char *const names[] = {"x.env", "a/b/x.env", ".env", ".env.local",
						    "a/x.env.old"};

		if (strcmp(tsv_cell(&t->rows[i], "system"), "orbit default policy") != 0)
			continue;
		cr_expect_str_eq(tsv_cell(&t->rows[i], "path"), "**/*.env");
		for (size_t k = 0; k < sizeof names / sizeof *names; k++, n++) {
			cr_expect_not(may(SBX_READ, ws, names[k]), "%s", names[k]);
			cr_expect_not(may(SBX_MODIFY, ws, names[k]), "%s", names[k]);
		}
	}
	cr_expect_gt(n, 0);
	unload();
	tsv_free(t);
}
