/* SPDX-License-Identifier: Apache-2.0 */
/* disk.c - see disk.h. Without recursion: the command decides how deep its directories are. */
#include "views/disk.h"

#include <stdlib.h>
#include <string.h>

#include "audit/entry.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/views.h"

enum {
	PARENT = sizeof(struct disk_node *),
	READS_MAX = 200000,
	CUTS_MAX = 1000,
	WAITING_MAX = 1 << 16
};

/* ---- names ---- */

static void place_node(struct disk *d, struct disk_node *n, struct disk_node *parent,
		       const char *name, size_t len)
{
	char *key = b_malloc(PARENT + len + 1);

	memcpy(key, &parent, PARENT);
	memcpy(key + PARENT, name, len);
	key[PARENT + len] = '\0';
	free(n->key);
	n->key = key;
	n->key_len = PARENT + len;
	n->parent = parent;
	HASH_ADD_KEYPTR(hh, d->table, n->key, n->key_len, n);
}

static struct disk_node *make_node(struct disk *d, struct disk_node *parent, const char *name,
				   size_t len)
{
	struct disk_node *n = b_calloc(1, sizeof *n);

	n->next = d->nodes;
	d->nodes = n;
	place_node(d, n, parent, name, len);
	return n;
}

static struct disk_node *child_of(struct disk *d, struct disk_node *parent, const char *name,
				  size_t len)
{
	b_auto(b_str_release) struct b_str key = {0};
	struct disk_node *n;

	b_str_addn(&key, (const char *)&parent, PARENT);
	b_str_addn(&key, name, len);
	HASH_FIND(hh, d->table, key.s, key.len, n);
	return n ? n : make_node(d, parent, name, len);
}

static struct disk_node *node_at(struct disk *d, const char *path)
{
	size_t len = strcspn(path, "/");
	struct disk_node *n = child_of(d, NULL, path, len);

	for (path += len; *path; path += len) {
		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len)
			n = child_of(d, n, path, len);
	}
	return n;
}

/* The names from below `above` (NULL: from the root) down to `n`. */
static void add_names(struct b_str *out, const struct disk_node *n, const struct disk_node *above)
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
		b_str_addn(out, way[i]->key + PARENT, way[i]->key_len - PARENT);
	}
}

/* What the node was called before the run, as far as the directories above it say. */
static bool was_of(const struct disk_node *node, struct b_str *out)
{
	const struct disk_node *above = node->parent;

	while (above && !above->thing && !above->is_gone)
		above = above->parent;
	if (above && (above->is_gone || !above->thing->was))
		return false;
	if (above)
		b_str_add(out, above->thing->was);
	add_names(out, node, above);
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
	is_known = !n->is_gone && was_of(n, &was);
	n->thing = make_thing(d, false, is_known ? b_str_c(&was) : NULL);
	n->is_gone = false;
	return n->thing;
}

/* The name gets another thing, NULL = none. What was below it is not there any more. */
static void put_thing(struct disk *d, struct disk_node *n, struct disk_thing *t)
{
	struct disk_node *fresh;

	HASH_DEL(d->table, n);
	n->is_lost = true;
	fresh = make_node(d, n->parent, n->key + PARENT, n->key_len - PARENT);
	fresh->thing = t;
	fresh->is_gone = !t;
}

static bool is_below(const struct disk_node *n, const struct disk_node *above)
{
	while (n && n != above)
		n = n->parent;
	return n;
}

/* ---- events ---- */

static void move_node(struct disk *d, const struct disk_change *e)
{
	struct disk_node *from = node_at(d, e->path), *to = node_at(d, e->path2), *gone;
	struct disk_node *parent = to->parent;
	b_auto_free char *name = b_strndup(to->key + PARENT, to->key_len - PARENT);
	b_auto_free char *old = b_strndup(from->key + PARENT, from->key_len - PARENT);
	struct disk_node *above = from->parent;

	thing_of(d, from);
	if (is_below(to, from) || is_below(from, to) || from->thing == to->thing)
		return; /* two names of one file: rename(2) does nothing */
	if (e->is_exchanged || ((e->is_replaced || to->was_read) && !to->is_gone))
		thing_of(d, to);
	HASH_DEL(d->table, from);
	HASH_DEL(d->table, to);
	place_node(d, from, parent, name, strlen(name));
	if (e->is_exchanged) {
		place_node(d, to, above, old, strlen(old));
		return;
	}
	to->is_lost = true;
	gone = make_node(d, above, old, strlen(old));
	gone->is_gone = true;
}

