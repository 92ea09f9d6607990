/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anew.c - a file that may be read is renamed to where it may not: an atomic save of `.env` by way
 * of `.env.tmp`, say. A process that has the file open, or another name of it, would read data that
 * the host writes there later. So a copy comes there, with owner, mode, times, access list and the
 * user's attributes.
 *
 * The copy has no name until it has its place (O_TMPFILE), so that nothing is left of it when the
 * broker is killed, and nobody can open it: it is filled without the lock of moves. Where that
 * takes long and the original changes meanwhile, it is copied once more. A file system without such
 * files gets one with a name, for as long as the lock is held.
 */
#include "launcher/linux/broker/anew.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/linux/broker/broker.h"

#define SIZE_MAX_COPIED (64 << 20)
#define CHUNK		(128u << 10)

static int write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		p += done < 0 ? 0 : done;
		n -= done < 0 ? 0 : (size_t)done;
	}
	return 0;
}

/* A process may still write to the original, which it was allowed to do before. */
static int copy_content(int from, int to)
{
	b_auto_free char *buf = b_malloc(CHUNK);
	off_t all = 0;

	for (;;) {
		ssize_t n = read(from, buf, CHUNK);
		int rc;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		all += n;
		rc = all > SIZE_MAX_COPIED ? -EFBIG : write_all(to, buf, (size_t)n);
		if (rc < 0)
			return rc;
	}
}

static bool is_copied(const char *attribute)
{
	return !strncmp(attribute, "user.", 5) || !strcmp(attribute, "system.posix_acl_access");
}

