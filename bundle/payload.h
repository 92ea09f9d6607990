/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.h - what a bundle says, and the file it is in. Pure: signatures are sign.h's.
 *
 * The file is JSON: {"sbx_bundle":1,"payload":BASE64,"signature":BASE64}. The payload is JSON as
 * well; it is signed and compared as the bytes it is, and read only when its signature holds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"

struct b_err;

#define BUN_NAME_MAX	 32
#define BUN_FILE_MAX	 (8u << 20)
#define BUN_POLICIES_MAX 4 /* each is a layer of the run's rules */
#define BUN_SIGNATURE	 64

struct bun_policy {
	const char *name, *text; /* a file's base name; its text */
	size_t len;
};

struct bun_payload {
	struct b_arena arena;
	char name[BUN_NAME_MAX];
	uint64_t version;	   /* counts up: a lower one is never taken after a higher one */
	uint64_t created, expires; /* seconds since 1970 */
	char digest[B_SHA256_HEX]; /* of the payload's bytes */
	struct bun_policy policies[BUN_POLICIES_MAX];
	size_t n;
};

/* Letters, digits, `-`, `_` and `.`, not first; shorter than BUN_NAME_MAX. */
bool bun_name_valid(const char *);
/* "2027-01-31", which is its beginning, or "2027-01-31T12:00:00Z". */
bool bun_time_parse(const char *, uint64_t *out);
void bun_time_add(uint64_t, struct b_str *out); /* the second form */

void bun_payload_write(const struct bun_payload *, struct b_str *out);
/* B_FORMAT: not what bun_payload_write() gives. *out is released by the caller on success. */
int bun_payload_read(const void *p, size_t n, struct bun_payload *out, struct b_err *err);
void bun_payload_release(struct bun_payload *);
/* Whether it has a policy of that name. Names are unique, because denials quote them. */
bool bun_payload_has(const struct bun_payload *, const char *name);

void bun_file_write(const struct b_str *payload, const unsigned char signature[BUN_SIGNATURE],
		    struct b_str *out);
/* B_FORMAT: cut short, or no bundle. */
int bun_file_read(const struct b_str *text, struct b_str *out_payload,
		  unsigned char out_signature[BUN_SIGNATURE], struct b_err *err);
