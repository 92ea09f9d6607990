/* SPDX-License-Identifier: Apache-2.0 */
/* samemount.c - the other names that mounts give to what a rule denies. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/rules/build.h"
#include "policy/rules/mountinfo.h"

/*
 * What a rule denies lies under a second name where its file system is mounted twice:
 * a bind mount of a home, the top of a btrfs whose subvolume is the home. Each such name is closed
 * by a rule of its own, behind the one that it repeats, so that what opens names later opens these
 * as well.
 */

static bool is_same(const struct pol_mounted *a, const struct pol_mounted *b)
{
	return a->major == b->major && a->minor == b->minor &&
	       (pol_mounted_behind(a->root, b->root) || pol_mounted_behind(b->root, a->root));
}

/* Nearly no host has such mounts: then no rule is looked at. */
static bool find_mounts(struct pol_build *b)
{
	if (b->has_mounts)
		return b->mounts_meet;
	b->has_mounts = true;
	b->nmounts = pol_mountinfo(&b->rs->arena, &b->mounts);
	for (size_t i = 0; i < b->nmounts; i++)
		for (size_t k = 0; k < i && !b->mounts_meet; k++)
			b->mounts_meet = is_same(&b->mounts[i], &b->mounts[k]) &&
					 strcmp(b->mounts[i].at, b->mounts[k].at) != 0;
	return b->mounts_meet;
}

static const char *join(struct pol_build *b, const char *dir, const char *behind)
{
	return b_arena_printf(&b->rs->arena, "%s%s", *behind && !dir[1] ? "" : dir, behind);
}

void pol_build_add_mounted(struct pol_build *b, unsigned ops, const struct pol_rule *r)
{
	const struct pol_mounted *own;
	const char *inside;

	/* the base says what is so before any rule speaks; all of it again would be the root */
	if (r->allow || !r->base_len || (r->tier == POL_TIER_BASE && !b->hides) || !find_mounts(b))
		return;
	own = pol_mounted_at(b->mounts, b->nmounts, r->base);
	if (!own)
		return;
	inside = join(b, own->root, pol_mounted_behind(r->base, own->at));
	for (size_t i = 0; i < b->nmounts; i++) {
		const struct pol_mounted *m = &b->mounts[i];
		const char *behind;
		struct pol_rule t = *r;

		if (m == own || !is_same(m, own))
			continue;
		behind = pol_mounted_behind(inside, m->root);
		if (!behind && r->shape == POL_TREE && pol_mounted_behind(m->root, inside))
			behind = ""; /* the mount shows a part of the denied tree */
		if (!behind)
			continue;
		pol_build_at(&t, join(b, m->at, behind));
		t.twin = true;
		if (t.base_len && strcmp(t.base, r->base) != 0)
			pol_ruleset_add_to(b->rs, ops, &t);
	}
}

/* ---- the mounts of this host ---- */

/* A blank-separated word with its octal escapes undone, in place; NULL: there is none. */
static char *take_word(char **at)
{
	char *word = *at, *to = word, *p = word;
	unsigned c;

	if (!word || !*word)
		return NULL;
	for (; *p && *p != ' '; *to++ = *p++)
		if (*p == '\\' && sscanf(p + 1, "%3o", &c) == 1) {
			*(p += 3) = (char)c;
		}
	*at = *p ? p + 1 : NULL;
	*to = '\0';
	return word;
}

/* "36 35 0:5 / /mnt rw shared:1 - xfs /dev/sda rw", proc_pid_mountinfo(5). In place. */
static bool parse(char *line, struct pol_mounted *out)
{
	char *root, *at;
	int used = 0;

	if (sscanf(line, "%*u %*u %u:%u %n", &out->major, &out->minor, &used) != 2 || !used)
		return false;
	line += used;
	root = take_word(&line);
	at = take_word(&line);
	/* not "/x//deleted", nor a namespace's "net:[1]" */
	if (!root || !at || *root != '/' || *at != '/')
		return false;
	out->root = root;
	out->at = at;
	return true;
}

size_t pol_mountinfo(struct b_arena *arena, struct pol_mounted **out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	b_auto_free struct pol_mounted *v = NULL;
	b_auto_free char *line = NULL;
	size_t size = 0, n = 0, cap = 0;

	while (f && getline(&line, &size, f) > 0) {
		struct pol_mounted m;

		if (!parse(line, &m))
			continue;
		b_grow(v, n, cap);
		m.root = b_arena_strndup(arena, m.root, strlen(m.root));
		m.at = b_arena_strndup(arena, m.at, strlen(m.at));
		v[n++] = m;
	}
	if (f)
		(void)fclose(f);
	*out = n ? b_arena_alloc(arena, n * sizeof *v) : NULL;
	if (n)
		memcpy(*out, v, n * sizeof *v);
	return n;
}

const char *pol_mounted_behind(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	n -= n == 1; /* "/" */
	if (strncmp(path, dir, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return path[n] && path[n + 1] ? path + n : "";
}

const struct pol_mounted *pol_mounted_at(const struct pol_mounted *v, size_t n, const char *path)
{
	const struct pol_mounted *found = NULL;

	/* a later one hides an earlier, below it or at its place */
	for (size_t i = 0; i < n; i++)
		if (pol_mounted_behind(path, v[i].at) &&
		    (!found || strlen(v[i].at) >= strlen(found->at)))
			found = &v[i];
	return found;
}
