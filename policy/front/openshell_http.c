/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openshell_http.c - what an endpoint of OpenShell with `protocol: rest` says of requests, as the
 * ordered rules of ours: the allowing rules first, then the denying ones, so that a denial is the
 * last that matches. The endpoint was checked before (openshell_net.c).
 */
#include "policy/front/dialect.h"

#include <string.h>

#include "policy/compile/requests.h"

static const char *origin_of(struct b_arena *a, const struct pol_ynode *node)
{
	return b_arena_printf(a, "%s:%u:%u", node->pos.file, node->pos.line, node->pos.col);
}

/* NULL for the word that means all. */
static const char *unless_all(const struct pol_ynode *v, const char *all)
{
	return !v || v->kind != POL_Y_STR || strcmp(v->s, all) == 0 ? NULL : v->s;
}

/* Of a document with mistakes, which is refused when all are found, less may be there. */
static const char *text_of(const struct pol_ynode *v)
{
	return v && v->kind == POL_Y_STR ? v->s : "";
}

static bool is_list(const struct pol_ynode *v)
{
	return v && v->kind == POL_Y_SEQ;
}

/* "x", {glob: x}, {any: [x, y]} */
static struct pol_http_param param_of(struct b_arena *a, const struct pol_ynode *key,
				      const struct pol_ynode *matcher)
{
	const struct pol_ynode *any = pol_yaml_get(matcher, "any");
	const struct pol_ynode *one =
		matcher->kind == POL_Y_STR ? matcher : pol_yaml_get(matcher, "glob");
	size_t n = is_list(any) ? any->n : 1;
	const char **glob = b_arena_alloc(a, (n + 1) * sizeof *glob);

	for (size_t i = 0; i < n; i++)
		glob[i] = text_of(is_list(any) ? any->v[i] : one);
	return (struct pol_http_param){.key = key->s, .glob = glob, .nglobs = n};
}

static void add_match(struct b_arena *a, struct pol_http_rules *out, const struct pol_ynode *match,
		      bool allow)
{
	const struct pol_ynode *method = pol_yaml_get(match, "method"),
			       *path = pol_yaml_get(match, "path"),
			       *query = pol_yaml_get(match, "query");
	struct pol_http_rule r = {.allow = allow,
				  .method = unless_all(method, "*"),
				  .path = unless_all(path, "**"),
				  /* a star of OpenShell ends at a dot; one that denies does not */
				  .query = allow ? POL_GLOB_DOTS : POL_GLOB_TEXT,
				  .origin = origin_of(a, match)};
	struct pol_http_param *params;

	/* where a word is missing OpenShell's rule allows nothing; one that denies shuts more here
	 */
	if (allow && (!method || !path))
		return;
	if (query && query->kind == POL_Y_MAP && query->n) {
		params = b_arena_alloc(a, query->n * sizeof *params);
		for (size_t i = 0; i < query->n; i++)
			params[i] = param_of(a, query->v[2 * i], query->v[2 * i + 1]);
		r.param = params;
		r.nparams = query->n;
	}
	pol_http_rules_add(a, out, &r);
}

static void add_access(struct b_arena *a, struct pol_http_rules *out,
		       const struct pol_ynode *access)
{
	static const char *const words[] = POL_ACCESS_WORDS;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (pol_yaml_is_text(access, words[i]))
			pol_http_rules_access(a, out, (enum pol_access)i, origin_of(a, access));
}

static bool is_port(const struct pol_ynode *v, const char *port)
{
	return v->s && strcmp(v->s, port) == 0;
}

static bool has_encrypted_port(const struct pol_ynode *endpoint)
{
	const struct pol_ynode *one = pol_yaml_get(endpoint, "port"),
			       *all = pol_yaml_get(endpoint, "ports");
	bool found = one && is_port(one, "443");

	for (size_t i = 0; all && all->kind == POL_Y_SEQ && i < all->n; i++)
		found |= is_port(all->v[i], "443");
	return found;
}

/* Only this keeps it from being ended: `terminate` and `passthrough` are old words for leaving it
 * out. */
static bool skips_tls(const struct pol_ynode *endpoint)
{
	return pol_yaml_is_text(pol_yaml_get(endpoint, "tls"), "skip");
}

bool pol_openshell_is_judged(const struct pol_ynode *endpoint)
{
	return pol_yaml_is_text(pol_yaml_get(endpoint, "protocol"), "rest") &&
	       !(skips_tls(endpoint) && has_encrypted_port(endpoint)) &&
	       !pol_yaml_get(endpoint, "path") && !pol_yaml_get(endpoint, "credential_signing");
}

bool pol_openshell_requests(struct b_arena *a, const struct pol_ynode *endpoint,
			    struct pol_http_rules *out)
{
	const struct pol_ynode *rules = pol_yaml_get(endpoint, "rules"),
			       *deny = pol_yaml_get(endpoint, "deny_rules"),
			       *access = pol_yaml_get(endpoint, "access");

	if (!pol_yaml_is_text(pol_yaml_get(endpoint, "protocol"), "rest"))
		return false;
	*out = (struct pol_http_rules){
		.is_audit = !pol_yaml_is_text(pol_yaml_get(endpoint, "enforcement"), "enforce"),
		.keeps_slashes = pol_yaml_is_true(pol_yaml_get(endpoint, "allow_encoded_slash")),
		.no_tls = skips_tls(endpoint),
	};
	if (access)
		add_access(a, out, access);
	for (size_t i = 0; is_list(rules) && i < rules->n; i++)
		if (pol_yaml_get(rules->v[i], "allow"))
			add_match(a, out, pol_yaml_get(rules->v[i], "allow"), true);
	for (size_t i = 0; is_list(deny) && i < deny->n; i++)
		add_match(a, out, deny->v[i], false);
	return true;
}
