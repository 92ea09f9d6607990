/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c - the exported wrappers of calls that take paths: those of the tables, open and its
 * names, getcwd, and old symbol versions. */
#include "shim/linux/export/export.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/attr.h"
#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/next.h"
#include "shim/open.h"
#include "shim/proc.h"
#include "shim/where.h"
#include "shim/wrap.h"

/* The wrappers of SHIM_PATH_CALLS, SHIM_READ_CALLS and SHIM_QUERY_CALLS, each made
 * from its row in shim/calls.h; and access(2) with its kin. */

#define END SHIM_END

#define X(fn, event, proto, args, ends, moves, first, second, go)                                  \
	SHIM_EXPORT int fn proto SHIM_BODY(event, ends, moves, NEXT(fn) args, go, first, second)
SHIM_PATH_CALLS(X)
#undef X

/* Only what can be read is looked at, as for paths. */
static bool shim_attr_is_free(const char *name)
{
	return !shim_is_no_pointer(name) && sbx_attr_is_free(name);
}

#define X(fn, type, failure, event, proto, args, where, is_free)                                   \
	SHIM_EXPORT type fn proto                                                                  \
	{                                                                                          \
		SHIM_PATHS(1);                                                                     \
		struct shim_op op = {                                                              \
			.call = SBX_CALL_##event, .op = SBX_READ, .nends = 1, .end = {where}};     \
		type ret = (failure);                                                              \
		if (is_free) {                                                                     \
			ret = NEXT(fn) args;                                                       \
			shim_query(op.call, op.end[0].dirfd, op.end[0].asked, ret == (failure));   \
			return ret;                                                                \
		}                                                                                  \
		if (shim_begin(&op) == SHIM_PASS)                                                  \
			ret = NEXT(fn) args;                                                       \
		shim_end(&op, ret == (failure) ? -1 : 0);                                          \
		return ret;                                                                        \
	}
SHIM_READ_CALLS(X)
#undef X

#define X(fn, type, failure, event, proto, args, dirfd, path)                                      \
	SHIM_EXPORT type fn proto                                                                  \
	{                                                                                          \
		type ret;                                                                          \
		if (__builtin_expect(shim.level != SBX_AUDIT_ALL, 1))                              \
			return NEXT(fn) args;                                                      \
		ret = NEXT(fn) args;                                                               \
		shim_query(SBX_CALL_##event, dirfd, path, ret == (failure));                       \
		return ret;                                                                        \
	}
SHIM_QUERY_CALLS(X)
#undef X

/* ---- access ---- */

SHIM_EXPORT int access(const char *path, int mode)
{
	return shim_access_answer(SBX_CALL_access, AT_FDCWD, path, mode, 0,
				  NEXT(access)(path, mode));
}

SHIM_EXPORT int faccessat(int dirfd, const char *path, int mode, int flags)
{
	return shim_access_answer(SBX_CALL_faccessat, dirfd, path, mode, flags,
				  NEXT(faccessat)(dirfd, path, mode, flags));
}

SHIM_EXPORT int euidaccess(const char *path, int mode)
{
	return shim_access_answer(SBX_CALL_euidaccess, AT_FDCWD, path, mode, 0,
				  NEXT(euidaccess)(path, mode));
}

SHIM_EXPORT int eaccess(const char *path, int mode)
{
	return shim_access_answer(SBX_CALL_euidaccess, AT_FDCWD, path, mode, 0,
				  NEXT(eaccess)(path, mode));
}

/* Open, openat, creat and their 64-bit and fortified names. */

/* A mode was passed exactly when open(2) says it is looked at. */
#define MODE_ARGUMENT(flags)                                                                       \
	({                                                                                         \
		mode_t mode_ = 0;                                                                  \
		if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {                         \
			va_list ap_;                                                               \
			va_start(ap_, flags);                                                      \
			mode_ = va_arg(ap_, mode_t);                                               \
			va_end(ap_);                                                               \
		}                                                                                  \
		mode_;                                                                             \
	})

enum { PAGE_LEAST = 4096 }; /* no struct longer than a page is taken */

/* Judged, then opened by the library that wants to see it. */
static int open_foreign(unsigned call, int dirfd, const char *path, int flags, mode_t mode)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct shim_asked a = {
		.call = call, .dirfd = dirfd, .path = path, .flags = flags, .buf = buf};
	int ret = shim_may_open(&a), err;

	if (ret < 0)
		return (int)shim_result(ret);
	ret = shim_where_given(dirfd == AT_FDCWD ? NEXT(open)(path, flags, mode)
						 : NEXT(openat)(dirfd, path, flags, mode));
	err = shim_get_errno();
	shim_opened(&a, ret < 0 ? err : 0);
	shim_set_errno(err);
	return ret;
}

static int do_open(unsigned call, int dirfd, const char *path, int flags, mode_t mode)
{
	if (shim_is_open_foreign())
		return open_foreign(call, dirfd, path, flags, mode);
	return (int)shim_result(shim_open(call, dirfd, path, flags, mode));
}

/* Is there a struct open_how, of a size that the kernel would look at? Two pages at most: both ends
 * are asked for. */
static bool is_how(const struct open_how *how, size_t size)
{
	const char *start = (const char *)how;

	return size >= sizeof *how && size <= PAGE_LEAST && !shim_is_no_pointer(start) &&
	       !shim_is_no_pointer(start + size - 1);
}

/* openat2() refuses what open() ignores: the kernel then has to see it as it was asked. */
static bool is_as_open(const struct open_how *how, size_t size)
{
	const char *tail = (const char *)how;
	bool has_mode = how->flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY));
	size_t i;

	if (how->resolve || how->flags & ~(uint64_t)SHIM_OPEN_FLAGS ||
	    how->mode & ~UINT64_C(07777) || (how->mode && !has_mode))
		return false;
	for (i = sizeof *how; i < size; i++) /* a newer struct, asked for nothing new */
		if (tail[i])
			return false;
	return true;
}

