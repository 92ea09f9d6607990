/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row.h - a line of a log, and a run, as rows for a table: JSONEachRow, one object a line. Pure.
 *
 * A row of events is found by (host, run_id, no); `no` is the number of the line in the log, which
 * in every whole record is its seq. The columns are those of docs/fleet/tables.sql; one that is
 * absent is empty or 0. Text that is not UTF-8 is escaped; numbers fit 64 bits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct aud_entry;
struct aud_line;
struct aud_run;
struct b_str;

/* Longest line that is sent whole; of a longer one, which no collector writes, the beginning. */
#define SHIP_LINE_MAX (128u << 10)
/* A run.json that is longer is left out of the row of its run. */
#define SHIP_INFO_MAX (64u << 10)

/* What the rows of one batch of one run share. */
struct ship_row_of {
	const char *host, *run_id;
	uint64_t batch; /* number of the first line of the batch */
};

/* An event, by its line and what was read of it (read_log.h). */
void ship_row_event(const struct ship_row_of *, uint64_t no, const struct aud_line *,
		    const struct aud_entry *, struct b_str *out);
/* A line that is none: kind `unreadable`, with its text. */
void ship_row_unreadable(const struct ship_row_of *, uint64_t no, const struct aud_line *,
			 struct b_str *out);

/* The higher one counts where a run has several rows. */
enum ship_run_state { SHIP_RUN_GOES_ON, SHIP_RUN_ENDED, SHIP_RUN_REMOVED };

/* A run. `lines`: that its log has, all of which were sent before. */
void ship_row_run(const char *host, const struct aud_run *, enum ship_run_state, uint64_t lines,
		  struct b_str *out);
/* One whose record was removed before all of it was sent. */
void ship_row_removed(const char *host, const char *run_id, uint64_t lines, struct b_str *out);
