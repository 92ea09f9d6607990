/* SPDX-License-Identifier: Apache-2.0 */
/* supervise.h - the loop beside a running command: signals, deadline, terminal, outcome, and
 * what is left over. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "launcher/plan/plan.h"

struct b_err;
struct b_str;
struct lau_exec_io;

/* How a run ended, and what sbx-launch says of it: exit status and --status-fd. */

/* How far it came. */
#define LAU_PHASES(X)                                                                              \
	X(SETUP, "setup")	      /* something before the command failed */                    \
	X(EXEC, "exec")		      /* the command could not be started */                       \
	X(COMMAND, "command")	      /* it ran and ended by itself */                             \
	X(TIMEOUT, "timeout")	      /* it ran too long */                                        \
	X(INTERRUPTED, "interrupted") /* we were told by a signal to end it (--result-json) */     \
	X(ABORTED, "aborted")	      /* it ran and was ended by our failure */

enum lau_phase {
#define X(name, text) LAU_PHASE_##name,
	LAU_PHASES(X)
#undef X
		LAU_PHASE_COUNT
};

struct lau_outcome {
	enum lau_phase phase;
	int exit_code;	  /* of the command, when it exited */
	int signal;	  /* that ended the command, 0 = none */
	bool was_killed;  /* TERM, or what interrupted it, was not enough */
	int interrupted;  /* signal that we were told by */
	struct b_err err; /* kind B_OK = none */
};

#define LAU_STATUS_TIMEOUT 124
#define LAU_STATUS_OURS	   125
#define LAU_STATUS_KILLED  137

/* The exit status of sbx-launch (sbx-launch(1), EXIT STATUS). */
int lau_outcome_status(const struct lau_outcome *);
/* One JSON line {phase, status, signal, error} to `fd`, as the last thing before the exit; a reader
 * that is gone is no error (SIGPIPE is ignored from here). */
void lau_outcome_write(const struct lau_outcome *, int fd);

/*
 * The supervisor's signals, as events of a descriptor.
 *
 * All signals that somebody may send are blocked and read from `fd`; what the command inherits
 * (mask, and SIGCHLD's disposition) is kept aside and put back in the child.
 */

struct lau_signals {
	int fd; /* readable when something came */
	sigset_t old_mask;
	struct sigaction old_chld;
};

/* The value that `sbx-launch --stop` sends with SIGTERM (sigqueue(3)): the run is to end, and the
 * command is not asked. */
#define LAU_STOP_VALUE 0x53425853

/* The same of what captures the command's output, which has become too much. */
#define LAU_OVER_VALUE 0x53425854

struct lau_signal {
	int signo;
	bool is_stop, is_over; /* with the values above */
	bool from_kernel;      /* typed at the terminal, or sent by it: not by a process */
	pid_t sender;
};

int lau_signals_open(struct lau_signals *, struct b_err *err);
/* In the child, right before execve. [AS-safe] */
void lau_signals_restore(const struct lau_signals *);
/* 1 and *out, or 0 when none is left. */
int lau_signals_next(const struct lau_signals *, struct lau_signal *out);
/* Stops this process by `signo` (TSTP, TTIN, TTOU, STOP) as if it had never been blocked;
 * returns when it was continued. */
void lau_signals_stop_self(int signo);
void lau_signals_close(struct lau_signals *);

/*
 * From the command's start to the end of the last process it left: one thread,
 * one loop, one table (supervise.h).
 *
 * Terminal and job control. The command shares our process group, as it does under env(1): the
 * shell around us made one group for its job, pipelines included, gave it the terminal, and
 * takes it back by that group; a group of its own for the command would cut it off from the
 * terminal, or the rest of the pipeline when we handed the terminal over. So
 *  - what the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z, SIGWINCH, hang-up) reaches the command by
 *    itself: it is not passed on, and does not end us: the command decides. Only when the
 *    command has moved to a group of its own (an interactive shell) and we are the one the
 *    terminal talks to, it is passed on;
 *  - what a process sends to us (kill, timeout) is passed on. `kill -- -GROUP` so reaches the
 *    command twice: nothing tells it from a signal to us alone;
 *  - Ctrl-Z does not stop us: when the command has stopped, after it has put its terminal modes
 *    back, we stop by the same signal. Continued, we continue the command.
 *  - Stopped, we cannot keep a deadline: launcher/supervise/supervise.h continues us then.
 */

/* Takes events out of the ring; *out_poll_ms = when to come back, -1 = never. `final`: no
 * process is left. -1 when the log is required and cannot be written. */
typedef int lau_drain_fn(void *ctx, bool final, int *out_poll_ms, struct b_err *err);
/* Names processes that the command left running, one a line. */
typedef void lau_left_fn(void *ctx, const char *list);

/* Others that the loop serves (linux/nest.h): runs inside this one, or who asked for this one. */
enum lau_watched {
	LAU_WATCH_NOTHING,
	LAU_WATCH_SIGNAL,  /* for the command */
	LAU_WATCH_CHANGED, /* the command: out->signo is its status, as of wait(2) */
	LAU_WATCH_OVER,	   /* the run is to end */
	LAU_WATCH_ALONE	   /* the first process of the pid namespace: nobody else is left in it */
};

