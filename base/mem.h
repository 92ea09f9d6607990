/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h - allocation that ends the process if memory is exhausted, an arena, cleanup attributes.
 *
 * For this project's own processes only, never for core/ or shim/. Every input has a size limit
 * before it gets here: exhaustion means a broken machine, not bad input. No call returns NULL, and
 * none is async-signal-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* The caller frees the result by free(3). b_malloc() does not clear it, b_calloc() does. */
void *b_malloc(size_t size);
void *b_calloc(size_t n, size_t size);
void *b_realloc(void *p, size_t n, size_t size); /* n * size, overflow checked */
char *b_strdup(const char *s);
char *b_strndup(const char *s, size_t n);

/* An arena: many objects, freed at once. All zero is empty. The memory is cleared, aligned to 16
 * bytes, and valid until b_arena_release(). One thread at a time. */
struct b_arena {
	struct b_arena_block *head;
};
void *b_arena_alloc(struct b_arena *a, size_t size);
char *b_arena_strndup(struct b_arena *a, const char *s, size_t n);
char *b_arena_printf(struct b_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void b_arena_release(struct b_arena *a); /* frees everything; empty afterwards */

/* Whether a process frees its memory before it exits. Only builds that look for leaks do: the
 * kernel frees it at once. */
#if defined(__SANITIZE_ADDRESS__)
#define B_FREES_AT_END true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define B_FREES_AT_END true
#endif
#endif
#ifndef B_FREES_AT_END
#define B_FREES_AT_END false
#endif

/* An array that grows, in three variables: T *v; size_t n, cap. b_grow(v, n, cap) makes room for
 * one more element, and may move v. The owner calls free(v). */
#define b_grow(v, n, cap)                                                                          \
	do {                                                                                       \
		if ((n) == (cap)) {                                                                \
			(cap) = (cap) ? (cap)*2 : 8;                                               \
			(v) = b_realloc((v), (cap), sizeof *(v));                                  \
		}                                                                                  \
	} while (0)

/* Cleanup at the end of a scope, and hand-over to another owner, as in crun and systemd.
 *
 *	b_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
 *	...
 *	*out_fd = b_take_fd(&fd);
 */

static inline void b_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void b_free_ptr(void *p)
{
	free(*(void **)p);
}

static inline int b_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define b_auto_fd   __attribute__((cleanup(b_close_fd)))
#define b_auto_free __attribute__((cleanup(b_free_ptr)))
/* b_auto(struct_release) T x = {0}: calls struct_release(&x) at scope end. */
#define b_auto(fn) __attribute__((cleanup(fn)))
#define b_take_ptr(pp)                                                                             \
	({                                                                                         \
		__typeof__(*(pp)) b_taken = *(pp);                                                 \
		*(pp) = NULL;                                                                      \
		b_taken;                                                                           \
	})
