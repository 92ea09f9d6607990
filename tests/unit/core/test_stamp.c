/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of core/stamp.c: times as texts, and back. libc is the judge. */
#include "core/stamp.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void expect(uint64_t s, uint64_t ns)
{
	char day[32], want[48], got[SBX_STAMP_SIZE];
	struct tm tm;
	time_t t = (time_t)s;

	cr_assert_not_null(gmtime_r(&t, &tm));
	strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(want, sizeof want, "%s.%09lluZ", day, (unsigned long long)ns);
	sbx_stamp(s * 1000000000 + ns, got);
	cr_assert_str_eq(got, want);
	if (strcmp(got, "2200") < 0)
		cr_assert_eq(sbx_stamp_ns(got), (int64_t)(s * 1000000000 + ns), "%s", got);
}

Test(core_stamp, times_are_those_of_the_calendar)
{
	unsigned i;

	srand(3);
	for (i = 0; i < 20000; i++)
		expect(((uint64_t)rand() << 16 ^ (uint64_t)rand()) % 18446744073u,
		       (uint64_t)rand() % 1000000000);
	for (i = 1; i < 90000; i++) { /* each day, and the second before it */
		expect(i * UINT64_C(86400), 0);
		expect(i * UINT64_C(86400) - 1, 999999999);
	}
}

Test(core_stamp, times_before_1970_are_read)
{
	cr_expect_eq(sbx_stamp_ns("1969-12-31T23:59:59.5Z"), -500000000);
	cr_expect_eq(sbx_stamp_ns("1700-03-01T00:00:00Z"), INT64_C(-8515238400) * 1000000000);
}

Test(core_stamp, fewer_and_more_digits_of_a_second)
{
	cr_expect_eq(sbx_stamp_ns("1970-01-01T00:00:01Z"), 1000000000);
	cr_expect_eq(sbx_stamp_ns("1970-01-01T00:00:01.02"), 1020000000);
	cr_expect_eq(sbx_stamp_ns("1970-01-01T00:00:00.1234567899Z"), 123456789);
	cr_expect_eq(sbx_stamp_ns("1970-01-01T00:00:60.000Z"), INT64_C(60000000000));
}

Test(core_stamp, what_is_not_a_time_is_0)
{
	static const char *const texts[] = {
		"",
		"2026",
		"2026-11-27",
		"2026-11-27 23:24:01.5Z",
		"2026-11-27T23:24:0",
		"2026-11-27T23:24:6x",
		"2026-13-27T23:24:01.5Z",
		"2026-00-27T23:24:01.5Z",
		"2026-11-32T23:24:01.5Z",
		"2026-11-27T24:24:01.5Z",
		"2026-11-27T23:60:01.5Z",
		"2026-11-27T23:24:61.5Z",
		"2200-01-01T00:00:00.0Z",
		"1699-01-01T00:00:00.0Z",
		"+026-11-27T23:24:01.5Z",
		"-026-11-27T23:24:01.5Z",
		"20\xff\xff-11-27T23:24:01.5Z",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_expect_eq(sbx_stamp_ns(texts[i]), 0, "%s", texts[i]);
}
