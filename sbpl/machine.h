/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the rules of a program: filled by eval.c, asked by rules.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "sbpl/emit.h"
#include "sbpl/program.h"
#include "sbpl/regex.h"

struct b_err;

#define SBPL_MAX_WEIGHT (1u << 16) /* filters in one filter: bounds the time of a match */
#define SBPL_MAX_NEST	64	   /* filters in filters: bounds the stack of a match */

struct sbpl_filter {
	enum sbpl_filter_kind kind;
	const char *s; /* LITERAL, SUBPATH, PREFIX */
	size_t len;
	struct sbpl_regex *regex;
	enum sbpl_vnode vnode;
	struct sbpl_filter **v; /* ALL, ANY, NOT */
	size_t n;
	size_t weight;
	unsigned nest;
};

struct sbpl_rule {
	bool allow;
	unsigned order, line;
	struct sbpl_filter *const *filters; /* any of them; none = unfiltered */
	size_t n;
};

struct sbpl_op_rules {
	struct sbpl_rule *v; /* the filtered ones, in order */
	size_t n, cap;
	struct sbpl_rule unfiltered; /* the last one; order 0 = none */
};

struct sbpl_program {
	struct b_arena arena;
	struct sbpl_op_rules *op; /* sbpl_op_count() of them */
	size_t nrules;
	struct sbpl_scratch *scratch;
	char *lower; /* the path asked about, folded */
	size_t lower_cap;
};

/*
 * The reader of sandbox profiles: text to a tree, nothing evaluated.
 *
 *	struct b_arena a = {0};
 *	struct sbpl_node *root;
 *	if (sbpl_read(&a, "x.sb", text, len, &root, &err) < 0) ...
 *	root->kind == SBPL_LIST, its elements are the forms of the file
 *
 * Symbols, numbers, `#t` `#f`, strings ("..." with \\ \" \n \t \r \xHH and octal escapes; #"..."
 * raw, where only \" escapes), lists, 'quote, ; comments. Depth, size and string length are
 * limited; no recursion. Errors name file:line:col.
 */

#define SBPL_MAX_TEXT	(4u << 20)
#define SBPL_MAX_NODES	(1u << 20)
#define SBPL_MAX_DEPTH	64
#define SBPL_MAX_STRING 1024 /* sandbox-exec stops with "Error reading string" past it */

enum sbpl_kind { SBPL_LIST, SBPL_SYMBOL, SBPL_STRING, SBPL_NUMBER, SBPL_BOOL };

struct sbpl_node {
	enum sbpl_kind kind;
	unsigned line, col;
	const char *s; /* SYMBOL, STRING: NUL-terminated */
	size_t len;
	long num;	      /* NUMBER; BOOL: 0 or 1 */
	struct sbpl_node **v; /* LIST */
	size_t n, cap;
};

/* The tree lives in the arena. -1 with B_FORMAT or B_LIMIT. `name` is borrowed for errors only. */
int sbpl_read(struct b_arena *, const char *name, const char *text, size_t len,
	      struct sbpl_node **out_root, struct b_err *err);

/* Values and state of a running profile: eval.c runs the language, rules.c makes
 * filters and rules of its values. Private to sbpl/. */

enum sbpl_vkind {
	SBPL_VAL_NONE, /* what allow, define ... give */
	SBPL_VAL_BOOL,
	SBPL_VAL_NUMBER,
	SBPL_VAL_STRING,
	SBPL_VAL_WORD,	   /* ip, self, DIRECTORY, quoted names */
	SBPL_VAL_OP,	   /* num: the operation */
	SBPL_VAL_FILTER,   /* filter */
	SBPL_VAL_MODIFIER, /* (with ...) */
	SBPL_VAL_CLOSURE   /* node: (define (name args) body...), scope */
};

struct sbpl_value {
	enum sbpl_vkind kind;
	long num;
	const char *s;
	size_t len;
	struct sbpl_filter *filter;
	const struct sbpl_node *node;
	struct sbpl_scope *scope;
};

struct sbpl_binding {
	const char *name;
	struct sbpl_value value;
	struct sbpl_binding *next;
};

struct sbpl_scope {
	struct sbpl_binding *names;
	struct sbpl_scope *up;
};

struct sbpl_machine {
	struct sbpl_program *p;
	const struct sbpl_source *source;
	struct sbpl_scope globals;
	struct sbpl_names ops, params;
	unsigned depth, imports;
	size_t steps, bytes;
	unsigned order;
	struct b_err *err;
};

/* Fails with file:line:col in front. */
int sbpl_complain(struct sbpl_machine *, const struct sbpl_node *at, enum b_kind, const char *fmt,
		  ...) __attribute__((format(printf, 4, 5)));

/* Counts memory that the profile makes; -1 past SBPL_MAX_BYTES. */
int sbpl_charge(struct sbpl_machine *, const struct sbpl_node *at, size_t bytes);

/* rules.c. The arguments are evaluated. */
int sbpl_make_filter(struct sbpl_machine *, const struct sbpl_node *at, const char *name,
		     const struct sbpl_value *args, size_t n, struct sbpl_value *out);
int sbpl_add_rule(struct sbpl_machine *, const struct sbpl_node *at, bool allow,
		  const struct sbpl_value *args, size_t n);
