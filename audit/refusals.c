/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c - the kinds of denials of a run, for its result: see collector.h. */
#include <stdlib.h>
#include <string.h>

#include "audit/collect_priv.h"
#include "base/mem.h"
#include "base/str.h"

static uint64_t mix(uint64_t h, const char *p, size_t n)
{
	while (n--)
		h = (h ^ (unsigned char)*p++) * UINT64_C(0x100000001b3); /* FNV-1a */
	return h ^ 0xff;
}

static uint64_t hash_of(const struct aud_denial *d)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) + (uint64_t)d->op;

	h = mix(h, d->path, d->path_len);
	h = mix(h, d->matched, strlen(d->matched));
	return mix(h, d->origin, strlen(d->origin));
}

static bool is_kind(const struct aud_refusal *r, uint64_t hash, const struct aud_denial *d)
{
	return r->hash == hash && r->op == d->op && r->path_len == d->path_len &&
	       !memcmp(r->path, d->path, d->path_len) && !strcmp(r->matched, d->matched) &&
	       !strcmp(r->origin, d->origin);
}

void aud_refusals_add(struct aud_refusals *all, const struct aud_denial *d, uint64_t n)
{
	uint64_t hash = hash_of(d);
	b_auto(b_str_release) struct b_str line = {0};

	for (size_t i = 0; i < all->n; i++)
		if (is_kind(&all->v[i], hash, d)) {
			all->v[i].count += n;
			return;
		}
	if (all->n == AUD_REFUSALS_MAX) {
		all->beyond += n;
		return;
	}
	aud_denial_line(d, &line);
	all->v[all->n++] = (struct aud_refusal){
		.op = d->op,
		.path = b_strndup(d->path, d->path_len),
		.path_len = d->path_len,
		.matched = b_strdup(d->matched),
		.origin = b_strdup(d->origin),
		.line = b_strdup(b_str_c(&line)),
		.count = n,
		.hash = hash,
	};
}

void aud_refusals_release(struct aud_refusals *all)
{
	for (size_t i = 0; i < all->n; i++) {
		free(all->v[i].path);
		free(all->v[i].matched);
		free(all->v[i].origin);
		free(all->v[i].line);
	}
	*all = (struct aud_refusals){0};
}
