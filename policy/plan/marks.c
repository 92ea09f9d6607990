/* SPDX-License-Identifier: Apache-2.0 */
/* marks.c - clean directories, in which the kernel may decide (docs/adr/016): see floor.h. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/decide.h"
#include "policy/plan/floor.h"

#define DEPTH	 4	    /* below a root of what may be modified */
#define NEW_NAME "/\001sbx" /* of nobody, as in floor.c */

struct look {
	struct pol_floor *out;
	const struct sbx_image *img;
	const struct pol_fsview *fs;
	const char *const *mounts;
	size_t nmounts, n;
};

static bool lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

static bool may_modify(const struct look *l, const char *dir, size_t len, const char *name)
{
	char path[PATH_MAX + 32];
	size_t n = strlen(name);

	memcpy(path, dir, len);
	memcpy(path + len, name, n);
	return sbx_decide(l->img, SBX_MODIFY, path, len + n);
}

/* No symlink comes to be in a git directory (launcher/linux/broker/links.c), and the kernel would
 * let a directory move there that has one. Known by its name, or by what the set `protected` closes
 * in it. */
static bool is_git_dir(const struct look *l, const char *path, size_t len)
{
	const char *name = strrchr(path, '/') + 1;

	if (strcasecmp(name, ".git") == 0)
		return true;
	return may_modify(l, path, len, NEW_NAME) && !may_modify(l, path, len, "/commondir");
}

/* /dev and the kernel's file systems: what is there is no file of anybody's. */
static bool is_special(const char *path)
{
	static const char *const roots[] = {"/dev", "/proc", "/sys"};

	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
		if (lies_in(path, roots[i]))
			return true;
	return false;
}

/* Is something mounted there, or below? Such a mount would be granted as well, another procfs, or a
 * directory that has a second name, among them. */
static bool has_mount(const struct look *l, const char *path, bool below)
{
	for (size_t i = 0; i < l->nmounts; i++)
		if (below ? strcmp(l->mounts[i], path) != 0 && lies_in(l->mounts[i], path)
			  : strcmp(l->mounts[i], path) == 0)
			return true;
	return false;
}

static bool is_marked(const struct look *l, const char *path)
{
	for (size_t i = l->out->ngrants; i-- > 0;)
		if (l->out->grants[i].rights & POL_GRANT_CLEAN &&
		    lies_in(path, l->out->grants[i].path))
			return true;
	return false;
}

struct entries {
	struct b_arena arena;
	const char **v;
	size_t n, cap;
	bool crowded;
};

static int collect(void *arg, const char *name, char type)
{
	struct entries *e = arg;

	if (type != 'd')
		return 0;
	e->crowded = e->n == POL_CARVE_MAX;
	if (e->crowded)
		return 1;
	b_grow(e->v, e->n, e->cap);
	e->v[e->n++] = b_arena_strndup(&e->arena, name, strlen(name));
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void visit(struct look *l, const char *path, unsigned depth);

/* In their order, so that equal directories give equal plans. */
static void visit_entries(struct look *l, const char *path, unsigned depth)
{
	struct entries e = {0};
	size_t len = strlen(path);

	(void)l->fs->list(l->fs->ctx, path, collect, &e);
	if (e.n && !e.crowded)
		qsort(e.v, e.n, sizeof *e.v, by_text);
	for (size_t i = 0; i < e.n && !e.crowded; i++) {
		char child[PATH_MAX];
		size_t n = strlen(e.v[i]);

		if (len + 1 + n >= sizeof child)
			continue;
		memcpy(child, path, len);
		child[len] = '/';
		memcpy(child + len + 1, e.v[i], n + 1);
		visit(l, child, depth);
	}
	free(e.v);
	b_arena_release(&e.arena);
}

static void visit(struct look *l, const char *path, unsigned depth)
{
	size_t len = strlen(path);

	if (l->n == POL_CLEAN_MAX || is_special(path) || is_git_dir(l, path, len) ||
	    is_marked(l, path) || (depth < DEPTH && has_mount(l, path, false)))
		return;
	if (sbx_clean_below(l->img, path, len) && !has_mount(l, path, true)) {
		pol_floor_grant(l->out, path, POL_GRANT_CLEAN, true);
		l->n++;
	} else if (depth > 0 && may_modify(l, path, len, NEW_NAME)) {
		visit_entries(l, path, depth - 1);
	}
}

/* A root that lies in a git directory is one of it. */
static bool is_in_git_dir(const struct look *l, const char *path)
{
	char dir[PATH_MAX];

	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		memcpy(dir, path, i);
		dir[i] = '\0';
		if (is_git_dir(l, dir, i))
			return true;
	}
	return false;
}

size_t pol_floor_mark(struct pol_floor *f, const struct sbx_image *img, const struct pol_fsview *fs,
		      const char *const *mounts, size_t nmounts)
{
	struct look l = {.out = f, .img = img, .fs = fs, .mounts = mounts, .nmounts = nmounts};

	for (size_t i = 0; i < f->nbrokered; i++) {
		const struct pol_grant *g = &f->brokered[i];

		if (g->rights & POL_GRANT_WRITE && g->path[1] && strlen(g->path) < PATH_MAX &&
		    !is_in_git_dir(&l, g->path) && fs->type(fs->ctx, g->path) == 'd')
			visit(&l, g->path, DEPTH);
	}
	return l.n;
}
