/*
 * reports.h - where the command is a child of the broker (Yama lets only ancestors look into a
 * process), the broker waits for it and tells the supervisor, which acts as if it were its own
 * child. docs/adr/012.
 *
 * Over one socket: the broker writes a status as wait(2) gives it, for a stop or the end; the
 * supervisor answers the end with a byte. Until then the broker does not reap the command: its
 * number, to which the supervisor sends signals, stays its own.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "launcher/supervise.h"

/* The supervisor's end. */
struct lau_reports {
	struct lau_watch watch; /* first; fd -1 = none */
	bool has_ended;
};
/* Takes the socket. */
void lau_reports_open(struct lau_reports *, int sock);
void lau_reports_close(struct lau_reports *);

/* The broker's. Its children are the command and what that has left. */
struct lau_wards {
	int sock;    /* -1: nobody listens any more */
	int signals; /* readable when a child has changed */
	pid_t command;
	bool is_told, may_reap; /* of the command's end */
};
/* With SIGCHLD blocked. 0 or -1 with errno. */
int lau_wards_open(struct lau_wards *, int sock, pid_t command);
/* What to poll(2) for; NULL = nothing, and so for the next. */
void lau_wards_poll(const struct lau_wards *, struct pollfd out[2]);
/* When one of the two can be read: takes what has changed. */
void lau_wards_take(struct lau_wards *);
/* Nobody is served any more: the end is told, if it was not, and heard of. */
void lau_wards_finish(struct lau_wards *);
