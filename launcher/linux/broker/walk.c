/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - a path with symlinks on it, gone along as the caller would go. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_MAX 40 /* MAXSYMLINKS of the kernel */

struct walk {
	struct br_call *c;
	struct br_end *e;
	int dir;    /* where we are, owned */
	char *rest; /* what is still to be walked, in c->text */
	unsigned links;
	bool follow; /* a symlink at the very end */
	bool creates;
	/* the component at hand */
	char name[NAME_MAX + 1];
	bool is_last, has_slash;
};

enum { STEP_ON = -1000, STEP_HERE };

static void go_to(struct walk *w, int fd)
{
	close(w->dir);
	w->dir = fd;
}

/* Takes the next component: 0, 1 = none is left, -ENAMETOOLONG. */
static int next(struct walk *w)
{
	char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");
	const char *after = p + n;

	w->rest = p + n;
	if (!n)
		return 1;
	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(w->name, p, n);
	w->name[n] = '\0';
	w->has_slash = *after == '/';
	w->is_last = !after[strspn(after, "/")];
	return 0;
}

/* Puts the text of the link before the rest of the path. */
static int prepend(struct walk *w, const char *link, size_t n)
{
	size_t left = strlen(w->rest);

	if (n + left >= sizeof w->c->text)
		return -ENAMETOOLONG;
	memmove(w->c->text + n, w->rest, left + 1);
	memcpy(w->c->text, link, n);
	w->rest = w->c->text;
	return 0;
}

static int to_root(struct walk *w)
{
	int root = br_root(w->c), fd = root < 0 ? root : openat(root, "/", O_PATH | O_CLOEXEC);

	if (root >= 0 && root != w->c->b->root) {
		if (fd >= 0)
			close(fd);
		fd = openat(root, ".", O_PATH | O_CLOEXEC);
	}
	if (fd < 0)
		return root < 0 ? root : -errno;
	go_to(w, fd);
	return 0;
}

/* The component at hand. */
static int open_here(struct walk *w, int flags)
{
	int fd = openat(w->dir, w->name, O_PATH | O_CLOEXEC | flags);
	char dir[BR_TEXT_MAX];
	size_t len;

	if (fd < 0 && errno == EACCES && w->c->w->is_other &&
	    br_text_of(w->c->b, w->dir, dir, &len) == 0 && br_is_own_numbers(w->c, dir))
		return br_openat_as_self(w->c, w->dir, w->name, O_PATH | flags);
	return fd;
}

static int follow_text(struct walk *w, const char *link, size_t n)
{
	int rc = prepend(w, link, n);

	if (rc == 0 && link[0] == '/')
		rc = to_root(w);
	return rc < 0 ? rc : STEP_ON;
}

/* In a sticky directory that anybody may write to, a last symlink is followed for its owner and
 * the directory's only: sysctl fs.protected_symlinks, proc(5). */
static bool may_follow(const struct walk *w, const struct stat *link)
{
	struct stat dir;

	if (!w->c->b->links_protected || !w->is_last || fstat(w->dir, &dir) < 0)
		return true;
	if ((dir.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH))
		return true;
	/* setfsuid(2) with no id at all tells the caller's that this thread has on */
	return link->st_uid == dir.st_uid || link->st_uid == (uid_t)syscall(SYS_setfsuid, -1L);
}

static int follow_plain(struct walk *w, int fd)
{
	char link[PATH_MAX];
	ssize_t n = readlinkat(fd, "", link, sizeof link);

	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	if ((size_t)n == sizeof link)
		return -ENAMETOOLONG;
	return follow_text(w, link, (size_t)n);
}

/* A link that is no text: /proc/PID/{cwd,root,exe,fd/N}. Opened as the kernel opens it, for any
 * process but our own: our own is what the caller must not be lent. */
