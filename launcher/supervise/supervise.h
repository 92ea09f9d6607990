/* SPDX-License-Identifier: Apache-2.0 */
/* supervise.h - the loop beside a running command: signals, deadline, terminal, outcome, and the
 * processes that the command leaves running. `The supervisor` is the calling process. */
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

/* How a run ended: the exit status of sbx-launch, and --status-fd. */

/* How far it came. */
#define LAU_PHASES(X)                                                                              \
	X(SETUP, "setup")	      /* something before the command failed */                    \
	X(EXEC, "exec")		      /* the command could not be started */                       \
	X(COMMAND, "command")	      /* it ran and ended by itself */                             \
	X(TIMEOUT, "timeout")	      /* it ran too long */                                        \
	X(INTERRUPTED, "interrupted") /* a signal ended it (--result-json) */                      \
	X(ABORTED, "aborted")	      /* it ran and was ended by a failure of the supervisor */

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
	int interrupted;  /* the signal that asked the supervisor to end the run */
	struct b_err err; /* kind B_OK = none */
};

#define LAU_STATUS_TIMEOUT 124
#define LAU_STATUS_OURS	   125
#define LAU_STATUS_KILLED  137

/* The exit status of sbx-launch (sbx-launch(1), EXIT STATUS). */
int lau_outcome_status(const struct lau_outcome *);
/* Writes one JSON line {phase, status, signal, error} to `fd`, as the last act before the exit. If
 * the reader is gone, that is not an error (SIGPIPE is ignored from here). */
void lau_outcome_write(const struct lau_outcome *, int fd);

/*
 * The supervisor's signals, as events of a descriptor.
 *
 * All signals that a process may send are blocked and read from `fd`. The command's own mask and
 * its disposition of SIGCHLD are stored, and restored in the child.
 */

struct lau_signals {
	int fd; /* readable when a signal came */
	sigset_t old_mask;
	struct sigaction old_chld;
};

/* The value that `sbx-launch --stop` sends with SIGTERM (sigqueue(3)): the run must end, whatever
 * the command wants. */
#define LAU_STOP_VALUE 0x53425853

/* The same, sent by the capture of the output when the command has written too much. */
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
 * From the command's start to the end of the last process it left: one thread, one loop, one table.
 *
 * Terminal and job control. The command is in the supervisor's process group, as under env(1). The
 * calling shell made one group for its job, pipelines included, gave it the terminal, and takes the
 * terminal back from that group. A separate group would cut the command off from the terminal, or
 * the rest of the pipeline if the supervisor handed the terminal over. Therefore:
 *  - Signals of the terminal (Ctrl-C, Ctrl-\, Ctrl-Z, SIGWINCH, hang-up) reach the command
 *    directly. The supervisor does not pass them on, and does not end by them: the command decides.
 *    It passes them on only if the command has moved to another group (an interactive shell) and
 *    the terminal sends to the supervisor's.
 *  - Signals that a process sends to the supervisor (kill, timeout) are passed on. `kill -- -GROUP`
 *    therefore reaches the command twice: it looks like a signal to the supervisor alone.
 *  - Ctrl-Z does not stop the supervisor. When the command has stopped, after it has restored its
 *    terminal modes, the supervisor stops by the same signal. When it is continued, it continues
 *    the command.
 *  - A stopped supervisor cannot watch its deadline: the timer process below continues it.
 */

/* Takes events out of the ring. *out_poll_ms: milliseconds until the next call, -1 = never.
 * `final`: no process is left. Returns 0, or -1 if the log is required and cannot be written. */
typedef int lau_drain_fn(void *ctx, bool final, int *out_poll_ms, struct b_err *err);
/* Names processes that the command left running, one a line. */
typedef void lau_left_fn(void *ctx, const char *list);

/* Descriptors that the loop serves as well (linux/nested/nest.h): runs inside this one, or the
 * requester of this one. */
enum lau_watched {
	LAU_WATCH_NOTHING,
	LAU_WATCH_SIGNAL,  /* for the command */
	LAU_WATCH_CHANGED, /* the command: out->signo is its status, as wait(2) returns it */
	LAU_WATCH_OVER,	   /* the run must end */
	LAU_WATCH_ALONE	   /* the first process is the only one left in the pid namespace */
};

