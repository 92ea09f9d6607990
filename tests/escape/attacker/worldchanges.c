/* SPDX-License-Identifier: Apache-2.0 */
/* worldchanges.c - what a program really changed: two inventories compared. */
#include "worldstate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool same_object(const struct ak_entry *a, const struct ak_entry *b)
{
	return a->st.st_dev == b->st.st_dev && a->st.st_ino == b->st.st_ino && a->born == b->born &&
	       (a->st.st_mode & S_IFMT) == (b->st.st_mode & S_IFMT);
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Opened by the look itself (worldstate.c), which changes the mode. */
static bool is_closed_to_look(const struct ak_entry *e)
{
	mode_t least = S_ISDIR(e->st.st_mode) ? 0700 : 0400;

	return geteuid() != 0 && (e->st.st_mode & least) != least;
}

static void add_names(struct ak_change *c, const struct ak_state *s, const struct ak_entry *e)
{
	unsigned n = 0;

	while (n < AK_OBJECT_NAMES && c->also[n])
		n++;
	for (unsigned i = 0; i < s->n && n < AK_OBJECT_NAMES; i++)
		if (same_object(&s->v[i], e) && strcmp(s->v[i].path, c->path) != 0)
			c->also[n++] = strdup(s->v[i].path);
}

static void add(struct ak_changes *out, enum ak_change_kind kind, const struct ak_entry *e,
		const struct ak_state *before, const struct ak_state *now)
{
	struct ak_change *c = &out->v[out->n];

	if (out->n == AK_CHANGES)
		return;
	out->n++;
	*c = (struct ak_change){.kind = kind,
				.is_dir = S_ISDIR(e->st.st_mode),
				.has_content = S_ISREG(e->st.st_mode) && e->st.st_size > 0,
				.path = strdup(e->path)};
	add_names(c, before, e);
	add_names(c, now, e);
}

static void compare(const struct ak_entry *a, const struct ak_entry *b,
		    const struct ak_state *before, const struct ak_state *now,
		    struct ak_changes *out)
{
	unsigned n = out->n;

	if (a->st.st_mode != b->st.st_mode)
		add(out, AK_C_MODE, b, before, now);
	if (a->st.st_uid != b->st.st_uid || a->st.st_gid != b->st.st_gid)
		add(out, AK_C_OWNER, b, before, now);
	if (a->attrs != b->attrs)
		add(out, AK_C_ATTRS, b, before, now);
	if (S_ISREG(a->st.st_mode) && a->hash != b->hash)
		add(out, AK_C_CONTENT, b, before, now);
	if (out->n == n &&
	    (!same_time(a->st.st_mtim, b->st.st_mtim) || !same_time(a->st.st_ctim, b->st.st_ctim)))
		add(out, AK_C_TIMES, b, before, now);
}

uint64_t ak_hash_name(const char *path)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 0x100000001b3u;
	return h;
}

void ak_world_changes(const struct ak_state *before, const struct ak_state *now,
		      struct ak_changes *out)
{
	*out = (struct ak_changes){.there = calloc(now->n + 1, sizeof *out->there)};
	if (!out->there)
		abort();
	for (unsigned i = 0; i < now->n; i++)
		out->there[out->nthere++] = ak_hash_name(now->v[i].path);
	for (unsigned i = 0; i < before->n; i++) {
		const struct ak_entry *e = &before->v[i], *is = ak_find_entry(now, e->path);

		if (!is || !same_object(e, is))
			add(out, AK_C_GONE, e, before, now);
		else if (!is_closed_to_look(e))
			compare(e, is, before, now, out);
	}
	for (unsigned i = 0; i < now->n; i++) {
		const struct ak_entry *e = &now->v[i], *was = ak_find_entry(before, e->path);

		if (!was || !same_object(was, e))
			add(out, AK_C_MADE, e, before, now);
	}
}

void ak_changes_release(struct ak_changes *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		free(c->v[i].path);
		for (unsigned k = 0; k < AK_OBJECT_NAMES; k++)
			free(c->v[i].also[k]);
	}
	free(c->there);
	*c = (struct ak_changes){0};
}
