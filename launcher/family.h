/*
 * family.h - a run with all runs inside of it, which one command may make as many of as it likes:
 * together they have so much room for their records, and are counted. Memory that the outermost
 * supervisor shares with its guests, and theirs; no command has it.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct b_err;

#define LAU_FAMILY_RUNS	 5000		/* runs inside of one */
#define LAU_FAMILY_BYTES (512ull << 20) /* of their logs */

struct lau_family {
	char id[40];		/* of the outermost run */
	_Atomic unsigned runs;	/* inside, so far */
	_Atomic uint64_t bytes; /* of their logs, and what those that live may still write */
};

/* NULL when there is no memory. */
struct lau_family *lau_family_new(const char *id);
void lau_family_free(struct lau_family *);
/* One more run inside: *out_room is what its log may have, to be given back. B_AUDIT when there is
 * no room left. */
int lau_family_join(struct lau_family *, uint64_t *out_room, struct b_err *err);
/* Its log has `used` bytes, and gets no more. */
void lau_family_leave(struct lau_family *, uint64_t room, uint64_t used);
