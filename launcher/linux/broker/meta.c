/* meta.c - metadata by path and by descriptor. Landlock does not see these calls: none of them
 * is ever left to the kernel, because what a descriptor means may be changed by another thread
 * between our look and the kernel's. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"

unsigned br_after_object(const struct br_call *c)
{
	const struct br_end_spec *spec = &c->row->end[0];

	return (spec->how & BR_END_FD ? spec->dirfd : spec->path) + 1u;
}

int br_hold_object(struct br_call *c, int op, struct br_answer *out)
{
	struct br_end *e = &c->end[0];
	bool is_number = e->is_empty && !(c->flags & AT_EMPTY_PATH);
	int rc;

	if (is_number && e->dirfd >= 0 && br_is_path_only(c, e->dirfd)) {
		*out = br_fail(EBADF); /* O_PATH descriptors stand for names only */
		return -1;
	}
	rc = br_lock_shared(c);
	if (rc == 0)
		rc = br_find_object(c, e);
	if (rc < 0)
		*out = br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	else if (op != BR_FREE && !br_may(c, (enum sbx_op)op, e))
		*out = br_deny(c, (enum sbx_op)op, e, 0);
	else if (!br_is_alive(c))
		*out = br_fail(EINTR);
	else
		return 0;
	return -1;
}

/* To write to /dev/null is not to change it for the whole host, which root could. Terminals that
 * the run has made are its own. */
static bool is_host_device(const struct br_call *c, const struct br_end *e)
{
	if (!S_ISCHR(e->st.st_mode) && !S_ISBLK(e->st.st_mode))
		return false;
	return (c->b->dev_fs && e->st.st_dev == c->b->dev_fs) ||
	       (!strncmp(e->path, "/dev/", 5) && strncmp(e->path, "/dev/pts/", 9) != 0) ||
	       br_is_host_terminal(c, e);
}

static int prepare(struct br_call *c, struct br_answer *out)
{
	if (br_hold_object(c, SBX_MODIFY, out) < 0)
		return -1;
	if (!is_host_device(c, &c->end[0]) && !br_is_stream(c, &c->end[0]))
		return 0;
	*out = br_fail(EPERM); /* as to anybody but their owner */
	return -1;
}

struct br_answer br_chmod(struct br_call *c)
{
	struct br_answer a;
	char name[32];

	if (prepare(c, &a) < 0)
		return a;
	if (!br_may_set_bits(c, &c->end[0], c->mode))
		return br_deny(c, SBX_READ, &c->end[0], 0);
	br_fd_path(name, c->end[0].fd);
	return br_told_of_object(c, br_result(chmod(name, c->mode)));
}

struct br_answer br_chown(struct br_call *c)
{
	unsigned arg = br_after_object(c);
	struct br_answer a;

	if (prepare(c, &a) < 0)
		return a;
	return br_told_of_object(c, br_result(fchownat(c->end[0].fd, "", (uid_t)br_arg(c, arg),
						       (gid_t)br_arg(c, arg + 1), AT_EMPTY_PATH)));
}

struct br_answer br_utimes(struct br_call *c)
{
	bool is_now = !br_arg(c, br_after_object(c));
	struct br_answer a;

	/* "now" is for whoever may write */
	if ((is_now ? br_hold_object(c, SBX_MODIFY, &a) : prepare(c, &a)) < 0)
		return a;
	return br_told_of_object(
		c, br_result(utimensat(c->end[0].fd, "", is_now ? NULL : c->times, AT_EMPTY_PATH)));
}

/* ---- extended attributes ---- */

struct br_answer br_setxattr(struct br_call *c)
{
	unsigned arg = br_after_object(c);
	size_t size = (size_t)br_arg(c, arg + 2);
	b_auto_free void *value = b_malloc(size + 1);
	int rc = br_read(c, br_arg(c, arg + 1), value, size);
	struct br_answer a;
	char path[32];

	if (rc < 0)
		return br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	if (prepare(c, &a) < 0)
		return a;
	/* acl(5): the kernel makes the mode from it */
	if (!strcmp(c->attr, "system.posix_acl_access") && !br_may_set_bits(c, &c->end[0], 0777))
		return br_deny(c, SBX_READ, &c->end[0], 0);
	br_fd_path(path, c->end[0].fd);
	return br_told_of_object(
		c, br_result(setxattr(path, c->attr, value, size, (int)br_arg(c, arg + 3))));
}

struct br_answer br_removexattr(struct br_call *c)
{
	struct br_answer a;
	char path[32];

	if (prepare(c, &a) < 0)
		return a;
	br_fd_path(path, c->end[0].fd);
	return br_told_of_object(c, br_result(removexattr(path, c->attr)));
}
