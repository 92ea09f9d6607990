/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - what goes into a profile: the layers of a policy, its settings, and the right to
 * clone files. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/document/settings.h"
#include "sbpl/emit.h"

/*
 * Several documents that must all allow, in a profile that is one ordered list: the
 * main one is written in its order, of the others what they deny, behind it. A denial alone, each
 * stands for the paths that its rule decides in its own layer: without those of later allows.
 */

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

/*
 * The block of file-clone, which stays open under (deny default): a file may be cloned
 * where it may be read, whether or not its place is writable. One list with the verdicts of the
 * read block, consecutive ones in one form, so that it costs few rules. All of a directory's names
 * would come along unasked, those that may not be read, too: no directory is cloned.
 */

struct run {
	struct sbpl_emit *e;
	struct b_str filters; /* of one verdict, not yet written */
	bool allow;
	int all; /* what holds of everything so far: 1 allowed, 0 denied, -1 it depends */
};

static int flush(struct run *r)
{
	if (r->filters.len == 0)
		return 0;
	b_str_addf(&r->e->out, "(if (defined? 'file-clone) (%s file-clone%s))\n",
		   r->allow ? "allow" : "deny", b_str_c(&r->filters));
	b_str_reset(&r->filters);
	return sbpl_count_rules(r->e, 1, "clones");
}

static int add(struct run *r, bool allow, const struct b_str *filter)
{
	if ((allow != r->allow || r->filters.len + filter->len > SBPL_MAX_FORM) && flush(r) < 0)
		return -1;
	r->allow = allow;
	b_str_addf(&r->filters, "\n  %s", b_str_c(filter));
	return 0;
}

static int add_rule(struct run *r, const struct pol_rule *rule)
{
	b_auto(b_str_release) struct b_str filter = {0};

	if (rule->allow == r->all)
		return 0;
	r->all = rule->shape == POL_TREE && rule->base_len == 0 ? rule->allow : -1;
	sbpl_put_rule_filter(r->e, &filter, rule, !rule->allow);
	return add(r, rule->allow, &filter);
}

static int add_denial(void *ctx, const struct b_str *filter, const struct pol_rule *rule)
{
	(void)rule;
	return add(ctx, false, filter);
}

static int add_all(struct run *r)
{
	static const struct pol_rule everything = {.shape = POL_TREE, .base = ""};
	const struct pol_list list = sbpl_main_layer(&r->e->rs->op[SBX_READ]);

	if (add_rule(r, &everything) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++)
		if (add_rule(r, &list.v[i]) < 0)
			return -1;
	for (size_t i = 0; i < r->e->nwidened; i++)
		if (r->e->widened[i].op == SBX_READ && add_rule(r, &r->e->widened[i].rule) < 0)
			return -1;
	return sbpl_each_denial(r->e, SBX_READ, add_denial, r);
}

int sbpl_put_clones(struct sbpl_emit *e)
{
	struct run r = {.e = e, .all = -1};
	int rc;

	sbpl_put_title(e, "clones: where reads are allowed");
	rc = add_all(&r);
	if (rc == 0)
		rc = flush(&r);
	b_str_release(&r.filters);
	if (rc < 0)
		return -1;
	b_str_add(&e->out, "(if (defined? 'file-clone) (deny file-clone (vnode-type DIRECTORY)))"
			   " ; with all that lies in it\n");
	return sbpl_count_rules(e, 1, "clones");
}

/* What a policy's settings mean for its profile. */

struct sbpl_opts sbpl_opts_default(void)
{
	return (struct sbpl_opts){.groups = sbpl_groups_default()};
}

struct sbpl_opts sbpl_opts_of(const struct pol_effect *effect)
{
	static const enum sbpl_net nets[] = {
		[POL_NET_NONE] = SBPL_NET_NONE,
		[POL_NET_LOOPBACK] = SBPL_NET_LOOPBACK,
		[POL_NET_WATCH] = SBPL_NET_NONE, /* nothing there is watched */
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

static void opts_add_rule(void *ctx, unsigned ops, const struct pol_rule *r)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		if (ops >> op & 1)
			pol_ruleset_add(ctx, (enum sbx_op)op, r);
}

void sbpl_system_rules(const struct sbpl_opts *o, struct pol_ruleset *out)
{
	sbpl_groups_rules(o->groups, opts_add_rule, out);
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
