#include "launcher/environment.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

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
