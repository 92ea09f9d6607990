/* SPDX-License-Identifier: Apache-2.0 */
/* What a bundle says, and the file it is in: one spelling for each, and nothing else is read. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "bundle/payload.h"

Test(bundle_payload, times_are_days_that_there_are)
{
	static const char *const bad[] = {"",
					  "2027-02-29",
					  "2027-13-01",
					  "2027-1-1",
					  "2027-01-01T24:00:00Z",
					  "2027-01-01T00:00:60Z",
					  "2027-01-01 ",
					  "1969-12-31",
					  "2027-01-01T00:00:00",
					  "+027-01-01"};
	uint64_t t = 0;

	cr_assert(bun_time_parse("2028-02-29", &t));
	cr_assert_eq(t, 1835395200);
	cr_assert(bun_time_parse("2028-02-29T01:02:03Z", &t));
	cr_assert_eq(t, 1835395200 + 3723);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_assert_not(bun_time_parse(bad[i], &t), "%s", bad[i]);
}

static struct bun_payload sample(void)
{
	struct bun_payload p = {.name = "fleet", .version = 7, .created = 1, .expires = 4000000000};

	p.policies[p.n++] = (struct bun_policy){"a.yaml", "x: \"\u00e9\"\n", 8};
	p.policies[p.n++] = (struct bun_policy){"b.yaml", "", 0};
	return p;
}

Test(bundle_payload, is_read_as_it_was_written)
{
	b_auto(bun_payload_release) struct bun_payload got = {0};
	b_auto(b_str_release) struct b_str text = {0}, again = {0};
	struct bun_payload p = sample();
	struct b_err err;

	bun_payload_write(&p, &text);
	cr_assert_eq(bun_payload_read(text.s, text.len, &got, &err), 0, "%s", err.msg);
	cr_assert_eq(got.version, 7);
	cr_assert_eq(got.n, 2);
	bun_payload_write(&got, &again);
	cr_assert_str_eq(again.s, text.s);
}

Test(bundle_payload, what_was_not_written_so_is_refused)
{
	static const char *const rows[][2] = {
		{"\"schemaVersion\":1", "\"schemaVersion\":2"},
		{"\"version\":7", "\"version\":0"},
		{"\"version\":7", "\"version\":\"7\""},
		{"\"version\":7", "\"version\":99999999999999999999"},
		{"\"name\":\"fleet\"", "\"name\":\"../fleet\""},
		{"\"name\":\"a.yaml\"", "\"name\":\"a/b\""},
		{"\"policies\":[", "\"policies\":[3,"},
		{"\"expires\":\"2", "\"expires\":\"x"},
		{"\"text\":\"\"", "\"text\":\"\\u0000\""},
		{"\"text\":\"\"", "\"text\":null"},
	};
	b_auto(b_str_release) struct b_str text = {0};
	struct bun_payload p = sample(), got;
	struct b_err err;

	bun_payload_write(&p, &text);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(b_str_release) struct b_str bad = {0};
		const char *at = strstr(text.s, rows[i][0]);

		cr_assert_not_null(at, "%s", rows[i][0]);
		b_str_addn(&bad, text.s, (size_t)(at - text.s));
		b_str_add(&bad, rows[i][1]);
		b_str_add(&bad, at + strlen(rows[i][0]));
		cr_assert_eq(bun_payload_read(bad.s, bad.len, &got, &err), -1, "%s", bad.s);
		cr_assert_eq(err.kind, B_FORMAT);
	}
	for (size_t n = 0; n < text.len; n++)
		cr_assert_eq(bun_payload_read(text.s, n, &got, &err), -1, "%zu bytes", n);
}

Test(bundle_file, every_byte_of_it_counts)
{
	static const unsigned char signature[BUN_SIGNATURE] = "of sixty-four bytes";
	b_auto(b_str_release) struct b_str text = {0}, payload = {0}, one = {0};
	unsigned char got[BUN_SIGNATURE];
	struct b_err err;

	b_str_add(&payload, "anything");
	bun_file_write(&payload, signature, &text);
	cr_assert_eq(bun_file_read(&text, &one, got, &err), 0);
	cr_assert_str_eq(one.s, "anything");
	cr_assert_eq(memcmp(got, signature, sizeof got), 0);
	for (size_t i = 0; i < text.len - 1; i++) {
		b_auto(b_str_release) struct b_str cut = {0}, other = {0}, out = {0}, out2 = {0};

		b_str_addn(&cut, text.s, i);
		cr_assert_eq(bun_file_read(&cut, &out, got, &err), -1, "%zu bytes", i);
		b_str_addn(&other, text.s, text.len);
		other.s[i] ^= 1;
		/* another value, or none: never the same one by another spelling */
		cr_assert(bun_file_read(&other, &out2, got, &err) < 0 ||
				  strcmp(b_str_c(&out2), "anything") != 0 ||
				  memcmp(got, signature, sizeof got) != 0,
			  "byte %zu", i);
	}
}
