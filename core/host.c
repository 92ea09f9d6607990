/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - names and addresses as text. Classes are in addresses.c. */
#include "core/host.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_of(char c)
{
	if (is_digit(c))
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t find(const char *s, size_t len, char c)
{
	size_t i = 0;

	while (i < len && s[i] != c)
		i++;
	return i;
}

/* ---- IPv4 ---- */

/* Four decimal parts, none with a zero in front. */
static bool parse_v4(const char *s, size_t len, uint8_t out[4])
{
	size_t i = 0;

	for (int part = 0; part < 4; part++) {
		unsigned v = 0;
		size_t from = i;

		for (; i < len && is_digit(s[i]) && i - from < 4; i++)
			v = v * 10 + (unsigned)(s[i] - '0');
		if (i == from || v > 255 || (s[from] == '0' && i - from > 1))
			return false;
		out[part] = (uint8_t)v;
		if (part < 3 && (i >= len || s[i++] != '.'))
			return false;
	}
	return i == len;
}

/* ---- IPv6 ---- */

struct groups {
	uint8_t b[16];
	int n;	 /* bytes so far */
	int gap; /* where "::" stands, -1 = nowhere */
};

/* One group of hexadecimal digits, or an IPv4 address at the end. Returns the bytes of text taken,
 * 0 = wrong. */
static size_t take_group(const char *s, size_t len, struct groups *g)
{
	size_t end = find(s, len, ':');
	unsigned v = 0;

	if (end == len && find(s, len, '.') < len) {
		if (g->n > 12 || !parse_v4(s, len, g->b + g->n))
			return 0;
		g->n += 4;
		return len;
	}
	if (end == 0 || end > 4 || g->n > 14)
		return 0;
	for (size_t i = 0; i < end; i++) {
		int digit = hex_of(s[i]);

		if (digit < 0)
			return 0;
		v = v << 4 | (unsigned)digit;
	}
	g->b[g->n++] = (uint8_t)(v >> 8);
	g->b[g->n++] = (uint8_t)v;
	return end;
}

static bool parse_groups(const char *s, size_t len, struct groups *g)
{
	size_t i = 0;

	if (len >= 2 && s[0] == ':' && s[1] == ':') {
		g->gap = 0;
		i = 2;
	}
	while (i < len) {
		size_t n = take_group(s + i, len - i, g);

		if (n == 0)
			return false;
		i += n;
		if (i == len)
			break;
		if (s[i++] != ':' || i == len)
			return false;
		if (s[i] == ':') {
			if (g->gap >= 0)
				return false;
			g->gap = g->n;
			i++;
		}
	}
	return g->gap >= 0 ? g->n < 16 : g->n == 16;
}

static bool parse_v6(const char *s, size_t len, uint8_t out[16])
{
	struct groups g = {.gap = -1};
	int tail;

	if (len < 2 || len >= SBX_ADDR_TEXT || !parse_groups(s, len, &g))
		return false;
	tail = g.gap < 0 ? 0 : g.n - g.gap;
	for (int i = 0; i < 16; i++)
		out[i] = i < g.n - tail ? g.b[i] : i >= 16 - tail ? g.b[i - (16 - g.n)] : 0;
	return true;
}

bool sbx_addr_parse(const char *text, size_t len, struct sbx_addr *out)
{
	struct sbx_addr a = {0};

	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
		a.is_v6 = 1;
	}
	a.is_v6 |= find(text, len, ':') < len;
	if (!(a.is_v6 ? parse_v6 : parse_v4)(text, len, a.b))
		return false;
	*out = a;
	return true;
}

bool sbx_addr_equal(const struct sbx_addr *a, const struct sbx_addr *b)
{
	for (int i = 0; i < 16; i++)
		if (a->b[i] != b->b[i])
			return false;
	return a->is_v6 == b->is_v6;
}

/* ---- as text ---- */

static size_t put_v4(const uint8_t b[4], char *out)
{
	size_t n = 0;

	for (int i = 0; i < 4; i++) {
		if (i)
			out[n++] = '.';
		if (b[i] >= 100)
			out[n++] = (char)('0' + b[i] / 100);
		if (b[i] >= 10)
			out[n++] = (char)('0' + b[i] / 10 % 10);
		out[n++] = (char)('0' + b[i] % 10);
	}
	return n;
}

static unsigned group_of(const uint8_t *b, int i)
{
	return (unsigned)b[2 * i] << 8 | b[2 * i + 1];
}

/* The longest run of two or more zero groups, the first of equals; *out_n = 0: none. */
static int zeros_of(const uint8_t *b, int *out_n)
{
	int at = -1;

	*out_n = 1;
	for (int i = 0; i < 8; i++) {
		int n = 0;

		while (i + n < 8 && group_of(b, i + n) == 0)
			n++;
		if (n > *out_n) {
			at = i;
			*out_n = n;
		}
		i += n;
	}
	return at;
}