struct lau_watch {
	int fd; /* -1 = not now */
	enum lau_watched (*ready)(struct lau_watch *, struct lau_signal *out);
	void (*ended)(struct lau_watch *, pid_t child);	   /* NULL = not wanted */
	void (*end)(struct lau_watch *, int signo);	   /* TERM, KILL; NULL = none */
	void (*stopped)(struct lau_watch *, int signo);	   /* the command stopped; NULL */
	bool (*is_apart)(const struct lau_watch *, pid_t); /* a child that ends its own; NULL */
	bool (*has_child)(const struct lau_watch *);	   /* that wait(2) sees; NULL = never */
	/* True: the signal was meant for it, and does nothing else. NULL = none is. */
	bool (*takes)(struct lau_watch *, const struct lau_signal *);
};
#define LAU_WATCHES 7

struct lau_supervisor {
	const struct lau_signals *signals;
	pid_t command; /* a child, or one of the watches reports on it */
	pid_t wrap;    /* waited for in place of the command, which is not a child; 0 = none */
	pid_t broker;  /* 0 = none; ends by itself after the last process it serves */
	uint64_t deadline_ms; /* of b_now_ms(); 0 = none */
	uint64_t kill_after_ms;
	lau_drain_fn *drain; /* NULL = none */
	lau_left_fn *left;   /* NULL = none */
	void *ctx;
	pid_t timer; /* supervise.h; 0 = none */
	/* The first process of a pid namespace, 0 = none. The supervisor informs it when the
	 * command has ended; it ends by itself. It may still be ending when lau_supervise()
	 * returns: the caller waits for it. */
	pid_t init;
	/* The exec contract: the command leads its own process group, a signal that asks the
	 * supervisor to end ends the run, and no process outlives the command. */
	bool is_contract;
	bool is_hidden; /* no shell waits: a command that stops does not stop the supervisor */
	/* With is_contract: the group that has the terminal until the command reads from it, which
	 * stops the command (SIGTTIN, SIGTTOU). Then the command gets the terminal, until it ends
	 * or is stopped. */
	pid_t terminal_group;
	struct lau_exec_io *io; /* its streams; NULL = the supervisor does not serve them */
	struct lau_watch *watch[LAU_WATCHES]; /* NULL = none */
};

/* Returns when no process is left below the supervisor except `init` (or the rest cannot be
 * killed). *out has the phase COMMAND, TIMEOUT, INTERRUPTED, or ABORTED with the error of drain().
 * Without drain, left and io it allocates no memory, and may run in a child of a process with
 * threads. */
void lau_supervise(const struct lau_supervisor *, struct lau_outcome *out);

/*
 * The table: what the supervisor does in each state at each event, action[state][event], without
 * gaps. Pure; supervise.c performs the actions.
 */

enum lau_state {
	LAU_ST_RUN,	  /* the command runs */
	LAU_ST_TERM,	  /* time limit, or a failure: every process got TERM */
	LAU_ST_KILL,	  /* that was not enough: every process got KILL */
	LAU_ST_LEFT,	  /* the command ended; its leftovers got TERM */
	LAU_ST_LEFT_KILL, /* and KILL */
	LAU_ST_DONE,
	LAU_STATE_COUNT
};

enum lau_event {
	LAU_EV_ENDED,	   /* the command ended, others are still there */
	LAU_EV_EMPTY,	   /* no process is left */
	LAU_EV_STOPPED,	   /* the command was stopped */
	LAU_EV_SIGNAL,	   /* a signal that does not ask the supervisor to end */
	LAU_EV_END_SIGNAL, /* INT, TERM, HUP, QUIT */
	LAU_EV_STOP, /* --stop, or the outer run: the run must end, whatever the command wants */
	LAU_EV_DEADLINE, /* the timer that is armed */
	LAU_EV_FAILED,	 /* the log is required and cannot be written */
	LAU_EV_OVER,	 /* more was written than is captured */
	LAU_EVENT_COUNT
};

