/* SPDX-License-Identifier: Apache-2.0 */
/* disk.c - see disk.h. Without recursion: the command decides how deep its directories are. */
#include "views/disk.h"

#include <stdlib.h>
#include <string.h>

#include "audit/entry.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/stamp.h"
#include "views/views.h"

enum {
	PARENT = sizeof(struct disk_node *),
	READS_MAX = 200000,
	CUTS_MAX = 1000,
	WAITING_MAX = 1 << 15 /* more than the collector ever holds back (AUD_TWIN_MAX), twice */
};

/* ---- names ---- */

static uint32_t key_of(struct disk *d, const struct disk_node *parent, const char *name, size_t len)
{
	uint32_t key;

	b_str_reset(&d->key);
	b_str_addn(&d->key, (const char *)&parent, PARENT);
	b_str_addn(&d->key, name, len);
	key = b_intern(&d->keys, d->key.s, d->key.len);
	if (key == d->nkeys) { /* one that was not there before */
		b_grow(d->by_key, d->nkeys, d->keys_cap);
		d->by_key[d->nkeys++] = NULL;
	}
	return key;
}

static void place_node(struct disk *d, struct disk_node *n, struct disk_node *parent, uint32_t key)
{
	n->key = key;
	n->parent = parent;
	if (parent)
		parent->has_below = true;
	d->by_key[key] = n;
}

static struct disk_node *make_node(struct disk *d, struct disk_node *parent, uint32_t key)
{
	struct disk_node *n = b_calloc(1, sizeof *n);

	n->next = d->nodes;
	d->nodes = n;
	place_node(d, n, parent, key);
	return n;
}

static struct disk_node *child_of(struct disk *d, struct disk_node *parent, const char *name,
				  size_t len)
{
	uint32_t key = key_of(d, parent, name, len);

	return d->by_key[key] ? d->by_key[key] : make_node(d, parent, key);
}

/* From the node `n` (NULL: the root) along the names of the path. */
static struct disk_node *walk(struct disk *d, struct disk_node *n, const char *path, size_t len)
{
	const char *end = path + len;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t name = (size_t)((slash ? slash : end) - path);

		if (name || !n)
			n = child_of(d, n, path, name);
		path += name + (slash != NULL);
	}
	return n;
}

static struct disk_node *node_at(struct disk *d, const char *path)
{
	size_t len = strlen(path), dir = len;

	while (dir && path[dir - 1] != '/')
		dir--;
	if (!dir || dir == len) /* one name, or a slash at the end */
		return len ? walk(d, NULL, path, len) : child_of(d, NULL, path, 0);
	if (!d->at_dir || d->dir.len != dir || memcmp(d->dir.s, path, dir) != 0) {
		b_str_reset(&d->dir);
		b_str_addn(&d->dir, path, dir);
		d->at_dir = walk(d, NULL, path, dir);
	}
	return child_of(d, d->at_dir, path + dir, len - dir);
}

static bool is_below(const struct disk_node *n, const struct disk_node *above)
{
	while (n && n != above)
		n = n->parent;
	return n;
}

/* The node goes from its name: nothing is found by that any more. */
static void displace(struct disk *d, struct disk_node *n)
{
	if (d->at_dir && is_below(d->at_dir, n))
		d->at_dir = NULL;
	d->by_key[n->key] = NULL;
}

/* The names from below `above` (NULL: from the root) down to `n`. */
static void add_names(const struct disk *d, struct b_str *out, const struct disk_node *n,
		      const struct disk_node *above)
{
	b_auto_free const struct disk_node **way = NULL;
	const struct disk_node *m;
	size_t depth = 0, i;

	for (m = n; m != above; m = m->parent)
		depth++;
	way = b_calloc(depth + 1, sizeof *way);
	for (m = n, i = depth; m != above; m = m->parent)
		way[--i] = m;
	for (i = 0; i < depth; i++) {
		if (i || above)
			b_str_addc(out, '/');
		b_str_addn(out, b_interned(&d->keys, way[i]->key) + PARENT,
			   b_interned_len(&d->keys, way[i]->key) - PARENT);
	}
}

/* What the node was called before the run, as far as the directories above it say. */
static bool was_of(const struct disk *d, const struct disk_node *node, struct b_str *out)
{
	const struct disk_node *above = node->parent;

	while (above && !above->thing && !above->is_gone)
		above = above->parent;
	if (above && (above->is_gone || !above->thing->was))
		return false;
	if (above)
		b_str_add(out, above->thing->was);
	add_names(d, out, node, above);
	return true;
}

/* ---- things ---- */

static struct disk_thing *make_thing(struct disk *d, bool is_new, const char *was)
{
	struct disk_thing *t = b_calloc(1, sizeof *t);

	t->is_new = is_new;
	t->next = d->things;
	d->things = t;
	if (was && !disk_before(d, was)) {
		t->was = b_strdup(was);
		HASH_ADD_KEYPTR(hh, d->before, t->was, strlen(t->was), t);
	}
	return t;
}

