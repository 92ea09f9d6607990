/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.h - one request to the server. What it answers is hostile: only so much of it is read, it is
 * never followed elsewhere, and shown as text.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct b_err;
struct ship_batch;
struct ship_config;
struct ship_post;

/* ACKNOWLEDGED: 200 to 204, and the answer names no exception. LATER: nobody answered, or the
 * server says that it is its own trouble (408, 425, 429, 5xx). REFUSED: all else. */
enum ship_outcome { SHIP_ACKNOWLEDGED, SHIP_LATER, SHIP_REFUSED };

struct ship_answer {
	enum ship_outcome outcome;
	long status;	  /* of HTTP, 0 = none */
	uint64_t wait_ms; /* Retry-After, at most five minutes; 0 = none */
	char text[400];	  /* what is wrong, printable */
};

#define SHIP_ANSWER_MAX (64u << 10) /* bytes of head, and of body, that are read */

/* `stop`: not 0 ends a request (LATER). Config must outlive it. NULL: B_SYSTEM. */
struct ship_post *ship_post_new(const struct ship_config *, const atomic_int *stop,
				struct b_err *err);
void ship_post_free(struct ship_post *);
void ship_post_send(struct ship_post *, const struct ship_batch *, struct ship_answer *out);
