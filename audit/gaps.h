/*
 * gaps.h - what is missing in the log: counted from the rings, and one line for all that went
 * missing since the last. Private to the audit module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/collector.h"
#include "audit/record.h"
#include "core/ring.h"

struct aud_gaps {
	uint64_t lost, broker_lost, corrupt, abandoned; /* already in a line */
	uint64_t at_ms;					/* of the last line */
};

/* Brings the counts up to date. NULL: there is no such ring. */
void aud_gaps_count(struct aud_counts *, struct sbx_ring_reader *shims,
		    struct sbx_ring_reader *broker);
/* Fills in the numbers of a line that is due; false: none is. `final`: it is, when anything is
 * missing, and `unwritten` lines are, too. */
bool aud_gaps_take(struct aud_gaps *, const struct aud_counts *, uint64_t unwritten,
		   uint64_t now_ms, bool final, struct aud_record *out);
