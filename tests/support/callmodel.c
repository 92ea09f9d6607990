/* SPDX-License-Identifier: Apache-2.0 */
/* callmodel.c - see callmodel.h. */
#include "tests/support/callmodel.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/decide.h"
#include "core/path.h"

char cm_tree[2][64];
struct sb_policy cm_policy;
bool cm_judges_programs;

static bool ask(enum sbx_op op, const char *path)
{
	return sbx_decide(&cm_policy.image, op, path, strlen(path));
}

/* Canonical path of the name itself, in the first tree: false when its parent is not there, or
 * it ends in dots. */
static bool name_of(const char *rel, char out[PATH_MAX])
{
	char text[PATH_MAX + 64], real[PATH_MAX];
	char *slash;
	size_t n = (size_t)snprintf(text, sizeof text, "%s/%s", cm_tree[0], rel);

	while (text[n - 1] == '/')
		text[--n] = '\0';
	slash = strrchr(text, '/');
	if (!strcmp(slash + 1, ".") || !strcmp(slash + 1, ".."))
		return false;
	*slash = '\0';
	if (!realpath(*text ? text : "/", real))
		return false;
	return snprintf(out, PATH_MAX, "%s/%s", strcmp(real, "/") ? real : "", slash + 1) <
	       PATH_MAX;
}

/* What is there, symlinks followed; or where a file would be made. */
static bool object_of(const char *rel, char out[PATH_MAX])
{
	char text[2 * PATH_MAX], link[256];
	const char *at = rel;
	ssize_t n;

	snprintf(text, sizeof text, "%s/%s", cm_tree[0], rel);
	if (realpath(text, out))
		return true;
	for (int hops = 0; hops < 8; hops++) {
		if (!name_of(at, out))
			return false;
		n = readlink(out, link, sizeof link - 1);
		if (n < 0)
			return true;
		link[n] = '\0';
		/* links are relative: beside the link, told from the tree's root */
		*strrchr(out, '/') = '\0';
		if (strncmp(out, cm_tree[0], strlen(cm_tree[0])) != 0)
			return false;
		snprintf(text, sizeof text, ".%s/%s", out + strlen(cm_tree[0]), link);
		at = text;
	}
	return false;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static bool open_allowed(const struct call *c)
{
	bool writes = (c->flags & O_ACCMODE) != O_RDONLY || c->flags & O_TRUNC;
	bool exclusive = c->flags & O_EXCL;
	char path[PATH_MAX];

	if (!(c->flags & O_NOFOLLOW) && !exclusive ? !object_of(c->a, path) : !name_of(c->a, path))
		return true; /* the kernel's own refusal */
	if (c->flags & O_CREAT && !exists(path))
		writes = true;
	if (writes && !ask(SBX_MODIFY, path))
		return false;
	return (c->flags & O_ACCMODE) == O_WRONLY || ask(SBX_READ, path);
}

/* What the move does to one name: nothing denied may become allowed, and for read and modify
 * nothing allowed denied; but at the top leave to remove and to make was asked, and a file that may
 * not be read there is made anew. */
static bool name_moves(const char *from, const char *to, bool is_top, bool is_kept)
{
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		bool was = ask((enum sbx_op)op, from), is = ask((enum sbx_op)op, to);
		bool is_free = op == SBX_READ	  ? is_top && !is_kept
			       : op == SBX_MODIFY ? is_top
						  : true;

		if (op == SBX_CONNECT)
			continue; /* there are no sockets */
		if ((!was && is) || (was && !is && !is_free))
			return false;
	}
	return true;
}

static uint32_t below(enum sbx_op op, const char *path)
{
	return sbx_step(&cm_policy.image, op, sbx_walk(&cm_policy.image, op, path, strlen(path)),
			'/');
}

static bool beneath_moves(enum sbx_op op, const char *from, const char *to)
{
	return sbx_move_beneath(&cm_policy.image, op, below(op, from), below(op, to));
}

static bool text_may_lead(const char *link, const char *target)
{
	size_t parent = sbx_path_parent(link, strlen(link)), n;
	char text[2 * PATH_MAX];
	unsigned flags;

	n = sbx_path_join(text, sizeof text, link, parent, target, &flags);
	return n && sbx_link_allowed(&cm_policy.image, link, strlen(link), text, n);
}

/* May a link be there that leads to this text, and to what that is now? */
static bool may_lead(const char *link, const char *target)
{
	size_t parent = sbx_path_parent(link, strlen(link));
	char text[2 * PATH_MAX], real[PATH_MAX];

	if (!text_may_lead(link, target))
		return false;
	if (*target == '/')
		snprintf(text, sizeof text, "%s", target);
	else
		snprintf(text, sizeof text, "%.*s/%s", (int)parent, link, target);
	return !realpath(text, real) ||
	       sbx_link_allowed(&cm_policy.image, link, strlen(link), real, strlen(real));
}

