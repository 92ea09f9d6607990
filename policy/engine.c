/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/engine.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/rules/build.h"
#include "policy/bundle.h"
#include "policy/front/dialect.h"
#include "policy/compile/requests.h"
#include "policy/compile/ruleset.h"
#include "policy/plan/floor.h"
#include "policy/document/layers.h"
#include "policy/rules/workspace.h"

static int choose_profile(const struct pol_doc *doc, const char *asked, const char **out,
			  struct b_err *err)
{
	b_auto(b_str_release) struct b_str known = {0};

	if (asked || doc->nprofiles == 1) {
		*out = asked ? asked : doc->profiles[0].name.s;
		return 0;
	}
	if (doc->nprofiles == 0)
		return b_fail(err, B_PROFILE, 0,
			      "policy `%s` has no fsProfile: --profile unrestricted, or add one",
			      doc->name.s);
	for (size_t i = 0; i < doc->nprofiles && known.len < 512; i++)
		b_str_addf(&known, "%s%s", i ? ", " : "", doc->profiles[i].name.s);
	return b_fail(err, B_PROFILE, 0, "policy `%s` has several fsProfiles: --profile one of %s",
		      doc->name.s, b_str_c(&known));
}

/* Is the link not below this directory? */
static bool is_elsewhere(void *here, const char *link, size_t len)
{
	return !sbx_path_under(link, len, here, strlen(here));
}

/* `-w sub` may be a link that an earlier run in this directory planted. */
static void tell_linked(struct pol_build *b, const char *text, const char *real)
{
	struct b_arena *a = &b->rs->arena;
	char here[PATH_MAX]; /* the kernel's, without links */

	if (!getcwd(here, sizeof here) || sbx_path_under(real, strlen(real), here, strlen(here)) ||
	    pol_canonical_links(a, pol_given_path(a, text), is_elsewhere, here))
		return;
	pol_build_notice(b,
			 "-w %s passes through a symlink out of the current directory: the "
			 "workspace is %s",
			 text, real);
}

/* A bare repository, or a `.git` that is a file and leads to a place in a workspace. */
static void find_inside(struct pol_build *b, size_t i)
{
	const char *ws = b->rs->workspaces[i], *dir = pol_git_inside(&b->rs->arena, ws);
	bool is_inside = false;

	for (size_t k = 0; dir && k < b->rs->nworkspaces; k++) {
		const char *w = b->rs->workspaces[k];

		is_inside |= sbx_path_under(dir, strlen(dir), w, strlen(w));
	}
	b->inside_dirs[i] = is_inside ? dir : NULL;
	b->plain_dirs[i] = dir && strcmp(dir, ws) == 0 ? NULL : ws;
}

static int find_workspaces(struct pol_build *b, struct b_err *err)
{
	const struct pol_request *rq = b->rq;
	struct b_arena *a = &b->rs->arena;
	size_t n = rq->nworkspaces ? rq->nworkspaces : 1;
	const char *const *texts = rq->workspace_texts ? rq->workspace_texts : rq->workspaces;

	b->rs->workspaces = b_arena_alloc(a, n * sizeof *b->rs->workspaces);
	b->common_dirs = b_arena_alloc(a, n * sizeof *b->common_dirs);
	b->own_dirs = b_arena_alloc(a, n * sizeof *b->own_dirs);
	b->inside_dirs = b_arena_alloc(a, n * sizeof *b->inside_dirs);
	b->plain_dirs = b_arena_alloc(a, n * sizeof *b->plain_dirs);
	for (size_t i = 0; i < n; i++) {
		const char **ws = &b->rs->workspaces[i], *dirs[2];
		size_t ndirs;

		if ((rq->nworkspaces ? pol_workspace_given(a, rq->workspaces[i], ws, err)
				     : pol_workspace_default(a, ws, err)) < 0)
			return -1;
		if (rq->nworkspaces)
			tell_linked(b, texts[i], *ws);
		pol_worktree_dirs(a, *ws, dirs, &ndirs);
		if (ndirs == 2) {
			b->own_dirs[i] = dirs[0];
			b->common_dirs[i] = dirs[1];
		}
	}
	b->rs->nworkspaces = n;
	for (size_t i = 0; i < n; i++)
		find_inside(b, i);
	return 0;
}

