/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's table, held against what must be true of it. */
#include "launcher/supervise/supervise.h"

#include <stdbool.h>

#include <criterion/criterion.h>

/* From a state, the states it may lead to. A row left out of the table reads as LAU_ST_RUN. */
static const unsigned may_lead_to[LAU_STATE_COUNT] = {
	[LAU_ST_RUN] = 1u << LAU_ST_RUN | 1u << LAU_ST_TERM | 1u << LAU_ST_LEFT |
		       1u << LAU_ST_DONE | 1u << LAU_ST_KILL,
	[LAU_ST_TERM] =
		1u << LAU_ST_TERM | 1u << LAU_ST_KILL | 1u << LAU_ST_LEFT | 1u << LAU_ST_DONE,
	[LAU_ST_KILL] = 1u << LAU_ST_KILL | 1u << LAU_ST_LEFT_KILL | 1u << LAU_ST_DONE,
	[LAU_ST_LEFT] = 1u << LAU_ST_LEFT | 1u << LAU_ST_LEFT_KILL | 1u << LAU_ST_DONE,
	[LAU_ST_LEFT_KILL] = 1u << LAU_ST_LEFT_KILL | 1u << LAU_ST_DONE,
	[LAU_ST_DONE] = 1u << LAU_ST_DONE,
};

#define EACH(s, e)                                                                                 \
	for (unsigned s = 0; s < LAU_STATE_COUNT; s++)                                             \
		for (unsigned e = 0; e < LAU_EVENT_COUNT; e++)

Test(launcher_supervise_table, every_row_is_there)
{
	EACH(s, e)
	{
		cr_expect(may_lead_to[s] & 1u << lau_moves[s][e].next, "state %u event %u -> %u", s,
			  e, lau_moves[s][e].next);
	}
	/* rows of RUN that do nothing and stay would look like a hole */
	for (unsigned e = 0; e < LAU_EVENT_COUNT; e++)
		cr_expect(lau_moves[LAU_ST_RUN][e].doing ||
				  lau_moves[LAU_ST_RUN][e].next != LAU_ST_RUN,
			  "event %u", e);
}

Test(launcher_supervise_table, ends_whenever_nobody_is_left)
{
	for (unsigned s = 0; s < LAU_STATE_COUNT; s++)
		cr_expect_eq(lau_moves[s][LAU_EV_EMPTY].next, LAU_ST_DONE, "state %u", s);
}

Test(launcher_supervise_table, whoever_waits_has_a_timer)
{
	const unsigned arms = LAU_DO_ARM_GRACE | LAU_DO_ARM_SWEEP | LAU_DO_ARM_ROUND;

	EACH(s, e)
	{
		const struct lau_move *m = &lau_moves[s][e];

		if (m->next != s && m->next != LAU_ST_DONE)
			cr_expect(m->doing & arms, "state %u event %u", s, e);
	}
	/* and the timer's end arms the next one, or nothing would ever happen again */
	for (unsigned s = LAU_ST_RUN; s < LAU_ST_DONE; s++)
		cr_expect(lau_moves[s][LAU_EV_DEADLINE].doing & arms, "state %u", s);
}

Test(launcher_supervise_table, signals_reach_only_a_command_that_is_there)
{
	EACH(s, e)
	{
		if (lau_moves[s][e].doing & (LAU_DO_PASS_ON | LAU_DO_STOP_SELF))
			cr_expect(s == LAU_ST_RUN || s == LAU_ST_TERM, "state %u event %u", s, e);
	}
}

Test(launcher_supervise_table, kill_comes_after_term)
{
	EACH(s, e)
	{
		if (lau_moves[s][e].doing & LAU_DO_KILL)
			cr_expect(s != LAU_ST_RUN || e == LAU_EV_OVER, "event %u", e);
	}
}

Test(launcher_supervise_table, under_the_contract_all_is_there_as_well)
{
	const unsigned arms = LAU_DO_ARM_GRACE | LAU_DO_ARM_SWEEP | LAU_DO_ARM_ROUND;

	for (unsigned s = 0; s < LAU_EXEC_STATES; s++)
		for (unsigned e = 0; e < LAU_EVENT_COUNT; e++) {
			const struct lau_move *m = &lau_exec_moves[s][e];

			cr_expect((may_lead_to[s] | 1u << LAU_ST_LEFT_KILL) & 1u << m->next);
			cr_expect(m->doing || m->next != LAU_ST_RUN, "state %u event %u", s, e);
			if (m->next != s && m->next != LAU_ST_DONE)
				cr_expect(m->doing & arms, "state %u event %u", s, e);
			if (e == LAU_EV_EMPTY)
				cr_expect_eq(m->next, LAU_ST_DONE);
			if (e == LAU_EV_DEADLINE)
				cr_expect(m->doing & arms);
			/* KILL comes after TERM, but for what is left over, or too much */
			if (s == LAU_ST_RUN && e != LAU_EV_ENDED && e != LAU_EV_OVER)
				cr_expect_not(m->doing & LAU_DO_KILL, "event %u", e);
		}
}
