/* SPDX-License-Identifier: Apache-2.0 */
/* setlinks.c - links in the directories of a set: where they lead is as secret, or as
 * protected. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/path.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

/* Links in a secret directory: what they lead to is as secret as they are. */

enum { ENTRIES_MAX = 256 }; /* looked at in one directory */

static bool under(const char *path, const char *dir)
{
	return sbx_path_under(path, strlen(path), dir, strlen(dir));
}

/* Why what a link leads to stays open, NULL = it is closed. Closing these would take from the
 * command what it needs to run at all. */
static const char *why_open(const struct pol_build *b, const char *real)
{
	static const char *const system_dirs[] = {"/bin",  "/dev",   "/etc", "/gnu",
						  "/lib",  "/lib64", "/nix", "/opt",
						  "/proc", "/sbin",  "/sys", "/usr"};

	if (strcmp(real, "/") == 0)
		return "the root directory";
	for (size_t i = 0; i < sizeof system_dirs / sizeof *system_dirs; i++)
		if (under(real, system_dirs[i]))
			return "a system directory";
	for (size_t i = 0; i < b->rs->nworkspaces; i++)
		if (under(real, b->rs->workspaces[i]) || under(b->rs->workspaces[i], real))
			return "the workspace";
	for (size_t i = 0; i < b->nhomes; i++)
		if (under(b->homes[i], real))
			return "a home directory";
	return NULL;
}

static void close_target(struct pol_build *b, unsigned ops, const struct pol_rule *r,
			 const char *link, const char *real)
{
	const char *why = why_open(b, real);
	struct pol_rule t = *r;
	struct stat st;

	if (why) {
		pol_build_notice(b, "%s: the link %s leads to %s, %s, which stays open", r->origin,
				 link, real, why);
		return;
	}
	t.shape = stat(real, &st) == 0 && S_ISDIR(st.st_mode) ? POL_TREE : POL_EXACT;
	t.base = real;
	t.twin = true;
	pol_build_add(b, ops, &t, POL_TWIN_NONE);
}

