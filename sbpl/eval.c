/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c - the language of profiles. Depth, steps and string sizes are bounded: a profile that
 * does not end, or would fill memory, is refused. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "sbpl/emit.h"
#include "sbpl/machine.h"

#define MAX_EVAL_DEPTH 128
#define MAX_STRING     (64u << 10)
#define MAX_ARGS       4096
#define MAX_IMPORTS    32

static int eval(struct sbpl_machine *, struct sbpl_scope *, const struct sbpl_node *,
		struct sbpl_value *out);

int sbpl_complain(struct sbpl_machine *m, const struct sbpl_node *at, enum b_kind kind,
		  const char *fmt, ...)
{
	char msg[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	return b_fail(m->err, kind, 0, "%s:%u:%u: %s", m->source->name, at->line, at->col, msg);
}

int sbpl_charge(struct sbpl_machine *m, const struct sbpl_node *at, size_t bytes)
{
	m->bytes += bytes;
	if (m->bytes > SBPL_MAX_BYTES)
		return sbpl_complain(m, at, B_LIMIT, "makes too much text");
	return 0;
}

static const struct sbpl_value nothing = {.kind = SBPL_VAL_NONE};

static struct sbpl_value boolean(bool b)
{
	return (struct sbpl_value){.kind = SBPL_VAL_BOOL, .num = b};
}

/* Everything but #f is true. */
static bool is_true(const struct sbpl_value *v)
{
	return v->kind != SBPL_VAL_BOOL || v->num;
}

static const struct sbpl_value *look_up(struct sbpl_scope *scope, const char *name)
{
	for (; scope; scope = scope->up)
		for (struct sbpl_binding *b = scope->names; b; b = b->next)
			if (strcmp(b->name, name) == 0)
				return &b->value;
	return NULL;
}

static void bind_name(struct sbpl_machine *m, struct sbpl_scope *scope, const char *name,
		      const struct sbpl_value *value)
{
	struct sbpl_binding *b = b_arena_alloc(&m->p->arena, sizeof *b);

	*b = (struct sbpl_binding){name, *value, scope->names};
	scope->names = b;
}

static const char *op_name(const void *ctx, size_t i)
{
	(void)ctx;
	return sbpl_op_name((int)i);
}

static const char *param_name(const void *ctx, size_t i)
{
	const struct sbpl_param *params = ctx;

	return params[i].name;
}

static int eval_symbol(struct sbpl_machine *m, struct sbpl_scope *scope,
		       const struct sbpl_node *node, struct sbpl_value *out)
{
	const struct sbpl_value *bound = look_up(scope, node->s);
	unsigned known = bound ? 0 : sbpl_names_find(&m->ops, node->s);
	int op = known ? (int)known - 1 : SBPL_OP_NONE;

	if (!bound && !known)
		op = sbpl_op_find(node->s); /* an alias */
	if (bound)
		*out = *bound;
	else if (op != SBPL_OP_NONE)
		*out = (struct sbpl_value){.kind = SBPL_VAL_OP, .num = op};
	else if (sbpl_is_word(node->s) || sbpl_vnode_find(node->s) != SBPL_V_ANY)
		*out = (struct sbpl_value){.kind = SBPL_VAL_WORD, .s = node->s, .len = node->len};
	else
		return sbpl_complain(m, node, B_FORMAT, "unbound variable: %s", node->s);
	return 0;
}

/* The forms v[from..], the value of the last. */
static int eval_body(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		     size_t from, struct sbpl_value *out)
{
	*out = nothing;
	for (size_t i = from; i < node->n; i++)
		if (eval(m, scope, node->v[i], out) < 0)
			return -1;
	return 0;
}

/* Special forms: their arguments come unevaluated. */
typedef int special_fn(struct sbpl_machine *, struct sbpl_scope *, const struct sbpl_node *,
		       struct sbpl_value *);

static int do_quote(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		    struct sbpl_value *out)
{
	(void)scope;
	if (node->n != 2 || node->v[1]->kind != SBPL_SYMBOL)
		return sbpl_complain(m, node, B_FORMAT, "only names may be quoted");
	*out = (struct sbpl_value){
		.kind = SBPL_VAL_WORD, .s = node->v[1]->s, .len = node->v[1]->len};
	return 0;
}

static int do_if(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		 struct sbpl_value *out)
{
	struct sbpl_value test;

	if (node->n != 3 && node->n != 4)
		return sbpl_complain(m, node, B_FORMAT, "if: expected a test and one or two forms");
	if (eval(m, scope, node->v[1], &test) < 0)
		return -1;
	*out = nothing;
	if (is_true(&test))
		return eval(m, scope, node->v[2], out);
	return node->n == 4 ? eval(m, scope, node->v[3], out) : 0;
}

static int do_cond(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		   struct sbpl_value *out)
{
	*out = nothing;
	for (size_t i = 1; i < node->n; i++) {
		const struct sbpl_node *c = node->v[i];
		struct sbpl_value test = boolean(true);
		bool is_else;

		if (c->kind != SBPL_LIST || c->n == 0)
			return sbpl_complain(m, c, B_FORMAT, "cond: expected (test form ...)");
		is_else = c->v[0]->kind == SBPL_SYMBOL && strcmp(c->v[0]->s, "else") == 0;
		if (!is_else && eval(m, scope, c->v[0], &test) < 0)
			return -1;
		if (is_true(&test))
			return eval_body(m, scope, c, 1, out);
	}
	return 0;
}

static int do_and(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		  struct sbpl_value *out)
{
	*out = boolean(true);
	for (size_t i = 1; i < node->n && is_true(out); i++)
		if (eval(m, scope, node->v[i], out) < 0)
			return -1;
	return 0;
}

static int do_or(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		 struct sbpl_value *out)
{
	*out = boolean(false);
	for (size_t i = 1; i < node->n && !is_true(out); i++)
		if (eval(m, scope, node->v[i], out) < 0)
			return -1;
	return 0;
}

static int do_begin(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		    struct sbpl_value *out)
{
	return eval_body(m, scope, node, 1, out);
}

static int do_define(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		     struct sbpl_value *out)
{
	const struct sbpl_node *what = node->n >= 3 ? node->v[1] : NULL;
	struct sbpl_value value;

	*out = nothing;
	if (what && what->kind == SBPL_SYMBOL && node->n == 3) {
		if (eval(m, scope, node->v[2], &value) < 0)
			return -1;
		bind_name(m, scope, what->s, &value);
		return 0;
	}
	if (!what || what->kind != SBPL_LIST || what->n == 0)
		return sbpl_complain(m, node, B_FORMAT, "define: expected a name and a value");
	for (size_t i = 0; i < what->n; i++)
		if (what->v[i]->kind != SBPL_SYMBOL)
			return sbpl_complain(m, what, B_FORMAT, "define: expected names");
	value = (struct sbpl_value){.kind = SBPL_VAL_CLOSURE, .node = node, .scope = scope};
	bind_name(m, scope, what->v[0]->s, &value);
	return 0;
}

static int do_let(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		  struct sbpl_value *out)
{
	struct sbpl_scope *inner = b_arena_alloc(&m->p->arena, sizeof *inner);
	bool in_turn = strcmp(node->v[0]->s, "let*") == 0;

	inner->up = scope;
	if (node->n < 2 || node->v[1]->kind != SBPL_LIST)
		return sbpl_complain(m, node, B_FORMAT, "let: expected ((name value) ...)");
	for (size_t i = 0; i < node->v[1]->n; i++) {
		const struct sbpl_node *pair = node->v[1]->v[i];
		struct sbpl_value value;

		if (pair->kind != SBPL_LIST || pair->n != 2 || pair->v[0]->kind != SBPL_SYMBOL)
			return sbpl_complain(m, pair, B_FORMAT, "let: expected (name value)");
		if (eval(m, in_turn ? inner : scope, pair->v[1], &value) < 0)
			return -1;
		bind_name(m, inner, pair->v[0]->s, &value);
	}
	return eval_body(m, inner, node, 2, out);
}

static int do_with(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		   struct sbpl_value *out)
{
	const struct sbpl_node *name;

	(void)scope;
	for (size_t i = 1; i < node->n; i++) {
		name = node->v[i];
		if (name->kind == SBPL_LIST && name->n > 0)
			name = name->v[0];
		/* What follows a first name may be its value: (with message "x"). */
		if (i > 1 && name->kind != SBPL_SYMBOL)
			continue;
		if (name->kind != SBPL_SYMBOL ||
		    (!sbpl_is_modifier(name->s) && !(i > 1 && sbpl_is_word(name->s))))
			return sbpl_complain(m, name, B_FORMAT, "unknown modifier");
	}
	if (node->n < 2)
		return sbpl_complain(m, node, B_FORMAT, "with: expected a modifier");
	*out = (struct sbpl_value){.kind = SBPL_VAL_MODIFIER};
	return 0;
}

static const struct {
	const char *name;
	special_fn *run;
} specials[] = {
	{"quote", do_quote}, {"if", do_if},	    {"cond", do_cond}, {"and", do_and},
	{"or", do_or},	     {"begin", do_begin},   {"let", do_let},   {"let*", do_let},
	{"with", do_with},   {"define", do_define},
};

/* Functions: their arguments come evaluated. */
struct call {
	struct sbpl_machine *m;
	struct sbpl_scope *scope;
	const struct sbpl_node *node;
	const struct sbpl_value *args;
	size_t n;
};
typedef int call_fn(const struct call *, struct sbpl_value *);

static int expect(const struct call *c, size_t n, enum sbpl_vkind kind)
{
	if (c->n != n)
		return sbpl_complain(c->m, c->node, B_FORMAT, "%s: expected %zu arguments",
				     c->node->v[0]->s, n);
	for (size_t i = 0; i < n; i++)
		if (c->args[i].kind != kind)
			return sbpl_complain(c->m, c->node, B_FORMAT,
					     "%s: argument of the wrong kind", c->node->v[0]->s);
	return 0;
}

static int call_version(const struct call *c, struct sbpl_value *out)
{
	*out = nothing;
	if (expect(c, 1, SBPL_VAL_NUMBER) < 0)
		return -1;
	if (c->args[0].num != 1)
		return sbpl_complain(c->m, c->node, B_FORMAT, "only (version 1) is known here");
	return 0;
}

static int call_allow(const struct call *c, struct sbpl_value *out)
{
	*out = nothing;
	return sbpl_add_rule(c->m, c->node, true, c->args, c->n);
}

static int call_deny(const struct call *c, struct sbpl_value *out)
{
	*out = nothing;
	return sbpl_add_rule(c->m, c->node, false, c->args, c->n);
}

static int call_trace(const struct call *c, struct sbpl_value *out)
{
	*out = nothing;
	return expect(c, 1, SBPL_VAL_STRING);
}

static int call_param(const struct call *c, struct sbpl_value *out)
{
	const struct sbpl_source *src = c->m->source;
	unsigned found;

	if (expect(c, 1, SBPL_VAL_STRING) < 0)
		return -1;
	*out = boolean(false);
	found = sbpl_names_find(&c->m->params, c->args[0].s);
	if (found)
		*out = (struct sbpl_value){.kind = SBPL_VAL_STRING,
					   .s = src->params[found - 1].value,
					   .len = strlen(src->params[found - 1].value)};
	return 0;
}

static int call_append(const struct call *c, struct sbpl_value *out)
{
	b_auto(b_str_release) struct b_str text = {0};

	for (size_t i = 0; i < c->n; i++) {
		if (c->args[i].kind != SBPL_VAL_STRING)
			return sbpl_complain(c->m, c->node, B_FORMAT,
					     "string-append: argument %zu must be: string", i + 1);
		b_str_addn(&text, c->args[i].s, c->args[i].len);
		if (text.len > MAX_STRING)
			return sbpl_complain(c->m, c->node, B_LIMIT, "a string too long");
	}
	if (sbpl_charge(c->m, c->node, text.len) < 0)
		return -1;
	*out = (struct sbpl_value){
		.kind = SBPL_VAL_STRING,
		.s = b_arena_strndup(&c->m->p->arena, b_str_c(&text), text.len),
		.len = text.len,
	};
	return 0;
}

static bool is_function(const char *name);

static int call_defined(const struct call *c, struct sbpl_value *out)
{
	const char *name;

	if (expect(c, 1, SBPL_VAL_WORD) < 0)
		return -1;
	name = c->args[0].s;
	*out = boolean(look_up(c->scope, name) || sbpl_op_find(name) != SBPL_OP_NONE ||
		       sbpl_filter_find(name) != SBPL_F_NONE || is_function(name));
	return 0;
}

static int call_not(const struct call *c, struct sbpl_value *out)
{
	if (c->n != 1)
		return sbpl_complain(c->m, c->node, B_FORMAT, "not: expected one argument");
	*out = boolean(!is_true(&c->args[0]));
	return 0;
}

static int call_equal(const struct call *c, struct sbpl_value *out)
{
	const struct sbpl_value *a = c->args, *b = c->args + 1;

	if (c->n != 2)
		return sbpl_complain(c->m, c->node, B_FORMAT, "%s: expected two arguments",
				     c->node->v[0]->s);
	*out = boolean(a->kind == b->kind && a->num == b->num && a->len == b->len &&
		       a->filter == b->filter && a->node == b->node &&
		       (a->len == 0 || memcmp(a->s, b->s, a->len) == 0));
	return 0;
}

static int run_text(struct sbpl_machine *m, const struct sbpl_source *source)
{
	const struct sbpl_source *outer = m->source;
	struct sbpl_node *root;
	struct sbpl_value value;
	int rc;

	if (sbpl_read(&m->p->arena, source->name, source->text, source->len, &root, m->err) < 0)
		return -1;
	m->source = source;
	rc = eval_body(m, &m->globals, root, 0, &value);
	m->source = outer;
	return rc;
}

/* Apple's files grant more than we can state and change by release: ours only. */
static int call_import(const struct call *c, struct sbpl_value *out)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct sbpl_source source = *c->m->source;

	*out = nothing;
	if (expect(c, 1, SBPL_VAL_STRING) < 0)
		return -1;
	if (++c->m->imports > MAX_IMPORTS)
		return sbpl_complain(c->m, c->node, B_LIMIT, "too many imports");
	if (!sbpl_group_file(c->args[0].s, &text))
		return sbpl_complain(c->m, c->node, B_FORMAT, "import: no group of ours: %s",
				     c->args[0].s);
	source.name = c->args[0].s;
	source.text = b_str_c(&text);
	source.len = text.len;
	return run_text(c->m, &source);
}

