/* SPDX-License-Identifier: Apache-2.0 */
/* reload.c - see reload.h. */
#include "policy/reload.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/past.h"
#include "policy/compile/requests.h"
#include "policy/compile/ruleset.h"
#include "policy/engine.h"
#include "policy/front/dialect.h"

struct pol_reload {
	const struct pol_engine *first;
	bool has_tls, has_begun;
	struct pol_past past;
};

struct pol_reload *pol_reload_new(const struct pol_engine *first, bool has_tls)
{
	struct pol_reload *r = b_calloc(1, sizeof *r);

	r->first = first;
	r->has_tls = has_tls;
	return r;
}

void pol_reload_free(struct pol_reload *r)
{
	if (!r)
		return;
	pol_past_release(&r->past);
	free(r);
}

/* ---- what may not change ---- */

/* The next rule that somebody wrote, at or behind `i`: not another spelling of the one before. */
static const struct pol_rule *written(const struct pol_list *l, size_t *i)
{
	while (*i < l->n && (l->v[*i].twin || l->v[*i].saves))
		(*i)++;
	return *i < l->n ? &l->v[(*i)++] : NULL;
}

static int check_sockets(const struct pol_engine *was, const struct pol_engine *is,
			 struct b_err *err)
{
	const struct pol_list *a = &was->rules.op[SBX_CONNECT], *b = &is->rules.op[SBX_CONNECT];
	const struct pol_rule *r, *s;
	size_t i = 0, k = 0;

	do {
		r = written(a, &i);
		s = written(b, &k);
		if (r && s && r->allow == s->allow && strcmp(r->matched, s->matched) == 0)
			continue;
		if (r || s)
			return b_fail(err, B_POLICY, 0,
				      "%s: paths of sockets cannot change during a run: change "
				      "`%s` back, or start the run again",
				      (s ? s : r)->origin, (s ? s : r)->matched);
	} while (r);
	return 0;
}

/* A project file that has come or gone is a document more or less. */
static int check_layers(const struct pol_endpoints *was, const struct pol_endpoints *is,
			struct b_err *err)
{
	bool is_same = was->nlayers == is->nlayers;

	for (size_t i = 0; is_same && i < is->nlayers; i++)
		is_same = was->layer[i].number == is->layer[i].number &&
			  was->layer[i].is_open == is->layer[i].is_open &&
			  was->layer[i].is_watched == is->layer[i].is_watched;
	return is_same ? 0
		       : b_fail(err, B_POLICY, 0,
				"other documents have rules on the network than when the run "
				"began: start it again");
}

static int check_tls(const struct pol_endpoints *is, struct b_err *err)
{
	for (size_t i = 0; i < is->n; i++) {
		const struct pol_endpoint *e = &is->v[i];

		if (e->requests && !e->requests->no_tls && (e->low != 80 || e->high != 80))
			return b_fail(err, B_POLICY, 0,
				      "%s: the run was started without certificates, because no "
				      "rule inspected encrypted requests: start it again",
				      e->origin);
	}
	return 0;
}

static bool is_known(const struct pol_engine *e, const char *loss)
{
	for (size_t i = 0; i < e->nlosses; i++)
		if (strcmp(e->losses[i], loss) == 0)
			return true;
	return false;
}

static int check_losses(const struct pol_engine *was, const struct pol_engine *is,
			struct b_err *err)
{
	for (size_t i = 0; i < is->nlosses && !is->effect.lax; i++)
		if (!is_known(was, is->losses[i]))
			return b_fail(err, B_FLOOR, 0, "cannot be enforced: %s", is->losses[i]);
	return 0;
}

int pol_reload_compare(const char *name, enum pol_dialect dialect, const struct b_str *was,
		       const struct b_str *is, struct b_err *err)
{
	const struct pol_input a = {
		.name = name, .text = b_str_c(was), .len = was->len, .dialect = dialect};
	const struct pol_input b = {
		.name = name, .text = b_str_c(is), .len = is->len, .dialect = dialect};

	return pol_front_unchanged(&a, &b, err);
}

/* ---- the image ---- */

static struct pol_alias *aliases_of(const struct pol_engine *e)
{
	const struct sbx_image_header *h = e->image.hdr;
	const struct sbx_image_alias *v = (const void *)(e->image.base + h->aliases);
	struct pol_alias *out = b_calloc(h->naliases + 1u, sizeof *out);

	for (uint32_t i = 0; i < h->naliases; i++)
		out[i] = (struct pol_alias){sbx_image_text(&e->image, v[i].from),
					    sbx_image_text(&e->image, v[i].to)};
	return out;
}

int pol_reload_image(struct pol_reload *r, const struct pol_engine *now, void **out_data,
		     size_t *out_size, struct b_err *err)
{
	const struct pol_engine *first = r->first;
	b_auto_free struct pol_alias *aliases = aliases_of(first);
	struct pol_ruleset rules = first->rules;
	struct pol_compile_opts opts = {
		.aliases = aliases,
		.naliases = first->image.hdr->naliases,
		.deny_on_error = first->image.hdr->on_error,
		.folds = first->image.hdr->folds,
		.inside = first->image.hdr->inside,
		.past = &r->past,
		.base = &first->image,
	};

	if (!r->has_begun && pol_past_begin(&r->past, &first->rules.net, err) < 0)
		return -1;
	r->has_begun = true;
	if (check_sockets(first, now, err) < 0 ||
	    check_layers(&first->rules.net, &now->rules.net, err) < 0 ||
	    (!r->has_tls && check_tls(&now->rules.net, err) < 0) ||
	    check_losses(first, now, err) < 0 ||
	    pol_past_add(&r->past, &now->rules.net, &opts.past_at, err) < 0)
		return -1;
	rules.net = now->rules.net;
	return pol_compile(&rules, &opts, out_data, out_size, err);
}
