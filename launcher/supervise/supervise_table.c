/* SPDX-License-Identifier: Apache-2.0 */
/* supervise_table.c - what a supervisor does in each state, and how a run ends. */
#include "launcher/supervise/supervise.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

/* A hole would read as {LAU_ST_RUN, nothing}: the
 * unit test holds every row against the states it may lead to. */

#define NOTE_LATE_TERM (LAU_DO_NOTE_LATE | LAU_DO_TERM | LAU_DO_ARM_GRACE)

const struct lau_move lau_moves[LAU_STATE_COUNT][LAU_EVENT_COUNT] =
	{
		[LAU_ST_RUN] =
			{
				[LAU_EV_ENDED] = {LAU_ST_LEFT, LAU_DO_LIST_LEFT | LAU_DO_TERM |
								       LAU_DO_ARM_SWEEP},
				[LAU_EV_EMPTY] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_STOPPED] = {LAU_ST_RUN, LAU_DO_STOP_SELF},
				[LAU_EV_SIGNAL] = {LAU_ST_RUN, LAU_DO_PASS_ON},
				[LAU_EV_END_SIGNAL] = {LAU_ST_RUN, LAU_DO_PASS_ON},
				[LAU_EV_STOP] = {LAU_ST_TERM, LAU_DO_TERM | LAU_DO_ARM_GRACE},
				[LAU_EV_DEADLINE] = {LAU_ST_TERM, NOTE_LATE_TERM},
				[LAU_EV_FAILED] = {LAU_ST_TERM, LAU_DO_TERM | LAU_DO_ARM_GRACE},
				[LAU_EV_OVER] = {LAU_ST_KILL, LAU_DO_KILL | LAU_DO_ARM_ROUND},
			},
		[LAU_ST_TERM] =
			{
				/* what the command leaves has had its TERM, but may have been born
				   since */
				[LAU_EV_ENDED] = {LAU_ST_LEFT, LAU_DO_TERM | LAU_DO_ARM_SWEEP},
				[LAU_EV_EMPTY] = {LAU_ST_DONE, LAU_DO_NOTHING},
				/* a stopped process cannot handle TERM; TERM continues it */
				[LAU_EV_STOPPED] = {LAU_ST_TERM, LAU_DO_TERM},
				[LAU_EV_SIGNAL] = {LAU_ST_TERM, LAU_DO_PASS_ON},
				[LAU_EV_END_SIGNAL] = {LAU_ST_TERM, LAU_DO_PASS_ON},
				[LAU_EV_STOP] = {LAU_ST_TERM, LAU_DO_NOTHING},
				[LAU_EV_DEADLINE] = {LAU_ST_KILL, LAU_DO_NOTE_KILL | LAU_DO_KILL |
									  LAU_DO_ARM_ROUND},
				[LAU_EV_FAILED] = {LAU_ST_TERM, LAU_DO_NOTHING},
				[LAU_EV_OVER] = {LAU_ST_KILL, LAU_DO_KILL | LAU_DO_ARM_ROUND},
			},
		[LAU_ST_KILL] =
			{
				[LAU_EV_ENDED] = {LAU_ST_LEFT_KILL, LAU_DO_KILL | LAU_DO_ARM_ROUND},
				[LAU_EV_EMPTY] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_STOPPED] = {LAU_ST_KILL, LAU_DO_NOTHING},
				[LAU_EV_SIGNAL] = {LAU_ST_KILL, LAU_DO_NOTHING},
				[LAU_EV_END_SIGNAL] = {LAU_ST_KILL, LAU_DO_NOTHING},
				[LAU_EV_STOP] = {LAU_ST_KILL, LAU_DO_NOTHING},
				[LAU_EV_DEADLINE] = {LAU_ST_KILL, LAU_DO_KILL | LAU_DO_ARM_ROUND},
				[LAU_EV_FAILED] = {LAU_ST_KILL, LAU_DO_NOTHING},
				[LAU_EV_OVER] = {LAU_ST_KILL, LAU_DO_NOTHING},
			},
		[LAU_ST_LEFT] =
			{
				[LAU_EV_ENDED] = {LAU_ST_LEFT, LAU_DO_NOTHING},
				[LAU_EV_EMPTY] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_STOPPED] = {LAU_ST_LEFT, LAU_DO_NOTHING},
				[LAU_EV_SIGNAL] = {LAU_ST_LEFT, LAU_DO_NOTHING},
				/* the user signalled again, and the command has ended: no more
				 * grace time */
				[LAU_EV_END_SIGNAL] = {LAU_ST_LEFT_KILL,
						       LAU_DO_KILL | LAU_DO_ARM_ROUND},
				[LAU_EV_STOP] = {LAU_ST_LEFT_KILL, LAU_DO_KILL | LAU_DO_ARM_ROUND},
				[LAU_EV_DEADLINE] = {LAU_ST_LEFT_KILL,
						     LAU_DO_KILL | LAU_DO_ARM_ROUND},
				[LAU_EV_FAILED] = {LAU_ST_LEFT, LAU_DO_NOTHING},
				[LAU_EV_OVER] = {LAU_ST_LEFT, LAU_DO_NOTHING},
			},
		[LAU_ST_LEFT_KILL] =
			{
				[LAU_EV_ENDED] = {LAU_ST_LEFT_KILL, LAU_DO_NOTHING},
				[LAU_EV_EMPTY] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_STOPPED] = {LAU_ST_LEFT_KILL, LAU_DO_NOTHING},
				[LAU_EV_SIGNAL] = {LAU_ST_LEFT_KILL, LAU_DO_NOTHING},
				[LAU_EV_END_SIGNAL] = {LAU_ST_LEFT_KILL, LAU_DO_NOTHING},
				[LAU_EV_STOP] = {LAU_ST_LEFT_KILL, LAU_DO_NOTHING},
				[LAU_EV_DEADLINE] = {LAU_ST_LEFT_KILL,
						     LAU_DO_KILL | LAU_DO_ARM_ROUND},
				[LAU_EV_FAILED] = {LAU_ST_LEFT_KILL, LAU_DO_NOTHING},
				[LAU_EV_OVER] = {LAU_ST_LEFT_KILL, LAU_DO_NOTHING},
			},
		[LAU_ST_DONE] =
			{
				[LAU_EV_ENDED] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_EMPTY] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_STOPPED] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_SIGNAL] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_END_SIGNAL] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_STOP] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_DEADLINE] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_FAILED] = {LAU_ST_DONE, LAU_DO_NOTHING},
				[LAU_EV_OVER] = {LAU_ST_DONE, LAU_DO_NOTHING},
			},
};

