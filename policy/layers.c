/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - the managed, project and user documents of a run, as layers that must all allow. */
#include "policy/document/layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "core/image.h"
#include "policy/bundle.h"
#include "policy/document/documents.h"
#include "policy/document/request.h"
#include "policy/front/dialect.h"
#include "policy/front/presets.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

void pol_layers_tell(struct pol_layers *l, const char *line)
{
	b_grow(l->notices, l->nnotices, l->notices_cap);
	l->notices[l->nnotices++] = line;
}

static struct pol_layer *add_layer(struct pol_layers *l, const struct pol_layer *layer)
{
	b_grow(l->v, l->n, l->cap);
	l->v[l->n] = *layer;
	return &l->v[l->n++];
}

/* Documents beside the main one only tighten it, by what a workspace's profile says: Orbit's. */
static int put_orbit(const char *path, const struct b_str *text, struct pol_doc *doc,
		     struct b_err *err)
{
	const struct pol_input in = {.name = path,
				     .text = b_str_c(text),
				     .len = text->len,
				     .dialect = POL_DIALECT_orbit};

	return pol_documents_put(&in, doc, err);
}

/* ---- managed ---- */

static int load_managed(const struct pol_request *rq, size_t nworkspaces, struct pol_layers *l,
			struct b_err *err)
{
	const char *path = rq->managed ? rq->managed : POL_MANAGED_FILE;
	struct pol_layer layer = {.number = POL_LAYER_MANAGED,
				  .label = "managed:",
				  .is_managed = true,
				  .end_ws = nworkspaces};
	b_auto(b_str_release) struct b_str text = {0};
	bool is_there;

	if (pol_managed_read(path, &text, &is_there, err) < 0)
		return -1;
	if (!is_there)
		return 0;
	if (put_orbit(path, &text, &layer.doc, err) < 0)
		return b_wrap(err, "managed policy");
	add_layer(l, &layer);
	return 0;
}

/* Each is a layer of its own: all must allow. Their numbers lie behind the main document's, as
 * those of projects, which follow. */
static int load_signed(const struct pol_request *rq, size_t nworkspaces, struct pol_layers *l,
		       struct b_err *err)
{
	for (size_t i = 0; i < rq->nsigned_texts; i++) {
		const struct pol_signed_text *t = &rq->signed_texts[i];
		struct pol_layer layer = {.number = POL_LAYER_PROJECT + (unsigned)i,
					  .label = "managed:",
					  .is_managed = true,
					  .end_ws = nworkspaces};
		b_auto(b_str_release) struct b_str text = {0};
		const char *path = b_arena_printf(&l->arena, "%s/%s", rq->signed_name, t->name);

		b_str_addn(&text, t->text, t->len);
		if (put_orbit(path, &text, &layer.doc, err) < 0)
			return b_wrap(err, "signed policy");
		add_layer(l, &layer);
	}
	if (rq->signed_note)
		pol_layers_tell(
			l, b_arena_strndup(&l->arena, rq->signed_note, strlen(rq->signed_note)));
	return 0;
}

/* ---- projects ---- */

struct project {
	const char *path;
	struct b_str text;
	enum pol_trust trust;
	size_t ws;
};

/* What it asks for and, as a layer, cannot have: "the network, Unix sockets", or NULL. */
static const char *wishes(struct b_arena *a, const struct pol_doc *doc, const struct pol_effect *e)
{
	const struct pol_setting_value *v = doc->settings.value;
	const struct pol_texts *roots = doc->settings.roots;
	const struct {
		bool is_wished;
		const char *text;
	} all[] = {
		{v[POL_SET_network].said && v[POL_SET_network].v > (int)e->network, "the network"},
		{v[POL_SET_unixSockets].said && v[POL_SET_unixSockets].v > (int)e->unix_,
		 "Unix sockets"},
		{roots[POL_ROOTS_sideRoots].n + roots[POL_ROOTS_openModify].n > 0, "side roots"},
		{e->reads != POL_READS_BROAD &&
			 roots[POL_ROOTS_readRoots].n + roots[POL_ROOTS_openRead].n > 0,
		 "more to read"},
	};
	const char *text = NULL;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].is_wished)
			text = text ? b_arena_printf(a, "%s, %s", text, all[i].text) : all[i].text;
	return text;
}

