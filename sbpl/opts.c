/* opts.c - what a policy's settings mean for its profile. */
#include "base/own.h"
#include "policy/settings.h"
#include "sbpl/emit.h"

struct sbpl_opts sbpl_opts_default(void)
{
	return (struct sbpl_opts){.groups = sbpl_groups_default()};
}

struct sbpl_opts sbpl_opts_of(const struct pol_effect *effect)
{
	static const enum sbpl_net nets[] = {
		[POL_NET_NONE] = SBPL_NET_NONE,
		[POL_NET_LOOPBACK] = SBPL_NET_LOOPBACK,
		[POL_NET_HOST] = SBPL_NET_HOST,
	};
	struct sbpl_opts o = sbpl_opts_default();

	o.net = nets[effect->network];
	o.any_socket = effect->unix_ == POL_UNIX_HOST;
	/* Without `base` nothing starts at all; what a person installed, rules have to list. */
	if (effect->reads == POL_READS_LISTED)
		o.groups &= ~(1u << SBPL_GROUP_TOOLS);
	return o;
}

static void add_rule(void *ctx, unsigned ops, const struct pol_rule *r)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		if (ops >> op & 1)
			pol_ruleset_add(ctx, (enum sbx_op)op, r);
}

void sbpl_system_rules(const struct pol_effect *effect, struct pol_ruleset *out)
{
	sbpl_groups_rules(sbpl_opts_of(effect).groups, add_rule, out);
}

/* Does another rule of the list allow all that this one does? */
static bool is_said(const struct pol_list *list, const struct pol_rule *r)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *by = &list->v[i];

		if (by->allow && !sbpl_is_group_rule(by) && sbpl_is_covered(r, by))
			return true;
	}
	return false;
}

void sbpl_note_groups(struct sbpl_emit *e)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		const struct pol_list list = sbpl_main_layer(&e->rs->op[op]);
		b_auto(b_str_release) struct b_str text = {0};

		for (size_t i = 0; i < list.n; i++)
			if (sbpl_is_group_rule(&list.v[i]) && !is_said(&list, &list.v[i]))
				b_str_addf(&text, "%s%s", text.len ? ", " : "", list.v[i].matched);
		if (text.len)
			sbpl_note(e,
				  "open for %s though no rule says so, because programs for macOS "
				  "need it (rules may deny it): %s",
				  sbx_op_name((enum sbx_op)op), text.s);
	}
}