/* The extended-attribute calls by path: the broker's filter allows no others. */
static int copy_attributes(const char *from, const char *to)
{
	b_auto_free char *names = b_malloc(XATTR_LIST_MAX), *value = b_malloc(XATTR_SIZE_MAX);
	ssize_t all = listxattr(from, names, XATTR_LIST_MAX);

	if (all < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (const char *name = names; name < names + all; name += strlen(name) + 1) {
		ssize_t n;

		if (!is_copied(name))
			continue;
		n = getxattr(from, name, value, XATTR_SIZE_MAX);
		if (n < 0 || setxattr(to, name, value, (size_t)n, 0) < 0)
			return -errno;
	}
	return 0;
}

static int copy_metadata(int from, int to, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	char old[32], new[32];
	struct stat made;
	int rc;

	br_fd_path(old, from);
	br_fd_path(new, to);
	if (fstat(to, &made) < 0)
		return -errno;
	if ((made.st_uid != st->st_uid || made.st_gid != st->st_gid) &&
	    fchownat(AT_FDCWD, new, st->st_uid, st->st_gid, 0) < 0)
		return -errno;
	/* a command may not make set-id bits */
	if (fchmodat(AT_FDCWD, new, st->st_mode & 01777, 0) < 0)
		return -errno;
	rc = copy_attributes(old, new);
	if (rc == 0 && utimensat(AT_FDCWD, new, times, 0) < 0)
		rc = -errno;
	return rc;
}

/* The kernel's own error for the rename, if it can be known before anything is done. */
static int refused_anyway(const struct br_end *from, const struct br_end *to, unsigned flags)
{
	const int how = AT_EMPTY_PATH | AT_NO_AUTOMOUNT;
	struct statx here, there;
	struct stat a, b;

	if (strchr(from->name, '/') || strchr(to->name, '/'))
		return -ENOTDIR;
	if (fstatat(from->at, from->name, &a, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (statx(from->at, "", how, STATX_MNT_ID, &here) < 0 ||
	    statx(to->at, "", how, STATX_MNT_ID, &there) < 0)
		return -errno;
	if (here.stx_mnt_id != there.stx_mnt_id)
		return -EXDEV;
	if (fstatat(to->at, to->name, &b, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flags & RENAME_NOREPLACE)
		return -EEXIST;
	return S_ISDIR(b.st_mode) ? -EISDIR : 0;
}

/* Whether the kernel would remove the name. Checked first, because the name is removed last. */
static int may_leave(const struct br_end *from, const struct stat *st)
{
	uid_t uid = (uid_t)setfsuid((uid_t)-1);
	struct stat dir;

	if (syscall(SYS_faccessat2, from->at, ".", W_OK | X_OK, AT_EACCESS) < 0 ||
	    fstat(from->at, &dir) < 0)
		return -errno;
	return dir.st_mode & S_ISVTX && uid && uid != dir.st_uid && uid != st->st_uid ? -EPERM : 0;
}

static int name_aside(char out[BR_COPY_NAME])
{
	uint64_t id;

	if (getrandom(&id, sizeof id, 0) != sizeof id)
		return -EIO;
	snprintf(out, BR_COPY_NAME, ".sbx-%016llx.new", (unsigned long long)id);
	return 0;
}

/* Makes a file without a name, or with one if the file system has no others. */
static int make_empty(struct br_copy *c, const struct br_end *to)
{
	int rc;

	c->new = openat(to->at, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (c->new >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -errno;
	rc = name_aside(c->name);
	if (rc < 0)
		return rc;
	c->new = openat(to->at, c->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c->new >= 0)
		return 0;
	c->name[0] = '\0';
	return -errno;
}

int br_copy_begin(struct br_copy *c, const struct br_end *from, const struct br_end *to,
		  unsigned flags)
{
	int rc = refused_anyway(from, to, flags);

	if (rc < 0)
		return rc;
	c->old = openat(from->at, from->name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (c->old < 0 || fstat(c->old, &c->st) < 0 || !S_ISREG(c->st.st_mode) ||
	    c->st.st_size > SIZE_MAX_COPIED)
		return BR_NOT_COPIED;
	rc = may_leave(from, &c->st);
	return rc < 0 ? rc : make_empty(c, to);
}

int br_copy_fill(const struct br_copy *c)
{
	int rc = copy_content(c->old, c->new);

	if (rc < 0)
		return rc == -ENOSPC || rc == -EDQUOT ? rc : BR_NOT_COPIED;
	return copy_metadata(c->old, c->new, &c->st) < 0 ? BR_NOT_COPIED : 0;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool br_copy_fits(const struct br_copy *c, const struct br_end *from)
{
	const struct stat *was = &c->st;
	struct stat now;

	if (c->new < 0 || fstatat(from->at, from->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (now.st_dev != was->st_dev || now.st_ino != was->st_ino || now.st_size != was->st_size)
		return false;
	return is_same_time(&now.st_mtim, &was->st_mtim) &&
	       is_same_time(&now.st_ctim, &was->st_ctim);
}

/* Two names of one file: rename(2) leaves both. */
static bool are_one(const struct br_copy *c, const struct br_end *to)
{
	struct stat st;

	return fstatat(to->at, to->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       c->st.st_dev == st.st_dev && c->st.st_ino == st.st_ino && st.st_nlink > 1;
}

static int give_name(const struct br_copy *c, const struct br_end *to, const char *name)
{
	char nameless[32];

	br_fd_path(nameless, c->new);
	return linkat(AT_FDCWD, nameless, to->at, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Directly if the name is free; otherwise through a temporary name in the same directory, for one
 * call. */
static int put_in_place(struct br_copy *c, const struct br_end *to, unsigned flags, bool *out_new)
{
	int rc = c->name[0] ? -EEXIST : give_name(c, to, to->name);

	*out_new = rc == 0;
	if (rc != -EEXIST || (flags & RENAME_NOREPLACE && !c->name[0]))
		return rc;
	if (!c->name[0]) {
		rc = name_aside(c->name);
		if (rc == 0)
			rc = give_name(c, to, c->name);
		if (rc < 0) {
			c->name[0] = '\0';
			return rc;
		}
	}
	if (syscall(SYS_renameat2, to->at, c->name, to->at, to->name, flags) < 0)
		return -errno;
	c->name[0] = '\0';
	return 0;
}

int br_copy_place(struct br_copy *c, const struct br_end *from, const struct br_end *to,
		  unsigned flags)
{
	int rc = refused_anyway(from, to, flags);
	bool is_new = false;

	if (rc == 0 && are_one(c, to))
		return 0;
	if (rc == 0)
		rc = put_in_place(c, to, flags, &is_new);
	if (rc < 0 || unlinkat(from->at, from->name, 0) == 0)
		return rc;
	rc = -errno;
	if (is_new)
		(void)unlinkat(to->at, to->name, 0);
	return rc;
}

void br_copy_drop(struct br_copy *c, const struct br_end *to)
{
	if (c->name[0])
		(void)unlinkat(to->at, c->name, 0);
	if (c->old >= 0)
		close(c->old);
	if (c->new >= 0)
		close(c->new);
	*c = (struct br_copy)BR_COPY_INIT;
}
