/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c - the automata of a list of rules, written into the image. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policy/compile/automata.h"
#include "policy/compile/ruleset.h"

#define SPARE 1024 /* behind each table: 256 entries of the larger width, see core/image.h */

#define WORK_MAX (24u << 20) /* of all automata of an image: about a second */

static uint8_t verdict_flags(const struct pol_dense *d, uint32_t state)
{
	uint8_t flags = 0;

	if (d->is_slash[state])
		flags |= SBX_ST_SLASH;
	else if (d->label[state])
		flags |= SBX_ST_ALLOW;
	if (d->settled[state] != POL_MIXED)
		flags |= d->settled[state] ? SBX_ST_ALL_ALLOW : SBX_ST_ALL_DENY;
	return flags;
}

static uint32_t entry_of(const struct pol_dense *d, size_t i)
{
	uint32_t next =
		d->width == 2 ? ((const uint16_t *)d->table)[i] : ((const uint32_t *)d->table)[i];

	return next >> d->scaled;
}

/* The largest label that lies ahead, by state. Most states lead to later ones. */
static void append_reach(struct pol_writer *w, const struct pol_dense *d, struct sbx_dfa *out)
{
	b_auto_free uint32_t *reach = b_calloc(d->nstates, sizeof *reach);
	bool changed = true;

	for (uint32_t s = 0; s < d->nstates; s++)
		reach[s] = d->label[s] > d->latch[s] ? d->label[s] : d->latch[s];
	while (changed) {
		changed = false;
		for (uint32_t s = d->nstates; s-- > 0;)
			for (uint32_t c = 0; c < d->nclasses; c++) {
				uint32_t to = reach[entry_of(d, ((size_t)s << d->shift) + c)];

				changed |= to > reach[s];
				reach[s] = to > reach[s] ? to : reach[s];
			}
	}
	out->reach = pol_writer_append(w, reach, d->nstates * sizeof *reach);
}

/* What states must distinguish: two answers, the matching rule, or also what may follow. */
enum telling { VERDICTS, RULES, RULES_AHEAD };

static void append_dfa(struct pol_writer *w, const struct pol_dense *d, enum telling telling,
		       struct sbx_dfa *out)
{
	*out = (struct sbx_dfa){
		.start = d->start,
		.nstates = d->nstates,
		.nsettled = d->nsettled,
		.nclasses = d->nclasses,
		.shift = d->shift,
		.width = d->width,
		.scaled = d->scaled,
	};
	out->classes = pol_writer_append(w, d->byte_class, sizeof d->byte_class);
	out->table = pol_writer_append(w, d->table, ((size_t)d->nstates << d->shift) * d->width);
	pol_writer_append(w, NULL, SPARE);
	if (telling != VERDICTS) {
		if (telling == RULES_AHEAD)
			append_reach(w, d, out);
		out->labels = pol_writer_append(w, d->label, d->nstates * sizeof *d->label);
		out->latches = pol_writer_append(w, d->latch, d->nstates * sizeof *d->latch);
		return;
	}
	out->flags = pol_writer_append(w, NULL, d->nstates);
	for (uint32_t i = 0; i < d->nstates; i++)
		w->out.s[out->flags + i] = (char)verdict_flags(d, i);
}

static void write_dense(struct pol_writer *w, const struct pol_automaton *a, enum telling telling,
			struct sbx_dfa *out)
{
	struct pol_classes classes;
	struct pol_dense dense;

	pol_minimise(a, &classes);
	pol_dense_build(&dense, a, &classes);
	append_dfa(w, &dense, telling, out);
	pol_dense_release(&dense);
	pol_classes_release(&classes);
}

static const struct pol_limits most = {POL_MAX_STATES, WORK_MAX};

/* pol_automaton_build() within what is left for the whole image. */
static int build(struct pol_writer *w, const struct pol_nfa *nfa, struct pol_limits limits,
		 struct pol_automaton *out, uint32_t *out_rule)
{
	size_t left = w->work < WORK_MAX ? WORK_MAX - w->work : 0;
	struct pol_cost cost;
	int rc;

