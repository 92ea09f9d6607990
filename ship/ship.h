/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ship.h - the record of all runs to a server: once, or again and again.
 *
 * The directory of the runs is the spool. Nothing here makes a run wait: logs are read as anyone
 * reads them. A file in each run says how much the server has acknowledged (state.h); a process
 * that is killed at any moment is followed by one that goes on there.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct b_err;
struct ship_config;

struct ship_result {
	uint64_t rows;	  /* events that were acknowledged */
	uint64_t trouble; /* runs that could not be sent, which were reported */
};

/* B_NOTFOUND: the server took not all; another kind: trouble. `stop`: not 0 ends it, with 0. */
int ship_all(const struct ship_config *, const char *runs_root, const atomic_int *stop,
	     struct ship_result *out, struct b_err *err);
