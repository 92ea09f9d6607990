/* SPDX-License-Identifier: Apache-2.0 */
/* how.c - openat2(2): what it asks for beyond open(2). */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOW_MAX	  4096u /* the kernel takes a page */
#define LINKS_MAX 40	/* MAXSYMLINKS of the kernel */

/* Flags that have been valid together in every combination since openat2 exists (Linux 5.6). Nearly
 * all calls use only these, as the shim does. */
#define PLAIN_FLAGS                                                                                \
	(O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | \
	 O_NOCTTY)

static bool is_plain(const struct open_how *how)
{
	const uint64_t modes = how->flags & O_CREAT ? 07777 : 0;

	return !(how->flags & ~(uint64_t)PLAIN_FLAGS) && !(how->mode & ~modes) &&
	       !(how->resolve & ~(uint64_t)RESOLVE_NO_SYMLINKS);
}

/* The kernel judges other combinations: with an empty path, which it checks last, it returns its
 * error for the flags. */
static int check(const struct open_how *how)
{
	if (is_plain(how))
		return 0;
	if (syscall(SYS_openat2, AT_FDCWD, "", how, sizeof *how) >= 0 || errno == ENOENT)
		return 0;
	return -errno;
}

int br_read_how(struct br_call *c)
{
	const uint64_t addr[2] = {br_arg(c, 2), br_arg(c, 1)}, size = br_arg(c, 3);
	struct open_how how;
	unsigned char tail[HOW_MAX];
	int rc;

	if (size < sizeof how)
		return -EINVAL;
	if (size > HOW_MAX)
		return -E2BIG;
	/* usually together with the path; otherwise one by one, in the kernel's order */
	c->has_text = br_read_with_text(c, addr, tail, size, c->end[0].asked, &c->text_len);
	rc = c->has_text ? 0 : br_read(c, addr[0], tail, size);
	if (rc < 0)
		return rc;
	memcpy(&how, tail, sizeof how);
	for (size_t i = sizeof how; i < size; i++)
		if (tail[i])
			return -E2BIG;
	c->flags = (unsigned)how.flags;
	c->mode = (mode_t)how.mode;
	c->resolve = how.resolve;
	return check(&how);
}

/* ---- where a file would be made ---- */

/* The path as far as it was followed. The caller's flags still apply to the rest. */
struct trail {
	struct br_open_request *r;
	int base;
	char path[PATH_MAX];
	size_t dir_len; /* of what is in front of its last name */
	bool has_slash; /* behind it */
};

/* An absolute link leads to the root's mount: EXDEV from any other. The kernel forgives it to a
 * path that is absolute from the start, as ours is from now on. */
static bool leaves_mount(const struct trail *t)
{
	const unsigned flags = AT_EMPTY_PATH | AT_NO_AUTOMOUNT;
	struct statx here, root;

	return statx(t->r->c->end[0].at, "", flags, STATX_MNT_ID, &here) < 0 ||
	       statx(t->r->c->b->root, "", flags, STATX_MNT_ID, &root) < 0 ||
	       here.stx_mnt_id != root.stx_mnt_id;
}

/* Replaces the last name of the path by the text of the link there. 0 or -errno. */
static int follow_last(struct trail *t, const char *link, size_t len)
{
	size_t keep = link[0] == '/' ? 0 : t->dir_len;

	if (t->r->resolve & RESOLVE_NO_SYMLINKS)
		return -ELOOP;
	if (link[0] == '/' && !(t->r->resolve & RESOLVE_IN_ROOT) &&
	    t->r->resolve & RESOLVE_NO_XDEV && leaves_mount(t))
		return -EXDEV;
	if (keep + len >= sizeof t->path)
		return -ENAMETOOLONG;
	memcpy(t->path + keep, link, len);
	t->path[keep + len] = '\0';
	return 0;
}