	limits.work = limits.work < left ? limits.work : left;
	rc = pol_automaton_build(out, nfa, &limits, &cost);
	*out_rule = cost.rule;
	w->work += cost.work;
	/* what follows: to be made minimal, and a table */
	if (rc == 0)
		w->work += out->nedges + out->nstates;
	return rc;
}

static int refuse(const struct pol_rule *r, struct b_err *err)
{
	return b_fail(err, B_LIMIT, 0,
		      "%s: rule `%s` needs too many states together with the others: "
		      "use fewer wildcards in it",
		      r->origin, r->matched);
}

/* One layer. Runs of rules of one polarity are one group: their order does not matter. */
static int build_verdict(struct pol_writer *w, const struct pol_list *list, size_t first,
			 size_t end, struct pol_automaton *out, struct b_err *err)
{
	struct pol_nfa nfa;
	uint32_t rule;
	int rc;

	pol_nfa_init(&nfa, true);
	for (size_t i = first; i < end; i++) {
		if (i == first || list->v[i].allow != list->v[i - 1].allow)
			pol_nfa_group(&nfa, list->v[i].allow);
		pol_nfa_add(&nfa, &list->v[i], (uint32_t)i);
	}
	rc = build(w, &nfa, most, out, &rule);
	pol_nfa_release(&nfa);
	return rc < 0 ? refuse(&list->v[rule], err) : 0;
}

/* Adds a layer to those before it. */
static int and_verdict(struct pol_writer *w, const struct pol_list *list, size_t first, size_t end,
		       struct pol_automaton *all, struct b_err *err)
{
	struct pol_automaton layer, both;
	int rc;

	if (build_verdict(w, list, first, end, &layer, err) < 0)
		return -1;
	rc = pol_product(all, &layer, POL_MAX_STATES, &both);
	pol_automaton_release(&layer);
	if (rc < 0)
		return b_fail(err, B_LIMIT, 0,
			      "%s: this document needs too many states together with the others: "
			      "use fewer wildcards",
			      list->v[end - 1].origin);
	pol_automaton_release(all);
	*all = both;
	return 0;
}

int pol_write_verdict(struct pol_writer *w, const struct pol_list *list, struct sbx_dfa *out,
		      struct b_err *err)
{
	size_t end = pol_layer_end(list, 0);
	struct pol_automaton a;
	int rc = 0;

	if (build_verdict(w, list, 0, end, &a, err) < 0)
		return -1;
	for (size_t first = end; first < list->n && rc == 0; first = end) {
		end = pol_layer_end(list, first);
		rc = and_verdict(w, list, first, end, &a, err);
	}
	if (rc == 0)
		write_dense(w, &a, VERDICTS, out);
	pol_automaton_release(&a);
	return rc;
}

/*
 * Where rules are told apart, rules that stay alive everywhere below their base multiply with
 * those that wait inside a name: each kind has automata of its own. (Verdicts need no such
 * care, as rules of one polarity share their nodes.)
 */
enum kind {
	LITERAL,  /* needs none: see literals.c */
	FIXED,	  /* no `**` but at the end: alive along one path */
	FLOATING, /* `**` first, then a literal: alive everywhere */
	WILD,	  /* the others */
	KINDS
};

static enum kind kind_of(const struct pol_rule *r)
{
	struct b_str path = {0};
	enum pol_literal literal = pol_rule_literal(r, &path);
	const char *p, *rest;

	b_str_release(&path);
	if (literal != POL_LITERAL_NO)
		return LITERAL;
	p = strstr(r->glob, "**");
	if (!p || p[2] == '\0')
		return FIXED;
	rest = r->glob + strspn(r->glob, "*/");
	rest += strcspn(rest, "*?");
	if (p == r->glob && (*rest == '\0' || (!strcmp(rest, "**") && rest[-1] == '/')))
		return FLOATING;
	return WILD;
}

