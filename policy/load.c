#include "policy/load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/model.h"

typedef int check_fn(const char *path, const struct stat *, struct b_err *);

static int check_kind(const char *path, const struct stat *st, size_t limit, struct b_err *err)
{
	if (S_ISDIR(st->st_mode))
		return b_fail(err, B_POLICY, EISDIR, "%s: a directory, expected a file", path);
	if (!S_ISREG(st->st_mode))
		return b_fail(err, B_POLICY, 0, "%s: not a regular file, expected one", path);
	if (st->st_size > (off_t)limit)
		return b_fail(err, B_POLICY, 0, "%s: larger than %zu bytes", path, limit);
	return 0;
}

static int check_writers(const char *path, const struct stat *st, struct b_err *err)
{
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return b_fail(err, B_POLICY, 0, "%s: writable by %s: chmod go-w %s", path,
			      st->st_mode & S_IWOTH ? "others" : "its group", path);
	return 0;
}

static int check_own(const char *path, const struct stat *st, struct b_err *err)
{
	if (st->st_uid != 0 && st->st_uid != getuid())
		return b_fail(
			err, B_POLICY, 0,
			"%s: owned by uid %u, expected root or yourself: chown it, or copy it",
			path, (unsigned)st->st_uid);
	return check_writers(path, st, err);
}

static int check_roots(const char *path, const struct stat *st, struct b_err *err)
{
	if (st->st_uid != 0)
		return b_fail(err, B_POLICY, 0, "%s: owned by uid %u, expected root: chown it",
			      path, (unsigned)st->st_uid);
	return check_writers(path, st, err);
}

static int check_nothing(const char *path, const struct stat *st, struct b_err *err)
{
	(void)path;
	(void)st;
	(void)err;
	return 0;
}

static int fail_sys(const char *path, struct b_err *err)
{
	return b_fail(err, B_POLICY, errno, "%s: %s", path, strerror(errno));
}

/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
static int open_it(int at, const char *path, int flags)
{
	return openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
}

static int read_it(int fd, const char *path, check_fn *check, size_t limit, struct b_str *out,
		   struct b_err *err)
{
	struct stat st;
	size_t want;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(path, err);
	if (check_kind(path, &st, limit, err) < 0 || check(path, &st, err) < 0)
		return -1;
	/* One byte more than there was: a file that grows meanwhile is noticed. */
	want = (size_t)st.st_size + 1;
	n = b_read_full(fd, b_str_room(out, want), want);
	if (n < 0)
		return fail_sys(path, err);
	if ((size_t)n == want)
		return b_fail(err, B_POLICY, 0, "%s: grew while it was read", path);
	b_str_advance(out, (size_t)n);
	return 0;
}

int pol_trusted_read(const char *path, size_t limit, struct b_str *out, struct b_err *err)
{
	b_auto_fd int fd = open_it(AT_FDCWD, path, 0);

	return read_it(fd, path, check_own, limit, out, err);
}

int pol_policy_read(const char *path, struct b_str *out, struct b_err *err)
{
	return pol_trusted_read(path, POL_MAX_FILE, out, err);
}

static int fail_link(const char *path, const char *kind, struct b_err *err)
{
	return b_fail(err, B_POLICY, ELOOP, "%s: a symlink, expected %s", path, kind);
}

/* A symlink itself, and no permission to read what is opened; macOS knows the first only. */
#ifdef O_PATH
enum { OPEN_ITSELF = O_PATH | O_NOFOLLOW | O_CLOEXEC };
#else
enum { OPEN_ITSELF = O_SYMLINK | O_CLOEXEC };
#endif

/* The directory, which must be root's: who may write to it could put another file in its place.
 * -1 with `*out_there` false: there is none. */
static int open_directory(const char *path, bool *out_there, struct b_err *err)
{
	b_auto(b_str_release) struct b_str dir = {0};
	struct stat st;
	int fd;

	b_str_addn(&dir, path, (size_t)(strrchr(path, '/') - path));
	fd = open(b_str_c(&dir), OPEN_ITSELF);
	*out_there = fd >= 0 || errno != ENOENT;
	if (!*out_there)
		return -1;
	if (fd < 0 || fstat(fd, &st) < 0)
		fail_sys(b_str_c(&dir), err);
	else if (S_ISLNK(st.st_mode))
		fail_link(b_str_c(&dir), "a directory", err);
	else if (!S_ISDIR(st.st_mode))
		b_fail(err, B_POLICY, ENOTDIR, "%s: not a directory, expected one", b_str_c(&dir));
	else if (check_roots(b_str_c(&dir), &st, err) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* No link leads to it: where one leads may be anybody's, and one that leads nowhere would switch
 * the policy off without a word. */
int pol_managed_read(const char *path, struct b_str *out, bool *out_there, struct b_err *err)
{
	b_auto_fd int dir = open_directory(path, out_there, err), fd = -1;

	if (dir < 0)
		return *out_there ? b_wrap(err, "managed policy") : 0;
	fd = open_it(dir, strrchr(path, '/') + 1, O_NOFOLLOW);
	*out_there = fd >= 0 || errno != ENOENT;
	if (!*out_there)
		return 0;
	if (fd < 0 && errno == ELOOP)
		fail_link(path, "a file", err);
	else if (read_it(fd, path, check_roots, POL_MAX_FILE, out, err) == 0)
		return 0;
	return b_wrap(err, "managed policy");
}

int pol_project_read(const char *path, struct b_str *out, bool *out_there, struct b_err *err)
{
	b_auto_fd int fd = open_it(AT_FDCWD, path, O_NOFOLLOW);

	*out_there = fd >= 0 || (errno != ENOENT && errno != ENOTDIR);
	if (!*out_there)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return fail_link(path, "a file", err);
	return read_it(fd, path, check_nothing, POL_MAX_FILE, out, err);
}
