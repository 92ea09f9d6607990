/*
 * supervise_table.h - what the supervisor does when: action[state][event], without holes. Pure;
 * supervise.c carries the actions out.
 */
#pragma once

enum lau_state {
	LAU_ST_RUN,	  /* the command runs */
	LAU_ST_TERM,	  /* too long, or our failure: everything got TERM */
	LAU_ST_KILL,	  /* that was not enough: everything got KILL */
	LAU_ST_LEFT,	  /* the command ended; what it left running got TERM */
	LAU_ST_LEFT_KILL, /* and KILL */
	LAU_ST_DONE,
	LAU_STATE_COUNT
};

enum lau_event {
	LAU_EV_ENDED,	   /* the command ended, others are still there */
	LAU_EV_EMPTY,	   /* nobody is left */
	LAU_EV_STOPPED,	   /* the command was stopped */
	LAU_EV_SIGNAL,	   /* a signal that does not ask us to end */
	LAU_EV_END_SIGNAL, /* INT, TERM, HUP, QUIT */
	LAU_EV_STOP,	   /* somebody else wants the run to end, whatever the command wants */
	LAU_EV_DEADLINE,   /* the timer that is armed */
	LAU_EV_FAILED,	   /* the log is required and cannot be written */
	LAU_EV_OVER,	   /* more was written than is captured */
	LAU_EVENT_COUNT
};

/* What to do, in this order. */
#define LAU_DO_NOTHING	 0u
#define LAU_DO_PASS_ON	 0x001u /* the signal to the command */
#define LAU_DO_STOP_SELF 0x002u /* so that the shell around us sees a stopped job */
#define LAU_DO_NOTE_LATE 0x004u /* the run timed out */
#define LAU_DO_NOTE_KILL 0x008u /* TERM was not enough */
#define LAU_DO_LIST_LEFT 0x010u /* name what is left running (-v) */
#define LAU_DO_TERM	 0x020u /* everything below us: TERM, CONT */
#define LAU_DO_KILL	 0x040u /* everything below us: KILL */
#define LAU_DO_ARM_GRACE 0x080u /* deadline: --kill-after */
#define LAU_DO_ARM_SWEEP 0x100u /* deadline: LAU_SWEEP_MS */
#define LAU_DO_ARM_ROUND 0x200u /* deadline: LAU_ROUND_MS, at most LAU_ROUNDS times */
#define LAU_DO_NOTE_INT	 0x400u /* the signal interrupted the run, and takes the place of TERM */

#define LAU_BROKER_MS 20   /* a broker that serves nobody any more has ended by then */
#define LAU_SWEEP_MS  1000 /* between TERM and KILL for what the command left running */
#define LAU_ROUND_MS  50   /* a process that forks while it is killed is met by the next round */
#define LAU_ROUNDS    40   /* then what cannot be killed (sleeping in the kernel) is left */

struct lau_move {
	enum lau_state next;
	unsigned doing;
};

/* As a prefix, which the command hardly notices. */
extern const struct lau_move lau_moves[LAU_STATE_COUNT][LAU_EVENT_COUNT];
/* Under the exec contract (exec.h) what tells us to end ends the command, and what that leaves gets
 * no time; after these states all is alike. */
#define LAU_EXEC_STATES (LAU_ST_TERM + 1)
extern const struct lau_move lau_exec_moves[LAU_EXEC_STATES][LAU_EVENT_COUNT];
