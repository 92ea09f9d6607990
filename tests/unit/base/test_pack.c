/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pack.h"

#include <stdint.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/mem.h"
#include "base/str.h"

static void pack(struct b_str *out)
{
	static const char *const list[] = {"a", "", NULL};

	b_pack_u64(out, 7);
	b_pack_text(out, "text");
	b_pack_text(out, NULL);
	b_pack_bytes(out, "1234567\0", 8);
	b_pack_list(out, list);
	b_pack_list(out, NULL);
}

/* Is it what pack() wrote? */
static bool unpack(const void *data, size_t n)
{
	b_auto(b_arena_release) struct b_arena a = {0};
	struct b_unpack in = b_unpack_from(&a, data, n);
	uint64_t seven = b_unpack_u64(&in, 7);
	const char *text = b_unpack_text(&in), *none = b_unpack_text_or_null(&in);
	size_t len;
	const void *bytes = b_unpack_bytes(&in, &len);
	char **list = b_unpack_list(&in), **empty = b_unpack_list(&in);

	/* good to look at, whatever was read */
	for (char **v = list; *v; v++)
		(void)strlen(*v);
	if (!b_unpack_done(&in))
		return false;
	cr_expect_eq(seven, 7);
	cr_expect_str_eq(text, "text");
	cr_expect_null(none);
	cr_expect_eq(len, 8);
	cr_expect_eq(memcmp(bytes, "1234567\0", 8), 0);
	cr_expect_str_eq(list[0], "a");
	cr_expect_str_eq(list[1], "");
	cr_expect_null(list[2]);
	cr_expect_null(empty[0]);
	return true;
}

Test(base_pack, what_is_packed_is_unpacked)
{
	b_auto(b_str_release) struct b_str s = {0};

	pack(&s);
	cr_expect_eq(s.len % 8, 0);
	cr_expect(unpack(s.s, s.len));
}

Test(base_pack, what_is_cut_short_or_grown_is_bad)
{
	b_auto(b_str_release) struct b_str s = {0};

	pack(&s);
	for (size_t n = 0; n < s.len; n++) {
		char *copy = b_malloc(n + 1); /* so that a sanitizer sees one byte too far */

		memcpy(copy, s.s, n);
		cr_expect_not(unpack(copy, n), "%zu", n);
		free(copy);
	}
	b_str_addc(&s, 'x');
	cr_expect_not(unpack(s.s, s.len));
}

Test(base_pack, a_reader_that_was_bad_stays_so_and_gives_nothing)
{
	b_auto(b_str_release) struct b_str s = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct b_unpack in;

	b_pack_u64(&s, 8);
	b_pack_u64(&s, 1);
	in = b_unpack_from(&a, s.s, s.len);
	cr_expect_eq(b_unpack_u64(&in, 7), 0);
	cr_expect_eq(b_unpack_u64(&in, 7), 0);
	cr_expect_str_eq(b_unpack_text(&in), "");
	cr_expect_null(*b_unpack_list(&in));
	cr_expect_not(b_unpack_done(&in));
}

Test(base_pack, no_count_is_larger_than_the_room)
{
	static const uint64_t counts[] = {2, UINT64_MAX, UINT64_MAX / 8, 1u << 31};

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		b_auto(b_str_release) struct b_str s = {0};
		b_auto(b_arena_release) struct b_arena a = {0};
		struct b_unpack in;
		size_t n;

		b_pack_u64(&s, counts[i]);
		b_pack_u64(&s, 0);
		in = b_unpack_from(&a, s.s, s.len);
		cr_expect_eq(b_unpack_count(&in, 8), 0);
		in = b_unpack_from(&a, s.s, s.len);
		if (counts[i] > 8 && counts[i] != UINT64_MAX) { /* that is NULL */
			cr_expect_null(b_unpack_bytes(&in, &n));
			cr_expect_eq(n, 0);
			cr_expect(in.is_bad);
		}
	}
}

Test(base_pack, a_text_with_a_nul_inside_is_bad)
{
	b_auto(b_str_release) struct b_str s = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct b_unpack in;

	b_pack_bytes(&s, "a\0b", 3);
	in = b_unpack_from(&a, s.s, s.len);
	(void)b_unpack_text(&in);
	cr_expect_not(b_unpack_done(&in));
}
