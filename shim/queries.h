/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queries.h - calls that look and change nothing: the second half of shim/calls.h.
 *
 * SHIM_READ_CALLS read what the read rules speak of; judged on the object, then made as asked. What
 * is free (core/attr.h) is a query:
 *
 *	X(name, type, failure, event, prototype, arguments, END(directory fd, path, how), is free)
 *
 * SHIM_QUERY_CALLS only ask about a path. No rule denies them (stat stays free), and the
 * shim records them at the audit level `all` only:
 *
 *	X(name, type, failure, event, prototype, arguments, directory fd, path)
 *
 * Calls on descriptors that return only metadata (fstat) are not here.
 */
#pragma once

#include "shim/calls32.h"

/* clang-format off */
#define SHIM_READ_CALLS(X) \
	X(getxattr, ssize_t, -1, getxattr, (const char *path, const char *name, void *v, size_t n), \
	  (path, name, v, n), END(AT_FDCWD, path, SHIM_FOLLOW), shim_attr_is_free(name)) \
	X(lgetxattr, ssize_t, -1, getxattr, (const char *path, const char *name, void *v, size_t n), \
	  (path, name, v, n), END(AT_FDCWD, path, SHIM_LAST | SHIM_ATTRS | SHIM_JUDGE_ONLY), \
	  shim_attr_is_free(name)) \
	X(fgetxattr, ssize_t, -1, getxattr, (int fd, const char *name, void *v, size_t n), \
	  (fd, name, v, n), END(fd, "", SHIM_FD), shim_attr_is_free(name)) \
	X(listxattr, ssize_t, -1, listxattr, (const char *path, char *list, size_t n), \
	  (path, list, n), END(AT_FDCWD, path, SHIM_FOLLOW), true) \
	X(llistxattr, ssize_t, -1, listxattr, (const char *path, char *list, size_t n), \
	  (path, list, n), END(AT_FDCWD, path, SHIM_LAST | SHIM_ATTRS | SHIM_JUDGE_ONLY), true) \
	X(flistxattr, ssize_t, -1, listxattr, (int fd, char *list, size_t n), \
	  (fd, list, n), END(fd, "", SHIM_FD), true) \
	X(inotify_add_watch, int, -1, inotify_add_watch, (int fd, const char *path, uint32_t mask), \
	  (fd, path, mask), END(AT_FDCWD, path, (mask & IN_DONT_FOLLOW) \
				? SHIM_LAST | SHIM_ATTRS | SHIM_JUDGE_ONLY : SHIM_FOLLOW), false)

#define SHIM_QUERY_CALLS(X) \
	SHIM_QUERY_CALLS32(X) \
	X(stat, int, -1, stat, (const char *path, struct stat *st), (path, st), AT_FDCWD, path) \
	X(stat64, int, -1, stat, (const char *path, struct stat64 *st), (path, st), AT_FDCWD, path) \
	X(lstat, int, -1, lstat, (const char *path, struct stat *st), (path, st), AT_FDCWD, path) \
	X(lstat64, int, -1, lstat, (const char *path, struct stat64 *st), (path, st), AT_FDCWD, path) \
	X(fstatat, int, -1, fstatat, (int d, const char *path, struct stat *st, int flags), \
	  (d, path, st, flags), d, path) \
	X(fstatat64, int, -1, fstatat, (int d, const char *path, struct stat64 *st, int flags), \
	  (d, path, st, flags), d, path) \
	X(statx, int, -1, statx, (int d, const char *path, int flags, unsigned mask, struct statx *st), \
	  (d, path, flags, mask, st), d, path) \
	X(__xstat, int, -1, stat, (int ver, const char *path, struct stat *st), \
	  (ver, path, st), AT_FDCWD, path) \
	X(__xstat64, int, -1, stat, (int ver, const char *path, struct stat64 *st), \
	  (ver, path, st), AT_FDCWD, path) \
	X(__lxstat, int, -1, lstat, (int ver, const char *path, struct stat *st), \
	  (ver, path, st), AT_FDCWD, path) \
	X(__lxstat64, int, -1, lstat, (int ver, const char *path, struct stat64 *st), \
	  (ver, path, st), AT_FDCWD, path) \
	X(__fxstatat, int, -1, fstatat, (int ver, int d, const char *path, struct stat *st, int flags), \
	  (ver, d, path, st, flags), d, path) \
	X(__fxstatat64, int, -1, fstatat, (int ver, int d, const char *path, struct stat64 *st, int flags), \
	  (ver, d, path, st, flags), d, path) \
	X(readlink, ssize_t, -1, readlink, (const char *path, char *to, size_t n), \
	  (path, to, n), AT_FDCWD, path) \
	X(__readlink_chk, ssize_t, -1, readlink, (const char *path, char *to, size_t n, size_t room), \
	  (path, to, n, room), AT_FDCWD, path) \
	X(readlinkat, ssize_t, -1, readlinkat, (int d, const char *path, char *to, size_t n), \
	  (d, path, to, n), d, path) \
	X(__readlinkat_chk, ssize_t, -1, readlinkat, \
	  (int d, const char *path, char *to, size_t n, size_t room), (d, path, to, n, room), d, path) \
	X(realpath, char *, NULL, realpath, (const char *path, char *to), (path, to), AT_FDCWD, path) \
	X(__realpath_chk, char *, NULL, realpath, (const char *path, char *to, size_t room), \
	  (path, to, room), AT_FDCWD, path) \
	X(canonicalize_file_name, char *, NULL, realpath, (const char *path), (path), AT_FDCWD, path) \
	X(statfs, int, -1, statfs, (const char *path, struct statfs *st), (path, st), AT_FDCWD, path) \
	X(statfs64, int, -1, statfs, (const char *path, struct statfs64 *st), (path, st), AT_FDCWD, path) \
	X(statvfs, int, -1, statvfs, (const char *path, struct statvfs *st), (path, st), AT_FDCWD, path) \
	X(statvfs64, int, -1, statvfs, (const char *path, struct statvfs64 *st), \
	  (path, st), AT_FDCWD, path) \
	X(name_to_handle_at, int, -1, name_to_handle_at, \
	  (int d, const char *path, struct file_handle *h, int *mount, int flags), \
	  (d, path, h, mount, flags), d, path)
/* clang-format on */
