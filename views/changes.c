/* SPDX-License-Identifier: Apache-2.0 */
/* changes.c - the net effect of a run on the disk; see views.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include <uthash.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/event.h"
#include "views/git_marks.h"
#include "views/views.h"

/* What became of a name. */
enum fate { WRITTEN, MADE, GONE, HERE_FROM };

enum { NAMES_FIRST = 1 << 12, NAMES_MAX = 1 << 20 };

struct place {
	UT_hash_handle hh;
	char *path, *from; /* from: the name it had before, NULL = this one */
	enum fate fate;
	bool was_ours; /* the first that the run did to the name was to write or make it */
	bool existed;  /* it was read before */
	bool is_moved; /* GONE, to where another place says HERE_FROM */
};

/* A directory in which a place is. */
struct above {
	UT_hash_handle hh;
	char path[];
};

/* A set of names, of which the hashes are kept: a power of two of places, 0 = free. A million reads
 * so take little room, and a name that shares another's hash is at worst called modified instead
 * of added. */
struct names {
	uint64_t *v, n, size;
};

struct disk {
	struct place *table; /* uthash */
	struct above *above; /* uthash */
	struct names seen;   /* read before anything was done to them */
	struct names done;   /* had or have a place */
	uint64_t temporary;
};

/* By words of eight bytes; never 0. All tables here go by it. */
static uint64_t hash_of(const char *s, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ n, word;

	for (; n >= sizeof word; s += sizeof word, n -= sizeof word) {
		memcpy(&word, s, sizeof word);
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, s, n);
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return (h ^ h >> 32) | 1;
}

/* uthash takes the lowest bits, of which the first says nothing. */
static unsigned bucket_of(uint64_t hash)
{
	return (unsigned)(hash >> 1);
}

/* A path that is asked for several times. */
struct name {
	const char *s;
	size_t n;
	uint64_t hash;
};

static struct name name_of(const char *s)
{
	size_t n = strlen(s);

	return (struct name){s, n, hash_of(s, n)};
}

/* Where it is, or would be. */
static uint64_t *place_in(const struct names *t, uint64_t hash)
{
	uint64_t i = hash >> 1;

	while (t->v[i & (t->size - 1)] && t->v[i & (t->size - 1)] != hash)
		i++;
	return &t->v[i & (t->size - 1)];
}

static bool names_have(const struct names *t, uint64_t hash)
{
	return t->n && *place_in(t, hash);
}

static void names_add(struct names *t, uint64_t hash)
{
	uint64_t *at, i;

	if (2 * t->n >= t->size && t->n < NAMES_MAX) {
		struct names more = {.n = t->n, .size = t->size ? 2 * t->size : NAMES_FIRST};

		more.v = b_calloc(more.size, sizeof *more.v);
		for (i = 0; i < t->size; i++)
			if (t->v[i])
				*place_in(&more, t->v[i]) = t->v[i];
		free(t->v);
		*t = more;
	}
	at = place_in(t, hash);
	if (*at || t->n >= NAMES_MAX)
		return;
	*at = hash;
	t->n++;
}

static struct above *above_of(struct disk *d, const char *path, size_t n)
{
	struct above *a;

	HASH_FIND_BYHASHVALUE(hh, d->above, path, n, bucket_of(hash_of(path, n)), a);
	return a;
}

/* All directories on the way to the name: those above one that is known are known. */
static void note_above(struct disk *d, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct above *a;
	size_t n;

	for (; slash && slash > path; slash = memrchr(path, '/', n)) {
		n = (size_t)(slash - path);
		if (above_of(d, path, n))
			return;
		a = b_calloc(1, sizeof *a + n + 1);
		memcpy(a->path, path, n);
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, d->above, a->path, n, bucket_of(hash_of(path, n)),
					    a);
	}
}

static struct place *place_of(struct disk *d, const struct name *name)
{
	struct place *p;

	HASH_FIND_BYHASHVALUE(hh, d->table, name->s, name->n, bucket_of(name->hash), p);
	return p;
}

/* Under its path, which is the name's. */
static void place_enter(struct disk *d, struct place *p, const struct name *name)
{
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, d->table, p->path, name->n, bucket_of(name->hash), p);
	note_above(d, p->path);
}

/* `p`: what place_of() says of the name. */
static struct place *place_make(struct disk *d, struct place *p, const struct name *name,
				enum fate fate)
{
	if (!p) {
		names_add(&d->done, name->hash);
		p = b_calloc(1, sizeof *p);
		p->path = b_strndup(name->s, name->n);
		p->fate = fate;
		p->existed = names_have(&d->seen, name->hash);
		p->was_ours = (fate == WRITTEN || fate == MADE) && !p->existed;
		place_enter(d, p, name);
	}
	p->is_moved = false;
	p->fate = fate == WRITTEN && (p->fate == MADE || p->fate == HERE_FROM) ? p->fate : fate;
	return p;
}

