/* opens.c - open, openat, creat and their 64-bit and fortified names. */
#include "shim/linux/export.h"

#include <stdarg.h>

#include "shim/linux/sys.h"
#include "shim/mem.h"
#include "shim/open.h"
#include "shim/proc.h"
#include "shim/room.h"
#include "shim/where.h"

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
		if (i == PAGE_LEAST || tail[i])
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

	if (shim_is_no_pointer(how) || size < sizeof *how || how->flags & O_PATH)
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
