/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.h - texts as numbers: each different text is there once, and has the next number from 0.
 * Counts over a hundred thousand names of a log are in arrays, by these numbers.
 *
 *	struct b_intern names = {.n = 0};
 *	n = b_intern(&names, text, len);
 *	... b_interned(&names, n) ...
 *	b_intern_release(&names);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct b_intern_slot {
	uint32_t hash, at; /* at: place in `texts`, in units, from 1; 0 = free */
};

/* A lookup costs two cache misses: the slot, then the text, with its number beside it. */
struct b_intern {
	char *texts;
	size_t used, room; /* bytes */
	uint32_t *places;  /* by number */
	size_t n, cap;
	struct b_intern_slot *slots; /* a power of two, half full at most */
	size_t nslots;
};

#define B_INTERN_NONE UINT32_MAX

/* The text's number; a text that was not there is added. */
uint32_t b_intern(struct b_intern *, const void *text, size_t len);
/* The number, or B_INTERN_NONE. */
uint32_t b_intern_find(const struct b_intern *, const void *text, size_t len);
/* The text of a number, with a NUL behind it; good until the next text is added. */
const char *b_interned(const struct b_intern *, uint32_t number);
size_t b_interned_len(const struct b_intern *, uint32_t number);
void b_intern_release(struct b_intern *);

/* It hashes eight bytes at a time, with a random number of each process: the command chooses the
 * names, and must not be able to choose collisions. For uthash: #define HASH_FUNCTION B_UTHASH
 * before it. */
uint32_t b_hash(const void *text, size_t len);
#define B_UTHASH(key, len, out) ((out) = b_hash((key), (len)))
