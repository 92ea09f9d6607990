/* SPDX-License-Identifier: Apache-2.0 */
/* str.h - byte string that grows. Zero-initialised = empty. Always NUL-terminated
 * once anything was added; may contain NULs. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_str {
	char *s; /* NULL when nothing was ever added; b_str_c() never gives NULL */
	size_t len, cap;
};

void b_str_release(struct b_str *);
void b_str_reset(struct b_str *); /* length 0, memory kept */
void b_str_add(struct b_str *, const char *s);
void b_str_addn(struct b_str *, const void *p, size_t n);
void b_str_addc(struct b_str *, char c);
void b_str_addf(struct b_str *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void b_str_addfv(struct b_str *, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Decimal, without printf. */
void b_str_add_u64(struct b_str *, uint64_t v);
void b_str_add_i64(struct b_str *, int64_t v);
const char *b_str_c(const struct b_str *);
/* Hands the buffer over (free() it); the string is empty afterwards. */
char *b_str_take(struct b_str *);

/* For writers that count: b_str_room() gives a place for n bytes (and the NUL) at the end,
 * b_str_advance() takes the first n of them in. The place is good until the next call. */
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

/* Appends `p` for a person: printable UTF-8 as it is; control characters, bidi,
 * line-separator and invisible tag characters, DEL and invalid bytes as \xNN for each
 * byte. One line, always. */
void b_str_add_visible(struct b_str *, const void *p, size_t n);
/* Appends base64 (RFC 4648, padded). */
void b_str_add_base64(struct b_str *, const void *p, size_t n);

/* Length of the well-formed UTF-8 sequence at p (1..4), or 0. RFC 3629: no
 * surrogates, no overlong forms, <= U+10FFFF. */
unsigned b_utf8_len(const unsigned char *p, size_t n);
bool b_utf8_valid(const void *p, size_t n);
/* The character of a well-formed sequence of length len. */
uint32_t b_utf8_decode(const unsigned char *p, unsigned len);
/* Whether a terminal shows the character where it stands: no controls (C0, DEL, C1), no bidi
 * controls, no line or paragraph separator, no byte-order mark, no tag characters. */
bool b_char_visible(uint32_t c);
bool b_has_prefix(const char *s, const char *prefix);

/* Strict numbers and durations: whole string, no sign, no spaces, in range. */
int b_parse_u64(const char *s, unsigned long long max, unsigned long long *out);
/* "250ms", "1.5s", "90" (seconds), "5m", "2h" -> milliseconds. 0 or -1; what is no whole
 * number of milliseconds is refused, so that "0.0001s" does not become "no limit". */
int b_parse_duration_ms(const char *s, unsigned long long *out_ms);
