/* outcome.h - how a run ended, and what sbx-launch says of it: exit status and --status-fd. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

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

/* The exit status of sbx-launch (DESIGN §7). */
int lau_outcome_status(const struct lau_outcome *);
/* One JSON line {phase, status, signal, error} to `fd`, as the last thing before the exit; a reader
 * that is gone is no error (SIGPIPE is ignored from here). */
void lau_outcome_write(const struct lau_outcome *, int fd);
