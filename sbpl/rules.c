/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - the rules of a profile: made of evaluated arguments with sandbox-exec's
 * objections, and matched against an operation. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "sbpl/machine.h"

/* Filters and rules out of evaluated arguments, with sandbox-exec's objections. */

static struct sbpl_filter *new_filter(struct sbpl_machine *m, enum sbpl_filter_kind kind)
{
	struct sbpl_filter *f = b_arena_alloc(&m->p->arena, sizeof *f);

	f->kind = kind;
	f->weight = 1;
	f->nest = 1;
	return f;
}

static const char *kind_name(const struct sbpl_value *v)
{
	static const char *const names[] = {
		[SBPL_VAL_NONE] = "nothing",	  [SBPL_VAL_BOOL] = "boolean",
		[SBPL_VAL_NUMBER] = "number",	  [SBPL_VAL_STRING] = "string",
		[SBPL_VAL_WORD] = "symbol",	  [SBPL_VAL_OP] = "operation",
		[SBPL_VAL_FILTER] = "filter",	  [SBPL_VAL_MODIFIER] = "modifier",
		[SBPL_VAL_CLOSURE] = "procedure",
	};

	return names[v->kind];
}

static int path_filter(struct sbpl_machine *m, const struct sbpl_node *at,
		       const struct sbpl_value *arg, struct sbpl_filter *f)
{
	if (arg->kind != SBPL_VAL_STRING)
		return sbpl_complain(m, at, B_FORMAT,
				     "invalid data type of path filter; expected pattern, got %s",
				     kind_name(arg));
	if (f->kind == SBPL_F_REGEX) {
		f->regex = sbpl_regex_new(&m->p->arena, arg->s, arg->len, m->err);
		if (!f->regex)
			return b_wrap(m->err, "%s:%u:%u", m->source->name, at->line, at->col);
		return sbpl_charge(m, at, sbpl_regex_size(f->regex));
	}
	f->s = arg->s;
	f->len = arg->len;
	return 0;
}

static int vnode_filter(struct sbpl_machine *m, const struct sbpl_node *at,
			const struct sbpl_value *arg, struct sbpl_filter *f)
{
	f->vnode = arg->kind == SBPL_VAL_WORD ? sbpl_vnode_find(arg->s) : SBPL_V_ANY;
	if (f->vnode == SBPL_V_ANY)
		return sbpl_complain(m, at, B_FORMAT, "vnode-type: not a type of vnode");
	return 0;
}

static int strings_filter(struct sbpl_machine *m, const struct sbpl_node *at,
			  const struct sbpl_value *arg)
{
	if (arg->kind != SBPL_VAL_STRING)
		return sbpl_complain(m, at, B_FORMAT, "expected a string, got %s", kind_name(arg));
	return 0;
}

static int values_filter(struct sbpl_machine *m, const struct sbpl_node *at,
			 const struct sbpl_value *arg)
{
	if (arg->kind != SBPL_VAL_NUMBER && arg->kind != SBPL_VAL_WORD)
		return sbpl_complain(m, at, B_FORMAT, "expected a number or symbol, got %s",
				     kind_name(arg));
	return 0;
}

/* "host:port" of local and remote: only these hosts exist for the kernel. */
static int check_address(struct sbpl_machine *m, const struct sbpl_node *at, const char *s)
{
	const char *colon = strrchr(s, ':');
	unsigned long long port;

	if (!colon)
		return sbpl_complain(m, at, B_FORMAT, "network address without a port");
	if (!(colon - s == 1 && s[0] == '*') && !(colon - s == 9 && memcmp(s, "localhost", 9) == 0))
		return sbpl_complain(m, at, B_FORMAT,
				     "host must be * or localhost in network address");
	if (strcmp(colon + 1, "*") == 0)
		return 0;
	if (b_parse_u64(colon + 1, 65535, &port) < 0 || port == 0)
		return sbpl_complain(m, at, B_FORMAT, "port %s is an invalid port", colon + 1);
	return 0;
}

static int address_filter(struct sbpl_machine *m, const struct sbpl_node *at,
			  const struct sbpl_value *args, size_t n)
{
	if (n == 0 || args[0].kind != SBPL_VAL_WORD)
		return sbpl_complain(m, at, B_FORMAT, "expected a protocol");
	if (strcmp(args[0].s, "unix-socket") == 0) {
		if (n > 2 || (n == 2 && args[1].kind != SBPL_VAL_FILTER))
			return sbpl_complain(m, at, B_FORMAT, "unix-socket takes a path filter");
		return 0;
	}
	for (size_t i = 1; i < n; i++) {
		if (args[i].kind != SBPL_VAL_STRING)
			return sbpl_complain(m, at, B_FORMAT, "expected \"host:port\"");
		if (check_address(m, at, args[i].s) < 0)
			return -1;
	}
	return 0;
}

