/* processes.h - the processes below us: found by their parents in /proc, so that also those are
 * met that left the process group or the session. */
#pragma once

#include <sys/types.h>

struct b_str;

/* Orphans of the command become our children (PR_SET_CHILD_SUBREAPER), so that they can be
 * found and ended. */
void lau_processes_adopt(void);
/* Sends `signo` to every descendant of ours; returns how many there were. */
unsigned lau_processes_signal(int signo, pid_t except);
/* "1234 name, 1240 name": every living descendant. */
void lau_processes_list(struct b_str *out, pid_t except);
