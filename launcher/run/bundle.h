/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle.h - --require-bundle: the signed managed policies of a run. sbx-bundle verifies them, a
 * program of its own, so that the launcher has no part in cryptography and needs no library for it.
 *
 *	struct lau_bundle b = {0};
 *	if (lau_bundle_take(file, NULL, &b, &err) < 0) ...	(no valid one: nothing runs)
 *	rq.signed_texts = b.texts, rq.nsigned_texts = b.n;
 *	lau_bundle_release(&b);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit/rundir.h"
#include "policy/document/request.h"

struct b_err;
struct json_t;

struct lau_bundle {
	struct json_t *all; /* NULL: none was asked for; texts are borrowed from it */
	struct aud_bundle is;
	char *text; /* name, version and digest, for the log; NULL = none */
	char *note; /* the file was refused, and why; NULL = it is in force itself */
	struct pol_signed_text texts[POL_SIGNED_MAX];
	size_t n;
};

/* `file` NULL: none is asked for; `key` NULL: POL_BUNDLE_KEY. B_POLICY, with the reason, when
 * neither the file nor the last good one is valid. */
int lau_bundle_take(const char *file, const char *key, struct lau_bundle *out, struct b_err *err);
void lau_bundle_release(struct lau_bundle *);
