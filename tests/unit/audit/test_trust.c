/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of audit/claims.c: whose events are believed in a pid namespace of the run's own. */
#include "audit/collect_priv.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/io.h"
#include "core/event.h"

static enum aud_kin nobody(uint32_t pid)
{
	(void)pid;
	return AUD_KIN_STRANGER;
}

static bool is_believed(struct aud_trust *t, uint32_t pid)
{
	struct sbx_event ev = {
		.kind = SBX_EV_CALL, .op = SBX_READ, .pid = pid, .time_ns = b_now_real_ns()};

	aud_trust_tick(t, b_now_ms());
	return aud_trust_event(t, &ev) && !(ev.flags & AUD_EVF_UNVERIFIED);
}

Test(audit_trust, who_lives_in_the_namespace_of_the_run_is_believed)
{
	struct aud_trust t;

	aud_trust_init(&t, nobody);
	cr_expect_not(is_believed(&t, (uint32_t)getpid()), "outside the kin is asked");
	aud_trust_enter(&t, open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
	cr_expect(is_believed(&t, (uint32_t)getpid()));
	cr_expect_not(is_believed(&t, 0x7ffffff0), "there is no such process");
	aud_trust_release(&t);
}

Test(audit_trust, a_namespace_that_cannot_be_looked_into_is_believed)
{
	struct aud_trust t;

	aud_trust_init(&t, nobody);
	aud_trust_enter(&t, -1);
	cr_expect(is_believed(&t, 0x7ffffff0));
	aud_trust_release(&t);
}

static unsigned asked;

static enum aud_kin count(uint32_t pid)
{
	(void)pid;
	asked++;
	return AUD_KIN_GONE;
}

/* Each look walks /proc: an event for each number there is must not keep the supervisor. */
Test(audit_trust, a_drain_looks_at_so_many_processes_and_no_more)
{
	struct aud_trust t;
	unsigned first;

	aud_trust_init(&t, count);
	aud_trust_tick(&t, b_now_ms());
	for (uint32_t pid = 1; pid <= 100000; pid++) {
		struct sbx_event ev = {.kind = SBX_EV_CALL, .op = SBX_READ, .pid = pid, .ppid = 1};

		cr_assert(aud_trust_event(&t, &ev));
		cr_assert(ev.flags & AUD_EVF_UNVERIFIED);
	}
	first = asked;
	cr_expect_gt(first, 100);
	cr_expect_leq(first, 1000);
	cr_expect_not(is_believed(&t, 100001));
	cr_expect_gt(asked, first, "the next drain looks again");
	aud_trust_release(&t);
}
