/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - a run whose record is being sent: where its reader stands, and its next batch.
 *
 *	struct ship_spool *s = ship_spool_new(root, id, name, host, &err);
 *	while ((got = ship_spool_next(s, put, arg, &part, &err)) > 0) ...	rows went to put()
 *	ship_spool_free(s);
 *
 * Kept between two looks while the run goes on, so that its log is read once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/read_log.h"
#include "audit/read_run.h"
#include "ship/state.h"

struct b_err;
struct b_str;

/* A batch of a run ends with these; see state.h. */
#define SHIP_PART_ROWS	32768
#define SHIP_PART_BYTES (4u << 20)

struct ship_spool {
	struct ship_spool *next;
	char id[AUD_ID_MAX];
	char *dir;
	struct aud_run run;
	struct aud_reader r;
	bool is_reading;
	bool is_open_end;	 /* its log may grow: it goes on, or has no supervisor */
	struct ship_state state; /* with what was put into batches, as if it were acknowledged */
	uint64_t planned_before; /* end of a batch that was planned and not acknowledged */
	bool was_seen;		 /* in this look */
};

/* Rows of a batch, before its end is known. */
struct ship_part {
	uint64_t rows;
	bool is_planned; /* its end must be on the disk before it is sent */
	struct ship_state before, after;
};

typedef int ship_put(void *arg, struct b_str *rows, struct b_err *err); /* empties it */

/* NULL: run.json or the state cannot be read. `host`: NULL = what the record says. */
struct ship_spool *ship_spool_new(const char *root, const char *id, const char *name,
				  const char *host, struct b_err *err);
void ship_spool_free(struct ship_spool *);
/* Does it go on? To be asked before its lines are read. */
void ship_spool_look(struct ship_spool *, const char *root);
/* Takes the next batch. 1: there is one; 0: none for now; -1: *err says why not. */
int ship_spool_next(struct ship_spool *, ship_put *, void *arg, struct ship_part *out,
		    struct b_err *err);
