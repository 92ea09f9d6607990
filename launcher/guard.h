/*
 * guard.h - a process beside a run that has no pid namespace: when the supervisor is killed by
 * SIGKILL, it ends what the run leaves. What is the run's it knows by a mark that is inherited and
 * does nothing else: a hard limit on file locks (RLIMIT_LOCKS, without effect since Linux 2.4.25),
 * large beyond all use and different in each run. Parents and groups do not tell, once orphans have
 * gone to init(1).
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "launcher/supervise.h"

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
