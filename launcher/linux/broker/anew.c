/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anew.c - a file that may be read is renamed to where it may not: an atomic save of `.env` by way
 * of `.env.tmp`, say. Whoever has the file open, or another name of it, would read what the host
 * writes there later. So a copy comes there, with owner, mode, times, access list and the user's
 * attributes.
 *
 * The lock of moves is held alone, and nothing is read in a directory with denied names but by the
 * broker's hand: nobody opens the copy before it has its place.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"

#define SIZE_MAX_COPIED (64 << 20) /* nobody moves anything meanwhile: some 50 ms */
#define CHUNK		(128u << 10)

/* The original and the copy, beside where that is to be. */
struct aside {
	char original[40], copy[40];
};

static int name_aside(struct aside *n)
{
	uint64_t id;

	if (getrandom(&id, sizeof id, 0) != sizeof id)
		return -EIO;
	snprintf(n->original, sizeof n->original, ".sbx-%016llx.old", (unsigned long long)id);
	snprintf(n->copy, sizeof n->copy, ".sbx-%016llx.new", (unsigned long long)id);
	return 0;
}

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

/* Somebody may still write to the original: no more than was allowed. */
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

/* The calls by name: the broker's filter knows no others. */
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
	/* set-id bits are nothing that a command may make */
	if (fchmodat(AT_FDCWD, new, st->st_mode & 01777, 0) < 0)
		return -errno;
	rc = copy_attributes(old, new);
	if (rc == 0 && utimensat(AT_FDCWD, new, times, 0) < 0)
		rc = -errno;
	return rc;
}

static int make_copy(const struct br_end *from, const struct br_end *to, const char *name)
{
	b_auto_fd int old = openat(from->at, from->name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	b_auto_fd int new = -1;
	struct stat st;
	int rc;

	if (old < 0 || fstat(old, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > SIZE_MAX_COPIED)
		return BR_NOT_COPIED;
	new = openat(to->at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (new < 0)
		return -errno;
	rc = copy_content(old, new);
	if (rc < 0)
		return rc == -ENOSPC || rc == -EDQUOT ? rc : BR_NOT_COPIED;
	return copy_metadata(old, new, &st) < 0 ? BR_NOT_COPIED : 0;
}

static int rename_at(int at, const char *name, int to, const char *new, unsigned flags)
{
	return syscall(SYS_renameat2, at, name, to, new, flags) < 0 ? -errno : 0;
}

/* The kernel's own answer to the rename, where there is one before anything is done. */
static int refused_anyway(const struct br_end *from, const struct br_end *to, unsigned flags)
{
	struct stat a, b;

	if (strchr(from->name, '/') || strchr(to->name, '/'))
		return -ENOTDIR;
	if (fstatat(from->at, from->name, &a, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (fstatat(to->at, to->name, &b, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flags & RENAME_NOREPLACE)
		return -EEXIST;
	return S_ISDIR(b.st_mode) ? -EISDIR : 0;
}

/* Two names of one file: rename(2) leaves both. */
static bool are_one(const struct br_end *from, const struct br_end *to)
{
	struct stat a, b;

	return fstatat(from->at, from->name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(to->at, to->name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino && a.st_nlink > 1;
}

int br_rename_anew(const struct br_end *from, const struct br_end *to, unsigned flags)
{
	struct aside aside;
	int rc = refused_anyway(from, to, flags);

	if (rc == 0 && are_one(from, to))
		return 0;
	if (rc == 0)
		rc = name_aside(&aside);
	if (rc < 0)
		return rc;
	rc = make_copy(from, to, aside.copy);
	/* whatever the kernel has against it, it says here */
	if (rc == 0)
		rc = rename_at(from->at, from->name, to->at, aside.original, RENAME_NOREPLACE);
	if (rc == 0) {
		rc = rename_at(to->at, aside.copy, to->at, to->name, flags);
		if (rc == 0) /* who could move it can remove it */
			return (void)unlinkat(to->at, aside.original, 0), 0;
		(void)rename_at(to->at, aside.original, from->at, from->name, RENAME_NOREPLACE);
	}
	(void)unlinkat(to->at, aside.copy, 0);
	return rc;
}
