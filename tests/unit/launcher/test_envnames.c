/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/plan/environment.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/tsv.h"

Test(launcher_envnames, rows_of_names)
{
	struct tsv *t = tsv_load("tests/vectors/env_sensitive.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];

		static const char *const columns[] = {
			[LAU_SECRET_SHOWN] = "orbit_is_sensitive_env_name",
			[LAU_SECRET_CALIBAN] = "caliban_should_scrub",
			[LAU_SECRET_ORBIT] = "orbit_proc_spawn_strip",
		};
		const char *name = tsv_cell(row, "name");

		for (unsigned use = 0; use < sizeof columns / sizeof *columns; use++)
			if (columns[use])
				cr_expect_eq(lau_name_is_secret(name, use),
					     tsv_is_true(row, columns[use]), "%s %s", row->cells[0],
					     columns[use]);
		/* what caliban takes away, --env scrub does */
		cr_expect(!lau_name_is_secret(name, LAU_SECRET_CALIBAN) ||
				  lau_name_is_secret(name, LAU_SECRET_SCRUB),
			  "%s", name);
	}
	tsv_free(t);
}

Test(launcher_envnames, what_is_hidden_is_scrubbed_but_for_what_only_names_a_place_or_a_person)
{
	static const char *const yes[] = {
		"DB_PASSWD",	 "SESSION_COOKIE", "GH_AUTH",	  "MY_BEARER",
		"db_passwd",	 "KEYBOARD",	   "PASSPHRASE",  "HTTP_AUTH",
		"AUTHORIZATION", "AUTHOR_TOKEN",   "PRIVATE_PEM", "XDG_SESSION_TOKEN",
	};
	static const char *const no[] = {
		"SSH_AUTH_SOCK",
		"XAUTHORITY",
		"XDG_SESSION_ID",
		"XDG_SESSION_TYPE",
		"GIT_AUTHOR_NAME",
		"GIT_AUTHOR_EMAIL",
		"GIT_AUTHOR_DATE",
		"DESKTOP_SESSION",
		"AUTHOR",
		"CARGO_PKG_AUTHORS",
		"PATH",
		"DBUS_SESSION_BUS_ADDRESS",
	};

	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		cr_expect(lau_name_is_secret(yes[i], LAU_SECRET_SCRUB), "%s", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		cr_expect_not(lau_name_is_secret(no[i], LAU_SECRET_SCRUB), "%s", no[i]);
}

/* What one judge in the mode leaves of an environment of this one variable. */
static bool stays(enum pol_env mode, const struct lau_env_name *names, size_t n, const char *name)
{
	struct lau_environment env = {0};
	char entry[128];
	char *base[] = {entry, NULL};
	bool is_there;

	cr_assert(strlen(name) < sizeof entry - 2);
	strcat(strcpy(entry, name), "=1");
	lau_environment_judge(&env, mode, names, n);
	is_there = lau_environment_get(&env, base, name);
	lau_environment_release(&env);
	return is_there;
}

Test(launcher_envnames, rows_of_scrubbing)
{
	struct tsv *t = tsv_load("tests/vectors/caliban_env_scrub.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		json_t *list = tsv_json(row, "passthrough");
		struct lau_env_name names[8];
		size_t n = json_array_size(list);

		cr_assert(n < 8);
		for (size_t k = 0; k < n; k++)
			names[k] = (struct lau_env_name){json_string_value(json_array_get(list, k)),
							 true};
		cr_expect_eq(
			!stays(tsv_is_true(row, "scrub_secrets") ? POL_ENV_SCRUB : POL_ENV_KEEP,
			       names, n, tsv_cell(row, "name")),
			tsv_is_true(row, "scrubbed"), "%s", row->cells[0]);
		json_decref(list);
	}
	tsv_free(t);
}

Test(launcher_envnames, hooks_of_loaders_interpreters_and_git)
{
	static const char *const yes[] = {
		"LD_PRELOAD",
		"LD_LIBRARY_PATH",
		"LD_AUDIT",
		"DYLD_INSERT_LIBRARIES",
		"NODE_OPTIONS",
		"PYTHONSTARTUP",
		"PYTHONPATH",
		"BASH_ENV",
		"ENV",
		"BASH_FUNC_ls%%",
		"PERL5OPT",
		"RUBYOPT",
		"JAVA_TOOL_OPTIONS",
		"GIT_SSH_COMMAND",
		"GIT_CONFIG_KEY_0",
		"GIT_DIR",
		"GIT_EXTERNAL_DIFF",
		"RUSTC_WRAPPER",
		"CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
		"GCONV_PATH",
		"ERL_AFLAGS",
	};
	static const char *const no[] = {
		"PATH",
		"HOME",
		"LANG",
		"LDFLAGS",
		"MAKEFLAGS",
		"GIT_AUTHOR_NAME",
		"GIT_COMMITTER_EMAIL",
		"GIT_TERMINAL_PROMPT",
		"PYTHONUNBUFFERED",
		"NODE_ENV",
		"ENVIRONMENT",
		"EDITOR",
		"CC",
		"XDG_CONFIG_HOME",
	};

	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		cr_expect(lau_env_is_hook(yes[i]), "%s", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		cr_expect_not(lau_env_is_hook(no[i]), "%s", no[i]);
}

Test(launcher_envnames, a_star_is_any_part_of_a_name)
{
	cr_expect(lau_env_matches("CI_*", "CI_JOB"));
	cr_expect(lau_env_matches("CI_*", "CI_"));
	cr_expect_not(lau_env_matches("CI_*", "XCI_JOB"));
	cr_expect(lau_env_matches("*_HOST", "DB_X_HOST"));
	cr_expect_not(lau_env_matches("*_HOST", "DB_HOSTS"));
	cr_expect(lau_env_matches("A*B*C", "AxBBxC"));
	cr_expect_not(lau_env_matches("A*B*C", "AxC"));
	cr_expect(lau_env_matches("*", ""));
	cr_expect_not(lau_env_matches("", "A"));
	cr_expect_not(lau_env_matches("ab", "aB"));
}

Test(launcher_envnames, each_mode_leaves_a_part_of_the_one_before)
{
	static const char *const names[] = {"PATH", "HOME",	"LANG",	      "TERM", "LC_ALL",
					    "FOO",  "GH_TOKEN", "LD_PRELOAD", "TZ"};
	static const char left[][10] = {"111111111", "111111001", "111110001", "111000000"};

	for (int mode = POL_ENV_KEEP; mode <= POL_ENV_CLEAR; mode++)
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			cr_expect_eq(stays((enum pol_env)mode, NULL, 0, names[i]),
				     left[mode][i] == '1', "%d %s", mode, names[i]);
}
