#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sbpl/program_priv.h"

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
