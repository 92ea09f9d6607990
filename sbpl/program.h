/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a sandbox profile, run and asked: what would macOS answer?
 *
 *	struct sbpl_program *p;
 *	if (sbpl_program_new(&source, &p, &err) < 0) ...
 *	sbpl_program_allows(p, &(struct sbpl_question){.op = sbpl_op_find("file-read-data"),
 *			    .path = "/etc/hosts", .len = 10}, NULL)
 *	sbpl_program_free(p);
 *
 * The language: what real profiles use of it. version, allow, deny, debug, trace, import (of our
 * own groups only: "sbx-NAME.sb"), define of values and functions, let, let*, begin, if, cond,
 * and, or, not, defined?, param, string-append, equal?, eq?, string=?, quote; every filter of
 * sbpl/ops.c. Filters that speak of no path are checked for form and never match.
 *
 * Two readings of precedence. SPECIFIC, the one measured: an operation asks the rules that name
 * exactly it (the last filtered one that matches, else the last unfiltered one), then its
 * parent's. TEXTUAL: the last rule in the text that matches, of the operation or any parent. The
 * profiles that sbpl/ emits give one answer under both, so that it does not matter which a
 * release follows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sbpl/ops.h"

struct b_err;
struct sbpl_program;

struct sbpl_param {
	const char *name, *value;
};

struct sbpl_source {
	const char *name; /* in errors */
	const char *text;
	size_t len;
	const struct sbpl_param *params;
	size_t nparams;
};

#define SBPL_MAX_RULES 4000	   /* allow and deny forms; about 17,000 crash sandbox-exec */
#define SBPL_MAX_STEPS (1u << 19)  /* evaluations */
#define SBPL_MAX_BYTES (64u << 20) /* of strings and expressions made while it runs */

int sbpl_program_new(const struct sbpl_source *, struct sbpl_program **out, struct b_err *err);
void sbpl_program_free(struct sbpl_program *);

enum sbpl_model { SBPL_MODEL_SPECIFIC, SBPL_MODEL_TEXTUAL };

struct sbpl_question {
	int op;
	const char *path; /* canonical, as the kernel spells it */
	size_t len;
	enum sbpl_vnode vnode; /* of the object: some filters ask */
	enum sbpl_model model;
};

/* *out_line (may be NULL): where the deciding rule stands, 0 = none decided. Not thread-safe for
 * one program: matching works in the program's own scratch. */
bool sbpl_program_allows(struct sbpl_program *, const struct sbpl_question *, unsigned *out_line);
/* allow and deny forms. */
size_t sbpl_program_rules(const struct sbpl_program *);