static void tell_layers(struct pol_build *b)
{
	const struct pol_pos *pos = b->layers->effect.forbids_lax;

	if (pos)
		pol_build_notice(
			b, "--best-effort has no effect: %s:%u:%u requires strict enforcement",
			pos->file, pos->line, pos->col);
	for (size_t i = 0; i < b->layers->nnotices; i++)
		pol_build_notice(b, "%s", b->layers->notices[i]);
}

/* Behind the workspaces: what is denied there is built as for one, and nothing is opened. */
static void add_above(struct pol_build *b)
{
	size_t n = b->rs->nworkspaces, more = b->layers->nabove;
	const char **v = b_arena_alloc(&b->rs->arena, (n + more) * sizeof *v);

	memcpy(v, b->rs->workspaces, n * sizeof *v);
	for (size_t i = 0; i < more; i++)
		v[n + i] = b_arena_strndup(&b->rs->arena, b->layers->above[i],
					   strlen(b->layers->above[i]));
	b->rs->workspaces = v;
}

/* The documents, unless the caller has loaded them. */
static int load(struct pol_build *b, struct pol_layers *loaded, struct b_err *err)
{
	if (!b->layers) {
		if (pol_layers_load(b->rq, b->rs->workspaces, b->rs->nworkspaces, loaded, err) < 0)
			return -1;
		b->layers = loaded;
	}
	add_above(b);
	return 0;
}

/* All of them: another layer says which. */
static void open_sockets(struct pol_build *b)
{
	const struct pol_rule all = {.allow = true,
				     .shape = POL_TREE,
				     .tier = POL_TIER_BASE,
				     .base = "/",
				     .matched = "/**",
				     .origin = "builtin:sockets:1"};

	pol_build_add(b, POL_OPS(SBX_CONNECT), &all, POL_TWIN_NONE);
}

/* The main layer, in the order of engine.h. */
static int build_main(struct pol_build *b, const struct pol_effective *eff, struct b_err *err)
{
	pol_build_base(b, eff);
	pol_build_stdio(b);
	if (b->rq->with_id_maps)
		pol_build_id_maps(b);
	if (pol_build_profile(b, eff, err) < 0)
		return -1;
	pol_build_allows(b, &b->layers->main.settings);
	if (pol_build_set(b, "secrets", err) < 0 ||
	    (b->rq->with_protected && pol_build_set(b, "protected", err) < 0))
		return -1;
	if (b->rq->with_protected)
		pol_build_git_runs(b);
	if (pol_doc_is_foreign(&b->layers->main))
		pol_build_foreign_closed(b);
	pol_build_own(b);
	if (pol_build_sides(b, err) < 0)
		return -1;
	pol_build_preset_roots(b, &b->layers->main.settings);
	if (b->rq->with_protected)
		pol_build_obeyed(b);
	if (pol_build_roots(b, &b->layers->main.settings, err) < 0 ||
	    pol_build_check_undone(b, err) < 0)
		return -1;
	if (b->layers->effect.all_sockets)
		open_sockets(b);
	pol_build_connect_sockets(b, &b->layers->main.settings, eff);
	if (pol_build_connect(b, &b->layers->main.settings, eff, err) < 0 ||
	    pol_build_cli(b, err) < 0 || pol_build_connect_cli(b, err) < 0)
		return -1;
	if (b->late.kind != B_OK) {
		*err = b->late;
		return -1;
	}
	pol_build_tmp_kept(b);
	pol_build_documents(b);
	pol_build_hidden(b);
	return 0;
}

/* The layers beside it with numbers in [from, to). */
static int build_layers(struct pol_build *b, unsigned from, unsigned to, struct b_err *err)
{
	for (size_t i = 0; i < b->layers->n; i++) {
		struct pol_layer *l = &b->layers->v[i];

		if (l->number >= from && l->number < to &&
		    pol_build_layer(b, l, b->rs->profile, err) < 0)
			return -1;
	}
	return 0;
}

