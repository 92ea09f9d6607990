/* SPDX-License-Identifier: Apache-2.0 */
/* ring_read.c - the reader of the ring, see ring.h. Everything in the mapping may change at any
 * moment and may be a lie; only our own struct is believed. */
#include "core/event.h"
#include "core/ring.h"
#include "core/ring_priv.h"

enum { LOOK_AGAIN = -2 }; /* between the functions of this file: the place changed meanwhile */

static uint64_t load(struct sbx_ring_reader *rd, uint64_t pos)
{
	return atomic_load_explicit(ring_at(rd->ring, rd->size, pos), memory_order_acquire);
}

static void show_tail(struct sbx_ring_reader *rd)
{
	/* release: the units given back are EMPTY before writers see them as free */
	atomic_store_explicit(&rd->ring->tail, rd->tail, memory_order_release);
	rd->tail_shown = rd->tail;
}

/* Gives back `units` at the tail, whatever is in them. */
static void give_back(struct sbx_ring_reader *rd, uint64_t units)
{
	uint64_t i;

	for (i = 0; i < units; i++, rd->tail += SBX_RING_UNIT)
		atomic_store_explicit(ring_at(rd->ring, rd->size, rd->tail),
				      ring_empty(ring_lap(rd->tail, rd->size) + 1),
				      memory_order_relaxed);
	rd->is_stuck = false;
	if (rd->tail - rd->tail_shown >= rd->size / 16)
		show_tail(rd);
}

void sbx_ring_reader_init(struct sbx_ring_reader *rd, struct sbx_ring *r, size_t data_size)
{
	*rd = (struct sbx_ring_reader){
		.ring = r,
		.size = sbx_ring_bytes(data_size) - sizeof *r,
		.header = {r->magic, r->version, r->level, r->judges_moves, r->witnesses_all,
			   r->marks, r->is_alone},
	};
}

static bool restore32(uint32_t *at, uint32_t want)
{
	if (__atomic_load_n(at, __ATOMIC_RELAXED) == want)
		return false;
	__atomic_store_n(at, want, __ATOMIC_RELAXED);
	return true;
}

static bool restore64(uint64_t *at, uint64_t want)
{
	if (__atomic_load_n(at, __ATOMIC_RELAXED) == want)
		return false;
	__atomic_store_n(at, want, __ATOMIC_RELAXED);
	return true;
}

/* Checks that `head` only grows, apart from the reader's own repair. repair_head(), which knows
 * whether there are frames, handles impossible values. */
static bool head_went_back(struct sbx_ring_reader *rd)
{
	uint64_t head = atomic_load_explicit(&rd->ring->head, memory_order_relaxed);
	bool back = head < rd->head_seen;

	if (head - rd->tail <= rd->size)
		rd->head_seen = head;
	return back;
}

void sbx_ring_inspect(struct sbx_ring_reader *rd)
{
	struct sbx_ring *r = rd->ring;
	bool bad = head_went_back(rd);

	bad |= restore64(&r->magic, rd->header.magic);
	bad |= restore64(&r->size, rd->size);
	bad |= restore32(&r->version, rd->header.version);
	bad |= restore32(&r->level, rd->header.level);
	bad |= restore32(&r->judges_moves, rd->header.judges_moves);
	bad |= restore32(&r->witnesses_all, rd->header.witnesses_all);
	bad |= restore32(&r->marks, rd->header.marks);
	bad |= restore32(&r->is_alone, rd->header.is_alone);
	if (atomic_load_explicit(&r->tail, memory_order_relaxed) != rd->tail_shown) {
		bad = true;
		show_tail(rd);
	}
	rd->corrupt += bad;
}

/* Waited long enough for the unfinished frame at the tail? */
static bool grace_over(struct sbx_ring_reader *rd, uint64_t now_ms, uint64_t grace_ms, bool final)
{
	if (final || rd->is_patient)
		return final;
	if (!rd->is_stuck) {
		rd->is_stuck = true;
		rd->stuck_since_ms = now_ms;
	}
	return now_ms - rd->stuck_since_ms >= grace_ms;
}

static int corrupt_unit(struct sbx_ring_reader *rd)
{
	rd->corrupt++;
	give_back(rd, 1);
	return -1;
}

