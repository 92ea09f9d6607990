/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.c - see sha256.h. */
#include "base/sha256.h"

#include <nettle/sha2.h>
#include <stdint.h>

_Static_assert(B_SHA256_HEX == 2 * SHA256_DIGEST_SIZE + 1, "hex digest and its NUL");

_Static_assert(sizeof(struct sha256_ctx) <= B_SHA256_STATE, "room for nettle's state");

static struct sha256_ctx *ctx_of(struct b_sha256 *h)
{
	return (struct sha256_ctx *)(void *)h->state;
}

void b_sha256_init(struct b_sha256 *h)
{
	sha256_init(ctx_of(h));
}

void b_sha256_update(struct b_sha256 *h, const void *p, size_t n)
{
	sha256_update(ctx_of(h), n, p);
}

static void to_hex(const uint8_t digest[SHA256_DIGEST_SIZE], char out[B_SHA256_HEX])
{
	static const char hex[] = "0123456789abcdef";
	unsigned i;

	for (i = 0; i < SHA256_DIGEST_SIZE; i++) {
		*out++ = hex[digest[i] >> 4];
		*out++ = hex[digest[i] & 15];
	}
	*out = '\0';
}

void b_sha256_final(struct b_sha256 *h, char out[B_SHA256_HEX])
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(ctx_of(h), sizeof digest, digest);
	to_hex(digest, out);
}

void b_sha256_hex(const void *p, size_t n, char out[B_SHA256_HEX])
{
	struct b_sha256 h;

	b_sha256_init(&h);
	b_sha256_update(&h, p, n);
	b_sha256_final(&h, out);
}

static void absorb(struct b_sha256 *h, const unsigned char key[B_HMAC_KEY], unsigned char pad)
{
	unsigned char block[SHA256_BLOCK_SIZE];
	unsigned i;

	for (i = 0; i < sizeof block; i++)
		block[i] = (i < B_HMAC_KEY ? key[i] : 0) ^ pad;
	b_sha256_init(h);
	b_sha256_update(h, block, sizeof block);
}

void b_hmac_init(struct b_hmac *m, const unsigned char key[B_HMAC_KEY])
{
	absorb(&m->inner, key, 0x36);
	absorb(&m->outer, key, 0x5c);
}

static void authenticate(const struct b_hmac *m, const void *p, size_t n, const void *q, size_t k,
			 uint8_t digest[SHA256_DIGEST_SIZE])
{
	struct b_sha256 h = m->inner;

	b_sha256_update(&h, p, n);
	b_sha256_update(&h, q, k);
	sha256_digest(ctx_of(&h), SHA256_DIGEST_SIZE, digest);
	h = m->outer;
	b_sha256_update(&h, digest, SHA256_DIGEST_SIZE);
	sha256_digest(ctx_of(&h), SHA256_DIGEST_SIZE, digest);
}

void b_hmac_hex(const struct b_hmac *m, const void *p, size_t n, const void *q, size_t k,
		char out[B_SHA256_HEX])
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	authenticate(m, p, n, q, k, digest);
	to_hex(digest, out);
}

void b_hmac_key(const struct b_hmac *m, const void *p, size_t n, unsigned char out[B_HMAC_KEY])
{
	authenticate(m, p, n, "", 0, out);
}
