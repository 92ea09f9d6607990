/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - every name the shim exports, in one place.
 *
 * SHIM_PATH_CALLS: calls that change something at one or two paths and return int. A row is
 *
 *	X(name, event, prototype, arguments, ends, moves, first, second, go)
 *
 *	event	 row of core/event.h that events name
 *	ends	 how many paths the call has; `first`, `second` say where they are:
 *		 END(directory fd, path, how), how = SHIM_* of shim/paths_check.h
 *	moves	 SHIM_STAYS, SHIM_MOVES (first becomes second), SHIM_SWAPS
 *	go	 the call to make once both ends are judged. AT(0), AT(1) expand to
 *		 "parent descriptor, name": the parent was opened and read back, so the object
 *		 acted on is the one that was judged. AS_ASKED where the call follows a last
 *		 symlink: the object was judged, then the call is made as the program wrote it.
 *		 MARKED(number, the argument behind the path, call), MARKED_TWO: shim/marks.h.
 *
 * SHIM_READ_CALLS, SHIM_QUERY_CALLS: shim/queries.h. SHIM_OTHER_CALLS: names whose bodies are
 * written out in shim/linux/ (open, stdio, access, names of memory, exec, context).
 * SHIM_BORROWED: names we call and do not export.
 *
 * The version script, the table of next definitions, `make check-abi` and `make check-imports`
 * come from here. Calls that programs import and that are not here are in shim/exceptions.txt,
 * with the reason.
 */
#pragma once

#include "shim/queries.h"