/* require-*, and several arguments of one filter: f over the filters in v. */
static int join(struct sbpl_machine *m, const struct sbpl_node *at, struct sbpl_filter *f)
{
	for (size_t i = 0; i < f->n; i++) {
		f->weight += f->v[i]->weight;
		if (f->v[i]->nest >= f->nest)
			f->nest = f->v[i]->nest + 1;
	}
	if (f->weight > SBPL_MAX_WEIGHT || f->nest > SBPL_MAX_NEST)
		return sbpl_complain(m, at, B_LIMIT, "a filter of too many filters");
	return 0;
}

static int require(struct sbpl_machine *m, const struct sbpl_node *at, struct sbpl_filter *f,
		   const struct sbpl_value *args, size_t n)
{
	if (n == 0 || (f->kind == SBPL_F_NOT && n != 1))
		return sbpl_complain(m, at, B_FORMAT, "wrong number of filters");
	f->v = b_arena_alloc(&m->p->arena, n * sizeof(*f->v));
	for (size_t i = 0; i < n; i++) {
		if (args[i].kind != SBPL_VAL_FILTER)
			return sbpl_complain(m, at, B_FORMAT, "expected a filter, got %s",
					     kind_name(&args[i]));
		f->v[f->n++] = args[i].filter;
	}
	return join(m, at, f);
}

static int one_argument(struct sbpl_machine *m, const struct sbpl_node *at,
			const struct sbpl_value *arg, struct sbpl_filter *f)
{
	switch (f->kind) {
	case SBPL_F_LITERAL:
	case SBPL_F_SUBPATH:
	case SBPL_F_PREFIX:
	case SBPL_F_REGEX:
		return path_filter(m, at, arg, f);
	case SBPL_F_VNODE:
		return vnode_filter(m, at, arg, f);
	case SBPL_F_STRINGS:
		return strings_filter(m, at, arg);
	case SBPL_F_VALUES:
		return values_filter(m, at, arg);
	case SBPL_F_ALL:
	case SBPL_F_ANY:
	case SBPL_F_NOT:
	case SBPL_F_ADDRESS:
	case SBPL_F_NONE:
		break;
	}
	return sbpl_complain(m, at, B_FORMAT, "not a filter");
}

/* One filter an argument, any of them: (literal "a" "b"). */
static int spread(struct sbpl_machine *m, const struct sbpl_node *at, enum sbpl_filter_kind kind,
		  const struct sbpl_value *args, size_t n, struct sbpl_filter **out)
{
	struct sbpl_filter *any = new_filter(m, SBPL_F_ANY);

	if (n == 0)
		return sbpl_complain(m, at, B_FORMAT, "a filter of nothing");
	any->v = b_arena_alloc(&m->p->arena, n * sizeof(*any->v));
	for (size_t i = 0; i < n; i++) {
		struct sbpl_filter *f = new_filter(m, kind);

		if (one_argument(m, at, &args[i], f) < 0)
			return -1;
		any->v[any->n++] = f;
	}
	*out = n == 1 ? any->v[0] : any;
	return n == 1 ? 0 : join(m, at, any);
}

int sbpl_make_filter(struct sbpl_machine *m, const struct sbpl_node *at, const char *name,
		     const struct sbpl_value *args, size_t n, struct sbpl_value *out)
{
	enum sbpl_filter_kind kind = sbpl_filter_find(name);
	struct sbpl_filter *f = new_filter(m, kind);
	int rc;

	if (kind == SBPL_F_ALL || kind == SBPL_F_ANY || kind == SBPL_F_NOT)
		rc = require(m, at, f, args, n);
	else if (kind == SBPL_F_ADDRESS)
		rc = address_filter(m, at, args, n);
	else
		rc = spread(m, at, kind, args, n, &f);
	if (rc == 0)
		*out = (struct sbpl_value){.kind = SBPL_VAL_FILTER, .filter = f};
	return rc;
}

int sbpl_add_rule(struct sbpl_machine *m, const struct sbpl_node *at, bool allow,
		  const struct sbpl_value *args, size_t n)
{
	struct sbpl_filter **filters = b_arena_alloc(&m->p->arena, (n + 1) * sizeof(*filters));
	struct sbpl_rule r = {.allow = allow, .line = at->line, .filters = filters};
	size_t nops = 0;

	for (size_t i = 0; i < n; i++) {
		nops += args[i].kind == SBPL_VAL_OP;
		if (args[i].kind == SBPL_VAL_FILTER)
			filters[r.n++] = args[i].filter;
		else if (args[i].kind != SBPL_VAL_OP && args[i].kind != SBPL_VAL_MODIFIER)
			return sbpl_complain(m, at, B_FORMAT,
					     "expected operations, filters and modifiers, got %s",
					     kind_name(&args[i]));
	}
	if (nops == 0)
		return sbpl_complain(m, at, B_FORMAT, "a rule about no operation");
	if (++m->p->nrules > SBPL_MAX_RULES)
		return sbpl_complain(m, at, B_LIMIT, "more than %d rules", SBPL_MAX_RULES);
	r.order = ++m->order;
	for (size_t i = 0; i < n; i++) {
		struct sbpl_op_rules *op;

		if (args[i].kind != SBPL_VAL_OP)
			continue;
		op = &m->p->op[args[i].num];
		if (r.n == 0) {
			op->unfiltered = r;
			continue;
		}
		b_grow(op->v, op->n, op->cap);
		op->v[op->n++] = r;
	}
	return 0;
}

