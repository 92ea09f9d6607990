/* showrules.c - the rules that an engine decides by, for people: `sbx-policy show --effective`. */
#include <string.h>

#include "base/str.h"
#include "policy/build.h"
#include "policy/engine.h"
#include "policy/layers.h"

static void show_rule(const struct pol_rule *r, struct b_str *out)
{
	struct b_str where = {0};

	b_str_addf(&where, "%s%s", r->base_len || r->shape == POL_GLOB ? r->base : "/",
		   r->shape != POL_TREE ? ""
		   : r->base_len	? "/**"
					: "**");
	if (r->shape == POL_GLOB)
		b_str_addf(&where, "/%s", r->glob);
	b_str_addf(out, "  %-5s  %-7s  ", r->allow ? "allow" : "deny", pol_tier_name(r->tier));
	b_str_add_visible(out, where.s, where.len);
	if (strcmp(where.s, r->matched) != 0) {
		b_str_add(out, "  as ");
		b_str_add_visible(out, r->matched, strlen(r->matched));
	}
	b_str_add(out, "  (");
	b_str_add_visible(out, r->origin, strlen(r->origin));
	b_str_addf(out, "%s%s)\n", r->twin ? ", by its real path" : "",
		   r->folds ? ", in either case" : "");
	b_str_release(&where);
}

/* A layer that is not alone is told where it begins. */
static void show_layered(const struct pol_list *list, size_t i, struct b_str *out)
{
	static const char *const names[] = {"managed", "main", "project"};
	unsigned number = list->v[i].layer;

	if ((i == 0 || list->v[i - 1].layer != number) && pol_layer_end(list, 0) < list->n)
		b_str_addf(out, "  layer %s%s\n",
			   names[number < POL_LAYER_PROJECT ? number : POL_LAYER_PROJECT],
			   i == 0 ? ": all layers must allow" : "");
	show_rule(&list->v[i], out);
}

/* The word at index i of "a|b|c". */
static void add_word(struct b_str *out, enum pol_setting s, int i)
{
	const char *w = pol_setting_words(s);

	while (i-- > 0)
		w += strcspn(w, "|") + 1;
	b_str_addf(out, "%s %.*s, ", pol_setting_name(s), (int)strcspn(w, "|"), w);
}

static void show_effect(const struct pol_effect *e, struct b_str *out)
{
	b_str_add(out, "\nsandbox    ");
	add_word(out, POL_SET_reads, (int)e->reads);
	add_word(out, POL_SET_network, (int)e->network);
	add_word(out, POL_SET_unixSockets, (int)e->unix_);
	b_str_addf(out, "%s, %s, %s\n", e->scratch ? "scratch" : "no scratch",
		   e->cache ? "cache" : "no cache", e->lax ? "not strict" : "strict");
}

static void show_opened(const struct pol_engine *e, struct b_str *out)
{
	if (e->nopened)
		b_str_add(out, "\nopened, though programs outside run or obey it\n");
	for (size_t i = 0; i < e->nopened; i++) {
		const struct pol_opened *o = &e->opened[i];

		b_str_add(out, "  ");
		b_str_add_visible(out, o->matched, strlen(o->matched));
		b_str_add(out, " (");
		b_str_add_visible(out, o->origin, strlen(o->origin));
		b_str_add(out, ") ");
		b_str_add_visible(out, o->text, strlen(o->text));
		b_str_addc(out, '\n');
	}
}

void pol_engine_show(const struct pol_engine *e, struct b_str *out)
{
	b_str_addf(out, "policy     ");
	b_str_add_visible(out, e->policy_name, strlen(e->policy_name));
	b_str_add(out, "\nprofile    ");
	b_str_add_visible(out, e->rules.profile, strlen(e->rules.profile));
	for (size_t i = 0; i < e->rules.nworkspaces; i++) {
		b_str_add(out, "\nworkspace  ");
		b_str_add_visible(out, e->rules.workspaces[i], strlen(e->rules.workspaces[i]));
	}
	show_effect(&e->effect, out);
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		const struct pol_list *list = &e->rules.op[op];

		if (op == SBX_EXEC) {
			b_str_add(out, "\nexec: the rules of read\n");
			continue;
		}
		b_str_addf(out, "\n%s: the last rule that matches decides\n",
			   sbx_op_name((enum sbx_op)op));
		for (size_t i = 0; i < list->n; i++)
			show_layered(list, i, out);
		if (list->n == 0)
			b_str_add(out, "  nothing is allowed\n");
	}
	show_opened(e, out);
}
