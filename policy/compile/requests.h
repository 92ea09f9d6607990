/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.h - rules on requests of HTTP: what a document says of one endpoint, and what
 * core/request.h judges by. Within an endpoint the last rule that matches wins.
 *
 *	struct pol_requests all = {0};
 *	struct sbx_requests view;
 *	uint32_t set;
 *
 *	pol_requests_add(&all, &endpoint, &set, &err);
 *	pol_requests_view(&all, &view);			borrowed until something is added
 *	sbx_request_judge(&view, set, ...);
 *	pol_requests_release(&all);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/request.h"
#include "policy/compile/text_glob.h"

struct b_arena;
struct b_err;
struct b_sha256;
struct b_str;

/* A key of the query, and patterns one of which its values meet. */
struct pol_http_param {
	const char *key;
	const char *const *glob;
	size_t nglobs;
};

struct pol_http_rule {
	bool allow;
	const char *method; /* NULL: all */
	const char *path;   /* a pattern (POL_GLOB_PATH); NULL: all */
	const struct pol_http_param *param;
	size_t nparams;
	enum pol_glob_text query;     /* of which kind the patterns of params are */
	const char *matched, *origin; /* as in struct pol_rule */
};

/* The properties of an endpoint whose requests are judged. */
struct pol_http_rules {
	struct pol_http_rule *v;
	size_t n, cap;
	const char *name;   /* of the network policy it is of; NULL: it has none */
	bool is_audit;	    /* what no rule allows is recorded, and passes */
	bool keeps_slashes; /* a path may have "%2F" */
	bool no_tls;	    /* what is encrypted is not opened, and so refused */
};

/* `access` of OpenShell, and ours. */
enum pol_access { POL_ACCESS_READ_ONLY, POL_ACCESS_READ_WRITE, POL_ACCESS_FULL };
#define POL_ACCESS_WORDS                                                                           \
	{                                                                                          \
		"read-only", "read-write", "full"                                                  \
	}

/* Appends in the arena; strings are borrowed. `origin` is every such rule's. */
void pol_http_rules_add(struct b_arena *, struct pol_http_rules *, const struct pol_http_rule *);
void pol_http_rules_access(struct b_arena *, struct pol_http_rules *, enum pol_access,
			   const char *origin);
/* A copy with all its texts, in the arena. */
const struct pol_http_rules *pol_http_rules_copy(struct b_arena *, const struct pol_http_rules *);
/* All that an image needs to know, for the key of a cache; NULL = none. */
void pol_http_rules_hash(struct b_sha256 *, const struct pol_http_rules *);
/* "GET /repos/x?tag=foo-*", as events show a rule; `*` and `**` for all. Appends. */
void pol_http_rule_text(const struct pol_http_rule *, struct b_str *out);

struct pol_requests {
	struct sbx_request_set *set;
	struct sbx_request_rule *rule;
	struct sbx_request_param *param;
	struct sbx_request_glob *glob;
	char *text;
	size_t nsets, nrules, nparams, nglobs, ntext;
	size_t sets_cap, rules_cap, params_cap, globs_cap, text_cap;
	struct pol_globs globs;
};

/* Compiles the rules of one endpoint; its number is *out_set. B_POLICY, without a place in front.
 */
int pol_requests_add(struct pol_requests *, const struct pol_http_rules *, uint32_t *out_set,
		     struct b_err *err);
void pol_requests_view(const struct pol_requests *, struct sbx_requests *out);
void pol_requests_release(struct pol_requests *);
