/* outer.c - a run inside a run: what the outer one allows stands behind the rules as further
 * layers, which must allow as well. No rule of the inner policy can answer for them. */
#include "policy/build.h"

#include "base/err.h"
#include "base/str.h"
#include "core/image.h"

/* A list without rules allows nothing, a layer without rules would not be there at all. */
static void add_nothing(struct pol_build *b, enum sbx_op op, unsigned layer, const char *origin)
{
	const struct pol_rule nothing = {.layer = (uint8_t)layer,
					 .shape = POL_TREE,
					 .tier = POL_TIER_BASE,
					 .base = "",
					 .matched = "<no matching rule>",
					 .origin = origin};

	pol_ruleset_add(b->rs, op, &nothing);
}

static void add_list(struct pol_build *b, enum sbx_op op, const struct pol_list *list,
		     unsigned behind)
{
	for (size_t i = 0; i < list->n; i++) {
		struct pol_rule r = list->v[i];

		if (i > 0 && r.layer != list->v[i - 1].layer)
			behind++;
		r.layer = (uint8_t)behind;
		r.origin = b_arena_printf(&b->rs->arena, "outer:%s", r.origin);
		pol_ruleset_add(b->rs, op, &r);
	}
}

static unsigned count_layers(const struct pol_list *list)
{
	unsigned n = 0;

	for (size_t first = 0; first < list->n; first = pol_layer_end(list, first))
		n++;
	return n;
}

int pol_build_outer(struct pol_build *b, struct b_err *err)
{
	const struct pol_ruleset *outer = b->rq->outer;

	for (int i = 0; outer && i < SBX_OP_COUNT; i++) {
		enum sbx_op op = (enum sbx_op)i;
		struct pol_list *own = &b->rs->op[op];
		unsigned behind;

		if (own->n == 0)
			add_nothing(b, op, POL_LAYER_MAIN, "builtin:base:1");
		if (count_layers(own) + count_layers(&outer->op[op]) > SBX_LAYERS_MAX)
			return b_fail(err, B_LIMIT, 0,
				      "more than %d layers of documents, those of the outer runs "
				      "counted",
				      SBX_LAYERS_MAX);
		behind = own->v[own->n - 1].layer + 1u;
		if (outer->op[op].n == 0)
			add_nothing(b, op, behind, "outer:builtin:base:1");
		add_list(b, op, &outer->op[op], behind);
	}
	return 0;
}

void pol_effect_tighten(struct pol_effect *e, const struct pol_effect *outer)
{
	e->reads = e->reads > outer->reads ? e->reads : outer->reads;
	e->network = e->network < outer->network ? e->network : outer->network;
	e->unix_ = e->unix_ < outer->unix_ ? e->unix_ : outer->unix_;
	e->all_sockets &= outer->all_sockets;
	e->scratch &= outer->scratch;
	e->cache &= outer->cache;
	e->lax &= outer->lax;
}
