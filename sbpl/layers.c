/*
 * layers.c - several documents that must all allow, in a profile that is one ordered list: the
 * main one is written in its order, of the others what they deny, behind it. A denial alone, each
 * stands for the paths that its rule decides in its own layer: without those of later allows.
 */
#include <string.h>

#include "base/mem.h"
#include "core/path.h"
#include "sbpl/emit.h"

struct pol_list sbpl_layer_at(const struct pol_list *list, size_t first)
{
	if (first >= list->n)
		return (struct pol_list){0};
	return (struct pol_list){.v = list->v + first, .n = pol_layer_end(list, first) - first};
}

/* Where the main layer begins: of a list that is one document's alone, whatever its number. */
static size_t find_main(const struct pol_list *list)
{
	size_t i = 0;

	if (list->n == 0 || pol_layer_end(list, 0) == list->n)
		return 0;
	while (i < list->n && list->v[i].layer != POL_LAYER_MAIN)
		i++;
	return i;
}

struct pol_list sbpl_main_layer(const struct pol_list *list)
{
	return sbpl_layer_at(list, find_main(list));
}

/* Can both match one path? Where their bases lie apart, no. */
static bool may_meet(const struct pol_rule *a, const struct pol_rule *b)
{
	return sbx_path_under(a->base, a->base_len, b->base, b->base_len) ||
	       sbx_path_under(b->base, b->base_len, a->base, a->base_len);
}

static bool is_everything(const struct pol_rule *r)
{
	return r->shape == POL_TREE && r->base_len == 0;
}

static int each_in_layer(struct sbpl_emit *e, const struct pol_list *layer, size_t i,
			 sbpl_denial *give, void *ctx)
{
	const struct pol_rule *r = &layer->v[i];
	b_auto(b_str_release) struct b_str filter = {0};
	size_t n = 0;

	for (size_t k = i + 1; k < layer->n; k++)
		if (is_everything(&layer->v[k]))
			return 0; /* decided there, wherever this one matches */
	b_str_add(&filter, "(require-all ");
	sbpl_put_rule_filter(e, &filter, r, true);
	for (size_t k = i + 1; k < layer->n; k++) {
		if (!layer->v[k].allow || !may_meet(r, &layer->v[k]))
			continue;
		b_str_add(&filter, " (require-not ");
		sbpl_put_rule_filter(e, &filter, &layer->v[k], false);
		b_str_addc(&filter, ')');
		n++;
	}
	b_str_addc(&filter, ')');
	if (filter.len > SBPL_MAX_FORM - 64)
		return b_fail(e->err, B_LIMIT, 0,
			      "%s: %zu later rules re-open parts of what it denies: more than a "
			      "profile for macOS holds",
			      r->origin, n);
	return give(ctx, &filter, r);
}

/* What no rule of a layer matches it denies; each begins with a rule about everything. */
static int each_of_layer(struct sbpl_emit *e, const struct pol_list *layer, sbpl_denial *give,
			 void *ctx)
{
	if (!is_everything(&layer->v[0]))
		return b_fail(e->err, B_POLICY, 0,
			      "%s: a document beside the main one says nothing of most paths: a "
			      "profile for macOS cannot hold it",
			      layer->v[0].origin);
	for (size_t i = 0; i < layer->n; i++)
		if (!layer->v[i].allow && each_in_layer(e, layer, i, give, ctx) < 0)
			return -1;
	return 0;
}

int sbpl_each_denial(struct sbpl_emit *e, enum sbx_op op, sbpl_denial *give, void *ctx)
{
	const struct pol_list *list = &e->rs->op[op];
	size_t main = find_main(list);

	for (size_t first = 0; first < list->n; first = pol_layer_end(list, first)) {
		const struct pol_list layer = sbpl_layer_at(list, first);

		if (first != main && each_of_layer(e, &layer, give, ctx) < 0)
			return -1;
	}
	return 0;
}

struct block {
	struct sbpl_emit *e;
	const char *operations;
};

static int put_denial(void *ctx, const struct b_str *filter, const struct pol_rule *r)
{
	const struct block *b = ctx;

	b_str_addf(&b->e->out, "(deny %s %s)", b->operations, b_str_c(filter));
	sbpl_put_comment(&b->e->out, r->origin);
	return sbpl_count_rules(b->e, 1, r->origin);
}

int sbpl_put_layers(struct sbpl_emit *e, enum sbx_op op, const char *operations)
{
	struct block b = {e, operations};

	return sbpl_each_denial(e, op, put_denial, &b);
}
