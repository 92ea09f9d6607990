/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/json.c; jansson judges what was written. */
#include "base/json.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static json_t *parsed(const struct b_str *s)
{
	json_error_t why;
	json_t *value = json_loadb(s->s, s->len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);

	cr_assert_not_null(value, "%s: %s", why.text, s->s);
	return value;
}

/* What a reader gets for n bytes: the same, U+FFFD for each byte of no well-formed sequence. */
static void expected(const unsigned char *p, size_t n, struct b_str *out)
{
	while (n) {
		unsigned len = b_utf8_len(p, n), used = len ? len : 1;

		b_str_addn(out, len ? (const char *)p : "\xef\xbf\xbd", len ? len : 3);
		p += used;
		n -= used;
	}
}

static void check_round_trip(const void *p, size_t n)
{
	struct b_str out = {0}, want = {0};
	struct b_json j = {.out = &out};
	json_t *value;
	size_t i;

	b_json_strn(&j, p, n);
	expected(p, n, &want);
	value = parsed(&out);
	cr_assert(json_is_string(value));
	cr_assert_eq(json_string_length(value), want.len, "%s", out.s);
	cr_assert_eq(memcmp(json_string_value(value), b_str_c(&want), want.len), 0, "%s", out.s);
	cr_assert(b_utf8_valid(out.s, out.len));
	for (i = 0; i < out.len; i++)
		cr_assert((unsigned char)out.s[i] >= 0x20 && out.s[i] != 0x7f, "%s", out.s);
	json_decref(value);
	b_str_release(&out);
	b_str_release(&want);
}

Test(base_json, commas_stand_between_and_nowhere_else)
{
	struct b_str s = {0};
	struct b_json j = {.out = &s};

	b_json_open(&j, '{');
	b_json_key(&j, "a");
	b_json_open(&j, '[');
	b_json_close(&j, ']');
	b_json_key(&j, "b");
	b_json_open(&j, '[');
	b_json_u64(&j, 1);
	b_json_i64(&j, -2);
	b_json_str(&j, "x");
	b_json_bool(&j, true);
	b_json_bool(&j, false);
	b_json_null(&j);
	b_json_open(&j, '{');
	b_json_close(&j, '}');
	b_json_open(&j, '{');
	b_json_key(&j, "c");
	b_json_null(&j);
	b_json_close(&j, '}');
	b_json_close(&j, ']');
	b_json_bytes(&j, "d", "/p", 2);
	b_json_close(&j, '}');
	cr_expect_str_eq(s.s, "{\"a\":[],\"b\":[1,-2,\"x\",true,false,null,{},{\"c\":null}],"
			      "\"d\":\"/p\"}");
	b_str_release(&s);
}

Test(base_json, it_appends_to_what_is_there)
{
	struct b_str s = {0};
	struct b_json j = {.out = &s};

	b_str_add(&s, "data: ");
	b_json_str(&j, "x");
	cr_expect_str_eq(s.s, "data: \"x\"");
	b_str_release(&s);
}

Test(base_json, escapes_are_the_short_ones_where_there_are)
{
	struct b_str s = {0};
	struct b_json j = {.out = &s};

	b_json_str(&j, "\"\\/\b\f\n\r\t\x01\x1f\x7f");
	cr_expect_str_eq(s.s, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"");
	b_str_release(&s);
}

Test(base_json, what_a_terminal_would_act_upon_is_escaped)
{
	struct b_str s = {0};
	struct b_json j = {.out = &s};

	/* CSI, right-to-left override, line separator, tag; e acute and an emoji stay */
	b_json_str(&j, "\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xf3\xa0\x81\x81\xc3\xa9\xf0\x9f\x98\x80");
	cr_expect_str_eq(s.s, "\"\\u009b\\u202e\\u2028\\udb40\\udc41\xc3\xa9\xf0\x9f\x98\x80\"");
	b_str_release(&s);
}

Test(base_json, each_offending_byte_becomes_one_replacement)
{
	static const struct {
		const char *in;
		unsigned count;
	} rows[] = {
		{"\xff", 1},	     {"\x80\x80", 2},	       {"\xc0\xaf", 2},
		{"\xed\xa0\x80", 3}, {"\xf4\x90\x80\x80", 4},  {"\xe2\x82", 2},
		{"\xe2\x82z", 2},    {"ok\xc3(\xa0\xa1ok", 3}, {"\xf8\x88\x80\x80\x80", 5},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct b_str s = {0};
		struct b_json j = {.out = &s};
		unsigned found = 0;
		const char *at;

		b_json_str(&j, rows[i].in);
		for (at = s.s; (at = strstr(at, "\xef\xbf\xbd")); at += 3)
			found++;
		cr_expect_eq(found, rows[i].count, "row %zu: %s", i, s.s);
		check_round_trip(rows[i].in, strlen(rows[i].in));
		b_str_release(&s);
	}
}

