/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h - what a server's answer means. Pure. The server is hostile: so much of what it says is
 * kept, nothing in it is followed, and it is shown as text.
 *
 *	struct ship_heard h = {0};
 *	ship_hear_head(&h, line, n), ship_hear_body(&h, p, n)	as it comes
 *	ship_judge(&h, 503, &answer);
 *	ship_heard_reset(&h);					before the next one
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define SHIP_ANSWER_MAX	 (64u << 10) /* bytes of head, and of body, that are read */
#define SHIP_WAIT_MAX_MS 300000

/* ACKNOWLEDGED: 200 to 204, and the answer names no exception. LATER: nobody answered, or the
 * server says that it is its own trouble (408, 425, 429, 5xx). REFUSED: all else. */
enum ship_outcome { SHIP_ACKNOWLEDGED, SHIP_LATER, SHIP_REFUSED };

struct ship_answer {
	enum ship_outcome outcome;
	long status;	  /* of HTTP, 0 = none */
	uint64_t wait_ms; /* Retry-After, at most SHIP_WAIT_MAX_MS; 0 = none */
	char text[400];	  /* what is wrong: one line, printable */
};

struct ship_heard {
	size_t head_bytes;
	uint64_t wait_ms;
	bool has_exception;
	struct b_str body;
};

void ship_heard_release(struct ship_heard *);
void ship_heard_reset(struct ship_heard *);
/* A line of the head; a piece of the body. false: that is more than is read. */
bool ship_hear_head(struct ship_heard *, const char *p, size_t n);
bool ship_hear_body(struct ship_heard *, const char *p, size_t n);
void ship_judge(const struct ship_heard *, long status, struct ship_answer *out);
/* Fills out->text with what is fit to be shown of it. */
void ship_answer_say(struct ship_answer *out, const char *text, size_t n);