/* The actions, performed in this order. */
#define LAU_DO_NOTHING	 0u
#define LAU_DO_PASS_ON	 0x001u /* the signal to the command */
#define LAU_DO_STOP_SELF 0x002u /* so that the calling shell sees a stopped job */
#define LAU_DO_NOTE_LATE 0x004u /* the run timed out */
#define LAU_DO_NOTE_KILL 0x008u /* TERM was not enough */
#define LAU_DO_LIST_LEFT 0x010u /* name the leftovers (-v) */
#define LAU_DO_TERM	 0x020u /* every process below: TERM, CONT */
#define LAU_DO_KILL	 0x040u /* every process below: KILL */
#define LAU_DO_ARM_GRACE 0x080u /* deadline: --kill-after */
#define LAU_DO_ARM_SWEEP 0x100u /* deadline: LAU_SWEEP_MS */
#define LAU_DO_ARM_ROUND 0x200u /* deadline: LAU_ROUND_MS, at most LAU_ROUNDS times */
#define LAU_DO_NOTE_INT	 0x400u /* the signal interrupted the run, and takes the place of TERM */

#define LAU_BROKER_MS 20 /* a broker without callers has ended by then */
#define LAU_FINISH_MS                                                                              \
	11000		  /* more than a broker needs to finish its calls (notify.c: END_MS)       \
			   */
#define LAU_SWEEP_MS 1000 /* between TERM and KILL for leftovers */
#define LAU_ROUND_MS 50	  /* a process that forks while it is killed is met by the next round */
#define LAU_ROUNDS   40 /* then processes that cannot be killed (sleeping in the kernel) are left */

struct lau_move {
	enum lau_state next;
	unsigned doing;
};

/* As a prefix, which the command hardly notices. */
extern const struct lau_move lau_moves[LAU_STATE_COUNT][LAU_EVENT_COUNT];
/* Under the exec contract (exec.h) a signal that asks the supervisor to end ends the command, and
 * leftovers get no time. The states after these are the same. */
#define LAU_EXEC_STATES (LAU_ST_TERM + 1)
extern const struct lau_move lau_exec_moves[LAU_EXEC_STATES][LAU_EVENT_COUNT];

/* Which process group may read from the terminal. */

/* Gives the terminal from one group of this session to another. False if `from` does not have it
 * (0 = any group), or there is no terminal. [AS-safe] */
bool lau_foreground_give(pid_t from, pid_t to);

/*
 * The timer: a process that continues the supervisor at its deadline. A supervisor that was stopped
 * with its command (`kill -STOP 0`, SIGSTOP for the command, Ctrl-Z) can end nothing. The timer has
 * its own session, and no open descriptors.
 */

/* `deadline_ms`: a value of b_now_ms(). Call it before the command starts, which could stop the
 * supervisor at once. Returns its number; -1 = none could be made. wait(2) does not return it
 * without
 * __WALL. */
pid_t lau_timer_start(uint64_t deadline_ms);
void lau_timer_stop(pid_t);

/*
 * The guard: a process for a run without a pid namespace. When the supervisor is killed by SIGKILL,
 * the guard ends the run's processes. It identifies them by an inherited mark that does nothing
 * else: a hard limit on file locks (RLIMIT_LOCKS, without effect since Linux 2.4.25), far larger
 * than any use, and different in each run. Parents and groups would not identify orphans that have
 * gone to init(1).
 */

/* A mark for a new run. 0 = impossible: there is a limit already, perhaps another run's. */
rlim_t lau_guard_mark(void);
/* Whether a mark is possible, or there is one already. */
bool lau_guard_can(void);
/* Gives the mark to the caller, and to every process that it starts later. The filter refuses every
 * change of it. [AS-safe] */
void lau_guard_put(rlim_t mark);
/* The guard has its own session, and no open descriptors. wait(2) does not return it without
 * __WALL. If it is killed, the supervisor starts another, as long as it serves `watch`. */
struct lau_guard {
	struct lau_watch watch; /* first */
	pid_t pid;		/* 0 = none */
	rlim_t mark;
};
#define LAU_GUARD_INIT                                                                             \
	{                                                                                          \
		.watch.fd = -1                                                                     \
	}
/* Does nothing if no guard can be made. */
void lau_guard_start(struct lau_guard *, rlim_t mark);
void lau_guard_stop(struct lau_guard *);

/* The processes below the supervisor, found by their parents in /proc: also those that left the
 * process group or the session. */

/* Orphans of the command become children of the caller (PR_SET_CHILD_SUBREAPER), so that it can
 * find and end them. */
void lau_processes_adopt(void);
/* Whether this system has that. Otherwise only the rest of a process group can be found. */
bool lau_processes_can_adopt(void);
/* True if there is no process below the caller, and every one would be visible. Then no process
 * with rights of the run is left. */
