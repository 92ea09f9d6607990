/* SPDX-License-Identifier: Apache-2.0 */
/* stdio.c - opening calls of the C library that return its own objects: the file is opened by
 * shim_open() and handed to fdopen() or fdopendir(), or judged first and opened by the
 * library. Temporary names. */
#include "shim/linux/export/export.h"

#include <glob.h>
#include <utmp.h>
#include <utmpx.h>

#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/open.h"
#include "shim/paths_check.h"
#include "shim/proc.h"
#include "shim/where.h"

/* Flags of fopen(3)'s mode; false for what only the library itself understands. */
static bool mode_flags(const char *mode, int *out_flags)
{
	int flags;

	if (shim_is_no_pointer(mode))
		return false;
	if (*mode == 'r')
		flags = O_RDONLY;
	else if (*mode == 'w')
		flags = O_WRONLY | O_CREAT | O_TRUNC;
	else if (*mode == 'a')
		flags = O_WRONLY | O_CREAT | O_APPEND;
	else
		return false;
	for (mode++; *mode && *mode != ','; mode++) {
		if (*mode == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		else if (*mode == 'x')
			flags |= O_EXCL;
		else if (*mode == 'e')
			flags |= O_CLOEXEC;
		else if (*mode != 'b' && *mode != 'c' && *mode != 't')
			break; /* 'm' and what is to come: judged, then passed on whole */
	}
	*out_flags = flags;
	return *mode == '\0';
}

typedef FILE *fopen_fn(const char *, const char *);

/* A stream of the library's own making: under which number is the library's to know. */
static FILE *given(FILE *f)
{
	if (f)
		shim_where_given(NEXT(fileno)(f));
	return f;
}

static FILE *fopen_judged(const char *path, const char *mode, int flags, fopen_fn *next)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct shim_asked a = {.call = SBX_CALL_fopen,
			       .dirfd = AT_FDCWD,
			       .path = path,
			       .flags = flags,
			       .buf = buf};
	int ret = shim_may_open(&a), err;
	FILE *f;

	if (ret < 0) {
		shim_result(ret);
		return NULL;
	}
	f = given(next(path, mode));
	err = shim_get_errno();
	shim_opened(&a, f ? 0 : err);
	shim_set_errno(err);
	return f;
}

static FILE *do_fopen(const char *path, const char *mode, fopen_fn *next)
{
	int flags = O_RDONLY, fd, err;
	bool is_plain = mode_flags(mode, &flags);
	FILE *f;

	if (!shim_is_ready() || shim_is_no_pointer(path))
		return given(next(path, mode));
	if (!is_plain || !shim_opens())
		return fopen_judged(path, mode, flags, next);
	fd = shim_open(SBX_CALL_fopen, AT_FDCWD, path, flags, 0666);
	if (fd < 0) {
		shim_result(fd);
		return NULL;
	}
	/* glibc's fopen() goes to the end of what it only appends to, its fdopen() does not */
	if (gnu_get_libc_version && flags & O_APPEND && (flags & O_ACCMODE) == O_WRONLY)
		sys3(SYS_lseek, fd, 0, SEEK_END);
	f = NEXT(fdopen)(fd, mode);
	if (!f) {
		err = shim_get_errno();
		sys_close(fd);
		shim_set_errno(err);
	}
	return f;
}

SHIM_EXPORT FILE *fopen(const char *path, const char *mode)
{
	return do_fopen(path, mode, NEXT(fopen));
}

/* Names that programs built with very old C++ libraries call. */
SHIM_EXPORT FILE *_IO_fopen(const char *path, const char *mode)
{
	return fopen(path, mode);
}

SHIM_EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return do_fopen(path, mode, NEXT(fopen64));
}

/* freopen keeps the descriptor's number, which only the library can do. Without a path it
 * opens the same file once more, with another mode. A denial closes the stream, as every
 * failure of freopen(3) does. */
static FILE *do_freopen(const char *path, const char *mode, FILE *f,
			FILE *(*next)(const char *, const char *, FILE *))
{
	char link[SHIM_FD_PATH_SIZE];
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct shim_asked a = {.call = SBX_CALL_freopen, .dirfd = AT_FDCWD, .buf = buf};
	int flags = O_RDONLY, err;
	FILE *ret;

	if (!shim_is_ready())
		return next(path, mode, f);
	mode_flags(mode, &flags);
	a.path = path ? path : shim_fd_path(link, NEXT(fileno)(f));
	a.flags = flags;
	if (shim_may_open(&a) < 0) {
		/* the library closes the stream and finds nothing to open */
		shim_where_closed(NEXT(fileno)(f));
		next("", "r", f);
		shim_set_errno(EACCES);
		return NULL;
	}
	ret = given(next(path, mode, f));
	err = shim_get_errno();
	shim_opened(&a, ret ? 0 : err);
	shim_set_errno(err);
	return ret;
}

