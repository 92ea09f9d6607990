/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c - see judge.h. */
#include "shim/judge.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/decide.h"
#include "core/deep.h"
#include "core/asked.h"
#include "core/event.h"
#include "core/fold.h"
#include "core/path.h"
#include "core/ring.h"
#include "shim/line.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/sys.h"

/* ---- verdict cache ---- */

enum { PLACES = 2048 };

/* An entry has a 61-bit hash of (operation, path) and flags. Only allowed paths have an entry. The
 * hash is seeded with the kernel's random bytes, so that no program can search for collisions. */
#define TOLD_OK	  UINT64_C(1)
#define TOLD_FAIL UINT64_C(2)
#define KEY_MASK  (~UINT64_C(7))
#define KEY_SET	  UINT64_C(4) /* no key is 0 */

static _Atomic uint64_t places[PLACES];

static inline uint64_t mix(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 p = (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) *
			      (b ^ UINT64_C(0xe7037ed1a0b428db));

	return (uint64_t)p ^ (uint64_t)(p >> 64);
#else /* two products of halves, crosswise: no carries to follow, and as well mixed for a cache */
	uint64_t x = a ^ UINT64_C(0x9e3779b97f4a7c15), y = b ^ UINT64_C(0xe7037ed1a0b428db);
	uint64_t p = x * y, q = (x >> 32 | x << 32) * (y ^ y >> 32 ^ UINT64_C(0xa0761d6478bd642f));

	return p ^ (q >> 29 | q << 35);
#endif
}

static uint64_t path_key(enum sbx_op op, const char *path, size_t len)
{
	uint64_t seed = atomic_load_explicit(&shim_life()->seed, memory_order_relaxed);
	uint64_t h = mix(seed, (uint64_t)len << 8 | (uint64_t)op), w;

	for (; len >= sizeof w; len -= sizeof w, path += sizeof w) {
		__builtin_memcpy(&w, path, sizeof w);
		h = mix(h ^ w, seed);
	}
	for (w = 0; len--;)
		w = w << 8 | (unsigned char)path[len];
	h = mix(h ^ w, seed);
	return (h & KEY_MASK) | KEY_SET;
}

static inline _Atomic uint64_t *place_of(uint64_t key)
{
	return &places[key >> 32 & (PLACES - 1)];
}

static int look(void *ctx, const char *dir)
{
	(void)ctx;
	return sys_folds(dir);
}

static unsigned path_folds(const char *path, size_t len)
{
	char *room SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);

	return sbx_path_folds(path, len, room, SBX_PATH_MAX, look, NULL);
}

/* Whether a rule denies the path by another spelling that is the same name there. The broker checks
 * this itself; in preload-only mode the shim must. */
static bool is_folded(enum sbx_op op, const char *path, size_t len)
{
	const struct sbx_image *img = &shim.image;

	return shim.is_alone && img->hdr->folds &&
	       sbx_folded_rule(img, op, path, len, SBX_FOLDS_CASE | SBX_FOLDS_ALIAS) >= 0 &&
	       sbx_folded_rule(img, op, path, len, path_folds(path, len)) >= 0;
}

struct shim_verdict shim_judge(enum sbx_op op, const char *path, size_t len)
{
	struct shim_verdict v = {.allowed = true, .key = path_key(op, path, len)};
	_Atomic uint64_t *place = place_of(v.key);
	uint64_t there = atomic_load_explicit(place, memory_order_relaxed);

	if ((there & ~(TOLD_OK | TOLD_FAIL)) == v.key)
		return v;
	v.allowed = sbx_decide(&shim.image, op, path, len) && !is_folded(op, path, len);
	if (v.allowed)
		atomic_store_explicit(place, v.key, memory_order_relaxed);
	return v;
}