static bool is_link(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_LNK;
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

void pol_build_set_links(struct pol_build *b, unsigned ops, const struct pol_rule *r)
{
	const char *own;
	struct dirent *e;
	DIR *dir;

	if (r->shape != POL_TREE || pol_build_is_missing(b, r->base))
		return;
	dir = opendir(r->base);
	if (!dir)
		return;
	own = pol_canonical(&b->rs->arena, r->base);
	for (unsigned n = 0; n < ENTRIES_MAX && (e = readdir(dir)); n++) {
		const char *link, *real;

		if (!is_link(dirfd(dir), e))
			continue;
		link = pol_build_join(b, own, e->d_name);
		real = pol_canonical(&b->rs->arena, link);
		if (!under(real, own))
			close_target(b, ops, r, link, real);
	}
	closedir(dir);
}

/*
 * Where symlinks of the protected set lead: whoever obeys the one obeys the other. The
 * target of a protected name, the targets of links in a protected directory
 * (`.git/hooks/pre-commit`), and each link on the way are closed where they lie in a workspace.
 */

enum {
	LINKS_MAX = 40,		      /* on the way to one name, as the kernel has it */
	SETLEADS_ENTRIES_MAX = 10000, /* looked at below one row */
};

struct dir {
	struct dir *next;
	const char *path; /* real */
};

struct leads {
	struct pol_build *b;
	unsigned ops;
	const struct pol_rule *rule; /* whose directory is looked through */
	struct dir *todo, **end;
	unsigned entries; /* looked at */
};

static bool is_under(const char *path, const char *dir)
{
	return sbx_path_under(path, strlen(path), dir, strlen(dir));
}

static bool is_in_workspace(const struct pol_build *b, const char *path)
{
	for (size_t i = 0; i < b->rs->nworkspaces; i++)
		if (strcmp(path, b->rs->workspaces[i]) != 0 && is_under(path, b->rs->workspaces[i]))
			return true;
	return false;
}

/* A workspace, or a directory that holds one: closing it would close all. */
static bool holds_workspace(const struct pol_build *b, const char *path)
{
	for (size_t i = 0; i < b->rs->nworkspaces; i++)
		if (is_under(b->rs->workspaces[i], path))
			return true;
	return false;
}

static void close_at(struct leads *l, enum pol_shape shape, const char *path)
{
	struct pol_rule r = *l->rule;

	if (!is_in_workspace(l->b, path))
		return;
	r.shape = shape;
	r.base = path;
	r.twin = true;
	pol_build_add(l->b, l->ops, &r, POL_TWIN_NONE);
}

static void push(struct leads *l, const char *path)
{
	struct b_arena *a = &l->b->rs->arena;
	struct dir *d = b_arena_alloc(a, sizeof *d);

	*d = (struct dir){.path = b_arena_strndup(a, path, strlen(path))};
	*l->end = d;
	l->end = &d->next;
}

/* One name of the path that is still to be walked, onto `real`. 1: it was a symlink, which now
 * stands before the rest; -1: too long. */
static int walk_one(struct leads *l, char real[PATH_MAX], char rest[PATH_MAX])
{
	size_t skip = strspn(rest, "/"), n = strcspn(rest + skip, "/"), at = strlen(real);
	char target[PATH_MAX], left[PATH_MAX];
	ssize_t len;
	int fits;

	snprintf(left, sizeof left, "%s", rest + skip + n);
	if (n == 2 && !strncmp(rest + skip, "..", 2))
		*(strrchr(real, '/') ? strrchr(real, '/') : real) = '\0';
	else if (n > 0 && !(n == 1 && rest[skip] == '.')) {
		if (at + 1 + n >= PATH_MAX)
			return -1;
		snprintf(real + at, PATH_MAX - at, "/%.*s", (int)n, rest + skip);
	}
	len = strlen(real) > at ? readlink(real, target, sizeof target - 1) : -1;
	if (len < 0) {
		strcpy(rest, left);
		return 0;
	}
	target[len] = '\0';
	close_at(l, POL_EXACT, b_arena_strndup(&l->b->rs->arena, real, strlen(real)));
	real[*target == '/' ? 0 : at] = '\0';
	fits = snprintf(rest, PATH_MAX, "%s/%s", target, left);
	return fits < PATH_MAX ? 1 : -1;
}

/* Closes each link on the way, and says where it ends: false when that is nowhere. */
static bool walk(struct leads *l, const char *path, char real[PATH_MAX])
{
	char rest[PATH_MAX];
	unsigned links = 0;

	*real = '\0';
	if (strlen(path) >= sizeof rest)
		return false;
	strcpy(rest, path);
	while (*rest) {
		int rc = walk_one(l, real, rest);

		if (rc < 0 || (links += rc > 0) > LINKS_MAX)
			return false;
	}
	return true;
}

/* It is below one that is, or will be, looked through. */
static bool is_listed(const struct leads *l, const char *path)
{
	for (const struct dir *d = l->todo; d; d = d->next)
		if (is_under(path, d->path))
			return true;
	return false;
}

/* The target of the link, with all that is below. */
static void setleads_close_target(struct leads *l, const char *link)
{
	char real[PATH_MAX];
	struct stat st;

	if (!walk(l, link, real))
		return;
	if (holds_workspace(l->b, real)) {
		pol_build_notice(l->b,
				 "%s: the link %s leads to %s, the workspace, which stays open",
				 l->rule->origin, link, *real ? real : "/");
		return;
	}
	if (stat(real, &st) < 0 || !S_ISDIR(st.st_mode)) {
		close_at(l, POL_EXACT, b_arena_strndup(&l->b->rs->arena, real, strlen(real)));
		return;
	}
	if (is_listed(l, real))
		return;
	close_at(l, POL_TREE, b_arena_strndup(&l->b->rs->arena, real, strlen(real)));
	if (is_in_workspace(l->b, real))
		push(l, real);
}

static mode_t type_of(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return DTTOIF(e->d_type);
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode & S_IFMT;
}

static void look_into(struct leads *l, const struct dir *at)
{
	DIR *dir = opendir(at->path);
	const struct dirent *e;

	while (dir && l->entries <= SETLEADS_ENTRIES_MAX && (e = readdir(dir))) {
		const char *path;
		mode_t type;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		l->entries++;
		type = type_of(dirfd(dir), e);
		if (type != S_IFDIR && type != S_IFLNK)
			continue;
		path = pol_build_join(l->b, at->path, e->d_name);
		if (type == S_IFDIR)
			push(l, path);
		else
			setleads_close_target(l, path);
	}
	if (dir)
		closedir(dir);
}

void pol_build_set_leads(struct pol_build *b, unsigned ops, const struct pol_rule *r)
{
	struct leads l = {.b = b, .ops = ops, .rule = r};
	char real[PATH_MAX];

	l.end = &l.todo;
	if (pol_build_is_missing(b, r->base) || !walk(&l, r->base, real) ||
	    holds_workspace(b, real))
		return;
	if (r->shape == POL_TREE)
		push(&l, real);
	for (struct dir *d = l.todo; d && l.entries <= SETLEADS_ENTRIES_MAX; d = d->next)
		look_into(&l, d);
	if (l.entries > SETLEADS_ENTRIES_MAX)
		pol_build_notice(b,
				 "%s: more than %d names below %s: targets of links among the "
				 "others stay open",
				 r->origin, SETLEADS_ENTRIES_MAX, r->base);
}
