/* names.h - an index of n things by name. Private to sbpl/. */
#pragma once

#include <stddef.h>

#include "base/mem.h"

struct sbpl_names {
	const char *(*name)(const void *ctx, size_t i);
	const void *ctx;
	unsigned *slot; /* i + 1 by hash, 0 = free */
	size_t mask;
};

/* `name` and `ctx` are set by the caller; the slots come from the arena. Of equal names the first
 * counts. */
void sbpl_names_build(struct sbpl_names *, struct b_arena *, size_t n);
/* i + 1, or 0. */
unsigned sbpl_names_find(const struct sbpl_names *, const char *wanted);
