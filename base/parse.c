/* parse.c - strict numbers and durations of str.h. No strtoull(): it takes signs, spaces and
 * anything behind the digits. */
#include "base/str.h"

#include <string.h>

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits at *s; moves *s behind them. At least one, no overflow. */
static int take_digits(const char **s, unsigned long long *out)
{
	unsigned long long v = 0;

	if (!digit(**s))
		return -1;
	for (; digit(**s); (*s)++)
		if (__builtin_mul_overflow(v, 10ull, &v) ||
		    __builtin_add_overflow(v, (unsigned long long)(**s - '0'), &v))
			return -1;
	*out = v;
	return 0;
}

int b_parse_u64(const char *s, unsigned long long max, unsigned long long *out)
{
	unsigned long long v;

	if (take_digits(&s, &v) < 0 || *s || v > max)
		return -1;
	*out = v;
	return 0;
}

/* The fraction behind a point, as numerator and power of ten; at most nine digits, which
 * keeps numerator * 3600000 in range. */
static int take_fraction(const char **s, unsigned long long *num, unsigned long long *den)
{
	enum { FRACTION_DIGITS = 9 };
	const char *first = *s;

	if (take_digits(s, num) < 0 || *s - first > FRACTION_DIGITS)
		return -1;
	for (*den = 1; first < *s; first++)
		*den *= 10;
	return 0;
}

static int unit_ms(const char *s, unsigned long long *out)
{
	static const struct {
		const char *name;
		unsigned long long ms;
	} unit[] = {{"ms", 1}, {"s", 1000}, {"", 1000}, {"m", 60000}, {"h", 3600000}};
	size_t i;

	for (i = 0; i < sizeof unit / sizeof *unit; i++)
		if (strcmp(s, unit[i].name) == 0) {
			*out = unit[i].ms;
			return 0;
		}
	return -1;
}

int b_parse_duration_ms(const char *s, unsigned long long *out_ms)
{
	unsigned long long whole, num = 0, den = 1, unit, ms;

	if (take_digits(&s, &whole) < 0)
		return -1;
	if (*s == '.' && (s++, take_fraction(&s, &num, &den) < 0))
		return -1;
	if (unit_ms(s, &unit) < 0 || num * unit % den != 0)
		return -1;
	if (__builtin_mul_overflow(whole, unit, &ms) ||
	    __builtin_add_overflow(ms, num * unit / den, &ms))
		return -1;
	*out_ms = ms;
	return 0;
}
