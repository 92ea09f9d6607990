/* SPDX-License-Identifier: Apache-2.0 */
/* paths_find.c - where the object of a call is: shim_find() of paths_check.h. */
#include "shim/paths_check.h"

#include <stdio.h>
#include <unistd.h>

#include "core/decide.h"
#include "shim/judge.h"
#include "shim/mem.h"
#include "shim/next.h"
#include "shim/proc.h"
#include "shim/sys.h"
#include "shim/where.h"

enum { DIR_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC, NAME_SIZE = 256 };

/* "x/.", "..", "/": calls that make, remove or rename refuse these by themselves. */
static bool ends_in_dots(const char *path)
{
	size_t n = strlen(path);

	while (n && path[n - 1] == '/')
		n--;
	if (!n)
		return true;
	if (path[n - 1] != '.')
		return false;
	return n == 1 || path[n - 2] == '/' ||
	       (path[n - 2] == '.' && (n == 2 || path[n - 3] == '/'));
}

static bool ends_in_slash(const char *path)
{
	return path[strlen(path) - 1] == '/';
}

static void set_at(struct shim_end *e, int at, bool is_ours, size_t name_pos, bool has_slash)
{
	e->at = at;
	e->is_at_ours = is_ours;
	e->name = e->path + name_pos;
	/* "dir/" must stay a demand for a directory */
	if (has_slash && e->len + 1 < (e->deep ? SBX_DEEP_ROOM : SBX_PATH_MAX)) {
		e->path[e->len] = '/';
		e->path[e->len + 1] = '\0';
	}
}

/* Splits what the program asked for at its last slash: the parent goes to `path`, the last
 * component to `name`. */
