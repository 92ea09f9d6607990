/* SPDX-License-Identifier: Apache-2.0 */
/* ring_priv.h - the state word of a frame and the words of the data, for writer and reader. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/event.h"
#include "core/path.h"
#include "core/ring.h"

enum ring_state { RING_EMPTY, RING_CLAIMED, RING_READY };

/* lap:32 pid:22 units:8 state:2. PID_MAX_LIMIT is 2^22; SBX_RING_FRAME_MAX is 136 units. */
#define RING_PID_MASK  0x3fffffu
#define RING_UNIT_MASK 0xffu
#define RING_UNITS_MAX (SBX_RING_FRAME_MAX / SBX_RING_UNIT)
#define RING_EV_WORDS  (sizeof(struct sbx_event) / sizeof(uint64_t))
#define RING_PATH_MAX  (SBX_PATH_MAX - 1u) /* without NUL */

_Static_assert(sizeof(struct sbx_event) % sizeof(uint64_t) == 0, "events are copied by words");
/* Programs of 32 and 64 bits share one ring. */
_Static_assert(sizeof(struct sbx_event) == 48 && sizeof(struct sbx_ring) == 384, "one layout");
_Static_assert(RING_UNITS_MAX <= RING_UNIT_MASK, "a frame's units fit their field");
_Static_assert(16 + sizeof(struct sbx_event) + 2 * SBX_PATH_MAX <= SBX_RING_FRAME_MAX, "fits");
_Static_assert(SBX_RING_FRAME_MAX <= SBX_RING_MIN, "the longest frame fits the least ring");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "paths are packed lowest byte first");
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t), "words are lock-free and plain");

static inline uint64_t ring_word(uint64_t lap, uint32_t pid, uint64_t units, enum ring_state st)
{
	return lap << 32 | (uint64_t)(pid & RING_PID_MASK) << 10 | units << 2 | (uint64_t)st;
}

static inline uint64_t ring_empty(uint64_t lap)
{
	return ring_word(lap, 0, 0, RING_EMPTY);
}

/* Lap of a position; `size` is a power of two. */
static inline uint64_t ring_lap(uint64_t pos, uint64_t size)
{
	return pos >> __builtin_ctzll(size);
}

/* The word at a position (a multiple of 8). All access to the data is by relaxed atomic words:
 * no compiler reads a hostile word twice, or makes the loops calls of memcpy. */
static inline _Atomic uint64_t *ring_at(struct sbx_ring *r, uint64_t size, uint64_t pos)
{
	return (_Atomic uint64_t *)(void *)(r->data + (pos & (size - 1)));
}

/* The sum of a frame begins with its state word when READY, whose lap no other frame of the place
 * has. It protects against accidents only: a hostile writer can write a whole frame. */
static inline uint64_t ring_sum(uint64_t sum, uint64_t word)
{
	return (sum << 7 | sum >> 57) + word;
}

static inline uint64_t ring_path_words(uint64_t len)
{
	return (len + 7) / 8;
}

/* Units of a frame: state word, sum, event, both paths each rounded up to words. */
static inline uint64_t ring_units(uint64_t path_len, uint64_t path2_len)
{
	uint64_t words = 2 + RING_EV_WORDS + ring_path_words(path_len) + ring_path_words(path2_len);

	return (words * 8 + SBX_RING_UNIT - 1) / SBX_RING_UNIT;
}