/* Is `word` a claimed or ready frame of the lap at the tail, with a possible size? */
static bool is_frame(const struct sbx_ring_reader *rd, uint64_t word, enum ring_state state)
{
	uint64_t units = word >> 2 & RING_UNIT_MASK;

	return (word & 3) == (uint64_t)state &&
	       word >> 32 == (ring_lap(rd->tail, rd->size) & UINT32_MAX) &&
	       units >= ring_units(0, 0) && units <= RING_UNITS_MAX;
}

/* EMPTY units below head: claimed by a writer that has not got to its state word. Takes them
 * back one by one by compare-and-swap, so that a writer that comes late fails and counts. */
static int skip_hole(struct sbx_ring_reader *rd, uint64_t head)
{
	rd->skipped++;
	while (rd->tail != head) {
		uint64_t lap = ring_lap(rd->tail, rd->size), want = ring_empty(lap);

		if (!atomic_compare_exchange_strong_explicit(
			    ring_at(rd->ring, rd->size, rd->tail), &want, ring_empty(lap + 1),
			    memory_order_relaxed, memory_order_relaxed))
			break;
		rd->tail += SBX_RING_UNIT;
	}
	rd->is_stuck = false;
	show_tail(rd);
	return -1;
}

static int skip_claimed(struct sbx_ring_reader *rd, uint64_t word)
{
	uint64_t want = word;

	/* the writer may finish at this very moment: then the frame is good */
	if (!atomic_compare_exchange_strong_explicit(ring_at(rd->ring, rd->size, rd->tail), &want,
						     ring_empty(ring_lap(rd->tail, rd->size) + 1),
						     memory_order_relaxed, memory_order_relaxed))
		return LOOK_AGAIN;
	rd->skipped++;
	give_back(rd, word >> 2 & RING_UNIT_MASK);
	return -1;
}

/* Has one of the 8 bytes the value 0? (exact, unlike the shorter trick) */
static bool has_nul(uint64_t w)
{
	const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);

	return ~(((w & low7) + low7) | w | low7);
}

/* Copies `len` bytes of the frame; false when there is a NUL among them. */
static bool take_path(struct sbx_ring_reader *rd, uint64_t pos, size_t len, unsigned char *out,
		      uint64_t *sum)
{
	bool nul = false;
	size_t i;

	for (i = 0; i < len; i += 8) {
		uint64_t w = atomic_load_explicit(ring_at(rd->ring, rd->size, pos + i),
						  memory_order_relaxed);

		*sum = ring_sum(*sum, w);
		__builtin_memcpy(out + i, &w, sizeof w);
		if (len - i < 8) /* what pads the last word is not part of the path */
			w |= ~UINT64_C(0) << 8 * (len - i);
		nul |= has_nul(w);
	}
	out[len] = 0;
	return !nul;
}

static bool plausible(const struct sbx_event *ev, uint64_t units)
{
	return ev->kind < SBX_EV_KIND_COUNT && ev->op < SBX_OP_COUNT && ev->call < SBX_CALL_COUNT &&
	       ev->path_len <= RING_PATH_MAX && ev->path2_len <= RING_PATH_MAX &&
	       ring_units(ev->path_len, ev->path2_len) <= units;
}

static int take_frame(struct sbx_ring_reader *rd, unsigned char *buf, uint64_t word,
		      struct sbx_event *out_ev, const char **out_path, const char **out_path2)
{
	union {
		struct sbx_event ev;
		uint64_t words[RING_EV_WORDS];
	} u;
	uint64_t pos = rd->tail + 16, units = word >> 2 & RING_UNIT_MASK, sum = word;
	uint64_t said = atomic_load_explicit(ring_at(rd->ring, rd->size, rd->tail + 8),
					     memory_order_relaxed);
	unsigned char *second = buf + SBX_PATH_MAX;
	bool good;
	unsigned i;

	for (i = 0; i < RING_EV_WORDS; i++, pos += 8) {
		u.words[i] = atomic_load_explicit(ring_at(rd->ring, rd->size, pos),
						  memory_order_relaxed);
		sum = ring_sum(sum, u.words[i]);
	}
	good = plausible(&u.ev, units) && take_path(rd, pos, u.ev.path_len, buf, &sum) &&
	       take_path(rd, pos + 8 * ring_path_words(u.ev.path_len), u.ev.path2_len, second,
			 &sum) &&
	       sum == said;
	give_back(rd, units);
	if (!good) {
		rd->corrupt++;
		return -1;
	}
	*out_ev = u.ev;
	*out_path = (const char *)buf;
	*out_path2 = (const char *)second;
	return 1;
}

/* `head` is not within [tail, tail + size]: no writer may claim until it is back. Frames that
 * are already claimed are still found by their state words. */
