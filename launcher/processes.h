/* processes.h - the processes below us: found by their parents in /proc, so that also those are
 * met that left the process group or the session. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct b_str;

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
/* Linux: kills all processes, whoever's children, that have this mark (guard.h); how many there
 * were. [AS-safe] */
unsigned lau_processes_kill_marked(rlim_t mark);
/* "1234 name\n1240 name\n": living descendants but those, at most LAU_LIST_MAX, then how many
 * more there are. */
#define LAU_LIST_MAX 20
void lau_processes_list(struct b_str *out, const struct lau_servants *);
