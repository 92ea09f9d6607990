/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - see json.h. The collector writes every audit line through here, so the usual case,
 * a string of clean ASCII, costs one scan by words, one room check and one memcpy. */
#include "base/json.h"

#include <string.h>

#include "base/str.h"

enum bad_bytes { BAD_REPLACED, BAD_AS_HEX };

#define EVERY(byte)	(UINT64_C(0x0101010101010101) * (byte))
#define ZERO_BYTES(w)	(((w)-EVERY(1)) & ~(w))
#define LITERAL(j, lit) add_bare(j, lit, sizeof(lit) - 1)

/* Bytes that go out as they are: printable ASCII but quote and backslash. DEL need not be
 * escaped (RFC 8259), but a log is read on terminals. */
static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Length of the plain run at p. The word test is the well-known "has a zero byte" trick; it
 * may report a borrow's false hit, which only hands the word to the byte loop. */
static size_t plain_run(const unsigned char *p, size_t n)
{
	size_t i = 0;
	uint64_t w;

	for (; n - i >= sizeof w; i += sizeof w) {
		memcpy(&w, p + i, sizeof w);
		if ((w | ((w - EVERY(0x20)) & ~w) | ZERO_BYTES(w ^ EVERY('"')) |
		     ZERO_BYTES(w ^ EVERY('\\')) | ZERO_BYTES(w ^ EVERY(0x7f))) &
		    EVERY(0x80))
			break;
	}
	while (i < n && plain(p[i]))
		i++;
	return i;
}

static void add_u16(struct b_str *out, unsigned v)
{
	static const char hex[] = "0123456789abcdef";
	char esc[6] = "\\u";
	unsigned i;

	for (i = 0; i < 4; i++)
		esc[2 + i] = hex[v >> (12 - 4 * i) & 15];
	b_str_addn(out, esc, sizeof esc);
}

static void add_escaped(struct b_str *out, uint32_t c)
{
	static const char letter[0x80] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
					  ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};

	if (c < sizeof letter && letter[c]) {
		b_str_addn(out, (const char[]){'\\', letter[c]}, 2);
	} else if (c < 0x10000) {
		add_u16(out, c);
	} else {
		c -= 0x10000;
		add_u16(out, 0xd800 | c >> 10);
		add_u16(out, 0xdc00 | (c & 0x3ff));
	}
}

static void add_bad(struct b_str *out, unsigned char c, enum bad_bytes how)
{
	static const char hex[] = "0123456789abcdef";

	if (how == BAD_REPLACED) {
		b_str_addn(out, "\xef\xbf\xbd", 3); /* U+FFFD */
	} else {
		char esc[5] = {'\\', '\\', 'x', hex[c >> 4], hex[c & 15]};

		b_str_addn(out, esc, sizeof esc);
	}
}

/* One byte or character that is not plain; gives the bytes used. What a terminal would act
 * upon goes out as \u, which means the same to a reader of JSON. */
static unsigned add_special(struct b_str *out, const unsigned char *p, size_t n, enum bad_bytes how)
{
	unsigned len = b_utf8_len(p, n);
	uint32_t c;

	if (!len) {
		add_bad(out, *p, how);
		return 1;
	}
	c = b_utf8_decode(p, len);
	if (c >= 0x80 && b_char_visible(c))
		b_str_addn(out, p, len);
	else
		add_escaped(out, c);
	return len;
}

static void add_rest(struct b_str *out, const unsigned char *p, size_t n, enum bad_bytes how)
{
	while (n) {
		unsigned used = add_special(out, p, n, how);
		size_t run;

		p += used;
		n -= used;
		run = plain_run(p, n);
		if (run)
			b_str_addn(out, p, run);
		p += run;
		n -= run;
	}
}

/* [,]"text"[:]; gives whether the text went out as it is. */
static bool add_string(struct b_json *j, const void *bytes, size_t n, bool is_key,
		       enum bad_bytes how)
{
	struct b_str *out = j->out;
	size_t run = plain_run(bytes, n);
	char *first = b_str_room(out, run + 4), *end = first; /* comma, quotes, colon */

	if (j->need_comma)
		*end++ = ',';
	*end++ = '"';
	if (run)
		memcpy(end, bytes, run);
	end += run;
	if (run < n) {
		b_str_advance(out, (size_t)(end - first));
		add_rest(out, (const unsigned char *)bytes + run, n - run, how);
		first = end = b_str_room(out, 2);
	}
	*end++ = '"';
	if (is_key)
		*end++ = ':';
	b_str_advance(out, (size_t)(end - first));
	j->need_comma = !is_key;
	return run == n;
}

static void add_bare(struct b_json *j, const char *text, size_t n)
{
	if (j->need_comma)
		b_str_addc(j->out, ',');
	b_str_addn(j->out, text, n);
	j->need_comma = true;
}

void b_json_open(struct b_json *j, char bracket)
{
	add_bare(j, &bracket, 1);
	j->need_comma = false;
}

void b_json_close(struct b_json *j, char bracket)
{
	b_str_addc(j->out, bracket);
	j->need_comma = true;
}

void b_json_key(struct b_json *j, const char *key)
{
	add_string(j, key, strlen(key), true, BAD_REPLACED);
}

void b_json_str(struct b_json *j, const char *s)
{
	add_string(j, s, strlen(s), false, BAD_REPLACED);
}

void b_json_strn(struct b_json *j, const void *p, size_t n)
{
	add_string(j, p, n, false, BAD_REPLACED);
}

void b_json_u64(struct b_json *j, uint64_t v)
{
	add_bare(j, NULL, 0);
	b_str_add_u64(j->out, v);
}

void b_json_i64(struct b_json *j, int64_t v)
{
	add_bare(j, NULL, 0);
	b_str_add_i64(j->out, v);
}

void b_json_bool(struct b_json *j, bool v)
{
	if (v)
		LITERAL(j, "true");
	else
		LITERAL(j, "false");
}

void b_json_null(struct b_json *j)
{
	LITERAL(j, "null");
}

void b_json_bytes(struct b_json *j, const char *key, const void *p, size_t n)
{
	static const char suffix[] = "_b64";

	b_json_key(j, key);
	if (add_string(j, p, n, false, BAD_AS_HEX) || b_utf8_valid(p, n))
		return;
	b_json_key(j, key);
	/* reopen the key just written: `"key":` -> `"key_b64":` */
	j->out->len -= 2;
	b_str_addn(j->out, suffix, sizeof suffix - 1);
	b_str_addn(j->out, "\":\"", 3);
	b_str_add_base64(j->out, p, n);
	b_str_addc(j->out, '"');
	j->need_comma = true;
}
