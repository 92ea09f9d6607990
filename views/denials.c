/* SPDX-License-Identifier: Apache-2.0 */
/* denials.c - what was refused; see views.h. */
#include <inttypes.h>
#include <string.h>
#include <uthash.h>

#include "audit/collect_priv.h"
#include "audit/show.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/earlier.h"
#include "views/inside.h"
#include "views/part.h"
#include "views/views.h"

enum { GROUPS_MAX = 100000 };

struct group {
	UT_hash_handle hh;
	char *key; /* operation, path and rule, each ended by a NUL but the last */
	char *op, *path, *path2, *asked, *asked2, *matched, *rule, *exe, *call, *first;
	char *reason, *against, *request, *address, *what; /* what: as text, visible */
	uint64_t count, programs; /* of different names, as far as they follow each other */
	unsigned earlier;	  /* runs that were refused the same */
	bool did_happen, is_endpoint, is_watched; /* watched: it passed, as was asked for */
	bool is_second;				  /* the rule is that of path2 */
};

struct groups {
	struct group *table; /* uthash */
	uint64_t beyond, total;
	struct view_earlier earlier;
};

static void make_key(const struct aud_entry *e, struct b_str *key)
{
	const char *const parts[] = {e->op,	 e->path,   e->path2,
				     e->rule,	 e->reason, e->would_deny ? "would" : "",
				     e->request, e->address};
	size_t i;

	for (i = 0; i < sizeof parts / sizeof *parts; i++)
		b_str_addn(key, parts[i], strlen(parts[i]) + 1);
}

static struct group *group_of(struct groups *g, const struct aud_entry *e)
{
	b_auto(b_str_release) struct b_str key = {0}, what = {0};
	struct group *one;

	make_key(e, &key);
	HASH_FIND(hh, g->table, key.s, key.len, one);
	if (one || HASH_COUNT(g->table) >= GROUPS_MAX)
		return one;
	one = b_calloc(1, sizeof *one);
	aud_show_refused(e, &what);
	*one = (struct group){.op = b_strdup(e->op),
			      .path = b_strdup(e->path),
			      .path2 = b_strdup(e->path2),
			      .asked = b_strdup(e->asked),
			      .asked2 = b_strdup(e->asked2),
			      .reason = b_strdup(e->reason),
			      .against = b_strdup(e->against),
			      .request = b_strdup(e->request),
			      .address = b_strdup(e->address),
			      .what = b_str_take(&what),
			      .is_second = e->of_path2,
			      .matched = b_strdup(e->matched_rule),
			      .rule = b_strdup(e->rule),
			      .call = b_strdup(e->call),
			      .first = b_strdup(e->ts),
			      .is_endpoint = *e->host != '\0',
			      .earlier = view_earlier_count(&g->earlier, e),
			      .is_watched = e->would_deny,
			      .exe = b_strdup("")};
	one->key = b_malloc(key.len);
	memcpy(one->key, key.s, key.len);
	HASH_ADD_KEYPTR(hh, g->table, one->key, key.len, one);
	return one;
}

static void add(struct groups *g, const struct aud_entry *e)
{
	struct group *one = group_of(g, e);

	g->total += (uint64_t)e->count;
	if (!one) {
		g->beyond += (uint64_t)e->count;
		return;
	}
	one->count += (uint64_t)e->count;
	one->did_happen |= strcmp(e->kind, "denied") != 0 && !e->would_deny;
	if (*e->exe && strcmp(one->exe, e->exe) != 0) {
		free(one->exe);
		one->exe = b_strdup(e->exe);
		one->programs++;
	}
}

static void release(struct groups *g)
{
	struct group *one = g->table, *next;

	HASH_CLEAR(hh, g->table);
	for (; one; one = next) {
		char *const texts[] = {one->key,     one->op,	   one->path,	 one->path2,
				       one->matched, one->rule,	   one->exe,	 one->call,
				       one->first,   one->asked,   one->asked2,	 one->reason,
				       one->against, one->request, one->address, one->what};
		size_t i;

		next = one->hh.next;
		for (i = 0; i < sizeof texts / sizeof *texts; i++)
			free(texts[i]);
		free(one);
	}
	g->table = NULL;
	view_earlier_release(&g->earlier);
}

/* What is new comes first, then what there is most of. */
static int by_novelty(const struct group *a, const struct group *b)
{
	if (a->earlier != b->earlier)
		return a->earlier < b->earlier ? -1 : 1;
	return (a->count < b->count) - (a->count > b->count);
}

/* ---- what would allow it: in the words that the person got at the prompt ---- */

static int number_of(const char *name, const char *(*name_of)(unsigned), unsigned n)
{
	unsigned i = 0;

	while (i < n && strcmp(name_of(i), name) != 0)
		i++;
	return (int)i;
}

static const char *op_name(unsigned op)
{
	return sbx_op_name((enum sbx_op)op);
}

static void add_remedy(const struct view *v, const struct group *g, struct b_str *out)
{
	b_auto(b_str_release) struct b_str path = {0};
	struct aud_denial d = {
		.op = (enum sbx_op)number_of(*g->against ? g->against : g->op, op_name,
					     SBX_OP_COUNT),
		.is_unseen = strcmp(g->reason, "move-unseen") == 0,
		.is_root = strcmp(g->reason, "grant-root") == 0,
		.is_set_id = strcmp(g->reason, "set-id") == 0,
		.is_git_link = strcmp(g->reason, "git-link") == 0,
		.is_stood_in = strcmp(g->reason, "current-directory") == 0,
		.matched = g->matched,
		.origin = g->rule,
		.call = (unsigned)number_of(g->call, sbx_call_name, SBX_CALL_COUNT),
		.is_endpoint = g->is_endpoint,
		.is_watched = g->is_watched,
		.is_request = *g->request,
		.address = *g->request	 ? g->request
			   : *g->address ? g->address
					 : NULL,
		.address_len = strlen(*g->request ? g->request : g->address),
		.workspaces = (const char *const *)v->run->workspaces,
		.nworkspaces = v->run->nworkspaces,
	};

	if (d.op >= SBX_OP_COUNT || g->did_happen)
		return;
	if (g->is_endpoint)
		b_str_add(&path, g->path);
	else
		view_absolute(v->run, g->is_second ? g->path2 : g->path, &path);
	d.path = b_str_c(&path);
	d.path_len = path.len;
	aud_denial_remedy(&d, out);
}

