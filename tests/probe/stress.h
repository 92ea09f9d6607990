/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress.h - what shim_stress tells shim_stress_check: how many records it has completed. In the
 * file DIR/counts, mapped shared, so that nothing is forgotten when a writer is killed.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { STRESS_THREADS = 64, STRESS_SLOTS = 1 << 20 };

struct stress_counts {
	/* Calls that returned, each of which is one event below DIR; those of slots apart. */
	_Atomic uint64_t calls;
	/* Processes that ended by themselves: each tells so, which is no call. */
	_Atomic uint64_t ends;
	/* A slot is a writer of its own: a thread (the first STRESS_THREADS), or a process that
	 * is killed in the middle. Its n-th record is the read of DIR/ok/rec.SLOT.N, which is not
	 * there. done[slot] is written when the call is back: that record, and all before it,
	 * must be told. */
	_Atomic uint32_t slots;
	_Atomic uint32_t done[STRESS_SLOTS];
};
