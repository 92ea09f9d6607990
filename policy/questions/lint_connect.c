/* SPDX-License-Identifier: Apache-2.0 */
/* lint_connect.c - rules on endpoints that decide nothing, and those that open more than they say.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "policy/questions/connect.h"
#include "policy/questions/lint.h"
#include "policy/rules/build.h"

/* Rules that questions are matched against, of one profile: about a second. */
#define MAX_WORK 50000000

/* An entry of a document, and what was found of it in the profiles that it is in. */
struct entry {
	const struct pol_connect *c;
	size_t lists, shadowed, idle;
	bool decides, matters; /* in the profile that is looked at */
};

struct net_lint {
	struct pol_lint *out;
	struct entry *entries;
	size_t n, cap;
	/* of one profile */
	struct pol_ruleset rs;
	size_t *of; /* by endpoint: its entry */
	size_t of_cap;
};

static struct entry *entry_for(struct net_lint *l, const struct pol_connect *c)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->entries[i].c == c)
			return &l->entries[i];
	b_grow(l->entries, l->n, l->cap);
	l->entries[l->n] = (struct entry){.c = c};
	return &l->entries[l->n++];
}

/* By their text: which files there are is no matter of the document. */
static struct pol_programs programs_of(struct b_arena *a, const struct pol_texts *by)
{
	struct pol_program *v = b_arena_alloc(a, (by->n + 1) * sizeof *v);

	for (size_t i = 0; i < by->n; i++)
		v[i] = (struct pol_program){.text = by->v[i].s,
					    .glob = by->v[i].s + strspn(by->v[i].s, "/")};
	return (struct pol_programs){v, by->n};
}

static int lower(struct net_lint *l, const struct pol_connects *list, struct b_err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		struct pol_endpoint e = {.layer = POL_LAYER_MAIN, .origin = ""};
		size_t from = l->rs.net.n, at;

		if (pol_is_socket_path(list->v[i].to.s))
			continue;
		e.by = programs_of(&l->rs.arena, &list->v[i].by);
		if (pol_connect_lower(&l->rs, &list->v[i], &e, err) < 0)
			return -1;
		at = (size_t)(entry_for(l, &list->v[i]) - l->entries);
		if (l->of_cap < l->rs.net.cap) {
			l->of_cap = l->rs.net.cap;
			l->of = b_realloc(l->of, l->of_cap, sizeof *l->of);
		}
		for (; from < l->rs.net.n; from++)
			l->of[from] = at;
	}
	return 0;
}

static void ask_one(struct net_lint *l, const struct sbx_host *h, uint16_t port,
		    const struct pol_who *who)
{
	const struct pol_endpoints *net = &l->rs.net;
	const char *name = h->kind == SBX_HOST_NAME ? h->name : NULL;
	int last = pol_endpoints_last(net, POL_LAYER_MAIN, name, &h->addr, port, who);
	struct entry *e;
	bool before = false, is_exact = false;

	if (last < 0)
		return;
	e = &l->entries[l->of[last]];
	e->decides = true;
	/* what would be without the whole entry */
	for (int i = last; i-- > 0;)
		if (l->of[i] != l->of[last] &&
		    pol_endpoint_matches(&net->v[i], name, &h->addr, port, who)) {
			before = net->v[i].allow;
			is_exact = net->v[i].shape == POL_HOST_NAME;
			break;
		}
	/* a whole name opens private addresses, too */
	e->matters |= before != net->v[last].allow ||
		      (before && is_exact != (net->v[last].shape == POL_HOST_NAME));
}

static void ask_all(struct net_lint *l, const struct pol_samples *q)
{
	for (size_t p = 0; p <= q->nprograms; p++) {
		const struct pol_who who = {p ? &q->programs[p - 1] : NULL, p ? 1 : 0};

		for (size_t h = 0; h < q->nhosts; h++)
			for (size_t k = 0; k < q->nports; k++)
				ask_one(l, &q->hosts[h], q->ports[k], &who);
	}
}

