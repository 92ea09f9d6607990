/* program_priv.h - the rules of a program: filled by eval.c, asked by match.c. */
#pragma once

#include "base/mem.h"
#include "sbpl/program.h"
#include "sbpl/regex.h"

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
