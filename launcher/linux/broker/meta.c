/* SPDX-License-Identifier: Apache-2.0 */
/* meta.c - metadata by path and by descriptor, /proc of the caller itself, and calls that are
 * refused by name. */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/attr.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/names.h"

/* Metadata by path and by descriptor. Landlock does not see these calls: none of them
 * is ever left to the kernel, because what a descriptor means may be changed by another thread
 * between our look and the kernel's. */

unsigned br_after_object(const struct br_call *c)
{
	const struct br_end_spec *spec = &c->row->end[0];

	return (spec->how & BR_END_FD ? spec->dirfd : spec->path) + 1u;
}

/* O_PATH descriptors stand for names only. */
static bool is_path_only(struct br_call *c, const struct br_end *e)
{
	int flags;

	if (!e->is_empty || c->flags & AT_EMPTY_PATH)
		return false;
	if (!e->is_own)
		return e->dirfd < 0 || br_is_path_only(c, e->dirfd);
	flags = fcntl(e->fd, F_GETFL);
	return flags < 0 || flags & O_PATH;
}

int br_hold_object(struct br_call *c, int op, struct br_answer *out)
{
	struct br_end *e = &c->end[0];
	int rc;

	e->is_own = true;
	rc = br_lock_shared(c);
	if (rc == 0)
		rc = br_find_object(c, e);
	if (rc == 0 && is_path_only(c, e))
		rc = -EBADF;
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
	*out = br_fail(EPERM); /* the error for a caller that is not the owner */
	return -1;
}

/* A set-gid directory hands its group on to what is made in it; a set-id file gives its rights to
 * programs outside. */
bool br_may_set_ids(const struct br_call *c, mode_t type, mode_t bits)
{
	return !(bits & (S_ISUID | S_ISGID)) || S_ISDIR(type) || c->b->plan->allows_setid;
}

struct br_answer br_deny_set_ids(struct br_call *c, const struct br_end *e)
{
	return br_deny_name(c, e, SBX_EVF_SETID, 0);
}

static long set_mode(const struct br_call *c, int fd, mode_t mode)
{
	char name[32];

	if (c->b->has_fchmodat2)
		return syscall(SYS_fchmodat2_nr, fd, "", mode, AT_EMPTY_PATH);
	br_fd_path(name, fd);
	return chmod(name, mode);
}

/* The kernel would see to that when the file is written, but not for root, nor by way of a mapping.
 */
bool br_drop_set_ids(const struct br_call *c, int fd, mode_t mode)
{
	return br_may_set_ids(c, mode, mode) ||
	       set_mode(c, fd, mode & 07777 & ~(mode_t)(S_ISUID | S_ISGID)) == 0;
}

/* The file may be executed from here on, which fails while the broker has it open for writing. */
static struct br_answer with_bits(struct br_call *c, mode_t bits, struct br_answer a)
{
	if (a.kind != BR_KIND_VALUE || !S_ISREG(c->end[0].st.st_mode) ||
	    !(bits & (S_IXUSR | S_IXGRP | S_IXOTH)))
		return a;
	br_unlock(c);
	br_wait_lent(c->b);
	return a;
}

void br_find_fchmodat2(struct br_broker *b)
{
	/* an outer filter may return another error than ENOSYS */
	b->has_fchmodat2 =
		syscall(SYS_fchmodat2_nr, -1, "", 0, AT_EMPTY_PATH) < 0 && errno == EBADF;
}

struct br_answer br_chmod(struct br_call *c)
{
	struct br_answer a;

	if (prepare(c, &a) < 0)
		return a;
	if (!br_may_set_ids(c, c->end[0].st.st_mode, c->mode))
		return br_deny_set_ids(c, &c->end[0]);
	if (!br_may_set_bits(c, &c->end[0], c->mode))
		return br_deny(c, SBX_READ, &c->end[0], 0);
	return with_bits(c, c->mode,
			 br_told_of_object(c, br_result(set_mode(c, c->end[0].fd, c->mode))));
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

	/* a caller that may write may set the time to "now" */
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
	bool is_access;
	char path[32];

	if (rc < 0)
		return br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	if (prepare(c, &a) < 0)
		return a;
	/* acl(5): the kernel makes the mode from it */
	is_access = !strcmp(c->attr, "system.posix_acl_access");
	if (is_access && !br_may_set_bits(c, &c->end[0], 0777))
		return br_deny(c, SBX_READ, &c->end[0], 0);
	br_fd_path(path, c->end[0].fd);
	a = br_told_of_object(
		c, br_result(setxattr(path, c->attr, value, size, (int)br_arg(c, arg + 3))));
	return is_access ? with_bits(c, 0777, a) : a;
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

/*
 * Reads extended attributes. User attributes are content: a caller that may read the file may read
 * them. core/attr.h
 *
 * Performed, not left to the kernel, which would read the path anew. The value goes to the
 * caller's memory by the number of a task that may end meanwhile: a new task of the same number
 * would have to be one of the run, too, for the broker reaches no other.
 */

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

/*
 * Procfs in other places than /proc, as in the root of a container or a chroot.
 *
 * There the broker's own directory would be one of many, with a number that may be another's:
 * all of it is refused. Only the host can mount one, and does so before a run or not at all.
 */

bool br_is_other_proc(const struct br_broker *b, const char *path, size_t len)
{
	for (char *const *p = b->other_procs; p && *p; p++) {
		size_t n = strlen(*p);

		if (len >= n && !memcmp(path, *p, n) && (len == n || path[n] == '/'))
			return true;
	}
	return false;
}

/* proc_pid_mountinfo(5): blanks, newlines and backslashes are three octal digits. In place. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned c;

		if (*text == '\\' && sscanf(text + 1, "%3o", &c) == 1) {
			*to++ = (char)c;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* The same line: is it /dev's file system at another place? */
static bool is_dev_again(const struct br_broker *b, const char *line)
{
	unsigned major, minor;
	char at[8];

	return b->dev_fs && sscanf(line, "%*u %*u %u:%u %*s %7s", &major, &minor, at) == 3 &&
	       makedev(major, minor) == b->dev_fs && strcmp(at, "/dev") != 0;
}

/* "36 35 0:5 / /mnt/proc rw shared:1 - proc proc rw": its mount point when it is a procfs. */
static char *other_proc_of(char *line)
{
	const char *type = strstr(line, " - ");
	char *at = line, *end;

	if (!type || strncmp(type + 3, "proc ", 5) != 0)
		return NULL;
	for (int i = 0; i < 4 && at; i++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	end = at ? strchr(at, ' ') : NULL;
	if (!end)
		return NULL;
	*end = '\0';
	unescape(at);
	/* what lies below /proc is known by its name there */
	return !strcmp(at, "/proc") || !strncmp(at, "/proc/", 6) ? NULL : at;
}

int br_find_other_procs(struct br_broker *b)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	b_auto_free char *line = NULL;
	size_t size = 0, n = 0;

	if (!f)
		return -1;
	while (getline(&line, &size, f) > 0) {
		const char *at;

		b->is_dev_twice |= is_dev_again(b, line);
		at = other_proc_of(line);
		if (!at)
			continue;
		b->other_procs = b_realloc(b->other_procs, n + 2, sizeof *b->other_procs);
		b->other_procs[n++] = b_strdup(at);
		b->other_procs[n] = NULL;
	}
	(void)fclose(f);
	return 0;
}
