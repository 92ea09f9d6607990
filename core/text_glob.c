/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_glob.c - see text_glob.h. The places in the pattern where the text so far may end are bits;
 * a step looks at those that are set.
 */
#include "core/text_glob.h"

#define WORDS ((SBX_GLOB_OPS + 64) / 64)

struct places {
	const struct sbx_glob *g;
	size_t nwords;
	uint64_t bit[WORDS];
	bool is_any;
};

/* Adds a place, and those that it reaches without a character. */
static void add(struct places *p, uint32_t at)
{
	for (;;) {
		uint32_t kind;

		p->bit[at / 64] |= UINT64_C(1) << at % 64;
		p->is_any = true;
		if (at >= p->g->nops)
			return;
		kind = SBX_GLOB_KIND(p->g->op[at]);
		if (kind == SBX_GLOB_ENTRY)
			add(p, at + 2); /* the depth is bounded by consecutive entries */
		else if (kind != SBX_GLOB_STAR && kind != SBX_GLOB_ALL)
			return;
		at++;
	}
}

static void clear(struct places *p)
{
	for (size_t i = 0; i < p->nwords; i++)
		p->bit[i] = 0;
	p->is_any = false;
}

static bool in_class(const struct sbx_glob *g, uint32_t op, uint32_t c)
{
	const struct sbx_glob_range *r = g->range + SBX_GLOB_CLASS_AT(op);
	bool found = false;

	for (uint32_t i = 0; i < SBX_GLOB_CLASS_N(op) && !found; i++)
		found = r[i].low <= c && c <= r[i].high;
	return found != ((op & SBX_GLOB_NEGATED) != 0);
}

static void step(const struct sbx_glob *g, uint32_t at, uint32_t c, struct places *next)
{
	uint32_t op = g->op[at];

	switch ((enum sbx_glob_kind)SBX_GLOB_KIND(op)) {
	case SBX_GLOB_CHAR:
		if (c == SBX_GLOB_OPERAND(op))
			add(next, at + 1);
		break;
	case SBX_GLOB_ANY:
		if (c != g->separator)
			add(next, at + 1);
		break;
	case SBX_GLOB_CLASS:
		if (in_class(g, op, c))
			add(next, at + 1);
		break;
	case SBX_GLOB_STAR:
		if (c != g->separator)
			add(next, at);
		break;
	case SBX_GLOB_ALL:
		add(next, at);
		break;
	case SBX_GLOB_INSIDE:
		add(next, at);
		if (c == g->separator)
			add(next, at + 1);
		break;
	case SBX_GLOB_ENTRY:
	case SBX_GLOB_KINDS:
		break;
	}
}

/* The character at s, n bytes in *len. */
static uint32_t read_char(const unsigned char *s, size_t n, size_t *len)
{
	uint32_t c = s[0];
	size_t more = c < 0xc2 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 0;

	*len = 1;
	if (c < 0x80)
		return c;
	if (!more || more >= n)
		return 0x110000 + c;
	c &= 0x3fu >> more;
	for (size_t i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0x110000u + s[0];
		c = c << 6 | (s[i] & 0x3fu);
	}
	*len = more + 1;
	return c;
}

/* From this operation on. */
static bool walk(const struct sbx_glob *g, uint32_t at, const unsigned char *s, size_t len)
{
	struct places now = {.g = g, .nwords = g->nops / 64 + 1}, next = now;

	add(&now, at);
	for (size_t n; len && now.is_any; s += n, len -= n) {
		uint32_t c = read_char(s, len, &n);

		clear(&next);
		for (size_t w = 0; w < now.nwords; w++)
			for (uint64_t left = now.bit[w]; left; left &= left - 1) {
				uint32_t i = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left);

				if (i < g->nops)
					step(g, i, c, &next);
			}
		for (size_t w = 0; w < now.nwords; w++)
			now.bit[w] = next.bit[w];
		now.is_any = next.is_any;
	}
	return now.bit[g->nops / 64] >> g->nops % 64 & 1;
}

bool sbx_glob_match(const struct sbx_glob *g, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t at = 0;
	size_t n;

	/* most patterns begin with characters, and most texts do not match them: this avoids the
	 * set of places */
	for (; at < g->nops && SBX_GLOB_KIND(g->op[at]) == SBX_GLOB_CHAR; at++) {
		if (!len || read_char(s, len, &n) != SBX_GLOB_OPERAND(g->op[at]))
			return false;
		s += n;
		len -= n;
	}
	if (at == g->nops)
		return len == 0;
	if (at + 1 == g->nops && SBX_GLOB_KIND(g->op[at]) == SBX_GLOB_ALL)
		return true;
	return walk(g, at, s, len);
}

bool sbx_glob_check(const struct sbx_glob *g)
{
	if (g->nops > SBX_GLOB_OPS || g->nranges > SBX_GLOB_RANGES)
		return false;
	for (uint32_t i = 0; i < g->nops; i++) {
		uint32_t op = g->op[i], kind = SBX_GLOB_KIND(op);

		if (kind >= SBX_GLOB_KINDS)
			return false;
		if (kind == SBX_GLOB_CLASS &&
		    SBX_GLOB_CLASS_AT(op) + SBX_GLOB_CLASS_N(op) > g->nranges)
			return false;
		/* an entry leads to its INSIDE, which nothing else reaches */
		if ((kind == SBX_GLOB_ENTRY) !=
		    (i + 1 < g->nops && SBX_GLOB_KIND(g->op[i + 1]) == SBX_GLOB_INSIDE))
			return false;
	}
	return g->nops == 0 || SBX_GLOB_KIND(g->op[0]) != SBX_GLOB_INSIDE;
}