static int repair_head(struct sbx_ring_reader *rd, uint64_t head)
{
	rd->corrupt++;
	atomic_compare_exchange_strong_explicit(&rd->ring->head, &head, rd->tail,
						memory_order_relaxed, memory_order_relaxed);
	rd->head_seen = rd->tail;
	show_tail(rd);
	return -1;
}

/* Publishes the new tail. Writers wait for it when the ring is full. */
static int nothing(struct sbx_ring_reader *rd)
{
	show_tail(rd);
	return 0;
}

/* No frame is claimed, but the place was changed, so that no writer could ever claim it: resets it.
 * A writer in between either fails, and counts it, or has claimed the place, which is then valid.
 */
static void clean_place(struct sbx_ring_reader *rd, uint64_t word)
{
	uint64_t want = word, empty = ring_empty(ring_lap(rd->tail, rd->size));

	if (word == empty ||
	    atomic_load_explicit(&rd->ring->head, memory_order_acquire) != rd->tail)
		return;
	if (atomic_compare_exchange_strong_explicit(ring_at(rd->ring, rd->size, rd->tail), &want,
						    empty, memory_order_relaxed,
						    memory_order_relaxed))
		rd->corrupt++;
}

/* The place at the tail is neither claimed nor complete. */
static int read_unclaimed(struct sbx_ring_reader *rd, uint64_t word, uint64_t now_ms, bool final)
{
	uint64_t head = atomic_load_explicit(&rd->ring->head, memory_order_relaxed);

	if (head == rd->tail) {
		clean_place(rd, word);
		return nothing(rd);
	}
	if (head - rd->tail > rd->size || head % SBX_RING_UNIT)
		return repair_head(rd, head);
	if (load(rd, rd->tail) != word) /* claimed since */
		return LOOK_AGAIN;
	if (word != ring_empty(ring_lap(rd->tail, rd->size)))
		return corrupt_unit(rd);
	if (!grace_over(rd, now_ms, SBX_RING_HOLE_MS, final))
		return nothing(rd);
	return skip_hole(rd, head);
}

static int read_claimed(struct sbx_ring_reader *rd, uint64_t word, uint64_t now_ms, bool final)
{
	uint32_t pid = (uint32_t)(word >> 10) & RING_PID_MASK;

	if (!(rd->is_dead && rd->is_dead(pid)) && !grace_over(rd, now_ms, SBX_RING_CLAIM_MS, final))
		return nothing(rd);
	return skip_claimed(rd, word);
}

int sbx_ring_read(struct sbx_ring_reader *rd, unsigned char *buf, uint64_t now_ms, bool final,
		  struct sbx_event *out_ev, const char **out_path, const char **out_path2)
{
	unsigned tries;
	int got;

	for (tries = 0; tries < 4; tries++) { /* a word that changes more often was forged */
		uint64_t word = load(rd, rd->tail);

		/* complete frames are read whatever the header says */
		if (is_frame(rd, word, RING_READY))
			return take_frame(rd, buf, word, out_ev, out_path, out_path2);
		if (is_frame(rd, word, RING_CLAIMED))
			got = read_claimed(rd, word, now_ms, final);
		else
			got = read_unclaimed(rd, word, now_ms, final);
		if (got != LOOK_AGAIN)
			return got;
	}
	return nothing(rd);
}

/* How much a counter of the header has grown since the last call. */
static uint64_t take_count(struct sbx_ring_reader *rd, _Atomic uint64_t *counter, uint64_t *seen,
			   uint64_t *total)
{
	uint64_t now = atomic_load_explicit(counter, memory_order_relaxed), more = now - *seen;

	*seen = now;
	if (more > SBX_RING_COUNT_MAX - *total) { /* someone wrote the counter */
		rd->corrupt++;
		return 0;
	}
	*total += more;
	return more;
}

uint64_t sbx_ring_take_lost(struct sbx_ring_reader *rd)
{
	return take_count(rd, &rd->ring->lost, &rd->lost_seen, &rd->lost_total);
}

uint64_t sbx_ring_take_internal(struct sbx_ring_reader *rd)
{
	return take_count(rd, &rd->ring->internal, &rd->internal_seen, &rd->internal_total);
}

uint64_t sbx_ring_pending(const struct sbx_ring_reader *rd)
{
	uint64_t n = atomic_load_explicit(&rd->ring->head, memory_order_relaxed) - rd->tail;

	return n > rd->size ? rd->size : n;
}
