/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h - verdicts on canonical paths, and the events that report them.
 * [AS-safe] [MT-safe] [no-alloc]
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "core/image.h"
#include "core/path.h"

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
	uint32_t count;		    /* as in struct sbx_event */
	uint32_t rule;		    /* of a path that is cut already, as in struct sbx_event */
	const char *asked, *asked2; /* the program's texts for the paths; NULL: not told */
};

/* Writes the event of a call if the level wants it; errno stays. `key` as from shim_judge(),
 * 0 = never folded. */
void shim_tell(const struct shim_told *, uint64_t key);
/* Events of coverage, wanted at every level. `pid` 0 = this process, asked of the kernel. */
void shim_tell_exec(enum sbx_event_kind, const struct shim_told *, uint32_t pid);

/* Reports the status when the process image ends, once. Does nothing in a child of fork() or
 * vfork(), or under a filter that the program has installed. */
void shim_tell_exit(int status);

/* The words as SBX_EVF_ARGV has them, as many as fit: their bytes, and whether words are missing.
 */
size_t shim_words(char *buf, size_t size, char *const *argv, bool *out_is_cut);

/*
 * Room for paths that is not the program's stack: wrappers are called on alternate signal
 * stacks of 8 KiB, of which the kernel's own frame takes up to a half, and by the smallest threads.
 *
 *	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
 *
 * A few rooms for all threads, taken by an exchange and never waited for: when all are taken, as
 * many calls being under way at once, the stack has to do. So it does for what does not come back:
 * a call that a handler jumps out of, or a cancelled thread, keeps its room, and exec in a child of
 * vfork() must take none. Rooms are not cleared. [AS-safe] [MT-safe] [no-alloc]
 */

/* Two paths and what is known of them. */
#define SHIM_ROOM_SIZE (2 * SBX_PATH_MAX + 256)

/* SHIM_ROOM_SIZE bytes, or NULL. */
void *shim_room_take(void);
/* At the end of the variable's life; `variable` points to it. */
void shim_room_give(void *variable);

#define SHIM_GIVEN_BACK __attribute__((cleanup(shim_room_give)))
#define SHIM_ROOM(size) SHIM_ROOM_IF(1, size)
/* What the compiler knows the size of it puts into the frame, needed or not. */
#define SHIM_ROOM_IF(may, size)                                                                    \
	({                                                                                         \
		void *room_ = (may) ? shim_room_take() : NULL;                                     \
		size_t size_ = (size);                                                             \
		_Static_assert((size) <= SHIM_ROOM_SIZE, "fits a room");                           \
		__asm__("" : "+r"(size_));                                                         \
		room_ ? room_ : __builtin_alloca(size_);                                           \
	})
