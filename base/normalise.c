/* normalise.c - see normalise.h; Unicode Standard Annex 15, chapter 3.12 for Hangul. */
#include "base/normalise.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/unicode.h"

#define N(table) (sizeof(table) / sizeof *(table))

enum { S = 0xac00, L = 0x1100, V = 0x1161, T = 0x11a7, NL = 19, NV = 21, NT = 28 };
#define IS_IN(c, first, n) ((c) >= (first) && (c) < (first) + (uint32_t)(n))

#define CODE(x)	 ((x)&0x1fffff)
#define CLASS(x) ((x) >> 24)

struct codes {
	uint32_t *v; /* the class above the code */
	size_t n, cap;
};

static unsigned class_of(uint32_t c)
{
	for (size_t i = 0; i < N(classes) && c >= classes[i][0]; i++)
		if (c <= classes[i][1])
			return classes[i][2];
	return 0;
}

static void add(struct codes *t, uint32_t c)
{
	b_grow(t->v, t->n, t->cap);
	t->v[t->n++] = c | class_of(c) << 24;
}

static int by_code(const void *key, const void *row)
{
	uint32_t c = *(const uint32_t *)key, other = *(const uint32_t *)row;

	return c < other ? -1 : c > other;
}

/* What follows a first part is never taken apart further: the depth is that of the table, 4. */
static void decompose(struct codes *t, uint32_t c)
{
	const uint32_t *row;

	if (IS_IN(c, S, NL * NV * NT)) {
		uint32_t i = c - S;

		add(t, L + i / (NV * NT));
		add(t, V + i % (NV * NT) / NT);
		if (i % NT)
			add(t, T + i % NT);
		return;
	}
	row = bsearch(&c, pairs, N(pairs), sizeof *pairs, by_code);
	if (!row) {
		add(t, c);
		return;
	}
	decompose(t, row[1]);
	if (row[2])
		decompose(t, row[2]);
}

/* Marks behind one base stand in the order of their classes. */
static void reorder(struct codes *t)
{
	for (size_t i = 1; i < t->n; i++) {
		uint32_t c = t->v[i];
		size_t at = i;

		for (; CLASS(c) && at > 0 && CLASS(t->v[at - 1]) > CLASS(c); at--)
			t->v[at] = t->v[at - 1];
		t->v[at] = c;
	}
}

/* 0: these two have no common form. */
static uint32_t pair(uint32_t a, uint32_t b)
{
	if (IS_IN(a, L, NL) && IS_IN(b, V, NV))
		return S + ((a - L) * NV + (b - V)) * NT;
	if (IS_IN(a, S, NL * NV * NT) && (a - S) % NT == 0 && IS_IN(b, T + 1, NT - 1))
		return a + (b - T);
	for (size_t i = 0; i < N(pairs); i++)
		if (pairs[i][1] == a && pairs[i][2] == b)
			return bsearch(pairs[i], excluded, N(excluded), sizeof *excluded, by_code)
				       ? 0
				       : pairs[i][0];
	return 0;
}

static void compose(struct codes *t)
{
	size_t n = 0, base = SIZE_MAX;
	unsigned before = 0; /* class of the last mark that stayed behind `base` */

	for (size_t i = 0; i < t->n; i++) {
		uint32_t c = t->v[i], both;
		unsigned k = CLASS(c);

		/* A mark of the same class in between keeps them apart, and so does a base. */
		if (base != SIZE_MAX && (base + 1 == n || (before < k && before > 0)) &&
		    (both = pair(CODE(t->v[base]), CODE(c)))) {
			t->v[base] = both;
			continue;
		}
		if (k == 0)
			base = n;
		before = k;
		t->v[n++] = c;
	}
	t->n = n;
}

static void put(struct b_str *out, uint32_t c)
{
	if (c >= 0x10000) {
		b_str_addc(out, (char)(0xf0 | c >> 18));
		b_str_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
	} else if (c >= 0x800) {
		b_str_addc(out, (char)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		b_str_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	else if (c >= 0x80)
		b_str_addc(out, (char)(0xc0 | c >> 6));
	b_str_addc(out, (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c));
}

static void release(struct codes *t)
{
	free(t->v);
}

bool b_normalise(const char *s, size_t len, bool composed, struct b_str *out)
{
	b_auto(release) struct codes t = {0};
	const unsigned char *p = (const unsigned char *)s, *end = p + len;

	while (p < end) {
		unsigned n = b_utf8_len(p, (size_t)(end - p));

		if (n == 0)
			return false;
		decompose(&t, b_utf8_decode(p, n));
		p += n;
	}
	reorder(&t);
	if (composed)
		compose(&t);
	for (size_t i = 0; i < t.n; i++)
		put(out, CODE(t.v[i]));
	return true;
}
