/*
 * layer_rules.c - the rules of a document that stands beside the main one: what its profile allows
 * in its workspaces, and everything elsewhere, of which it has nothing to say but what its
 * settings deny.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/absolute.h"
#include "policy/layers.h"

/* The profile of the run's name, else its only one; of a document without profiles all of the
 * workspace, minus its denies. */
static int choose(struct pol_layer *l, const char *run_profile, struct pol_effective *out,
		  struct b_err *err)
{
	struct pol_doc *doc = &l->doc;

	for (size_t i = 0; i < doc->nprofiles; i++)
		if (strcmp(doc->profiles[i].name.s, run_profile) == 0)
			return pol_doc_effective(doc, run_profile, out, err);
	if (doc->nprofiles > 1)
		return b_fail(err, B_PROFILE, 0,
			      "%s%s: no fsProfile `%s`, and several others: expected one of this "
			      "name, or only one",
			      l->label, doc->name.pos.file, run_profile);
	return pol_doc_effective(doc, doc->nprofiles ? doc->profiles[0].name.s : "unrestricted",
				 out, err);
}

static void add_tree(struct pol_build *b, unsigned ops, const char *path, const char *matched,
		     bool allow, const struct pol_pos *pos)
{
	struct pol_rule r = {
		.allow = allow,
		.shape = POL_TREE,
		.tier = POL_TIER_BASE,
		.base = path,
		.matched = matched,
		.origin = pol_build_origin(b, pos),
	};

	pol_build_add(b, ops, &r, POL_TWIN_NONE);
}

static const char *sentinel(const struct pol_effective *eff, enum sbx_op op)
{
	for (size_t i = 0; i < eff->n[op]; i++)
		if (!eff->v[op][i].negated && !eff->v[op][i].is_exception)
			return "<no matching rule>";
	return "[]";
}

/* Sockets: only where the main document opens any. */
static void add_sockets(struct pol_build *b, const struct pol_layer *l)
{
	const struct pol_setting_value *v = &l->doc.settings.value[POL_SET_unixSockets];
	bool is_limit = v->said && v->v == POL_UNIX_NONE;

	if (b->has_sockets)
		add_tree(b, POL_OPS(SBX_CONNECT), "/", is_limit ? "unixSockets" : "/**", !is_limit,
			 is_limit ? &v->pos : &l->doc.name.pos);
}

int pol_build_layer(struct pol_build *b, struct pol_layer *l, const char *run_profile,
		    struct b_err *err)
{
	struct pol_effective eff;
	int rc;

	if (choose(l, run_profile, &eff, err) < 0)
		return -1;
	b->at = l;
	add_tree(b, POL_OPS(SBX_READ) | POL_OPS(SBX_MODIFY), "/", "/**", true, &l->doc.name.pos);
	for (size_t w = l->first_ws; w < l->end_ws; w++)
		for (int op = SBX_READ; op <= SBX_MODIFY; op++)
			add_tree(b, POL_OPS(op), b->rs->workspaces[w],
				 sentinel(&eff, (enum sbx_op)op), false, &l->doc.name.pos);
	add_sockets(b, l);
	rc = pol_build_profile(b, &eff, err);
	if (rc == 0)
		pol_build_allows(b, &l->doc.settings);
	if (rc == 0)
		rc = pol_build_roots(b, &l->doc.settings, err);
	b->at = NULL;
	return rc;
}
