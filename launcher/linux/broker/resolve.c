/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.c - from a caller's path to the object it means.
 *
 * First by one openat2(2) that refuses symlinks. Where there are some, component by component, as
 * the caller would go: its root, its /proc/self, its descriptors behind magic links, and never
 * the broker's.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/deep.h"
#include "core/path.h"
#include "core/ring.h"

static const char deleted[] = " (deleted)";

#define VANISHED_TRIES 16 /* at a name that the host replaces again and again */

void br_fd_path(char out[32], int fd)
{
	snprintf(out, 32, "/proc/self/fd/%d", fd);
}

static bool is_same_object(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* A path that ends in "(deleted)" may be a real name, or exist again (network file systems look
 * names up anew). A deleted object cannot be found by another name, and its former path proves
 * nothing, because the directory may have moved. */
static int judge_deleted(int fd, char *path, size_t *len)
{
	size_t whole = *len;

	if (is_same_object(fd, path))
		return 0;
	*len -= sizeof deleted - 1;
	path[*len] = '\0';
	if (is_same_object(fd, path))
		return 0;
	path[*len] = deleted[0];
	*len = whole;
	return -ENOENT;
}

int br_text_of(const struct br_broker *b, int fd, char *path, size_t *out_len)
{
	char name[16];
	ssize_t n;

	snprintf(name, sizeof name, "%d", fd);
	n = readlinkat(b->self_fd, name, path, PATH_MAX);
	if (n <= 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	path[n] = '\0';
	if (path[0] != '/')
		return -EXDEV;
	*out_len = (size_t)n;
	if ((size_t)n > sizeof deleted - 1 && !strcmp(path + n - (sizeof deleted - 1), deleted))
		return judge_deleted(fd, path, out_len);
	return 0;
}

bool br_is_own_proc(const struct br_call *c, const char *path, size_t len)
{
	long pid;

	if (br_is_other_proc(c->b, path, len))
		return true;
	if (len < 7 || strncmp(path, "/proc/", 6) != 0)
		return false;
	pid = strtol(path + 6, NULL, 10);
	/* the kernel knows which threads are ours, those included that just begin */
	return pid > 0 && syscall(SYS_tgkill, (long)c->b->pid, pid, 0L) == 0;
}

int br_refuse_own(struct br_call *c, const char *path, size_t len, const char *name)
{
	char room[PATH_MAX];
	struct br_told t = {
		.op = SBX_READ, .err = EACCES, .flags = SBX_EVF_SUPERVISOR, .path = room};
	int n = snprintf(room, sizeof room, "%.*s%s%s", (int)len, path, *name ? "/" : "", name);

	t.len = (size_t)n < sizeof room ? (size_t)n : sizeof room - 1;
	br_tell(c, &t);
	return -EACCES;
}

bool br_is_of_another(struct br_call *c, const char *path)
{
	pid_t owner;

	/* as long as all have the same credentials, we see what they see */
	if (!c->b->mixed_creds || strncmp(path, "/proc/", 6) != 0)
		return false;
	owner = (pid_t)strtol(path + 6, NULL, 10);
	return owner && owner != br_tgid(c) && owner != (pid_t)c->n.pid;
}

/* The broker runs as the same user as processes outside, and the kernel would let it map their user
 * namespaces as well. A file that only a tracer may read tells them apart: Landlock allows that
 * only for processes of the broker's own domain and those within it. */
bool br_is_foreign_map(const struct br_call *c, const char *path)
{
	char name[32], *end, none;
	const char *file;
	unsigned long pid;

	if (strncmp(path, "/proc/", 6) != 0)
		return false; /* without a name, too */
	file = strrchr(path, '/') + 1;
	if (strcmp(file, "uid_map") != 0 && strcmp(file, "gid_map") != 0 &&
	    strcmp(file, "setgroups") != 0)
		return false;
	pid = strtoul(path + 6, &end, 10);
	if (end == path + 6 || *end != '/')
		return false;
	snprintf(name, sizeof name, "%lu/ns/user", pid);
	return readlinkat(c->b->proc, name, &none, 1) < 0;
}

/* ---- the paths of a call ---- */

static void end_init(struct br_call *c, struct br_end *e, const struct br_end_spec *spec)
{
	e->spec = spec;
	e->at = e->fd = -1;
	e->len = e->asked_len = 0;
	e->is_empty = e->is_pathless = e->was_walked = e->creates = e->is_own = false;
	e->is_nameless = false;
	e->given = NULL;
	e->magic = BR_MAGIC_NONE;
	e->lent = 0;
	e->dirfd = spec->dirfd == BR_NO_ARG ? AT_FDCWD : (int)br_arg(c, spec->dirfd);
	e->follow = spec->how & BR_END_FOLLOW ||
		    (spec->how & BR_END_AT && !(c->flags & AT_SYMLINK_NOFOLLOW)) ||
		    (spec->how & BR_END_ATLINK && c->flags & AT_SYMLINK_FOLLOW);
}

/* Once its text was read. */
static int end_settle(struct br_call *c, struct br_end *e, size_t len)
{
	unsigned how = e->spec->how;

	e->asked_len = len;
	if (len)
		return 0;
	e->is_empty = how & BR_END_EMPTY && c->flags & AT_EMPTY_PATH;
	return e->is_empty ? 0 : -ENOENT;
}

static int end_read(struct br_call *c, struct br_end *e)
{
	unsigned how = e->spec->how;
	long n;

	if (how & BR_END_FD ||
	    (how & BR_END_NULL && !br_arg(c, e->spec->path) && e->dirfd != AT_FDCWD)) {
		e->is_empty = true;
		return 0;
	}
	n = c->has_text ? (long)c->text_len
			: br_read_text(c, br_arg(c, e->spec->path), e->asked, sizeof e->asked);
	return n < 0 ? (int)n : end_settle(c, e, (size_t)n);
}

/* Calls with two ends have two strings. The text of a symlink is checked before its place. */
static int both_ends_read(struct br_call *c)
{
	struct br_end *e = c->end;
	const uint64_t addr[2] = {br_arg(c, e[0].spec->path), br_arg(c, e[1].spec->path)};
	const int first = e[1].spec->how & BR_END_TEXT ? 1 : 0, second = 1 - first;
	size_t len[2];
	int rc;

	if (br_read_two(c, addr, (char *const[]){e[0].asked, e[1].asked}, len)) {
		rc = end_settle(c, &e[first], len[first]);
		return rc < 0 ? rc : end_settle(c, &e[second], len[second]);
	}
	rc = end_read(c, &e[first]);
	return rc < 0 ? rc : end_read(c, &e[second]);
}

int br_ends_read(struct br_call *c)
{
	const struct br_end_spec *spec = c->row->end;

	if (!spec[0].how)
		return 0;
	end_init(c, &c->end[0], &spec[0]);
	if (!spec[1].how)
		return end_read(c, &c->end[0]);
	end_init(c, &c->end[1], &spec[1]);
	return both_ends_read(c);
}

bool br_texts_hold(const struct br_call *c)
{
	const _Atomic uint64_t *moves = c->b->plan->moves;
	uint32_t now = moves ? (uint32_t)*moves : 0;

	for (int i = 0; i < 2 && c->row->end[i].how; i++) {
		const struct br_end *e = &c->end[i];

		if (e->asked_len && e->asked[0] == '/' && sbx_at_is_since(e->dirfd) &&
		    (!moves || ((uint32_t)e->dirfd ^ now) & SBX_AT_SINCE_MASK))
			return false;
	}
	return true;
}

void br_ends_release(struct br_call *c)
{
	if (c->end[1].at == c->end[0].at)
		c->end[1].at = -1; /* one directory, held once */
	for (int i = 0; i < 2; i++) {
		if (c->end[i].at >= 0)
			close(c->end[i].at);
		if (c->end[i].fd >= 0)
			close(c->end[i].fd);
		c->end[i].at = c->end[i].fd = -1;
	}
	if (c->root >= 0 && c->root != c->b->root)
		close(c->root);
	c->root = -1;
}

/* ---- one call of the kernel ---- */

int br_open_plain(int base, const char *path, unsigned flags)
{
	const struct open_how how = {.flags = flags | O_PATH | O_CLOEXEC,
				     .resolve = RESOLVE_NO_SYMLINKS};
	long fd = syscall(SYS_openat2, base, path, &how, sizeof how);

	return fd < 0 ? -errno : (int)fd;
}

/* The directory where a path of the caller starts; *is_ours: the broker must close it. */
static int base_of(struct br_call *c, int dirfd, const char *path, bool *is_ours)
{
	*is_ours = path[0] != '/';
	return *is_ours ? br_open_caller_fd(c, dirfd) : br_root(c);
}

/* path may be "": the base itself. */
static int open_from(struct br_call *c, struct br_end *e, const char *path, unsigned flags,
		     bool follow)
{
	bool is_ours, is_own_root = path[0] != '/' || br_root(c) == c->b->root;
	int base = base_of(c, e->dirfd, path, &is_ours), fd;

	if (base < 0 || !*path)
		return base;
	fd = is_own_root && !c->b->plan->foreign_roots ? br_open_plain(base, path, flags) : -ELOOP;
	e->was_walked = fd == -ELOOP || fd == -EAGAIN;
	if (e->was_walked)
		fd = br_walk(c, e, base, path, follow);
	if (fd >= 0 && flags & O_DIRECTORY) {
		struct stat st;

		if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode)) {
			close(fd);
			fd = -ENOTDIR;
		}
	}
	if (is_ours)
		close(base);
	return fd;
}

