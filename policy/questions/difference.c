/* SPDX-License-Identifier: Apache-2.0 */
/* difference.c - see explain.h. */
#include "policy/questions/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "policy/engine.h"
#include "policy/questions/connect.h"

struct finder {
	const struct pol_engine *before, *after;
	enum sbx_op op;
	struct pol_differences *out;
};

enum { OLD_ONLY = POL_WHERE(1), NEW_ONLY = POL_WHERE(2) };

static bool is_told(const struct pol_differences *d, const struct pol_difference *x)
{
	for (size_t i = d->n; i-- > 0 && d->v[i].op == x->op;)
		if (d->v[i].before.rule == x->before.rule && d->v[i].after.rule == x->after.rule)
			return true;
	return false;
}

static int take_path(void *arg, const char *path, size_t len)
{
	struct finder *f = arg;
	struct pol_difference d = {.op = f->op};

	sbx_explain(&f->before->image, f->op, path, len, &d.before);
	sbx_explain(&f->after->image, f->op, path, len, &d.after);
	B_ASSERT(d.before.allowed != d.after.allowed);
	d.is_allowed = d.after.allowed;
	if (is_told(f->out, &d))
		return 0;
	d.path = b_arena_strndup(&f->out->arena, path, len);
	b_grow(f->out->v, f->out->n, f->out->cap);
	f->out->v[f->out->n++] = d;
	return f->out->n == POL_MAX_DIFFERENCES;
}

/* ---- rules that no example was found for by chance ---- */

static bool same_rule(const struct pol_rule *a, const struct pol_rule *b)
{
	return a->allow == b->allow && a->layer == b->layer && a->shape == b->shape &&
	       a->base_is_root == b->base_is_root && a->folds == b->folds &&
	       a->base_len == b->base_len && memcmp(a->base, b->base, a->base_len) == 0 &&
	       strcmp(a->glob ? a->glob : "", b->glob ? b->glob : "") == 0;
}

/* What lies between the rules that both lists begin and end with. */
struct middle {
	size_t begin, old_end, new_end;
};

static struct middle middle_of(const struct pol_list *a, const struct pol_list *b)
{
	struct middle m = {0, a->n, b->n};

	while (m.begin < m.old_end && m.begin < m.new_end &&
	       same_rule(&a->v[m.begin], &b->v[m.begin]))
		m.begin++;
	while (m.old_end > m.begin && m.new_end > m.begin &&
	       same_rule(&a->v[m.old_end - 1], &b->v[m.new_end - 1])) {
		m.old_end--;
		m.new_end--;
	}
	return m;
}

static bool is_decider(const struct finder *f, bool in_old, size_t i)
{
	const struct pol_engine *e = in_old ? f->before : f->after;
	int rule = (int)(e->image.hdr->op[f->op].first_rule + i);

	for (size_t k = f->out->n; k-- > 0 && f->out->v[k].op == f->op;)
		if ((in_old ? f->out->v[k].before.rule : f->out->v[k].after.rule) == rule)
			return true;
	return false;
}

static int look_for(struct finder *f, const struct pol_list *list, bool in_old, size_t i,
		    struct b_err *err)
{
	const struct pol_engine *e[] = {f->before, f->after};
	struct pol_verdicts decided;
	struct pol_side sides[3] = {{&f->before->image, f->op}, {&f->after->image, f->op}};
	b_auto(b_str_release) struct b_str path = {0};
	int rc;

	if (is_decider(f, in_old, i) || f->out->n >= POL_MAX_DIFFERENCES)
		return 0;
	B_ASSERT(list == &e[!in_old]->rules.op[f->op]);
	if (pol_verdicts_decided(list, i, &decided, err) < 0)
		return -1;
	sides[2] = (struct pol_side){&decided.image, SBX_READ};
	rc = pol_find_path(sides, 3, POL_WHERE(1 | 4) | POL_WHERE(2 | 4), &path, err);
	pol_verdicts_release(&decided);
	if (rc > 0)
		take_path(f, b_str_c(&path), path.len);
	return rc < 0 ? -1 : 0;
}

/* What looking for one rule costs, of POL_MAX_EXAMINED: large automata are walked for each. */
static size_t cost_of(const struct finder *f)
{
	return 1 + (f->before->image.hdr->op[f->op].verdict.nstates +
		    f->after->image.hdr->op[f->op].verdict.nstates) /
			   1024;
}

