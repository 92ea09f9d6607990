/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str.h - a byte string that grows, UTF-8, and strict numbers.
 *
 *	b_auto(b_str_release) struct b_str s = {0};
 *	b_str_addf(&s, "%s:%u", file, line);
 *	puts(b_str_c(&s));
 *
 * All zero is the empty string. After the first addition `s` ends with a NUL, which `len` does not
 * count; the content may have NULs, too. The string owns `s`: a pointer into it is valid until the
 * next call that adds, resets or releases. Calls that add end the process if memory is exhausted
 * (mem.h). Not async-signal-safe, and no locks: one thread at a time may use a string.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_str {
	char *s;	 /* NULL before the first addition; b_str_c() never returns NULL */
	size_t len, cap; /* bytes */
};

/* Frees the memory. The string is empty afterwards, and may be used again. */
void b_str_release(struct b_str *);
/* Empties the string, and keeps the memory. */
void b_str_reset(struct b_str *);
/* Append a NUL-terminated text, n bytes, one byte, a formatted text. The bytes are copied, and may
 * not be part of the string itself. The format is printf(3)'s (format.h). */
void b_str_add(struct b_str *, const char *s);
void b_str_addn(struct b_str *, const void *p, size_t n);
void b_str_addc(struct b_str *, char c);
void b_str_addf(struct b_str *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void b_str_addfv(struct b_str *, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Append a number in decimal, without a format. */
void b_str_add_u64(struct b_str *, uint64_t v);
void b_str_add_i64(struct b_str *, int64_t v);
/* The text, "" for an empty string; the string owns it. */
const char *b_str_c(const struct b_str *);
/* The buffer, which the caller then owns (free()); NULL if nothing was added. The string is empty
 * afterwards. */
char *b_str_take(struct b_str *);

/* For a caller that writes itself: b_str_room() returns a place for n bytes and the NUL at the end,
 * valid until the next call. b_str_advance() makes the first n bytes there part of the string. */
void b_str_grow(struct b_str *, size_t n);
static inline char *b_str_room(struct b_str *s, size_t n)
{
	if (s->cap - s->len <= n)
		b_str_grow(s, n);
	return s->s + s->len;
}
static inline void b_str_advance(struct b_str *s, size_t n)
{
	s->len += n;
	s->s[s->len] = '\0';
}

/* Appends `p` for a terminal: printable UTF-8 as it is; control characters, bidi, line-separator
 * and invisible tag characters, DEL and invalid bytes as \xNN for each byte. Always one line. */
void b_str_add_visible(struct b_str *, const void *p, size_t n);
/* Appends base64 (RFC 4648, padded). */
void b_str_add_base64(struct b_str *, const void *p, size_t n);

/* Length in bytes of the well-formed UTF-8 sequence at p (1..4); 0: there is none in the n bytes.
 * RFC 3629: no surrogates, no overlong forms, at most U+10FFFF. */
unsigned b_utf8_len(const unsigned char *p, size_t n);
bool b_utf8_valid(const void *p, size_t n);
/* The character of a well-formed sequence of length len. */
uint32_t b_utf8_decode(const unsigned char *p, unsigned len);
/* Whether a terminal shows the character in its place. False for controls (C0, DEL, C1), bidi
 * controls, line and paragraph separators, the byte-order mark and tag characters. */
bool b_char_visible(uint32_t c);
bool b_has_prefix(const char *s, const char *prefix);

/* The whole string is a decimal number of at most `max`, without sign and spaces. 0 with *out, or
 * -1. */
int b_parse_u64(const char *s, unsigned long long max, unsigned long long *out);
/* A duration ("250ms", "1.5s", "90" for seconds, "5m", "2h") in milliseconds. 0 with *out_ms, or
 * -1. A fraction of a millisecond is -1: otherwise "0.0001s" would become 0, which means no limit.
 */
int b_parse_duration_ms(const char *s, unsigned long long *out_ms);