static int lint_profile(struct net_lint *l, struct pol_doc *doc, const struct pol_profile *p,
			struct b_err *err)
{
	struct pol_samples q = {.nhosts = 0};
	int rc = 0;

	pol_ruleset_init(&l->rs);
	for (size_t i = 0; i < l->n; i++)
		l->entries[i].decides = l->entries[i].matters = false;
	if (lower(l, &doc->settings.connect, err) < 0 || (p && lower(l, &p->connect, err) < 0) ||
	    lower(l, &doc->deny_connect, err) < 0)
		rc = -1;
	pol_samples_add(&q, &l->rs.net);
	if (rc == 0 && l->rs.net.n * pol_samples_count(&q) > MAX_WORK)
		l->out->unexamined += l->rs.net.n;
	else if (rc == 0)
		ask_all(l, &q);
	for (size_t i = 0; rc == 0 && l->rs.net.n * pol_samples_count(&q) <= MAX_WORK && i < l->n;
	     i++) {
		struct entry *e = &l->entries[i];
		bool is_here = false;

		for (size_t k = 0; k < l->rs.net.n && !is_here; k++)
			is_here = l->of[k] == i;
		e->lists += is_here;
		e->shadowed += is_here && !e->decides;
		e->idle += is_here && e->decides && !e->matters;
	}
	pol_samples_release(&q);
	pol_ruleset_release(&l->rs);
	return rc;
}

static void tell(struct net_lint *l, const struct entry *e)
{
	b_auto(b_str_release) struct b_str where = {0};
	const struct pol_pos *pos = &e->c->to.pos;
	struct pol_finding *f = NULL;

	b_str_addf(&where, "%s:%u:%u", pos->file, pos->line, pos->col);
	if (e->shadowed == e->lists)
		f = pol_lint_add(l->out, POL_LINT_SHADOWED, b_str_c(&where), e->c->to.s,
				 "`%s` never decides: whatever it matches later entries match, too",
				 e->c->to.s);
	else if (e->shadowed + e->idle == e->lists)
		f = pol_lint_add(l->out, POL_LINT_NO_EFFECT, b_str_c(&where), e->c->to.s,
				 "`%s` changes nothing: without it every verdict is the same",
				 e->c->to.s);
	if (f)
		f->is_exact = true;
}

/* A wildcard directly below a public suffix is of everybody who registers a name there. */
static void tell_suffix(struct net_lint *l, const struct pol_connect *c)
{
	b_auto(b_arena_release) struct b_arena arena = {0};
	const struct pol_pos *pos = &c->to.pos;
	struct pol_endpoint e = {.allow = c->allow};
	struct pol_finding *f;
	struct b_err ignored;

	if (!l->out->is_public_suffix || !c->allow ||
	    pol_endpoint_parse_foreign(&arena, c->to.s, &e, &ignored) < 0 ||
	    (e.shape != POL_HOST_ONE && e.shape != POL_HOST_DEEP) ||
	    !l->out->is_public_suffix(e.host))
		return;
	f = pol_lint_add(l->out, POL_LINT_SUFFIX,
			 b_arena_printf(&arena, "%s:%u:%u", pos->file, pos->line, pos->col),
			 c->to.s, "`%s` opens hosts of anybody who registers a name below %s",
			 c->to.s, e.host);
	if (f)
		f->is_exact = true;
}

int pol_lint_connect(struct pol_lint *out, struct pol_doc *doc, struct b_err *err)
{
	struct net_lint l = {.out = out};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < doc->nprofiles; i++)
		rc = lint_profile(&l, doc, &doc->profiles[i], err);
	if (rc == 0 && doc->nprofiles == 0)
		rc = lint_profile(&l, doc, NULL, err);
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		if (l.entries[i].lists) {
			tell(&l, &l.entries[i]);
			tell_suffix(&l, l.entries[i].c);
		}
	free(l.entries);
	free(l.of);
	return rc;
}
