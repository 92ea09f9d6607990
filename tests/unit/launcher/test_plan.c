/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of launcher/linux/run/plan.c: what cannot be held, told in few lines. */
#include "launcher/plan/plan.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "launcher/report/host.h"
#include "launcher/options/options.h"
#include "policy/engine.h"

Test(launcher_plan, many_gaps_of_one_remedy_are_told_in_a_few_lines)
{
	static const char *const roots[] = {"/"};
	struct pol_request rq = {.workspaces = roots, .nworkspaces = 1, .with_protected = true};
	const struct lau_host host = {.landlock_abi = 7};
	struct lau_options o;
	struct lau_plan plan = {0};
	struct b_err err;
	size_t more = 0;

	lau_options_init(&o);
	cr_assert_eq(pol_engine_new(&rq, &plan.engine, &err), 0, "%s", err.msg);
	cr_assert_eq(lau_plan_floor(&o, &host, &plan, &err), 0, "%s", err.msg);
	cr_assert_gt(plan.floor.ngaps, 20);
	cr_assert_lt(plan.nlosses, 25);
	for (size_t i = 0; i < plan.nlosses; i++)
		more += strncmp(plan.losses[i].text, "and ", 4) == 0;
	cr_assert_gt(more, 0);
	lau_plan_release(&plan);
	lau_options_release(&o);
}
