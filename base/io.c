/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - see io.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkostemp(3) */
#endif
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/* Whether a failed read or write is to be tried again. Descriptors 0 to 2 are shared with
 * programs that may have set O_NONBLOCK on them: then wait, as a blocking call would. */
static bool again(int fd, short events)
{
	struct pollfd pfd = {.fd = fd, .events = events};

	if (errno == EINTR)
		return true;
	if (errno != EAGAIN)
		return false;
	return poll(&pfd, 1, -1) >= 0 || errno == EINTR;
}

int b_fill_stdio(void)
{
	/* the lowest free descriptor is given: each closed one in its turn (open(2)) */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return -1;
	return 0;
}

int b_write_all(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && again(fd, POLLOUT))
			continue;
		if (done == 0) /* a device that takes nothing: no endless loop */
			errno = EIO;
		if (done <= 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

ssize_t b_read_full(int fd, void *buf, size_t n)
{
	char *p = buf;
	size_t got = 0;

	while (got < n) {
		ssize_t done = read(fd, p + got, n - got);

		if (done < 0 && again(fd, POLLIN))
			continue;
		if (done < 0)
			return -1;
		if (done == 0)
			break;
		got += (size_t)done;
	}
	return (ssize_t)got;
}

static int fail_sys(struct b_err *err, const char *path)
{
	int sys = errno;

	return b_fail(err, B_SYSTEM, sys, "%s: %s", path, strerror(sys));
}

static int check_regular(const char *path, const struct stat *st, size_t limit, struct b_err *err)
{
	if (S_ISDIR(st->st_mode))
		return b_fail(err, B_FORMAT, EISDIR, "%s: is a directory, not a file", path);
	if (!S_ISREG(st->st_mode))
		return b_fail(err, B_FORMAT, 0, "%s: is not a regular file", path);
	if (st->st_size > 0 && (uintmax_t)st->st_size > limit)
		return b_fail(err, B_LIMIT, EFBIG, "%s: is larger than %zu bytes", path, limit);
	return 0;
}

/* Reads to the end, at most `limit`; the size is only a hint (it is 0 in /proc, and the file
 * may grow meanwhile). */
static int slurp(int fd, const char *path, size_t hint, size_t limit, struct b_str *out,
		 struct b_err *err)
{
	enum { CHUNK = 16 * 1024 };
	size_t total = 0, want = hint + 1;

	for (;;) {
		size_t left = limit - total; /* one more is asked for, to see the excess */
		ssize_t got;

		if (want > left && left < SIZE_MAX)
			want = left + 1;
		got = b_read_full(fd, b_str_room(out, want), want);
		if (got < 0)
			return fail_sys(err, path);
		if ((size_t)got > left)
			return b_fail(err, B_LIMIT, EFBIG, "%s: is larger than %zu bytes", path,
				      limit);
		b_str_advance(out, (size_t)got);
		total += (size_t)got;
		if ((size_t)got < want)
			return 0;
		want = CHUNK;
	}
}

int b_read_file(const char *path, size_t limit, struct b_str *out, struct b_err *err)
{
	size_t before = out->len;
	struct stat st;

	/* stat() first, because opening alone already acts on some devices and wakes the
	 * writer of a FIFO. The path may be swapped in between: O_NONBLOCK keeps that from
	 * blocking us and fstat() catches it. */
	if (stat(path, &st) < 0)
		return fail_sys(err, path);
	if (check_regular(path, &st, limit, err) < 0)
		return -1;
	b_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(err, path);
	if (check_regular(path, &st, limit, err) < 0)
		return -1;
	if (slurp(fd, path, (size_t)st.st_size, limit, out, err) < 0) {
		out->len = before;
		b_str_addn(out, NULL, 0);
		return -1;
	}
	return 0;
}

/* mkdir(2) answers EEXIST, EISDIR (macOS, "/") or EROFS for what is there already. */
static int ensure_dir(const char *path, struct b_err *err)
{
	struct stat st;
	int sys;

	if (mkdir(path, 0700) == 0)
		return 0;
	sys = errno;
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return 0;
		sys = ENOTDIR;
	}
	return b_fail(err, B_SYSTEM, sys, "%s: cannot make directory: %s", path, strerror(sys));
}

int b_mkdirs(const char *path, struct b_err *err)
{
	b_auto_free char *copy = b_strdup(path);
	struct stat st;
	char *p;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	for (p = copy + strspn(copy, "/"); (p = strchr(p, '/')); p += strspn(p, "/")) {
		*p = '\0';
		if (ensure_dir(copy, err) < 0)
			return -1;
		*p = '/';
	}
	return ensure_dir(copy, err);
}

struct content {
	const void *p;
	size_t n;
	unsigned mode;
	bool durable;
	const struct stat *owner; /* NULL = the user of this process */
};