static int split(struct shim_end *e, char name[NAME_SIZE])
{
	size_t end = strlen(e->asked), start, n;

	while (end && e->asked[end - 1] == '/')
		end--;
	for (start = end; start && e->asked[start - 1] != '/';)
		start--;
	n = end - start;
	if (!n || n >= NAME_SIZE || start >= SBX_PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(name, e->asked + start, n);
	name[n] = '\0';
	memcpy(e->path, e->asked, start);
	if (!start)
		e->path[start++] = '.';
	e->path[start] = '\0';
	return 0;
}

static int unknown_or(int rc)
{
	return rc == SHIM_DEEP_UNKNOWN ? SHIM_UNKNOWN : rc;
}

/* What the end is from now on known by is in a mapping, kept until the event is told. */
static void take_deep(struct shim_end *e, struct shim_deep *d)
{
	e->deep = d->room;
	if (d->room) {
		e->path = d->room;
		e->len = d->len;
	}
	d->room = NULL;
	shim_deep_release(d);
}

/* The parent is held as `fd`: its path, and the name behind it. Never inlined, as all that is
 * deep, for its stack. */
static __attribute__((noinline)) int find_deep_last(struct shim_end *e, int fd, const char *name)
{
	bool has_slash = ends_in_slash(e->asked);
	size_t n = strlen(name);
	struct shim_deep d;
	int rc = shim_deep_text(&d, fd);

	if (rc == 0 && !sbx_deep_append(d.room, &d.len, name, n))
		rc = -ENAMETOOLONG;
	take_deep(e, &d);
	if (rc == 0)
		set_at(e, fd, true, e->len - n, has_slash);
	return unknown_or(rc);
}

static __attribute__((noinline)) int find_deep_followed(struct shim_end *e)
{
	struct shim_deep d;
	int rc = shim_deep_find(&d, e->dirfd, e->asked, true);

	take_deep(e, &d);
	return unknown_or(rc);
}

/* The kernel resolves the parent, symlinks and ".." included, and tells what it is. */
static int find_last_slowly(struct shim_end *e)
{
	char name[NAME_SIZE];
	size_t name_pos;
	int rc = split(e, name), fd;

	e->is_text = false;
	if (rc < 0)
		return rc;
	fd = sys_openat(e->dirfd, e->path, DIR_FLAGS, 0);
	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE ? SHIM_UNKNOWN : fd;
	e->len = shim_fd_text(fd, e->path);
	if (e->len) {
		e->len -= e->len == 1;
		name_pos = e->len + 1;
		if (shim_append(e->path, SBX_PATH_MAX, &e->len, "/", 1) &&
		    shim_append(e->path, SBX_PATH_MAX, &e->len, name, strlen(name))) {
			set_at(e, fd, true, name_pos, ends_in_slash(e->asked));
			return 0;
		}
	}
	rc = find_deep_last(e, fd, name);
	if (rc)
		sys_close(fd);
	return rc;
}

/* Without openat2(2), a parent that is one name below what the caller holds: no symlink. */
static int find_last_near(struct shim_end *e, struct shim_text t, size_t name_pos)
{
	size_t parent = name_pos - 1;
	int fd = -ELOOP;

	if (!(t.flags & SHIM_TEXT_ABSOLUTE) && parent > t.base + 1 &&
	    !memchr(e->path + t.base + 1, '/', parent - t.base - 1)) {
		e->path[parent] = '\0';
		fd = sys_openat(e->dirfd, e->path + t.base + 1, DIR_FLAGS | O_NOFOLLOW, 0);
		e->path[parent] = '/';
	}
	if (fd < 0)
		return find_last_slowly(e);
	set_at(e, fd, true, name_pos, t.flags & SBX_PATH_TRAILING);
	return 0;
}

static int find_last(struct shim_end *e)
{
	struct shim_text t;
	size_t parent, name_pos;
	bool is_relative;
	int fd;

	if (ends_in_dots(e->asked))
		return SHIM_AS_IS;
	t = shim_text(e->path, e->dirfd, e->asked);
	if (!t.len || t.flags & SBX_PATH_DOTDOT || !(shim_holds_proven() || shim.marks))
		return find_last_slowly(e);
	e->len = t.len;
	parent = sbx_path_parent(e->path, t.len);
	is_relative = !(t.flags & SHIM_TEXT_ABSOLUTE);
	e->base = t.base;
	e->is_text = *e->asked == '/' || (is_relative && e->dirfd == AT_FDCWD);
	name_pos = parent == 1 ? 1 : parent + 1;
	/* right in the directory the caller holds already, or in "/": nothing to prove */
	if (is_relative && (parent == t.base || (parent == 1 && !t.base))) {
		set_at(e, e->dirfd, false, name_pos, t.flags & SBX_PATH_TRAILING);
		return 0;
	}
	if (!is_relative && parent == 1) {
		set_at(e, AT_FDCWD, false, 0, t.flags & SBX_PATH_TRAILING);
		return 0;
	}
	if (!shim_holds_proven())
		return find_last_near(e, t, name_pos);
	e->path[parent] = '\0';
	fd = is_relative ? sys_open_proven(e->dirfd, e->path + t.base + 1, DIR_FLAGS, 0)
			 : sys_open_proven(AT_FDCWD, e->path, DIR_FLAGS, 0);
	e->path[parent] = '/';
	shim_held_proven(fd);
	/* -EACCES: an ancestor of the cwd may be closed to us where the cwd itself is not */
	if (fd == -ELOOP || fd == -ENOSYS || fd == -EPERM || fd == -EACCES)
		return find_last_slowly(e);
	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE ? SHIM_UNKNOWN : fd;
	set_at(e, fd, true, name_pos, t.flags & SBX_PATH_TRAILING);
	return 0;
}

/* An O_PATH handle has no side effects: it only proves what the path means. */
static int find_followed(struct shim_end *e)
{
	struct shim_text t = shim_text(e->path, e->dirfd, e->asked);
	int flags = O_PATH | O_CLOEXEC | (t.flags & SBX_PATH_TRAILING ? O_DIRECTORY : 0), fd;
	bool is_deep;

	if (t.len && !(t.flags & SBX_PATH_DOTDOT) && shim_holds_proven()) {
		fd = t.flags & SHIM_TEXT_ABSOLUTE
			     ? sys_open_proven(AT_FDCWD, e->path, flags, 0)
			     : sys_open_proven(e->dirfd,
					       t.len > t.base + 1 ? e->path + t.base + 1 : ".",
					       flags, 0);
		if (fd >= 0) {
			sys_close(fd);
			e->len = t.len;
			return 0;
		}
		shim_held_proven(fd);
		if (fd != -ELOOP && fd != -ENOSYS && fd != -EPERM && fd != -EACCES)
			return fd == -EMFILE || fd == -ENFILE ? SHIM_UNKNOWN : fd;
	}
	fd = sys_openat(e->dirfd, e->asked, O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE ? SHIM_UNKNOWN : fd;
	e->len = shim_fd_text(fd, e->path);
	is_deep = !e->len && shim_is_deep(fd);
	sys_close(fd);
	if (is_deep)
		return find_deep_followed(e);
	return e->len ? 0 : SHIM_UNKNOWN;
}

/* A file has no "..": the floor may find it, and it was judged when it was opened. */
static int find_open_deep(struct shim_end *e, const struct stat *st)
{
	struct shim_deep d;
	int rc;

	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return SHIM_AS_IS;
	if (!shim_is_deep(e->dirfd))
		return SHIM_UNKNOWN;
	if (!S_ISDIR(st->st_mode))
		return SHIM_AS_IS;
	rc = shim_deep_text(&d, e->dirfd);
	take_deep(e, &d);
	return unknown_or(rc);
}

/* The descriptor itself. No rule is about an object that has no path (a pipe, a memfd) or has lost
 * it: it was judged when it was opened. */
static int find_open(struct shim_end *e)
{
	struct stat st;

	if (shim_has_filter())
		return SHIM_AS_IS;
	if (e->dirfd == AT_FDCWD) {
		e->len = shim_text(e->path, AT_FDCWD, ".").len;
		return e->len ? 0 : SHIM_UNKNOWN;
	}
	e->len = shim_fd_text(e->dirfd, e->path);
	if (e->how & SHIM_SOURCE)
		return e->len ? 0 : SHIM_UNKNOWN;
	if (sys_fstat(e->dirfd, &st) < 0 || st.st_nlink == 0)
		return SHIM_AS_IS;
	if (!e->len)
		return find_open_deep(e, &st);
	return 0;
}

int shim_find(struct shim_end *e)
{
	struct shim_text t;

	e->at = e->dirfd;
	e->name = e->asked;
	/* NULL and the first page: the kernel answers EFAULT, or acts on the descriptor; without a
	 * name there is no link not to follow (EINVAL) */
	if (shim_is_no_pointer(e->asked))
		return !e->asked && e->how & SHIM_NULL && e->how & SHIM_FOLLOW ? find_open(e)
									       : SHIM_AS_IS;
	if (!*e->asked)
		return e->how & SHIM_EMPTY ? find_open(e) : SHIM_AS_IS;
	/* its parent and its name may each be short enough */
	if (strlen(e->asked) >= SBX_PATH_MAX)
		return -ENAMETOOLONG;
	if (shim_has_filter()) {
		t = shim_text(e->path, e->dirfd, e->asked);
		e->len = t.len;
		return t.len ? 0 : SHIM_UNKNOWN;
	}
	if (e->how & SHIM_ATTRS && (ends_in_dots(e->asked) || ends_in_slash(e->asked)))
		return find_followed(e);
	return e->how & SHIM_FOLLOW ? find_followed(e) : find_last(e);
}

void shim_end_close(struct shim_end *e)
{
	if (e->is_at_ours)
		sys_close(e->at);
	e->is_at_ours = false;
}
