/* SPDX-License-Identifier: Apache-2.0 */
/* audit_verbs.h - what the words of sbx-audit do; sbx-audit.c has their table and the options. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

struct b_err;
struct b_str;

/* grep's grammar */
enum { FOUND, NOTHING, TROUBLE };

enum { LINES = 20 /* of tail */ };

struct audit_options {
	bool json, help, version, follow;
	int format; /* enum view_format */
	uint64_t lines, keep_runs, keep_bytes, compress_above;
	const char *from;
	const char *output;
	int op, verdict; /* -1 = any */
	struct b_strlist globs;
	uint64_t pid;
	bool has_pid;
	const char *kind;
	struct b_strlist words;
	int completion; /* enum b_shell, -1 = none */
};

typedef int audit_verb(const struct audit_options *, const char *root);
audit_verb audit_summary, audit_runs, audit_grep, audit_calls, audit_diff, audit_learn,
	audit_report, audit_prune, audit_show, audit_verify, audit_schema, audit_denials,
	audit_changes, audit_tree, audit_stats, audit_tail, audit_cat;

/* Reports it; gives TROUBLE. */
int audit_fail(const struct b_err *);
/* To standard output. A reader that went away (head, less) is no trouble of ours. */
int audit_put(const struct b_str *, struct b_err *);
