/* SPDX-License-Identifier: Apache-2.0 */
/*
 * countedlines.c - which regions of the broker's code a program reached. The product under test is
 * built with clang's source-based coverage in its continuous mode: the counters are a mapping of a
 * file, made before anything is confined, so that the broker counts in it by plain stores.
 */
#include "attack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* compiler-rt, profile/InstrProfData.inc: the head of a raw profile, versions 5 to 8. */
struct head {
	uint64_t magic, version, binary_ids, data, pad_before, counters, pad_after, names;
	uint64_t counters_delta, names_delta, value_kinds;
};
#define RECORD 48 /* of a function, before the counters */

struct ak_lines {
	const char *map;
	size_t size;
	const uint64_t *counters;
	size_t n;
	unsigned char *seen;
};

static unsigned char *all_seen; /* by sessions before */
static size_t all_n;

struct ak_lines *ak_lines_open(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	const struct head *h;
	struct ak_lines *l;
	struct stat st;
	size_t at;

	if (fd < 0)
		return NULL;
	l = calloc(1, sizeof *l);
	if (!l || fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof *h)
		abort();
	l->size = (size_t)st.st_size;
	l->map = mmap(NULL, l->size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (l->map == MAP_FAILED)
		abort();
	h = (const void *)l->map;
	at = sizeof *h + h->binary_ids + h->data * RECORD + h->pad_before;
	if (at + h->counters * 8 > l->size) {
		munmap((void *)(uintptr_t)l->map, l->size);
		free(l);
		return NULL;
	}
	l->counters = (const void *)(l->map + at);
	l->n = h->counters;
	if (!all_seen) {
		all_seen = calloc(l->n, 1);
		all_n = l->n;
	}
	if (all_n != l->n) /* of another build */
		abort();
	l->seen = all_seen;
	return l;
}

unsigned ak_lines_new(struct ak_lines *l)
{
	unsigned n = 0;

	for (size_t i = 0; l && i < l->n && i < all_n; i++)
		if (l->counters[i] && !l->seen[i]) {
			l->seen[i] = 1;
			n++;
		}
	return n;
}

/* What runs before this one reached: a byte a region. */
void ak_seen_load(const char *file)
{
	FILE *f = fopen(file, "re");
	struct stat st;

	if (!f)
		return;
	if (!all_seen && fstat(fileno(f), &st) == 0 && st.st_size > 0) {
		all_n = (size_t)st.st_size;
		all_seen = calloc(all_n, 1);
		if (!all_seen || fread(all_seen, 1, all_n, f) != all_n)
			abort();
	}
	(void)fclose(f);
}

void ak_seen_save(const char *file)
{
	FILE *f = all_seen ? fopen(file, "we") : NULL;

	if (!f)
		return;
	(void)fwrite(all_seen, 1, all_n, f);
	(void)fclose(f);
}

void ak_lines_close(struct ak_lines *l)
{
	if (!l)
		return;
	munmap((void *)(uintptr_t)l->map, l->size);
	free(l);
}
