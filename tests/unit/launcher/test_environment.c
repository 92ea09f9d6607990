/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/plan/environment.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/str.h"

static const char *preload_of(const char *old)
{
	static struct lau_environment env;
	size_t i;

	lau_environment_release(&env); /* of the call before */
	lau_environment_preload(&env, "/lib/libsbx-shim.so", old);
	for (i = 0; i < env.n; i++)
		if (strcmp(env.vars[i].name, "LD_PRELOAD") == 0)
			return env.vars[i].value;
	return "";
}

Test(launcher_environment, shim_comes_first_and_others_keep_their_order)
{
	cr_expect_str_eq(preload_of(NULL), "/lib/libsbx-shim.so");
	cr_expect_str_eq(preload_of(""), "/lib/libsbx-shim.so");
	cr_expect_str_eq(preload_of("b.so:a.so"), "/lib/libsbx-shim.so:b.so:a.so");
	cr_expect_str_eq(preload_of(" b.so  a.so:"), "/lib/libsbx-shim.so:b.so:a.so");
}

Test(launcher_environment, shim_of_an_outer_run_is_replaced)
{
	cr_expect_str_eq(preload_of("/old/libsbx-shim.so:x.so"), "/lib/libsbx-shim.so:x.so");
	cr_expect_str_eq(preload_of("x.so libsbx-shim.so"), "/lib/libsbx-shim.so:x.so");
	cr_expect_str_eq(preload_of("/x/mylibsbx-shim.so"),
			 "/lib/libsbx-shim.so:/x/mylibsbx-shim.so");
}

Test(launcher_environment, changed_names_are_replaced_and_others_kept)
{
	char *base[] = {(char[]){"A=1"},       (char[]){"TMPDIR=/t"}, (char[]){"TMP=/u"},
			(char[]){"TMPDIRX=9"}, (char[]){"novalue"},   NULL};
	struct lau_environment env = {0};
	char **envp;

	lau_environment_set(&env, "TMPDIR", "/first");
	lau_environment_set(&env, "TMPDIR", "/s");
	envp = lau_environment_build(&env, base);
	cr_assert_str_eq(envp[0], "A=1");
	cr_assert_str_eq(envp[1], "TMP=/u");
	cr_assert_str_eq(envp[2], "TMPDIRX=9");
	cr_assert_str_eq(envp[3], "novalue");
	cr_assert_str_eq(envp[4], "TMPDIR=/s");
	cr_assert_null(envp[5]);
	free(envp);
	lau_environment_release(&env);
}

Test(launcher_environment, shown_values_stay_on_one_line)
{
	struct lau_environment env = {0};
	struct b_str out = {0};

	lau_environment_set(&env, "TMPDIR", "/a\nb");
	lau_environment_show(&env, &out);
	cr_expect_str_eq(out.s, "  TMPDIR=/a\\x0ab\n");
	b_str_release(&out);
	lau_environment_release(&env);
}

Test(launcher_environment, every_judge_must_let_a_variable_pass)
{
	static const struct lau_env_name mine[] = {{"GH_*", false}}, theirs[] = {{"GH_*", true}};
	char *base[] = {(char[]){"GH_TOKEN=t"}, (char[]){"A=1"}, (char[]){"novalue"}, NULL};
	struct lau_environment env = {0};
	const char **removed;
	size_t n;

	lau_environment_judge(&env, POL_ENV_SCRUB, mine, 1);
	cr_expect_str_eq(lau_environment_get(&env, base, "GH_TOKEN"), "t");
	removed = lau_environment_removed(&env, base, &n);
	cr_expect_eq(n, 1);
	cr_expect_str_eq(removed[0], "novalue");
	/* a literal star is no wildcard */
	lau_environment_judge(&env, POL_ENV_SCRUB, theirs, 1);
	cr_expect_null(lau_environment_get(&env, base, "GH_TOKEN"));
	cr_expect_str_eq(lau_environment_get(&env, base, "A"), "1");
	lau_environment_judge(&env, POL_ENV_CLEAR, NULL, 0);
	cr_expect_null(lau_environment_get(&env, base, "A"));
	cr_expect_eq(lau_environment_mode(&env), POL_ENV_CLEAR);
	lau_environment_release(&env);
}

Test(launcher_environment, a_denied_name_does_not_pass_in_any_mode_unless_set)
{
	static const struct lau_env_name denied[] = {{"A_*", true}, {"B", true}, {"C", true}},
					 named[] = {{"B", true}};
	char *base[] = {(char[]){"A_X=1"}, (char[]){"A_*=2"}, (char[]){"B=3"},
			(char[]){"C=4"},   (char[]){"BB=5"},  NULL};
	struct lau_environment env = {0};
	struct b_err err;
	char **got;

	lau_environment_judge(&env, POL_ENV_KEEP, named, 1);
	lau_environment_deny(&env, denied, 3);
	cr_assert_eq(lau_environment_users(&env, "C=mine", &err), 0);
	cr_expect_null(lau_environment_get(&env, base, "B"));
	got = lau_environment_build(&env, base);
	cr_expect_str_eq(got[0], "A_X=1");
	cr_expect_str_eq(got[1], "BB=5");
	cr_expect_str_eq(got[2], "C=mine");
	cr_expect_null(got[3]);
	free(got);
	lau_environment_release(&env);
}

Test(launcher_environment, what_the_user_sets_stays)
{
	char *base[] = {(char[]){"A=1"}, NULL};
	struct lau_environment env = {0};
	struct b_err err;
	char **envp;

	lau_environment_judge(&env, POL_ENV_CLEAR, NULL, 0);
	cr_assert_eq(lau_environment_users(&env, "TMPDIR=/mine", &err), 0);
	cr_assert_eq(lau_environment_users(&env, "A=x=y", &err), 0);
	lau_environment_offer(&env, "TMPDIR", "/run");
	lau_environment_offer(&env, "TMP", "/run");
	lau_environment_set(&env, "A", "z");
	envp = lau_environment_build(&env, base);
	cr_assert_str_eq(envp[0], "TMPDIR=/mine");
	cr_assert_str_eq(envp[1], "A=z");
	cr_assert_str_eq(envp[2], "TMP=/run");
	cr_assert_null(envp[3]);
	free(envp);
	lau_environment_release(&env);
}

Test(launcher_environment, a_setting_without_name_or_value_is_refused)
{
	static const char *const bad[] = {"A", "", "=1", "SBX_CHANNEL=/x"};
	struct lau_environment env = {0};
	struct b_err err;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_expect_eq(lau_environment_users(&env, bad[i], &err), -1, "%s", bad[i]);
		cr_expect_eq(err.kind, B_USAGE);
	}
	cr_expect_eq(env.n, 0);
	lau_environment_release(&env);
}
