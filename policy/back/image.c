#include "policy/compile.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/str.h"
#include "policy/back/automaton.h"
#include "policy/back/dense.h"
#include "policy/back/minimise.h"
#include "policy/back/nfa.h"
#include "policy/ruleset.h"

#define SPARE 1024 /* behind each table: 256 entries of the larger width, see core/image.h */

#define WORK_MAX (100u << 20) /* of one automaton: about a second */

struct writer {
	const struct pol_ruleset *rs;
	struct b_str out;
	struct sbx_image_header hdr;
};

/* Appends n bytes (zeros when p is NULL) at the next multiple of 8; returns their offset. */
static uint32_t append(struct writer *w, const void *p, size_t n)
{
	static const char zeros[8];
	size_t at;

	if (w->out.len % 8)
		b_str_addn(&w->out, zeros, 8 - w->out.len % 8);
	at = w->out.len;
	if (p)
		b_str_addn(&w->out, p, n);
	else
		memset(b_str_room(&w->out, n), 0, n), b_str_advance(&w->out, n);
	return (uint32_t)at;
}

static struct sbx_image_str append_text(struct writer *w, const char *s)
{
	struct sbx_image_str str = {(uint32_t)w->out.len, 0};

	if (!s)
		s = "";
	str.len = (uint32_t)strlen(s);
	b_str_addn(&w->out, s, str.len + 1u);
	return str;
}

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

static void append_dfa(struct writer *w, const struct pol_dense *d, bool is_verdict,
		       struct sbx_dfa *out)
{
	*out = (struct sbx_dfa){
		.start = d->start,
		.nstates = d->nstates,
		.nsettled = d->nsettled,
		.nclasses = d->nclasses,
		.shift = d->shift,
		.width = d->width,
	};
	out->classes = append(w, d->byte_class, sizeof d->byte_class);
	out->table = append(w, d->table, ((size_t)d->nstates << d->shift) * d->width);
	append(w, NULL, SPARE);
	if (!is_verdict) {
		out->labels = append(w, d->label, d->nstates * sizeof *d->label);
		return;
	}
	out->flags = append(w, NULL, d->nstates);
	for (uint32_t i = 0; i < d->nstates; i++)
		w->out.s[out->flags + i] = (char)verdict_flags(d, i);
}

/* 0; or -1 when the automaton passes the limits, *out_rule is to blame. */
static int write_automaton(struct writer *w, const struct pol_nfa *nfa,
			   const struct pol_limits *limits, bool is_verdict, struct sbx_dfa *out,
			   uint32_t *out_rule)
{
	struct pol_automaton a;
	struct pol_classes classes;
	struct pol_dense dense;

	if (pol_automaton_build(&a, nfa, limits, out_rule) < 0)
		return -1;
	pol_minimise(&a, &classes);
	pol_dense_build(&dense, &a, &classes);
	append_dfa(w, &dense, is_verdict, out);
	pol_dense_release(&dense);
	pol_classes_release(&classes);
	pol_automaton_release(&a);
	return 0;
}

static const struct pol_limits most = {POL_MAX_STATES, WORK_MAX};

static int refuse(const struct pol_rule *r, struct b_err *err)
{
	return b_fail(err, B_LIMIT, 0,
		      "%s: rule `%s` needs too many states together with the others: "
		      "use fewer wildcards in it",
		      r->origin, r->matched);
}

/* Runs of rules of one polarity are one group: their order does not matter. */
static int write_verdict(struct writer *w, const struct pol_list *list, struct sbx_dfa *out,
			 struct b_err *err)
{
	struct pol_nfa nfa;
	uint32_t rule;
	int rc;

	pol_nfa_init(&nfa);
	for (size_t i = 0; i < list->n; i++) {
		if (i == 0 || list->v[i].allow != list->v[i - 1].allow)
			pol_nfa_group(&nfa, list->v[i].allow);
		pol_nfa_add(&nfa, &list->v[i], (uint32_t)i);
	}
	rc = write_automaton(w, &nfa, &most, true, out, &rule);
	pol_nfa_release(&nfa);
	return rc < 0 ? refuse(&list->v[rule], err) : 0;
}

/*
 * Attribution automata tell every rule from every other, and so grow faster than verdicts: a
 * group that passes this many states, for its bytes of rule text, is split.
 */
static size_t group_states(const struct pol_list *list, size_t from, size_t to)
{
	size_t n = 512;

	for (size_t i = from; i < to; i++) {
		const struct pol_rule *r = &list->v[i];

		n += 4 * (r->base_len + (r->shape == POL_GLOB ? strlen(r->glob) : 0) + 2);
	}
	return n;
}

static int write_group(struct writer *w, const struct pol_list *list, size_t from, size_t to,
		       struct sbx_dfa *out, uint32_t *out_rule)
{
	struct pol_limits limits = {group_states(list, from, to), WORK_MAX};
	struct pol_nfa nfa;
	int rc;

	pol_nfa_init(&nfa);
	for (size_t i = from; i < to; i++) {
		pol_nfa_group(&nfa, (uint32_t)i + 1);
		pol_nfa_add(&nfa, &list->v[i], (uint32_t)i);
	}
	rc = write_automaton(w, &nfa, to - from == 1 ? &most : &limits, false, out, out_rule);
	pol_nfa_release(&nfa);
	return rc;
}

