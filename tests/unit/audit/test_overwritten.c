/* SPDX-License-Identifier: Apache-2.0 */
/* A command that writes over the ring it maps. */
#include <criterion/criterion.h>
#include <string.h>

#include "audit/collector.h"
#include "core/ring.h"
#include "tests/support/witness.h"

static struct witness w;

static void end(void)
{
	witness_release(&w);
}

Test(audit_overwritten, a_ring_written_over_whole_is_told_and_its_counters_not_believed,
     .fini = end)
{
	static const int bytes[] = {0xff, 0, 0x7f};
	size_t i;

	for (i = 0; i < sizeof bytes / sizeof *bytes; i++) {
		witness_start(&w, SBX_AUDIT_ALL);
		witness_call(&w, 10, SBX_READ, true, "/ws/a");
		witness_drain(&w, 1);
		cr_assert_eq(w.ring->magic, SBX_RING_MAGIC);
		memset((void *)w.ring, bytes[i], w.ring_bytes);
		witness_drain(&w, 2);
		cr_assert_eq(w.ring->magic, SBX_RING_MAGIC);
		cr_assert_eq(w.ring->size, w.ring_size);
		witness_end(&w);
		cr_assert_gt(w.counts.corrupt, 0, "%d", bytes[i]);
		cr_assert_leq(w.counts.lost, SBX_RING_COUNT_MAX);
		cr_assert_leq(w.counts.internal, SBX_RING_COUNT_MAX);
		witness_release(&w);
	}
	witness_start(&w, SBX_AUDIT_ALL);
	witness_judged = true;
	witness_end(&w);
	cr_assert_eq(w.counts.corrupt, 0);
}