static void place_free(struct disk *d, struct place *p)
{
	HASH_DEL(d->table, p);
	free(p->path);
	free(p->from);
	free(p);
}

static void release(struct disk *d)
{
	struct above *a = d->above, *after;
	struct place *p, *next;

	HASH_ITER(hh, d->table, p, next)
	place_free(d, p);
	free(d->seen.v);
	free(d->done.v);
	HASH_CLEAR(hh, d->above);
	for (; a; a = after) {
		after = a->hh.next;
		free(a);
	}
}

/* The name goes: a temporary one leaves no trace, one that was there before is removed. */
static void remove_name(struct disk *d, struct place *p, const struct name *name)
{
	if (p && p->fate == HERE_FROM) {
		b_auto_free char *text = b_strdup(p->from);
		struct name from = name_of(text);

		place_free(d, p);
		place_make(d, place_of(d, &from), &from, GONE);
	} else if (p && p->was_ours && p->fate != GONE) {
		d->temporary++;
		place_free(d, p);
	} else {
		place_make(d, p, name, GONE);
	}
}

static void move_name(struct disk *d, struct place *p, const struct name *from,
		      const struct name *to)
{
	struct place *q;

	if (p && p->fate == GONE)
		p = NULL;
	q = place_make(d, place_of(d, to), to,
		       p && p->was_ours && p->fate != HERE_FROM ? p->fate : HERE_FROM);
	free(q->from);
	q->from = b_strdup(p && p->from ? p->from : from->s);
	if (p) {
		place_free(d, p);
		return;
	}
	p = place_make(d, place_of(d, from), from, GONE);
	p->is_moved = true;
	p->existed = false; /* what is made there is another file */
}

/* A directory's move takes along what the run did below it. */
static void move_below(struct disk *d, const char *from, const char *to)
{
	size_t n = strlen(from);
	struct place *p, *next;

	if (!above_of(d, from, n))
		return;
	HASH_ITER(hh, d->table, p, next)
	{
		b_auto(b_str_release) struct b_str path = {0};
		struct name name;

		if (strncmp(p->path, from, n) != 0 || p->path[n] != '/' || p->fate == GONE)
			continue;
		b_str_addf(&path, "%s%s", to, p->path + n);
		HASH_DEL(d->table, p);
		free(p->path);
		p->path = b_str_take(&path);
		name = name_of(p->path);
		place_enter(d, p, &name);
	}
}

/* What was read before anything was done to it was there before. */
static void note_seen(struct disk *d, const struct aud_entry *e)
{
	uint64_t hash;

	if (strcmp(e->kind, "result") != 0 || strcmp(e->op, "read") != 0 || e->err)
		return;
	hash = hash_of(e->path, strlen(e->path));
	if (!names_have(&d->seen, hash) && !names_have(&d->done, hash))
		names_add(&d->seen, hash);
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
		{"remove", REMOVES}, {"shm_unlink", REMOVES}, {"rename", MOVES},
		{"renameat", MOVES}, {"renameat2", MOVES},    {"mkdir", MAKES},
		{"mkdirat", MAKES},  {"symlink", MAKES},      {"symlinkat", MAKES},
		{"mknod", MAKES},    {"mknodat", MAKES},      {"mkfifo", MAKES},
		{"mkfifoat", MAKES}, {"link", LINKS},	      {"linkat", LINKS},
	};
	size_t i;

	for (i = 0; i < sizeof acts / sizeof *acts; i++)
		if (*call == *acts[i].call && strcmp(call, acts[i].call) == 0)
			return acts[i].act;
	return WRITES;
}

static void note(struct disk *d, const struct aud_entry *e)
{
	struct name path = name_of(e->path), path2;
	struct place *p = place_of(d, &path);
	enum act act = act_of(e->call);

	if ((act == MOVES || act == LINKS) && !*e->path2)
		act = WRITES;
	switch (act) {
	case REMOVES:
		remove_name(d, p, &path);
		break;
	case MOVES:
		path2 = name_of(e->path2);
		move_name(d, p, &path, &path2);
		move_below(d, e->path, e->path2);
		break;
	case LINKS:
		path2 = name_of(e->path2);
		place_make(d, place_of(d, &path2), &path2, MADE);
		break;
	case MAKES:
		place_make(d, p, &path, MADE);
		break;
	case WRITES:
		place_make(d, p, &path, WRITTEN);
	}
}

/* ---- what is there now ---- */

/* When the file was born, 0: it is not there, or its file system does not know. */
static int64_t born_ns(const char *path, bool *is_there)
{
	struct statx st;

	*is_there = statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) == 0;
	if (!*is_there || !(st.stx_mask & STATX_BTIME))
		return 0;
	return st.stx_btime.tv_sec * INT64_C(1000000000) + st.stx_btime.tv_nsec;
}

