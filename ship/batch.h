/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - what one request carries: rows, compressed as they come, and whose they are.
 *
 *	struct ship_batch *b = ship_batch_new(SHIP_EVENTS, SHIP_GZIP);
 *	ship_batch_put(b, &rows, &err);
 *	ship_batch_add(b, dir, &part);
 *	ship_batch_end(b, &err);
 *	... b->body ...
 *	ship_batch_free(b);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "ship/config.h"
#include "ship/spool.h"

/* A batch of this many rows, or of a body of this many bytes, or more is sent: three are in memory,
 * one being made, one waiting, one on its way. */
#define SHIP_BATCH_ROWS	 32768
#define SHIP_BATCH_BYTES (8u << 20)

struct ship_share {
	char *dir; /* of the run; malloc'ed */
	struct ship_part part;
};

struct ship_batch {
	enum ship_table table;
	enum ship_coding coding;
	struct b_str body;
	uint64_t rows, raw_bytes;
	struct ship_share *shares;
	size_t n, cap;
	struct ship_packer *packer;
};

struct ship_batch *ship_batch_new(enum ship_table, enum ship_coding);
void ship_batch_free(struct ship_batch *);
/* Takes the rows and empties the string. B_SYSTEM. */
int ship_batch_put(struct ship_batch *, struct b_str *rows, struct b_err *err);
/* The rows that were put last are of that run. */
void ship_batch_add(struct ship_batch *, const char *dir, const struct ship_part *);
int ship_batch_end(struct ship_batch *, struct b_err *err);
