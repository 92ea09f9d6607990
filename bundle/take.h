/* SPDX-License-Identifier: Apache-2.0 */
/*
 * take.h - which bundle is in force: the one in a file, if it is good, or the last that was.
 *
 * The last good one is kept beside the runs, where no command can reach it, one for each key. A
 * lower version than its own is never taken, nor another text of the same version; nor one that was
 * made more than a day after what the clock says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bundle/payload.h"

struct b_err;

struct bun_taken {
	struct bun_payload payload;
	bool is_kept;	   /* the last good one: the file was refused */
	char refused[512]; /* why; "" = it was not */
};

/* Verifies one file: B_POLICY, B_FORMAT, naming the reason; `now` after its expiry is one, too.
 * *out is filled, for the name and the version, where it has expired. */
int bun_open(const char *file, const char *key, uint64_t now, struct bun_payload *out,
	     bool *out_is_expired, struct b_err *err);
/* B_POLICY: neither the file nor a last good one is valid. Keeps the file when it is newer. */
int bun_take(const char *file, const char *key, const char *runs_root, uint64_t now,
	     struct bun_taken *out, struct b_err *err);