bool lau_processes_none(void);
/* Children of the supervisor that serve the run: 0 = none. */
struct lau_servants {
	pid_t broker, timer;
	pid_t wrap; /* whose death would kill the command at once */
	pid_t init; /* of a pid namespace: when it dies, the kernel kills every process in it */
	/* A process group of the run that is signalled as a whole, first: no process is born into
	 * it meanwhile. If orphans are adopted, its leader must not have been waited for. */
	pid_t group;
	/* Children that end the processes below themselves: neither they nor those get the signal.
	 * NULL = none. */
	bool (*is_apart)(const void *ctx, pid_t child);
	const void *ctx;
};
/* Sends `signo` to every descendant of the caller except those. Returns how many there were. */
unsigned lau_processes_signal(int signo, const struct lau_servants *);
/* Linux: kills all processes with this mark, whatever their parent, until none can have been
 * missed; for 30 s at most. [AS-safe] */
void lau_processes_end_marked(rlim_t mark);
/* Appends "1234 name\n1240 name\n": living descendants except those, at most LAU_LIST_MAX, then how
 * many more there are. */
#define LAU_LIST_MAX 20
void lau_processes_list(struct b_str *out, const struct lau_servants *);

/*
 * Resource limits and two signals that would end the launcher silently, and a umask that would
 * close its own files to it. The launcher changes them for itself, and restores them in the child.
 *
 * It raises a soft limit to the hard one, because the files that it makes for a run are not the
 * command's output. The command gets the limits with which the launcher was started.
 */

/* Descriptors that a launch, its broker and its record may need at once. */
#define LAU_FILES_NEEDED 64

struct lau_limits {
	struct rlimit files, size; /* RLIMIT_NOFILE, RLIMIT_FSIZE as found */
	struct sigaction xfsz, pipe;
	mode_t umask;		  /* as found */
	struct lau_bounds bounds; /* for the command; those of resource limits */
	rlim_t beside; /* processes of the launcher that the kernel counts with the command's */
	bool has_cgroup;
	int cgroup;  /* of lau_cgroup_enter() */
	rlim_t mark; /* supervise.h; 0 = none */
	/* In a run inside a run: each RLIMIT_* of the requester, for the command. The launcher has
	 * not taken over those of lau_limits_keeps(): the command's limits must not cut the record.
	 * NULL = no such run. */
	const struct rlimit *given;
};

/* Call it first. From here a file that would grow too large is an error (EFBIG) instead of SIGXFSZ,
 * and so is standard error without a reader (EPIPE) instead of SIGPIPE. B_LIMIT if the hard limit
 * of open files is below LAU_FILES_NEEDED. */
int lau_limits_raise(struct lau_limits *, struct b_err *err);
bool lau_limits_keeps(int which);
/* In the child, right before execve. [AS-safe] */
void lau_limits_restore(const struct lau_limits *);
/* In the broker: files that it makes larger for the command get the command's limit. [AS-safe] */
void lau_limits_share(const struct lau_limits *);
/* In the child, before it is confined: enters its cgroup, takes the mark, restores the umask. 0, or
 * -1 with B_LIMIT. [AS-safe] */
int lau_limits_enter(const struct lau_limits *, struct b_err *err);
/* After lau_limits_restore(): sets the command's limits, unless tighter ones exist. 0, or -1 with
 * B_LIMIT. [AS-safe] */
int lau_limits_apply(const struct lau_limits *, struct b_err *err);

/*
 * The runs of this user that have not ended: list them, end one, wait for one. Linux.
 *
 * A run is alive while its supervisor has the lock on the run's directory. The supervisor's number
 * is in run.json, and is believed only while the lock is taken. Runs that record nothing
 * (--audit-level none) have no directory, and these calls do not find them.
 */

/* Prints a line, or a JSON object, for each. Returns the exit status for sbx-launch. */
int lau_runs_list(bool json);
/* Ends a run as a timeout would (TERM, --kill-after, KILL), and waits until it has ended. `run`: an
 * id, a unique beginning of one, or "last". `timeout_ms`: 0 = waits for ever; later it returns
 * 124. */
int lau_runs_stop(const char *run, uint64_t timeout_ms);
/* Waits for a run, and returns its status: at once if it has ended. */
int lau_runs_wait(const char *run, uint64_t timeout_ms);
/* Has a --reloadable run read its rules on endpoints again, and waits until they hold: 0; 125: they
 * are refused, and why is said. */
int lau_runs_reload(const char *run, uint64_t timeout_ms);