/* Does the main document, or the command line, open any socket? */
static bool opens_sockets(const struct pol_build *b, const struct pol_effective *eff)
{
	const struct pol_settings *s = &b->layers->main.settings;
	const struct pol_said *said = b->rq->said;

	for (size_t i = 0; i < b->rq->nrules; i++)
		if (b->rq->rules[i].op == SBX_CONNECT && b->rq->rules[i].allow &&
		    !b->rq->rules[i].is_endpoint)
			return true;
	if (b->layers->effect.all_sockets)
		return true;
	return (s->roots[POL_ROOTS_sockets].n > 0 || pol_connects_have_socket(&s->connect, true) ||
		pol_connects_have_socket(&eff->connect, true)) &&
	       !(said && said->v[POL_SET_unixSockets] == POL_UNIX_NONE);
}

static int build(struct pol_build *b, struct pol_layers *loaded, struct b_err *err)
{
	const char *profile = NULL;
	struct pol_effective eff;

	if (find_workspaces(b, err) < 0 || load(b, loaded, err) < 0 ||
	    choose_profile(&b->layers->main, b->rq->profile, &profile, err) < 0 ||
	    pol_doc_effective(&b->layers->main, profile, &eff, err) < 0)
		return -1;
	b->rs->profile = b_arena_strndup(&b->rs->arena, eff.name, strlen(eff.name));
	b->homes = pol_homes(&b->rs->arena, &b->nhomes);
	if (pol_build_network(b, &eff, err) < 0)
		return -1;
	b->has_sockets = opens_sockets(b, &eff);
	if (pol_doc_is_foreign(&b->layers->main) && pol_build_foreign(b, err) < 0)
		return -1;
	if (build_layers(b, POL_LAYER_MANAGED, POL_LAYER_MAIN, err) < 0 ||
	    build_main(b, &eff, err) < 0 ||
	    build_layers(b, POL_LAYER_PROJECT, POL_LAYERS_MAX, err) < 0 ||
	    pol_build_spared(b, err) < 0)
		return -1;
	pol_build_opened(b); /* behind all layers: what one of them closes is not open */
	pol_build_network_held(b, &eff);
	tell_layers(b);
	/* no dialect so far says more of it */
	pol_ruleset_copy(b->rs, SBX_READ, SBX_EXEC);
	for (int op = 0; op < SBX_OP_COUNT; op++)
		b->own_rules[op] = b->rs->op[op].n;
	return pol_build_outer(b, err);
}

/* Directory links of the system that paths often pass through, longest first. */
static size_t find_aliases(struct b_arena *a, struct pol_alias *out)
{
	static const char *const links[] = {"/var/lock", "/var/run", "/libx32", "/lib32",
					    "/lib64",	 "/sbin",    "/bin",	"/lib"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		const char *real = pol_canonical(a, links[i]);

		if (strcmp(real, links[i]) != 0)
			out[n++] = (struct pol_alias){links[i], real};
	}
	return n;
}

static bool is_of_rule(const struct pol_engine *e, const struct sbx_image_rule *r, bool allow,
		       const char *matched, const char *origin)
{
	return r->allow == allow && strcmp(sbx_image_text(&e->image, r->matched), matched) == 0 &&
	       strcmp(sbx_image_text(&e->image, r->origin), origin) == 0;
}

/* Behind the endpoints, in their order. */
static bool is_of_requests(const struct pol_engine *e, const struct sbx_image_rule *r)
{
	const struct pol_endpoints *net = &e->rules.net;
	size_t n = 0;

	for (size_t i = 0; i < net->n; i++)
		n += net->v[i].requests ? net->v[i].requests->n : 0;
	if (e->image.hdr->net.requests.nrules != n)
		return false;
	for (size_t i = 0; i < net->n; i++) {
		const struct pol_http_rules *http = net->v[i].requests;

		for (size_t k = 0; http && k < http->n; k++, r++)
			if (!is_of_rule(e, r, http->v[k].allow, http->v[k].matched,
					http->v[k].origin))
				return false;
	}
	return true;
}

static bool is_of_endpoints(const struct pol_engine *e, const struct sbx_image_rule *r)
{
	const struct pol_endpoints *net = &e->rules.net;

	if (e->image.hdr->net.nrules != net->n || e->image.hdr->net.nlayers != net->nlayers)
		return false;
	for (size_t i = 0; i < net->n; i++)
		if (!is_of_rule(e, &r[i], net->v[i].allow, net->v[i].matched, net->v[i].origin))
			return false;
	return is_of_requests(e, r + net->n);
}