/* Removes the last name. 0, or -errno: nothing can be created there. */
static int split(struct trail *t, char name[NAME_MAX + 1])
{
	size_t end = strlen(t->path), start;

	t->has_slash = end && t->path[end - 1] == '/';
	while (end && t->path[end - 1] == '/')
		end--;
	for (start = end; start && t->path[start - 1] != '/';)
		start--;
	if (end - start > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, t->path + start, end - start);
	name[end - start] = '\0';
	t->dir_len = start;
	return !*name || !strcmp(name, ".") || !strcmp(name, "..") ? -EISDIR : 0;
}

static int open_parent(struct trail *t)
{
	const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				     .resolve = t->r->resolve | RESOLVE_NO_MAGICLINKS};
	struct br_end *e = &t->r->c->end[0];
	char saved = t->path[t->dir_len];
	long fd;

	if (e->at >= 0)
		close(e->at); /* of the link that led here */
	e->at = -1;
	t->path[t->dir_len] = '\0';
	fd = syscall(SYS_openat2, t->base, t->dir_len ? t->path : ".", &how, sizeof how);
	t->path[t->dir_len] = saved;
	if (fd < 0)
		return -errno;
	e->at = (int)fd;
	return 0;
}

/* -ENOENT with at and name, as br_find_object(); or why nothing is made. */
static int find_restricted_parent(struct br_open_request *r, int base)
{
	struct br_end *e = &r->c->end[0];
	struct trail t = {.r = r, .base = base};

	strcpy(t.path, e->asked);
	for (int links = 0; links < LINKS_MAX; links++) {
		char link[PATH_MAX];
		ssize_t n;
		int rc = split(&t, e->name_buf);

		e->name = e->name_buf;
		if (rc == 0)
			rc = open_parent(&t);
		if (rc == 0 && t.has_slash)
			rc = -EISDIR;
		if (rc < 0)
			return rc;
		n = e->follow ? readlinkat(e->at, e->name, link, sizeof link) : -1;
		if (n < 0)
			return br_name_end(r->c, e) < 0 ? -EACCES : -ENOENT;
		rc = follow_last(&t, link, (size_t)n);
		if (rc < 0)
			return rc;
	}
	return -ELOOP;
}

/* ---- the object ---- */

/* A path that ends in a slash is neither created, nor opened by a call that may create it. */
static bool is_never_made(const struct br_open_request *r)
{
	const struct br_end *e = &r->c->end[0];

	return r->flags & O_CREAT && e->asked[e->asked_len - 1] == '/';
}

/* As br_find_object(), but starts at the directory to which the restrictions apply. */
static int find_from(struct br_open_request *r, int base)
{
	struct br_end *e = &r->c->end[0];
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (e->follow ? 0 : O_NOFOLLOW),
		.resolve = r->resolve | RESOLVE_NO_MAGICLINKS,
	};
	long fd;
	int rc;

	if (is_never_made(r))
		return find_restricted_parent(r, base);
	fd = syscall(SYS_openat2, base, e->asked, &how, sizeof how);
	rc = fd < 0 ? -errno : 0;
	if (rc == -ENOENT && r->flags & O_CREAT)
		rc = find_restricted_parent(r, base);
	if (fd < 0)
		return rc;
	e->fd = (int)fd;
	/* below another root the path means another object */
	return br_look_at(r->c, e, !(r->resolve & RESOLVE_IN_ROOT));
}

/* The kernel enforces the restrictions. /proc/self would be the broker's, so magic links and
 * everything in the broker's own /proc are refused. */
int br_find_restricted(struct br_open_request *r)
{
	struct br_call *c = r->c;
	struct br_end *e = &c->end[0];
	bool from_root = e->asked[0] == '/' && !(r->resolve & (RESOLVE_IN_ROOT | RESOLVE_BENEATH));
	int base = from_root ? br_root(c) : br_open_caller_fd(c, e->dirfd);
	int rc;

	if (base < 0)
		return base;
	if (from_root && base != c->b->root)
		return -EACCES; /* another root together with restrictions does not occur */
	rc = find_from(r, base);
	if (!from_root)
		close(base);
	return rc;
}