static size_t put_v6(const uint8_t *b, char *out)
{
	static const char digits[] = "0123456789abcdef";
	int gap_n, gap = zeros_of(b, &gap_n);
	size_t n = 0;

	for (int i = 0; i < 8; i++) {
		unsigned g = group_of(b, i);

		if (i == gap) {
			out[n++] = ':';
			out[n++] = ':';
			i += gap_n - 1;
			continue;
		}
		if (i && out[n - 1] != ':')
			out[n++] = ':';
		for (int shift = 12; shift >= 0; shift -= 4)
			if (g >> shift || shift == 0)
				out[n++] = digits[g >> shift & 15];
	}
	return n;
}

size_t sbx_addr_text(const struct sbx_addr *a, char out[SBX_ADDR_TEXT])
{
	size_t n = (a->is_v6 ? put_v6 : put_v4)(a->b, out);

	out[n] = '\0';
	return n;
}

/* ---- ranges ---- */

static uint8_t mask_of(unsigned bits, int byte)
{
	unsigned from = 8u * (unsigned)byte;

	if (bits >= from + 8)
		return 0xff;
	return bits <= from ? 0 : (uint8_t)(0xff00u >> (bits - from));
}

bool sbx_cidr_parse(const char *text, size_t len, struct sbx_cidr *out)
{
	size_t slash = find(text, len, '/'), i = slash + 1;
	struct sbx_cidr c = {0};
	unsigned most, bits = 0;

	if (!sbx_addr_parse(text, slash, &c.addr))
		return false;
	most = c.addr.is_v6 ? 128 : 32;
	if (slash == len) {
		bits = most;
	} else {
		if (i == len || len - i > 3 || (text[i] == '0' && len - i > 1))
			return false;
		for (; i < len; i++) {
			if (!is_digit(text[i]))
				return false;
			bits = bits * 10 + (unsigned)(text[i] - '0');
		}
		if (bits > most)
			return false;
	}
	c.bits = (uint8_t)bits;
	for (int k = 0; k < 16; k++)
		c.addr.b[k] &= mask_of(bits, k);
	*out = c;
	return true;
}

bool sbx_cidr_has(const struct sbx_cidr *c, const struct sbx_addr *a)
{
	if (c->addr.is_v6 != a->is_v6)
		return false;
	for (int i = 0; i < 16; i++)
		if ((a->b[i] ^ c->addr.b[i]) & mask_of(c->bits, i))
			return false;
	return true;
}

/* ---- names ---- */

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Resolvers read a name that ends in a number as an address, in one of many ways. */
static bool ends_in_number(const char *s, size_t len)
{
	size_t from = len, i;

	while (from > 0 && s[from - 1] != '.')
		from--;
	i = from;
	if (len - i >= 2 && s[i] == '0' && s[i + 1] == 'x') {
		for (i += 2; i < len && hex_of(s[i]) >= 0; i++)
			;
		return i == len;
	}
	while (i < len && is_digit(s[i]))
		i++;
	return i == len;
}

/* Labels of 1 to 63. */
static bool labels_ok(const char *s, size_t len)
{
	for (size_t i = 0; i <= len; i++) {
		size_t n = find(s + i, len - i, '.');

		if (n == 0 || n > SBX_LABEL_MAX)
			return false;
		i += n;
	}
	return true;
}

static enum sbx_host_kind parse_name(const char *s, size_t len, struct sbx_host *out)
{
	if (len > 0 && s[len - 1] == '.')
		len--;
	if (len == 0)
		return SBX_HOST_EMPTY;
	if (len > SBX_HOST_MAX)
		return SBX_HOST_LONG;
	for (size_t i = 0; i < len; i++) {
		char c = small(s[i]);

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_' && c != '.')
			return SBX_HOST_BAD;
		out->name[i] = c;
	}
	out->name[len] = '\0';
	out->len = len;
	if (!labels_ok(out->name, len))
		return SBX_HOST_LABEL;
	if (ends_in_number(out->name, len))
		return sbx_addr_parse(out->name, len, &out->addr) ? SBX_HOST_ADDRESS : SBX_HOST_ODD;
	return SBX_HOST_NAME;
}

enum sbx_host_kind sbx_host_parse(const char *text, size_t len, struct sbx_host *out)
{
	if (len > 0 && (text[0] == '[' || find(text, len, ':') < len)) {
		out->kind = sbx_addr_parse(text, len, &out->addr) ? SBX_HOST_ADDRESS : SBX_HOST_ODD;
		if (find(text, len, '\0') < len || find(text, len, '@') < len)
			out->kind = SBX_HOST_BAD;
	} else {
		out->kind = parse_name(text, len, out);
	}
	if (out->kind != SBX_HOST_NAME) {
		out->len = 0;
		out->name[0] = '\0';
	}
	return out->kind;
}

/* By value, as a pointer each would be a relocation in the shim. */
const char *sbx_host_kind_text(enum sbx_host_kind kind)
{
	static const char texts[SBX_HOST_KIND_COUNT][64] = {
#define X(name, text) [SBX_HOST_##name] = text,
		SBX_HOST_KINDS(X)
#undef X
	};

	return (unsigned)kind < SBX_HOST_KIND_COUNT ? texts[kind] : "?";
}
