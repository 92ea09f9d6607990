/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - layout and writer, see ring.h. Runs inside other people's processes. */
#include "core/ring.h"

#include "core/ring_priv.h"

/* Tries before a full ring costs the event: about 10 us, a few slices of the reader's work. A
 * writer that waited longer would make the program feel the audit. */
enum { FULL_SPINS = 200 };

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static size_t round_size(size_t data_size)
{
	size_t size = SBX_RING_MIN;

	while (size < data_size && size <= SIZE_MAX / 4)
		size *= 2;
	return size;
}

size_t sbx_ring_bytes(size_t data_size)
{
	return sizeof(struct sbx_ring) + round_size(data_size);
}

void sbx_ring_init(struct sbx_ring *r, size_t data_size, enum sbx_audit_level level)
{
	r->version = SBX_RING_VERSION;
	r->level = level;
	r->size = round_size(data_size);
	r->magic = SBX_RING_MAGIC;
}

void sbx_ring_set_alone(struct sbx_ring *r, uint64_t lines)
{
	r->is_alone = 1;
	atomic_store_explicit(&r->lines, lines, memory_order_relaxed);
}

bool sbx_ring_check(const struct sbx_ring *r, size_t bytes, uint64_t *out_size)
{
	size_t size;

	if (bytes < sizeof *r + SBX_RING_MIN)
		return false;
	size = bytes - sizeof *r;
	if (size & (size - 1))
		return false;
	if (r->magic != SBX_RING_MAGIC || r->version != SBX_RING_VERSION || r->size != size)
		return false;
	*out_size = size;
	return true;
}

bool sbx_ring_has_room(const struct sbx_ring *r, uint64_t size, uint64_t more)
{
	/* the tail first: it may only have grown when the head is read */
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	uint64_t used = atomic_load_explicit(&r->head, memory_order_acquire) - tail;

	return used <= size && more <= size - used;
}

/* Moves `head` over `need` bytes; false when there is no room for them. */
static bool claim(struct sbx_ring *r, uint64_t size, uint64_t need, uint64_t *out_pos)
{
	unsigned spins = 0;
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	for (;;) {
		/* acquire: the units before `tail` were made EMPTY before it was moved */
		uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
		uint64_t used = head - tail; /* above size: a stale head, or a forged one */

		if (used <= size && size - used >= need) {
			if (atomic_compare_exchange_weak_explicit(&r->head, &head, head + need,
								  memory_order_relaxed,
								  memory_order_relaxed))
				break;
			continue; /* someone else moved it: progress, no spin counted */
		}
		if (++spins > FULL_SPINS)
			return false;
		cpu_relax();
		head = atomic_load_explicit(&r->head, memory_order_relaxed);
	}
	*out_pos = head;
	return head % SBX_RING_UNIT == 0; /* otherwise it was forged; the reader repairs it */
}

struct cursor {
	struct sbx_ring *ring;
	uint64_t size, pos, sum;
};

static inline void put(struct cursor *c, uint64_t w)
{
	c->sum = ring_sum(c->sum, w);
	atomic_store_explicit(ring_at(c->ring, c->size, c->pos), w, memory_order_relaxed);
	c->pos += sizeof w;
}

static void put_path(struct cursor *c, const char *p, uint64_t len)
{
	uint64_t w;

	for (; len >= sizeof w; len -= sizeof w, p += sizeof w) {
		__builtin_memcpy(&w, p, sizeof w); /* one unaligned load */
		put(c, w);
	}
	if (len) {
		uint64_t i;

		for (w = 0, i = 0; i < len; i++)
			w |= (uint64_t)(unsigned char)p[i] << (8 * i);
		put(c, w);
	}
}

static bool dropped(struct sbx_ring *r)
{
	atomic_fetch_add_explicit(&r->lost, 1, memory_order_relaxed);
	return false;
}

static void clamp(uint16_t *len, uint16_t *flags)
{
	if (*len > RING_PATH_MAX) {
		*len = RING_PATH_MAX;
		*flags |= SBX_EVF_TRUNCATED;
	}
}

bool sbx_ring_write(struct sbx_ring *r, uint64_t size, const struct sbx_event *event,
		    const char *path, const char *path2)
{
	union {
		struct sbx_event ev;
		uint64_t words[RING_EV_WORDS];
	} u = {.ev = *event};
	struct cursor c = {.ring = r, .size = size};
	uint64_t units, pos, empty, claimed, ready;
	_Atomic uint64_t *state;
	unsigned i;

	clamp(&u.ev.path_len, &u.ev.flags);
	clamp(&u.ev.path2_len, &u.ev.flags);
	units = ring_units(u.ev.path_len, u.ev.path2_len);
	if (!claim(r, size, units * SBX_RING_UNIT, &pos))
		return dropped(r);
	empty = ring_empty(ring_lap(pos, size));
	claimed = ring_word(ring_lap(pos, size), u.ev.pid, units, RING_CLAIMED);
	state = ring_at(r, size, pos);
	/* Fails if the reader gave this writer up between the two steps, or if `head` or `tail` was
	 * forged and another writer has this place. */
	if (!atomic_compare_exchange_strong_explicit(state, &empty, claimed, memory_order_acquire,
						     memory_order_relaxed))
		return dropped(r);
	ready = claimed ^ RING_CLAIMED ^ RING_READY;
	c.sum = ready;
	c.pos = pos + 2 * sizeof claimed;
	for (i = 0; i < RING_EV_WORDS; i++)
		put(&c, u.words[i]);
	put_path(&c, path, u.ev.path_len);
	put_path(&c, path2, u.ev.path2_len);
	atomic_store_explicit(ring_at(r, size, pos + sizeof claimed), c.sum, memory_order_relaxed);
	if (!atomic_compare_exchange_strong_explicit(state, &claimed, ready, memory_order_release,
						     memory_order_relaxed))
		return dropped(r);
	return true;
}
