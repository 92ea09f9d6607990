/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h - how the calls that passed the broker ended: counts that the broker makes and the
 * supervisor reads, in memory that no command has. Each call has exactly one fate, so that
 * `calls` is the sum of all; those that are reported are events in the broker's ring.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* fate, name in run.json, what that means */
#define SBX_FATES(X)                                                                               \
	X(PERFORMED, "performed", "told: done for the caller, or tried")                           \
	X(REFUSED, "refused", "told: refused")                                                     \
	X(READ, "read", "a read or a question that the policy allows: its shim tells it")          \
	X(FAILED, "failed", "nothing was done: an answer of the kernel's, or the caller was gone") \
	X(KERNEL, "kernel", "left to the kernel")                                                  \
	X(OTHER, "other", "of no file: umask, credentials, signals, limits")                       \
	X(UNWANTED, "unwanted", "of a kind that the level of the log leaves out")

enum sbx_fate {
#define X(name, key, text) SBX_FATE_##name,
	SBX_FATES(X)
#undef X
		SBX_FATE_COUNT
};

struct sbx_tally {
	_Atomic uint64_t calls; /* received */
	_Atomic uint64_t fate[SBX_FATE_COUNT];
	_Atomic uint64_t asked; /* events of sbx-egress, which belong to no call */
};
