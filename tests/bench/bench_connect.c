/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmark of decisions on endpoints: one JSON line a measurement, the best of some rounds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "core/connect.h"
#include "policy/compile/ruleset.h"

#define HOSTS 1000

static struct sbx_host hosts[HOSTS];
static struct sbx_addr addrs[HOSTS];

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Names, wildcards of both kinds, ranges of addresses; with and without ports, some denied. */
static void text_of(unsigned i, char out[64])
{
	static const char *const shapes[][2] = {{"api.host", ".example.org:443"},
						{"*.host", ".example.net"},
						{"**.host", ".example.com:443"},
						{"host", ".internal:5432"},
						{"10.", ".0.0/16:443"}};
	const char *const *shape = shapes[i % 5];

	snprintf(out, 64, "%s%u%s", shape[0], i % 5 == 4 ? i / 5 % 256 : i, shape[1]);
}

static void fill(struct pol_ruleset *rs, unsigned n)
{
	pol_endpoints_layer(rs, POL_LAYER_MAIN, false);
	for (unsigned i = 0; i < n; i++) {
		struct pol_endpoint e = {.allow = i % 7 != 3,
					 .layer = POL_LAYER_MAIN,
					 .tier = POL_TIER_PROFILE,
					 .origin = "bench:1:1"};
		struct b_err err;
		char text[64];

		text_of(i, text);
		if (pol_endpoint_parse(&rs->arena, text, &e, &err) < 0)
			exit(1);
		pol_endpoints_add(rs, &e);
	}
}

static void fill_questions(unsigned n)
{
	static const char *const shapes[][2] = {{"api.host", ".example.org"},
						{"www.host", ".example.net"},
						{"a.b.host", ".example.com"},
						{"host", ".internal"},
						{"nobody", ".example.org"}};

	for (unsigned i = 0; i < HOSTS; i++) {
		unsigned rule = i * 7919 % n;
		char text[64];

		snprintf(text, sizeof text, "%s%u%s", shapes[rule % 5][0], rule,
			 shapes[rule % 5][1]);
		sbx_host_parse(text, strlen(text), &hosts[i]);
		addrs[i] = (struct sbx_addr){.b = {10, (uint8_t)rule, (uint8_t)i, 1}};
	}
}

static double best_of(const struct sbx_image *img, bool by_name, unsigned *out_allowed)
{
	double best = 1e18;

	for (int round = 0; round < 50; round++) {
		struct sbx_connect_answer a;
		double start = now_ns(), took;

		*out_allowed = 0;
		for (unsigned i = 0; i < HOSTS; i++)
			*out_allowed += by_name ? sbx_connect_host(img, &hosts[i], 443, NULL, &a)
						: sbx_connect_addr(img, &addrs[i], 443, NULL, &a);
		took = (now_ns() - start) / HOSTS;
		best = took < best ? took : best;
	}
	return best;
}

static void measure(unsigned n)
{
	struct pol_ruleset rs;
	struct sbx_image img;
	unsigned allowed;
	struct b_err err;
	double start, took;
	void *data;
	size_t size;

	pol_ruleset_init(&rs);
	fill(&rs, n);
	start = now_ns();
	if (pol_compile(&rs, NULL, &data, &size, &err) < 0) {
		fprintf(stderr, "bench_connect: %s\n", err.msg);
		exit(1);
	}
	took = now_ns() - start;
	if (sbx_image_open(&img, data, size, true) != SBX_IMAGE_OK)
		exit(1);
	printf("{\"name\":\"compile endpoints\",\"rules\":%u,\"ns\":%.0f,\"bytes\":%zu}\n", n, took,
	       size);
	fill_questions(n);
	took = best_of(&img, true, &allowed);
	printf("{\"name\":\"connect name\",\"rules\":%u,\"ns\":%.1f,\"allowed\":%u}\n", n, took,
	       allowed);
	took = best_of(&img, false, &allowed);
	printf("{\"name\":\"connect address\",\"rules\":%u,\"ns\":%.1f,\"allowed\":%u}\n", n, took,
	       allowed);
	free(data);
	pol_ruleset_release(&rs);
}

int main(void)
{
	static const unsigned sizes[] = {10, 100, 1000, 10000};

	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
		measure(sizes[i]);
	return 0;
}
