/*
 * judge.h - verdicts on canonical texts, and the events that tell of them.
 * [AS-safe] [MT-safe] [no-alloc]
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "core/image.h"

struct shim_verdict {
	bool allowed;
	uint64_t key; /* of the verdict cache, for shim_tell() */
};

/* An allowing verdict is remembered (2,048 places, the newer wins): forgetting one costs a walk
 * of the automaton and, at level `folded`, one event too many; never one too few. */
struct shim_verdict shim_judge(enum sbx_op, const char *path, size_t len);

struct shim_told {
	unsigned call; /* enum sbx_call */
	enum sbx_op op;
	int err;	/* errno of the call, 0 = succeeded */
	unsigned flags; /* SBX_EVF_* */
	unsigned aux;
	const char *path, *path2;
	size_t len, len2;
	uint32_t rule; /* of a path that is cut already, as in struct sbx_event */
};

/* Writes the event of a call if the level wants it; errno stays. `key` as from shim_judge(),
 * 0 = never folded. */
void shim_tell(const struct shim_told *, uint64_t key);
/* Events of coverage, wanted at every level. `pid` 0 = this process, asked of the kernel. */
void shim_tell_exec(enum sbx_event_kind, const struct shim_told *, uint32_t pid);