static int follow_magic(struct walk *w, const char *dir, size_t len)
{
	struct stat st;
	int fd;

	if (br_is_own_proc(w->c, dir, len))
		return br_refuse_own(w->c, dir, len, w->name);
	/* With mixed credentials our leave to look into others is wider than the caller's. */
	if (br_is_of_another(w->c, dir))
		return -EACCES;
	fd = open_here(w, 0);
	if (fd < 0)
		return -errno;
	if (w->is_last && !w->has_slash) {
		br_note_magic(w->e, dir, w->name);
		return fd;
	}
	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode)) {
		close(fd);
		return -ENOTDIR;
	}
	go_to(w, fd);
	return STEP_ON;
}

static int follow_proc(struct walk *w, int fd)
{
	char dir[BR_TEXT_MAX], text[64];
	size_t len;
	int n;

	if (br_text_of(w->c->b, w->dir, dir, &len) < 0)
		return -EACCES;
	if (!strcmp(dir, "/proc")) {
		if (!strcmp(w->name, "self"))
			n = snprintf(text, sizeof text, "%d", br_tgid(w->c));
		else if (!strcmp(w->name, "thread-self"))
			n = snprintf(text, sizeof text, "%d/task/%d", br_tgid(w->c),
				     (int)w->c->n.pid);
		else
			return follow_plain(w, fd);
		return follow_text(w, text, (size_t)n);
	}
	if (!strncmp(dir, "/proc/", 6) && dir[6] >= '0' && dir[6] <= '9')
		return follow_magic(w, dir, len);
	return strncmp(dir, "/proc/", 6) ? -EACCES : follow_plain(w, fd);
}

static int follow(struct walk *w, int fd, const struct stat *st)
{
	struct statfs fs;

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (!may_follow(w, st))
		return -EACCES;
	if (fstatfs(w->dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC)
		return follow_proc(w, fd);
	return follow_plain(w, fd);
}

static int up(struct walk *w)
{
	struct stat here, root;
	int r = br_root(w->c), fd;

	if (r < 0)
		return r;
	if (r != w->c->b->root && fstat(w->dir, &here) == 0 && fstat(r, &root) == 0 &&
	    here.st_ino == root.st_ino && here.st_dev == root.st_dev)
		return STEP_ON;
	fd = openat(w->dir, "..", O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	go_to(w, fd);
	return STEP_ON;
}

/* One component: STEP_ON, a descriptor of the object, or -errno. */
static int step(struct walk *w)
{
	struct stat st;
	int fd, rc;

	if (!strcmp(w->name, "."))
		return STEP_ON;
	if (!strcmp(w->name, ".."))
		return up(w);
	if (w->creates && w->is_last && w->has_slash)
		return -EISDIR;
	fd = open_here(w, O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	if (S_ISLNK(st.st_mode) && (w->follow || !w->is_last || w->has_slash)) {
		rc = follow(w, fd, &st);
		close(fd);
		return rc;
	}
	if (w->is_last && !w->has_slash)
		return fd;
	if (!S_ISDIR(st.st_mode)) {
		close(fd);
		return -ENOTDIR;
	}
	go_to(w, fd);
	return STEP_ON;
}

/* The parent of the one name that is missing goes to the end. */
static int note_missing(struct walk *w, struct br_end *e)
{
	strcpy(e->name_buf, w->name);
	if (w->has_slash)
		strcat(e->name_buf, "/");
	e->name = e->name_buf;
	if (e->at >= 0)
		close(e->at);
	e->at = w->dir;
	w->dir = -1;
	return br_name_end(w->c, e) < 0 ? -EACCES : -ENOENT;
}

int br_walk(struct br_call *c, struct br_end *e, int base, const char *path, bool follow_last)
{
	struct walk w = {
		.c = c, .e = e, .follow = follow_last, .creates = e->creates, .rest = c->text};
	int rc;

	w.dir = openat(base, ".", O_PATH | O_CLOEXEC);
	if (w.dir < 0)
		return -errno;
	strcpy(c->text, path);
	for (;;) {
		rc = next(&w);
		if (rc) {
			if (rc == 1) /* nothing is left: we are there */
				return w.dir;
			break;
		}
		rc = step(&w);
		if (rc != STEP_ON)
			break;
	}
	if (rc == -ENOENT && w.is_last)
		rc = note_missing(&w, e);
	if (w.dir >= 0)
		close(w.dir);
	return rc;
}