#define GROUP_FIRST 128 /* rules tried in the first group */

/* Last rules first: the walk ends at the first group that answers. */
static int write_groups(struct writer *w, const struct pol_list *list, struct sbx_image_op *op,
			struct b_err *err)
{
	b_auto_free struct sbx_dfa *groups = b_calloc(list->n + 1, sizeof *groups);
	size_t size = GROUP_FIRST;
	uint32_t rule = 0;

	for (size_t end = list->n; end > 0;) {
		size = size < end ? size : end;
		if (write_group(w, list, end - size, end, &groups[op->ngroups], &rule) == 0) {
			op->ngroups++;
			end -= size;
			size *= 2;
		} else if (size == 1) {
			return refuse(&list->v[rule], err);
		} else {
			size /= 2;
		}
	}
	op->groups = append(w, groups, op->ngroups * sizeof *groups);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool lists_equal(const struct pol_list *a, const struct pol_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct pol_rule *r = &a->v[i], *s = &b->v[i];

		if (r->allow != s->allow || r->shape != s->shape ||
		    r->base_is_root != s->base_is_root || r->base_len != s->base_len ||
		    memcmp(r->base, s->base, r->base_len) != 0 || !same_text(r->glob, s->glob))
			return false;
	}
	return true;
}

static int write_op(struct writer *w, enum sbx_op op, struct b_err *err)
{
	const struct pol_list *list = &w->rs->op[op];
	struct sbx_image_op *o = &w->hdr.op[op];

	o->first_rule = w->hdr.nrules;
	o->nrules = (uint32_t)list->n;
	w->hdr.nrules += o->nrules;
	for (size_t i = 0; i < list->n; i++)
		o->has_positive |= list->v[i].allow;
	/* Often one list serves two operations: so do its automata. */
	for (int other = 0; other < (int)op; other++)
		if (lists_equal(list, &w->rs->op[other])) {
			o->verdict = w->hdr.op[other].verdict;
			o->groups = w->hdr.op[other].groups;
			o->ngroups = w->hdr.op[other].ngroups;
			return 0;
		}
	if (write_verdict(w, list, &o->verdict, err) < 0)
		return -1;
	return write_groups(w, list, o, err);
}

static void write_rules(struct writer *w)
{
	b_auto_free struct sbx_image_rule *rules = b_calloc(w->hdr.nrules + 1u, sizeof *rules);
	size_t n = 0;

	w->hdr.rules = append(w, NULL, w->hdr.nrules * sizeof *rules);
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < w->rs->op[op].n; i++) {
			const struct pol_rule *r = &w->rs->op[op].v[i];

			rules[n++] = (struct sbx_image_rule){
				.matched = append_text(w, r->matched),
				.origin = append_text(w, r->origin),
				.allow = r->allow,
			};
		}
	if (n > 0)
		memcpy(w->out.s + w->hdr.rules, rules, n * sizeof *rules);
}

static int longer_first(const void *a, const void *b)
{
	const struct pol_alias *x = a, *y = b;
	size_t m = strlen(x->from), n = strlen(y->from);

	return m != n ? (m < n) - (m > n) : strcmp(x->from, y->from);
}

static void write_aliases(struct writer *w, const struct pol_compile_opts *opts)
{
	size_t n = opts->naliases;
	b_auto_free struct sbx_image_alias *out = b_calloc(n + 1, sizeof *out);
	b_auto_free struct pol_alias *sorted = b_calloc(n + 1, sizeof *sorted);

	if (n > 0)
		memcpy(sorted, opts->aliases, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, longer_first);
	w->hdr.naliases = (uint32_t)n;
	w->hdr.aliases = append(w, NULL, n * sizeof *out);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct sbx_image_alias){append_text(w, sorted[i].from),
						  append_text(w, sorted[i].to)};
	if (n > 0)
		memcpy(w->out.s + w->hdr.aliases, out, n * sizeof *out);
}

int pol_compile(const struct pol_ruleset *rs, const struct pol_compile_opts *opts, void **out_data,
		size_t *out_size, struct b_err *err)
{
	static const struct pol_compile_opts none;
	struct writer w = {.rs = rs};

	opts = opts ? opts : &none;
	append(&w, NULL, sizeof w.hdr);
	for (int op = 0; op < SBX_OP_COUNT; op++)
		if (write_op(&w, (enum sbx_op)op, err) < 0) {
			b_str_release(&w.out);
			return -1;
		}
	write_rules(&w);
	write_aliases(&w, opts);
	w.hdr.profile = append_text(&w, rs->profile);
	append(&w, NULL, 0);
	if (w.out.len > UINT32_MAX) {
		b_str_release(&w.out);
		return b_fail(err, B_LIMIT, 0, "the compiled policy is larger than 4 GiB");
	}
	w.hdr.magic = SBX_IMAGE_MAGIC;
	w.hdr.version = SBX_IMAGE_VERSION;
	w.hdr.size = (uint32_t)w.out.len;
	w.hdr.on_error = opts->deny_on_error;
	memcpy(w.out.s, &w.hdr, sizeof w.hdr);
	w.hdr.checksum = sbx_image_checksum(w.out.s, w.out.len);
	memcpy(w.out.s, &w.hdr, sizeof w.hdr);
	*out_size = w.out.len;
	*out_data = b_str_take(&w.out);
	return 0;
}
