/* policyopts.c - what decides the policy, of the options (options.h): put together, and given back.
 */
#include "launcher/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policy/compile/bundle.h"

/* The rules and settings inside are as if written first on the command line. */
static void take_bundle(struct lau_policy_opts *o)
{
	const struct pol_bundle *b = o->bundle;
	size_t n = b->nrules + o->nrules;
	struct pol_cli_rule *rules = b_calloc(n + 1, sizeof *rules);

	memcpy(rules, b->rules, b->nrules * sizeof *rules);
	if (o->nrules > 0)
		memcpy(rules + b->nrules, o->rules, o->nrules * sizeof *rules);
	free(o->rules);
	o->rules = rules;
	o->nrules = n;
	o->rules_cap = n + 1;
	if (!o->profile)
		o->profile = b->profile;
	o->dialect = (int)b->dialect;
	for (int i = 0; i < POL_SETTING_COUNT; i++)
		if (o->said.v[i] == POL_UNSAID)
			o->said.v[i] = b->said.v[i];
}

int lau_policy_settle(struct lau_policy_opts *o, struct b_err *err)
{
	if (!o->image)
		return 0;
	if (o->policies.n > 0)
		return b_fail(err, B_USAGE, 0, "--image: cannot be used with --policy");
	if (pol_bundle_read(o->image, &o->bundle, err) < 0)
		return b_wrap(err, "--image");
	take_bundle(o);
	return 0;
}

int lau_policy_take(struct lau_policy_opts *o, const void *data, size_t n, struct b_err *err)
{
	if (pol_bundle_parse("the policy of the inner run", data, n, &o->bundle, err) < 0)
		return -1;
	/* who made it may have put any automata beside the rules */
	o->bundle->key[0] = '\0';
	take_bundle(o);
	return 0;
}

void lau_policy_opts_release(struct lau_policy_opts *o)
{
	pol_bundle_free(o->bundle);
	b_strlist_release(&o->policies);
	b_strlist_release(&o->presets);
	b_strlist_release(&o->workspaces);
	free(o->rules);
	*o = (struct lau_policy_opts){0};
}

void lau_policy_request(const struct lau_policy_opts *o, struct pol_request *out)
{
	*out = (struct pol_request){
		.bundle = o->bundle,
		.also_used = o->also_used ? o->also_used : o->image,
		.policies = o->policies.v,
		.npolicies = o->policies.n,
		.dialect = (enum pol_dialect)o->dialect,
		.presets = o->presets.v,
		.npresets = o->presets.n,
		.profile = o->profile,
		.workspaces = o->workspaces.v,
		.nworkspaces = o->workspaces.n,
		.rules = o->rules,
		.nrules = o->nrules,
		.said = &o->said,
	};
}