/* What the node leads to: where nothing was done to it yet, what was there before the run. */
static struct disk_thing *thing_of(struct disk *d, struct disk_node *n)
{
	b_auto(b_str_release) struct b_str was = {0};
	bool is_known;

	if (n->thing)
		return n->thing;
	is_known = !n->is_gone && was_of(d, n, &was);
	n->thing = make_thing(d, false, is_known ? b_str_c(&was) : NULL);
	n->is_gone = false;
	return n->thing;
}

/* The name gets another thing, NULL = none. What was below it is not there any more. */
static void put_thing(struct disk *d, struct disk_node *n, struct disk_thing *t)
{
	struct disk_node *fresh;

	if (!n->has_below) {
		n->thing = t;
		n->is_gone = !t;
		n->was_read = false;
		return;
	}
	displace(d, n);
	n->is_lost = true;
	fresh = make_node(d, n->parent, n->key);
	fresh->thing = t;
	fresh->is_gone = !t;
}

/* ---- events ---- */

/* Of files: the names stay where they are, and lead to something else. */
static void move_thing(struct disk_node *from, struct disk_node *to, bool is_exchanged)
{
	struct disk_thing *other = is_exchanged ? to->thing : NULL;

	to->thing = from->thing;
	to->is_gone = false;
	from->thing = other;
	from->is_gone = !other;
	from->was_read = to->was_read = false;
}

/* What is below goes along. */
static void move_node(struct disk *d, struct disk_node *from, struct disk_node *to,
		      bool is_exchanged)
{
	struct disk_node *parent = to->parent, *above = from->parent;
	uint32_t key = to->key, old = from->key;

	displace(d, from);
	displace(d, to);
	place_node(d, from, parent, key);
	if (is_exchanged) {
		place_node(d, to, above, old);
		return;
	}
	to->is_lost = true;
	make_node(d, above, old)->is_gone = true;
}

static void rename_node(struct disk *d, const struct disk_change *e)
{
	struct disk_node *from = node_at(d, e->path), *to = node_at(d, e->path2);

	thing_of(d, from);
	if (is_below(to, from) || is_below(from, to) || from->thing == to->thing)
		return; /* two names of one file: rename(2) does nothing */
	if (e->is_exchanged || ((e->is_replaced || to->was_read) && !to->is_gone))
		thing_of(d, to);
	if (from->has_below || to->has_below)
		move_node(d, from, to, e->is_exchanged);
	else
		move_thing(from, to, e->is_exchanged);
}

static void write_node(struct disk *d, const struct disk_change *e)
{
	struct disk_node *n = node_at(d, e->path);
	bool is_first = !n->thing && !n->is_gone;

	if (e->is_created) {
		put_thing(d, n, make_thing(d, true, NULL));
		return;
	}
	thing_of(d, n)->is_written = true;
	if (is_first && !d->is_told && !n->was_read)
		n->thing->is_unsure = true;
}

static enum disk_act act_of(const char *call)
{
	static const struct {
		const char *call;
		enum disk_act act;
	} acts[] = {
		{"unlink", DISK_REMOVES},     {"unlinkat", DISK_REMOVES},
		{"rmdir", DISK_REMOVES},      {"remove", DISK_REMOVES},
		{"shm_unlink", DISK_REMOVES}, {"sem_unlink", DISK_REMOVES},
		{"rename", DISK_MOVES},	      {"renameat", DISK_MOVES},
		{"renameat2", DISK_MOVES},    {"mkdir", DISK_MAKES},
		{"mkdirat", DISK_MAKES},      {"mkdtemp", DISK_MAKES},
		{"symlink", DISK_MAKES},      {"symlinkat", DISK_MAKES},
		{"mknod", DISK_MAKES},	      {"mknodat", DISK_MAKES},
		{"mkfifo", DISK_MAKES},	      {"mkfifoat", DISK_MAKES},
		{"bind", DISK_MAKES},	      {"link", DISK_LINKS},
		{"linkat", DISK_LINKS},
	};
	size_t i;

	for (i = 0; i < sizeof acts / sizeof *acts; i++)
		if (*call == *acts[i].call && strcmp(call, acts[i].call) == 0)
			return acts[i].act;
	return DISK_WRITES;
}

/* Of which file such a path speaks nobody can say: the change is shown as it is. */
static void note_cut(struct disk *d, const struct disk_change *e)
{
	static const char letters[] = "MDRAA";
	struct disk_cut *last = d->ncuts ? &d->cuts[d->ncuts - 1] : NULL;
	char letter = e->is_created ? 'A' : letters[e->act];

	if (last && last->letter == letter && strcmp(last->path, e->path) == 0 &&
	    strcmp(last->path2, e->path2) == 0)
		return;
	if (d->ncuts == CUTS_MAX) {
		d->cuts_more++;
		return;
	}
	b_grow(d->cuts, d->ncuts, d->cuts_cap);
	d->cuts[d->ncuts++] = (struct disk_cut){letter, b_strdup(e->path), b_strdup(e->path2)};
}

