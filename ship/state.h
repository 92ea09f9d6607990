/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what of a run the server has acknowledged: a small file in the run's own directory, one
 * for each destination.
 *
 *	struct ship_state s;
 *	if (ship_state_load(dir, name, &s, &err) < 0) ...	(none: all zero)
 *	s.planned = 120;
 *	ship_state_save(dir, name, &s, true, &err);	lines up to 120 of a run that goes on
 *	s.lines = 120, s.planned = 0;
 *	ship_state_save(dir, name, &s, false, &err);	they were acknowledged
 *
 * The same lines must go in the same batches, however often they are sent: counts that the server
 * made of a batch are replaced by those of the batch sent again, and of no other. Where a batch
 * ends follows from where it begins, but for one that ends with what a run that goes on has
 * written so far: that end is planned, on the disk, before the batch is sent. If the machine
 * fails, the last acknowledgement may be lost: the sender then repeats the batch.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_err;
struct b_str;

#define SHIP_NAME_MAX  32
#define SHIP_HOST_MAX  256
#define SHIP_STATE_MAX 4096 /* bytes of the file */

struct ship_state {
	uint64_t lines;		  /* acknowledged: number of the last one in the log */
	uint64_t rows;		  /* that they are: fewer, where others write the same log */
	uint64_t bytes;		  /* of these lines */
	uint64_t planned;	  /* end of the batch on its way; 0 = none is planned */
	bool has_run_row;	  /* the row of the run, going on, is there */
	bool is_done;		  /* it ended, and all is there: never looked at again */
	char host[SHIP_HOST_MAX]; /* the rows' host, from the first on; "" = none yet */
};

/* Letters, digits, `-` and `_`, at most SHIP_NAME_MAX - 1 of them. */
bool ship_name_valid(const char *name);

/* The text of the file. Pure. false: not what ship_state_write() gives. */
bool ship_state_read(const char *text, size_t n, struct ship_state *out);
void ship_state_write(const struct ship_state *, struct b_str *out);
/* No file: all zero. B_FORMAT: it is damaged; nothing may be sent, or counts would be wrong. */
int ship_state_load(const char *dir, const char *name, struct ship_state *out, struct b_err *err);
/* Atomic; on the disk when it returns if `durable`. */
int ship_state_save(const char *dir, const char *name, const struct ship_state *, bool durable,
		    struct b_err *err);
