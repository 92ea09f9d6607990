/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/options/options.h"

#include <string.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/run/confine.h"
#include "launcher/report/report.h"
#include "policy/plan/seccomp.h"

/* NULL: let through, with `notes` told. */
static void asks(const struct lau_options *o, const char *refusal, const char *notes)
{
	b_auto(b_str_release) struct b_str told = {0};
	struct b_err err = {.kind = B_OK};
	int rc = lau_macopts_check(o, &told, &err);

	cr_assert_eq(rc, refusal ? -1 : 0, "%s", err.msg);
	if (refusal) {
		cr_expect_eq(err.kind, B_FLOOR);
		cr_expect(strstr(err.msg, refusal), "%s", err.msg);
	}
	cr_expect(strstr(b_str_c(&told), notes), "%s", b_str_c(&told));
	cr_expect(*notes || !told.len, "%s", b_str_c(&told));
}

Test(launcher_macopts, promises_that_cannot_be_kept_are_refused)
{
	asks(&(struct lau_options){.caps = "none"}, "--caps", "");
	asks(&(struct lau_options){.isolate_given = true,
				   .isolate = LAU_ISOLATE_PID,
				   .require = 1u << LAU_NEED_PID},
	     "--isolate", "");
}

Test(launcher_macopts, every_ability_of_linux_that_is_required_is_refused_by_name)
{
	for (int need = 0; need < LAU_NEED_COUNT; need++) {
		const struct lau_options o = {.require = 1u << need};

		if (need == LAU_NEED_SHIM)
			asks(&o, NULL, "");
		else
			asks(&o, lau_needs[need].name, "");
	}
	asks(&(struct lau_options){.require = 1u << LAU_NEED_SHIM, .no_shim = true}, "--no-shim",
	     "");
}

Test(launcher_macopts, what_opens_nothing_here_is_told)
{
	asks(&(struct lau_options){.allow = POL_SC_ALLOW_DEBUG}, NULL, "--allow has no effect");
	asks(&(struct lau_options){.isolate_given = true}, NULL, "");
	asks(&(struct lau_options){0}, NULL, "");
}
