/* gaps.c - see gaps.h. */
#include "audit/gaps.h"

#include "audit/fold.h"

void aud_gaps_count(struct aud_counts *k, struct sbx_ring_reader *shims,
		    struct sbx_ring_reader *broker)
{
	if (shims) {
		k->lost += sbx_ring_take_lost(shims);
		k->internal += sbx_ring_take_internal(shims);
		k->corrupt = shims->corrupt; /* what the two above refused is in it */
		k->abandoned = shims->skipped;
	}
	if (broker) {
		uint64_t more;

		(void)sbx_ring_take_lost(broker);
		/* nobody else writes there: whatever cannot be read was an event of the broker's */
		more = broker->lost_total + broker->corrupt + broker->skipped - k->broker_lost;
		k->broker_lost += more;
		k->lost += more;
	}
}

bool aud_gaps_take(struct aud_gaps *g, const struct aud_counts *k, uint64_t unwritten,
		   uint64_t now_ms, bool final, struct aud_record *out)
{
	out->lost = k->lost - g->lost + (final ? unwritten : 0);
	out->broker_lost = k->broker_lost - g->broker_lost;
	out->corrupt = k->corrupt - g->corrupt;
	out->abandoned = k->abandoned - g->abandoned;
	if (!(out->lost | out->corrupt | out->abandoned))
		return false;
	if (!final && g->at_ms && now_ms - g->at_ms < AUD_FOLD_MS)
		return false;
	*g = (struct aud_gaps){k->lost, k->broker_lost, k->corrupt, k->abandoned, now_ms};
	return true;
}