const struct lau_move lau_exec_moves[LAU_EXEC_STATES][LAU_EVENT_COUNT] = {
	[LAU_ST_RUN] =
		{
			/* an orphan that holds a pipe of the run would make it as long as itself */
			[LAU_EV_ENDED] = {LAU_ST_LEFT_KILL,
					  LAU_DO_LIST_LEFT | LAU_DO_KILL | LAU_DO_ARM_ROUND},
			[LAU_EV_EMPTY] = {LAU_ST_DONE, LAU_DO_NOTHING},
			[LAU_EV_STOPPED] = {LAU_ST_RUN, LAU_DO_STOP_SELF},
			[LAU_EV_SIGNAL] = {LAU_ST_RUN, LAU_DO_PASS_ON},
			[LAU_EV_END_SIGNAL] = {LAU_ST_TERM,
					       LAU_DO_NOTE_INT | LAU_DO_TERM | LAU_DO_ARM_GRACE},
			[LAU_EV_STOP] = {LAU_ST_TERM, LAU_DO_TERM | LAU_DO_ARM_GRACE},
			[LAU_EV_DEADLINE] = {LAU_ST_TERM, NOTE_LATE_TERM},
			[LAU_EV_FAILED] = {LAU_ST_TERM, LAU_DO_TERM | LAU_DO_ARM_GRACE},
			[LAU_EV_OVER] = {LAU_ST_KILL, LAU_DO_KILL | LAU_DO_ARM_ROUND},
		},
	[LAU_ST_TERM] =
		{
			/* the grace is the whole group's; who was born meanwhile has heard of
			   nothing yet */
			[LAU_EV_ENDED] = {LAU_ST_TERM, LAU_DO_TERM},
			[LAU_EV_EMPTY] = {LAU_ST_DONE, LAU_DO_NOTHING},
			[LAU_EV_STOPPED] = {LAU_ST_TERM, LAU_DO_TERM},
			[LAU_EV_SIGNAL] = {LAU_ST_TERM, LAU_DO_PASS_ON},
			[LAU_EV_END_SIGNAL] = {LAU_ST_TERM, LAU_DO_NOTHING},
			[LAU_EV_STOP] = {LAU_ST_TERM, LAU_DO_NOTHING},
			[LAU_EV_DEADLINE] = {LAU_ST_KILL,
					     LAU_DO_NOTE_KILL | LAU_DO_KILL | LAU_DO_ARM_ROUND},
			[LAU_EV_FAILED] = {LAU_ST_TERM, LAU_DO_NOTHING},
			[LAU_EV_OVER] = {LAU_ST_KILL, LAU_DO_KILL | LAU_DO_ARM_ROUND},
		},
};

