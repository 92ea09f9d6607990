/* sha256.h - SHA-256 in hex, by nettle: every line of the audit log is hashed, and nettle uses
 * the processor's SHA instructions (0.4 us for 430 bytes, where portable C takes 3). */
#pragma once

#include <stddef.h>

#define B_SHA256_HEX 65 /* with NUL */

void b_sha256_hex(const void *p, size_t n, char out[B_SHA256_HEX]);
