/* SPDX-License-Identifier: Apache-2.0 */
/* entry.c - see entry.h. A million lines are read in well under a second: no tree is made of them,
 * texts are unescaped where they lie. */
#include "audit/entry.h"

#include <stdlib.h>
#include <string.h>

#include "audit/collect_priv.h"
#include "audit/read_log.h"
#include "base/mem.h"
#include "base/str.h"

enum type { INT, BOOL, FLAG, WORD, TEXT, TIME, PATH, LIST, MAP };

/* A key's name with NULs after it, compared as two words; what may be read behind a text. */
enum { NAME = 16, SLACK = NAME };

struct key {
	char name[NAME];
	enum type type;
	size_t at;
};

static const struct key keys[] = {
#define X(member, key, type, ...) {key, type, offsetof(struct aud_entry, member)},
	AUD_FIELDS(X)
#undef X
		{"prev", WORD, offsetof(struct aud_entry, prev)},
	{"parent_event_id", WORD, offsetof(struct aud_entry, parent_event_id)},
};
enum { KEYS = sizeof keys / sizeof *keys };
_Static_assert(KEYS < 64, "a bit each");

/* Without any field: texts are "". */
#define BLANK_INT(m)
#define BLANK_BOOL(m)
#define BLANK_FLAG(m)
#define BLANK_WORD(m) .m = "",
#define BLANK_TEXT(m) .m = "",
#define BLANK_TIME(m) .m = "",
#define BLANK_PATH(m) .m = "",
#define BLANK_LIST(m) .m = "",
#define BLANK_MAP(m)  .m = "",
static const struct aud_entry blank = {
#define X(member, key, type, ...) BLANK_##type(member)
	AUD_FIELDS(X)
#undef X
		.prev = "",
	.parent_event_id = "",
};

/* ---- JSON, in place ---- */

enum value { BAD, STRING, NUMBER, TRUE, FALSE, OTHER };

struct scan {
	char *p;
	const char *end; /* a NUL is there, and room for words that are read across it (SLACK) */
	char *string;	 /* of the value just read: ended when what follows it was looked at */
	char *string_end;
	int64_t number;
};