/* The cache goes by names, and one file may have come in the place of another. */
static bool is_of_rules(const struct pol_engine *e)
{
	const struct sbx_image_header *h = e->image.hdr;
	const struct sbx_image_rule *all = (const void *)(e->image.base + h->rules);

	for (int op = 0; op < SBX_OP_COUNT; op++) {
		const struct sbx_image_rule *r = all + h->op[op].first_rule;
		const struct pol_list *list = &e->rules.op[op];

		if (h->op[op].nrules != list->n)
			return false;
		for (size_t i = 0; i < list->n; i++, r++)
			if (!is_of_rule(e, r, list->v[i].allow, list->v[i].matched,
					list->v[i].origin))
				return false;
	}
	return is_of_endpoints(e, all + h->net.first_rule);
}

/* The image of these rules, when an earlier run compiled it. */
static bool recall(struct pol_engine *e, const char *dir, const char *key)
{
	struct pol_cached *c = &e->cached;
	struct sbx_image before;

	if (!pol_imgcache_get(dir, key, c))
		return false;
	before = e->image;
	if (sbx_image_open(&e->image, c->map, c->size, false) != SBX_IMAGE_OK || !is_of_rules(e)) {
		(void)unlink(c->path); /* made anew */
		pol_cached_release(c);
		e->image = before;
		return false;
	}
	e->image_data = c->map;
	memcpy(e->hash, c->hash, sizeof e->hash);
	return true;
}

/* From now on the image is the one in the file, so that nobody needs a copy of it. */
static void keep(struct pol_engine *e, const char *dir, const char *key, size_t size)
{
	void *made = e->image_data;

	pol_imgcache_put(dir, key, made, size, e->hash);
	if (recall(e, dir, key))
		free(made);
}

static bool fits_bundle(const struct pol_engine *e, const struct pol_compile_opts *opts,
			const struct pol_bundle *bundle)
{
	char key[B_SHA256_HEX];

	pol_imgcache_rules_key(&e->rules, opts, key);
	return strcmp(bundle->key, key) == 0;
}

void pol_engine_rules_key(struct pol_engine *e, char out[B_SHA256_HEX])
{
	struct pol_alias aliases[16];
	struct pol_compile_opts opts = {
		.aliases = aliases, .folds = e->image.hdr->folds, .inside = e->image.hdr->inside};

	opts.naliases = find_aliases(&e->rules.arena, aliases);
	pol_imgcache_rules_key(&e->rules, &opts, out);
}

static int compile(struct pol_engine *e, const struct pol_request *rq, struct b_err *err)
{
	const char *cache = rq->image_cache;
	struct pol_alias aliases[16];
	struct pol_compile_opts opts = {
		.aliases = aliases, .folds = rq->folds || pol_host_may_fold(), .inside = rq->outer};
	enum sbx_image_status status;
	char key[B_SHA256_HEX];
	size_t size;

	opts.naliases = find_aliases(&e->rules.arena, aliases);
	if (cache) {
		pol_imgcache_key(&e->rules, &opts, key);
		if (recall(e, cache, key))
			return 0;
	}
	if (rq->bundle && fits_bundle(e, &opts, rq->bundle)) {
		size = rq->bundle->image_size;
		e->image_data = b_malloc(size);
		memcpy(e->image_data, rq->bundle->image, size);
	} else if (pol_compile(&e->rules, &opts, &e->image_data, &size, err) < 0) {
		return -1;
	}
	status = sbx_image_open(&e->image, e->image_data, size, false);
	if (status != SBX_IMAGE_OK)
		return b_fail(err, B_FORMAT, 0, "compiled policy: %s",
			      sbx_image_status_text(status));
	b_sha256_hex(e->image_data, size, e->hash);
	if (cache)
		keep(e, cache, key, size);
	return 0;
}

static bool opens_endpoints(const struct pol_endpoints *net)
{
	for (size_t i = 0; i < net->n; i++)
		if (net->v[i].allow)
			return true;
	return false;
}

