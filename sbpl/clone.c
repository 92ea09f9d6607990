/*
 * clone.c - the block of file-clone, which stays open under (deny default): a file may be cloned
 * where it may be read, whether or not its place is writable. One list with the verdicts of the
 * read block, consecutive ones in one form, so that it costs few rules. All of a directory's names
 * would come along unasked, those that may not be read, too: no directory is cloned.
 */
#include "base/mem.h"
#include "sbpl/emit.h"

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
