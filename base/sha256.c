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

void b_sha256_final(struct b_sha256 *h, char out[B_SHA256_HEX])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_SIZE];
	unsigned i;

	sha256_digest(ctx_of(h), sizeof digest, digest);
	for (i = 0; i < sizeof digest; i++) {
		*out++ = hex[digest[i] >> 4];
		*out++ = hex[digest[i] & 15];
	}
	*out = '\0';
}

void b_sha256_hex(const void *p, size_t n, char out[B_SHA256_HEX])
{
	struct b_sha256 h;

	b_sha256_init(&h);
	b_sha256_update(&h, p, n);
	b_sha256_final(&h, out);
}
