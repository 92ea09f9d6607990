#include "policy/load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/str.h"
#include "policy/model.h"

static int check(const char *path, const struct stat *st, size_t limit, struct b_err *err)
{
	if (S_ISDIR(st->st_mode))
		return b_fail(err, B_POLICY, EISDIR, "%s: a directory, expected a file", path);
	if (!S_ISREG(st->st_mode))
		return b_fail(err, B_POLICY, 0, "%s: not a regular file, expected one", path);
	if (st->st_uid != 0 && st->st_uid != getuid())
		return b_fail(
			err, B_POLICY, 0,
			"%s: owned by uid %u, expected root or yourself: chown it, or copy it",
			path, (unsigned)st->st_uid);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return b_fail(err, B_POLICY, 0, "%s: writable by %s: chmod go-w %s", path,
			      st->st_mode & S_IWOTH ? "others" : "its group", path);
	if (st->st_size > (off_t)limit)
		return b_fail(err, B_POLICY, 0, "%s: larger than %zu bytes", path, limit);
	return 0;
}

int pol_trusted_read(const char *path, size_t limit, struct b_str *out, struct b_err *err)
{
	/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
	b_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t want;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return b_fail(err, B_POLICY, errno, "%s: %s", path, strerror(errno));
	if (check(path, &st, limit, err) < 0)
		return -1;
	/* One byte more than there was: a file that grows meanwhile is noticed. */
	want = (size_t)st.st_size + 1;
	n = b_read_full(fd, b_str_room(out, want), want);
	if (n < 0)
		return b_fail(err, B_POLICY, errno, "%s: %s", path, strerror(errno));
	if ((size_t)n == want)
		return b_fail(err, B_POLICY, 0, "%s: grew while it was read", path);
	b_str_advance(out, (size_t)n);
	return 0;
}

int pol_policy_read(const char *path, struct b_str *out, struct b_err *err)
{
	return pol_trusted_read(path, POL_MAX_FILE, out, err);
}