static int look_for_rules(struct finder *f, struct b_err *err)
{
	const struct pol_list *a = &f->before->rules.op[f->op], *b = &f->after->rules.op[f->op];
	struct middle m = middle_of(a, b);
	size_t cost = cost_of(f), left = POL_MAX_EXAMINED / cost;

	for (size_t i = m.begin; i < m.old_end && left > 0; i++, left--)
		if (look_for(f, a, true, i, err) < 0)
			return -1;
	for (size_t i = m.begin; i < m.new_end && left > 0; i++, left--)
		if (look_for(f, b, false, i, err) < 0)
			return -1;
	return 0;
}

/* One list often serves read and exec: what is told of the first needs no second telling. */
static bool is_read_again(const struct pol_engine *e, enum sbx_op op)
{
	const struct sbx_image_header *h = e->image.hdr;

	return op == SBX_EXEC && h->op[op].verdict.table == h->op[SBX_READ].verdict.table;
}

static int by_op_and_length(const void *a, const void *b)
{
	const struct pol_difference *x = a, *y = b;
	size_t m = strlen(x->path), n = strlen(y->path);

	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return m != n ? (m < n ? -1 : 1) : strcmp(x->path, y->path);
}

int pol_differences_find(const struct pol_engine *before, const struct pol_engine *after,
			 struct pol_differences *out, struct b_err *err)
{
	*out = (struct pol_differences){.n = 0};
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		struct finder f = {before, after, (enum sbx_op)op, out};
		const struct pol_side sides[] = {{&before->image, f.op}, {&after->image, f.op}};
		size_t had = out->n;

		if (is_read_again(before, f.op) && is_read_again(after, f.op))
			continue;
		if (pol_each_state(sides, 2, OLD_ONLY | NEW_ONLY, take_path, &f, err) < 0 ||
		    (out->n > had && look_for_rules(&f, err) < 0)) {
			pol_differences_release(out);
			return -1;
		}
	}
	if (pol_connect_differences(before, after, out, err) < 0) {
		pol_differences_release(out);
		return -1;
	}
	if (out->n > 0)
		qsort(out->v, out->n, sizeof *out->v, by_op_and_length);
	return 0;
}

void pol_differences_release(struct pol_differences *d)
{
	free(d->v);
	b_arena_release(&d->arena);
	*d = (struct pol_differences){.n = 0};
}

/* ---- for people and programs ---- */

static void add_verdict(const struct sbx_verdict *v, struct b_str *out)
{
	b_str_add_visible(out, v->matched, strlen(v->matched));
	b_str_add(out, " (");
	b_str_add_visible(out, v->origin, strlen(v->origin));
	b_str_addc(out, ')');
}

void pol_differences_text(const struct pol_differences *d, const struct pol_engine *after,
			  struct b_str *out)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct pol_difference *x = &d->v[i];
		b_auto(b_str_release) struct b_str shown = {0};

		pol_engine_shown(after, x->path, &shown);
		b_str_addf(out, "%c %-7s  ", x->is_allowed ? '+' : '-', sbx_op_name(x->op));
		b_str_add_visible(out, shown.s, shown.len);
		b_str_add(out, "  by rule ");
		add_verdict(&x->after, out);
		b_str_add(out, ", before by ");
		add_verdict(&x->before, out);
		b_str_addc(out, '\n');
	}
}

static void json_verdict(struct b_json *j, const char *key, const struct sbx_verdict *v)
{
	b_json_key(j, key);
	b_json_open(j, '{');
	b_json_bytes(j, "matched_rule", v->matched, strlen(v->matched));
	b_json_bytes(j, "rule", v->origin, strlen(v->origin));
	b_json_close(j, '}');
}

void pol_differences_json(const struct pol_differences *d, const struct pol_engine *after,
			  struct b_json *j)
{
	b_json_open(j, '[');
	for (size_t i = 0; i < d->n; i++) {
		const struct pol_difference *x = &d->v[i];
		b_auto(b_str_release) struct b_str shown = {0};

		pol_engine_shown(after, x->path, &shown);
		b_json_open(j, '{');
		b_json_key(j, "op");
		b_json_str(j, sbx_op_name(x->op));
		b_json_bytes(j, "path", shown.s, shown.len);
		b_json_key(j, "change");
		b_json_str(j, x->is_allowed ? "allowed" : "denied");
		json_verdict(j, "before", &x->before);
		json_verdict(j, "after", &x->after);
		b_json_close(j, '}');
	}
	b_json_close(j, ']');
}
