/*
 * collector_priv.h - the collector from inside: collector.c takes the events from the rings, and
 * logging.c makes lines, counts and words to the person of them.
 */
#pragma once

#include "audit/collector.h"
#include "audit/fold.h"
#include "audit/gaps.h"
#include "audit/judge.h"
#include "audit/log.h"
#include "audit/person.h"
#include "audit/process.h"
#include "audit/record.h"
#include "audit/trust.h"
#include "audit/twins.h"
#include "core/ring.h"

struct aud_collector {
	struct aud_config cfg;
	struct aud_frame frame;
	struct aud_counts counts;
	struct aud_log log;
	struct aud_person person;
	struct aud_fold fold;
	struct aud_procs *procs;
	struct sbx_ring_reader reader, broker;
	struct aud_twins twins;
	struct aud_trust trust;
	struct aud_gaps gaps;
	unsigned char *buf, *broker_buf; /* one frame each, copied out */
	uint64_t seq;
	uint64_t now_ms, folded_at_ms;
	uint64_t unwritten; /* lines beyond the limit of the log */
	bool told_failure, told_full, told_full_of_words, told_broker_lost;
	int poll_ms;
	unsigned steps; /* judge.h, of this drain */
};

/* An event on its way into the log. */
struct aud_item {
	struct sbx_event ev;
	const char *path, *path2;
	const char *layer;
	uint64_t count; /* folded */
};

/* Does the log have all that it may have? */
bool aud_log_is_full(const struct aud_collector *);
/* Numbers, chains and buffers one line. Gives its seq, 0 when there is no log. A gap is told
 * whatever the limit. */
uint64_t aud_put_line(struct aud_collector *, struct aud_record *);
/* What all lines about an event have. */
void aud_fill(struct aud_collector *, const struct aud_item *, struct aud_record *out);
/* Lines for all denials that are being folded. */
void aud_write_folds(struct aud_collector *);
/* One event: its line, its counts, and what the person reads of it. */
void aud_on_event(struct aud_collector *, struct aud_item *);
