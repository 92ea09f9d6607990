/* SPDX-License-Identifier: Apache-2.0 */
/* intern.c - see intern.h. */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

enum { SLOTS = 1024 };

/* Drawn before main(), so that threads only read it. */
static uint64_t seed;

static __attribute__((constructor)) void draw_seed(void)
{
	struct timespec now = {0};

	if (getentropy(&seed, sizeof seed) == 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now); /* better than a constant */
	seed = (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(uintptr_t)&now;
}

/* Both halves of the product: every bit of both factors counts. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint32_t b_hash(const void *text, size_t len)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), other = UINT64_C(0xd6e8feb86659fd93);
	const unsigned char *p = text;
	uint64_t h = seed ^ len * odd, word;

	for (; len >= sizeof word; p += sizeof word, len -= sizeof word) {
		memcpy(&word, p, sizeof word);
		h = fold(h ^ word, odd ^ seed);
	}
	word = 0;
	memcpy(&word, p, len);
	h = fold(h ^ word, other ^ seed);
	return (uint32_t)(h ^ h >> 32);
}

/* A text in `texts`; it begins at a multiple of the unit. */
struct text {
	uint32_t number, len;
	char s[];
};

enum { UNIT = 8 };

static struct text *text_at(const struct b_intern *t, uint32_t at)
{
	return (struct text *)(void *)(t->texts + (size_t)(at - 1) * UNIT);
}

/* The slot of the text, or the free slot where it belongs. */
static struct b_intern_slot *slot_of(const struct b_intern *t, const void *text, size_t len,
				     uint32_t hash)
{
	size_t i = hash & (t->nslots - 1);

	for (; t->slots[i].at; i = (i + 1) & (t->nslots - 1)) {
		const struct text *one;

		if (t->slots[i].hash != hash)
			continue;
		one = text_at(t, t->slots[i].at);
		if (one->len == len && memcmp(one->s, text, len) == 0)
			break;
	}
	return &t->slots[i];
}

static void widen(struct b_intern *t)
{
	size_t n = t->nslots ? 2 * t->nslots : SLOTS, i, k;
	struct b_intern_slot *wider = b_calloc(n, sizeof *wider);

	for (i = 0; i < t->nslots; i++) {
		if (!t->slots[i].at)
			continue;
		k = t->slots[i].hash & (n - 1);
		while (wider[k].at)
			k = (k + 1) & (n - 1);
		wider[k] = t->slots[i];
	}
	free(t->slots);
	t->slots = wider;
	t->nslots = n;
}

/* Its place. */
static uint32_t add_text(struct b_intern *t, const void *text, size_t len)
{
	size_t size = (sizeof(struct text) + len + UNIT) & ~(size_t)(UNIT - 1); /* and a NUL */
	size_t at = t->used / UNIT + 1;
	struct text *one;

	B_ASSERT(at <= UINT32_MAX && len <= UINT32_MAX);
	while (t->room - t->used < size) {
		t->room = t->room ? 2 * t->room : 1 << 16;
		t->texts = b_realloc(t->texts, t->room, 1);
	}
	t->used += size;
	one = text_at(t, (uint32_t)at);
	one->number = (uint32_t)t->n;
	one->len = (uint32_t)len;
	memcpy(one->s, text, len);
	one->s[len] = '\0';
	return (uint32_t)at;
}

uint32_t b_intern(struct b_intern *t, const void *text, size_t len)
{
	uint32_t hash = b_hash(text, len);
	struct b_intern_slot *slot;

	if (2 * t->n >= t->nslots)
		widen(t);
	slot = slot_of(t, text, len, hash);
	if (slot->at)
		return text_at(t, slot->at)->number;
	*slot = (struct b_intern_slot){.hash = hash, .at = add_text(t, text, len)};
	b_grow(t->places, t->n, t->cap);
	t->places[t->n] = slot->at;
	return (uint32_t)t->n++;
}

uint32_t b_intern_find(const struct b_intern *t, const void *text, size_t len)
{
	const struct b_intern_slot *slot;

	if (!t->n)
		return B_INTERN_NONE;
	slot = slot_of(t, text, len, b_hash(text, len));
	return slot->at ? text_at(t, slot->at)->number : B_INTERN_NONE;
}

const char *b_interned(const struct b_intern *t, uint32_t number)
{
	return text_at(t, t->places[number])->s;
}

size_t b_interned_len(const struct b_intern *t, uint32_t number)
{
	return text_at(t, t->places[number])->len;
}

void b_intern_release(struct b_intern *t)
{
	free(t->texts);
	free(t->places);
	free(t->slots);
	*t = (struct b_intern){.n = 0};
}
