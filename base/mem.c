/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - see mem.h. */
#include "base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/format.h"

enum {
	EXIT_OURS = 125,
	ARENA_ALIGN = 16,
	ARENA_FIRST = 4096,
	ARENA_MAX = 256 * 1024, /* blocks double up to here */
};

struct b_arena_block {
	struct b_arena_block *next;
	size_t used, size;
	alignas(ARENA_ALIGN) unsigned char data[];
};

/* _exit(): atexit handlers may want memory too. */
static _Noreturn void exhausted(void)
{
	static const char text[] = "E_SYSTEM: out of memory\n";

	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		_exit(EXIT_OURS); /* nobody reads it */
	_exit(EXIT_OURS);
}

/* C does not say what malloc(0) returns. Here it is always a valid pointer. */
static size_t at_least_one(size_t size)
{
	return size ? size : 1;
}

void *b_malloc(size_t size)
{
	void *p = malloc(at_least_one(size));

	if (!p)
		exhausted();
	return p;
}

void *b_calloc(size_t n, size_t size)
{
	void *p = calloc(at_least_one(n), at_least_one(size));

	if (!p)
		exhausted();
	return p;
}

void *b_realloc(void *p, size_t n, size_t size)
{
	size_t total;
	void *grown;

	if (__builtin_mul_overflow(n, size, &total))
		exhausted();
	grown = realloc(p, at_least_one(total));
	if (!grown)
		exhausted();
	return grown;
}

char *b_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = b_malloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *b_strdup(const char *s)
{
	return b_strndup(s, strlen(s));
}

static struct b_arena_block *block_new(size_t size)
{
	struct b_arena_block *b;
	size_t total;

	if (__builtin_add_overflow(size, sizeof *b, &total))
		exhausted();
	/* Cleared when it is handed out, so that unused memory of a block is never touched. */
	b = b_malloc(total);
	*b = (struct b_arena_block){.size = size};
	return b;
}

/* A block of its own for a big request, put behind the head so that the head's room stays
 * in use; otherwise a new head. */
static struct b_arena_block *arena_extend(struct b_arena *a, size_t size)
{
	struct b_arena_block *head = a->head, *b;
	size_t next = ARENA_FIRST;

	if (head && size > ARENA_MAX / 4) {
		b = block_new(size);
		b->next = head->next;
		head->next = b;
		return b;
	}
	if (head)
		next = head->size < ARENA_MAX / 2 ? head->size * 2 : ARENA_MAX;
	b = block_new(size > next ? size : next);
	b->next = head;
	a->head = b;
	return b;
}

void *b_arena_alloc(struct b_arena *a, size_t size)
{
	struct b_arena_block *b = a->head;
	size_t rounded;
	void *p;

	if (__builtin_add_overflow(at_least_one(size), ARENA_ALIGN - 1, &rounded))
		exhausted();
	rounded &= ~(size_t)(ARENA_ALIGN - 1);
	if (!b || b->size - b->used < rounded)
		b = arena_extend(a, rounded);
	p = memset(b->data + b->used, 0, rounded);
	b->used += rounded;
	return p;
}

char *b_arena_strndup(struct b_arena *a, const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = b_arena_alloc(a, len + 1);

	memcpy(copy, s, len);
	return copy;
}

/* Formats into the free room of the head block, and a second time only if that is too small. */
char *b_arena_printf(struct b_arena *a, const char *fmt, ...)
{
	struct b_arena_block *head = a->head;
	size_t room = head ? head->size - head->used : 0;
	char *place = head ? (char *)head->data + head->used : NULL, *text;
	va_list ap, again;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = b_vformat(place, room, fmt, ap);
	va_end(ap);
	B_ASSERT(len >= 0);
	if (room >= ARENA_ALIGN && (size_t)len <= room - ARENA_ALIGN) {
		head->used += ((size_t)len + ARENA_ALIGN) & ~(size_t)(ARENA_ALIGN - 1);
		text = place;
	} else {
		text = b_arena_alloc(a, (size_t)len + 1);
		b_vformat(text, (size_t)len + 1, fmt, again);
	}
	va_end(again);
	return text;
}

void b_arena_release(struct b_arena *a)
{
	struct b_arena_block *b = a->head;

	while (b) {
		struct b_arena_block *next = b->next;

		free(b);
		b = next;
	}
	a->head = NULL;
}
