/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h - SHA-256 in hex, by nettle: every line of the audit log is hashed, and nettle uses
 * the processor's SHA instructions (0.4 us for 430 bytes, where portable C takes 3). */
#pragma once

#include <stddef.h>

#define B_SHA256_HEX 65 /* with NUL */

/* In parts: init, update any number of times, hex once. */
#define B_SHA256_STATE 128
struct b_sha256 {
	_Alignas(16) unsigned char state[B_SHA256_STATE]; /* nettle's, which only sha256.c knows */
};
void b_sha256_init(struct b_sha256 *);
void b_sha256_update(struct b_sha256 *, const void *p, size_t n);
void b_sha256_final(struct b_sha256 *, char out[B_SHA256_HEX]);

/* At once. */
void b_sha256_hex(const void *p, size_t n, char out[B_SHA256_HEX]);

/* HMAC (RFC 2104) with SHA-256. The key is prepared once. A text then costs its own hash and one
 * more block. */
#define B_HMAC_KEY 32 /* bytes */
struct b_hmac {
	struct b_sha256 inner, outer;
};
void b_hmac_init(struct b_hmac *, const unsigned char key[B_HMAC_KEY]);
/* The HMAC of two texts, as if they were one. */
void b_hmac_hex(const struct b_hmac *, const void *p, size_t n, const void *q, size_t m,
		char out[B_SHA256_HEX]);
/* The same as bytes, to be a key. */
void b_hmac_key(const struct b_hmac *, const void *p, size_t n, unsigned char out[B_HMAC_KEY]);