static void tell_wishes(struct pol_layers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct pol_layer *p = &l->v[i];
		const char *what = p->is_managed ? NULL : wishes(&l->arena, &p->doc, &l->effect);

		if (what)
			pol_layers_tell(
				l, b_arena_printf(
					   &l->arena,
					   "%s asks for %s, but a project file can only tighten "
					   "the policy: sbx-policy trust %s allows more",
					   p->doc.files.v[0].s, what, p->doc.files.v[0].s));
	}
}

/* Whoever asked for more should know who said no. */
static void tell_narrowed(struct pol_layers *l, const struct pol_request *rq)
{
	static const struct {
		enum pol_setting setting;
		const char *option, *key;
	} rows[] = {{POL_SET_network, "--network", "network"},
		    {POL_SET_unixSockets, "--unix", "unixSockets"}};

	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		for (size_t i = 0; i < l->n && rq->said; i++) {
			const struct pol_layer *p = &l->v[i];
			const struct pol_setting_value *v = &p->doc.settings.value[rows[k].setting];

			if (v->said && v->v < rq->said->v[rows[k].setting])
				pol_layers_tell(
					l,
					b_arena_printf(&l->arena,
						       "%s opens less than it asks for: %s:%u:%u "
						       "closes it (%s)",
						       rows[k].option, p->doc.files.v[0].s,
						       v->pos.line, v->pos.col, rows[k].key));
		}
}

static int add_project(struct pol_layers *l, struct project *p, struct b_err *err)
{
	struct pol_layer layer = {.number = POL_LAYER_PROJECT,
				  .label = "project:",
				  .first_ws = p->ws,
				  .end_ws = p->ws + 1};

	if (l->n)
		layer.number += l->v[l->n - 1].number >= POL_LAYER_PROJECT
					? l->v[l->n - 1].number - POL_LAYER_PROJECT + 1
					: 0;
	if (layer.number >= POL_LAYERS_MAX)
		return b_fail(err, B_LIMIT, 0, "%s: more than %d project files", p->path,
			      POL_LAYERS_MAX - POL_LAYER_PROJECT);
	if (put_orbit(p->path, &p->text, &layer.doc, err) < 0)
		return -1;
	add_layer(l, &layer);
	return 0;
}

/* Orbit calls a trusted project file the workspace's policy. If the user names no other policy, it
 * is the policy. */
static int merge_project(struct pol_layers *l, struct project *p, struct b_err *err)
{
	struct pol_doc doc = {0}, both = {0};
	int rc = 0;

	if (put_orbit(p->path, &p->text, &doc, err) < 0)
		return -1;
	if (pol_doc_is_foreign(&l->main)) {
		pol_doc_release(&doc);
		pol_layers_tell(
			l, b_arena_printf(&l->arena,
					  "%s is trusted, but a policy of %s cannot be merged with "
					  "another: it only tightens the policy",
					  p->path, pol_dialect_name(l->main.foreign.dialect)));
		return add_project(l, p, err);
	}
	if (l->main.files.n == 0) {
		both = doc;
		l->main_name = b_arena_strndup(&l->arena, p->path, strlen(p->path));
	} else {
		rc = pol_doc_merge(&l->main, &doc, &both, err);
		l->main_name = b_arena_printf(&l->arena, "%s + %s", l->main_name, p->path);
		pol_doc_release(&doc);
	}
	if (rc < 0)
		return -1;
	pol_doc_release(&l->main);
	l->main = both;
	return 0;
}

