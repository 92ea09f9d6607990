/* exec_signals.h - SIGINT and SIGTERM of this process, for as long as somebody waits for a run.
 * Private to exec.h. */
#pragma once

#include <stdint.h>

struct b_err;

/* The first puts the handlers in place, the last puts the old ones back. *out_mark: from here on.
 * B_SYSTEM, and nothing is changed. [MT-safe] */
int lau_exec_signals_hold(uint64_t *out_mark, struct b_err *err);
void lau_exec_signals_drop(void);
/* The latest signal that came after the mark, or 0. [MT-safe] */
int lau_exec_signals_since(uint64_t mark);
