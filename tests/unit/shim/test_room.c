/* SPDX-License-Identifier: Apache-2.0 */
/* Rooms are taken and given back; who finds none does without. */
#include <criterion/criterion.h>

#include <stdint.h>
#include <string.h>

#include "shim/judge.h"

enum { TRIES = 64 };

static unsigned take_all(void *rooms[TRIES])
{
	unsigned n = 0;

	while (n < TRIES && (rooms[n] = shim_room_take()))
		n++;
	return n;
}

Test(shim_room, rooms_are_apart_and_of_their_size)
{
	void *rooms[TRIES];
	unsigned i, n = take_all(rooms);

	cr_assert(n >= 2 && n < TRIES);
	for (i = 0; i < n; i++)
		memset(rooms[i], (int)i, SHIM_ROOM_SIZE);
	for (i = 0; i < n; i++)
		for (size_t at = 0; at < SHIM_ROOM_SIZE; at++)
			cr_assert_eq(((char *)rooms[i])[at], (char)i);
}

Test(shim_room, what_is_given_back_can_be_taken)
{
	void *rooms[TRIES], *again[TRIES];
	unsigned i, n = take_all(rooms);

	for (i = 0; i < n; i++)
		shim_room_give(&rooms[i]);
	cr_assert_eq(take_all(again), n);
}

static bool is_near(const void *p)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), at = (uintptr_t)p;

	return (here > at ? here - at : at - here) < 65536;
}

Test(shim_room, without_a_room_the_stack_does)
{
	void *rooms[TRIES];
	unsigned n = take_all(rooms);
	char *last SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);

	memset(last, 1, SBX_PATH_MAX);
	cr_assert(is_near(last));
	shim_room_give(&last);
	cr_assert_null(shim_room_take());
	shim_room_give(&rooms[n - 1]);
	cr_assert_eq(shim_room_take(), rooms[n - 1]);
}

Test(shim_room, the_end_of_a_block_gives_back)
{
	void *rooms[TRIES], *was = NULL;

	{
		char *room SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);

		was = room;
		cr_assert_not(is_near(room));
	}
	take_all(rooms);
	cr_assert_eq(rooms[0], was);
}