/* ---- how a run ended ---- */

int lau_outcome_status(const struct lau_outcome *o)
{
	switch (o->phase) {
	case LAU_PHASE_COMMAND:
		return o->signal ? 128 + o->signal : o->exit_code;
	case LAU_PHASE_TIMEOUT:
		return o->was_killed ? LAU_STATUS_KILLED : LAU_STATUS_TIMEOUT;
	case LAU_PHASE_INTERRUPTED:
		return 128 + o->interrupted;
	case LAU_PHASE_SETUP:
	case LAU_PHASE_EXEC:
	case LAU_PHASE_ABORTED:
	case LAU_PHASE_COUNT:
		break;
	}
	return b_kind_status(o->err.kind);
}

void lau_outcome_write(const struct lau_outcome *o, int fd)
{
#define X(name, text) [LAU_PHASE_##name] = text,
	static const char *const phase[LAU_PHASE_COUNT] = {LAU_PHASES(X)};
#undef X
	b_auto(b_str_release) struct b_str line = {0};
	struct b_json j = {.out = &line};

	b_json_open(&j, '{');
	b_json_key(&j, "phase");
	b_json_str(&j, phase[o->phase]);
	b_json_key(&j, "status");
	b_json_i64(&j, lau_outcome_status(o));
	b_json_key(&j, "signal");
	if (o->signal)
		b_json_i64(&j, o->signal);
	else
		b_json_null(&j);
	b_json_key(&j, "error");
	if (o->err.kind == B_OK) {
		b_json_null(&j);
	} else {
		b_json_open(&j, '{');
		b_json_key(&j, "code");
		b_json_str(&j, b_kind_code(o->err.kind));
		b_json_key(&j, "message");
		b_json_str(&j, o->err.msg);
		b_json_close(&j, '}');
	}
	b_json_close(&j, '}');
	b_str_addc(&line, '\n');
	(void)signal(SIGPIPE, SIG_IGN);
	(void)b_write_all(fd, line.s, line.len);
}

/* Tcsetpgrp(3). */

bool lau_foreground_give(pid_t from, pid_t to)
{
	b_auto_fd int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	sigset_t one, before;
	bool done;

	if (tty < 0 || (from && tcgetpgrp(tty) != from))
		return false;
	/* who does not have it and gives it away is stopped, unless he does not listen */
	sigemptyset(&one);
	sigaddset(&one, SIGTTOU);
	sigprocmask(SIG_BLOCK, &one, &before);
	done = tcsetpgrp(tty, to) == 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return done;
}