SHIM_EXPORT FILE *freopen(const char *path, const char *mode, FILE *f)
{
	return do_freopen(path, mode, f, NEXT(freopen));
}

SHIM_EXPORT FILE *freopen64(const char *path, const char *mode, FILE *f)
{
	return do_freopen(path, mode, f, NEXT(freopen64));
}

/* A file without a name in the usual place; where the file system has none such, the library
 * makes one and takes its name away again. */
static FILE *do_tmpfile(FILE *(*next)(void))
{
	int fd;
	FILE *f;

	if (!shim_opens())
		return next();
	fd = shim_open(SBX_CALL_tmpfile, AT_FDCWD, P_tmpdir, O_RDWR | O_TMPFILE | O_EXCL, 0600);
	if (fd == -EACCES) {
		shim_set_errno(EACCES);
		return NULL;
	}
	if (fd < 0)
		return next();
	f = NEXT(fdopen)(fd, "w+");
	if (!f)
		sys_close(fd);
	return f;
}

SHIM_EXPORT FILE *tmpfile(void)
{
	return do_tmpfile(NEXT(tmpfile));
}

SHIM_EXPORT FILE *tmpfile64(void)
{
	return do_tmpfile(NEXT(tmpfile64));
}

/* ---- directories ---- */

SHIM_EXPORT DIR *opendir(const char *path)
{
	DIR *d;
	int fd, err;

	if (!shim_opens() || shim_is_no_pointer(path)) {
		d = NEXT(opendir)(path);
		if (d)
			shim_where_given(NEXT(dirfd)(d));
		return d;
	}
	fd = shim_open(SBX_CALL_opendir, AT_FDCWD, path,
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0) {
		shim_result(fd);
		return NULL;
	}
	d = NEXT(fdopendir)(fd);
	if (!d) {
		err = shim_get_errno();
		sys_close(fd);
		shim_where_closed(fd);
		shim_set_errno(err);
	}
	return d;
}

/* Judged by a descriptor that is closed before the library opens the directory itself: the
 * callbacks of scandir(3) see no descriptor, and no stack, of ours. */
static __attribute__((noinline)) int judge_list(unsigned call, int dirfd, const char *path)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct shim_asked a = {.call = call,
			       .dirfd = dirfd,
			       .path = path,
			       .flags = O_RDONLY | O_DIRECTORY,
			       .buf = buf};
	int ret = shim_may_open(&a);

	if (ret < 0)
		return (int)shim_result(ret);
	shim_opened(&a, 0);
	return 0;
}

#define SCANDIR(name, entry)                                                                       \
	SHIM_EXPORT int name(const char *path, struct entry ***list,                               \
			     int (*filter)(const struct entry *),                                  \
			     int (*compare)(const struct entry **, const struct entry **))         \
	{                                                                                          \
		if (judge_list(SBX_CALL_scandir, AT_FDCWD, path) < 0)                              \
			return -1;                                                                 \
		return NEXT(name)(path, list, filter, compare);                                    \
	}
SCANDIR(scandir, dirent)
SCANDIR(scandir64, dirent64)

#define SCANDIRAT(name, entry)                                                                     \
	SHIM_EXPORT int name(int dirfd, const char *path, struct entry ***list,                    \
			     int (*filter)(const struct entry *),                                  \
			     int (*compare)(const struct entry **, const struct entry **))         \
	{                                                                                          \
		if (judge_list(SBX_CALL_scandirat, dirfd, path) < 0)                               \
			return -1;                                                                 \
		return NEXT(name)(dirfd, path, list, filter, compare);                             \
	}
SCANDIRAT(scandirat, dirent)
SCANDIRAT(scandirat64, dirent64)

/* glob(3) lists by calls inside the library, unless it is given functions to use instead: ours
 * are the wrapped ones. Where the program has its own it knows what it does. */
static void *open_listed(const char *path)
{
	return opendir(path);
}

static void close_listed(void *d)
{
	closedir(d);
}

