/*
 * runs.h - the runs of this user that go on: list them, end one, wait for one. Linux.
 *
 * A run is alive while its supervisor holds the lock on the run's directory; the supervisor's
 * number is in run.json and is believed only while the lock is held. Runs that record nothing
 * (--audit-level none) have no directory and are not met here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A line, or a JSON object, for each. Returns the status of sbx-launch. */
int lau_runs_list(bool json);
/* Ends it as a timeout would (TERM, --kill-after, KILL) and waits until it has ended. `run`: an
 * id, a unique beginning of one, or "last". `timeout_ms` 0 = waits for ever; else 124. */
int lau_runs_stop(const char *run, uint64_t timeout_ms);
/* Waits, and returns the run's own status: at once when it has ended. */
int lau_runs_wait(const char *run, uint64_t timeout_ms);
