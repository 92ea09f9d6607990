/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/str.c, utf8.c and parse.c. */
#include "base/str.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(a) (sizeof(a) / sizeof *(a))

Test(base_str, an_empty_string_is_text_and_releasable)
{
	struct b_str s = {0};
	char *taken;

	cr_expect_str_eq(b_str_c(&s), "");
	b_str_reset(&s);
	b_str_release(&s);
	taken = b_str_take(&s);
	cr_assert_not_null(taken);
	cr_expect_str_eq(taken, "");
	cr_expect_null(s.s);
	cr_expect_eq(s.cap, 0);
	free(taken);
}

Test(base_str, adding_nothing_makes_it_terminated)
{
	struct b_str s = {0};

	b_str_addn(&s, NULL, 0);
	cr_assert_not_null(s.s);
	cr_expect_str_eq(s.s, "");
	cr_expect_eq(s.len, 0);
	b_str_release(&s);
}

Test(base_str, every_length_is_terminated_and_whole)
{
	struct b_str s = {0};
	size_t i;

	for (i = 0; i < 5000; i++) {
		b_str_addc(&s, (char)('a' + i % 26));
		cr_assert_eq(s.len, i + 1);
		cr_assert_lt(s.len, s.cap);
		cr_assert_eq(s.s[s.len], '\0');
	}
	for (i = 0; i < 5000; i++)
		cr_assert_eq(s.s[i], (char)('a' + i % 26));
	b_str_release(&s);
}

Test(base_str, nul_bytes_are_bytes)
{
	struct b_str s = {0};

	b_str_addn(&s, "a\0b", 3);
	b_str_addc(&s, '\0');
	b_str_add(&s, "c");
	cr_expect_eq(s.len, 5);
	cr_expect_eq(memcmp(s.s, "a\0b\0c", 6), 0);
	b_str_release(&s);
}

Test(base_str, reset_keeps_the_memory)
{
	struct b_str s = {0};
	char *before;

	b_str_add(&s, "something");
	before = s.s;
	b_str_reset(&s);
	cr_expect_str_eq(b_str_c(&s), "");
	b_str_add(&s, "else");
	cr_expect_eq(s.s, before);
	cr_expect_str_eq(s.s, "else");
	b_str_release(&s);
}

Test(base_str, formatted_text_of_any_length_is_whole)
{
	char text[300];
	size_t len;

	for (len = 0; len < sizeof text; len++) {
		struct b_str s = {0};

		memset(text, 'y', len);
		text[len] = '\0';
		b_str_addf(&s, "%s|%d", text, 42);
		b_str_addf(&s, "%s", text);
		cr_assert_eq(s.len, 2 * len + 3, "length %zu", len);
		cr_assert_eq(memcmp(s.s + len, "|42", 3), 0);
		cr_assert_eq(strlen(s.s), s.len);
		b_str_release(&s);
	}
}

Test(base_str, integers_are_those_of_printf)
{
	uint64_t edge = 1;
	int digits, off;

	for (digits = 1; digits <= 20; digits++, edge *= 10)
		for (off = -1; off <= 1; off++) {
			uint64_t v = edge + (uint64_t)(int64_t)off;
			struct b_str s = {0};
			char want[64];

			b_str_add_u64(&s, v);
			b_str_addc(&s, ' ');
			b_str_add_i64(&s, (int64_t)v);
			snprintf(want, sizeof want, "%" PRIu64 " %" PRId64, v, (int64_t)v);
			cr_expect_str_eq(s.s, want);
			b_str_release(&s);
		}
}

Test(base_str, integers_at_the_ends_of_their_range)
{
	struct b_str s = {0};

	b_str_add_u64(&s, UINT64_MAX);
	b_str_addc(&s, ' ');
	b_str_add_i64(&s, INT64_MIN);
	b_str_addc(&s, ' ');
	b_str_add_i64(&s, INT64_MAX);
	cr_expect_str_eq(s.s, "18446744073709551615 -9223372036854775808 9223372036854775807");
	b_str_release(&s);
}