/* clang-format off */
#define SHIM_PATH_CALLS(X) \
	SHIM_PATH_CALLS32(X) \
	X(rename, rename, (const char *from, const char *to), (from, to), 2, SHIM_MOVES, \
	  END(AT_FDCWD, from, SHIM_LAST), END(AT_FDCWD, to, SHIM_LAST), \
	  MARKED_TWO(SYS_renameat2, 0, NEXT(renameat)(AT(0), AT(1)))) \
	X(renameat, renameat, (int d1, const char *from, int d2, const char *to), \
	  (d1, from, d2, to), 2, SHIM_MOVES, \
	  END(d1, from, SHIM_LAST), END(d2, to, SHIM_LAST), \
	  MARKED_TWO(SYS_renameat2, 0, NEXT(renameat)(AT(0), AT(1)))) \
	X(renameat2, renameat2, (int d1, const char *from, int d2, const char *to, unsigned flags), \
	  (d1, from, d2, to, flags), 2, (flags & RENAME_EXCHANGE) ? SHIM_SWAPS : SHIM_MOVES, \
	  END(d1, from, SHIM_LAST), \
	  END(d2, to, (flags & RENAME_NOREPLACE) ? SHIM_LAST | SHIM_NEW : SHIM_LAST), \
	  MARKED_TWO(SYS_renameat2, flags, NEXT(renameat2)(AT(0), AT(1), flags))) \
	X(link, link, (const char *from, const char *to), (from, to), 2, SHIM_LINKS, \
	  END(AT_FDCWD, from, SHIM_LAST), END(AT_FDCWD, to, SHIM_LAST | SHIM_NEW), \
	  MARKED_TWO(SYS_linkat, 0, NEXT(linkat)(AT(0), AT(1), 0))) \
	X(linkat, linkat, (int d1, const char *from, int d2, const char *to, int flags), \
	  (d1, from, d2, to, flags), 2, SHIM_LINKS, \
	  END(d1, from, shim_how_link(flags)), END(d2, to, SHIM_LAST | SHIM_NEW), \
	  MARKED_TWO(SYS_linkat, flags, NEXT(linkat)(AT(0), AT(1), flags))) \
	X(symlink, symlink, (const char *target, const char *path), (target, path), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_LAST | SHIM_NEW), , NEXT(symlinkat)(target, AT(0))) \
	X(symlinkat, symlinkat, (const char *target, int d, const char *path), (target, d, path), \
	  1, SHIM_STAYS, END(d, path, SHIM_LAST | SHIM_NEW), , NEXT(symlinkat)(target, AT(0))) \
	X(unlink, unlink, (const char *path), (path), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_LAST | SHIM_NO_DIR), , \
	  MARKED(SYS_unlinkat, 0, NEXT(unlinkat)(AT(0), 0))) \
	X(unlinkat, unlinkat, (int d, const char *path, int flags), (d, path, flags), \
	  1, SHIM_STAYS, \
	  END(d, path, SHIM_LAST | ((flags & AT_REMOVEDIR) ? SHIM_A_DIR : SHIM_NO_DIR)), , \
	  MARKED(SYS_unlinkat, flags, NEXT(unlinkat)(AT(0), flags))) \
	X(rmdir, rmdir, (const char *path), (path), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_LAST | SHIM_A_DIR), , \
	  MARKED(SYS_unlinkat, AT_REMOVEDIR, NEXT(unlinkat)(AT(0), AT_REMOVEDIR))) \
	X(remove, remove, (const char *path), (path), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_LAST), , shim_remove_at(AT(0))) \
	X(mkdir, mkdir, (const char *path, mode_t mode), (path, mode), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_LAST | SHIM_NEW), , \
	  MARKED(SYS_mkdirat, mode, NEXT(mkdirat)(AT(0), mode))) \
	X(mkdirat, mkdirat, (int d, const char *path, mode_t mode), (d, path, mode), \
	  1, SHIM_STAYS, END(d, path, SHIM_LAST | SHIM_NEW), , \
	  MARKED(SYS_mkdirat, mode, NEXT(mkdirat)(AT(0), mode))) \
	X(mknod, mknod, (const char *path, mode_t mode, dev_t dev), (path, mode, dev), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_LAST | SHIM_NEW), , \
	  NEXT(mknodat)(AT(0), mode, dev)) \
	X(mknodat, mknodat, (int d, const char *path, mode_t mode, dev_t dev), \
	  (d, path, mode, dev), 1, SHIM_STAYS, END(d, path, SHIM_LAST | SHIM_NEW), , \
	  NEXT(mknodat)(AT(0), mode, dev)) \
	X(__xmknod, mknod, (int ver, const char *path, mode_t mode, dev_t *dev), \
	  (ver, path, mode, dev), 1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_LAST | SHIM_NEW), , \
	  NEXT(__xmknodat)(ver, AT(0), mode, dev)) \
	X(__xmknodat, mknodat, (int ver, int d, const char *path, mode_t mode, dev_t *dev), \
	  (ver, d, path, mode, dev), 1, SHIM_STAYS, END(d, path, SHIM_LAST | SHIM_NEW), , \
	  NEXT(__xmknodat)(ver, AT(0), mode, dev)) \
	X(mkfifo, mkfifo, (const char *path, mode_t mode), (path, mode), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_LAST | SHIM_NEW), , NEXT(mkfifoat)(AT(0), mode)) \
	X(mkfifoat, mkfifoat, (int d, const char *path, mode_t mode), (d, path, mode), \
	  1, SHIM_STAYS, END(d, path, SHIM_LAST | SHIM_NEW), , NEXT(mkfifoat)(AT(0), mode)) \
	X(truncate, truncate, (const char *path, off_t size), (path, size), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_FOLLOW | SHIM_NO_DIR), , AS_ASKED) \
	X(truncate64, truncate, (const char *path, off64_t size), (path, size), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_FOLLOW | SHIM_NO_DIR), , AS_ASKED) \
	X(chmod, chmod, (const char *path, mode_t mode), (path, mode), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED) \
	X(fchmodat, fchmodat, (int d, const char *path, mode_t mode, int flags), \
	  (d, path, mode, flags), 1, SHIM_STAYS, END(d, path, shim_how(flags)), , \
	  NEXT(fchmodat)(AT(0), mode, flags)) \
	X(lchmod, lchmod, (const char *path, mode_t mode), (path, mode), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_LAST | SHIM_ATTRS), , \
	  NEXT(fchmodat)(AT(0), mode, AT_SYMLINK_NOFOLLOW)) \
	X(chown, chown, (const char *path, uid_t uid, gid_t gid), (path, uid, gid), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED) \
	X(lchown, lchown, (const char *path, uid_t uid, gid_t gid), (path, uid, gid), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_LAST | SHIM_ATTRS), , \
	  NEXT(fchownat)(AT(0), uid, gid, AT_SYMLINK_NOFOLLOW)) \
	X(fchownat, fchownat, (int d, const char *path, uid_t uid, gid_t gid, int flags), \
	  (d, path, uid, gid, flags), 1, SHIM_STAYS, END(d, path, shim_how(flags)), , \
	  NEXT(fchownat)(AT(0), uid, gid, flags)) \
	X(utime, utime, (const char *path, const struct utimbuf *times), (path, times), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED) \
	X(utimes, utimes, (const char *path, const struct timeval times[2]), (path, times), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED) \
	X(lutimes, lutimes, (const char *path, const struct timeval times[2]), (path, times), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_LAST | SHIM_ATTRS | SHIM_JUDGE_ONLY), , AS_ASKED) \
	X(futimesat, futimesat, (int d, const char *path, const struct timeval times[2]), \
	  (d, path, times), 1, SHIM_STAYS, END(d, path, SHIM_FOLLOW | SHIM_NULL), , AS_ASKED) \
	X(utimensat, utimensat, (int d, const char *path, const struct timespec times[2], int flags), \
	  (d, path, times, flags), 1, SHIM_STAYS, END(d, path, shim_how(flags) | SHIM_NULL), , \
	  NEXT(utimensat)(AT(0), times, flags)) \
	X(setxattr, setxattr, (const char *path, const char *name, const void *v, size_t n, int flags), \
	  (path, name, v, n, flags), 1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED) \
	X(lsetxattr, setxattr, (const char *path, const char *name, const void *v, size_t n, int flags), \
	  (path, name, v, n, flags), 1, SHIM_STAYS, \
	  END(AT_FDCWD, path, SHIM_LAST | SHIM_ATTRS | SHIM_JUDGE_ONLY), , AS_ASKED) \
	X(removexattr, removexattr, (const char *path, const char *name), (path, name), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_FOLLOW), , AS_ASKED) \
	X(lremovexattr, removexattr, (const char *path, const char *name), (path, name), \
	  1, SHIM_STAYS, END(AT_FDCWD, path, SHIM_LAST | SHIM_ATTRS | SHIM_JUDGE_ONLY), , AS_ASKED) \
	X(fchmod, fchmodat, (int fd, mode_t mode), (fd, mode), \
	  1, SHIM_STAYS, END(fd, "", SHIM_FD), , AS_ASKED) \
	X(fchown, fchownat, (int fd, uid_t uid, gid_t gid), (fd, uid, gid), \
	  1, SHIM_STAYS, END(fd, "", SHIM_FD), , AS_ASKED) \
	X(futimes, utimes, (int fd, const struct timeval times[2]), (fd, times), \
	  1, SHIM_STAYS, END(fd, "", SHIM_FD), , AS_ASKED) \
	X(futimens, utimensat, (int fd, const struct timespec times[2]), (fd, times), \
	  1, SHIM_STAYS, END(fd, "", SHIM_FD), , AS_ASKED) \
	X(fsetxattr, setxattr, (int fd, const char *name, const void *v, size_t n, int flags), \
	  (fd, name, v, n, flags), 1, SHIM_STAYS, END(fd, "", SHIM_FD), , AS_ASKED) \
	X(fremovexattr, removexattr, (int fd, const char *name), (fd, name), \
	  1, SHIM_STAYS, END(fd, "", SHIM_FD), , AS_ASKED)

