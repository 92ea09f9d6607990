/* room.c - see room.h. */
#include "shim/room.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ROOMS = 6, STACK_SHIFT = 14, LINE = 64 };

/* The mark shares its page with the room: whoever takes one touches no other memory. */
static struct room {
	alignas(LINE) _Atomic bool is_taken;
	alignas(16) char bytes[SHIM_ROOM_SIZE];
} rooms[ROOMS];

/* Threads have stacks of their own: by its place each begins at another room, mostly, and they do
 * not take the marks from each other's caches. */
static unsigned first_room(void)
{
	uint32_t stack = (uint32_t)((uintptr_t)__builtin_frame_address(0) >> STACK_SHIFT);

	return (unsigned)((uint64_t)(stack * UINT32_C(2654435769)) * ROOMS >> 32);
}

void *shim_room_take(void)
{
	unsigned i, at = first_room();

	for (i = 0; i < ROOMS; i++, at = at + 1 == ROOMS ? 0 : at + 1) {
		struct room *r = &rooms[at];

		if (!atomic_load_explicit(&r->is_taken, memory_order_relaxed) &&
		    !atomic_exchange_explicit(&r->is_taken, true, memory_order_acquire))
			return r->bytes;
	}
	return NULL;
}

void shim_room_give(void *variable)
{
	uintptr_t at = *(uintptr_t *)variable - (uintptr_t)rooms;

	if (at < sizeof rooms)
		atomic_store_explicit(&rooms[at / sizeof *rooms].is_taken, false,
				      memory_order_release);
}
