/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_body.h - where the body of an HTTP/1 message ends, found piece by piece: nothing of it is
 * kept, however long it is. Chunks are read strictly, and written anew by who sends them on;
 * their extensions and trailers go no further.
 *
 *	egr_body_begin(&b, head.body, head.length);
 *	while ((said = egr_body_read(&b, in, n, &piece)) == EGR_BODY_DATA) {
 *		... piece.data, piece.len go on; in += piece.used, n -= piece.used ...
 *	}
 *	MORE: all n bytes were used.  END: piece.used bytes were the body's, the rest is the next
 *	message's.  BAD: no reader after this one may be let guess; close both ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/http_head.h"

#define EGR_BODY_LINE	 256u  /* bytes of the line in front of a chunk */
#define EGR_BODY_TRAILER 8192u /* bytes of all trailers */

enum egr_body_said { EGR_BODY_MORE, EGR_BODY_DATA, EGR_BODY_END, EGR_BODY_BAD };

struct egr_body {
	enum egr_body_kind kind;
	unsigned state;	   /* of chunks */
	uint64_t left;	   /* bytes of the body, or of the chunk */
	unsigned ndigits;  /* of the chunk's size */
	unsigned line;	   /* bytes of the line, */
	unsigned trailers; /* and of all trailers */
};

struct egr_piece {
	size_t used;	  /* of the bytes that were given, framing included */
	const char *data; /* DATA: part of them */
	size_t len;	  /* at least 1 */
};

void egr_body_begin(struct egr_body *, enum egr_body_kind, uint64_t length);
enum egr_body_said egr_body_read(struct egr_body *, const char *in, size_t n,
				 struct egr_piece *out);
/* The sender has closed its end: was that the end of the body? */
bool egr_body_may_end(const struct egr_body *);

/* Writes the line that a chunk of `len` bytes begins with, and returns its length. The writer ends
 * each chunk with CR LF, and the body with EGR_BODY_LAST. */
#define EGR_BODY_FRONT 20
#define EGR_BODY_LAST  "0\r\n\r\n"
size_t egr_body_front(size_t len, char out[EGR_BODY_FRONT]);
