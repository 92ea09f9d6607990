/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/supervise/supervise.h"

#include <unistd.h>

#include <criterion/criterion.h>

#include "base/io.h"

static const char *written(const struct lau_outcome *o)
{
	static char text[2048];
	int fds[2];
	ssize_t n;

	cr_assert_eq(pipe(fds), 0);
	lau_outcome_write(o, fds[1]);
	close(fds[1]);
	n = b_read_full(fds[0], text, sizeof text - 1);
	close(fds[0]);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

Test(launcher_outcome, status_is_the_commands_own)
{
	cr_expect_eq(lau_outcome_status(
			     &(struct lau_outcome){.phase = LAU_PHASE_COMMAND, .exit_code = 7}),
		     7);
	cr_expect_eq(
		lau_outcome_status(&(struct lau_outcome){.phase = LAU_PHASE_COMMAND, .signal = 15}),
		143);
}

Test(launcher_outcome, late_runs_have_statuses_of_their_own)
{
	struct lau_outcome o = {.phase = LAU_PHASE_TIMEOUT, .exit_code = 0};

	cr_expect_eq(lau_outcome_status(&o), 124);
	o.was_killed = true;
	cr_expect_eq(lau_outcome_status(&o), 137);
}

Test(launcher_outcome, our_126_is_told_from_the_commands)
{
	struct lau_outcome ours = {.phase = LAU_PHASE_EXEC},
			   theirs = {.phase = LAU_PHASE_COMMAND, .exit_code = 126};

	b_fail(&ours.err, B_NOEXEC, 0, "no \"x\"");
	cr_expect_eq(lau_outcome_status(&ours), 126);
	cr_expect_str_eq(written(&ours), "{\"phase\":\"exec\",\"status\":126,\"signal\":null,"
					 "\"error\":{\"code\":\"E_NOEXEC\",\"message\":\"no "
					 "\\\"x\\\"\"}}\n");
	cr_expect_str_eq(written(&theirs), "{\"phase\":\"command\",\"status\":126,\"signal\":null,"
					   "\"error\":null}\n");
}
