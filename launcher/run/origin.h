/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.h - who runs a command, where, and in what context: session, tool call, whatever
 * `--context KEY=VALUE` and SBX_CONTEXT ("KEY=VALUE,KEY=VALUE") say. The options replace what the
 * variable says of the same key.
 */
#pragma once

#include <stddef.h>

#include "audit/collector.h"
#include "base/mem.h"

struct b_err;
struct lau_options;
struct lau_secrets;

struct lau_origin {
	struct aud_origin is; /* points into the rest */
	const char *context[16];
	size_t ncontext;
	char host[256], tty[64];
	char *cwd;
	struct b_arena arena;
};

/* Secrets of the environment are taken out of the context; NULL: of nothing. B_USAGE names the
 * pair that is none. `bundle`: of aud_origin, borrowed. To be released also after a failure. */
int lau_origin_find(struct lau_origin *, const struct lau_options *, const char *bundle,
		    const struct lau_secrets *, struct b_err *err);
/* One pair more; `from` names it in the error. */
int lau_origin_add(struct lau_origin *, const char *from, const char *text, size_t len,
		   const struct lau_secrets *, struct b_err *err);
void lau_origin_release(struct lau_origin *);
