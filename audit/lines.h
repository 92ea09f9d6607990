/*
 * lines.h - a log, line by line, in bounded memory.
 *
 *	while ((got = aud_lines_next(&l, &line, &err)) > 0) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_err;

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
