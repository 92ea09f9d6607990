/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - runs and events as people read them. Pure: values to text. All that came from the
 * sandbox is escaped: no byte of it reaches the terminal as control. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct aud_counts;
struct aud_entry;
struct aud_run;
struct b_err;
struct b_str;

/* "23:24:01.123 denied read /home/u/.ssh/id  rule .ssh (preset:secrets:3:5)  cat[12] openat" */
void aud_show_entry(const struct aud_entry *, bool colour, struct b_str *out);
/* "read /home/u/.ssh/id", "modify ./a -> ./b"; "connect host:443  GET /x"; "call mount"
 * where the system-call filter refused it. */
void aud_show_refused(const struct aud_entry *, struct b_str *out);
/* A word as a shell would read it. */
void aud_show_word(const char *word, struct b_str *out);
/* One row of `sbx-audit runs`: id, end, denials, command. */
void aud_show_run_row(const struct aud_run *, struct b_str *out);
/* The same as one JSON line: run.json with `live` added; a run without one has its id alone. */
void aud_show_run_json(const struct aud_run *, struct b_str *out);
/* "status 0", "killed by SIGKILL", "timed out", "still running", "supervisor was killed",
 * "preload-only: its end is not recorded" */
void aud_show_end(const struct aud_run *, struct b_str *out);
/* "2026-11-27 23:24:01 UTC, for 1.500 s" */
void aud_show_when(const struct aud_run *, struct b_str *out);
/* The command as a shell would read it, on one line. */
void aud_show_command(const struct aud_run *, struct b_str *out);
/* "12 of 14 processes witnessed (1 static, 1 set-id)" */
void aud_show_coverage(const struct aud_run *, struct b_str *out);
/* What the log has of the calls that passed the broker, and who counted the others: lines that
 * begin with "complete  ". Nothing of a run that did not count them. */
void aud_show_complete(const struct aud_run *, struct b_str *out);
/* The same of counts made anew. */
void aud_show_recount(const struct aud_counts *, struct b_str *out);

/* One run on one screen: what `sbx-audit` prints without a command word. */

/* Reads the whole log. Lines that are no events are counted and named, not fatal. -1 only when
 * the log cannot be read. */
int aud_summary(const struct aud_run *, bool colour, struct b_str *out, struct b_err *err);

/* The same, for a caller that reads the lines. It passes `e` NULL for a line that is no event. */
struct aud_tally;
struct aud_tally *aud_tally_new(const struct aud_run *);
void aud_tally_line(struct aud_tally *, const struct aud_entry *e, uint64_t number);
void aud_tally_show(struct aud_tally *, bool colour, struct b_str *out);
void aud_tally_free(struct aud_tally *);
