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

/* The high bit of each byte of the word that is not plain. A borrow may also set that of a byte
 * above such a one: the lowest bit that is set is true. */
static uint64_t not_plain(const unsigned char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof w);
	return (w | ((w - EVERY(0x20)) & ~w) | ZERO_BYTES(w ^ EVERY('"')) |
		ZERO_BYTES(w ^ EVERY('\\')) | ZERO_BYTES(w ^ EVERY(0x7f))) &
	       EVERY(0x80);
}

/* Length of the plain run at p. The last word of a text overlaps the one before it. */
static size_t plain_run(const unsigned char *p, size_t n)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");
	size_t i = 0;
	uint64_t stop;

	if (n < sizeof stop) {
		while (i < n && plain(p[i]))
			i++;
		return i;
	}
	while (i < n) {
		if (n - i < sizeof stop)
			i = n - sizeof stop;
		stop = not_plain(p + i);
		if (stop)
			return i + (size_t)__builtin_ctzll(stop) / 8;
		i += sizeof stop;
	}
	return n;
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

/* Writes one byte or character that is not plain, and returns its length. Characters that a
 * terminal would act upon are written as \u, which is the same to a JSON reader. */
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

static bool has_unprintable(const unsigned char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof w);
	return (w | ((w - EVERY(0x20)) & ~w) | ZERO_BYTES(w ^ EVERY(0x7f))) & EVERY(0x80);
}

static char *put_quoted(char *end, unsigned char c)
{
	static const unsigned char is_quoted[256] = {['"'] = 1, ['\\'] = 1};
	unsigned quoted = is_quoted[c];

	end[0] = '\\';
	end[quoted] = (char)c;
	return end + 1 + quoted;
}

/* Printable ASCII, a backslash before each quote and backslash; gives the bytes used. In a line of
 * JSON that becomes a string, every second word has a quote: looking for them, or a branch that
 * depends on them, costs more than this. */
static size_t add_quoted(struct b_str *out, const unsigned char *p, size_t n)
{
	enum { PIECE = 256, WORD = 8 };
	size_t most = n < PIECE ? n : PIECE, i = 0;
	char *first = b_str_room(out, 2 * PIECE), *end = first;

	for (; most - i >= WORD && !has_unprintable(p + i); i += WORD)
		for (size_t k = 0; k < WORD; k++)
			end = put_quoted(end, p[i + k]);
	for (; i < most && p[i] >= 0x20 && p[i] < 0x7f; i++)
		end = put_quoted(end, p[i]);
	b_str_advance(out, (size_t)(end - first));
	return i;
}

static void add_rest(struct b_str *out, const unsigned char *p, size_t n, enum bad_bytes how)
{
	while (n) {
		size_t used = add_quoted(out, p, n);

		if (!used)
			used = add_special(out, p, n, how);
		p += used;
		n -= used;
	}
}

/* Writes [,]"text"[:]. Returns whether the text was written unchanged. */
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

/* Before a value, which then follows. */
static void add_comma(struct b_json *j)
{
	if (j->need_comma)
		b_str_addc(j->out, ',');
	j->need_comma = true;
}

static void add_bare(struct b_json *j, const char *text, size_t n)
{
	add_comma(j);
	b_str_addn(j->out, text, n);
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

void b_json_name(struct b_json *j, const char *text, size_t n)
{
	char *end = b_str_room(j->out, n + 1);

	if (j->need_comma)
		*end = ',';
	memcpy(end + j->need_comma, text, n);
	b_str_advance(j->out, n + j->need_comma);
	j->need_comma = false;
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
	add_comma(j);
	b_str_add_u64(j->out, v);
}

void b_json_i64(struct b_json *j, int64_t v)
{
	add_comma(j);
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
