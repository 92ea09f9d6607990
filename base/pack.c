/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - see pack.h. */
#include "base/pack.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { WORD = sizeof(uint64_t) };

/* ---- writing ---- */

void b_pack_u64(struct b_str *out, uint64_t v)
{
	b_str_addn(out, &v, sizeof v);
}

void b_pack_bytes(struct b_str *out, const void *p, size_t n)
{
	static const char zeros[WORD];

	b_pack_u64(out, p ? n : UINT64_MAX);
	if (!p)
		return;
	b_str_addn(out, p, n);
	b_str_addn(out, zeros, (WORD - n % WORD) % WORD);
}

void b_pack_text(struct b_str *out, const char *s)
{
	b_pack_bytes(out, s, s ? strlen(s) : 0);
}

void b_pack_texts(struct b_str *out, char const *const *v, size_t n)
{
	b_pack_u64(out, n);
	for (size_t i = 0; i < n; i++)
		b_pack_text(out, v[i]);
}

void b_pack_list(struct b_str *out, char const *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	b_pack_texts(out, v, n);
}

/* ---- reading ---- */

struct b_unpack b_unpack_from(struct b_arena *arena, const void *data, size_t n)
{
	return (struct b_unpack){.arena = arena, .p = data, .left = n};
}

uint64_t b_unpack_u64(struct b_unpack *in, uint64_t max)
{
	uint64_t v = 0;

	if (in->left < sizeof v)
		in->is_bad = true;
	if (in->is_bad)
		return 0;
	memcpy(&v, in->p, sizeof v);
	in->p += sizeof v;
	in->left -= sizeof v;
	if (v > max)
		in->is_bad = true;
	return in->is_bad ? 0 : v;
}

size_t b_unpack_count(struct b_unpack *in, size_t size)
{
	uint64_t n = b_unpack_u64(in, UINT64_MAX);

	if (n > in->left / size)
		in->is_bad = true;
	return in->is_bad ? 0 : (size_t)n;
}

const void *b_unpack_bytes(struct b_unpack *in, size_t *out_n)
{
	uint64_t n = b_unpack_u64(in, UINT64_MAX), padded = n + (WORD - n % WORD) % WORD;
	const void *p = in->p;

	*out_n = 0;
	if (in->is_bad || n == UINT64_MAX)
		return NULL;
	if (n > in->left || padded > in->left) {
		in->is_bad = true;
		return NULL;
	}
	*out_n = (size_t)n;
	in->p += padded;
	in->left -= (size_t)padded;
	return p;
}

char *b_unpack_text_or_null(struct b_unpack *in)
{
	size_t n;
	const char *s = b_unpack_bytes(in, &n);

	if (!s)
		return NULL;
	if (memchr(s, '\0', n))
		in->is_bad = true;
	return b_arena_strndup(in->arena, s, n);
}

char *b_unpack_text(struct b_unpack *in)
{
	char *s = b_unpack_text_or_null(in);

	if (s)
		return s;
	in->is_bad = true;
	return b_arena_strndup(in->arena, "", 0);
}

char **b_unpack_list(struct b_unpack *in)
{
	size_t n = b_unpack_count(in, WORD);
	char **v = b_arena_alloc(in->arena, (n + 1) * sizeof *v);

	for (size_t i = 0; i < n; i++)
		v[i] = b_unpack_text(in);
	v[n] = NULL;
	return v;
}

bool b_unpack_done(const struct b_unpack *in)
{
	return !in->is_bad && in->left == 0;
}
