/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h - values as bytes for a reader of the same build, and back. The reader trusts nothing: a
 * read beyond the end, an impossible count, or a text with a NUL inside makes it bad, and it
 * stays bad. Do not use earlier values before b_unpack_done() has returned true.
 *
 *	b_pack_u64(&out, n);				writer
 *	b_pack_text(&out, name);
 *
 *	struct b_unpack in = b_unpack_from(&arena, data, len);
 *	n = b_unpack_u64(&in, INT_MAX);
 *	name = b_unpack_text(&in);
 *	if (!b_unpack_done(&in)) ... refuse
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_arena;
struct b_str;

/* ---- writing ---- */

void b_pack_u64(struct b_str *, uint64_t);
/* NULL and an empty value stay different. Padded, so that every value is at a multiple of eight. */
void b_pack_bytes(struct b_str *, const void *p, size_t n);
void b_pack_text(struct b_str *, const char *s); /* NULL as above */
/* The number, and the texts. */
void b_pack_texts(struct b_str *, char const *const *v, size_t n);
void b_pack_list(struct b_str *, char const *const *v); /* NULL-terminated; NULL = none */

/* ---- reading ---- */

struct b_unpack {
	struct b_arena *arena; /* texts and lists go there */
	const unsigned char *p;
	size_t left;
	bool is_bad;
};

struct b_unpack b_unpack_from(struct b_arena *, const void *data, size_t n);
/* A number above `max` makes the reader bad. A bad reader returns 0. */
uint64_t b_unpack_u64(struct b_unpack *, uint64_t max);
/* A number of things that take at least `size` bytes each: never more than there is room for. */
size_t b_unpack_count(struct b_unpack *, size_t size);
/* Borrowed from the data; NULL where NULL was packed. */
const void *b_unpack_bytes(struct b_unpack *, size_t *out_n);
char *b_unpack_text_or_null(struct b_unpack *);
/* NULL makes the reader bad. A bad reader returns "". */
char *b_unpack_text(struct b_unpack *);
/* NULL-terminated. A bad reader returns an empty list. */
char **b_unpack_list(struct b_unpack *);
/* Everything was read, and nothing was bad. */
bool b_unpack_done(const struct b_unpack *);