struct lau_watch {
	int fd; /* -1 = not now */
	enum lau_watched (*ready)(struct lau_watch *, struct lau_signal *out);
	void (*ended)(struct lau_watch *, pid_t child);	   /* NULL = of no interest */
	void (*end)(struct lau_watch *, int signo);	   /* TERM, KILL: NULL = nobody */
	void (*stopped)(struct lau_watch *, int signo);	   /* the command; NULL = we stop */
	bool (*is_apart)(const struct lau_watch *, pid_t); /* a child that ends its own; NULL */
	bool (*has_child)(const struct lau_watch *);	   /* that wait(2) sees; NULL = never */
};
#define LAU_WATCHES 6

struct lau_supervisor {
	const struct lau_signals *signals;
	pid_t command;	      /* a child, or one of the watches tells of it */
	pid_t wrap;	      /* waited for in place of the command, which is no child; 0 = none */
	pid_t broker;	      /* 0 = none; ends by itself after the last process it serves */
	uint64_t deadline_ms; /* of b_now_ms(); 0 = none */
	uint64_t kill_after_ms;
	lau_drain_fn *drain; /* NULL = none */
	lau_left_fn *left;   /* NULL = none */
	void *ctx;
	pid_t timer; /* supervise.h; 0 = none */
	/* Of a pid namespace, 0 = none; told when the command ended, ends alone. One that has said
	 * so may still be ending when all is over: to be waited for. */
	pid_t init;
	/* The exec contract: the command leads a process group of its own, signals that ask us to
	 * end are obeyed, and nothing outlives the command. */
	bool is_contract;
	bool is_hidden; /* no shell waits for us: a command that stops does not stop us */
	/* With is_contract: who has the terminal until the command asks for it by reading, which
	 * stops it (SIGTTIN, SIGTTOU). Then the command has it, to its end or until it is stopped.
	 */
	pid_t terminal_group;
	struct lau_exec_io *io;		      /* its streams, NULL = not ours */
	struct lau_watch *watch[LAU_WATCHES]; /* NULL = none */
};

/* Returns when no process is left below us (or cannot be killed), but for `init`. *out has phase
 * COMMAND, TIMEOUT, INTERRUPTED, or ABORTED with the error of drain(). Takes no memory, and so may
 * run in a child of a process with threads, when it has neither drain, left nor io. */
void lau_supervise(const struct lau_supervisor *, struct lau_outcome *out);

/*
 * What the supervisor does when: action[state][event], without holes. Pure;
 * supervise.c carries the actions out.
 */

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

#define LAU_BROKER_MS 20 /* a broker that serves nobody any more has ended by then */
#define LAU_FINISH_MS                                                                              \
	11000		  /* more than it takes at most to do what was begun (notify.c: END_MS)    \
			   */
#define LAU_SWEEP_MS 1000 /* between TERM and KILL for what the command left running */
#define LAU_ROUND_MS 50	  /* a process that forks while it is killed is met by the next round */
#define LAU_ROUNDS   40	  /* then what cannot be killed (sleeping in the kernel) is left */

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

/* Which process group may read from the terminal. */

/* From one group of our session to another: false when `from` does not have it (0 = whoever has),
 * or there is no terminal. [AS-safe] */
bool lau_foreground_give(pid_t from, pid_t to);

/*
 * A process beside the supervisor that continues it when its deadline has come: stopped
 * with its command (`kill -STOP 0`, SIGSTOP for the command, Ctrl-Z) it cannot end anything. In
 * a session of its own, with nothing open.
 */

/* At b_now_ms() = `deadline_ms`. Before the command is started, which could stop us at once. -1 =
 * none could be made. wait(2) does not return it without __WALL. */
pid_t lau_timer_start(uint64_t deadline_ms);
void lau_timer_stop(pid_t);

/*
 * A process beside a run that has no pid namespace: when the supervisor is killed by
 * SIGKILL, it ends what the run leaves. It identifies the run's processes by an inherited mark that
 * does nothing else: a hard limit on file locks (RLIMIT_LOCKS, without effect since Linux 2.4.25),
 * large beyond all use and different in each run. Parents and groups do not tell, once orphans have
 * gone to init(1).
 */

/* Of a new run; 0 = none can be had: there is a limit already, perhaps another run's. */
rlim_t lau_guard_mark(void);
/* Can there be one, or is there one already? */
bool lau_guard_can(void);
/* The caller and what it will start have the mark. The filter lets nobody change it. [AS-safe]
 */
void lau_guard_put(rlim_t mark);
/* In a session of its own, with nothing open; wait(2) does not return it without __WALL. One that
 * is killed is followed by another, as long as the supervisor looks at `watch`. */