/* Whether this outcome of a remembered verdict is reported for the first time. */
static bool is_news(uint64_t key, int err)
{
	_Atomic uint64_t *place = place_of(key);
	uint64_t bit = err ? TOLD_FAIL : TOLD_OK;
	uint64_t there = atomic_load_explicit(place, memory_order_relaxed);

	if ((there & ~(TOLD_OK | TOLD_FAIL)) != key)
		there = key;
	if (there & bit)
		return false;
	atomic_store_explicit(place, there | bit, memory_order_relaxed);
	return true;
}

/* ---- events ---- */

static bool is_wanted(const struct shim_told *t, uint64_t key)
{
	bool denied = !(t->flags & SBX_EVF_ALLOWED);

	switch ((enum sbx_audit_level)shim.level) {
	case SBX_AUDIT_ALL:
		return true;
	case SBX_AUDIT_FOLDED:
		return denied || t->op != SBX_READ || !key || is_news(key, t->err);
	case SBX_AUDIT_MODIFY:
		return denied || t->op != SBX_READ;
	case SBX_AUDIT_DENIED:
		return denied;
	case SBX_AUDIT_NONE:
	case SBX_AUDIT_LEVEL_COUNT:
		break;
	}
	return false;
}

/* The collector has just emptied the place of the next frame, on another core: fetched now,
 * while the program goes on, it costs the next call nothing. */
static inline void warm_next_frame(void)
{
	enum { LINE = 64, LINES = 3 };
	uint64_t next = atomic_load_explicit(&shim.ring->head, memory_order_relaxed);
	unsigned i;

	for (i = 0; i < LINES; i++, next += LINE)
		__builtin_prefetch(&shim.ring->data[next & (shim.ring_size - 1)], 1);
}

struct who {
	uint32_t pid, ppid;
};

/* With what the program asked for. */
static void put_asked(struct sbx_event *ev, const struct sbx_named n[2], char *room)
{
	const char *text = sbx_asked_put(ev, n, room);

	sbx_ring_write(shim.ring, shim.ring_size, ev, n[0].path, text);
}

/* Apart: only this takes room. */
static __attribute__((noinline)) void put_asked_of_two(struct sbx_event *ev,
						       const struct sbx_named n[2])
{
	char *room SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);

	put_asked(ev, n, room);
}

static void write_event(enum sbx_event_kind kind, const struct shim_told *t, struct who who)
{
	struct sbx_event ev = {
		.time_ns = kind == SBX_EV_CALL ? shim_now_ns() : shim_now_ns_cold(),
		.pid = who.pid,
		.ppid = who.ppid,
		.image_pid = atomic_load_explicit(&shim.image_pid, memory_order_relaxed),
		.kind = (uint16_t)kind,
		.op = (uint16_t)t->op,
		.call = (uint16_t)t->call,
		.flags = (uint16_t)t->flags,
		.err = t->err,
		.aux = t->aux,
		.count = t->count,
		.rule = t->rule,
		.path_len = (uint16_t)t->len,
		.path2_len = (uint16_t)t->len2,
	};
	const struct sbx_named n[2] = {{t->path, t->asked, t->len}, {t->path2, t->asked2, t->len2}};

	if (t->len >= SBX_PATH_MAX || t->len2 >= SBX_PATH_MAX)
		ev.rule = sbx_deep_rule(&shim.image, &ev, t->path, t->len, t->path2, t->len2);
	if (shim.is_alone) {
		shim_line_write(&ev, t->path, t->path2);
		return;
	}
	if (!sbx_asked_size(n))
		sbx_ring_write(shim.ring, shim.ring_size, &ev, t->path, t->path2);
	else if (!t->len2)
		put_asked(&ev, n, NULL);
	else
		put_asked_of_two(&ev, n);
	warm_next_frame();
}

void shim_tell(const struct shim_told *t, uint64_t key)
{
	struct shim_life *life;

	if (!is_wanted(t, key))
		return;
	life = shim_life();
	write_event(SBX_EV_CALL, t,
		    (struct who){
			    atomic_load_explicit(&life->pid, memory_order_relaxed),
			    atomic_load_explicit(&life->ppid, memory_order_relaxed),
		    });
}

