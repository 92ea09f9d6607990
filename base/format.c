/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - see format.h. */
#include "base/format.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct sink {
	char *out;
	size_t room, len; /* the length that the text would have without a limit */
};

static void put(struct sink *s, const char *p, size_t n)
{
	if (s->len < s->room) {
		size_t left = s->room - s->len;

		memcpy(s->out + s->len, p, n < left ? n : left);
	}
	s->len += n;
}

static void put_number(struct sink *s, uint64_t v, bool is_negative)
{
	char text[24], *end = text + sizeof text, *at = end;

	do {
		*--at = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	if (is_negative)
		*--at = '-';
	put(s, at, (size_t)(end - at));
}

static void put_string(struct sink *s, const char *p, int precision)
{
	if (!p) /* undefined; the C library says so */
		p = precision < 0 || precision >= 6 ? "(null)" : "";
	put(s, p, precision < 0 ? strlen(p) : strnlen(p, (size_t)precision));
}

/* A conversion that is not known here: the C library formats the whole text. */
#define CONVERSION(text) (strncmp(fmt, (text), sizeof(text) - 1) == 0 && (fmt += sizeof(text) - 1))

/* The arguments advance in the caller's va_list, which is why it is passed by a pointer. */
struct args {
	va_list ap;
};

static bool convert(struct sink *s, const char **at, struct args *args)
{
	const char *fmt = *at;

	if (CONVERSION("%s")) {
		put_string(s, va_arg(args->ap, const char *), -1);
	} else if (CONVERSION("%u")) {
		put_number(s, va_arg(args->ap, unsigned), false);
	} else if (CONVERSION("%.*s")) {
		int precision = va_arg(args->ap, int);

		put_string(s, va_arg(args->ap, const char *), precision);
	} else if (CONVERSION("%zu")) {
		put_number(s, va_arg(args->ap, size_t), false);
	} else if (CONVERSION("%lu")) {
		put_number(s, va_arg(args->ap, unsigned long), false);
	} else if (CONVERSION("%d")) {
		int v = va_arg(args->ap, int);

		put_number(s, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0);
	} else if (CONVERSION("%c")) {
		char c = (char)va_arg(args->ap, int);

		put(s, &c, 1);
	} else if (CONVERSION("%%")) {
		put(s, "%", 1);
	} else {
		return false;
	}
	*at = fmt;
	return true;
}

int b_vformat(char *out, size_t room, const char *fmt, va_list ap)
{
	struct sink s = {out, room, 0};
	struct args args;
	bool is_known = true;

	va_copy(args.ap, ap);
	for (const char *at = fmt; *at && is_known;) {
		size_t n = strcspn(at, "%");

		put(&s, at, n);
		at += n;
		is_known = !*at || convert(&s, &at, &args);
	}
	va_end(args.ap);
	if (!is_known || s.len > INT_MAX)
		return vsnprintf(out, room, fmt, ap);
	if (room)
		out[s.len < room ? s.len : room - 1] = '\0';
	return (int)s.len;
}
