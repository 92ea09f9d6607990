/* SPDX-License-Identifier: Apache-2.0 */
/* inside.c - see inside.h. */
#include "views/inside.h"

#include <inttypes.h>
#include <string.h>

#include "audit/read_run.h"
#include "audit/rundir.h"
#include "audit/show.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/views.h"

enum { DEPTH_MAX = 32 };

static int64_t count_of(const struct view *v)
{
	return aud_run_int(v->run, "runs_inside", 0);
}

void view_add_inside(const struct view *v)
{
	int64_t n = count_of(v);
	struct b_json j = {.out = v->out};

	if (n <= 0)
		return;
	if (!v->json) {
		b_str_addf(v->out,
			   "%" PRId64 " runs inside this one have records of their own: "
			   "sbx-audit runs lists them\n",
			   n);
		return;
	}
	b_json_open(&j, '{');
	b_json_key(&j, "runs_inside");
	b_json_i64(&j, n);
	b_json_close(&j, '}');
	b_str_addc(v->out, '\n');
}

/* The runs that are inside of others, and who is inside of whom. */
struct inner {
	struct aud_run run;
	const char *parent; /* its run.json's */
};

struct inners {
	struct inner *v;
	size_t n, cap;
};

static void release(struct inners *all)
{
	for (size_t i = 0; i < all->n; i++)
		aud_run_release(&all->v[i].run);
	free(all->v);
}

/* What cannot be read is left out: `runs` says so. A run is newer than the one it is inside of. */
static void find_all(const struct view *v, struct inners *all)
{
	struct b_err ignored;
	char **names;
	size_t n, i;

	if (aud_runs_list(v->root, &names, &n, &ignored) < 0)
		return;
	for (i = 0; i < n; i++) {
		struct inner one = {.parent = NULL};

		if (strcmp(names[i], v->run->id) <= 0 ||
		    aud_run_load(v->root, names[i], &one.run, &ignored) < 0)
			continue;
		one.parent = aud_run_str(&one.run, "parent_run_id");
		if (!one.parent) {
			aud_run_release(&one.run);
			continue;
		}
		b_grow(all->v, all->n, all->cap);
		all->v[all->n++] = one;
	}
	aud_runs_free(names, n);
}

static void add_text(const struct aud_run *r, unsigned depth, struct b_str *out)
{
	b_str_addf(out, "%*srun %s  ", (int)(2 * depth), "", r->id);
	aud_show_end(r, out);
	b_str_addf(out, "  %" PRId64 " denied  ", aud_run_int(r, "counts.denied", 0));
	aud_show_command(r, out);
	b_str_addc(out, '\n');
}

static void add_shown(struct b_json *j, const char *key,
		      void (*show)(const struct aud_run *, struct b_str *), const struct aud_run *r)
{
	b_auto(b_str_release) struct b_str text = {0};

	show(r, &text);
	b_json_key(j, key);
	b_json_str(j, b_str_c(&text));
}

static void add_json(const struct inner *one, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	b_json_key(&j, "run_id");
	b_json_str(&j, one->run.id);
	b_json_key(&j, "parent_run_id");
	b_json_str(&j, one->parent);
	add_shown(&j, "command", aud_show_command, &one->run);
	add_shown(&j, "end", aud_show_end, &one->run);
	b_json_key(&j, "denied");
	b_json_i64(&j, aud_run_int(&one->run, "counts.denied", 0));
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

static void add_below(const struct view *v, const struct inners *all, const char *id,
		      unsigned depth)
{
	for (size_t i = 0; i < all->n && depth < DEPTH_MAX; i++) {
		if (strcmp(all->v[i].parent, id) != 0 || strcmp(all->v[i].run.id, id) == 0)
			continue;
		if (v->json)
			add_json(&all->v[i], v->out);
		else
			add_text(&all->v[i].run, depth, v->out);
		add_below(v, all, all->v[i].run.id, depth + 1);
	}
}

/* The outermost run counts them; one inside of it knows of its own by what they say. */
void view_list_inside(const struct view *v)
{
	b_auto(release) struct inners all = {.v = NULL};

	if (count_of(v) <= 0 && !aud_run_str(v->run, "parent_run_id"))
		return;
	find_all(v, &all);
	if (!v->json && count_of(v) > 0)
		b_str_addf(v->out, "%" PRId64 " runs inside have records of their own\n",
			   count_of(v));
	add_below(v, &all, v->run->id, 1);
}