static int load_project(const char *const *workspaces, size_t n, struct project *p,
			struct pol_layers *l, struct b_err *err)
{
	char hash[B_SHA256_HEX];
	bool is_there;

	p->path = b_arena_printf(&l->arena, "%s/%s",
				 strcmp(workspaces[p->ws], "/") == 0 ? "" : workspaces[p->ws],
				 POL_PROJECT_FILE);
	if (pol_project_read(p->path, &p->text, &is_there, err) < 0)
		return -1;
	if (!is_there)
		return 0;
	b_sha256_hex(p->text.s, p->text.len, hash);
	p->trust = pol_trust_of(pol_trust_place(l, workspaces, n), p->path, hash);
	if (p->trust == POL_TRUST_CHANGED)
		pol_layers_tell(
			l, b_arena_printf(&l->arena,
					  "%s has changed since it was trusted, and only tightens "
					  "the policy: sbx-policy trust %s",
					  p->path, p->path));
	if (p->trust == POL_TRUSTED && n == 1)
		return merge_project(l, p, err);
	if (p->trust == POL_TRUSTED)
		pol_layers_tell(
			l, b_arena_printf(&l->arena,
					  "%s is trusted only when its workspace is the only one: "
					  "with several it only tightens the policy",
					  p->path));
	return add_project(l, p, err);
}

/* Of a directory above the workspace: it tightens, trusted or not. */
static int load_above(size_t n, size_t i, struct pol_layers *l, struct b_err *err)
{
	struct project p = {.ws = n + i};
	bool is_there;
	int rc;

	p.path = b_arena_printf(&l->arena, "%s/%s", l->above[i], POL_PROJECT_FILE);
	rc = pol_project_read(p.path, &p.text, &is_there, err);
	if (rc == 0 && is_there)
		rc = add_project(l, &p, err);
	b_str_release(&p.text);
	return rc;
}

static int load_projects(const char *const *workspaces, size_t n, struct pol_layers *l,
			 struct b_err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct project p = {.ws = i};
		int rc = load_project(workspaces, n, &p, l, err);

		b_str_release(&p.text);
		if (rc < 0)
			return b_wrap(err, "project file");
	}
	for (size_t i = 0; i < l->nabove; i++)
		if (load_above(n, i, l, err) < 0)
			return b_wrap(err, "project file");
	return 0;
}

/* ---- presets ---- */

/* A policy of another system says all there is to say. */
static int take_whole(struct pol_doc *doc, const struct pol_preset *preset, struct b_err *err)
{
	const struct pol_input in = {
		.name = preset->file, .text = preset->text, .len = preset->len};

	if (doc->files.n > 0 || pol_doc_is_foreign(doc))
		return b_fail(err, B_USAGE, 0,
			      "it is a whole policy: give no other policy with it");
	pol_doc_release(doc);
	return pol_front_parse(&in, doc, err);
}

/* A set of paths is in force anyway; what was taken once is. */
static int absorb(struct pol_doc *doc, const char *name, bool *taken, struct b_err *err)
{
	const struct pol_preset *preset = pol_preset_find(name);
	const struct pol_ynode *kind =
		preset ? pol_yaml_get(pol_preset_root(preset), "kind") : NULL;
	struct pol_doc under = {0};
	int rc;

	if (!preset)
		return b_fail(err, B_USAGE, 0, "no preset `%s`: sbx-policy presets lists all",
			      name);
	if (taken[preset - pol_presets])
		return 0;
	if (!kind && pol_yaml_get(pol_preset_root(preset), "filesystem_policy")) {
		taken[preset - pol_presets] = true;
		return take_whole(doc, preset, err);
	}
	if (!kind || !kind->s || strcmp(kind->s, "Policy") != 0)
		return 0;
	taken[preset - pol_presets] = true;
	if (pol_orbit_take(pol_preset_root(preset), &under, err) < 0)
		return -1;
	rc = pol_doc_absorb(doc, &under, err);
	pol_doc_release(&under);
	return rc;
}

