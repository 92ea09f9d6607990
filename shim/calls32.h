/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls32.h - rows of shim/calls.h and shim/queries.h that 32-bit machines have besides: the names
 * for times of 64 bits (-D_TIME_BITS=64, glibc 2.34). None elsewhere. The shim does not look at the
 * times.
 */
#pragma once

/* clang-format off */
#if defined(__linux__) && __SIZEOF_LONG__ == 4
#define SHIM_PATH_CALLS32(X) \
	X(__utime64, utime, (const char *path, const void *times), (path, times), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED) \
	X(__utimes64, utimes, (const char *path, const void *times), (path, times), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED) \
	X(__lutimes64, lutimes, (const char *path, const void *times), (path, times), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_LAST | SHIM_ATTRS | SHIM_JUDGE_ONLY), , AS_ASKED) \
	X(__futimesat64, futimesat, (int d, const char *path, const void *times), \
	  (d, path, times), 1, SHIM_STAYS, END(d, path, SHIM_FOLLOW | SHIM_NULL), , AS_ASKED) \
	X(__utimensat64, utimensat, (int d, const char *path, const void *times, int flags), \
	  (d, path, times, flags), 1, SHIM_STAYS, END(d, path, shim_how(flags) | SHIM_NULL), , \
	  NEXT(__utimensat64)(AT(0), times, flags)) \
	X(__futimes64, utimes, (int fd, const void *times), (fd, times), \
	  1, SHIM_STAYS, END(fd, "", SHIM_FD), , AS_ASKED) \
	X(__futimens64, utimensat, (int fd, const void *times), (fd, times), \
	  1, SHIM_STAYS, END(fd, "", SHIM_FD), , AS_ASKED)
#define SHIM_QUERY_CALLS32(X) \
	X(__stat64_time64, int, -1, stat, (const char *path, void *st), (path, st), AT_FDCWD, path) \
	X(__lstat64_time64, int, -1, lstat, (const char *path, void *st), (path, st), AT_FDCWD, path) \
	X(__fstatat64_time64, int, -1, fstatat, (int d, const char *path, void *st, int flags), \
	  (d, path, st, flags), d, path)
#define SHIM_CONTEXT_CALLS32(X) \
	X(__prctl_time64) X(__fcntl_time64) X(__recvmsg64) X(__recvmmsg64)
#else
#define SHIM_PATH_CALLS32(X)
#define SHIM_CONTEXT_CALLS32(X)
#define SHIM_QUERY_CALLS32(X)
#endif
/* clang-format on */
