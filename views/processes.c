/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - see processes.h. */
#include "views/processes.h"

#include <string.h>
#include <uthash.h>

#include "audit/entry.h"
#include "audit/show.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/views.h"

struct view_latest {
	UT_hash_handle hh;
	int64_t key;
	size_t at;
};

static void remember(struct view_latest **table, int64_t key, size_t at)
{
	struct view_latest *l;

	HASH_FIND(hh, *table, &key, sizeof key, l);
	if (!l) {
		l = b_calloc(1, sizeof *l);
		l->key = key;
		HASH_ADD(hh, *table, key, sizeof l->key, l);
	}
	l->at = at;
}

static struct view_image *find(const struct view_images *all, struct view_latest *table,
			       int64_t key)
{
	struct view_latest *l;

	HASH_FIND(hh, table, &key, sizeof key, l);
	return l ? &all->v[l->at] : NULL;
}

/* Of an exec: the image that called it, or the parent's of a process not seen before. */
static size_t parent_of(const struct view_images *all, const struct aud_entry *e)
{
	const struct view_image *i = find(all, all->latest, e->pid);

	if (!i)
		i = find(all, all->latest, e->ppid);
	if (!i && e->proc) /* a fork of a fork, which began no image */
		i = find(all, all->by_seq, e->proc);
	if (i && i->pid == e->pid && i->parent != SIZE_MAX && i->has_exit)
		i = &all->v[i->parent];
	return i ? (size_t)(i - all->v) : SIZE_MAX;
}

/* The launcher's word is of the command, which begins where the run does. */
static const char *cwd_of(const struct view_images *all, const struct aud_entry *e)
{
	return *e->cwd || !all->cwd || strcmp(e->layer, "launcher") != 0 ? e->cwd : all->cwd;
}

static void set_end(struct view_image *i, const char *ts)
{
	size_t n = strnlen(ts, sizeof i->ended - 1);

	memcpy(i->ended, ts, n);
	i->ended[n] = '\0';
}

static void begin(struct view_images *all, const struct aud_entry *e)
{
	struct view_image *before = find(all, all->latest, e->pid);
	size_t parent = parent_of(all, e);

	if (before && before->pid == e->pid && !before->has_exit)
		before->is_replaced = true;
	b_grow(all->v, all->n, all->cap);
	all->v[all->n] = (struct view_image){.seq = e->seq,
					     .pid = e->pid,
					     .ppid = e->ppid,
					     .parent = parent,
					     .path = b_strdup(e->path),
					     .argv = b_strdup(e->argv),
					     .cwd = b_strdup(cwd_of(all, e)),
					     .is_claimed = !*e->layer,
					     .started = b_strdup(e->ts)};
	set_end(&all->v[all->n], e->ts);
	remember(&all->latest, e->pid, all->n);
	remember(&all->by_seq, e->seq, all->n);
	all->last_proc = 0;
	all->n++;
}

static void replace(char **text, const char *with)
{
	free(*text);
	*text = b_strdup(with);
}

/* What the image says of itself counts more than what its parent saw. */
static void hello(struct view_images *all, const struct aud_entry *e)
{
	struct view_image *i = find(all, all->by_seq, e->proc);

	if (!i) {
		begin(all, e);
		return;
	}
	i->is_claimed |= !*e->layer;
	if (*e->argv)
		replace(&i->argv, e->argv);
	if (*e->cwd)
		replace(&i->cwd, e->cwd);
	remember(&all->latest, e->pid, (size_t)(i - all->v));
}

static struct view_image *image_of(struct view_images *all, const struct aud_entry *e)
{
	struct view_image *i;

	if (e->proc && e->proc == all->last_proc)
		return &all->v[all->last_at];
	i = e->proc ? find(all, all->by_seq, e->proc) : NULL;
	if (i) {
		all->last_proc = e->proc;
		all->last_at = (size_t)(i - all->v);
	}
	if (!i)
		i = find(all, all->latest, e->pid);
	return i ? i : find(all, all->latest, e->ppid);
}

static void ended(struct view_image *i, const struct aud_entry *e)
{
	i->has_exit = true;
	i->has_status = e->has >> AUD_F_status & 1;
	i->status = e->status;
	i->signal = e->signal;
}

/* Most events differ in the first letter. */
static bool is_kind(const struct aud_entry *e, const char *kind)
{
	return *e->kind == *kind && strcmp(e->kind, kind) == 0;
}

void view_images_add(struct view_images *all, const struct aud_entry *e)
{
	struct view_image *i;

	if (is_kind(e, "run") && !all->cwd)
		all->cwd = b_strdup(e->cwd);
	if (is_kind(e, "run") || is_kind(e, "gap"))
		return;
	if (is_kind(e, "exec") && e->allowed)
		begin(all, e);
	else if (is_kind(e, "hello"))
		hello(all, e);
	/* what has no shim has no line of its own that `proc` could name */
	i = is_kind(e, "exit") ? find(all, all->latest, e->pid) : image_of(all, e);
	if (!i)
		return;
	if (is_kind(e, "exit") && i->pid == e->pid)
		ended(i, e);
	else if (is_kind(e, "unwitnessed"))
		i->is_unwitnessed = true;
	i->events += (uint64_t)e->count;
	i->changed += view_is_done(e);
	if (aud_entry_is_denied(e))
		i->denied += (uint64_t)e->count;
	if (strcmp(e->ts, i->ended) > 0)
		set_end(i, e->ts);
}

void view_images_link(struct view_images *all)
{
	size_t i = all->n;

	while (i--) { /* backwards: children then stand in the order they began */
		struct view_image *one = &all->v[i], *parent;

		if (one->parent == SIZE_MAX || one->parent >= i)
			continue;
		parent = &all->v[one->parent];
		one->next = parent->child;
		parent->child = i + 1;
	}
}

static void forget(struct view_latest *table)
{
	struct view_latest *l = table, *next;

	HASH_CLEAR(hh, table);
	for (; l; l = next) {
		next = l->hh.next;
		free(l);
	}
}

void view_images_release(struct view_images *all)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		free(all->v[i].path);
		free(all->v[i].argv);
		free(all->v[i].cwd);
		free(all->v[i].started);
	}
	free(all->v);
	free(all->cwd);
	forget(all->latest);
	forget(all->by_seq);
	*all = (struct view_images){0};
}

void view_image_command(const struct view_image *i, struct b_str *out)
{
	b_auto(b_str_release) struct b_str word = {0};
	const char *at = i->argv;
	size_t before = out->len;

	while (aud_list_next(&at, &word)) {
		if (out->len > before)
			b_str_addc(out, ' ');
		aud_show_word(b_str_c(&word), out);
	}
	if (out->len == before)
		aud_show_word(i->path, out);
}
