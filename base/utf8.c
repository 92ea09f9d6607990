/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c - the UTF-8 part of str.h: what is a character, and what a terminal would show. */
#include "base/str.h"

#include <stdint.h>
#include <string.h>

static bool between(unsigned char c, unsigned char low, unsigned char high)
{
	return c >= low && c <= high;
}

/* Table 3-7 of the Unicode standard: only the second byte's range depends on the first. */
static bool second_fits(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0: /* below: overlong */
		return between(second, 0xa0, 0xbf);
	case 0xed: /* above: surrogates */
		return between(second, 0x80, 0x9f);
	case 0xf0: /* below: overlong */
		return between(second, 0x90, 0xbf);
	case 0xf4: /* above: beyond U+10FFFF */
		return between(second, 0x80, 0x8f);
	default:
		return between(second, 0x80, 0xbf);
	}
}

unsigned b_utf8_len(const unsigned char *p, size_t n)
{
	unsigned len, i;

	if (n == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4) /* c0, c1: overlong; f5..: beyond U+10FFFF */
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n < len || !second_fits(p[0], p[1]))
		return 0;
	for (i = 2; i < len; i++)
		if (!between(p[i], 0x80, 0xbf))
			return 0;
	return len;
}

bool b_utf8_valid(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t word;

	while (n) {
		unsigned len;

		while (n >= sizeof word) {
			memcpy(&word, p, sizeof word);
			if (word & UINT64_C(0x8080808080808080))
				break;
			p += sizeof word;
			n -= sizeof word;
		}
		if (!n)
			break;
		len = b_utf8_len(p, n);
		if (!len)
			return false;
		p += len;
		n -= len;
	}
	return true;
}

uint32_t b_utf8_decode(const unsigned char *p, unsigned len)
{
	static const unsigned char lead_bits[] = {[1] = 0x7f, [2] = 0x1f, [3] = 0x0f, [4] = 0x07};
	uint32_t c = p[0] & lead_bits[len];
	unsigned i;

	for (i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

bool b_char_visible(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x0000, 0x001f},   /* C0 */
		{0x007f, 0x009f},   /* DEL, C1: U+009B is CSI to some terminals */
		{0x061c, 0x061c},   /* Arabic letter mark */
		{0x200e, 0x200f},   /* left-to-right, right-to-left mark */
		{0x2028, 0x202e},   /* line, paragraph separator; bidi embeddings, overrides */
		{0x2066, 0x2069},   /* bidi isolates */
		{0xfeff, 0xfeff},   /* byte-order mark */
		{0xe0000, 0xe007f}, /* tags */
	};
	size_t i;

	if (c >= 0x20 && c < 0x7f)
		return true;
	for (i = 0; i < sizeof hidden / sizeof *hidden; i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return false;
	return true;
}
