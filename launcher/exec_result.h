/*
 * exec_result.h - how a supervised command ended, with what it wrote: the execution result of the
 * exec contract (docs/schema/exec-result.schema.json).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct lau_exec_io;
struct lau_outcome;

struct lau_exec_result {
	bool is_plain;		    /* set before: nothing is added to err, a cut is no end */
	bool success;		    /* ended by itself, with status 0 */
	struct b_str out, err;	    /* as they came, byte for byte, and what was added to err */
	bool has_exit_code;	    /* not after a timeout, nor when a signal of its own ended it */
	int exit_code;		    /* 128+n when we were told by signal n to end it */
	uint64_t duration_ms;	    /* from the start of the call to its return */
	const char *output;	    /* JSON text, the caller's to set; NULL = null. Borrowed */
	int signal;		    /* that ended the command, 0 = none */
	int interrupted;	    /* signal that asked us to end it, 0 = none */
	bool timed_out, was_killed; /* was_killed: TERM was not enough */
	bool out_is_cut, err_is_cut;
	struct b_err error; /* kind B_OK = none: it could not be run, or not be fed */
};
void lau_exec_result_release(struct lau_exec_result *);

/* "failed to spawn `PROGRAM`: REASON (os error N)", in place of what `err` said. */
int lau_exec_spawn_failed(const char *program, struct b_err *err);

/* Takes the streams out of *io, which must be finished, and adds to the errors what there is to
 * say. *io may be NULL: nothing was started. */
void lau_exec_result_fill(struct lau_exec_result *, const struct lau_outcome *,
			  struct lau_exec_io *io);

/* The bytes as text: what is not UTF-8 becomes U+FFFD, one for each longest piece that begins a
 * character (as the Encoding standard and most decoders have it). */
void lau_exec_text(const void *p, size_t n, struct b_str *out);

/* One JSON line. Streams that are no UTF-8 have their bytes beside them (stdout_b64). */
void lau_exec_result_json(const struct lau_exec_result *, struct b_str *out);