static int absorb_presets(const struct pol_request *rq, struct pol_layers *l, struct b_err *err)
{
	const struct pol_texts named = l->main.settings.presets;
	b_auto_free bool *taken = b_calloc(pol_presets_n, sizeof *taken);

	for (size_t i = 0; i < rq->npresets; i++)
		if (absorb(&l->main, rq->presets[i], taken, err) < 0)
			return b_wrap(err, "--preset %s", rq->presets[i]);
	for (size_t i = 0; i < named.n; i++)
		if (absorb(&l->main, named.v[i].s, taken, err) < 0)
			return b_wrap(err, "preset %s", named.v[i].s);
	return 0;
}

/* ---- all ---- */

static int settle(const struct pol_request *rq, struct pol_layers *l, struct b_err *err)
{
	const struct pol_said nothing = pol_said_nothing();
	const struct pol_settings **limits = b_arena_alloc(&l->arena, (l->n + 1) * sizeof *limits);

	for (size_t i = 0; i < l->n; i++)
		limits[i] = &l->v[i].doc.settings;
	return pol_settings_settle(&l->main.settings, limits, l->n, rq->said ? rq->said : &nothing,
				   l->main.files.n > 0, &l->effect, err);
}

int pol_layers_load(const struct pol_request *rq, const char *const *workspaces, size_t nworkspaces,
		    struct pol_layers *out, struct b_err *err)
{
	struct pol_layers l = {0};

	if ((rq->bundle ? pol_bundle_documents(rq->bundle, &l.main, &l.main_name, err)
			: pol_documents_load(rq->policies, rq->npolicies, rq->dialect, &l.main,
					     &l.main_name, err)) < 0)
		return -1;
	l.main_name = b_arena_strndup(&l.arena, l.main_name, strlen(l.main_name));
	if (nworkspaces == 1 && (rq->is_default_workspace || !rq->nworkspaces))
		l.nabove = pol_workspace_above(&l.arena, workspaces[0], l.above);
	if (load_managed(rq, nworkspaces, &l, err) < 0 ||
	    load_signed(rq, nworkspaces, &l, err) < 0 ||
	    load_projects(workspaces, nworkspaces, &l, err) < 0 ||
	    absorb_presets(rq, &l, err) < 0 || settle(rq, &l, err) < 0) {
		pol_layers_release(&l);
		return -1;
	}
	tell_wishes(&l);
	tell_narrowed(&l, rq);
	*out = l;
	return 0;
}

void pol_layers_release(struct pol_layers *l)
{
	for (size_t i = 0; i < l->n; i++)
		pol_doc_release(&l->v[i].doc);
	pol_doc_release(&l->main);
	free(l->v);
	free(l->notices);
	b_arena_release(&l->arena);
	*l = (struct pol_layers){0};
}

/*
 * The rules of a document that stands beside the main one: what its profile allows
 * in its workspaces, and everything elsewhere, of which it has nothing to say but what its
 * settings deny.
 */

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
			      "%s%s: no fsProfile `%s`: expected one of this name, or a single one",
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
	if (rc == 0)
		pol_build_connect_sockets(b, &l->doc.settings, &eff);
	if (rc == 0)
		rc = pol_build_connect(b, &l->doc.settings, &eff, err);
	b->at = NULL;
	return rc;
}

/* A run inside a run: what the outer one allows stands behind the rules as further
 * layers, which must allow as well. No rule of the inner policy can answer for them. */

/* A list without rules allows nothing, a layer without rules would not be there at all. */
static void add_nothing(struct pol_build *b, enum sbx_op op, unsigned layer, const char *origin)
{
	const struct pol_rule nothing = {.layer = (uint8_t)layer,
					 .shape = POL_TREE,
					 .tier = POL_TIER_BASE,
					 .base = "",
					 .matched = "<no matching rule>",
					 .origin = origin};

	pol_ruleset_add(b->rs, op, &nothing);
}