static int call_ignored(const struct call *c, struct sbpl_value *out)
{
	(void)c;
	*out = nothing;
	return 0;
}

static const struct {
	const char *name;
	call_fn *run;
} functions[] = {
	{"version", call_version},  {"allow", call_allow},
	{"deny", call_deny},	    {"trace", call_trace},
	{"debug", call_ignored},    {"import", call_import},
	{"param", call_param},	    {"string-append", call_append},
	{"getenv", call_param},	    {"not", call_not},
	{"defined?", call_defined}, {"equal?", call_equal},
	{"string=?", call_equal},   {"eq?", call_equal},
};

#define NFUNCTIONS (sizeof functions / sizeof *functions)
#define NSPECIALS  (sizeof specials / sizeof *specials)

static bool is_function(const char *name)
{
	for (size_t i = 0; i < NFUNCTIONS; i++)
		if (strcmp(functions[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < NSPECIALS; i++)
		if (strcmp(specials[i].name, name) == 0)
			return true;
	return false;
}

static int call_closure(const struct call *c, const struct sbpl_value *f, struct sbpl_value *out)
{
	const struct sbpl_node *names = f->node->v[1];
	struct sbpl_scope *scope = b_arena_alloc(&c->m->p->arena, sizeof *scope);

	if (c->n != names->n - 1)
		return sbpl_complain(c->m, c->node, B_FORMAT, "%s: expected %zu arguments",
				     names->v[0]->s, names->n - 1);
	scope->up = f->scope;
	for (size_t i = 0; i < c->n; i++)
		bind_name(c->m, scope, names->v[i + 1]->s, &c->args[i]);
	return eval_body(c->m, scope, f->node, 2, out);
}

static int apply(const struct call *c, struct sbpl_value *out)
{
	const char *name = c->node->v[0]->s;
	const struct sbpl_value *bound = look_up(c->scope, name);

	if (bound && bound->kind == SBPL_VAL_CLOSURE)
		return call_closure(c, bound, out);
	if (!bound)
		for (size_t i = 0; i < NFUNCTIONS; i++)
			if (strcmp(functions[i].name, name) == 0)
				return functions[i].run(c, out);
	if (!bound && sbpl_filter_find(name) != SBPL_F_NONE)
		return sbpl_make_filter(c->m, c->node, name, c->args, c->n, out);
	return sbpl_complain(c->m, c->node, B_FORMAT, "%s: %s", name,
			     bound || sbpl_op_find(name) != SBPL_OP_NONE ? "not a procedure"
									 : "unbound variable");
}

static int eval_list(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		     struct sbpl_value *out)
{
	struct call c = {.m = m, .scope = scope, .node = node};
	b_auto_free struct sbpl_value *args = NULL;

	if (node->n == 0 || node->v[0]->kind != SBPL_SYMBOL)
		return sbpl_complain(m, node, B_FORMAT, "expected (name ...)");
	for (size_t i = 0; i < NSPECIALS; i++)
		if (strcmp(specials[i].name, node->v[0]->s) == 0)
			return specials[i].run(m, scope, node, out);
	if (node->n > MAX_ARGS)
		return sbpl_complain(m, node, B_LIMIT, "too many arguments");
	args = b_calloc(node->n, sizeof *args);
	for (; c.n + 1 < node->n; c.n++) {
		const struct sbpl_node *arg = node->v[c.n + 1];

		/* (debug all), (debug deny): names without a meaning of their own. */
		if (strcmp(node->v[0]->s, "debug") != 0 && eval(m, scope, arg, &args[c.n]) < 0)
			return -1;
	}
	c.args = args;
	return apply(&c, out);
}

static int eval(struct sbpl_machine *m, struct sbpl_scope *scope, const struct sbpl_node *node,
		struct sbpl_value *out)
{
	int rc = 0;

	*out = nothing;
	if (++m->steps > SBPL_MAX_STEPS)
		return sbpl_complain(m, node, B_LIMIT, "does not end");
	switch (node->kind) {
	case SBPL_SYMBOL:
		return eval_symbol(m, scope, node, out);
	case SBPL_STRING:
		*out = (struct sbpl_value){.kind = SBPL_VAL_STRING, .s = node->s, .len = node->len};
		return 0;
	case SBPL_NUMBER:
		*out = (struct sbpl_value){.kind = SBPL_VAL_NUMBER, .num = node->num};
		return 0;
	case SBPL_BOOL:
		*out = boolean(node->num);
		return 0;
	case SBPL_LIST:
		if (++m->depth > MAX_EVAL_DEPTH)
			return sbpl_complain(m, node, B_LIMIT, "evaluation nested too deep");
		rc = eval_list(m, scope, node, out);
		m->depth--;
		break;
	}
	return rc;
}

int sbpl_program_new(const struct sbpl_source *source, struct sbpl_program **out, struct b_err *err)
{
	struct sbpl_program *p = b_calloc(1, sizeof *p);
	struct sbpl_machine m = {.p = p, .source = source, .err = err};

	p->op = b_arena_alloc(&p->arena, sbpl_op_count() * sizeof *p->op);
	p->scratch = sbpl_scratch_new();
	m.ops.name = op_name;
	sbpl_names_build(&m.ops, &p->arena, sbpl_op_count());
	m.params.name = param_name;
	m.params.ctx = source->params;
	sbpl_names_build(&m.params, &p->arena, source->nparams);
	if (run_text(&m, source) < 0) {
		sbpl_program_free(p);
		return -1;
	}
	if (p->nrules == 0) {
		sbpl_program_free(p);
		return b_fail(err, B_FORMAT, 0, "%s: a profile without a rule", source->name);
	}
	*out = p;
	return 0;
}