/* glibc 2.43. With resolve flags "/" and ".." mean other things than in open(): the kernel
 * finds the object first, by an O_PATH descriptor that honours them; what does not exist yet
 * is left to the floor. */
SHIM_EXPORT int openat2(int dirfd, const char *path, const struct open_how *how, size_t size)
{
	struct open_how held = {.flags = O_PATH | O_CLOEXEC};
	char link[SHIM_FD_PATH_SIZE];
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct shim_asked a = {.call = SBX_CALL_openat2, .dirfd = AT_FDCWD, .buf = buf};
	int fd, ret;

	if (!is_how(how, size) || how->flags & O_PATH)
		return (int)shim_result(
			shim_where_given((int)sys4(SYS_openat2, dirfd, path, how, size)));
	if (is_as_open(how, size) && shim_opens())
		return (int)shim_result(shim_open(SBX_CALL_openat2, dirfd, path, (int)how->flags,
						  (mode_t)how->mode));
	held.resolve = how->resolve;
	fd = (int)sys4(SYS_openat2, dirfd, path, &held, sizeof held);
	if (fd >= 0) {
		a.path = shim_fd_path(link, fd);
		a.flags = (int)how->flags & ~(O_CREAT | O_NOFOLLOW);
		ret = shim_may_open(&a);
		sys_close(fd);
		if (ret < 0)
			return (int)shim_result(ret);
	}
	ret = shim_where_given((int)sys4(SYS_openat2, dirfd, path, how, size));
	shim_opened(&a, ret < 0 ? -ret : 0);
	return (int)shim_result(ret);
}

/* O_LARGEFILE is 0 but where words have 32 bits. */
#define OPEN(name, large)                                                                          \
	SHIM_EXPORT int name(const char *path, int flags, ...)                                     \
	{                                                                                          \
		return do_open(SBX_CALL_open, AT_FDCWD, path, flags | (large),                     \
			       MODE_ARGUMENT(flags));                                              \
	}
OPEN(open, 0)
OPEN(open64, O_LARGEFILE)
OPEN(__open, 0)
OPEN(__open64, O_LARGEFILE)

#define OPENAT(name, large)                                                                        \
	SHIM_EXPORT int name(int dirfd, const char *path, int flags, ...)                          \
	{                                                                                          \
		return do_open(SBX_CALL_openat, dirfd, path, flags | (large),                      \
			       MODE_ARGUMENT(flags));                                              \
	}
OPENAT(openat, 0)
OPENAT(openat64, O_LARGEFILE)

/* glibc aborts here when the flags call for a mode; it says so itself. */
#define OPEN_2(name, large)                                                                        \
	SHIM_EXPORT int name(const char *path, int flags)                                          \
	{                                                                                          \
		if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)                           \
			return NEXT(name)(path, flags);                                            \
		return do_open(SBX_CALL_open, AT_FDCWD, path, flags | (large), 0);                 \
	}