struct subset { /* rules of one kind, as indices */
	const struct pol_list *list;
	const uint32_t *label; /* by rule, rising; NULL = its number from 1 */
	uint32_t *v;
	size_t n;
};

/* A group that passes this many states, for its bytes of rule text, is split. */
static size_t states_fair(const struct subset *s)
{
	size_t n = 512;

	for (size_t i = 0; i < s->n; i++) {
		const struct pol_rule *r = &s->list->v[s->v[i]];

		n += 3 * (r->base_len + (r->shape == POL_GLOB ? strlen(r->glob) : 0) + 2);
	}
	return n;
}

static uint32_t label_of(const struct subset *s, size_t i)
{
	return s->label ? s->label[s->v[i]] : s->v[i] + 1;
}

static int write_group(struct pol_writer *w, const struct subset *s, struct sbx_dfa *out,
		       uint32_t *out_rule)
{
	size_t fair = states_fair(s);
	const struct pol_limits few = {fair, fair * 32};
	struct pol_automaton a;
	struct pol_nfa nfa;
	int rc;

	pol_nfa_init(&nfa, false);
	for (size_t i = 0; i < s->n; i++) {
		pol_nfa_group(&nfa, label_of(s, i));
		pol_nfa_add(&nfa, &s->list->v[s->v[i]], s->v[i]);
	}
	rc = build(w, &nfa, s->n == 1 ? most : few, &a, out_rule);
	if (rc == 0) {
		write_dense(w, &a, s->label ? RULES_AHEAD : RULES, out);
		pol_automaton_release(&a);
	}
	out->last = label_of(s, s->n - 1);
	pol_nfa_release(&nfa);
	return rc;
}

#define WILD_FIRST 8 /* wild rules that are tried together */

static int write_kind(struct pol_writer *w, const struct subset *s, enum kind kind,
		      struct sbx_dfa *groups, uint32_t *ngroups, struct b_err *err)
{
	struct subset part = *s;
	uint32_t rule = 0;

	for (size_t end = s->n, size = kind == WILD ? WILD_FIRST : s->n; end > 0;) {
		part.n = size < end ? size : end;
		part.v = s->v + end - part.n;
		if (write_group(w, &part, &groups[*ngroups], &rule) == 0) {
			++*ngroups;
			end -= part.n;
		} else if (part.n == 1) {
			return refuse(&s->list->v[rule], err);
		} else {
			size = part.n / 2;
		}
	}
	return 0;
}

static int later_first(const void *a, const void *b)
{
	const struct sbx_dfa *x = a, *y = b;

	return (x->last < y->last) - (x->last > y->last);
}

static int write_groups(struct pol_writer *w, const struct pol_list *list, const uint32_t *label,
			uint32_t *out_at, uint32_t *out_n, struct b_err *err)
{
	b_auto_free struct sbx_dfa *groups = b_calloc(list->n + 1, sizeof *groups);
	b_auto_free uint32_t *rules = b_calloc(list->n + 1, sizeof *rules);
	uint32_t n = 0;

	for (int kind = FIXED; kind < KINDS; kind++) {
		struct subset s = {.list = list, .label = label, .v = rules};

		for (size_t i = 0; i < list->n; i++)
			if (kind_of(&list->v[i]) == (enum kind)kind)
				rules[s.n++] = (uint32_t)i;
		if (write_kind(w, &s, (enum kind)kind, groups, &n, err) < 0)
			return -1;
	}
	qsort(groups, n, sizeof *groups, later_first);
	*out_at = pol_writer_append(w, groups, n * sizeof *groups);
	*out_n = n;
	return 0;
}

int pol_write_groups(struct pol_writer *w, const struct pol_list *list, struct sbx_image_layer *op,
		     struct b_err *err)
{
	return write_groups(w, list, NULL, &op->groups, &op->ngroups, err);
}

int pol_write_folded_groups(struct pol_writer *w, const struct pol_list *list,
			    const uint32_t *label, struct sbx_image_layer *out, struct b_err *err)
{
	return write_groups(w, list, label, &out->folded.groups, &out->folded.ngroups, err);
}