static void write_node(struct disk *d, const struct disk_change *e)
{
	struct disk_node *n = node_at(d, e->path);
	bool is_first = !n->thing && !n->is_gone;

	if (e->is_created || strcmp(e->call, "mkstemp") == 0) {
		put_thing(d, n, make_thing(d, true, NULL));
		return;
	}
	thing_of(d, n)->is_written = true;
	if (is_first && !d->is_told && !n->was_read)
		n->thing->is_unsure = true;
}

enum act { WRITES, REMOVES, MOVES, MAKES, LINKS };

/* What is not here writes to its path. */
static enum act act_of(const char *call)
{
	static const struct {
		const char *call;
		enum act act;
	} acts[] = {
		{"unlink", REMOVES}, {"unlinkat", REMOVES},   {"rmdir", REMOVES},
		{"remove", REMOVES}, {"shm_unlink", REMOVES}, {"sem_unlink", REMOVES},
		{"rename", MOVES},   {"renameat", MOVES},     {"renameat2", MOVES},
		{"mkdir", MAKES},    {"mkdirat", MAKES},      {"mkdtemp", MAKES},
		{"symlink", MAKES},  {"symlinkat", MAKES},    {"mknod", MAKES},
		{"mknodat", MAKES},  {"mkfifo", MAKES},	      {"mkfifoat", MAKES},
		{"bind", MAKES},     {"link", LINKS},	      {"linkat", LINKS},
	};
	size_t i;

	for (i = 0; i < sizeof acts / sizeof *acts; i++)
		if (*call == *acts[i].call && strcmp(call, acts[i].call) == 0)
			return acts[i].act;
	return WRITES;
}

/* Of which file such a path speaks nobody can say: the change is shown as it is. */
static void note_cut(struct disk *d, const struct disk_change *e, enum act act)
{
	static const char letters[] = "MDRAA";
	struct disk_cut *last = d->ncuts ? &d->cuts[d->ncuts - 1] : NULL;
	char letter = e->is_created ? 'A' : letters[act];

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
	enum act act = act_of(e->call);
	struct disk_thing *t;

	if ((act == MOVES || act == LINKS) && !*e->path2)
		act = WRITES;
	if (e->is_cut) {
		note_cut(d, e, act);
		return;
	}
	switch (act) {
	case REMOVES:
		thing_of(d, node_at(d, e->path));
		put_thing(d, node_at(d, e->path), NULL);
		break;
	case MOVES:
		move_node(d, e);
		break;
	case LINKS: /* a file without a name (O_TMPFILE) has no path */
		t = *e->path ? thing_of(d, node_at(d, e->path)) : make_thing(d, true, NULL);
		put_thing(d, node_at(d, e->path2), t);
		break;
	case MAKES:
		put_thing(d, node_at(d, e->path), make_thing(d, true, NULL));
		break;
	case WRITES:
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
		free(d->waiting[i].path2);
		free(d->waiting[i].call);
	}
	d->nwaiting -= n;
	if (n)
		memmove(d->waiting, d->waiting + n, d->nwaiting * sizeof *d->waiting);
}

/* The collector holds a line back while it waits for another's word of the same call: the log is in
 * order but for such lines, and their times are. */
void disk_note(struct disk *d, const struct aud_entry *e)
{
	if (d->nwaiting == WAITING_MAX)
		apply_first(d, WAITING_MAX / 2);
	b_grow(d->waiting, d->nwaiting, d->waiting_cap);
	d->waiting[d->nwaiting++] = (struct disk_change){.ns = view_time(e->ts),
							 .seq = e->seq,
							 .path = b_strdup(e->path),
							 .path2 = b_strdup(e->path2),
							 .call = b_strdup(e->call),
							 .is_created = e->created,
							 .is_exchanged = e->exchanged,
							 .is_replaced = e->replaced,
							 .is_cut = e->truncated};
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
		add_names(&path, n, NULL);
		n->path = b_strdup(path.len ? path.s : "/");
		HASH_ADD_KEYPTR(by_path, d->paths, n->path, strlen(n->path), n);
		t->names++;
		t->is_home |= t->was && strcmp(t->was, n->path) == 0;
		n->is_along = t->was && was_of(n, &was) && strcmp(b_str_c(&was), t->was) == 0;
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

	HASH_CLEAR(hh, d->table);
	HASH_CLEAR(by_path, d->paths);
	HASH_CLEAR(hh, d->before);
	for (; n; n = after) {
		after = n->next;
		free(n->key);
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
	for (size_t i = 0; i < d->nwaiting; i++) {
		free(d->waiting[i].path);
		free(d->waiting[i].path2);
		free(d->waiting[i].call);
	}
	free(d->waiting);
}