static int64_t started_ns(const struct aud_run *run)
{
	const char *text = aud_run_str(run, "started");

	return text ? view_time(text) : 0;
}

struct change {
	char letter;
	const char *path, *from;
	const char *git; /* what git says of the name; NULL: nothing */
};

static int by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* '\0': nothing is left of it. */
static char letter_of(const struct view *v, const struct place *p, int64_t started)
{
	b_auto(b_str_release) struct b_str path = {0};
	bool is_there;
	int64_t born;

	view_absolute(v->run, p->path, &path);
	born = born_ns(b_str_c(&path), &is_there);
	switch (p->fate) {
	case GONE:
		return is_there && born < started ? 'M' : 'D';
	case HERE_FROM: /* what was made meanwhile and took its place: an editor's save */
		if (is_there && born >= started && born)
			return p->existed ? 'M' : 'A';
		return 'R';
	case MADE:
		return is_there ? 'A' : '\0';
	case WRITTEN:
		break;
	}
	if (!is_there)
		return '\0';
	if (born >= started && born)
		return p->existed ? 'M' : 'A';
	return p->from ? 'R' : 'M';
}

static void add_change(const struct view *v, const struct change *c, struct b_str *out)
{
	struct b_json j = {.out = out};

	if (!v->json) {
		b_str_addf(out, "%c ", c->letter);
		if (c->from) {
			view_text(out, c->from);
			b_str_add(out, " -> ");
		}
		view_text(out, c->path);
		if (c->git && strcmp(c->git, "untracked") != 0)
			b_str_addf(out, "  %s by git", c->git);
		b_str_addc(out, '\n');
		return;
	}
	b_json_open(&j, '{');
	b_json_key(&j, "change");
	b_json_strn(&j, &c->letter, 1);
	b_json_bytes(&j, "path", c->path, strlen(c->path));
	if (c->from)
		b_json_bytes(&j, "from", c->from, strlen(c->from));
	if (c->git) {
		b_json_key(&j, "git");
		b_json_str(&j, c->git);
	}
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

/* The name in the first workspace, relative to it. */
static const char *in_workspace(const char *path)
{
	return b_has_prefix(path, "./") && path[2] ? path + 2 : NULL;
}

static void ask_git(const struct view *v, struct git_marks *m, struct change *list, size_t n)
{
	b_auto_free const char **names = b_calloc(n + 1, sizeof *names);
	size_t asked = 0, i;

	for (i = 0; i < n; i++)
		if (in_workspace(list[i].path))
			names[asked++] = in_workspace(list[i].path);
	if (v->run->nworkspaces)
		git_marks_ask(m, v->run->workspaces[0], names, asked);
	for (i = 0; i < n; i++)
		if (in_workspace(list[i].path))
			list[i].git = git_mark_of(m, in_workspace(list[i].path));
}

static int show(struct view *v, struct disk *d, struct b_err *err)
{
	b_auto(git_marks_release) struct git_marks marks = {0};
	b_auto_free struct change *list = b_calloc(HASH_COUNT(d->table) + 1, sizeof *list);
	int64_t started = started_ns(v->run);
	struct place *p, *next;
	size_t n = 0, i;

	HASH_ITER(hh, d->table, p, next)
	{
		char letter = letter_of(v, p, started);

		if (!letter)
			d->temporary++;
		else if (letter != 'D' || !p->is_moved) /* else said by what it became */
			list[n++] = (struct change){letter, p->path, letter == 'R' ? p->from : NULL,
						    NULL};
	}
	qsort(list, n, sizeof *list, by_path);
	ask_git(v, &marks, list, n);
	for (i = 0; i < n; i++) {
		add_change(v, &list[i], v->out);
		if (view_flush(v, err) < 0)
			return -1;
	}
	if (d->temporary && !v->json)
		b_str_addf(v->out, "%" PRIu64 " temporary files and directories are gone\n",
			   d->temporary);
	return n || d->temporary;
}

static bool is_device(const char *path)
{
	return b_has_prefix(path, "/dev/") && !b_has_prefix(path, "/dev/shm/");
}

int view_changes(struct view *v, struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	b_auto(release) struct disk d = {0};
	int got;

	if (aud_reader_open(&r, v->run, err) < 0)
		return -1;
	while ((got = view_next(v, &r, err)) > 0) {
		if (is_device(r.e.path))
			continue; /* what is written there stays nowhere */
		if (view_is_done(&r.e))
			note(&d, &r.e);
		else
			note_seen(&d, &r.e);
	}
	return got < 0 ? -1 : show(v, &d, err);
}
