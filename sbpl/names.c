#include "sbpl/names.h"

#include <string.h>

static size_t hash(const char *s)
{
	size_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (unsigned char)*s;
	return h;
}

static unsigned *slot_of(const struct sbpl_names *names, const char *wanted)
{
	size_t at = hash(wanted) & names->mask;

	while (names->slot[at] && strcmp(names->name(names->ctx, names->slot[at] - 1), wanted) != 0)
		at = (at + 1) & names->mask;
	return &names->slot[at];
}

void sbpl_names_build(struct sbpl_names *names, struct b_arena *a, size_t n)
{
	size_t size = 64;

	while (size < 2 * n)
		size *= 2;
	names->slot = b_arena_alloc(a, size * sizeof *names->slot);
	names->mask = size - 1;
	for (size_t i = 0; i < n; i++) {
		unsigned *slot = slot_of(names, names->name(names->ctx, i));

		if (!*slot)
			*slot = (unsigned)i + 1;
	}
}

unsigned sbpl_names_find(const struct sbpl_names *names, const char *wanted)
{
	return *slot_of(names, wanted);
}
