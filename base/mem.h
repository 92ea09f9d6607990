/* SPDX-License-Identifier: Apache-2.0 */
/* mem.h - allocation that dies on exhaustion, and an arena freed at once.
 * Our own processes only (never core/ or shim/). Every input has a size limit
 * before it gets here, so exhaustion is a broken machine, not bad input. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

void *b_malloc(size_t size);
void *b_calloc(size_t n, size_t size);
void *b_realloc(void *p, size_t n, size_t size); /* n * size, overflow checked */
char *b_strdup(const char *s);
char *b_strndup(const char *s, size_t n);

/* Arena: zero-initialised struct is empty. Memory is zeroed and 16-aligned. */
struct b_arena {
	struct b_arena_block *head;
};
void *b_arena_alloc(struct b_arena *a, size_t size);
char *b_arena_strndup(struct b_arena *a, const char *s, size_t n);
char *b_arena_printf(struct b_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void b_arena_release(struct b_arena *a); /* frees everything; empty afterwards */

/* Is what a process has given back before its end? Only where leaks are looked for: the kernel does
 * it at once. */
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

/* Growable array in three fields: T *v; size_t n, cap.  b_grow(v, n, cap) makes
 * room for one more element. */
#define b_grow(v, n, cap)                                                                          \
	do {                                                                                       \
		if ((n) == (cap)) {                                                                \
			(cap) = (cap) ? (cap)*2 : 8;                                               \
			(v) = b_realloc((v), (cap), sizeof *(v));                                  \
		}                                                                                  \
	} while (0)

/* Cleanup attributes and hand-over, as in crun and systemd.
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
