/* how.c - openat2(2): what it asks for beyond open(2). */
#include "launcher/linux/broker/open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/walk.h"

#define HOW_MAX 4096u /* the kernel takes a page */

/* What goes together since there is openat2 (5.6), in whatever combination: nearly every call, as
 * the shim makes them. */
#define PLAIN_FLAGS                                                                                \
	(O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | \
	 O_NOCTTY)

static bool is_plain(const struct open_how *how)
{
	const uint64_t modes = how->flags & O_CREAT ? 07777 : 0;

	return !(how->flags & ~(uint64_t)PLAIN_FLAGS) && !(how->mode & ~modes) &&
	       !(how->resolve & ~(uint64_t)RESOLVE_NO_SYMLINKS);
}

/* Other flags that do not go together are the kernel's affair: with an empty path, which it looks
 * at last, it says what it thinks of them. */
static int check(const struct open_how *how)
{
	if (is_plain(how))
		return 0;
	if (syscall(SYS_openat2, AT_FDCWD, "", how, sizeof *how) >= 0 || errno == ENOENT)
		return 0;
	return -errno;
}

int br_read_how(struct br_open_request *r)
{
	struct br_call *c = r->c;
	uint64_t addr = br_arg(c, 2), size = br_arg(c, 3);
	struct open_how how;
	unsigned char tail[HOW_MAX];
	int rc;

	if (size < sizeof how)
		return -EINVAL;
	if (size > HOW_MAX)
		return -E2BIG;
	rc = br_read(c, addr, tail, size);
	if (rc < 0)
		return rc == BR_UNREADABLE ? -EACCES : rc;
	memcpy(&how, tail, sizeof how);
	for (size_t i = sizeof how; i < size; i++)
		if (tail[i])
			return -E2BIG;
	rc = check(&how);
	if (rc < 0)
		return rc;
	r->flags = (unsigned)how.flags;
	r->mode = (mode_t)how.mode;
	r->resolve = how.resolve;
	/* it asks for an answer from the cache alone, and takes a no for "not there" */
	return how.resolve & RESOLVE_CACHED ? -EAGAIN : 0;
}

/* Where a file would be made: -ENOENT with at and name, as br_find_object(). A symlink at the end
 * is not followed: create() meets ELOOP. */
static int find_restricted_parent(struct br_open_request *r, int base, struct open_how *how)
{
	struct br_end *e = &r->c->end[0];
	char *slash = strrchr(e->asked, '/');
	const char *name = slash ? slash + 1 : e->asked;
	char dir[PATH_MAX] = ".";
	long fd;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EISDIR;
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	if (slash) {
		memcpy(dir, e->asked, (size_t)(name - e->asked));
		dir[name - e->asked] = '\0';
	}
	how->flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	fd = syscall(SYS_openat2, base, dir, how, sizeof *how);
	if (fd < 0)
		return -errno;
	e->at = (int)fd;
	e->name = strcpy(e->name_buf, name);
	return br_name_end(r->c, e) < 0 ? -EACCES : -ENOENT;
}

/* The kernel keeps to the restrictions. Its /proc/self would be ours: magic links are refused,
 * and what lies in our own /proc is, too. */
int br_find_restricted(struct br_open_request *r)
{
	struct br_call *c = r->c;
	struct br_end *e = &c->end[0];
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (e->follow ? 0 : O_NOFOLLOW),
		.resolve = r->resolve | RESOLVE_NO_MAGICLINKS,
	};
	bool from_root = e->asked[0] == '/' && !(r->resolve & (RESOLVE_IN_ROOT | RESOLVE_BENEATH));
	int base = from_root ? br_root(c) : br_open_caller_fd(c, e->dirfd);
	long fd;
	int rc;

	if (base < 0)
		return base;
	if (from_root && base != c->b->root)
		return -EACCES; /* another root, and restrictions: nobody asks for that */
	fd = syscall(SYS_openat2, base, e->asked, &how, sizeof how);
	rc = fd < 0 ? -errno : 0;
	if (rc == -ENOENT && r->flags & O_CREAT)
		rc = find_restricted_parent(r, base, &how);
	if (!from_root)
		close(base);
	if (fd < 0)
		return rc;
	e->fd = (int)fd;
	/* below another root the path means another object */
	return br_look_at(c, e, !(r->resolve & RESOLVE_IN_ROOT));
}