/* A link is a directory to who follows it. */
static bool link_moves(const char *from, const char *to)
{
	char target[PATH_MAX];
	ssize_t n = readlink(from, target, sizeof target - 1);

	if (n < 0)
		return true;
	target[n] = '\0';
	return beneath_moves(SBX_MODIFY, from, to) &&
	       (beneath_moves(SBX_READ, from, to) || text_may_lead(to, target));
}

/* The same of the link at `from`, when it is one. */
static bool may_lead_from(const char *from, const char *link)
{
	char target[PATH_MAX];
	ssize_t n = readlink(from, target, sizeof target - 1);

	if (n < 0)
		return true;
	target[n] = '\0';
	return may_lead(link, target);
}

/* By looking at every name that is there. */
static bool tree_moves(const char *from, const char *to, bool is_top)
{
	DIR *d = NULL;
	struct dirent *e;
	bool ok = name_moves(from, to, is_top, is_dir(from));

	if (ok && is_dir(from))
		d = opendir(from);
	while (d && ok && (e = readdir(d))) {
		char a[PATH_MAX], b[PATH_MAX];

		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    (size_t)snprintf(a, sizeof a, "%s/%s", from, e->d_name) < sizeof a &&
		    (size_t)snprintf(b, sizeof b, "%s/%s", to, e->d_name) < sizeof b)
			ok = tree_moves(a, b, false) && link_moves(a, b);
	}
	if (d)
		closedir(d);
	return ok;
}

/* Where the automata alone allow it, what is there cannot object. */
static bool dir_moves(const char *from, const char *to, bool is_rename)
{
	bool seen = is_rename ? tree_moves(from, to, true) : name_moves(from, to, true, true);

	if (!seen && sbx_move_allowed(&cm_policy.image, from, strlen(from), to, strlen(to),
				      !is_rename     ? SBX_MOVES_KEPT
				      : is_dir(from) ? SBX_MOVES_DIR
						     : 0,
				      NULL))
		cr_assert_fail("%s to %s: allowed for any tree, but not for this one", from, to);
	return seen;
}

/* ---- programs that may not be read ---- */

static bool is_program(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111;
}

/* One that could be read, and comes to where it cannot. */
static bool hides_program(const char *from, const char *to)
{
	return cm_judges_programs && is_program(from) && ask(SBX_READ, from) && !ask(SBX_READ, to);
}

/* ---- roots of grants ---- */

static bool beside(const char *path, const char *before, const char *name, const char *after)
{
	char other[PATH_MAX];
	int n = snprintf(other, sizeof other, "%.*s/%s%s%s", (int)(strrchr(path, '/') - path), path,
			 before, name, after);

	return n < (int)sizeof other && ask(SBX_MODIFY, other);
}

/* The name is granted, and none that is like it. */
static bool is_root(const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return ask(SBX_MODIFY, path) && !beside(path, "\2", "", "") &&
	       !beside(path, "\2", name, "") && !beside(path, "", name, "\2");
}

static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* A directory leaves it, or a link comes to it. */
static bool changes_root(const struct call *c, const char *a, const char *b)
{
	bool swaps = c->flags == RENAME_EXCHANGE;

	if (c->kind == LINK)
		return is_link(a) && is_root(b);
	return (is_root(a) && (is_dir(a) || (swaps && is_link(b)))) ||
	       (is_root(b) && (is_dir(b) || is_link(a)));
}

static bool move_allowed(const struct call *c)
{
	char a[PATH_MAX], b[PATH_MAX], last = c->a[strlen(c->a) - 1];
	bool by_object = c->kind == LINK && (last == '/' || last == '.');

	if (!(by_object ? object_of : name_of)(c->a, a) || !name_of(c->b, b))
		return true;
	if (!ask(SBX_MODIFY, a) || !ask(SBX_MODIFY, b))
		return false;
	if (changes_root(c, a, b) || (!by_object && !may_lead_from(a, b)))
		return false;
	if (hides_program(a, b))
		return false;
	if (!dir_moves(a, b, c->kind == RENAME))
		return false;
	if (c->kind == RENAME && c->flags == RENAME_EXCHANGE && !may_lead_from(b, a))
		return false;
	return c->kind != RENAME || c->flags != RENAME_EXCHANGE || dir_moves(b, a, true);
}

bool cm_allowed(const struct call *c)
{
	char path[PATH_MAX];
	bool follows = c->kind == TRUNCATE || c->kind == CHMOD ||
		       (c->kind == UTIME && (!c->nofollow || c->a[strlen(c->a) - 1] == '/'));

	if (c->kind == OPEN)
		return open_allowed(c);
	if (c->kind == RENAME || c->kind == LINK)
		return move_allowed(c);
	if (c->kind == UTIME && c->nofollow && !name_of(c->a, path))
		follows = true; /* "x/.": the directory */
	if (!(follows ? object_of : name_of)(c->a, path))
		return true;
	if (c->kind == SYMLINK && (is_root(path) || !may_lead(path, c->b)))
		return false;
	if (c->kind == RMDIR && is_root(path))
		return false;
	if (c->kind == CHMOD && cm_judges_programs && !is_dir(path) && !ask(SBX_READ, path))
		return false; /* 0700 */
	return ask(SBX_MODIFY, path);
}