static void skip_blanks(struct scan *s)
{
	while (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r')
		s->p++;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int hex4(const char *p)
{
	int v = 0, i;

	for (i = 0; i < 4; i++) {
		int d = hex_digit(p[i]);

		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

static char *put_utf8(char *out, unsigned c)
{
	if (c < 0x80) {
		*out++ = (char)c;
	} else if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
		*out++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*out++ = (char)(0xe0 | c >> 12);
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out++ = (char)(0x80 | (c & 0x3f));
	} else {
		*out++ = (char)(0xf0 | c >> 18);
		*out++ = (char)(0x80 | (c >> 12 & 0x3f));
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out++ = (char)(0x80 | (c & 0x3f));
	}
	return out;
}

/* \uXXXX, of which two may be one character. A NUL would end the text: it is no text of ours. */
static char *unescape_u(struct scan *s, char *out)
{
	int c = hex4(s->p), low;

	if (c <= 0)
		return NULL;
	s->p += 4;
	if (c >= 0xdc00 && c < 0xe000)
		return NULL;
	if (c < 0xd800 || c >= 0xe000)
		return put_utf8(out, (unsigned)c);
	if (s->p[0] != '\\' || s->p[1] != 'u')
		return NULL;
	low = hex4(s->p + 2);
	if (low < 0xdc00 || low >= 0xe000)
		return NULL;
	s->p += 6;
	return put_utf8(out, 0x10000 + ((unsigned)(c & 0x3ff) << 10 | (unsigned)(low & 0x3ff)));
}

static char *unescape(struct scan *s, char *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;

	s->p++;
	if (*s->p == 'u') {
		s->p++;
		return unescape_u(s, out);
	}
	at = *s->p ? strchr(from, *s->p) : NULL;
	if (!at)
		return NULL;
	s->p++;
	*out++ = to[at - from];
	return out;
}

/* Behind the bytes that stand for themselves, eight at a time: the lowest high bit in `stop` is
 * that of the first byte below 0x20, '"' or '\\'. */
static char *skip_plain(char *p)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte is the lowest");
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t w, quote, slash, stop;

	for (;; p += sizeof w) {
		memcpy(&w, p, sizeof w);
		quote = w ^ ones * '"';
		slash = w ^ ones * '\\';
		stop = ((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) |
		       ((slash - ones) & ~slash);
		if (stop & high)
			return p + __builtin_ctzll(stop & high) / 8;
	}
}

/* The string from its first escape on: few have one. */
static __attribute__((noinline)) enum value scan_escaped(struct scan *s)
{
	char *out = s->p;

	while (*s->p != '"') {
		if (*s->p == '\\') {
			out = unescape(s, out);
			if (!out)
				return BAD;
		} else if ((unsigned char)*s->p < 0x20) {
			return BAD;
		} else {
			*out++ = *s->p++;
		}
	}
	s->string_end = out;
	s->p++;
	return STRING;
}

static enum value scan_string(struct scan *s)
{
	char *start = s->p + 1, *end = skip_plain(start);

	s->string = start;
	s->p = end;
	if (*end != '"')
		return scan_escaped(s);
	s->string_end = end;
	s->p = end + 1;
	return STRING;
}

/* As near to it as int64_t is; what has a fraction or an exponent counts as it begins. */
static enum value scan_number(struct scan *s)
{
	bool minus = *s->p == '-';
	uint64_t v = 0;

	s->p += minus;
	if (*s->p < '0' || *s->p > '9')
		return BAD;
	for (; *s->p >= '0' && *s->p <= '9'; s->p++) {
		unsigned d = (unsigned)(*s->p - '0');

		v = v > INT64_MAX / 10 || (v == INT64_MAX / 10 && d > INT64_MAX % 10)
			    ? (uint64_t)INT64_MAX
			    : v * 10 + d;
	}
	if (*s->p == '.' || (*s->p | 0x20) == 'e')
		s->p += strspn(s->p, ".eE+-0123456789");
	s->number = minus ? -(int64_t)v : (int64_t)v;
	return NUMBER;
}

static enum value scan_literal(struct scan *s, const char *text, enum value v)
{
	size_t n = strlen(text);

	if (strncmp(s->p, text, n) != 0)
		return BAD;
	s->p += n;
	return v;
}

/* An array or object, passed over; string and string_end are its text. */
static enum value skip_nested(struct scan *s)
{
	char *start = s->p;
	unsigned depth = 0;

	do {
		if (*s->p == '"') {
			for (s->p++; *s->p != '"'; s->p++) {
				if ((unsigned char)*s->p < 0x20)
					return BAD;
				s->p += *s->p == '\\' && s->p[1];
			}
		} else if (*s->p == '[' || *s->p == '{') {
			depth++;
		} else if (*s->p == ']' || *s->p == '}') {
			depth--;
		} else if (!*s->p) {
			return BAD;
		}
		s->p++;
	} while (depth);
	s->string = start;
	s->string_end = s->p;
	return OTHER;
}

static enum value scan_value(struct scan *s)
{
	switch (*s->p) {
	case '"':
		return scan_string(s);
	case 't':
		return scan_literal(s, "true", TRUE);
	case 'f':
		return scan_literal(s, "false", FALSE);
	case 'n':
		s->string = NULL;
		return scan_literal(s, "null", OTHER);
	case '[':
	case '{':
		return skip_nested(s);
	default:
		return scan_number(s);
	}
}

/* ---- fields ---- */

static int sextet(char c)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

/* In place. False: no base64, or not a path (a NUL among the bytes). */
static bool decode(char *s)
{
	unsigned bits = 0, n = 0;
	char *out = s;

	for (; *s && *s != '='; s++) {
		int six = sextet(*s);

		if (six < 0)
			return false;
		bits = bits << 6 | (unsigned)six;
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		*out = (char)(bits >> n & 0xff);
		if (!*out++)
			return false;
	}
	*out = '\0';
	return true;
}

/* Lines have their fields in the order of the table: the next one is looked for behind the last. */
static int find_key(const char *name, size_t n, unsigned *next, bool *is_twin)
{
	static const char b64[] = "_b64";
	const size_t tail = sizeof b64 - 1;
	static const unsigned char ones[2 * NAME] = {255, 255, 255, 255, 255, 255, 255, 255,
						     255, 255, 255, 255, 255, 255, 255, 255};
	uint64_t word[2], mask[2], key[2];
	unsigned i, k = *next;

	*is_twin = n > tail && memcmp(name + n - tail, b64, tail) == 0;
	if (*is_twin)
		n -= tail;
	if (n >= NAME)
		return -1;
	memcpy(word, name, sizeof word);
	memcpy(mask, ones + NAME - n, sizeof mask);
	word[0] &= mask[0];
	word[1] &= mask[1];
	for (i = 0; i < KEYS; i++, k++) {
		if (k >= KEYS)
			k = 0;
		memcpy(key, keys[k].name, sizeof key);
		if (key[0] == word[0] && key[1] == word[1]) {
			*next = k + !*is_twin;
			return *is_twin && keys[k].type != PATH ? -1 : (int)k;
		}
	}
	return -1;
}

struct found {
	uint64_t seen, twins;
	const char *exact[KEYS]; /* of `twins`: texts, decoded at the end */
};

/* The value of a key that is known, when it has the right type. */
static void take(struct aud_entry *e, const struct key *k, enum value v, const struct scan *s)
{
	char *at = (char *)e + k->at;
	const char *text = s->string;

	switch (k->type) {
	case INT:
		if (v == NUMBER)
			memcpy(at, &s->number, sizeof s->number);
		break;
	case BOOL:
	case FLAG:
		if (v == TRUE || v == FALSE) {
			*(bool *)at = v == TRUE;
			e->has_verdict |= k->at == offsetof(struct aud_entry, allowed);
		}
		break;
	case LIST:
	case MAP:
		if (v == OTHER && text && *text == (k->type == LIST ? '[' : '{'))
			memcpy(at, &text, sizeof text);
		break;
	case WORD:
	case TEXT:
	case TIME:
	case PATH:
		if (v == STRING)
			memcpy(at, &text, sizeof text);
	}
}

static void clear(struct aud_entry *e)
{
	char *room = e->room;
	size_t size = e->room_size;

	*e = blank;
	e->room = room;
	e->room_size = size;
}

/* One pair, and what follows it: ',' or '}', 0 = bad. */
static char take_pair(struct aud_entry *e, struct scan *s, struct found *f, unsigned *next)
{
	bool is_twin;
	enum value v;
	char *end;
	int k;

	skip_blanks(s);
	if (*s->p != '"' || scan_string(s) == BAD)
		return 0;
	k = find_key(s->string, (size_t)(s->string_end - s->string), next, &is_twin);
	skip_blanks(s);
	if (*s->p++ != ':')
		return 0;
	skip_blanks(s);
	s->string = NULL;
	v = scan_value(s);
	if (v == BAD)
		return 0;
	end = s->string ? s->string_end : NULL;
	skip_blanks(s);
	if (k >= 0) {
		uint64_t bit = UINT64_C(1) << k, *seen = is_twin ? &f->twins : &f->seen;

		if (*seen & bit)
			return 0; /* twice */
		*seen |= bit;
		if (is_twin)
			f->exact[k] = v == STRING ? s->string : NULL;
		else
			take(e, &keys[k], v, s);
	}
	k = *s->p++;
	if (end)
		*end = '\0';
	return (char)k;
}

static bool take_pairs(struct aud_entry *e, struct scan *s, struct found *f)
{
	unsigned next = 0;
	char c;

	skip_blanks(s);
	if (*s->p++ != '{')
		return false;
	do
		c = take_pair(e, s, f, &next);
	while (c == ',');
	if (c != '}')
		return false;
	skip_blanks(s);
	return s->p == s->end;
}

static void take_exact(struct aud_entry *e, const struct found *f)
{
	unsigned i;

	for (i = 0; f->twins >> i; i++) {
		char *exact = f->twins >> i & 1 ? (char *)(uintptr_t)f->exact[i] : NULL;

		if (exact && decode(exact))
			memcpy((char *)e + keys[i].at, &exact, sizeof exact);
	}
}

int aud_entry_parse(const struct aud_line *line, struct aud_entry *e, const char **out_why)
{
	struct found f;
	struct scan s;

	f.seen = f.twins = 0;
	*out_why = "longer than a line of a log can be";
	if (line->too_long)
		return -1;
	if (e->room_size < line->len + SLACK) {
		e->room_size = line->len + 4096;
		e->room = b_realloc(e->room, 1, e->room_size);
	}
	memcpy(e->room, line->s, line->len);
	memset(e->room + line->len, 0, SLACK);
	clear(e);
	s = (struct scan){.p = e->room, .end = e->room + line->len};
	*out_why = "not JSON";
	if (!take_pairs(e, &s, &f))
		return -1;
	*out_why = "not an event";
	if (!*e->kind)
		return -1;
	*out_why = "a line of a newer version";
	if (e->version > AUD_SCHEMA_VERSION)
		return -1;
	take_exact(e, &f);
	if (e->count < 1)
		e->count = 1;
	e->has = f.seen;
	return 0;
}

void aud_entry_release(struct aud_entry *e)
{
	free(e->room);
	*e = (struct aud_entry){0};
}

/* ---- lists and maps ---- */

static bool next_string(const char **at, struct b_str *out)
{
	size_t n = strlen(*at);
	b_auto_free char *copy = NULL;
	const char *p = *at;
	struct scan s;

	b_str_reset(out);
	b_str_add(out, "");
	p += strspn(p, "[{,: \t");
	if (*p != '"')
		return false;
	n -= (size_t)(p - *at);
	copy = b_calloc(1, n + SLACK);
	memcpy(copy, p, n);
	s = (struct scan){.p = copy, .end = copy + n};
	if (scan_string(&s) == BAD)
		return false;
	b_str_addn(out, s.string, (size_t)(s.string_end - s.string));
	*at = p + (s.p - copy);
	return true;
}

bool aud_list_next(const char **at, struct b_str *out)
{
	return next_string(at, out);
}

bool aud_map_next(const char **at, struct b_str *key, struct b_str *value)
{
	return next_string(at, key) && next_string(at, value);
}
