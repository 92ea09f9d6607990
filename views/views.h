/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views.h - the questions that people ask of a record, one function each. All read the log once,
 * from its beginning to its end, and add text to `v->out`; nothing that came from the sandbox
 * reaches a terminal as control.
 *
 *	struct view v = {.run = &run, .root = root, .out = &text, .write = put};
 *	status = view_denials(&v, &err);	1 something, 0 nothing, -1 trouble
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/read_log.h"
#include "audit/read_run.h"

struct b_err;
struct b_str;

enum view_format {
	VIEW_LINES,
	VIEW_JSONL,
	VIEW_OCSF,
	VIEW_ORBIT,
	VIEW_TRACE,
	VIEW_SRT,
	VIEW_OPENSHELL
};
#define VIEW_FORMATS "|jsonl|ocsf|orbit|chrome-trace|srt|openshell"

struct view {
	const struct aud_run *run;
	const struct aud_run *other; /* diff */
	const char *root;	     /* of the runs */
	bool json, colour, follow;
	uint64_t last;		/* tail: lines */
	const char *expression; /* grep */
	struct b_str *out;
	/* Writes what is in `out` and empties it; -1 = nobody reads any more. */
	int (*write)(struct b_str *out, struct b_err *err);
	uint64_t bad, first_bad; /* lines that are no events, and where the first one is */
	const char *why;	 /* it is none */
};

/* Lets the text go when much of it waits. */
int view_flush(struct view *, struct b_err *err);
/* The next event, AUD_READ_END or -1; lines that are none are counted. */
int view_next(struct view *, struct aud_reader *, struct b_err *err);
/* The path as an absolute one: "./x" is of the first workspace. */
void view_absolute(const struct aud_run *, const char *path, struct b_str *out);
/* Did the call do what it says? A modify that failed, or was refused, changed nothing; nor does a
 * program's own word of one count where a broker served the run. */
bool view_is_done(const struct aud_entry *);
/* For a line: \xNN for what a terminal would act upon. */
void view_text(struct b_str *out, const char *s);
/* The path, where the scratch directory, which has another name each time, is TMPDIR. Appends. */
void view_steady_path(const char *path, struct b_str *out);

/* What was refused, grouped: how often, by which programs, the rule, and the option that opens;
 * what no earlier run here was refused comes first. */
int view_denials(struct view *, struct b_err *err);
/* What is different on the disk: A created, M modified, D removed, R renamed; what came and went is
 * counted. Whether a file was new is asked of the file system. */
int view_changes(struct view *, struct b_err *err);
/* The processes: who started whom with which words, what each changed or was refused. */
int view_tree(struct view *, struct b_err *err);
/* What one run did and the other did not. */
int view_diff(struct view *, struct b_err *err);
/* Events that an expression is true of (grep.c). B_USAGE. */
int view_grep(struct view *, struct b_err *err);
/* Of all runs, those that say what they belong to; `expression`: with this in it. */
int view_calls(struct view *, struct b_err *err);
int view_stats(struct view *, struct b_err *err);
/* The last lines; `follow`: and what comes, until the run ends. */
int view_tail(struct view *, struct b_err *err);
/* The log as it is. */
int view_cat(struct view *, struct b_err *err);
/* The events that the filter lets through, for other programs. */
int view_export(struct view *, enum view_format, const struct aud_filter *, struct b_err *err);
/* A policy under which the runs would pass again. */
struct view_learn {
	const struct aud_run *runs;
	size_t n;
	const char *from; /* view_tighten(): a policy in YAML */
};
int view_learn(struct view *, const struct view_learn *, struct b_err *err);
/* That policy without the grants that the runs made no use of, which are comments then. B_FORMAT.
 */
int view_tighten(struct view *, const struct view_learn *, struct b_err *err);
/* One self-contained page. */
int view_report(struct view *, struct b_err *err);
