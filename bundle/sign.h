/* SPDX-License-Identifier: Apache-2.0 */
/* sign.h - Ed25519 by OpenSSL, keys in PEM: `openssl genpkey -algorithm ed25519 -out KEY`, and
 * `openssl pkey -in KEY -pubout -out PUB`. */
#pragma once

#include <stddef.h>

#include "base/sha256.h"
#include "bundle/payload.h"

struct b_err;
struct b_str;

/* Signs the payload with the private key in a file that nobody else may read. B_USAGE, B_SYSTEM. */
int bun_sign(const char *key_file, const struct b_str *payload, unsigned char out[BUN_SIGNATURE],
	     struct b_err *err);
/* B_POLICY: the signature is not that of this key, or the bytes are others than were signed.
 * B_USAGE: no public key, or one that others may write. *out_id: SHA-256 of the key. */
int bun_verify(const char *key_file, const struct b_str *payload,
	       const unsigned char signature[BUN_SIGNATURE], char out_id[B_SHA256_HEX],
	       struct b_err *err);
/* The key alone. */
int bun_key_id(const char *key_file, char out[B_SHA256_HEX], struct b_err *err);