int pol_engine_new(const struct pol_request *rq, struct pol_engine **out, struct b_err *err)
{
	struct pol_engine *e = b_calloc(1, sizeof *e);
	struct pol_build b = {.rs = &e->rules, .rq = rq, .layers = rq->layers};
	struct pol_layers loaded = {0};
	const char *name;
	int rc = -1;

	pol_ruleset_init(&e->rules);
	e->cached.fd = -1;
	if (build(&b, &loaded, err) == 0)
		rc = rq->no_image ? 0 : compile(e, rq, err);
	if (rc == 0) {
		name = b.layers->main_name;
		e->policy_name = b_arena_strndup(&e->rules.arena, name, strlen(name));
		e->effect = b.layers->effect;
		if (e->effect.upstream)
			e->effect.upstream = b_arena_strndup(&e->rules.arena, e->effect.upstream,
							     strlen(e->effect.upstream));
		e->effect.forbids_lax = NULL; /* told, and gone with its document */
		e->effect.by_endpoint = e->effect.network != POL_NET_HOST &&
					(e->effect.network == POL_NET_WATCH ||
					 e->effect.publish.n || opens_endpoints(&e->rules.net));
	}
	pol_layers_release(&loaded);
	if (rc < 0) {
		pol_engine_free(e);
		return -1;
	}
	e->has_endpoints = rq->with_endpoints;
	e->notices = b.notices.v;
	e->nnotices = b.notices.n;
	e->opened = b.opened;
	e->nopened = b.nopened;
	e->mounts = b.mounts;
	e->nmounts = b.nmounts;
	e->losses = b.losses.v;
	e->nlosses = b.losses.n;
	memcpy(e->own_rules, b.own_rules, sizeof e->own_rules);
	*out = e;
	return 0;
}

/* The rules of one document. What it says nothing of, it allows; where no document says anything of
 * an operation, nothing is allowed. */
static void take_layer(const struct pol_engine *e, unsigned layer, struct pol_ruleset *out)
{
	static const struct pol_rule all = {.allow = true,
					    .shape = POL_TREE,
					    .tier = POL_TIER_BASE,
					    .base = "",
					    .matched = "/**",
					    .origin = "builtin:base:1"};

	for (int op = 0; op < SBX_OP_COUNT; op++) {
		const struct pol_list *list = &e->rules.op[op];

		for (size_t i = 0; i < e->own_rules[op]; i++)
			if (list->v[i].layer == layer)
				pol_ruleset_add(out, (enum sbx_op)op, &list->v[i]);
		if (out->op[op].n == 0 && e->own_rules[op] > 0)
			pol_ruleset_add(out, (enum sbx_op)op, &all);
	}
}

/* One bit for each document. */
static unsigned own_layers(const struct pol_engine *e)
{
	unsigned set = 0;

	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < e->own_rules[op]; i++)
			set |= 1u << e->rules.op[op].v[i].layer;
	return set;
}

int pol_engine_part(struct pol_engine *e, const char *cache, struct b_err *err)
{
	const struct pol_request rq = {.image_cache = cache, .folds = e->image.hdr->folds};
	unsigned set = own_layers(e);

	if (!(set & (set - 1)) && !e->image.hdr->inside)
		return 0;
	for (unsigned layer = 0; set >> layer; layer++) {
		struct pol_engine *part;

		if (!(set >> layer & 1))
			continue;
		part = b_calloc(1, sizeof *part);
		pol_ruleset_init(&part->rules);
		part->cached.fd = -1;
		e->part[e->nparts++] = part;
		take_layer(e, layer, &part->rules);
		if (compile(part, &rq, err) < 0)
			return -1;
	}
	return 0;
}

int pol_engine_refuse(const struct pol_engine *e, struct b_err *err)
{
	if (e->nlosses == 0 || e->effect.lax)
		return 0;
	return b_fail(err, B_FLOOR, 0, "cannot be enforced: %s", e->losses[0]);
}

void pol_engine_free(struct pol_engine *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->nparts; i++)
		pol_engine_free(e->part[i]);
	pol_ruleset_release(&e->rules);
	if (!e->cached.map)
		free(e->image_data);
	pol_cached_release(&e->cached);
	free(e);
}
