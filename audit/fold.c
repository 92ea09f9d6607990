/* fold.c - see fold.h. */
#include "audit/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n--)
		h = (h ^ *p++) * UINT64_C(0x100000001b3); /* FNV-1a */
	return h;
}

static uint64_t hash_of(const struct aud_denied *d)
{
	const struct sbx_event *ev = d->ev;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	h = mix(h, &ev->op, sizeof ev->op);
	h = mix(h, d->path, ev->path_len);
	h = mix(h, d->path2, ev->path2_len);
	h = mix(h, d->layer, strlen(d->layer));
	return h ^ h >> 32;
}

static bool same(const struct aud_folded *f, const struct aud_denied *d)
{
	const struct sbx_event *old = &f->ev, *ev = d->ev;

	return f->path && strcmp(f->layer, d->layer) == 0 && old->kind == ev->kind &&
	       old->op == ev->op && old->call == ev->call && old->flags == ev->flags &&
	       old->err == ev->err && old->aux == ev->aux && old->path_len == ev->path_len &&
	       old->path2_len == ev->path2_len && memcmp(f->path, d->path, ev->path_len) == 0 &&
	       memcmp(f->path2, d->path2, ev->path2_len) == 0;
}

void aud_folded_release(struct aud_folded *f)
{
	free(f->path);
	free(f->path2);
	*f = (struct aud_folded){0};
}

void aud_fold_release(struct aud_fold *f)
{
	size_t i;

	for (i = 0; i < AUD_FOLD_SLOTS; i++)
		aud_folded_release(&f->slot[i]);
}

enum aud_fold_answer aud_fold_add(struct aud_fold *f, const struct aud_denied *d, uint64_t n,
				  struct aud_folded *out_evicted)
{
	const struct sbx_event *ev = d->ev;
	uint64_t h = hash_of(d);
	struct aud_folded *s = &f->slot[h % AUD_FOLD_SLOTS];

	*out_evicted = (struct aud_folded){0};
	if (s->hash == h && same(s, d)) {
		s->count += n;
		s->ev = *ev;
		return AUD_FOLD_COUNTED;
	}
	if (s->count)
		*out_evicted = *s;
	else
		aud_folded_release(s);
	*s = (struct aud_folded){
		.ev = *ev,
		.path = b_strndup(d->path, ev->path_len),
		.path2 = b_strndup(d->path2, ev->path2_len),
		.layer = d->layer,
		.hash = h,
	};
	return AUD_FOLD_FIRST;
}