/* ---- parents ---- */

/* "x/.", "..", "/" */
static bool is_dots(const char *name, size_t n)
{
	return n == 0 || (name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.')));
}

/* path and len from the parent held in `at` and the name. */
int br_name_end(struct br_call *c, struct br_end *e)
{
	size_t n = strlen(e->name);
	struct stat st;
	int rc = br_text_of_dir(c->b, e->at, e->path, &e->len);

	/* ENOENT: nothing can be made in, or is left in, a removed directory */
	if (rc == -ENOENT || rc == -ENAMETOOLONG)
		return rc;
	if (rc == -EXDEV && fstat(e->at, &st) == 0 && !S_ISDIR(st.st_mode))
		return -ENOTDIR; /* a socket's descriptor, say */
	if (rc < 0)
		return -EACCES;
	if (br_is_own_proc(c, e->path, e->len))
		return br_refuse_own(c, e->path, e->len, e->name);
	while (n && e->name[n - 1] == '/')
		n--;
	return sbx_deep_append(e->path, &e->len, e->name, n) ? 0 : -ENAMETOOLONG;
}

/* The caller's working directory, read once for each call. */
static const char *base_text(struct br_call *c, const struct br_end *e, char *room, size_t *len)
{
	if (e->dirfd != AT_FDCWD)
		return br_text_of_caller(c, e->dirfd, room, len) < 0 ? NULL : room;
	if (!c->cwd_len && br_text_of_caller(c, AT_FDCWD, c->cwd, &c->cwd_len) < 0)
		return NULL;
	*len = c->cwd_len;
	return c->cwd;
}

bool br_make_text(struct br_call *c, struct br_end *e, unsigned *out_flags)
{
	char room[BR_TEXT_MAX];
	const char *base = "";
	size_t len = 0;

	if (c->b->plan->foreign_roots)
		return false;
	if (e->asked[0] != '/') {
		base = base_text(c, e, room, &len);
		if (!base)
			return false;
	}
	e->len = sbx_path_join(e->path, PATH_MAX, base, len, e->asked, out_flags);
	if (!e->len || *out_flags & (SBX_PATH_DOTDOT | SBX_PATH_MAGIC) ||
	    br_is_other_proc(c->b, e->path, e->len))
		return false;
	if (!strncmp(e->path, "/dev/", 5))
		return !strncmp(e->path, "/dev/shm/", 9); /* no links of the kernel's there */
	return strncmp(e->path, "/proc/", 6) != 0;
}

/* The parent by its text, which then needs no reading back. true: at, name, path, len are set. */
static bool find_parent_by_text(struct br_call *c, struct br_end *e, const char *name)
{
	const struct br_end *first = &c->end[0];
	size_t parent;
	unsigned flags;
	int fd;

	if (!br_make_text(c, e, &flags))
		return false;
	parent = sbx_path_parent(e->path, e->len);
	if (strcmp(e->path + parent + (parent > 1), name) != 0)
		return false;
	/* under the lock of a move both ends' parents stay what they are */
	if (e != first && first->at >= 0 && sbx_path_parent(first->path, first->len) == parent &&
	    !memcmp(first->path, e->path, parent)) {
		fd = first->at;
	} else {
		if (parent > 1)
			e->path[parent] = '\0';
		fd = br_open_plain(c->b->root, parent > 1 ? e->path : "/", O_DIRECTORY);
		if (parent > 1)
			e->path[parent] = '/';
	}
	if (fd < 0)
		return false;
	if (e->at >= 0)
		close(e->at);
	e->at = fd;
	return true;
}

bool br_ends_in_dots(const struct br_end *e)
{
	const char *slash = memrchr(e->asked, '/', e->asked_len);
	const char *name = slash ? slash + 1 : e->asked;

	return is_dots(name, e->asked_len - (size_t)(name - e->asked));
}

int br_find_parent(struct br_call *c, struct br_end *e)
{
	size_t end = e->asked_len, start, n;
	bool has_slash, creates = e->creates;
	char *cut;
	char saved;
	int fd;

	while (end && e->asked[end - 1] == '/')
		end--;
	has_slash = end < e->asked_len;
	for (start = end; start && e->asked[start - 1] != '/';)
		start--;
	n = end - start;
	if (is_dots(e->asked + start, n))
		return BR_AS_IS;
	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(e->name_buf, e->asked + start, n);
	e->name_buf[n] = '\0';
	e->name = e->name_buf;
	if (find_parent_by_text(c, e, e->name)) {
		strcpy(e->name_buf + n, has_slash ? "/" : "");
		return 0;
	}
	strcpy(e->name_buf + n, has_slash ? "/" : "");
	cut = e->asked + start;
	saved = *cut;
	*cut = '\0';
	e->creates = false; /* not the parent */
	fd = open_from(c, e, e->asked, O_DIRECTORY, true);
	e->creates = creates;
	*cut = saved;
	/* a missing parent that the walk noted is not the parent of this path */
	if (e->at >= 0)
		close(e->at);
	e->at = fd < 0 ? -1 : fd;
	if (fd < 0)
		return fd;
	return br_name_end(c, e);
}

/* ---- objects ---- */

int br_look_at(struct br_call *c, struct br_end *e, bool is_as_asked)
{
	int rc;

	if (fstat(e->fd, &e->st) < 0)
		return -errno;
	rc = br_text_of(c->b, e->fd, e->path, &e->len);
	if (rc == -ENAMETOOLONG)
		rc = br_text_of_object(c, e, is_as_asked);
	if (rc == -ENAMETOOLONG)
		return rc;
	e->is_pathless = rc == -ENOENT || (rc == -EXDEV && !S_ISDIR(e->st.st_mode));
	if (rc < 0 && !e->is_pathless)
		return -EACCES;
	if (e->is_pathless)
		return br_look_at_nameless(c, e);
	return br_is_own_proc(c, e->path, e->len) ? br_refuse_own(c, e->path, e->len, "") : 0;
}

/* Opens the path by its text, which then is its canonical path, without reading it back. False: it
 * may pass through a symlink, or fails otherwise; the slow way finds out. */
static bool find_by_text(struct br_call *c, struct br_end *e)
{
	unsigned flags;
	int fd;

	if (!br_make_text(c, e, &flags) || flags & SBX_PATH_TRAILING)
		return false;
	fd = br_open_plain(c->b->root, e->path, e->follow ? 0 : O_NOFOLLOW);
	if (fd < 0)
		return false;
	if (fstat(fd, &e->st) < 0) {
		close(fd);
		return false;
	}
	e->fd = fd;
	return true;
}

/* The caller's own descriptor: the very description, whatever becomes of its number. Before Linux
 * 6.9 only of first threads: others may have numbers of their own. By /proc where a filter around
 * us refuses pidfd_getfd(2). */
static int take_own(struct br_call *c, struct br_end *e)
{
	int fd = -EACCES;

	if (e->is_own && e->dirfd >= 0 && br_task_find(c) == 0 && c->task->pidfd >= 0)
		fd = br_take_fd(c, (pid_t)c->n.pid, e->dirfd);
	e->is_own = fd != -EACCES;
	return e->is_own ? fd : br_open_caller_fd(c, e->dirfd);
}

static int find_once(struct br_call *c, struct br_end *e)
{
	int fd;

	if (!e->is_empty && find_by_text(c, e))
		return 0;
	if (e->is_empty)
		fd = take_own(c, e);
	else if (!e->follow)
		return br_find_last(c, e);
	else
		fd = open_from(c, e, e->asked, 0, true);
	if (fd < 0)
		return fd;
	e->fd = fd;
	return br_look_at(c, e, true);
}

/* Replaced while we looked, there is another in its place; removed, there is none. */
int br_find_object(struct br_call *c, struct br_end *e)
{
	int rc = find_once(c, e);

	for (int tries = 0; rc == BR_VANISHED; tries++) {
		close(e->fd);
		e->fd = -1;
		e->is_pathless = false;
		e->given = NULL;
		e->magic = BR_MAGIC_NONE;
		rc = tries < VANISHED_TRIES ? find_once(c, e) : -ENOENT;
	}
	return rc;
}

/* The name itself, a symlink or not; but "dir/." and "link/" mean what they lead to. */
int br_find_last(struct br_call *c, struct br_end *e)
{
	bool is_plain = e->asked[e->asked_len - 1] != '/';
	int rc = is_plain ? br_find_parent(c, e) : BR_AS_IS;
	int fd;

	if (rc < 0)
		return rc;
	fd = rc == BR_AS_IS ? open_from(c, e, e->asked, 0, true)
			    : openat(e->at, e->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return rc == BR_AS_IS ? fd : -errno;
	e->fd = fd;
	return br_look_at(c, e, true);
}
