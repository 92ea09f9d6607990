/*
 * attrs.c - extended attributes, read: those of users belong to what a file holds, and are read
 * by who may read it. core/attr.h
 *
 * Performed, not left to the kernel, which would read the path anew. The value goes to the
 * caller's memory by the number of a task that may end meanwhile: a new task of the same number
 * would have to be one of the run, too, for the broker reaches no other.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <linux/limits.h>
#include <sys/xattr.h>

#include "base/mem.h"
#include "core/attr.h"

static struct br_answer hand_over(struct br_call *c, uint64_t addr, const void *value, long n,
				  size_t size)
{
	int rc;

	if (n <= 0 || !size)
		return br_result(n);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	rc = br_write(c, addr, value, (size_t)n);
	return rc < 0 ? br_fail(rc == BR_UNREADABLE ? EACCES : -rc) : br_value(n);
}

struct br_answer br_getxattr(struct br_call *c)
{
	unsigned arg = br_after_object(c);
	size_t size = (size_t)br_arg(c, arg + 2);
	b_auto_free void *value = NULL;
	struct br_answer a;
	char path[32];

	if (br_hold_object(c, sbx_attr_is_free(c->attr) ? BR_FREE : (int)SBX_READ, &a) < 0)
		return a;
	size = size < XATTR_SIZE_MAX ? size : XATTR_SIZE_MAX;
	value = b_malloc(size + 1);
	br_fd_path(path, c->end[0].fd);
	return hand_over(c, br_arg(c, arg + 1), value, getxattr(path, c->attr, value, size), size);
}

struct br_answer br_listxattr(struct br_call *c)
{
	unsigned arg = br_after_object(c);
	size_t size = (size_t)br_arg(c, arg + 1);
	b_auto_free void *names = NULL;
	struct br_answer a;
	char path[32];

	if (br_hold_object(c, BR_FREE, &a) < 0)
		return a;
	size = size < XATTR_LIST_MAX ? size : XATTR_LIST_MAX;
	names = b_malloc(size + 1);
	br_fd_path(path, c->end[0].fd);
	return hand_over(c, br_arg(c, arg), names, listxattr(path, names, size), size);
}
