/* sha256.c - see sha256.h. */
#include "base/sha256.h"

#include <sha2.h>

_Static_assert(B_SHA256_HEX == SHA256_DIGEST_STRING_LENGTH, "hex digest and its NUL");

void b_sha256_hex(const void *p, size_t n, char out[B_SHA256_HEX])
{
	SHA256Data(p, n, out); /* with a buffer given it neither allocates nor fails */
}