#define GLOB(name, glob_type, entry, read_next, stat_next, lstat_next)                             \
	static struct entry *name##_read(void *d)                                                  \
	{                                                                                          \
		return NEXT(read_next)(d);                                                         \
	}                                                                                          \
	SHIM_EXPORT int name(const char *pattern, int flags, int (*failed)(const char *, int),     \
			     glob_type *out)                                                       \
	{                                                                                          \
		if (!shim_is_ready() || flags & GLOB_ALTDIRFUNC || shim_is_no_pointer(out))        \
			return NEXT(name)(pattern, flags, failed, out);                            \
		out->gl_opendir = open_listed;                                                     \
		out->gl_closedir = close_listed;                                                   \
		out->gl_readdir = name##_read;                                                     \
		out->gl_stat = stat_next;                                                          \
		out->gl_lstat = lstat_next;                                                        \
		return NEXT(name)(pattern, flags | GLOB_ALTDIRFUNC, failed, out);                  \
	}
GLOB(glob, glob_t, dirent, readdir, stat, lstat)
GLOB(glob64, glob64_t, dirent64, readdir64, stat64, lstat64)

/* ---- temporary names ---- */

/* The name is not known before the call. What can be judged before is the template as it
 * stands; the event then has the name that was made. */
static enum shim_way temp_begin(struct shim_op *op)
{
	enum shim_way way = shim_begin(op);

	/* the library writes the name into the program's template: no parent descriptor, and the
	 * number that one has had is for the file */
	shim_end_close(&op->end[0]);
	return way == SHIM_AT ? SHIM_PASS : way;
}

static void temp_named(struct shim_op *op, const char *made)
{
	size_t n = strlen(made), len = op->end[0].len;
	const char *base = shim_basename(made);
	size_t base_len = n - (size_t)(base - made);

	if (op->is_told && base_len < len)
		memcpy(op->end[0].path + len - base_len, base, base_len);
}

#define TEMP(ret_type, name, event, proto, args, failed)                                           \
	SHIM_EXPORT ret_type name proto                                                            \
	{                                                                                          \
		char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);                               \
		struct shim_op op = {.call = SBX_CALL_##event,                                     \
				     .nends = 1,                                                   \
				     .end = {{.path = buf,                                         \
					      .dirfd = AT_FDCWD,                                   \
					      .asked = path,                                       \
					      .how = SHIM_LAST | SHIM_NEW}}};                      \
		ret_type ret = failed;                                                             \
		if (temp_begin(&op) == SHIM_PASS)                                                  \
			ret = NEXT(name) args;                                                     \
		if (ret != failed)                                                                 \
			temp_named(&op, path);                                                     \
		shim_end(&op, ret == failed ? -1 : 0);                                             \
		return ret;                                                                        \
	}

#define NO_DIR ((char *)0)
TEMP(int, mkstemp, mkstemp, (char *path), (path), -1)
TEMP(int, mkstemp64, mkstemp, (char *path), (path), -1)
TEMP(int, mkostemp, mkstemp, (char *path, int flags), (path, flags), -1)
TEMP(int, mkostemp64, mkstemp, (char *path, int flags), (path, flags), -1)
TEMP(int, mkstemps, mkstemp, (char *path, int suffix), (path, suffix), -1)
TEMP(int, mkstemps64, mkstemp, (char *path, int suffix), (path, suffix), -1)
TEMP(int, mkostemps, mkstemp, (char *path, int suffix, int flags), (path, suffix, flags), -1)
TEMP(int, mkostemps64, mkstemp, (char *path, int suffix, int flags), (path, suffix, flags), -1)
TEMP(char *, mkdtemp, mkdtemp, (char *path), (path), NO_DIR)

/* The library opens the file for writing, if it is there. */
#define UPDWTMP(name, entry_type)                                                                  \
	SHIM_EXPORT void name(const char *path, const struct entry_type *entry)                    \
	{                                                                                          \
		char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);                               \
		struct shim_asked a = {.call = SBX_CALL_open,                                      \
				       .dirfd = AT_FDCWD,                                          \
				       .path = path,                                               \
				       .flags = O_WRONLY,                                          \
				       .buf = buf};                                                \
		int ret = shim_may_open(&a);                                                       \
		if (ret < 0) {                                                                     \
			shim_result(ret);                                                          \
			return;                                                                    \
		}                                                                                  \
		NEXT(name)(path, entry);                                                           \
		shim_opened(&a, 0);                                                                \
	}
UPDWTMP(updwtmp, utmp)
UPDWTMP(updwtmpx, utmpx)