/* Most exec calls are made by a vfork child, where the remembered pid is its parent's. */
void shim_tell_exec(enum sbx_event_kind kind, const struct shim_told *t, uint32_t pid)
{
	struct who who = {.pid = pid};

	if (!shim.ring)
		return;
	if (pid) {
		who.ppid = shim_ask_pid();
	} else {
		who.pid = shim_ask_pid();
		who.ppid = shim_ask_ppid();
	}
	write_event(kind, t, who);
}

void shim_tell_exit(int status)
{
	const struct shim_told t = {.aux = (unsigned)status & 0xff};
	uint32_t pid = atomic_load_explicit(&shim.image_pid, memory_order_relaxed);

	/* in preload-only mode no reader folds them in time, and single lines would be half of the
	 * log */
	if (!shim.ring || shim.is_alone || !pid || shim_has_filter() || shim_ask_pid() != pid ||
	    !atomic_compare_exchange_strong(&shim.image_pid, &pid, 0))
		return;
	shim_tell_exec(SBX_EV_EXIT, &t, 0);
}

size_t shim_words(char *buf, size_t size, char *const *argv, bool *out_is_cut)
{
	size_t n = 0;

	for (; *argv; argv++) {
		const char *s = *argv;

		for (; *s && n + 3 <= size; s++) {
			bool is_special = *s == SBX_ARGV_END || *s == SBX_ARGV_ESCAPE;

			if (is_special)
				buf[n++] = SBX_ARGV_ESCAPE;
			buf[n++] = is_special ? (char)('a' + (*s == SBX_ARGV_END)) : *s;
		}
		if (*s || n == size)
			break;
		buf[n++] = SBX_ARGV_END;
	}
	*out_is_cut = *argv != 0;
	return n;
}

/* ---- room for paths ---- */

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

/*
 * Does a program's pointer point anywhere? See mem.h.
 *
 * The kernel is asked, by a call that reads eight bytes and refuses afterwards: whatever was not
 * EFAULT was readable. Once for a page: what was mapped is taken to be so still.
 */

#define PAGE ((uintptr_t)4096)

#ifdef __APPLE__
static bool is_readable(uintptr_t at)
{
	(void)at; /* no call of the kind that has no effect */
	return true;
}
#else
static bool is_readable(uintptr_t at)
{
	enum { NO_SUCH_HOW = -1, SET_BYTES = 8 };

	return sys4(SYS_rt_sigprocmask, NO_SUCH_HOW, at & ~(uintptr_t)7, 0, SET_BYTES) != -EFAULT;
}
#endif

enum { POINTER_PLACES = 256 };
static _Atomic uintptr_t readable[POINTER_PLACES];

static bool is_page_readable(uintptr_t at)
{
	uintptr_t page = at / PAGE;
	_Atomic uintptr_t *place = &readable[(page ^ page >> 8) % POINTER_PLACES];

	if (atomic_load_explicit(place, memory_order_relaxed) == page)
		return true;
	/* under a filter of the program's own no call is made that it did not ask for */
	if (shim_has_filter())
		return true;
	if (!is_readable(at))
		return false;
	atomic_store_explicit(place, page, memory_order_relaxed);
	return true;
}

/* A string may go on in the next pages. One that ends nowhere is the kernel's to refuse. */
bool shim_is_no_pointer(const void *p)
{
	uintptr_t at = (uintptr_t)p, end = (at | (PAGE - 1)) + 1;
	const char *from = p;

	if (at < PAGE || at >= -PAGE || !is_page_readable(at))
		return true;
	for (size_t n = end - at; !memchr(from, 0, n); n = PAGE) {
		from += n;
		if (!is_page_readable((uintptr_t)from))
			return true;
	}
	return false;
}
