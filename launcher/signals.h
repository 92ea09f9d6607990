/*
 * signals.h - the supervisor's signals, as events of a descriptor.
 *
 * All signals that somebody may send are blocked and read from `fd`; what the command inherits
 * (mask, and SIGCHLD's disposition) is kept aside and put back in the child.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct b_err;

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