#define SHIM_OPEN_CALLS(X) \
	X(open) X(open64) X(__open) X(__open64) X(__open_2) X(__open64_2) \
	X(openat) X(openat64) X(__openat_2) X(__openat64_2) X(openat2) X(creat) X(creat64)
#define SHIM_STDIO_CALLS(X) \
	X(fopen) X(fopen64) X(_IO_fopen) X(freopen) X(freopen64) X(tmpfile) X(tmpfile64) X(opendir) \
	X(scandir) X(scandir64) X(scandirat) X(scandirat64) X(glob) X(glob64) \
	X(updwtmp) X(updwtmpx)
#define SHIM_TEMP_CALLS(X) \
	X(mkstemp) X(mkstemp64) X(mkostemp) X(mkostemp64) X(mkstemps) X(mkstemps64) \
	X(mkostemps) X(mkostemps64) X(mkdtemp)
#define SHIM_ACCESS_CALLS(X) X(access) X(faccessat) X(euidaccess) X(eaccess)
/* Objects whose names the library turns into paths; sockets. */
#define SHIM_NAME_CALLS(X) \
	X(shm_open) X(shm_unlink) X(sem_open) X(sem_unlink) X(mq_open) X(__mq_open_2) \
	X(mq_unlink) X(bind) X(connect)
