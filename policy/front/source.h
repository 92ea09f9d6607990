/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - YAML as it is written: a tree that knows the spelling of its scalars, its anchors, and
 * the comments between. For what writes a document back; what a document means is tree.h's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct b_err;

enum pol_ysource_kind { POL_YS_SCALAR, POL_YS_BLOCK, POL_YS_ALIAS, POL_YS_SEQ, POL_YS_MAP };

struct pol_ysource {
	enum pol_ysource_kind kind;
	bool is_flow;
	const char *props; /* "&name !!str", NULL = none */
	const char *text;  /* scalars: one line that means the same; BLOCK: its lines, "|" first */
	size_t at;	   /* byte of the text, and where that is, from 0 */
	unsigned line, col;
	struct pol_ysource **v; /* SEQ: items; MAP: key, value, key, value ... */
	size_t n;		/* SEQ: items; MAP: twice the pairs */
};

struct pol_ycomment {
	size_t at;
	unsigned line, col;
	const char *text; /* with its `#` */
	bool is_trailing; /* another token is before it on the line */
};

struct pol_ysource_doc {
	struct b_arena arena;
	struct pol_ysource *root;
	struct pol_ycomment *comments; /* in order */
	size_t ncomments;
	bool *is_blank; /* by line, from 0 */
	bool has_start; /* begins with "---", at: */
	size_t start_at;
};

/* The text has passed pol_yaml_parse(). */
int pol_ysource_parse(const char *name, const char *text, size_t len, struct pol_ysource_doc *out,
		      struct b_err *err);
void pol_ysource_release(struct pol_ysource_doc *);