static void add_list(struct pol_build *b, enum sbx_op op, const struct pol_list *list,
		     unsigned behind)
{
	for (size_t i = 0; i < list->n; i++) {
		struct pol_rule r = list->v[i];

		if (i > 0 && r.layer != list->v[i - 1].layer)
			behind++;
		r.layer = (uint8_t)behind;
		r.origin = b_arena_printf(&b->rs->arena, "outer:%s", r.origin);
		pol_ruleset_add(b->rs, op, &r);
	}
}

static unsigned count_layers(const struct pol_list *list)
{
	unsigned n = 0;

	for (size_t first = 0; first < list->n; first = pol_layer_end(list, first))
		n++;
	return n;
}

/* The same of the network. */
static int add_outer_net(struct pol_build *b, const struct pol_endpoints *outer, struct b_err *err)
{
	struct pol_endpoints *own = &b->rs->net;
	uint8_t behind = 0, first;

	for (size_t i = 0; i < own->nlayers; i++)
		behind = own->layer[i].number >= behind ? (uint8_t)(own->layer[i].number + 1)
							: behind;
	first = behind;
	if (own->nlayers + outer->nlayers > SBX_LAYERS_MAX)
		return b_fail(err, B_LIMIT, 0, "more than %d layers of documents on the network",
			      SBX_LAYERS_MAX);
	if (outer->nlayers == 0)
		pol_endpoints_layer(b->rs, behind, false);
	for (size_t i = 0; i < outer->nlayers; i++) {
		pol_endpoints_layer(b->rs, behind, outer->layer[i].is_open);
		if (outer->layer[i].is_watched)
			pol_endpoints_watch(b->rs, behind);
		for (size_t k = 0; k < outer->n; k++) {
			struct pol_endpoint e = outer->v[k];

			if (e.layer != outer->layer[i].number)
				continue;
			e.layer = behind;
			e.origin = b_arena_printf(&b->rs->arena, "outer:%s", e.origin);
			pol_endpoints_add(b->rs, &e);
		}
		behind = (uint8_t)(first + i + 1);
	}
	return 0;
}

int pol_build_outer(struct pol_build *b, struct b_err *err)
{
	const struct pol_ruleset *outer = b->rq->outer;

	if (outer && add_outer_net(b, &outer->net, err) < 0)
		return -1;
	for (int i = 0; outer && i < SBX_OP_COUNT; i++) {
		enum sbx_op op = (enum sbx_op)i;
		struct pol_list *own = &b->rs->op[op];
		unsigned behind;

		if (own->n == 0)
			add_nothing(b, op, POL_LAYER_MAIN, "builtin:base:1");
		if (count_layers(own) + count_layers(&outer->op[op]) > SBX_LAYERS_MAX)
			return b_fail(err, B_LIMIT, 0,
				      "more than %d layers of documents, those of the outer runs "
				      "counted",
				      SBX_LAYERS_MAX);
		behind = own->v[own->n - 1].layer + 1u;
		if (outer->op[op].n == 0)
			add_nothing(b, op, behind, "outer:builtin:base:1");
		add_list(b, op, &outer->op[op], behind);
	}
	return 0;
}

void pol_effect_tighten(struct pol_effect *e, const struct pol_effect *outer)
{
	e->reads = e->reads > outer->reads ? e->reads : outer->reads;
	e->network = e->network < outer->network ? e->network : outer->network;
	pol_net_limits_tighten(&e->net_limits, &outer->net_limits);
	e->publish.n = 0; /* the host sees the outer run alone */
	e->upstream = outer->upstream;
	e->unix_ = e->unix_ < outer->unix_ ? e->unix_ : outer->unix_;
	e->all_sockets &= outer->all_sockets;
	e->abstract_sockets &= outer->abstract_sockets;
	e->scratch &= outer->scratch;
	e->cache &= outer->cache;
	e->lax &= outer->lax;
}
