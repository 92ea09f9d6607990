/* SPDX-License-Identifier: Apache-2.0 */
/* http_body.c - see http_body.h. RFC 9112, 7.1. */
#include "egress/http_body.h"

#include <stdio.h>

#define DIGITS_MAX 15 /* hexadecimal: below 2^60 */

enum state {
	SIZE,
	EXTENSION,
	SIZE_LF,
	CHUNK,
	CHUNK_CR,
	CHUNK_LF,
	TRAILER,
	IN_TRAILER,
	TRAILER_LF,
	END_LF,
	OVER
};

void egr_body_begin(struct egr_body *b, enum egr_body_kind kind, uint64_t length)
{
	*b = (struct egr_body){.kind = kind, .state = SIZE};
	if (kind == EGR_BODY_LENGTH)
		b->left = length;
}

bool egr_body_may_end(const struct egr_body *b)
{
	switch (b->kind) {
	case EGR_BODY_TO_END:
	case EGR_BODY_NONE:
		return true;
	case EGR_BODY_LENGTH:
		return b->left == 0;
	case EGR_BODY_CHUNKED:
		return b->state == OVER;
	}
	return false;
}

size_t egr_body_front(size_t len, char out[EGR_BODY_FRONT])
{
	return (size_t)snprintf(out, EGR_BODY_FRONT, "%zx\r\n", len);
}

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_text(char c)
{
	unsigned char u = (unsigned char)c;

	return (u >= 0x20 || u == '\t') && u != 0x7f;
}

/* ---- chunks, a byte of their framing at a time ---- */

static bool step_size(struct egr_body *b, char c)
{
	int digit = hex_of(c);

	if (digit >= 0) {
		b->left = b->left << 4 | (uint64_t)digit;
		return ++b->ndigits <= DIGITS_MAX;
	}
	b->state = c == ';' ? EXTENSION : SIZE_LF;
	return b->ndigits > 0 && (c == ';' || c == '\r');
}

static bool step_extension(struct egr_body *b, char c)
{
	if (c == '\r')
		b->state = SIZE_LF;
	return (c == '\r' || is_text(c)) && ++b->line <= EGR_BODY_LINE;
}

static bool step_trailer(struct egr_body *b, char c)
{
	if (b->state == TRAILER && c == '\r')
		b->state = END_LF;
	else if (b->state == TRAILER)
		b->state = IN_TRAILER;
	else if (c == '\r')
		b->state = TRAILER_LF;
	return (c == '\r' || is_text(c)) && ++b->trailers <= EGR_BODY_TRAILER;
}

/* False: it is not where it should be. */
static bool step(struct egr_body *b, char c)
{
	switch ((enum state)b->state) {
	case SIZE:
		return step_size(b, c);
	case EXTENSION:
		return step_extension(b, c);
	case SIZE_LF:
		b->state = b->left ? CHUNK : TRAILER;
		return c == '\n';
	case CHUNK_CR:
		b->state = CHUNK_LF;
		return c == '\r';
	case CHUNK_LF:
		b->state = SIZE;
		b->ndigits = b->line = 0;
		return c == '\n';
	case TRAILER:
	case IN_TRAILER:
		return step_trailer(b, c);
	case TRAILER_LF:
		b->state = TRAILER;
		return c == '\n';
	case END_LF:
		b->state = OVER;
		return c == '\n';
	case CHUNK:
	case OVER:
		break;
	}
	return false;
}

static enum egr_body_said read_chunks(struct egr_body *b, const char *in, size_t n,
				      struct egr_piece *out)
{
	size_t i = 0;

	while (i < n && b->state != CHUNK && b->state != OVER)
		if (!step(b, in[i++])) {
			out->used = i;
			return EGR_BODY_BAD;
		}
	out->used = i;
	if (b->state == OVER)
		return EGR_BODY_END;
	if (b->state != CHUNK || i == n)
		return EGR_BODY_MORE;
	out->data = in + i;
	out->len = n - i < b->left ? n - i : (size_t)b->left;
	out->used += out->len;
	b->left -= out->len;
	if (!b->left)
		b->state = CHUNK_CR;
	return EGR_BODY_DATA;
}

enum egr_body_said egr_body_read(struct egr_body *b, const char *in, size_t n,
				 struct egr_piece *out)
{
	*out = (struct egr_piece){.data = in};
	if (b->kind == EGR_BODY_CHUNKED)
		return read_chunks(b, in, n, out);
	if (b->kind == EGR_BODY_NONE || (b->kind == EGR_BODY_LENGTH && !b->left))
		return EGR_BODY_END;
	if (!n)
		return EGR_BODY_MORE;
	out->len = b->kind == EGR_BODY_TO_END || n < b->left ? n : (size_t)b->left;
	out->used = out->len;
	if (b->kind == EGR_BODY_LENGTH)
		b->left -= out->len;
	return EGR_BODY_DATA;
}
