/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/intern.c. */
#include "base/intern.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(base_intern, equal_texts_have_one_number_and_others_the_next)
{
	struct b_intern t = {.n = 0};

	cr_expect_eq(b_intern_find(&t, "a", 1), B_INTERN_NONE);
	cr_expect_eq(b_intern(&t, "a", 1), 0);
	cr_expect_eq(b_intern(&t, "", 0), 1);
	cr_expect_eq(b_intern(&t, "a", 1), 0);
	cr_expect_eq(b_intern(&t, "ab", 2), 2);
	cr_expect_eq(b_intern_find(&t, "ab", 2), 2);
	cr_expect_eq(b_intern_find(&t, "b", 1), B_INTERN_NONE);
	cr_expect_eq(t.n, 3);
	cr_expect_str_eq(b_interned(&t, 2), "ab");
	b_intern_release(&t);
	cr_expect_eq(t.n, 0);
}

Test(base_intern, every_byte_counts_and_a_nul_is_one_of_them)
{
	struct b_intern t = {.n = 0};
	char text[40];
	uint32_t n;

	memset(text, 'x', sizeof text);
	for (size_t len = 0; len <= sizeof text; len++)
		cr_expect_eq(b_intern(&t, text, len), len);
	for (size_t i = 0; i < sizeof text; i++) {
		text[i] = '\0';
		n = b_intern(&t, text, sizeof text);
		cr_expect_eq(n, sizeof text + 1 + i, "byte %zu", i);
		cr_expect_eq(b_interned_len(&t, n), sizeof text);
		cr_expect_arr_eq(b_interned(&t, n), text, sizeof text);
		text[i] = 'x';
	}
	b_intern_release(&t);
}

Test(base_intern, many_texts_keep_their_numbers_while_it_grows)
{
	struct b_intern t = {.n = 0};
	enum { MANY = 50000 };
	char text[64];

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < MANY; i++) {
			snprintf(text, sizeof text, "/usr/include/library%02u/header%05u.h", i % 50,
				 i);
			cr_assert_eq(b_intern(&t, text, strlen(text)), i);
			cr_assert_str_eq(b_interned(&t, i), text);
		}
	cr_expect_eq(t.n, MANY);
	b_intern_release(&t);
}

/* As many in each half of the bits as chance has it: texts that differ in one digit. */
Test(base_intern, hashes_of_near_texts_are_spread)
{
	enum { MANY = 4096, CELLS = 256 };
	unsigned low[CELLS] = {0}, high[CELLS] = {0};
	char text[32];

	for (unsigned i = 0; i < MANY; i++) {
		uint32_t h;

		snprintf(text, sizeof text, "./name%04u", i);
		h = b_hash(text, strlen(text));
		low[h % CELLS]++;
		high[h >> 24]++;
	}
	for (unsigned i = 0; i < CELLS; i++) { /* 16 each: 60 are eleven deviations away */
		cr_expect_lt(low[i], 60);
		cr_expect_lt(high[i], 60);
	}
}
