/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/mem.c and base/mem.h. */
#include "base/mem.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

Test(base_mem, nothing_is_a_pointer_too)
{
	void *a = b_malloc(0), *b = b_calloc(0, 8), *c = b_realloc(NULL, 0, 8);

	cr_expect_not_null(a);
	cr_expect_not_null(b);
	cr_expect_not_null(c);
	c = b_realloc(c, 0, 1); /* must not have freed it */
	cr_expect_not_null(c);
	free(a);
	free(b);
	free(c);
}

Test(base_mem, strndup_stops_at_the_nul_and_at_the_limit)
{
	static const char unterminated[3] = {'x', 'y', 'z'};
	char *a = b_strndup("ab\0cd", 5), *b = b_strndup(unterminated, 3), *c = b_strndup("q", 0);

	cr_expect_str_eq(a, "ab");
	cr_expect_str_eq(b, "xyz");
	cr_expect_str_eq(c, "");
	free(a);
	free(b);
	free(c);
}

Test(base_mem, a_product_that_wraps_dies, .exit_code = 125)
{
	volatile size_t half = SIZE_MAX / 2 + 1;

	cr_redirect_stderr();
	free(b_realloc(NULL, half, 2)); /* 0 when it wraps */
}

Test(base_mem, an_arena_request_that_wraps_dies, .exit_code = 125)
{
	volatile size_t all = SIZE_MAX;
	struct b_arena arena = {0};

	cr_redirect_stderr();
	b_arena_alloc(&arena, all);
}

#ifndef __SANITIZE_ADDRESS__ /* which ends the program itself */
Test(base_mem, more_than_there_is_dies, .exit_code = 125)
{
	volatile size_t half = SIZE_MAX / 2;

	cr_redirect_stderr();
	free(b_malloc(half));
}
#endif

Test(base_mem, grow_keeps_what_is_there)
{
	struct {
		int *v;
		size_t n, cap;
	} a = {0};
	int i;

	for (i = 0; i < 1000; i++) {
		b_grow(a.v, a.n, a.cap);
		a.v[a.n++] = i;
	}
	for (i = 0; i < 1000; i++)
		cr_assert_eq(a.v[i], i);
	cr_expect_geq(a.cap, 1000);
	free(a.v);
}

Test(base_mem, arena_memory_is_zeroed_aligned_and_apart)
{
	enum { PIECES = 400 };
	struct b_arena arena = {0};
	unsigned char *piece[PIECES];
	size_t i, k;

	for (i = 0; i < PIECES; i++) {
		piece[i] = b_arena_alloc(&arena, i * 7);
		cr_assert_eq((uintptr_t)piece[i] % 16, 0, "piece %zu", i);
		for (k = 0; k < i * 7; k++)
			cr_assert_eq(piece[i][k], 0, "piece %zu byte %zu", i, k);
		memset(piece[i], (int)(i % 255) + 1, i * 7);
	}
	for (i = 0; i < PIECES; i++)
		for (k = 0; k < i * 7; k++)
			cr_assert_eq(piece[i][k], i % 255 + 1, "piece %zu overwritten", i);
	b_arena_release(&arena);
	cr_expect_null(arena.head);
}

Test(base_mem, empty_arena_pieces_are_apart)
{
	struct b_arena arena = {0};
	void *a = b_arena_alloc(&arena, 0), *b = b_arena_alloc(&arena, 0);

	cr_expect_neq(a, b);
	b_arena_release(&arena);
}

Test(base_mem, a_big_piece_leaves_the_room_of_small_ones_in_use)
{
	struct b_arena arena = {0};
	char *a = b_arena_alloc(&arena, 16), *big = b_arena_alloc(&arena, 1 << 20);
	char *b = b_arena_alloc(&arena, 16);

	memset(big, 1, 1 << 20);
	cr_expect_eq(b, a + 16, "the head block was given up for the big one");
	cr_expect_eq(*b, 0);
	b_arena_release(&arena);
}

Test(base_mem, a_big_first_piece_is_fine)
{
	struct b_arena arena = {0};
	char *big = b_arena_alloc(&arena, 3 << 20), *small = b_arena_alloc(&arena, 1);

	memset(big, 1, 3 << 20);
	cr_expect_eq(*small, 0);
	b_arena_release(&arena);
	b_arena_release(&arena); /* empty afterwards: releasing again is harmless */
}

Test(base_mem, arena_strings)
{
	struct b_arena arena = {0};
	char *long_one, wide[300];

	memset(wide, 'w', sizeof wide - 1);
	wide[sizeof wide - 1] = '\0';
	cr_expect_str_eq(b_arena_strndup(&arena, "abcdef", 3), "abc");
	cr_expect_str_eq(b_arena_strndup(&arena, "ab", 9), "ab");
	cr_expect_str_eq(b_arena_printf(&arena, "%s:%d", "x", 7), "x:7");
	cr_expect_str_eq(b_arena_printf(&arena, "%s", ""), "");
	long_one = b_arena_printf(&arena, "<%s>", wide);
	cr_expect_eq(strlen(long_one), 301);
	cr_expect_eq(long_one[300], '>');
	b_arena_release(&arena);
}

static int scope_with_fd(bool take)
{
	b_auto_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int number = fd;

	cr_assert_geq(fd, 0);
	return take ? b_take_fd(&fd) : number;
}

Test(base_mem, a_descriptor_is_closed_at_scope_end_unless_taken)
{
	int left = scope_with_fd(false), taken;

	cr_expect_eq(fcntl(left, F_GETFD), -1);
	taken = scope_with_fd(true);
	cr_expect_eq(fcntl(taken, F_GETFD), FD_CLOEXEC);
	close(taken);
}

Test(base_mem, taking_a_pointer_leaves_null)
{
	b_auto_free char *p = b_strdup("x");
	char *mine = b_take_ptr(&p);

	cr_expect_null(p);
	cr_expect_str_eq(mine, "x");
	free(mine);
}
