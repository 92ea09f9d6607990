/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep.c - paths longer than PATH_MAX, as core/deep.h finds them, and of files.
 *
 * A file has no "..": it is known by the parent and the name that led to it, or, when all there is
 * is a descriptor, by mapping it: /proc/self/maps is the one text of the kernel's that grows with
 * the path. All of this is rare and slow.
 */
#include "launcher/linux/broker/broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/deep.h"

#define PAGE 4096u

static int up(int dir)
{
	int fd = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int down(int at, const char *path)
{
	return br_open_plain(at, path, O_DIRECTORY);
}

static int list(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static long entries(int fd, void *buf, size_t size)
{
	ssize_t n = getdents64(fd, buf, size);

	return n < 0 ? -errno : n;
}

static long text(int fd, char *buf, size_t size)
{
	char name[32];
	ssize_t n;

	br_fd_path(name, fd);
	n = readlink(name, buf, size);
	return n < 0 ? -errno : n;
}

static int identify(int at, const char *name, struct sbx_deep_id *out)
{
	struct statx st;
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);

	if (statx(at, name, flags, STATX_INO | STATX_NLINK | STATX_MNT_ID, &st) < 0)
		return -errno;
	out->is_gone = st.stx_mask & STATX_NLINK && st.stx_nlink == 0;
	out->dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	out->ino = st.stx_ino;
	out->mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
	return 0;
}

/* The path of the last directory that was asked for. A worker that finds it in use searches without
 * it. */
static struct sbx_deep_memo memo;
static pthread_mutex_t memo_lock = PTHREAD_MUTEX_INITIALIZER;

static void put_away(int fd)
{
	close(fd);
}

static const struct sbx_deep_sys calls = {up, down, list, entries, text, identify, put_away};

int br_text_of_dir(const struct br_broker *b, int fd, char *path, size_t *out_len)
{
	int rc = br_text_of(b, fd, path, out_len);
	bool is_ours;
	long n;

	if (rc != -ENAMETOOLONG)
		return rc;
	/* ".." of a file is ENOTDIR */
	is_ours = pthread_mutex_trylock(&memo_lock) == 0;
	n = sbx_deep_text(&calls, fd, path, is_ours ? &memo : NULL);
	if (is_ours)
		pthread_mutex_unlock(&memo_lock);
	if (n < 0)
		return (int)n;
	*out_len = (size_t)n;
	return 0;
}

/* ---- files ---- */

static bool is_object(const struct br_end *e, int at, const char *name)
{
	struct sbx_deep_id there, here;

	return identify(at, name, &there) == 0 && identify(e->fd, "", &here) == 0 &&
	       there.dev == here.dev && there.ino == here.ino && there.mount == here.mount;
}

/* Tries the path that the caller gave. Its last component may be a symlink, or may have changed:
 * then it does not name the object. */
static int by_name(struct br_call *c, struct br_end *e)
{
	int rc;

	if (e->is_empty || !e->asked_len)
		return -ENOENT;
	rc = br_find_parent(c, e);
	if (rc)
		return rc < 0 ? rc : -ENOENT;
	return is_object(e, e->at, e->name) ? 0 : -ENOENT;
}

/* Whether this path leads to the object without a symlink. Followed in pieces that openat2(2)
 * accepts. */
static bool leads_to(const struct br_end *e, int root, const char *path)
{
	char piece[PATH_MAX];
	int at = root;
	bool is_it;

	for (path++; at >= 0 && strlen(path) >= sizeof piece;) {
		const char *slash = memrchr(path, '/', sizeof piece - 1);
		int next = -1;

		if (slash) {
			memcpy(piece, path, (size_t)(slash - path));
			piece[slash - path] = '\0';
			next = br_open_plain(at, piece, O_DIRECTORY);
			path = slash + 1;
		}
		if (at != root)
			close(at);
		at = next;
	}
	is_it = at >= 0 && is_object(e, at, path);
	if (at >= 0 && at != root)
		close(at);
	return is_it;
}

/* seq_path() escapes newlines, and nothing else: a name may look like an escaped one. */
static const char newline[] = "\\012";

static void unescape(char *path)
{
	char *to = path;

	for (; *path; path++)
		if (!strncmp(path, newline, sizeof newline - 1)) {
			*to++ = '\n';
			path += sizeof newline - 2;
		} else {
			*to++ = *path;
		}
	*to = '\0';
}

/* "7f00-7f01 ---p 00000000 08:01 1234    /a/b": the path of the line that begins with `start`. */
static int find_line(FILE *maps, const char *start, char *path)
{
	b_auto_free char *line = NULL;
	size_t size = 0;
	ssize_t got;

	while ((got = getline(&line, &size, maps)) > 0) {
		char *at;

		if (strncmp(line, start, strlen(start)) != 0)
			continue;
		line[got - 1] = '\0';
		at = strchr(line, '/');
		if (!at)
			return -EXDEV;
		if (strlen(at) >= SBX_DEEP_ROOM)
			return -ENAMETOOLONG;
		strcpy(path, at);
		return 0;
	}
	return -ENOENT;
}

static int text_of_mapping(const struct br_broker *b, const void *p, char *path)
{
	int fd = openat(b->proc, "self/maps", O_RDONLY | O_CLOEXEC), rc;
	char start[32];
	FILE *maps;

	if (fd < 0)
		return -errno;
	maps = fdopen(fd, "r");
	if (!maps) {
		close(fd);
		return -ENOMEM;
	}
	snprintf(start, sizeof start, "%08lx-", (unsigned long)(uintptr_t)p);
	rc = find_line(maps, start, path);
	(void)fclose(maps);
	return rc;
}

static bool ends_in(const char *path, const char *tail)
{
	size_t n = strlen(path), t = strlen(tail);

	return n > t && !strcmp(path + n - t, tail);
}

/* Decodes the kernel's text of a path. If the text is ambiguous, the object that it leads to
 * decides. */
static int understand(const struct br_call *c, struct br_end *e)
{
	static const char deleted[] = " (deleted)";
	bool is_doubtful = strstr(e->path, newline) != NULL;

	if ((is_doubtful || ends_in(e->path, deleted)) && !leads_to(e, c->b->root, e->path)) {
		unescape(e->path);
		/* its former name proves nothing, as in br_text_of() */
		if (ends_in(e->path, deleted) && !leads_to(e, c->b->root, e->path))
			e->path[strlen(e->path) - (sizeof deleted - 1)] = '\0';
		if (!leads_to(e, c->b->root, e->path))
			return -EACCES;
	}
	e->len = strlen(e->path);
	return e->len > SBX_DEEP_MAX ? -ENAMETOOLONG : 0;
}

/* For a regular file that may be read: the caller gets a descriptor, which shows no more than it
 * had. A file that cannot be mapped has no path here, and is refused. */
static int by_mapping(const struct br_call *c, struct br_end *e)
{
	char name[32];
	void *p;
	int fd, rc;

	if (!S_ISREG(e->st.st_mode))
		return -EACCES;
	br_fd_path(name, e->fd);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -EACCES;
	p = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -EACCES;
	rc = text_of_mapping(c->b, p, e->path);
	munmap(p, PAGE);
	return rc < 0 ? rc : understand(c, e);
}

int br_text_of_object(struct br_call *c, struct br_end *e, bool is_as_asked)
{
	int rc;

	/* No rule is about a file without a name. A file whose name was only not found is refused.
	 */
	if (!e->st.st_nlink)
		return -ENOENT;
	rc = br_text_of_dir(c->b, e->fd, e->path, &e->len);
	if (rc == -ENOTDIR) {
		rc = is_as_asked ? by_name(c, e) : -EACCES;
		if (rc)
			rc = by_mapping(c, e);
	}
	return rc == 0 || rc == -ENAMETOOLONG ? rc : -EACCES;
}
