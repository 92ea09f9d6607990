/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - see target.h. */
#include "core/target.h"

const char *sbx_target_kind_text(enum sbx_target_kind kind)
{
	static const char *const text[] = {
#define X(name, text) text,
		SBX_TARGET_KINDS(X)
#undef X
	};

	return kind < SBX_TARGET_KIND_COUNT ? text[kind] : "?";
}

/* ---- characters ---- */

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_alnum(unsigned char c)
{
	unsigned char small = c | 0x20;

	return (c >= '0' && c <= '9') || (small >= 'a' && small <= 'z');
}

static bool is_one_of(const char *set, unsigned char c)
{
	while (*set && (unsigned char)*set != c)
		set++;
	return *set != '\0';
}

/* pchar of RFC 3986, but for ';'. */
bool sbx_target_is_plain(unsigned char c)
{
	return is_alnum(c) || is_one_of("-._~!$&'()*+,=:@", c);
}

/* The escape at s, two digits of `n` characters left; -1: it is none. */
static int unescape(const char *s, size_t n)
{
	int high, low;

	if (n < 2)
		return -1;
	high = hex_of(s[0]);
	low = hex_of(s[1]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* ---- one path, segment by segment ---- */

struct writer {
	struct sbx_target *out;
	size_t segment;	   /* where the segment that is being written begins, after its '/' */
	size_t piece;	   /* as `segment`, or after the last "%2F" in it */
	bool has_slashes;  /* there is one */
	unsigned char was; /* the escaped byte before, 0: none */
};

static enum sbx_target_kind put(struct writer *w, char c)
{
	if (w->out->len == SBX_TARGET_PATH_MAX)
		return SBX_TARGET_LONG;
	w->out->path[w->out->len++] = c;
	return SBX_TARGET_OK;
}

static enum sbx_target_kind put_escaped(struct writer *w, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";

	if (put(w, '%') != SBX_TARGET_OK || put(w, digits[c >> 4]) != SBX_TARGET_OK)
		return SBX_TARGET_LONG;
	return put(w, digits[c & 15]);
}

/* Number of dots if only dots follow `from` in the output: 1 or 2; 0: other text. */
static int dots(const struct writer *w, size_t from)
{
	size_t n = w->out->len - from;
	const char *s = w->out->path + from;

	if (n == 1 && s[0] == '.')
		return 1;
	return n == 2 && s[0] == '.' && s[1] == '.' ? 2 : 0;
}

/* Goes up one level. The output ends in a '/' again. */
static enum sbx_target_kind drop_parent(struct writer *w)
{
	size_t n = w->segment - 1; /* of the '/' in front of the dots */

	if (n == 0)
		return SBX_TARGET_ABOVE;
	while (w->out->path[n - 1] != '/')
		n--;
	w->out->len = n;
	return SBX_TARGET_OK;
}

/* Ends a segment. If another follows, the output ends in one '/'. */
static enum sbx_target_kind end_segment(struct writer *w, bool is_last)
{
	int ndots = dots(w, w->piece);

	if (w->has_slashes && ndots)
		return SBX_TARGET_HIDDEN_DOTS;
	if (ndots == 2 && drop_parent(w) != SBX_TARGET_OK)
		return SBX_TARGET_ABOVE;
	if (ndots == 1)
		w->out->len = w->segment;
	if (!is_last && w->out->path[w->out->len - 1] != '/' && put(w, '/') != SBX_TARGET_OK)
		return SBX_TARGET_LONG;
	w->segment = w->piece = w->out->len;
	w->has_slashes = false;
	w->was = 0;
	return SBX_TARGET_OK;
}

/* Old decoders read the overlong bytes "%C0%AE" as a dot: such a path is refused. */
static bool is_overlong(unsigned char was, unsigned char c)
{
	if (c < 0x80 || c > 0xbf)
		return false;
	return was == 0xc0 || was == 0xc1 || (was == 0xe0 && c < 0xa0) || (was == 0xf0 && c < 0x90);
}

static enum sbx_target_kind put_unescaped(struct writer *w, unsigned char c, unsigned flags)
{
	unsigned char was = w->was;
	enum sbx_target_kind kind;

	w->was = c;
	if (c < 0x20 || c == 0x7f)
		return SBX_TARGET_CONTROL;
	if (c == '\\')
		return SBX_TARGET_BACKSLASH;
	if (is_overlong(was, c))
		return SBX_TARGET_OVERLONG;
	if (c != '/')
		return sbx_target_is_plain(c) ? put(w, (char)c) : put_escaped(w, c);
	if (!(flags & SBX_TARGET_SLASHES))
		return SBX_TARGET_SLASH;
	if (dots(w, w->piece))
		return SBX_TARGET_HIDDEN_DOTS;
	kind = put_escaped(w, c);
	w->piece = w->out->len;
	w->has_slashes = true;
	return kind;
}

/* Skips the rest of the segment after the ';' at s[i], and checks it. */
static enum sbx_target_kind skip_params(const char *s, size_t len, size_t *i, unsigned flags)
{
	for (; *i < len && s[*i] != '/'; ++*i) {
		int c = (unsigned char)s[*i];

		if (c == '%') {
			c = unescape(s + *i + 1, len - *i - 1);
			*i += 2;
		}
		if (c < 0)
			return SBX_TARGET_ESCAPE;
		if (c < 0x20 || c == 0x7f)
			return SBX_TARGET_CONTROL;
		if (c == '\\')
			return SBX_TARGET_BACKSLASH;
		if (c == '/' && !(flags & SBX_TARGET_SLASHES))
			return SBX_TARGET_SLASH;
	}
	return SBX_TARGET_OK;
}

/* s begins with '/' and holds no '?', '#', control character or byte that is not ASCII. */
static enum sbx_target_kind read_path(const char *s, size_t len, unsigned flags,
				      struct sbx_target *out)
{
	struct writer w = {.out = out};
	enum sbx_target_kind kind = put(&w, '/');

	w.segment = w.piece = out->len;
	for (size_t i = 1; i < len && kind == SBX_TARGET_OK; i++) {
		int c = (unsigned char)s[i];
		bool is_escape = c == '%';

		if (c == '/') {
			kind = end_segment(&w, false);
			continue;
		}
		if (is_escape) {
			c = unescape(s + i + 1, len - i - 1);
			if (c < 0)
				return SBX_TARGET_ESCAPE;
			i += 2;
		}
		if (c == ';') {
			i++;
			kind = skip_params(s, len, &i, flags);
			i--; /* the '/' is the next */
			continue;
		}
		if (!is_escape)
			w.was = 0;
		kind = put_unescaped(&w, (unsigned char)c, flags);
		if (!is_escape)
			w.was = 0;
	}
	if (kind == SBX_TARGET_OK)
		kind = end_segment(&w, true);
	out->path[out->len] = '\0';
	return kind;
}

/* ---- the whole ---- */

static size_t find(const char *s, size_t len, char c)
{
	size_t i = 0;

	while (i < len && s[i] != c)
		i++;
	return i;
}

/* Length of "http://" or "https://" in front; 0: of neither. */
static size_t scheme_length(const char *s, size_t len)
{
	static const char word[] = "https";
	size_t i = 0;

	while (i < len && i < 5 && (s[i] | 0x20) == word[i])
		i++;
	if (i < 4 || len - i < 3 || s[i] != ':' || s[i + 1] != '/' || s[i + 2] != '/')
		return 0;
	return i + 3;
}

/* Takes scheme and host off the front. */
static enum sbx_target_kind read_front(const char **s, size_t *len, struct sbx_target *out)
{
	size_t scheme = scheme_length(*s, *len), end;

	if (!scheme)
		return SBX_TARGET_SCHEME;
	out->is_url = true;
	out->is_https = scheme == 8;
	*s += scheme;
	*len -= scheme;
	out->host = *s;
	out->host_len = find(*s, *len, '/');
	end = find(*s, out->host_len, '?');
	out->host_len = end;
	if (find(out->host, end, '@') != end)
		return SBX_TARGET_USER;
	*s += end;
	*len -= end;
	return end ? SBX_TARGET_OK : SBX_TARGET_EMPTY_HOST;
}

static enum sbx_target_kind check_bytes(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c <= 0x20 || c == 0x7f)
			return SBX_TARGET_CONTROL;
		if (c >= 0x80)
			return SBX_TARGET_NOT_ASCII;
		if (c == '#')
			return SBX_TARGET_FRAGMENT;
	}
	return SBX_TARGET_OK;
}