#define SHIM_EXEC_CALLS(X) \
	X(execve) X(execv) X(execvp) X(execvpe) X(execl) X(execle) X(execlp) X(execveat) \
	X(fexecve) X(posix_spawn) X(posix_spawnp) \
	X(posix_spawn_file_actions_init) X(posix_spawn_file_actions_destroy) \
	X(posix_spawn_file_actions_addopen) X(posix_spawn_file_actions_adddup2) \
	X(posix_spawn_file_actions_addchdir_np) \
	X(posix_spawn_file_actions_addfchdir_np) X(system) X(popen) X(_IO_popen) X(wordexp)
/* Calls after which what we remember of the process (directories, filters) may be wrong. */
#define SHIM_CONTEXT_CALLS(X) \
	SHIM_CONTEXT_CALLS32(X) \
	X(chdir) X(fchdir) X(chroot) X(unshare) X(setns) X(mount) X(umount) X(umount2) \
	X(clone) X(__clone) X(daemon) X(close) X(__close) X(close_range) X(closefrom) X(closedir) X(fclose) \
	X(dup) X(dup2) X(__dup2) X(dup3) X(fcntl) X(fcntl64) X(__fcntl) X(recvmsg) X(recvmmsg) \
	X(ftw) X(ftw64) X(nftw) X(nftw64) X(fts_open) X(fts64_open) X(prctl) X(syscall) \
	X(dlopen) X(dlmopen)
/* Calls that end the process without the C library's handlers. */
#define SHIM_END_CALLS(X) X(_exit) X(_Exit)
/* Calls that are helped where the floor, by itself, would make them fail. */
#define SHIM_HELPED_CALLS(X) X(getcwd) X(__getcwd_chk) X(get_current_dir_name) X(socketpair)
#define SHIM_OTHER_CALLS(X) \
	SHIM_OPEN_CALLS(X) SHIM_STDIO_CALLS(X) SHIM_TEMP_CALLS(X) SHIM_ACCESS_CALLS(X) \
	SHIM_NAME_CALLS(X) SHIM_EXEC_CALLS(X) SHIM_CONTEXT_CALLS(X) SHIM_END_CALLS(X) SHIM_HELPED_CALLS(X)

/* Every exported name, as the first argument of X. */
#define SHIM_EXPORTS(X) \
	SHIM_PATH_CALLS(X) SHIM_READ_CALLS(X) SHIM_QUERY_CALLS(X) SHIM_OTHER_CALLS(X)

#define SHIM_BORROWED(X) \
	X(fdopen) X(fdopendir) X(dirfd) X(fileno) X(readdir) X(readdir64) X(malloc)
/* clang-format on */