/* ---- matching ---- */

struct subject {
	struct sbpl_program *p;
	const struct sbpl_question *q;
	struct sbpl_subject text;
};

static bool subpath_matches(const struct sbpl_filter *f, const char *path, size_t len)
{
	if (f->len == 1 && f->s[0] == '/')
		return len > 0 && path[0] == '/';
	return len >= f->len && (len == f->len || path[f->len] == '/') &&
	       memcmp(path, f->s, f->len) == 0;
}

/* As deep as filters nest: SBPL_MAX_NEST at most. */
static bool matches(const struct subject *s, const struct sbpl_filter *f)
{
	const char *path = s->q->path;
	size_t len = s->q->len;

	switch (f->kind) {
	case SBPL_F_LITERAL:
		return len == f->len && memcmp(path, f->s, len) == 0;
	case SBPL_F_SUBPATH:
		return subpath_matches(f, path, len);
	case SBPL_F_PREFIX:
		return len >= f->len && memcmp(path, f->s, f->len) == 0;
	case SBPL_F_REGEX:
		return sbpl_regex_match(f->regex, s->p->scratch, &s->text);
	case SBPL_F_VNODE:
		return s->q->vnode != SBPL_V_ANY && s->q->vnode == f->vnode;
	case SBPL_F_ALL:
		for (size_t i = 0; i < f->n; i++)
			if (!matches(s, f->v[i]))
				return false;
		return true;
	case SBPL_F_ANY:
		for (size_t i = 0; i < f->n; i++)
			if (matches(s, f->v[i]))
				return true;
		return false;
	case SBPL_F_NOT:
		return !matches(s, f->v[0]);
	case SBPL_F_ADDRESS:
	case SBPL_F_STRINGS:
	case SBPL_F_VALUES:
	case SBPL_F_NONE:
		break;
	}
	return false;
}

/* The last filtered rule of `op` behind `order` that matches. */
static const struct sbpl_rule *last_match(const struct subject *s, int op, unsigned order)
{
	const struct sbpl_op_rules *rules = &s->p->op[op];

	for (size_t i = rules->n; i-- > 0 && rules->v[i].order > order;)
		for (size_t k = 0; k < rules->v[i].n; k++)
			if (matches(s, rules->v[i].filters[k]))
				return &rules->v[i];
	return NULL;
}

static const struct sbpl_rule *decide_specific(const struct subject *s)
{
	for (int op = s->q->op; op != SBPL_OP_NONE; op = sbpl_op_parent(op)) {
		const struct sbpl_rule *r = last_match(s, op, 0);

		if (!r && s->p->op[op].unfiltered.order)
			r = &s->p->op[op].unfiltered;
		if (r)
			return r;
	}
	return NULL;
}

static const struct sbpl_rule *decide_textual(const struct subject *s)
{
	const struct sbpl_rule *best = NULL;

	for (int op = s->q->op; op != SBPL_OP_NONE; op = sbpl_op_parent(op)) {
		const struct sbpl_rule *u = &s->p->op[op].unfiltered, *r;

		if (u->order > (best ? best->order : 0))
			best = u;
		r = last_match(s, op, best ? best->order : 0);
		if (r)
			best = r;
	}
	return best;
}

/* A rule on `default` alone does not close what version 1 leaves open. */
static bool is_default_rule(const struct sbpl_program *p, const struct sbpl_rule *r)
{
	const struct sbpl_op_rules *d = &p->op[0];

	return r == &d->unfiltered || (d->n && r >= d->v && r < d->v + d->n);
}

static void fold_path(struct sbpl_program *p, const char *path, size_t len)
{
	if (p->lower_cap <= len) {
		p->lower_cap = len + 256;
		p->lower = b_realloc(p->lower, p->lower_cap, 1);
	}
	for (size_t i = 0; i < len; i++)
		p->lower[i] = (char)(path[i] >= 'A' && path[i] <= 'Z' ? path[i] + 32 : path[i]);
}

bool sbpl_program_allows(struct sbpl_program *p, const struct sbpl_question *q, unsigned *out_line)
{
	struct subject s = {.p = p, .q = q};
	const struct sbpl_rule *r;

	fold_path(p, q->path, q->len);
	sbpl_subject_init(&s.text, q->path, p->lower, q->len);
	r = q->model == SBPL_MODEL_SPECIFIC ? decide_specific(&s) : decide_textual(&s);
	if (r && sbpl_op_is_open(q->op) && is_default_rule(p, r))
		r = NULL;
	if (out_line)
		*out_line = r ? r->line : 0;
	/* Without any rule: version 1 denies what it does not leave open. */
	return r ? r->allow : sbpl_op_is_open(q->op);
}

size_t sbpl_program_rules(const struct sbpl_program *p)
{
	return p->nrules;
}

void sbpl_program_free(struct sbpl_program *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < sbpl_op_count(); i++)
		free(p->op[i].v);
	sbpl_scratch_free(p->scratch);
	free(p->lower);
	b_arena_release(&p->arena);
	free(p);
}
