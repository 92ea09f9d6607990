/* sha256.c - see sha256.h. */
#include "base/sha256.h"

#include <nettle/sha2.h>
#include <stdint.h>

_Static_assert(B_SHA256_HEX == 2 * SHA256_DIGEST_SIZE + 1, "hex digest and its NUL");

void b_sha256_hex(const void *p, size_t n, char out[B_SHA256_HEX])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;
	unsigned i;

	sha256_init(&ctx);
	sha256_update(&ctx, n, p);
	sha256_digest(&ctx, sizeof digest, digest);
	for (i = 0; i < sizeof digest; i++) {
		*out++ = hex[digest[i] >> 4];
		*out++ = hex[digest[i] & 15];
	}
	*out = '\0';
}