/* Every byte at every place of up to three words: the scan by words has no blind spot. */
Test(base_json, every_byte_at_every_place)
{
	unsigned char text[24];
	size_t n, at;
	unsigned byte;

	for (byte = 0; byte < 256; byte++)
		for (n = 1; n <= sizeof text; n += n < 17 ? 1 : 7)
			for (at = 0; at < n; at++) {
				memset(text, 'a', n);
				text[at] = (unsigned char)byte;
				check_round_trip(text, n);
			}
}

/* Behind the first quote a text is copied in pieces: each length of some, and each byte there. */
Test(base_json, a_line_of_json_becomes_a_string)
{
	static const char line[] = "{\"kind\":\"denied\",\"path\":\"C:\\\\x\",\"n\":1}";
	unsigned char text[700];
	unsigned byte;
	size_t n;

	for (n = 0; n < sizeof text; n++)
		text[n] = (unsigned char)line[n % (sizeof line - 1)];
	for (n = 0; n <= sizeof text; n++)
		check_round_trip(text, n);
	for (byte = 0; byte < 256; byte++)
		for (n = 250; n < 270; n++) {
			unsigned char was = text[n];

			text[n] = (unsigned char)byte;
			check_round_trip(text, sizeof text);
			text[n] = was;
		}
}

Test(base_json, names_are_keys_that_need_no_escape)
{
	struct b_str s = {0};
	struct b_json j = {.out = &s};

	b_json_open(&j, '{');
	B_JSON_NAME(&j, "a");
	b_json_u64(&j, 1);
	B_JSON_NAME(&j, "b");
	b_json_str(&j, "x");
	b_json_close(&j, '}');
	cr_expect_str_eq(s.s, "{\"a\":1,\"b\":\"x\"}");
	b_str_release(&s);
}

Test(base_json, random_bytes_read_back)
{
	static const char pool[] =
		"ab\"\\\n\x7f\x80\xbf\xc2\xc3\xe2\x82\xac\xed\xa0\xf0\x9f\x98\xff";
	unsigned char text[64];
	unsigned seed = 12345, round;

	for (round = 0; round < 20000; round++) {
		size_t n = (size_t)rand_r(&seed) % sizeof text, i;

		for (i = 0; i < n; i++) /* the NUL of the pool included */
			text[i] = (unsigned char)pool[(size_t)rand_r(&seed) % sizeof pool];
		check_round_trip(text, n);
	}
}

Test(base_json, the_scan_does_not_look_behind_the_end)
{
	struct b_str s = {0};
	struct b_json j = {.out = &s};

	b_json_strn(&j, "ab\"cd", 2);
	b_json_strn(&j, "caf\xc3\xa9", 4); /* the character is cut by the length */
	b_json_strn(&j, NULL, 0);
	cr_expect_str_eq(s.s, "\"ab\",\"caf\xef\xbf\xbd\",\"\"");
	b_str_release(&s);
}

Test(base_json, keys_are_escaped_like_values)
{
	struct b_str s = {0};
	struct b_json j = {.out = &s};

	b_json_open(&j, '{');
	b_json_key(&j, "a\"\n\xff");
	b_json_u64(&j, 0);
	b_json_key(&j, "");
	b_json_u64(&j, 18446744073709551615u);
	b_json_close(&j, '}');
	cr_expect_str_eq(s.s, "{\"a\\\"\\n\xef\xbf\xbd\":0,\"\":18446744073709551615}");
	b_str_release(&s);
}

Test(base_json, clean_bytes_have_no_twin)
{
	struct b_str s = {0};
	struct b_json j = {.out = &s};

	b_json_open(&j, '{');
	b_json_bytes(&j, "path", "/a\n\xc3\xa9", 5);
	b_json_close(&j, '}');
	cr_expect_str_eq(s.s, "{\"path\":\"/a\\n\xc3\xa9\"}");
	b_str_release(&s);
}

Test(base_json, unclean_bytes_are_escaped_and_have_an_exact_twin)
{
	struct b_str s = {0};
	struct b_json j = {.out = &s};
	json_t *value;

	b_json_open(&j, '{');
	b_json_bytes(&j, "path", "/\xff\"\n\0\xc3", 6);
	b_json_key(&j, "op");
	b_json_str(&j, "read");
	b_json_close(&j, '}');
	value = parsed(&s);
	cr_assert_eq(json_object_size(value), 3);
	cr_expect_eq(json_string_length(json_object_get(value, "path")), 12);
	cr_expect_eq(
		memcmp(json_string_value(json_object_get(value, "path")), "/\\xff\"\n\0\\xc3", 12),
		0);
	cr_expect_str_eq(json_string_value(json_object_get(value, "path_b64")), "L/8iCgDD");
	cr_expect_str_eq(json_string_value(json_object_get(value, "op")), "read");
	json_decref(value);
	b_str_release(&s);
}
