/* SPDX-License-Identifier: Apache-2.0 */
/* read_log.h - the log of a finished run, read back: lines, questions, the chain. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "core/image.h"

struct aud_line;
struct aud_run;
struct b_err;
struct json_t;

/* One line of a log, read back; and the questions `sbx-audit show` asks of it. Pure. */

/* Strings are borrowed from `json`, never NULL ("" = absent); paths are exact bytes. */
struct aud_entry {
	struct json_t *json;
	const char *kind, *op, *path, *path2, *matched_rule, *rule, *call, *exe, *image, *ts,
		*reason;
	char *exact, *exact2;	       /* decoded path_b64, path2_b64: owned */
	int64_t pid, ppid, err, count; /* count: calls the line stands for, at least 1 */
	int64_t lost, corrupt, abandoned;
	bool has_verdict, allowed, disagrees, unverified;
};

/* 0, or -1 with *out_why: not JSON, not an object, no kind. */
int aud_entry_parse(const struct aud_line *, struct aud_entry *out, const char **out_why);
void aud_entry_release(struct aud_entry *);

enum aud_verdict_filter { AUD_ANY_VERDICT = -1, AUD_ONLY_ALLOWED, AUD_ONLY_DENIED };

struct aud_filter {
	int op;			  /* enum sbx_op, -1 = any */
	int verdict;		  /* enum aud_verdict_filter */
	const char *const *globs; /* one must match the path or the second path; none = any */
	size_t nglobs;
	int64_t pid;		       /* -1 = any */
	const char *kind;	       /* NULL = any */
	const char *const *workspaces; /* for absolute globs on paths shown as ./x */
	size_t nworkspaces;
};
bool aud_filter_match(const struct aud_filter *, const struct aud_entry *);

/*
 * A log, line by line, in bounded memory.
 *
 *	while ((got = aud_lines_next(&l, &line, &err)) > 0) ...
 */

/* The longest line the collector writes: two paths and an executable of PATH_MAX, each escaped
 * (5 bytes a byte) and in base64. */
#define AUD_LINE_MAX (128u << 10)

struct aud_lines {
	int fd;
	char *path; /* for messages */
	char *buf;
	size_t start, end; /* of what is read and not given out */
	uint64_t number;   /* of the line last given out, from 1 */
	bool eof;
};

struct aud_line {
	const char *s; /* borrowed until the next call; no newline; not NUL-terminated */
	size_t len;
	bool too_long; /* cut: the rest was passed over */
	bool torn;     /* the file ends without a newline here */
};

int aud_lines_open(struct aud_lines *, const char *path, struct b_err *err);
/* 1, 0 at the end, -1. */
int aud_lines_next(struct aud_lines *, struct aud_line *out, struct b_err *err);
void aud_lines_release(struct aud_lines *);

/* Does the chain of a log hold? Pure but for reading the file. */

struct aud_verify {
	uint64_t lines;
	bool is_unchained;	 /* preload-only: nobody chains, and nothing can be said */
	uint64_t broken_line;	 /* the first whose `prev` or `seq` is wrong; 0 = none */
	const char *why;	 /* static text, when broken_line */
	char hash[B_SHA256_HEX]; /* of the last line */
	bool has_final;		 /* run.json names the hash of the last line */
	bool final_matches;
};

int aud_verify(const struct aud_run *, struct aud_verify *out, struct b_err *err);
