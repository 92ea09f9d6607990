/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.h - the calls of libSystem in the spelling of the Linux shim: results are -errno on failure,
 * errno stays as it was. libSystem is the interface of XNU: raw system calls are not promised.
 * [AS-safe] [MT-safe]
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fold.h"

#define O_PATH	       O_EVTONLY  /* finds without the right to read */
#define O_NOFOLLOW_ANY 0x20000000 /* macOS 11: ELOOP at any symlink of the path */
#define AT_EMPTY_PATH  0	  /* there is no such thing */

#define SHIM_QUIETLY(type, call)                                                                   \
	({                                                                                         \
		int saved_ = errno;                                                                \
		type ret_ = (call);                                                                \
		if (ret_ < 0)                                                                      \
			ret_ = (type)-errno;                                                       \
		errno = saved_;                                                                    \
		ret_;                                                                              \
	})

static inline int sys_openat(int at, const char *path, int flags, unsigned mode)
{
	if ((flags & (O_PATH | O_DIRECTORY)) == (O_PATH | O_DIRECTORY))
		flags = (flags & ~O_PATH) | O_SEARCH;
	return SHIM_QUIETLY(int, openat(at, path, flags, mode));
}

/* Fails with -ELOOP when any component, the last included, is a symlink. */
static inline int sys_open_proven(int at, const char *path, int flags, unsigned mode)
{
	return sys_openat(at, path, flags | O_NOFOLLOW_ANY, mode);
}

/* The answer to rmdir(2) of a denied directory stays EACCES. */
static inline bool sys_holds_something(int at, const char *name)
{
	(void)at, (void)name;
	return false;
}

/* There are no such descriptors. */
static inline bool sys_is_path_only(int fd)
{
	(void)fd;
	return false;
}

static inline void sys_close(int fd)
{
	(void)SHIM_QUIETLY(int, close(fd));
}

/* The last symlink is not followed. */
static inline int sys_lstatat(int at, const char *name, struct stat *out)
{
	return SHIM_QUIETLY(int, fstatat(at, name, out, AT_SYMLINK_NOFOLLOW));
}

static inline int sys_fstat(int fd, struct stat *out)
{
	return SHIM_QUIETLY(int, fstat(fd, out));
}

static inline int sys_getpath(int fd, char path[PATH_MAX])
{
	return SHIM_QUIETLY(int, fcntl(fd, F_GETPATH, path));
}

/* What the directory does to names: most volumes fold them, and to ask takes locks. */
static inline int sys_folds(const char *dir)
{
	(void)dir;
	return SBX_FOLDS_CASE | SBX_FOLDS_ALIAS;
}