/* Before the mode is set: with the old mode no other user gains access. */
static int give(int fd, const struct stat *owner)
{
	struct stat st;

	if (!owner)
		return 0;
	if (fstat(fd, &st) < 0)
		return -1;
	if (st.st_uid == owner->st_uid && st.st_gid == owner->st_gid)
		return 0;
	return fchown(fd, owner->st_uid, owner->st_gid);
}

static int fill(int fd, const struct content *c)
{
	if (b_write_all(fd, c->p, c->n) < 0 || give(fd, c->owner) < 0 ||
	    fchmod(fd, (mode_t)c->mode) < 0)
		return -1;
	return c->durable ? fsync(fd) : 0;
}

/* A rename lasts once the directory is on disk: fsync(2). */
static int sync_dir(const char *dir)
{
	b_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

/* Moves the finished temporary file to its name. Closes the descriptor in any case, and checks
 * close(2), because quota and network errors may show only there. */
static int finish(int fd, const char *temp, const char *path, bool filled)
{
	int sys = errno;

	if (close(fd) < 0 && filled)
		return -1;
	if (!filled) {
		errno = sys;
		return -1;
	}
	return rename(temp, path);
}

static int write_file(const char *path, const struct content *c, struct b_err *err)
{
	const char *slash = strrchr(path, '/');
	size_t dir_len = slash ? (size_t)(slash - path) + 1 : 0;
	b_auto(b_str_release) struct b_str temp = {0};
	int fd, sys;

	/* The temporary has a short name, because the file's name may already have the maximal
	 * length. */
	b_str_addn(&temp, path, dir_len);
	b_str_add(&temp, ".sbx-XXXXXX");
	fd = mkostemp(temp.s, O_CLOEXEC); /* 0600 until it is complete */
	if (fd < 0)
		return fail_sys(err, path);
	if (finish(fd, temp.s, path, fill(fd, c) == 0) < 0) {
		sys = errno;
		unlink(temp.s);
		errno = sys;
		return fail_sys(err, path);
	}
	temp.s[dir_len] = '\0';
	if (c->durable && sync_dir(dir_len ? temp.s : ".") < 0)
		return fail_sys(err, path);
	return 0;
}

int b_write_file(const char *path, unsigned mode, const void *p, size_t n, bool durable,
		 struct b_err *err)
{
	const struct content c = {.p = p, .n = n, .mode = mode, .durable = durable};

	return write_file(path, &c, err);
}

/* If /dev/stdout is a pipe it has no path: it is written to, not replaced. */
static int write_nameless(const char *path, const struct content *c, struct b_err *err)
{
	b_auto_fd int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	return fd < 0 || b_write_all(fd, c->p, c->n) < 0 ? fail_sys(err, path) : 0;
}

int b_replace_file(const char *path, const unsigned *mode, const void *p, size_t n,
		   struct b_err *err)
{
	b_auto_free char *real = realpath(path, NULL);
	struct content c = {.p = p, .n = n, .mode = mode ? *mode : 0600, .durable = true};
	struct stat st;

	if (!real && errno == ENOENT)
		return stat(path, &st) == 0 ? write_nameless(path, &c, err)
					    : write_file(path, &c, err);
	if (!real)
		return fail_sys(err, path);
	if (stat(real, &st) < 0)
		return fail_sys(err, path);
	if (check_regular(path, &st, SIZE_MAX, err) < 0)
		return -1;
	c.owner = &st;
	return write_file(real, &c, err);
}

static struct timespec now(clockid_t clock)
{
	struct timespec ts = {0};

	/* cannot fail for the clocks used here (clock_gettime(2)) */
	(void)clock_gettime(clock, &ts);
	return ts;
}

uint64_t b_now_ms(void)
{
	struct timespec ts = now(CLOCK_MONOTONIC);

	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t b_deadline_ms(uint64_t ms)
{
	uint64_t end;

	return __builtin_add_overflow(b_now_ms(), ms, &end) ? UINT64_MAX : end;
}

uint64_t b_now_real_ns(void)
{
	struct timespec ts = now(CLOCK_REALTIME);

	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int b_access(const char *path, int mode)
{
	int rc = faccessat(AT_FDCWD, path, mode, AT_EACCESS);

	/* A filter may refuse faccessat2(2) with any errno. access(2) uses the real ids, which are
	 * usually the same. */
	if (rc < 0 && geteuid() == getuid() && getegid() == getgid())
		rc = access(path, mode);
	return rc;
}

int b_report(const char *program, const struct b_err *err)
{
	struct b_str line = {0};

	b_str_add_visible(&line, program, strlen(program));
	b_str_add(&line, ": ");
	b_str_add(&line, b_kind_code(err->kind));
	b_str_add(&line, ": ");
	b_str_add_visible(&line, err->msg, strlen(err->msg));
	b_str_addc(&line, '\n');
	/* One write, so that lines of several processes do not mix. If descriptor 2 is closed the
	 * message is lost; the exit status still reports the error. */
	(void)b_write_all(STDERR_FILENO, line.s, line.len);
	b_str_release(&line);
	return b_kind_status(err->kind);
}
