/* sha256.h - SHA-256 in hex, by libmd. */
#pragma once

#include <stddef.h>

#define B_SHA256_HEX 65 /* with NUL */

void b_sha256_hex(const void *p, size_t n, char out[B_SHA256_HEX]);
