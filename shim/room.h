/*
 * room.h - room for paths that is not the program's stack: wrappers are called on alternate signal
 * stacks of 8 KiB, of which the kernel's own frame takes up to a half, and by the smallest threads.
 *
 *	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
 *
 * A few rooms for all threads, taken by an exchange and never waited for: when all are taken, as
 * many calls being under way at once, the stack has to do. So it does for what does not come back:
 * a call that a handler jumps out of, or a cancelled thread, keeps its room, and exec in a child of
 * vfork() must take none. Rooms are not cleared. [AS-safe] [MT-safe] [no-alloc]
 */
#pragma once

#include <stddef.h>

#include "core/path.h"

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
