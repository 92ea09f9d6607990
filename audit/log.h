/* log.h - the log file of a run: buffered, chained lines. Private to the audit module. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/str.h"

struct b_err;

/* `prev` of a line is the SHA-256 of the line before, its newline not counted; of the first
 * line it is AUD_CHAIN_START. */
#define AUD_CHAIN_START "0000000000000000000000000000000000000000000000000000000000000000"

struct aud_log {
	int fd; /* -1: none, or given up */
	bool failed;
	int error; /* errno of the failure */
	uint64_t bytes; /* of all lines so far */
	uint64_t pending_lines;
	uint64_t dropped_lines; /* lines a failed write swallowed */
	struct b_str buf;
	char hash[B_SHA256_HEX];
};

void aud_log_init(struct aud_log *, int fd);
void aud_log_release(struct aud_log *);
/* Is there a log that takes lines? */
static inline bool aud_log_open(const struct aud_log *l)
{
	return l->fd >= 0 && !l->failed;
}
/* The line from `start` of buf to its end is complete: hashes it; writes when much is waiting. */
void aud_log_line(struct aud_log *, size_t start);
/* Writes what is waiting. After a failure the log is closed to lines: a chain with a torn line
 * in the middle would look like tampering. */
void aud_log_flush(struct aud_log *);
