/*
 * supervise.h - from the command's start to the end of the last process it left: one thread,
 * one loop, one table (supervise_table.h).
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
 *  - Stopped, we cannot keep a deadline: launcher/timer.h continues us then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher/outcome.h"
#include "launcher/signals.h"

struct b_err;
struct lau_exec_io;

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
	LAU_WATCH_OVER	   /* the run is to end */
};

struct lau_watch {
	int fd; /* -1 = not now */
	enum lau_watched (*ready)(struct lau_watch *, struct lau_signal *out);
	void (*ended)(struct lau_watch *, pid_t child);	     /* NULL = of no interest */
	void (*end)(struct lau_watch *, int signo);	     /* TERM, KILL: NULL = nobody */
	void (*stopped)(struct lau_watch *, int signo);	     /* the command; NULL = we stop */
	bool (*is_apart)(const struct lau_watch *, pid_t);   /* a child that ends its own; NULL */
};
#define LAU_WATCHES 4

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
	pid_t timer; /* timer.h; 0 = none */
	pid_t init;  /* of a pid namespace, 0 = none; told when the command ended, ends alone */
	/* The exec contract: the command leads a process group of its own, signals that ask us to
	 * end are obeyed, and nothing outlives the command. */
	bool is_contract;
	bool is_hidden; /* no shell waits for us: a command that stops does not stop us */
	/* With is_contract: who has the terminal until the command asks for it by reading, which
	 * stops it (SIGTTIN, SIGTTOU). Then the command has it, to its end or until it is stopped.
	 */
	pid_t terminal_group;
	struct lau_exec_io *io; /* its streams, NULL = not ours */
	struct lau_watch *watch[LAU_WATCHES]; /* NULL = none */
};

/* Returns when no process is left below us (or cannot be killed). *out has phase COMMAND,
 * TIMEOUT, INTERRUPTED, or ABORTED with the error of drain(). Takes no memory, and so may run in a
 * child of a process with threads, when it has neither drain, left nor io. */
void lau_supervise(const struct lau_supervisor *, struct lau_outcome *out);