struct lau_guard {
	struct lau_watch watch; /* first */
	pid_t pid;		/* 0 = none */
	rlim_t mark;
};
#define LAU_GUARD_INIT                                                                             \
	{                                                                                          \
		.watch.fd = -1                                                                     \
	}
/* Nothing, where none can be made. */
void lau_guard_start(struct lau_guard *, rlim_t mark);
void lau_guard_stop(struct lau_guard *);

/* The processes below us: found by their parents in /proc, so that also those are
 * met that left the process group or the session. */

/* Orphans of the command become our children (PR_SET_CHILD_SUBREAPER), so that they can be
 * found and ended. */
void lau_processes_adopt(void);
/* Does this system have that? Else what is left of a group is all that can be found. */
bool lau_processes_can_adopt(void);
/* Is nobody below us, and would be here who were? Then no process has rights of the run left. */
bool lau_processes_none(void);
/* Children of ours that serve the run: 0 = none. */
struct lau_servants {
	pid_t broker, timer;
	pid_t wrap; /* whose death would kill the command at once */
	pid_t init; /* of a pid namespace: what it is killed with, the kernel kills in it */
	/* A process group of the run that is signalled as a whole, first: nobody is born into it
	 * while that happens. Its leader must not have been waited for, where orphans are adopted.
	 */
	pid_t group;
	/* Children that end what is below them themselves: not signalled, nor anybody below; NULL =
	 * none. */
	bool (*is_apart)(const void *ctx, pid_t child);
	const void *ctx;
};
/* Sends `signo` to every descendant of ours but those; returns how many there were. */
unsigned lau_processes_signal(int signo, const struct lau_servants *);
/* Linux: kills all processes, whoever's children, that have this mark, until nobody can have been
 * missed; for 30 s at most. [AS-safe] */
void lau_processes_end_marked(rlim_t mark);
/* "1234 name\n1240 name\n": living descendants but those, at most LAU_LIST_MAX, then how many
 * more there are. */
#define LAU_LIST_MAX 20
void lau_processes_list(struct b_str *out, const struct lau_servants *);

/*
 * The resource limits and the two signals that would end the launcher without a word, and a umask
 * that would shut us out of our own files: what it takes from their owner is put back in the child.
 *
 * A soft limit is raised to the hard one for ourselves (what we make for a run is no output of
 * the command's); the command gets back what we were started with.
 */

/* Descriptors that a launch, its broker and its record may need at once. */
#define LAU_FILES_NEEDED 64

struct lau_limits {
	struct rlimit files, size; /* RLIMIT_NOFILE, RLIMIT_FSIZE as found */
	struct sigaction xfsz, pipe;
	mode_t umask;		  /* as found */
	struct lau_bounds bounds; /* for the command; only what resource limits hold counts */
	rlim_t beside;		  /* processes of ours that are counted with its own */
	bool has_cgroup;
	int cgroup;  /* of lau_cgroup_enter() */
	rlim_t mark; /* supervise.h; 0 = none */
	/* In a run inside a run, of each RLIMIT_*: the requester's, for the command. Those that
	 * lau_limits_keeps() names have not become ours: what is recorded must not end with what
	 * the command may do. NULL = no such run. */
	const struct rlimit *given;
};

/* First of all: from here a file that would grow too large is an error (EFBIG), not SIGXFSZ, and
 * that nobody reads what is said on standard error no reason to end (EPIPE), not SIGPIPE.
 * B_LIMIT when the hard limit of open files is below LAU_FILES_NEEDED. */
int lau_limits_raise(struct lau_limits *, struct b_err *err);
bool lau_limits_keeps(int which);
/* In the child, right before execve. [AS-safe] */
void lau_limits_restore(const struct lau_limits *);
/* In the broker: of what it makes larger for the command the kernel is to judge as of the command's
 * own. [AS-safe] */
void lau_limits_share(const struct lau_limits *);
/* In the child, before it is confined: into its cgroup, marked, with its umask. B_LIMIT. [AS-safe]
 */
int lau_limits_enter(const struct lau_limits *, struct b_err *err);
/* After lau_limits_restore(): its own limits, or tighter ones that there are. B_LIMIT. [AS-safe] */
int lau_limits_apply(const struct lau_limits *, struct b_err *err);

/*
 * The runs of this user that go on: list them, end one, wait for one. Linux.
 *
 * A run is alive while its supervisor holds the lock on the run's directory; the supervisor's
 * number is in run.json and is believed only while the lock is held. Runs that record nothing
 * (--audit-level none) have no directory and are not met here.
 */

/* A line, or a JSON object, for each. Returns the status of sbx-launch. */
int lau_runs_list(bool json);
/* Ends it as a timeout would (TERM, --kill-after, KILL) and waits until it has ended. `run`: an
 * id, a unique beginning of one, or "last". `timeout_ms` 0 = waits for ever; else 124. */
int lau_runs_stop(const char *run, uint64_t timeout_ms);
/* Waits, and returns the run's own status: at once when it has ended. */
int lau_runs_wait(const char *run, uint64_t timeout_ms);
