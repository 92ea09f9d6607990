/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle.h - a policy in one file: its documents as they were, the options beside them, and the
 * automata compiled from both. `sbx-policy compile` makes it, `sbx-launch --image` runs it.
 *
 *	struct pol_bundle *b;
 *	if (pol_bundle_read("p.image", &b, &err) < 0) ...
 *	rq.bundle = b;				in place of policies and profile
 *	pol_engine_new(&rq, &e, &err);
 *	pol_bundle_free(b);
 *
 * The automata are used when the run has the very rules they were made of (the same workspace and
 * directories); else the rules are compiled as always. They never decide what else is in force.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "policy/compile/ruleset.h"
#include "policy/document/settings.h"

struct b_err;
struct b_str;
struct pol_cli_rule;
struct pol_doc;
struct pol_engine;
struct pol_request;
struct pol_ruleset;

#define POL_BUNDLE_MAX (256u << 20) /* bytes of a file */

struct pol_bundle_text {
	const char *name, *text;
	size_t len;
};

struct pol_bundle {
	struct b_arena arena;
	const char *profile; /* NULL: the only one */
	enum pol_dialect dialect;
	struct pol_said said;
	struct pol_cli_rule *rules;
	size_t nrules;
	struct pol_bundle_text *docs; /* none: the built-in default */
	size_t ndocs;
	char key[B_SHA256_HEX]; /* of the rules, pol_imgcache_rules_key(); "" = no automata */
	const void *image;	/* 8-aligned */
	size_t image_size;
};

/* The request that the engine was made of, and its automata (NULL: without any). The files are read
 * again: B_POLICY. */
int pol_bundle_write(const struct pol_request *, struct pol_engine *, struct b_str *out,
		     struct b_err *err);
/* B_POLICY, B_FORMAT: not a regular file of root's or ours that nobody else may write, another
 * version, a wrong checksum, damaged. All is checked before anything is used. */
int pol_bundle_read(const char *path, struct pol_bundle **out, struct b_err *err);
int pol_bundle_parse(const char *name, const void *data, size_t size, struct pol_bundle **out,
		     struct b_err *err);
/* What a file is made of by what is behind its header. */
void pol_bundle_seal(const void *body, size_t n, struct b_str *out);
void pol_bundle_free(struct pol_bundle *);

/* As pol_documents_load(), from the texts inside. */
int pol_bundle_documents(const struct pol_bundle *, struct pol_doc *out, const char **out_name,
			 struct b_err *err);