OPEN_2(__open_2, 0)
OPEN_2(__open64_2, O_LARGEFILE)

#define OPENAT_2(name, large)                                                                      \
	SHIM_EXPORT int name(int dirfd, const char *path, int flags)                               \
	{                                                                                          \
		if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)                           \
			return NEXT(name)(dirfd, path, flags);                                     \
		return do_open(SBX_CALL_openat, dirfd, path, flags | (large), 0);                  \
	}
OPENAT_2(__openat_2, 0)
OPENAT_2(__openat64_2, O_LARGEFILE)

#define CREAT(name, large)                                                                         \
	SHIM_EXPORT int name(const char *path, mode_t mode)                                        \
	{                                                                                          \
		return do_open(SBX_CALL_creat, AT_FDCWD, path,                                     \
			       O_WRONLY | O_CREAT | O_TRUNC | (large), mode);                      \
	}
CREAT(creat, 0)
CREAT(creat64, O_LARGEFILE)

/*
 * Getcwd below the depth the kernel has a text for. glibc then climbs to the root, and
 * opens each directory on the way in a manner that a floor does not see as listing: where one is
 * closed to Landlock and open to the policy, it fails (EACCES). We climb no further than needed.
 */

char *__getcwd_chk(char *buf, size_t size, size_t room);

/* As getcwd(3): without `buf` into memory that is the program's to free, by its own malloc. */
static char *copy_out(const struct shim_deep *d, char *buf, size_t size)
{
	if (!buf && !size)
		size = d->len + 1;
	if (size <= d->len) {
		shim_set_errno(ERANGE);
		return NULL;
	}
	if (!buf)
		buf = NEXT(malloc)(size);
	if (buf)
		memcpy(buf, d->room, d->len + 1);
	return buf;
}

static char *climb(char *buf, size_t size)
{
	int fd = sys_openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	struct shim_deep d = {.at = -1};
	char *ret = NULL;

	if (fd >= 0 && shim_is_deep(fd) && shim_deep_text(&d, fd) == 0)
		ret = copy_out(&d, buf, size);
	else
		shim_set_errno(EACCES);
	shim_deep_release(&d);
	if (fd >= 0)
		sys_close(fd);
	return ret;
}

static bool is_to_help(const char *ret)
{
	return !ret && shim_get_errno() == EACCES && shim_is_ready() && !shim_has_filter();
}

SHIM_EXPORT char *getcwd(char *buf, size_t size)
{
	int saved = shim_get_errno();
	char *ret = NEXT(getcwd)(buf, size);

	if (!is_to_help(ret))
		return ret;
	shim_set_errno(saved);
	return climb(buf, size);
}

SHIM_EXPORT char *__getcwd_chk(char *buf, size_t size, size_t room)
{
	int saved = shim_get_errno();
	char *ret = NEXT(__getcwd_chk)(buf, size, room);

	if (!is_to_help(ret))
		return ret;
	shim_set_errno(saved);
	return climb(buf, size);
}

SHIM_EXPORT char *get_current_dir_name(void)
{
	int saved = shim_get_errno();
	char *ret = NEXT(get_current_dir_name)();

	if (!is_to_help(ret))
		return ret;
	shim_set_errno(saved);
	return climb(NULL, 0);
}

/* Those of posix_spawn are in execs.c. */

#ifdef SHIM_OLD_NAMES

/* Before 2.3: no memory is allocated for the answer. */
SHIM_EXPORT char *realpath_old(const char *path, char *resolved)
{
	if (!resolved) {
		shim_set_errno(EINVAL);
		return NULL;
	}
	return realpath(path, resolved);
}
SHIM_OLD_NAME(realpath);

/* Before 2.3.3: flags that are not known are none. */
enum { OLD_FLAGS = FTW_PHYS | FTW_MOUNT | FTW_CHDIR | FTW_DEPTH };

SHIM_EXPORT int nftw_old(const char *path, __nftw_func_t fn, int fds, int flags)
{
	return nftw(path, fn, fds, flags & OLD_FLAGS);
}
SHIM_OLD_NAME(nftw);

SHIM_EXPORT int nftw64_old(const char *path, __nftw64_func_t fn, int fds, int flags)
{
	return nftw64(path, fn, fds, flags & OLD_FLAGS);
}
SHIM_OLD_NAME(nftw64);

#endif
