/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling rulesets to macOS profiles, self-check included: JSON lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "policy/compile/ruleset.h"
#include "sbpl/sbpl.h"

#define WS "/Users/u/ws"

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void add(struct pol_ruleset *rs, enum sbx_op op, bool allow, enum pol_shape shape,
		const char *base, const char *glob)
{
	pol_ruleset_add(rs, op,
			&(struct pol_rule){.allow = allow,
					   .layer = POL_LAYER_MAIN,
					   .shape = shape,
					   .base = base,
					   .base_len = strlen(base),
					   .glob = glob,
					   .matched = glob ? glob : base,
					   .origin = "bench:1:1"});
}

/* Half of `n` for reading, half for modifying: files, trees, names anywhere, suffixes; as the
 * engine of a Mac makes them, with what the system needs. */
static void fill(struct pol_ruleset *rs, unsigned n)
{
	const struct sbpl_opts o = sbpl_opts_default();
	char text[128];

	add(rs, SBX_READ, true, POL_TREE, "", NULL);
	sbpl_system_rules(&o, rs);
	add(rs, SBX_MODIFY, true, POL_TREE, WS, NULL);
	for (unsigned i = 2; i < n; i++) {
		enum sbx_op op = i % 2 ? SBX_READ : SBX_MODIFY;

		switch (i / 2 % 4) {
		case 0:
			snprintf(text, sizeof text, WS "/src/d%u/f%u.c", i % 37, i);
			add(rs, op, i % 3 == 0, POL_EXACT, text, NULL);
			break;
		case 1:
			snprintf(text, sizeof text, WS "/lib/d%u", i);
			add(rs, op, i % 3 == 0, POL_TREE, text, NULL);
			break;
		case 2:
			snprintf(text, sizeof text, "**/secret%u/**", i);
			add(rs, op, false, POL_GLOB, WS, text);
			break;
		default:
			snprintf(text, sizeof text, "gen%u/*.key", i);
			add(rs, op, false, POL_GLOB, WS, text);
		}
	}
}

static void measure(unsigned n)
{
	struct sbpl_opts o = sbpl_opts_default();
	struct pol_ruleset rs;
	struct sbx_image img;
	struct sbpl_profile prof = {0};
	struct b_err err;
	void *data;
	size_t size;
	double best = 1e18;

	pol_ruleset_init(&rs);
	fill(&rs, n);
	if (pol_compile(&rs, NULL, &data, &size, &err) < 0 ||
	    sbx_image_open(&img, data, size, true) != SBX_IMAGE_OK)
		exit(1);
	for (int round = 0; round < 10; round++) {
		double start = now_ns(), took;

		sbpl_profile_release(&prof);
		if (sbpl_compile(&rs, &img, &o, &prof, &err) < 0) {
			fprintf(stderr, "bench_sbpl: %s\n", err.msg);
			exit(1);
		}
		took = now_ns() - start;
		best = took < best ? took : best;
	}
	printf("{\"name\":\"sbpl compile\",\"rules\":%u,\"ms\":%.1f,\"bytes\":%zu,\"checks\":%zu,"
	       "\"emitted\":%zu}\n",
	       n, best / 1e6, prof.len, prof.nchecks, prof.nrules);
	sbpl_profile_release(&prof);
	free(data);
	pol_ruleset_release(&rs);
}

int main(void)
{
	static const unsigned sizes[] = {10, 100, 1000, 3000};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		measure(sizes[i]);
	return 0;
}