enum sbx_target_kind sbx_target_read(const char *text, size_t len, unsigned flags,
				     struct sbx_target *out)
{
	enum sbx_target_kind kind = check_bytes(text, len);
	size_t path_len;

	out->len = out->host_len = out->query_len = 0;
	out->is_star = out->is_url = out->is_https = out->has_query = false;
	out->host = out->query = text;
	if (kind != SBX_TARGET_OK)
		return kind;
	if (len == 1 && text[0] == '*') {
		out->is_star = true;
		out->path[out->len++] = '*';
		out->path[out->len] = '\0';
		return SBX_TARGET_OK;
	}
	if (len && text[0] != '/')
		kind = read_front(&text, &len, out);
	if (kind != SBX_TARGET_OK)
		return kind;
	path_len = find(text, len, '?');
	out->has_query = path_len < len;
	out->query = text + path_len + out->has_query;
	out->query_len = len - path_len - out->has_query;
	if (path_len > SBX_TARGET_PATH_MAX)
		return SBX_TARGET_LONG;
	return read_path(text, path_len, flags, out);
}

/* ---- queries ---- */

/* Length of the well-formed sequence at p, 0: it is none. RFC 3629. */
static size_t utf8_len(const unsigned char *p, size_t n)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (p[0] > 0xf4 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

static bool is_text(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	for (size_t i = 0, len; i < n; i += len) {
		len = utf8_len(p + i, n - i);
		if (!len || !p[i])
			return false;
	}
	return true;
}

/* Unescapes a text into `room`. Returns its length, or -1. */
static long read_word(const char *s, size_t n, char *room)
{
	long out = 0;

	for (size_t i = 0; i < n; i++) {
		int c = s[i] == '+' ? ' ' : (unsigned char)s[i];

		if (c == '%') {
			c = unescape(s + i + 1, n - i - 1);
			i += 2;
		}
		if (c < 0 || s[i] == ';')
			return -1;
		room[out++] = (char)c;
	}
	return is_text(room, (size_t)out) ? out : -1;
}

enum sbx_query_said sbx_query_next(const char *query, size_t len, size_t *at, char *room,
				   struct sbx_query_pair *out)
{
	const char *part;
	size_t n, equals;
	long key, value = 0;

	while (*at < len && query[*at] == '&')
		++*at;
	if (*at >= len)
		return SBX_QUERY_END;
	part = query + *at;
	n = find(part, len - *at, '&');
	*at += n;
	equals = find(part, n, '=');
	key = read_word(part, equals, room);
	if (key >= 0 && equals < n)
		value = read_word(part + equals + 1, n - equals - 1, room + key);
	if (key < 0 || value < 0)
		return SBX_QUERY_BAD;
	*out = (struct sbx_query_pair){.key = room,
				       .key_len = (size_t)key,
				       .value = room + key,
				       .value_len = (size_t)value};
	return SBX_QUERY_PAIR;
}
