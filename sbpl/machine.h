/* machine.h - values and state of a running profile: eval.c runs the language, rules.c makes
 * filters and rules of its values. Private to sbpl/. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "sbpl/names.h"
#include "sbpl/program_priv.h"
#include "sbpl/read.h"

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
