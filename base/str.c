/* SPDX-License-Identifier: Apache-2.0 */
/* str.c - see str.h. */
#include "base/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/format.h"
#include "base/mem.h"

enum { FIRST_CAP = 64, DIGITS_U64 = 20 };

void b_str_release(struct b_str *s)
{
	free(s->s);
	*s = (struct b_str){0};
}

void b_str_reset(struct b_str *s)
{
	s->len = 0;
	if (s->s)
		s->s[0] = '\0';
}

void b_str_grow(struct b_str *s, size_t n)
{
	size_t need, cap = s->cap ? s->cap : FIRST_CAP;

	/* No process has half of the address space: a sum below SIZE_MAX / 2 cannot wrap when it is
	 * doubled, and b_realloc() ends the process for anything above. */
	if (__builtin_add_overflow(s->len, n, &need) || need >= SIZE_MAX / 2)
		need = SIZE_MAX - 1;
	need++;
	if (need > SIZE_MAX / 2)
		cap = need;
	while (cap < need)
		cap *= 2;
	s->s = b_realloc(s->s, cap, 1);
	s->cap = cap;
}

void b_str_addn(struct b_str *s, const void *p, size_t n)
{
	char *end = b_str_room(s, n);

	if (n) /* memcpy(3) from NULL is undefined even for nothing */
		memcpy(end, p, n);
	b_str_advance(s, n);
}

void b_str_add(struct b_str *s, const char *text)
{
	b_str_addn(s, text, strlen(text));
}

void b_str_addc(struct b_str *s, char c)
{
	*b_str_room(s, 1) = c;
	b_str_advance(s, 1);
}

void b_str_addfv(struct b_str *s, const char *fmt, va_list ap)
{
	va_list again;
	size_t room;
	int want;

	b_str_room(s, 0);
	room = s->cap - s->len;
	va_copy(again, ap);
	want = b_vformat(s->s + s->len, room, fmt, ap);
	B_ASSERT(want >= 0);
	if ((size_t)want >= room)
		b_vformat(b_str_room(s, (size_t)want), (size_t)want + 1, fmt, again);
	va_end(again);
	b_str_advance(s, (size_t)want);
}

void b_str_addf(struct b_str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	b_str_addfv(s, fmt, ap);
	va_end(ap);
}

/* Writes the digits of v so that they end before `end`; gives the first. */
static char *digits_before(char *end, uint64_t v)
{
	static const char pair[] = "00010203040506070809"
				   "10111213141516171819"
				   "20212223242526272829"
				   "30313233343536373839"
				   "40414243444546474849"
				   "50515253545556575859"
				   "60616263646566676869"
				   "70717273747576777879"
				   "80818283848586878889"
				   "90919293949596979899";

	while (v >= 100) {
		end -= 2;
		memcpy(end, pair + v % 100 * 2, 2);
		v /= 100;
	}
	if (v < 10) {
		*--end = (char)('0' + v);
		return end;
	}
	end -= 2;
	memcpy(end, pair + v * 2, 2);
	return end;
}

void b_str_add_u64(struct b_str *s, uint64_t v)
{
	char text[DIGITS_U64], *end = text + sizeof text, *first = digits_before(end, v);

	b_str_addn(s, first, (size_t)(end - first));
}

void b_str_add_i64(struct b_str *s, int64_t v)
{
	if (v < 0)
		b_str_addc(s, '-');
	/* 0 - v in unsigned arithmetic: INT64_MIN has no positive twin */
	b_str_add_u64(s, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

const char *b_str_c(const struct b_str *s)
{
	return s->s ? s->s : "";
}

char *b_str_take(struct b_str *s)
{
	char *text;

	b_str_addn(s, NULL, 0); /* an empty string is a string, not NULL */
	text = s->s;
	*s = (struct b_str){0};
	return text;
}

/* The number of leading bytes that are letters, digits, signs or spaces. Most texts consist of
 * them. */
static size_t plain_ascii(const unsigned char *p, const unsigned char *end)
{
	const unsigned char *from = p;

	while (p < end && *p >= ' ' && *p <= '~')
		p++;
	return (size_t)(p - from);
}

void b_str_add_visible(struct b_str *s, const void *bytes, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = bytes, *end = p + n;

	while (p < end) {
		size_t plain = plain_ascii(p, end);
		unsigned len = plain ? 0 : b_utf8_len(p, (size_t)(end - p));

		if (plain) {
			b_str_addn(s, p, plain);
			p += plain;
			continue;
		}
		if (len && b_char_visible(b_utf8_decode(p, len))) {
			b_str_addn(s, p, len);
			p += len;
			continue;
		}
		for (len = len ? len : 1; len; len--, p++) {
			char esc[4] = {'\\', 'x', hex[*p >> 4], hex[*p & 15]};

			b_str_addn(s, esc, sizeof esc);
		}
	}
}

void b_str_add_base64(struct b_str *s, const void *bytes, size_t n)
{
	static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const unsigned char *p = bytes;

	for (; n >= 3; n -= 3, p += 3) {
		char out[4] = {letter[p[0] >> 2], letter[(p[0] & 3) << 4 | p[1] >> 4],
			       letter[(p[1] & 15) << 2 | p[2] >> 6], letter[p[2] & 63]};

		b_str_addn(s, out, sizeof out);
	}
	if (n) {
		unsigned second = n == 2 ? p[1] : 0;
		char out[4] = {letter[p[0] >> 2], letter[(p[0] & 3) << 4 | second >> 4],
			       letter[(second & 15) << 2], '='};

		if (n == 1)
			out[2] = '=';
		b_str_addn(s, out, sizeof out);
	}
}

bool b_has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Strict numbers and durations of str.h. No strtoull(): it takes signs, spaces and
 * anything behind the digits. */

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
