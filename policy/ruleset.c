#include "policy/ruleset.h"

#include <stdlib.h>
#include <string.h>

#include "policy/glob.h"

void pol_ruleset_init(struct pol_ruleset *rs)
{
	*rs = (struct pol_ruleset){.profile = ""};
}

void pol_ruleset_release(struct pol_ruleset *rs)
{
	for (int op = 0; op < SBX_OP_COUNT; op++)
		free(rs->op[op].v);
	b_arena_release(&rs->arena);
	*rs = (struct pol_ruleset){.profile = ""};
}

static const char *copy(struct pol_ruleset *rs, const char *s)
{
	return s ? b_arena_strndup(&rs->arena, s, strlen(s)) : NULL;
}

static struct pol_rule own(struct pol_ruleset *rs, const struct pol_rule *rule)
{
	struct pol_rule r = *rule;

	r.base = b_arena_strndup(&rs->arena, rule->base, rule->base_len);
	r.glob = copy(rs, rule->glob);
	r.matched = copy(rs, rule->matched);
	r.origin = copy(rs, rule->origin);
	return r;
}

static struct pol_rule *append(struct pol_list *list, const struct pol_rule *rule)
{
	b_grow(list->v, list->n, list->cap);
	list->v[list->n] = *rule;
	return &list->v[list->n++];
}

struct pol_rule *pol_ruleset_add(struct pol_ruleset *rs, enum sbx_op op,
				 const struct pol_rule *rule)
{
	const struct pol_rule r = own(rs, rule);

	return append(&rs->op[op], &r);
}

void pol_ruleset_add_to(struct pol_ruleset *rs, unsigned ops, const struct pol_rule *rule)
{
	const struct pol_rule r = own(rs, rule);

	for (unsigned op = 0; op < SBX_OP_COUNT; op++)
		if (ops & 1u << op)
			append(&rs->op[op], &r);
}

void pol_ruleset_copy(struct pol_ruleset *rs, enum sbx_op from, enum sbx_op to)
{
	const struct pol_list *src = &rs->op[from];
	struct pol_list *dst = &rs->op[to];

	dst->v = b_realloc(dst->v, src->n + 1, sizeof *dst->v);
	dst->cap = src->n + 1;
	dst->n = src->n;
	if (src->n)
		memcpy(dst->v, src->v, src->n * sizeof *dst->v);
}

bool pol_rule_matches(const struct pol_rule *r, const char *path, size_t len)
{
	if (len == 1 && path[0] == '/')
		len = 0; /* "" is the root, as in `base` */
	if (len < r->base_len || memcmp(path, r->base, r->base_len) != 0)
		return false;
	path += r->base_len;
	len -= r->base_len;
	if (len > 0 && path[0] != '/')
		return false;
	switch (r->shape) {
	case POL_EXACT:
		return len == 0;
	case POL_TREE:
		return true;
	case POL_GLOB:
		if (len == 0)
			return r->base_is_root && pol_glob_match(r->glob, "", 0);
		return (r->folds ? pol_glob_match_folded : pol_glob_match)(r->glob, path + 1,
									   len - 1);
	}
	return false;
}

int pol_list_last_match(const struct pol_list *list, size_t end, const char *path, size_t len)
{
	if (end > list->n)
		end = list->n;
	for (size_t i = end; i-- > 0 && list->v[i].layer == list->v[end - 1].layer;)
		if (pol_rule_matches(&list->v[i], path, len))
			return (int)i;
	return -1;
}

size_t pol_layer_end(const struct pol_list *list, size_t first)
{
	size_t end = first;

	while (end < list->n && list->v[end].layer == list->v[first].layer)
		end++;
	return end;
}

int pol_list_decide(const struct pol_list *list, const char *path, size_t len)
{
	int found = -1;

	for (size_t first = 0, end; first < list->n; first = end) {
		int last;

		end = pol_layer_end(list, first);
		last = pol_list_last_match(list, end, path, len);
		if (last < 0 || !list->v[last].allow)
			return last;
		if (found < 0 || list->v[last].layer == POL_LAYER_MAIN)
			found = last;
	}
	return found;
}

const char *pol_tier_name(enum pol_tier tier)
{
	static const char *const names[POL_TIER_COUNT] = {
#define X(name, text) [POL_TIER_##name] = text,
		POL_TIERS(X)
#undef X
	};

	return (unsigned)tier < POL_TIER_COUNT ? names[tier] : "?";
}
