/* SPDX-License-Identifier: Apache-2.0 */
/* changes.c - the net effect of a run on the disk; see views.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/stamp.h"
#include "views/disk.h"
#include "views/git_marks.h"
#include "views/inside.h"
#include "views/part.h"
#include "views/views.h"

/* ---- what is there now ---- */

/* When the file was born, 0: it is not there, or its file system does not know. What cannot be
 * looked at (a name longer than PATH_MAX) counts as there. */
static int64_t born_ns(const char *path, bool *is_there)
{
	struct statx st;

	*is_there = true;
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) < 0) {
		*is_there = errno != ENOENT && errno != ENOTDIR;
		return 0;
	}
	if (!(st.stx_mask & STATX_BTIME))
		return 0;
	return st.stx_btime.tv_sec * INT64_C(1000000000) + st.stx_btime.tv_nsec;
}

static int64_t started_ns(const struct aud_run *run)
{
	const char *text = aud_run_str(run, "started");

	return text ? sbx_stamp_ns(text) : 0;
}

struct change {
	char letter;
	const char *path, *from;
	const char *git; /* what git says of the name; NULL: nothing */
	bool is_written; /* with R: as well */
	bool is_cut;	 /* the paths go on */
};

struct changes {
	struct change *v;
	size_t n, cap;
	uint64_t temporary;
};

static int by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static void add(struct changes *all, struct change one)
{
	b_grow(all->v, all->n, all->cap);
	all->v[all->n++] = one;
}

/* The run's directory for temporary files goes with the run. */
static bool is_scratch(const char *path)
{
	return b_has_prefix(path, "/tmp/sbx-launch-");
}

/* The name has, in the end, something that it did not have before. '\0': nothing to say. */
static char letter_of(const struct disk_node *n, const struct disk_thing *before, bool is_born)
{
	const struct disk_thing *t = n->thing;

	if (t->is_unsure && is_born)
		return before && before != t ? 'M' : 'A';
	if (t == before || n->is_along)
		return t->is_written ? 'M' : '\0';
	if (!t->was)
		return before || !t->is_new ? 'M' : 'A';
	return t->is_home || t->is_said ? 'A' : 'R';
}

static void add_name(const struct view *v, const struct disk *d, const struct disk_node *n,
		     struct changes *all)
{
	b_auto(b_str_release) struct b_str path = {0};
	const struct disk_thing *before = disk_before(d, n->path);
	int64_t started = started_ns(v->run), born;
	bool is_there, is_known = v->run->nworkspaces || *n->path == '/';
	char letter;

	view_absolute(v->run, n->path, &path);
	born = born_ns(b_str_c(&path), &is_there);
	letter = letter_of(n, before, is_known && born && born >= started);
	if (is_known && !is_there && letter) {
		bool was_there = before || (n->thing->was && n->thing->is_home);

		if (!was_there || is_scratch(n->path)) {
			all->temporary++;
			return;
		}
		letter = 'D';
	}
	if (!letter)
		return;
	n->thing->is_said |= letter == 'R';
	add(all, (struct change){.letter = letter,
				 .path = n->path,
				 .from = letter == 'R' ? n->thing->was : NULL,
				 .is_written = letter == 'R' && n->thing->is_written});
}

/* What has no name any more: removed, unless it is known that the run had made it. */
static void add_nameless(const struct disk *d, const struct disk_thing *t, struct changes *all)
{
	if (t->names)
		return;
	if (t->is_new || (t->was && is_scratch(t->was)))
		all->temporary++;
	else if (t->was && !disk_at(d, t->was))
		add(all, (struct change){.letter = 'D', .path = t->was});
}

static void list_changes(const struct view *v, const struct disk *d, struct changes *all)
{
	const struct disk_node *n;
	const struct disk_thing *t;
	size_t i;

	for (n = d->nodes; n; n = n->next)
		if (n->path)
			add_name(v, d, n, all);
	for (t = d->things; t; t = t->next)
		add_nameless(d, t, all);
	for (i = 0; i < d->ncuts; i++) {
		const struct disk_cut *c = &d->cuts[i];
		bool is_moved = c->letter == 'R' && *c->path2;

		add(all, (struct change){.letter = c->letter,
					 .path = is_moved ? c->path2 : c->path,
					 .from = is_moved ? c->path : NULL,
					 .is_cut = true});
	}
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
		if (c->is_cut)
			b_str_add(out, "...  (a longer path)");
		if (c->is_written)
			b_str_add(out, "  modified");
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
	if (c->is_written || c->is_cut) {
		b_json_key(&j, c->is_cut ? "truncated" : "modified");
		b_json_bool(&j, true);
	}
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

static int show(void *gathered, struct view *v, struct b_err *err)
{
	struct disk *d = gathered;
	b_auto(git_marks_release) struct git_marks marks = {0};
	struct changes all = {0};
	b_auto_free struct change *list = NULL;
	size_t i;

	disk_settle(d);
	list_changes(v, d, &all);
	list = all.v;
	if (all.n)
		qsort(list, all.n, sizeof *list, by_path);
	ask_git(v, &marks, list, all.n);
	for (i = 0; i < all.n; i++) {
		add_change(v, &list[i], v->out);
		if (view_flush(v, err) < 0)
			return -1;
	}
	if (d->cuts_more && !v->json)
		b_str_addf(v->out, "%zu more changes of longer paths\n", d->cuts_more);
	if (all.temporary && !v->json)
		b_str_addf(v->out, "%" PRIu64 " temporary files and directories are gone\n",
			   all.temporary);
	return all.n || all.temporary;
}

static bool was_there(const struct aud_entry *e)
{
	return strcmp(e->kind, "result") == 0 && strcmp(e->op, "read") == 0 && !e->err;
}

static bool is_device(const char *path)
{
	return b_has_prefix(path, "/dev/") && !b_has_prefix(path, "/dev/shm/");
}

static void *open_disk(struct view *v, const struct aud_reader *r, struct b_err *err)
{
	struct disk *d = b_calloc(1, sizeof *d);

	(void)v;
	(void)err;
	d->is_told = r->is_brokered;
	return d;
}

static void add_event(void *gathered, const struct aud_entry *e)
{
	struct disk *d = gathered;

	if (is_device(e->path))
		return; /* what is written there stays nowhere */
	if (view_is_done(e))
		disk_note(d, e);
	else if (!d->is_told && was_there(e))
		disk_saw(d, e->path);
}

static void close_disk(void *gathered)
{
	disk_release(gathered);
	free(gathered);
}

const struct view_part view_part_changes = {open_disk, add_event, show, close_disk,
					    view_add_inside};

int view_changes(struct view *v, struct b_err *err)
{
	return view_alone(v, &view_part_changes, err);
}
