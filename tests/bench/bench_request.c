/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmark of one request's judgement, as the relay makes it: the head is read, its target brought
 * to one spelling, the rules of the endpoint found and asked. One JSON line a number of endpoints,
 * the best of some rounds. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "core/connect.h"
#include "core/request.h"
#include "core/target.h"
#include "egress/http_head.h"
#include "policy/engine.h"

#define TURNS 2000

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench_request: %s\n", what);
	exit(1);
}

static struct pol_engine *engine_of(unsigned endpoints, char *dir)
{
	const char *ws = dir, *file = "p.yaml";
	const struct pol_request rq = {.policies = &file,
				       .npolicies = 1,
				       .workspaces = &ws,
				       .nworkspaces = 1,
				       .managed = "/nonexistent",
				       .with_endpoints = true};
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_engine *e = NULL;
	struct b_err err;
	FILE *f;

	b_str_add(&text, "schemaVersion: 2\nkind: Policy\nmetadata: {name: n}\nspec:\n"
			 "  fsProfiles:\n    dev:\n      read: [\"**\"]\n      connect:\n");
	for (unsigned i = 0; i < endpoints; i++)
		b_str_addf(&text,
			   "        - {to: \"h%u.example.org:443\", http: [GET /repos/**, "
			   "POST /repos/*/issues, PUT /x/*, \"!* /repos/*/admin/**\"]}\n",
			   i);
	f = fopen(file, "we");
	if (!f || fwrite(text.s, 1, text.len, f) != text.len || fclose(f) != 0)
		die("p.yaml");
	if (pol_engine_new(&rq, &e, &err) < 0)
		die(err.msg);
	return e;
}

static bool judge(const struct sbx_image *img, const struct sbx_requests *rules, const char *in,
		  size_t n)
{
	static const struct sbx_programs none;
	struct egr_http_head head;
	struct sbx_target t;
	struct sbx_request_answer a;
	uint32_t sets[SBX_LAYERS_MAX];
	char room[256];
	size_t seen = 0;

	if (egr_http_request(in, n, &seen, &head) != EGR_HTTP_GO ||
	    sbx_target_read(head.target.s, head.target.n, 0, &t) != SBX_TARGET_OK ||
	    sbx_connect_sets(img, &head.host, 443, &none, sets) != 1)
		die("the request is not judged");
	return sbx_request_judge(rules, sets[0],
				 &(struct sbx_request){head.method.s, head.method.n, t.path, t.len,
						       t.query, t.query_len},
				 room, &a);
}

static void measure(unsigned endpoints, char *dir)
{
	struct pol_engine *e = engine_of(endpoints, dir);
	struct sbx_requests rules;
	double best = 1e18;
	char in[512];
	int n = snprintf(in, sizeof in,
			 "GET /repos/some/project/issues?state=open&page=2 HTTP/1.1\r\n"
			 "Host: h%u.example.org\r\nUser-Agent: bench/1.0\r\nAccept: */*\r\n"
			 "Accept-Encoding: gzip\r\nAuthorization: Bearer 0123456789abcdef\r\n"
			 "X-Request-Id: 0123456789\r\nCache-Control: no-cache\r\n"
			 "Connection: keep-alive\r\n\r\n",
			 endpoints - 1);

	sbx_requests_of(&e->image, &rules);
	for (int round = 0; round < 50; round++) {
		double start = now_ns(), took;

		for (int i = 0; i < TURNS; i++)
			if (!judge(&e->image, &rules, in, (size_t)n))
				die("the request is refused");
		took = (now_ns() - start) / TURNS;
		best = took < best ? took : best;
	}
	printf("{\"name\":\"request judgement\",\"endpoints\":%u,\"ns\":%.1f}\n", endpoints, best);
	pol_engine_free(e);
}

int main(void)
{
	static const unsigned sizes[] = {1, 64, 512};
	char dir[] = "/tmp/sbx-bench-request.XXXXXX";

	if (!mkdtemp(dir) || chdir(dir) < 0)
		die(dir);
	setenv("HOME", dir, 1);
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
		measure(sizes[i], dir);
	(void)unlink("p.yaml");
	(void)rmdir(dir);
	return 0;
}
