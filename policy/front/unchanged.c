/* SPDX-License-Identifier: Apache-2.0 */
/* unchanged.c - what of a document may change while a run lasts. */
#include <string.h>

#include "base/err.h"
#include "policy/front/dialect.h"

/* The same list serves all languages: none uses one of these keys for anything else. */
static bool may_change(const struct pol_ynode *key)
{
	static const char *const keys[] = {
		"connect",	    "denyConnect",    "local", /* Orbit */
		"metadata",				       /* names and times */
		"network_policies",			       /* OpenShell */
		"allowedDomains",   "deniedDomains",	       /* srt, Claude Code */
		"allowed_domains",  "denied_domains",	       /* caliban */
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (pol_yaml_is_text(key, keys[i]))
			return true;
	return false;
}

static int refuse(const struct pol_ynode *at, const char *key, struct b_err *err)
{
	return pol_pos_fail(err, &at->pos,
			    "`%s` has changed: only rules on endpoints may change during a run: "
			    "change it back, or start the run again",
			    key);
}

static int compare(const struct pol_ynode *was, const struct pol_ynode *is, const char *key,
		   struct b_err *err);

static int compare_maps(const struct pol_ynode *was, const struct pol_ynode *is, struct b_err *err)
{
	for (size_t i = 0; i < is->n; i++) {
		const struct pol_ynode *key = is->v[2 * i], *value = is->v[2 * i + 1];
		const struct pol_ynode *before = pol_yaml_get(was, key->s);

		if (may_change(key))
			continue;
		if (!before)
			return refuse(key, key->s, err);
		if (compare(before, value, key->s, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < was->n; i++)
		if (!may_change(was->v[2 * i]) && !pol_yaml_get(is, was->v[2 * i]->s))
			return refuse(is, was->v[2 * i]->s, err);
	return 0;
}

static int compare(const struct pol_ynode *was, const struct pol_ynode *is, const char *key,
		   struct b_err *err)
{
	if (was->kind != is->kind)
		return refuse(is, key, err);
	if (was->kind == POL_Y_MAP)
		return compare_maps(was, is, err);
	if (was->kind != POL_Y_SEQ)
		return was->len == is->len && memcmp(was->s, is->s, is->len) == 0
			       ? 0
			       : refuse(is, key, err);
	for (size_t i = 0; i < was->n && i < is->n; i++)
		if (compare(was->v[i], is->v[i], key, err) < 0)
			return -1;
	return was->n == is->n ? 0 : refuse(is->n > was->n ? is->v[was->n] : is, key, err);
}

int pol_front_unchanged(const struct pol_input *was, const struct pol_input *is, struct b_err *err)
{
	b_auto(b_arena_release) struct b_arena arena = {0};
	struct pol_ynode *before, *now;

	if (pol_front_tree(was, &arena, &before, err) < 0 ||
	    pol_front_tree(is, &arena, &now, err) < 0)
		return -1;
	return compare(before, now, "the document", err);
}
