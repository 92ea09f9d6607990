/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of launcher/report/require.c: the table of what a host may lack, held against the
 * planner and the man page. */
#include "launcher/report/report.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "policy/plan/seccomp.h"
#include "policy/engine.h"

/* A host that lacks this and all that hangs on it, and nothing else. */
static struct lau_host host_without(enum lau_need need)
{
	struct lau_host h = {.landlock_abi = 7, .has_broker = true, .has_shm = true};

	if (need <= LAU_NEED_ABI6) {
		h.landlock_abi = (int)need;
		h.has_broker = need != LAU_NEED_LANDLOCK;
	}
	if (need == LAU_NEED_BROKER)
		h.has_broker = false;
	return h;
}

static void plan_for(const struct lau_host *host, const struct pol_cli_rule *rules, size_t n,
		     struct lau_options *o, struct lau_plan *plan)
{
	static const char *const roots[] = {"/usr/share"};
	struct pol_request rq = {.workspaces = roots,
				 .nworkspaces = 1,
				 .rules = rules,
				 .nrules = n,
				 .with_protected = host->has_broker};
	struct b_err err;

	*plan = (struct lau_plan){0};
	if (!host->has_broker) {
		b_auto(b_str_release) struct b_str why = {0};

		lau_host_no_broker(host, &why);
		plan->no_broker = b_arena_strndup(&plan->arena, why.s, why.len);
	}
	cr_assert_eq(pol_engine_new(&rq, &plan->engine, &err), 0, "%s", err.msg);
	cr_assert_eq(lau_plan_floor(o, host, plan, &err), 0, "%s", err.msg);
}

static bool is_refused(enum lau_need need, const struct pol_cli_rule *rules, size_t n)
{
	const struct lau_host host = host_without(need);
	struct lau_options o;
	struct lau_plan plan;
	bool refused;

	lau_options_init(&o);
	plan_for(&host, rules, n, &o, &plan);
	refused = plan.nfatal > 0;
	lau_plan_release(&plan);
	lau_options_release(&o);
	return refused;
}

Test(launcher_require, what_strict_refuses_is_what_the_planner_refuses)
{
	const struct pol_cli_rule deny = {
		.op = SBX_MODIFY, .text = "**/*.env", .option = "--deny-modify", .nth = 1};

	for (int i = 0; i < LAU_NEED_COUNT; i++) {
		bool plain = is_refused((enum lau_need)i, NULL, 0);
		bool with_rule = is_refused((enum lau_need)i, &deny, 1);
		enum lau_lack lack = plain	 ? LAU_LACK_REFUSED
				     : with_rule ? LAU_LACK_RULES
						 : LAU_LACK_RUNS;

		cr_expect_eq(lack, lau_needs[i].strict, "%s: the planner says %s",
			     lau_needs[i].name, lau_lack_text(lack));
	}
}

/* Linux 5.13 to 5.18, where calls can be trapped, but not held: what Landlock does not see there
 * nobody does. */
Test(launcher_require, without_the_broker_an_old_landlock_is_refused_with_kernel_and_cause)
{
	for (int abi = 1; abi <= 3; abi++) {
		struct lau_host host = {.landlock_abi = abi, .has_shm = true, .kernel = "5.15.0"};
		struct lau_options o;
		struct lau_plan plan;

		lau_options_init(&o);
		plan_for(&host, NULL, 0, &o, &plan);
		cr_expect_eq(plan.nfatal, abi < 3, "abi %d", abi);
		for (size_t i = 0; i < plan.nlosses; i++)
			if (plan.losses[i].fatal)
				cr_expect(strstr(plan.losses[i].text,
						 "Linux 5.15.0 does not have a call that the "
						 "broker needs, "
						 "or a filter refuses it: Linux 5.19"),
					  "%s", plan.losses[i].text);
		lau_plan_release(&plan);
		lau_options_release(&o);
	}
}

Test(launcher_require, with_the_broker_an_old_landlock_has_it_see_what_the_kernel_does_not)
{
	for (int abi = 1; abi <= 3; abi++) {
		struct lau_host host = {.landlock_abi = abi, .has_broker = true, .has_shm = true};
		struct lau_options o;
		struct lau_plan plan;

		lau_options_init(&o);
		plan_for(&host, NULL, 0, &o, &plan);
		lau_plan_kernel(&plan);
		cr_expect_eq(plan.nfatal, 0, "abi %d", abi);
		cr_expect(plan.floor.uses_broker);
		cr_expect(plan.use_shim);
		cr_expect_eq(!!(plan.floor.traps & POL_TRAP_TRUNCATE), abi < 3);
		cr_expect_eq(plan.seccomp_flags & POL_SC_NO_TRUNCATE, 0u);
		cr_expect_eq(plan.landlock.abi, abi);
		cr_expect_eq(plan.broker_landlock.abi, abi < 2 ? 0 : abi, "moves are its own");
		lau_plan_release(&plan);
		lau_options_release(&o);
	}
}

/* Where the page breaks a line is of no account. */
static char *on_one_line(char *text)
{
	for (char *at = text; (at = strchr(at, '\n')); at++)
		*at = ' ';
	return text;
}

Test(launcher_require, every_row_stands_in_the_man_page)
{
	FILE *f = fopen("docs/man/sbx-launch.1", "re");
	char *page = calloc(1, 1 << 20);
	struct b_str want = {0};

	cr_assert(f && page);
	cr_assert_gt(fread(page, 1, (1 << 20) - 1, f), 1000u);
	fclose(f);
	on_one_line(page);
	for (int i = 0; i < LAU_NEED_COUNT; i++) {
		const struct lau_need_row *row = &lau_needs[i];

		b_str_reset(&want);
		b_str_addf(&want, ".It Cm %s\n%s.\nStrict: %s.\n%s%s%s", row->name, row->lost,
			   lau_lack_text(row->strict),
			   row->lax && *row->lax ? "Best effort keeps " : "",
			   row->lax ? row->lax : "", row->lax && *row->lax ? ".\n" : "");
		on_one_line(want.s);
		cr_expect(strstr(page, b_str_c(&want)), "missing:\n%s", b_str_c(&want));
	}
	b_str_release(&want);
	free(page);
}

Test(launcher_require, what_is_required_and_missing_is_named_with_its_remedy)
{
	for (int i = 0; i < LAU_NEED_COUNT; i++) {
		struct lau_host host = host_without((enum lau_need)i);
		const char *name = lau_needs[i].name;
		struct lau_options o;
		struct lau_plan plan = {.use_shim = i != LAU_NEED_SHIM};
		struct b_err err;

		lau_options_init(&o);
		o.require = 1u << i;
		cr_expect_eq(lau_need_find(name), i);
		cr_expect_eq(lau_require_check(&o, &host, &plan, &err), -1, "%s", name);
		cr_expect_eq(err.kind, B_FLOOR);
		cr_expect(strstr(err.msg, name), "%s", err.msg);
		lau_options_release(&o);
	}
	cr_expect_eq(lau_need_find("nothing"), -1);
}
