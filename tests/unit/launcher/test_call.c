/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/options/grida_call.h"

#include <criterion/criterion.h>
#include <unistd.h>

#include "base/err.h"
#include "launcher/options/options.h"

/* Time and grace of a call with this --timeout. */
static void settle(uint64_t timeout_ms, uint64_t *out_ms, uint64_t *out_grace)
{
	struct lau_options o;
	struct b_err err;

	lau_options_init(&o);
	b_strlist_add(&o.policy.presets, "npm");
	b_strlist_add(&o.policy.presets, "grida-call");
	o.timeout_ms = timeout_ms;
	cr_assert_eq(lau_call_settle(&o, &err), 0, "%s", err.msg);
	cr_expect(o.is_call);
	*out_ms = o.timeout_ms;
	*out_grace = o.kill_after_ms;
	lau_options_release(&o);
}

/* shell_runner-021, -022, -026 */
Test(launcher_call, time_has_a_default_and_a_cap)
{
	uint64_t ms, grace;

	settle(0, &ms, &grace);
	cr_expect_eq(ms, 30000);
	cr_expect_eq(grace, 250);
	settle(600000, &ms, &grace);
	cr_expect_eq(ms, 60000);
	settle(100, &ms, &grace);
	cr_expect_eq(ms, 100);
}

Test(launcher_call, without_the_preset_nothing_changes)
{
	struct lau_options o;
	struct b_err err;

	lau_options_init(&o);
	b_strlist_add(&o.policy.presets, "grida-outer");
	cr_assert_eq(lau_call_settle(&o, &err), 0);
	cr_expect_not(o.is_call);
	cr_expect_eq(o.timeout_ms, 0);
	cr_expect_eq(o.kill_after_ms, LAU_KILL_AFTER_MS);
	lau_options_release(&o);
}
