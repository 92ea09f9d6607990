/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain.h - what ties the lines of a log together.
 *
 * Each line ends with the first half of a MAC under the run's key of the half before and of its
 * own text. A program without the key cannot change, remove, move or add a line without a trace.
 * Nor can it cut the end off: run.json has the whole MAC of the last line, and the log only a
 * half. A program that can read the key (the same user, outside of a run) can forge the log. Only
 * a hash that was stored elsewhere shows that: see --anchor-command, --anchor-fd.
 *
 *	aud_chain_init(&c, key, run_id);
 *	aud_chain_next(&c, line, len);		(c.shown is the line's `chain`, c.full the whole)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"

struct b_err;

#define AUD_CHAIN_HEX 32 /* digits of `chain` in a line */
/* Version 1: `prev` of the first line. */
#define AUD_CHAIN_START "0000000000000000000000000000000000000000000000000000000000000000"
/* How a line ends: this, the digits, and AUD_CHAIN_END. */
#define AUD_CHAIN_FIELD ",\"chain\":\""
#define AUD_CHAIN_END	"\"}"

struct aud_chain {
	struct b_hmac mac;
	char shown[AUD_CHAIN_HEX + 1]; /* of the last line */
	char full[B_SHA256_HEX];       /* the same, whole; of no line 64 zeros */
};

/* `key` NULL: a chain that anyone can make, for tests. The run's own key is derived of it. */
void aud_chain_init(struct aud_chain *, const unsigned char *key, const char *run_id);
void aud_chain_next(struct aud_chain *, const char *text, size_t len);

/*
 * The key of all runs of a user, RUNS/.key: made once, 0600, in the directory that is hidden from
 * all runs.
 */
#define AUD_KEY_NAME ".key"
/* `make`: when there is none. B_AUDIT; B_NOTFOUND when there is none, or it is another's. */
int aud_key_load(const char *runs_root, bool make, unsigned char out[B_HMAC_KEY],
		 struct b_err *err);
