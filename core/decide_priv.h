/* SPDX-License-Identifier: Apache-2.0 */
/* decide_priv.h - the steps of automata, shared by the files of core/ that walk images. */
#pragma once

#include "core/image.h"

#define SBX_NOWHERE UINT32_MAX /* a damaged table leads here: denied from here on */

/* The next entry, in the row of `at`, a scaled state. Rows begin at multiples of 1 << shift:
 * `rest` is what scaling left of the shift. The table has 256 entries to spare, so that no class
 * leads out of it. */
#define SBX_ENTRY(table, at, rest, class) ((table)[((size_t)(at) << (rest)) + (class)])

/* One step; the caller knows that state < d->nstates. */
static inline uint32_t sbx_next_state(const struct sbx_image *img, const struct sbx_dfa *d,
				      uint32_t state, unsigned char byte)
{
	const void *table = img->base + d->table;
	uint8_t class = img->base[d->classes + byte];
	uint32_t next = d->width == 2 ? SBX_ENTRY((const uint16_t *)table, state, d->shift, class)
				      : SBX_ENTRY((const uint32_t *)table, state, d->shift, class);

	next >>= d->scaled;
	return next < d->nstates ? next : SBX_NOWHERE;
}

/* The last rule of the layer that matches, counted from 1; 0 = none. */
uint32_t sbx_last_rule(const struct sbx_image *, const struct sbx_image_layer *, const char *path,
		       size_t len);
/* The last rule of the layer that matches the path and everything below it, as sbx_last_rule(). */
uint32_t sbx_last_rule_below(const struct sbx_image *, const struct sbx_image_layer *,
			     const char *path, size_t len);

/* The entry of a path of this hash. The table is not trusted: probes and texts are bounded. */
const struct sbx_image_literal *sbx_find_literal(const struct sbx_image *,
						 const struct sbx_image_layer *, uint64_t hash,
						 const char *path, size_t len);
/* The last rule of the layer that matches: `last`, which its literals gave, or one of its
 * patterns. */
uint32_t sbx_last_pattern(const struct sbx_image *, const struct sbx_image_layer *,
			  const char *path, size_t len, uint32_t last);
