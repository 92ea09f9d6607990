/* SPDX-License-Identifier: Apache-2.0 */
/* connect.h - answers on endpoints of the network: which rule decides, what a change opens, which
 * rules never decide. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/connect.h"
#include "policy/compile/endpoints.h"

struct b_err;
struct b_json;
struct b_str;
struct pol_engine;

struct pol_connect_answer {
	const char *asked; /* normal form of the question: "example.org:443" */
	struct sbx_host host;
	uint16_t port;
	struct sbx_connect_answer a;
	const char *matched, *origin;		    /* as in struct pol_answer */
	const struct pol_endpoint *rule, *overrode; /* NULL: none */
	bool is_own; /* it leads to the run's own loopback interface, which no rule closes */
};

/* "HOST:PORT", asked by the first of `who`, whose ancestors the others are (none: by a program that
 * no rule names). A name is judged by the rules on names: what it resolves to is judged when it is
 * connected. B_USAGE. */
int pol_connect_check(const struct pol_engine *, struct b_arena *, const char *text,
		      const struct pol_who *who, struct pol_connect_answer *out, struct b_err *err);
/* In a run that has a network namespace: an answer on a loopback address that is not the host's by
 * a rule becomes one on the run's own interface (core/connect.h, sbx_connect_is_hosts()). */
void pol_connect_inside(const struct pol_engine *, const struct pol_who *who,
			struct pol_connect_answer *);
/* The executable at a path, as a rule's `by` is compared with it. Arena. */
struct sbx_exe pol_connect_exe(struct b_arena *, const char *path);

/* As pol_explain_text(), _json(), _matches(). `all`: with every rule that matches. */
void pol_connect_text(const struct pol_engine *, const struct pol_connect_answer *,
		      const struct pol_who *who, bool all, struct b_str *out);
void pol_connect_json(const struct pol_engine *, const struct pol_connect_answer *,
		      const struct pol_who *who, bool all, struct b_str *out);

/* "example.org:443", "[2001:db8::1]:443". Arena. */
const char *pol_connect_asked(struct b_arena *, const struct sbx_host *, uint16_t port);

/* Questions that tell rules apart: hosts, ports, programs (and none). Zeroed: none yet. */
struct pol_samples {
	struct b_arena arena;
	struct sbx_host *hosts;
	size_t nhosts, hosts_cap;
	uint16_t *ports;
	size_t nports, ports_cap;
	struct sbx_exe *programs;
	size_t nprograms, programs_cap;
	const char **texts; /* of the programs, as rules have them */
	size_t texts_cap;
};
void pol_samples_add(struct pol_samples *, const struct pol_endpoints *);
size_t pol_samples_count(const struct pol_samples *);
void pol_samples_release(struct pol_samples *);

/* connect_diff.c: an endpoint for each pair of rules that decide one differently is added. A
 * difference is found where there is one, but for those of patterns inside of labels. B_LIMIT. */
struct pol_differences;
int pol_connect_differences(const struct pol_engine *before, const struct pol_engine *after,
			    struct pol_differences *out, struct b_err *err);
/* Of an endpoint that both images open: a request that they judge differently ("GET /x"), or where
 * none was found "requests", and whether the second allows it. Appends. False: their rules are the
 * same. */
bool pol_requests_differ(const struct sbx_image *const image[2], const struct sbx_host *,
			 uint16_t port, const struct sbx_programs who[2], struct b_str *out,
			 bool *out_allowed);
/* lint_connect.c: entries that never decide, or decide as others do. */
struct pol_doc;
struct pol_lint;
int pol_lint_connect(struct pol_lint *, struct pol_doc *, struct b_err *err);

/* The rules in order, for `sbx-policy show`. */
void pol_connect_show(const struct pol_engine *, struct b_str *out);
/* "host:port by /usr/bin/psql": a rule as people read it. */
void pol_connect_rule_text(const struct pol_endpoint *, struct b_str *out);