static void apply(struct disk *d, const struct disk_change *e)
{
	struct disk_thing *t;

	if (e->is_cut) {
		note_cut(d, e);
		return;
	}
	switch (e->act) {
	case DISK_REMOVES:
		thing_of(d, node_at(d, e->path));
		put_thing(d, node_at(d, e->path), NULL);
		break;
	case DISK_MOVES:
		rename_node(d, e);
		break;
	case DISK_LINKS: /* a file without a name (O_TMPFILE) has no path */
		t = *e->path ? thing_of(d, node_at(d, e->path)) : make_thing(d, true, NULL);
		put_thing(d, node_at(d, e->path2), t);
		break;
	case DISK_MAKES:
		put_thing(d, node_at(d, e->path), make_thing(d, true, NULL));
		break;
	case DISK_WRITES:
		write_node(d, e);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct disk_change *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static void apply_first(struct disk *d, size_t n)
{
	size_t i;

	if (d->nwaiting)
		qsort(d->waiting, d->nwaiting, sizeof *d->waiting, by_time);
	for (i = 0; i < n; i++) {
		apply(d, &d->waiting[i]);
		free(d->waiting[i].path);
	}
	d->nwaiting -= n;
	if (n)
		memmove(d->waiting, d->waiting + n, d->nwaiting * sizeof *d->waiting);
}

/* The collector holds a line back while it waits for another's word of the same call: the log is in
 * order but for such lines, and their times are. */
void disk_note(struct disk *d, const struct aud_entry *e)
{
	size_t len = strlen(e->path) + 1, len2 = strlen(e->path2) + 1;
	enum disk_act act = act_of(e->call);
	char *paths = b_malloc(len + len2);

	if ((act == DISK_MOVES || act == DISK_LINKS) && !*e->path2)
		act = DISK_WRITES;
	memcpy(paths, e->path, len);
	memcpy(paths + len, e->path2, len2);
	if (d->nwaiting == WAITING_MAX)
		apply_first(d, WAITING_MAX / 2);
	b_grow(d->waiting, d->nwaiting, d->waiting_cap);
	d->waiting[d->nwaiting++] = (struct disk_change){
		.ns = sbx_stamp_ns(e->ts),
		.seq = e->seq,
		.path = paths,
		.path2 = paths + len,
		.act = act,
		.is_created = e->created || strcmp(e->call, "mkstemp") == 0,
		.is_exchanged = e->exchanged,
		.is_replaced = e->replaced,
		.is_cut = e->truncated,
	};
}

void disk_saw(struct disk *d, const char *path)
{
	struct disk_node *n;

	if (d->reads++ >= READS_MAX)
		return;
	n = node_at(d, path);
	n->was_read |= !n->thing && !n->is_gone;
}

/* ---- in the end ---- */

static bool is_there(const struct disk_node *n)
{
	if (!n->thing)
		return false;
	for (; n; n = n->parent)
		if (n->is_lost || n->is_gone)
			return false;
	return true;
}

void disk_settle(struct disk *d)
{
	apply_first(d, d->nwaiting);
	for (struct disk_node *n = d->nodes; n; n = n->next) {
		b_auto(b_str_release) struct b_str path = {0}, was = {0};
		struct disk_thing *t = n->thing;

		if (!is_there(n))
			continue;
		add_names(d, &path, n, NULL);
		n->path = b_strdup(path.len ? path.s : "/");
		HASH_ADD_KEYPTR(by_path, d->paths, n->path, strlen(n->path), n);
		t->names++;
		t->is_home |= t->was && strcmp(t->was, n->path) == 0;
		n->is_along = t->was && was_of(d, n, &was) && strcmp(b_str_c(&was), t->was) == 0;
	}
}

const struct disk_node *disk_at(const struct disk *d, const char *path)
{
	struct disk_node *n;

	HASH_FIND(by_path, d->paths, path, strlen(path), n);
	return n;
}

struct disk_thing *disk_before(const struct disk *d, const char *path)
{
	struct disk_thing *t;

	HASH_FIND_STR(d->before, path, t);
	return t;
}

void disk_release(struct disk *d)
{
	struct disk_node *n = d->nodes, *after;
	struct disk_thing *t = d->things, *next;

	HASH_CLEAR(by_path, d->paths);
	HASH_CLEAR(hh, d->before);
	for (; n; n = after) {
		after = n->next;
		free(n->path);
		free(n);
	}
	for (; t; t = next) {
		next = t->next;
		free(t->was);
		free(t);
	}
	for (size_t i = 0; i < d->ncuts; i++) {
		free(d->cuts[i].path);
		free(d->cuts[i].path2);
	}
	free(d->cuts);
	for (size_t i = 0; i < d->nwaiting; i++)
		free(d->waiting[i].path);
	free(d->waiting);
	b_intern_release(&d->keys);
	free(d->by_key);
	b_str_release(&d->key);
	b_str_release(&d->dir);
}
