/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_engine - what a verdict, a name and a compilation cost. One JSON line a figure:
 * {"name":..,"rules":..,"ns":..} (processor time of one operation), with the image's size where one
 * is made.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "core/decide.h"
#include "policy/compile/ruleset.h"

#define WS    "/home/somebody/projects/thing"
#define PATHS 1000

static uint64_t seed = 88172645463325252;

static unsigned draw(unsigned n)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (unsigned)(seed >> 24) % n;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A word that is number i's own. */
static const char *word(unsigned i)
{
	static const char *const parts[] = {"con", "fi",  "sor", "vice", "da", "ta", "mod", "el",
					    "in",  "dex", "pro", "to",	 "ba", "se", "lo",  "g"};
	static char buf[4][64];
	static unsigned turn;
	char *w = buf[turn++ % 4];

	w[0] = '\0';
	for (i += 16; i > 0; i /= 16)
		strcat(w, parts[i % 16]);
	return w;
}

static void add(struct pol_ruleset *rs, bool allow, enum pol_shape shape, const char *base,
		const char *glob)
{
	struct pol_rule r = {.allow = allow,
			     .shape = shape,
			     .tier = POL_TIER_PROFILE,
			     .base = base,
			     .base_len = strlen(base),
			     .glob = glob,
			     .matched = glob ? glob : base,
			     .origin = "bench"};

	pol_ruleset_add(rs, SBX_READ, &r);
}

/* Roots, the workspace, then denials of every shape in it. */
static void fill(struct pol_ruleset *rs, unsigned n)
{
	char text[256];

	for (unsigned i = 0; i < n / 10; i++) {
		snprintf(text, sizeof text, "/opt/%s", word(i));
		add(rs, true, POL_TREE, i == 0 ? "/usr" : text, NULL);
	}
	add(rs, true, POL_TREE, WS, NULL);
	for (unsigned i = n / 10 + 1; i < n; i++) {
		switch (i % 8) {
		case 0:
			snprintf(text, sizeof text, "**/%s/**", word(i));
			break;
		case 1:
			snprintf(text, sizeof text, "**/*.%s", word(i));
			break;
		case 2:
			snprintf(text, sizeof text, "src/%s/*.key", word(i));
			break;
		case 3:
			snprintf(text, sizeof text, "lib/%s/**", word(i));
			break;
		default:
			snprintf(text, sizeof text, WS "/src/%s/%s.c", word(draw(i)), word(i));
			add(rs, false, POL_EXACT, text, NULL);
			continue;
		}
		add(rs, false, POL_GLOB, WS, text);
	}
}

/* The same for `names` rules of the form !**\/name/\** below one grant. */
static void fill_names(struct pol_ruleset *rs, unsigned names)
{
	char text[256];

	add(rs, true, POL_TREE, WS, NULL);
	for (unsigned i = 1; i < names; i++) {
		snprintf(text, sizeof text, "**/%s/**", word(i * 7));
		add(rs, false, POL_GLOB, WS, text);
	}
}

static char paths[PATHS][128];
static size_t lens[PATHS];

static void fill_paths(unsigned n)
{
	for (unsigned i = 0; i < PATHS; i++) {
		char *p = paths[i];
		size_t size = sizeof paths[i];

		switch (i % 4) {
		case 0:
			snprintf(p, size, WS "/src/%s/%s.c", word(draw(n)), word(draw(n)));
			break;
		case 1:
			snprintf(p, size, WS "/lib/x%s/%s/%s.h", word(draw(n)), word(draw(n)),
				 word(draw(n)));
			break;
		case 2:
			snprintf(p, size, WS "/build/%s/obj/%s.o", word(draw(n)), word(draw(n)));
			break;
		default:
			snprintf(p, size, "/usr/lib/x86_64-linux-gnu/perl/5.36.0/%s/%s.so",
				 word(draw(n)), word(draw(n)));
		}
		lens[i] = strlen(p);
	}
}

static double best_verdict(const struct sbx_image *img, unsigned *allowed)
{
	double best = 1e18;

	for (int round = 0; round < 50; round++) {
		double start = now_ns(), took;

		*allowed = 0;
		for (unsigned i = 0; i < PATHS; i++)
			*allowed += sbx_decide(img, SBX_READ, paths[i], lens[i]);
		took = (now_ns() - start) / PATHS;
		best = took < best ? took : best;
	}
	return best;
}

static double best_attribution(const struct sbx_image *img)
{
	double best = 1e18;
	volatile int sink = 0;

	for (int round = 0; round < 50; round++) {
		double start = now_ns(), took;

		for (unsigned i = 0; i < PATHS; i++)
			sink += sbx_attribute(img, SBX_READ, paths[i], lens[i]);
		took = (now_ns() - start) / PATHS;
		best = took < best ? took : best;
	}
	return best;
}

static void measure(const char *name, void (*make)(struct pol_ruleset *, unsigned), unsigned n)
{
	struct pol_ruleset rs;
	struct sbx_image img;
	struct b_err err;
	void *data = NULL;
	size_t size = 0;
	double best = 1e18;
	unsigned allowed;

	pol_ruleset_init(&rs);
	make(&rs, n);
	for (int round = 0; round < (n > 1000 ? 3 : 10); round++) {
		double start = now_ns(), took;

		free(data);
		if (pol_compile(&rs, NULL, &data, &size, &err) < 0) {
			fprintf(stderr, "bench_engine: %s\n", err.msg);
			exit(1);
		}
		took = now_ns() - start;
		best = took < best ? took : best;
	}
	if (sbx_image_open(&img, data, size, true) != SBX_IMAGE_OK)
		exit(1);
	printf("{\"name\":\"compile %s\",\"rules\":%u,\"ns\":%.0f,\"bytes\":%zu,\"states\":%u,"
	       "\"groups\":%u}\n",
	       name, n, best, size, img.hdr->op[SBX_READ].verdict.nstates,
	       img.hdr->op[SBX_READ].layer[0].ngroups);
	fill_paths(n);
	best = best_verdict(&img, &allowed);
	printf("{\"name\":\"verdict %s\",\"rules\":%u,\"ns\":%.1f,\"allowed\":%u}\n", name, n, best,
	       allowed);
	printf("{\"name\":\"attribution %s\",\"rules\":%u,\"ns\":%.1f}\n", name, n,
	       best_attribution(&img));
	free(data);
	pol_ruleset_release(&rs);
}

int main(void)
{
	static const unsigned sizes[] = {10, 100, 1000, 10000};

	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
		measure("mixed", fill, sizes[i]);
	for (unsigned i = 1; i < sizeof sizes / sizeof *sizes; i++)
		measure("names", fill_names, sizes[i]);
	return 0;
}
