/* SPDX-License-Identifier: Apache-2.0 */
/* read_log.h - the log of a finished run, read back: lines, questions, the chain. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/entry.h"
#include "base/mem.h"
#include "base/sha256.h"

struct aud_line;
struct aud_run;
struct b_err;

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
	struct aud_unpack *packed; /* NULL: it is as it was written */
	char *path;		   /* for messages */
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

/*
 * The events of one run: lines of others in a file that several share are passed over, and what a
 * line leaves to the line that started its process is filled in (exe, ppid).
 *
 *	while ((got = aud_reader_next(&r, &err)) > 0)
 *		if (got == AUD_READ_EVENT) ... r.e ...
 */

enum { AUD_READ_END, AUD_READ_EVENT, AUD_READ_BAD };

struct aud_reader {
	const struct aud_run *run;
	bool is_brokered; /* a broker served the run: what it did is the broker's to say */
	struct aud_lines l;
	struct aud_line line;
	struct aud_entry e;
	const char *why;	      /* AUD_READ_BAD: what is wrong with the line */
	struct aud_image *images;     /* uthash, by seq */
	struct b_arena names;	      /* of images, as long as the reader: e.exe is one of them */
	const struct aud_image *last; /* of the line before: most lines are of the same */
};

/* B_AUDIT when the log cannot be read. A run that got no log has no events. */
int aud_reader_open(struct aud_reader *, const struct aud_run *, struct b_err *err);
int aud_reader_next(struct aud_reader *, struct b_err *err);
void aud_reader_release(struct aud_reader *);

/* Does the chain of a log hold (chain.h)? Pure but for reading files. */

struct aud_verify {
	uint64_t lines;
	bool is_unchained;	 /* preload-only: nobody chains, and nothing can be said */
	bool is_keyless;	 /* version 1: whoever may write the log can make all of it anew */
	uint64_t broken_line;	 /* the first that is wrong; 0 = none */
	char why[120];		 /* when broken_line */
	uint64_t broken_more;	 /* places after that one */
	char hash[B_SHA256_HEX]; /* of the last line */
	bool has_final;		 /* run.json names the hash of the last line */
	bool final_matches;
};

/*
 * The same check, for a caller that reads the lines itself, one after another.
 *
 *	struct aud_check *c = aud_check_new(root, run);
 *	... aud_check_line(c, &line, &entry, NULL, number, &err) ...
 *	aud_check_end(c, &verify);
 *	aud_check_free(c);
 */
struct aud_check;
struct aud_check *aud_check_new(const char *root, const struct aud_run *);
/* `why`: the reason why the line is no event; the call then ignores `e`. NULL: it is one. */
int aud_check_line(struct aud_check *, const struct aud_line *, const struct aud_entry *e,
		   const char *why, uint64_t number, struct b_err *err);
void aud_check_end(struct aud_check *, struct aud_verify *out);
void aud_check_free(struct aud_check *);

/* `root`: of the runs, where the key is. B_NOTFOUND: there is no key for such a log. */
int aud_verify(const char *root, const struct aud_run *run, struct aud_verify *out,
	       struct b_err *err);
/* The same with a key, and a log that is at `path`. */
int aud_verify_with(const unsigned char *key, const struct aud_run *run, const char *path,
		    struct aud_verify *out, struct b_err *err);