static const struct {
	const char *in, *out;
} visible[] = {
	{"", ""},
	{"plain ~ text", "plain ~ text"},
	{"a\nb\r\t\x1b[0m", "a\\x0ab\\x0d\\x09\\x1b[0m"},
	{"\x7f", "\\x7f"},
	{"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
	{"\xc2\x9b", "\\xc2\\x9b"},		      /* U+009B, CSI */
	{"\xc2\x85", "\\xc2\\x85"},		      /* U+0085, next line */
	{"\xc2\xa0", "\xc2\xa0"},		      /* the first behind C1 */
	{"\xd8\x9c", "\\xd8\\x9c"},		      /* U+061C */
	{"\xe2\x80\x8d", "\xe2\x80\x8d"},	      /* U+200D joins emoji: stays */
	{"\xe2\x80\x8e", "\\xe2\\x80\\x8e"},	      /* U+200E */
	{"\xe2\x80\x8f", "\\xe2\\x80\\x8f"},	      /* U+200F */
	{"\xe2\x80\xa7", "\xe2\x80\xa7"},	      /* U+2027, a visible point */
	{"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},	      /* U+2028, line separator */
	{"\xe2\x80\xa9", "\\xe2\\x80\\xa9"},	      /* U+2029, paragraph separator */
	{"\xe2\x80\xae", "\\xe2\\x80\\xae"},	      /* U+202E, right-to-left override */
	{"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},	      /* U+2066 */
	{"\xe2\x81\xa9", "\\xe2\\x81\\xa9"},	      /* U+2069 */
	{"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},	      /* U+FEFF */
	{"\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"}, /* U+E0041, tag */
	{"\xff\xfe", "\\xff\\xfe"},
	{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
	{"\xe2\x82", "\\xe2\\x82"},	     /* cut short */
	{"\xe2\x82z", "\\xe2\\x82z"},
};

Test(base_str, visible_text_cannot_move_the_cursor_or_turn_the_line)
{
	size_t i;

	for (i = 0; i < N(visible); i++) {
		struct b_str s = {0};

		b_str_add_visible(&s, visible[i].in, strlen(visible[i].in));
		cr_expect_str_eq(b_str_c(&s), visible[i].out, "row %zu", i);
		b_str_release(&s);
	}
}

Test(base_str, visible_text_shows_nul_bytes)
{
	struct b_str s = {0};

	b_str_add_visible(&s, "a\0b", 3);
	cr_expect_str_eq(s.s, "a\\x00b");
	b_str_release(&s);
}

Test(base_str, base64_of_rfc_4648)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xff\xfe\xfd", "//79"},
		{"\xfb\xef", "++8="},
	};
	size_t i;

	for (i = 0; i < N(rows); i++) {
		struct b_str s = {0};

		b_str_add_base64(&s, rows[i][0], strlen(rows[i][0]));
		cr_expect_str_eq(b_str_c(&s), rows[i][1]);
		b_str_release(&s);
	}
}

static unsigned encode(uint32_t c, unsigned char out[4])
{
	if (c < 0x80) {
		out[0] = (unsigned char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (unsigned char)(0xc0 | c >> 6);
		out[1] = (unsigned char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (unsigned char)(0xe0 | c >> 12);
		out[1] = (unsigned char)(0x80 | (c >> 6 & 63));
		out[2] = (unsigned char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (unsigned char)(0xf0 | c >> 18);
	out[1] = (unsigned char)(0x80 | (c >> 12 & 63));
	out[2] = (unsigned char)(0x80 | (c >> 6 & 63));
	out[3] = (unsigned char)(0x80 | (c & 63));
	return 4;
}

Test(base_str, utf8_takes_every_character_and_no_surrogate)
{
	uint32_t c;

	for (c = 0; c < 0x110000; c++) {
		bool is_surrogate = c >= 0xd800 && c < 0xe000;
		unsigned char p[4];
		unsigned len = encode(c, p), cut;

		cr_assert_eq(b_utf8_len(p, len), is_surrogate ? 0 : len, "U+%04X", c);
		if (!is_surrogate)
			cr_assert_eq(b_utf8_decode(p, len), c, "U+%04X", c);
		for (cut = 0; cut < len; cut++)
			cr_assert_eq(b_utf8_len(p, cut), 0, "U+%04X cut to %u", c, cut);
	}
}

/* All pairs of first bytes with every kind of byte behind: as many are well-formed as there are
 * characters of that length, so no overlong form is. */
Test(base_str, utf8_takes_nothing_else)
{
	static const unsigned char kind[] = {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff};
	unsigned count[5] = {0}, a, b, c, d;

	for (a = 0x80; a < 256; a++)
		for (b = 0; b < 256; b++)
			for (c = 0; c < N(kind); c++)
				for (d = 0; d < N(kind); d++) {
					unsigned char p[4] = {(unsigned char)a, (unsigned char)b,
							      kind[c], kind[d]};

					count[b_utf8_len(p, 4)]++;
				}
	cr_expect_eq(count[1], 0);
	/* leads times seconds times (valid thirds) times (valid fourths, of two and two) */
	cr_expect_eq(count[2], 30 * 64 * N(kind) * N(kind));
	cr_expect_eq(count[3], (32 + 14 * 64 + 32) * 2 * N(kind));
	cr_expect_eq(count[4], (48 + 3 * 64 + 16) * 2 * 2);
}

Test(base_str, utf8_text_is_valid_as_a_whole)
{
	char text[40];
	size_t at, n;

	cr_expect(b_utf8_valid("", 0));
	cr_expect(b_utf8_valid(NULL, 0));
	cr_expect(b_utf8_valid("a\0b", 3));
	for (n = 1; n < sizeof text; n++)
		for (at = 0; at < n; at++) {
			memset(text, 'a', n);
			cr_assert(b_utf8_valid(text, n));
			text[at] = (char)0xa9;
			cr_assert_not(b_utf8_valid(text, n), "byte %zu of %zu", at, n);
			if (at > 0) {
				text[at - 1] = (char)0xc3;
				cr_assert(b_utf8_valid(text, n), "byte %zu of %zu", at, n);
			}
		}
	/* well-formed, but the length cuts it: what lies behind must not be looked at */
	cr_expect_not(b_utf8_valid("1234567\xc3\xa9", 8));
}

Test(base_str, prefix)
{
	cr_expect(b_has_prefix("abc", ""));
	cr_expect(b_has_prefix("abc", "abc"));
	cr_expect_not(b_has_prefix("ab", "abc"));
	cr_expect_not(b_has_prefix("", "a"));
	cr_expect_not(b_has_prefix("xab", "ab"));
}

Test(base_str, numbers_are_strict)
{
	static const char *const bad[] = {"",
					  " 1",
					  "1 ",
					  "+1",
					  "-1",
					  "0x1",
					  "1.",
					  "1e3",
					  "1\n",
					  "18446744073709551616",
					  "99999999999999999999999"};
	unsigned long long v = 77;
	size_t i;

	for (i = 0; i < N(bad); i++)
		cr_expect_eq(b_parse_u64(bad[i], ULLONG_MAX, &v), -1, "`%s`", bad[i]);
	cr_expect_eq(v, 77, "written on failure");
	cr_expect_eq(b_parse_u64("18446744073709551615", ULLONG_MAX, &v), 0);
	cr_expect_eq(v, ULLONG_MAX);
	cr_expect_eq(b_parse_u64("007", 7, &v), 0);
	cr_expect_eq(v, 7);
	cr_expect_eq(b_parse_u64("8", 7, &v), -1);
	cr_expect_eq(b_parse_u64("0", 0, &v), 0);
	cr_expect_eq(v, 0);
}

Test(base_str, durations)
{
	static const struct {
		const char *text;
		unsigned long long ms;
	} good[] = {
		{"250ms", 250},
		{"1.5s", 1500},
		{"90", 90000},
		{"5m", 300000},
		{"2h", 7200000},
		{"0", 0},
		{"0ms", 0},
		{"0.001s", 1},
		{"1.5", 1500},
		{"0.1m", 6000},
		{"1.25h", 4500000},
		{"1.500000000s", 1500},
		{"2.0ms", 2},
		{"007s", 7000},
		{"18446744073709551615ms", ULLONG_MAX},
		{"18446744073709551.615s", ULLONG_MAX},
	};
	unsigned long long ms;
	size_t i;

	for (i = 0; i < N(good); i++) {
		cr_assert_eq(b_parse_duration_ms(good[i].text, &ms), 0, "`%s`", good[i].text);
		cr_expect_eq(ms, good[i].ms, "`%s` gave %llu", good[i].text, ms);
	}
}

Test(base_str, no_durations)
{
	static const char *const bad[] = {"",
					  "s",
					  "ms",
					  ".5s",
					  "1.s",
					  "1..5s",
					  "-1s",
					  "+1s",
					  " 1s",
					  "1 s",
					  "1s ",
					  "1S",
					  "1sec",
					  "1d",
					  "1e3ms",
					  "0x1s",
					  "1.5ms",
					  "0.0001s",
					  "0.00001m",
					  "1.5.5s",
					  "1s2",
					  "inf",
					  "nan",
					  "18446744073709551616ms",
					  "18446744073709551.616s",
					  "18446744073709552s",
					  "5124095576030432h",
					  "0.0000000000s"};
	unsigned long long ms = 77;
	size_t i;

	for (i = 0; i < N(bad); i++)
		cr_expect_eq(b_parse_duration_ms(bad[i], &ms), -1, "`%s`", bad[i]);
	cr_expect_eq(ms, 77, "written on failure");
}
