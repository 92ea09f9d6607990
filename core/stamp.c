/* SPDX-License-Identifier: Apache-2.0 */
/* stamp.c - see stamp.h. Both ways count days in eras of 400 years, whose years begin in March: a
 * leap day is the last of its year (https://howardhinnant.github.io/date_algorithms.html). No
 * strptime(3): a run of a million changes has as many times, and the shim has no libc. */
#include "core/stamp.h"

#include <stddef.h>

enum {
	ERA = 146097,	/* days */
	EPOCH = 719468, /* days from 0000-03-01 to 1970-01-01 */
	DAY = 86400	/* seconds */
};
#define SECOND 1000000000 /* nanoseconds */

static void put_digits(char *to, unsigned digits, uint64_t v)
{
	while (digits--) {
		to[digits] = (char)('0' + v % 10);
		v /= 10;
	}
}

static void put_date(char *to, uint64_t days)
{
	uint64_t z = days + EPOCH, era = z / ERA;
	unsigned in_era = (unsigned)(z % ERA);
	unsigned year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * in_year + 2) / 153; /* 0 = March */

	put_digits(to, 4, year + era * 400 + (month >= 10));
	put_digits(to + 5, 2, month < 10 ? month + 3 : month - 9);
	put_digits(to + 8, 2, in_year - (153 * month + 2) / 5 + 1);
}

void sbx_stamp(uint64_t time_ns, char out[SBX_STAMP_SIZE])
{
	static const char form[] = "0000-00-00T00:00:00.000000000Z";
	uint64_t s = time_ns / SECOND;
	unsigned in_day = (unsigned)(s % DAY);

	for (size_t i = 0; i < sizeof form; i++)
		out[i] = form[i];
	put_date(out, s / DAY);
	put_digits(out + 11, 2, in_day / 3600);
	put_digits(out + 14, 2, in_day / 60 % 60);
	put_digits(out + 17, 2, in_day % 60);
	put_digits(out + 20, 9, time_ns % SECOND);
}

/* Two digits within bounds; -1. */
static int two_digits(const char *s, int min, int max)
{
	int n;

	if (s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9')
		return -1;
	n = (s[0] - '0') * 10 + s[1] - '0';
	return n < min || n > max ? -1 : n;
}

static int64_t days_of(int64_t year, int month, int day)
{
	int64_t in_era;

	year -= month <= 2;
	month += month <= 2 ? 9 : -3;
	in_era = year % 400;
	return year / 400 * ERA + in_era * 365 + in_era / 4 - in_era / 100 + (153 * month + 2) / 5 +
	       day - 1 - EPOCH;
}

int64_t sbx_stamp_ns(const char *text)
{
	static const char form[] = "....-..-..T..:..:..";
	int64_t ns = 0, unit = SECOND / 10, days;
	int part[7]; /* century, year in it, month, day, hour, minute, second */
	size_t i;

	for (i = 0; form[i]; i++)
		if (!text[i] || (form[i] != '.' && text[i] != form[i]))
			return 0;
	part[0] = two_digits(text, 17, 21); /* as far as nanoseconds go */
	part[1] = two_digits(text + 2, 0, 99);
	part[2] = two_digits(text + 5, 1, 12);
	part[3] = two_digits(text + 8, 1, 31);
	part[4] = two_digits(text + 11, 0, 23);
	part[5] = two_digits(text + 14, 0, 59);
	part[6] = two_digits(text + 17, 0, 60);
	for (i = 0; i < sizeof part / sizeof *part; i++)
		if (part[i] < 0)
			return 0;
	for (text += 19 + (text[19] == '.'); *text >= '0' && *text <= '9' && unit;
	     text++, unit /= 10)
		ns += (*text - '0') * unit;
	days = days_of(part[0] * 100 + part[1], part[2], part[3]);
	return (days * DAY + part[4] * 3600 + part[5] * 60 + part[6]) * SECOND + ns;
}
