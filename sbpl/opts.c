/* opts.c - what a policy's settings mean for its profile. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
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
	if (effect->network == POL_NET_HOST)
		o.groups |= 1u << SBPL_GROUP_DNS | 1u << SBPL_GROUP_TLS;
	/* Without `base` nothing starts at all; what a person installed, rules have to list. */
	if (effect->reads == POL_READS_LISTED)
		o.groups &= ~(1u << SBPL_GROUP_TOOLS);
	return o;
}

void sbpl_opts_add(struct sbpl_opts *o, const struct pol_settings *doc, bool limited)
{
	unsigned long long port;

	o->extra_left = limited && doc->macos.n > 0;
	if (limited)
		return;
	o->extra = &doc->macos;
	for (size_t i = 0; i < doc->macos.n; i++) {
		const char *s = doc->macos.v[i].s;

		o->groups |= sbpl_group_bit(s);
		if (strcmp(s, "loopback") == 0 && o->net <= SBPL_NET_PROXY)
			o->net = SBPL_NET_LOOPBACK;
		if (strncmp(s, "proxy:", 6) == 0 && o->net == SBPL_NET_NONE &&
		    b_parse_u64(s + 6, 65535, &port) == 0) {
			o->net = SBPL_NET_PROXY;
			o->proxy_port = (unsigned)port;
		}
	}
}

int sbpl_put_extra(struct sbpl_emit *e)
{
	const struct pol_texts *list = e->o->extra;

	if (e->o->extra_left)
		sbpl_note(e, "what `macos` of the document opens stays closed: another document "
			     "must allow it as well, and says nothing of it");
	for (size_t i = 0; list && i < list->n; i++) {
		const struct pol_text *t = &list->v[i];

		if (strncmp(t->s, "mach:", 5) != 0)
			continue;
		b_str_add(&e->out, "(allow mach-lookup (global-name ");
		sbpl_put_string(&e->out, t->s + 5, strlen(t->s + 5));
		b_str_addf(&e->out, ")) ; macos of the document, line %u\n", t->pos.line);
		if (sbpl_count_rules(e, 1, "the services") < 0)
			return -1;
	}
	return 0;
}

static void add_rule(void *ctx, unsigned ops, const struct pol_rule *r)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		if (ops >> op & 1)
			pol_ruleset_add(ctx, (enum sbx_op)op, r);
}

void sbpl_system_rules(const struct sbpl_opts *o, struct pol_ruleset *out)
{
	sbpl_groups_rules(o->groups, add_rule, out);
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