static void add_novelty(const struct group *g, unsigned runs, struct b_str *out)
{
	if (!runs)
		return;
	if (runs == 1)
		b_str_add(out,
			  g->earlier ? "  as in the run before" : "  new: not in the run before");
	else if (g->earlier)
		b_str_addf(out, "  as in %u of the %u runs before", g->earlier, runs);
	else
		b_str_addf(out, "  new: in none of the %u runs before", runs);
}

static void add_group(const struct view *v, unsigned runs, const struct group *g, struct b_str *out)
{
	const char *on = v->colour ? "\033[31m" : "", *off = v->colour ? "\033[0m" : "";
	size_t before;

	b_str_addf(out, "%6" PRIu64 "  %s%s%s", g->count, on, g->what, off);
	if (*g->asked || *g->asked2) {
		b_str_add(out, ", asked for as ");
		view_text(out, *g->asked ? g->asked : g->path);
	}
	if (*g->asked2) {
		b_str_add(out, " -> ");
		view_text(out, g->asked2);
	}
	add_novelty(g, runs, out);
	b_str_add(out, "\n        rule ");
	view_text(out, g->matched);
	b_str_add(out, " (");
	view_text(out, g->rule);
	b_str_addc(out, ')');
	if (*g->exe) {
		b_str_add(out, ", by a program that calls itself ");
		view_text(out, g->exe);
		if (g->programs > 1)
			b_str_add(out, " and others");
	}
	if (g->is_watched)
		b_str_add(out, "; it passed, because the network is only watched");
	b_str_add(out, g->did_happen ? "; but a process reported success\n        " : "\n        ");
	before = out->len;
	add_remedy(v, g, out);
	if (out->len == before)
		b_str_add(out, "no option opens it");
	b_str_addc(out, '\n');
}

static void add_optional(struct b_json *j, const char *key, const char *text)
{
	if (*text)
		b_json_bytes(j, key, text, strlen(text));
}

static void add_group_json(const struct view *v, unsigned runs, const struct group *g,
			   struct b_str *out)
{
	struct b_json j = {.out = out};
	b_auto(b_str_release) struct b_str remedy = {0};

	add_remedy(v, g, &remedy);
	b_json_open(&j, '{');
	b_json_key(&j, "count");
	b_json_u64(&j, g->count);
	b_json_key(&j, "op");
	b_json_str(&j, g->op);
	b_json_bytes(&j, "path", g->path, strlen(g->path));
	add_optional(&j, "path2", g->path2);
	add_optional(&j, "asked", g->asked);
	add_optional(&j, "asked2", g->asked2);
	add_optional(&j, "call", g->call);
	add_optional(&j, "reason", g->reason);
	add_optional(&j, "request", g->request);
	add_optional(&j, "address", g->address);
	b_json_key(&j, "matched_rule");
	b_json_str(&j, g->matched);
	b_json_key(&j, "rule");
	b_json_str(&j, g->rule);
	if (g->is_watched) {
		b_json_key(&j, "would_deny");
		b_json_bool(&j, true);
	}
	b_json_key(&j, "first");
	b_json_str(&j, g->first);
	if (*g->exe) {
		b_json_bytes(&j, "exe", g->exe, strlen(g->exe));
		b_json_key(&j, "claimed");
		b_json_open(&j, '[');
		b_json_str(&j, "exe");
		b_json_close(&j, ']');
	}
	b_json_key(&j, "earlier_runs");
	b_json_u64(&j, runs);
	b_json_key(&j, "refused_in");
	b_json_u64(&j, g->earlier);
	if (remedy.len) {
		b_json_key(&j, "remedy");
		b_json_str(&j, remedy.s);
	}
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

static int show(void *gathered, struct view *v, struct b_err *err)
{
	struct groups *g = gathered;
	struct group *one, *next;

	HASH_SORT(g->table, by_novelty);
	HASH_ITER(hh, g->table, one, next)
	{
		if (v->json)
			add_group_json(v, g->earlier.runs, one, v->out);
		else
			add_group(v, g->earlier.runs, one, v->out);
		if (view_flush(v, err) < 0)
			return -1;
	}
	if (g->beyond && !v->json)
		b_str_addf(v->out, "and %" PRIu64 " more: sbx-audit show --verdict denied\n",
			   g->beyond);
	return g->total > 0;
}

static void *open_groups(struct view *v, const struct aud_reader *r, struct b_err *err)
{
	struct groups *g = b_calloc(1, sizeof *g);

	(void)r;
	if (view_earlier_read(v, &g->earlier, err) == 0)
		return g;
	free(g);
	return NULL;
}

static void add_event(void *gathered, const struct aud_entry *e)
{
	if (aud_entry_is_denied(e) || e->would_deny)
		add(gathered, e);
}

static void close_groups(void *gathered)
{
	release(gathered);
	free(gathered);
}

const struct view_part view_part_denials = {open_groups, add_event, show, close_groups,
					    view_add_inside};

int view_denials(struct view *v, struct b_err *err)
{
	return view_alone(v, &view_part_denials, err);
}
