/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - the only code that decides on requests of HTTP: method, path and query against the
 * rules of an endpoint. One ordered list, the last rule that matches wins; no rule, no request.
 * No allocation, no library, no system call. Everything here is [AS-safe] [MT-safe] [no-alloc].
 *
 *	struct sbx_request req = {"GET", 3, t.path, t.len, t.query, t.query_len};
 *	struct sbx_request_answer a;
 *
 *	if (!sbx_request_judge(&rules, set, &req, room, &a))
 *		... refused by a.rule (-1: no rule), a.why ...
 *
 * A rule on GET is one on HEAD as well. A rule may name keys of a query. A rule that allows
 * matches if each key is there and every value matches; for a rule that denies one value of each
 * suffices. Other keys are free.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/image.h"
#include "core/text_glob.h"

/* Rules, flat as an image has them (image.h), wherever they lie. */
struct sbx_requests {
	const struct sbx_request_set *set;
	const struct sbx_request_rule *rule;
	const struct sbx_request_param *param;
	const struct sbx_request_glob *glob;
	const struct sbx_glob_range *range;
	const uint32_t *op;
	const char *text;
	uint32_t nsets, nrules, nparams, nglobs, nranges, nops, ntext;
};

/* Those of an image that was opened; indices are not looked at yet. */
void sbx_requests_of(const struct sbx_image *, struct sbx_requests *out);
/* Does every index lie where it may? For what was not made in this process. */
bool sbx_requests_check(const struct sbx_requests *);

/* Path and query as sbx_target_read() has them. */
struct sbx_request {
	const char *method;
	size_t method_len;
	const char *path;
	size_t path_len;
	const char *query;
	size_t query_len;
};

#define SBX_REQUEST_WHYS(X)                                                                        \
	X(RULE, "a rule")                                                                          \
	X(NO_RULE, "no rule")                                                                      \
	X(QUERY, "a query that cannot be read") /* by a rule on queries: it never passes */

enum sbx_request_why {
#define X(name, text) SBX_REQUEST_##name,
	SBX_REQUEST_WHYS(X)
#undef X
		SBX_REQUEST_WHY_COUNT
};
const char *sbx_request_why_text(enum sbx_request_why);

struct sbx_request_answer {
	bool allowed; /* by the rules */
	bool passes;  /* goes on: allowed, or not enforced (SBX_REQUEST_AUDIT) */
	int rule;     /* in `rule`; -1: none */
	enum sbx_request_why why;
};

/* `set` is below nsets. `room`: query_len bytes, written to. Returns out->passes. */
bool sbx_request_judge(const struct sbx_requests *, uint32_t set, const struct sbx_request *,
		       char *room, struct sbx_request_answer *out);
