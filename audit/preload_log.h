/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_log.h - reads the record of a preload-only run. No supervisor counted its events, but the
 * shims share a file of counters in its directory, and the log has the rest. Both were written by
 * the programs themselves.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/collector.h"

struct aud_entry;
struct aud_procs;

struct aud_alone {
	bool is_alone;	   /* it is such a run */
	uint64_t lost;	   /* lines that could not be written */
	uint64_t internal; /* failures inside shims */
};

/* dir: of the run. Nothing there, or no ring: not such a run. */
void aud_alone_read(const char *dir, struct aud_alone *out);

/* Counts made anew from the log's lines, in their order; `counts` must not move. */
struct aud_recount {
	struct aud_counts counts;
	struct aud_procs *procs;
};
void aud_recount_init(struct aud_recount *);
void aud_recount_add(struct aud_recount *, const struct aud_entry *);
void aud_recount_release(struct aud_recount *);
