/*
 * guard.h - a process beside a run that has no pid namespace: when the supervisor is killed by
 * SIGKILL, it ends what the run leaves. What is the run's it knows by a mark that is inherited and
 * does nothing else: a hard limit on file locks (RLIMIT_LOCKS, without effect since Linux 2.4.25),
 * large beyond all use and different in each run. Parents and groups do not tell, once orphans have
 * gone to init(1).
 */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

/* Of a new run; 0 = none can be had: there is a limit already, perhaps another run's. */
rlim_t lau_guard_mark(void);
/* The caller and what it will start have the mark. The filter lets nobody change it. [AS-safe]
 */
void lau_guard_put(rlim_t mark);
/* In a session of its own, with nothing open; wait(2) does not return it without __WALL. -1 = none
 * could be made. */
pid_t lau_guard_start(rlim_t mark);
void lau_guard_stop(pid_t);
