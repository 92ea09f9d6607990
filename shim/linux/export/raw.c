/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw.c - syscall(2): what a program asks by number is what it would have asked by name, and
 * goes to the wrapper of that name.
 *
 * The wrapper of syscall() ends in a jump: of clone() and vfork() made through it a child
 * returns, on another stack or on its parent's, and no frame of ours may lie there. A decoded
 * call jumps to one of the functions below, which have syscall()'s own arguments.
 */
#include "shim/linux/export/export.h"

#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/paths_check.h"
#include "shim/proc.h"
#include "shim/where.h"

#define SYS_fchmodat2_nr 452 /* Linux 6.6; newer than many headers */
#ifdef SYS_access
#define SYS_access_nr SYS_access
#else
#define SYS_access_nr (-1L) /* newer machines have faccessat alone */
#endif

#define PATH(x) ((const char *)(x))
#define INT(x)	((int)(x))

/* clang-format off */
/* number, the wrapper's call; a..f are the arguments. The kernel's own faccessat and fchmodat have
 * no flags. */
#define RAW_CALLS(X) \
	X(openat, openat(INT(a), PATH(b), INT(c), (mode_t)d)) \
	X(openat2, openat2(INT(a), PATH(b), (const struct open_how *)c, (size_t)d)) \
	X(renameat2, renameat2(INT(a), PATH(b), INT(c), PATH(d), (unsigned)e)) \
	X(linkat, linkat(INT(a), PATH(b), INT(c), PATH(d), INT(e))) \
	X(symlinkat, symlinkat(PATH(a), INT(b), PATH(c))) \
	X(unlinkat, unlinkat(INT(a), PATH(b), INT(c))) \
	X(mkdirat, mkdirat(INT(a), PATH(b), (mode_t)c)) \
	X(mknodat, mknodat(INT(a), PATH(b), (mode_t)c, (dev_t)d)) \
	X(truncate, truncate(PATH(a), (off_t)b)) \
	X(fchmod, fchmod(INT(a), (mode_t)b)) \
	X(fchmodat, fchmodat(INT(a), PATH(b), (mode_t)c, 0)) \
	X(fchown, fchown(INT(a), (uid_t)b, (gid_t)c)) \
	X(fchownat, fchownat(INT(a), PATH(b), (uid_t)c, (gid_t)d, INT(e))) \
	X(utimensat, b || d ? utimensat(INT(a), PATH(b), (const struct timespec *)c, INT(d)) \
			    : futimens(INT(a), (const struct timespec *)c)) \
	X(setxattr, setxattr(PATH(a), PATH(b), (const void *)c, (size_t)d, INT(e))) \
	X(lsetxattr, lsetxattr(PATH(a), PATH(b), (const void *)c, (size_t)d, INT(e))) \
	X(fsetxattr, fsetxattr(INT(a), PATH(b), (const void *)c, (size_t)d, INT(e))) \
	X(removexattr, removexattr(PATH(a), PATH(b))) \
	X(lremovexattr, lremovexattr(PATH(a), PATH(b))) \
	X(fremovexattr, fremovexattr(INT(a), PATH(b))) \
	X(getxattr, getxattr(PATH(a), PATH(b), (void *)c, (size_t)d)) \
	X(lgetxattr, lgetxattr(PATH(a), PATH(b), (void *)c, (size_t)d)) \
	X(fgetxattr, fgetxattr(INT(a), PATH(b), (void *)c, (size_t)d)) \
	X(flistxattr, flistxattr(INT(a), (char *)b, (size_t)c)) \
	X(inotify_add_watch, inotify_add_watch(INT(a), PATH(b), (uint32_t)c)) \
	X(mq_open, shim_mq_by_number(SYS_mq_open, PATH(a), INT(b), (mode_t)c, (const void *)d)) \
	X(mq_unlink, shim_mq_by_number(SYS_mq_unlink, PATH(a), 0, 0, NULL)) \
	X(listxattr, listxattr(PATH(a), (char *)b, (size_t)c)) \
	X(llistxattr, llistxattr(PATH(a), (char *)b, (size_t)c)) \
	X(execve, execve(PATH(a), (char *const *)b, (char *const *)c)) \
	X(execveat, execveat(INT(a), PATH(b), (char *const *)c, (char *const *)d, INT(e))) \
	X(bind, bind(INT(a), (const struct sockaddr *)b, (socklen_t)c)) \
	X(connect, connect(INT(a), (const struct sockaddr *)b, (socklen_t)c)) \
	X(chdir, chdir(PATH(a))) \
	X(fchdir, fchdir(INT(a)))
/* Of these the kernel's answer is asked for by number all the same. */
#define RAW_QUERIES(X) \
	X(newfstatat, fstatat, INT(a), PATH(b)) \
	X(statx, statx, INT(a), PATH(b)) \
	X(readlinkat, readlinkat, INT(a), PATH(b)) \
	X(statfs, statfs, AT_FDCWD, PATH(a)) \
	X(name_to_handle_at, name_to_handle_at, INT(a), PATH(b))
/* Calls of x86 that newer machines have no more. By the plain numbers of chown, 32-bit programs pass
 * identities of 16 bits. */
#if defined(__i386__)
#define RAW_CHOWN(X) \
	X(chown32, chown(PATH(a), (uid_t)b, (gid_t)c)) \
	X(lchown32, lchown(PATH(a), (uid_t)b, (gid_t)c)) \
	X(utimensat_time64, b || d ? __utimensat64(INT(a), PATH(b), (const void *)c, INT(d)) \
				   : __futimens64(INT(a), (const void *)c))
#define RAW_OLD_STATS(X) \
	X(stat64, stat, AT_FDCWD, PATH(a)) \
	X(lstat64, lstat, AT_FDCWD, PATH(a)) \
	X(statfs64, statfs, AT_FDCWD, PATH(a))
#else
#define RAW_CHOWN(X) \
	X(chown, chown(PATH(a), (uid_t)b, (gid_t)c)) \
	X(lchown, lchown(PATH(a), (uid_t)b, (gid_t)c))
#define RAW_OLD_STATS(X)
#endif
#if defined(__x86_64__) || defined(__i386__)
#define RAW_OLD_CALLS(X) \
	RAW_CHOWN(X) \
	X(open, open(PATH(a), INT(b), (mode_t)c)) \
	X(creat, creat(PATH(a), (mode_t)b)) \
	X(rename, rename(PATH(a), PATH(b))) \
	X(renameat, renameat(INT(a), PATH(b), INT(c), PATH(d))) \
	X(link, link(PATH(a), PATH(b))) \
	X(symlink, symlink(PATH(a), PATH(b))) \
	X(unlink, unlink(PATH(a))) \
	X(rmdir, rmdir(PATH(a))) \
	X(mkdir, mkdir(PATH(a), (mode_t)b)) \
	X(mknod, mknod(PATH(a), (mode_t)b, (dev_t)c)) \
	X(chmod, chmod(PATH(a), (mode_t)b)) \
	X(utime, utime(PATH(a), (const struct utimbuf *)b)) \
	X(utimes, utimes(PATH(a), (const struct timeval *)b)) \
	X(futimesat, futimesat(INT(a), PATH(b), (const struct timeval *)c))
#define RAW_OLD_QUERIES(X) \
	RAW_OLD_STATS(X) \
	X(stat, stat, AT_FDCWD, PATH(a)) \
	X(lstat, lstat, AT_FDCWD, PATH(a)) \
	X(readlink, readlink, AT_FDCWD, PATH(a))
#else
#define RAW_OLD_CALLS(X)
#define RAW_OLD_QUERIES(X)
#endif

#define ARGUMENTS long number, long a, long b, long c, long d, long e, long f
#define UNUSED	  (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f
/* clang-format on */

#define X(name, call)                                                                              \
	static long raw_##name(ARGUMENTS)                                                          \
	{                                                                                          \
		UNUSED;                                                                            \
		return call;                                                                       \
	}
RAW_CALLS(X)
RAW_OLD_CALLS(X)
#undef X

static long by_number(ARGUMENTS)
{
	return NEXT(syscall)(number, a, b, c, d, e, f);
}

/* What may give the program a number. Rarely asked for in this way: any of them is forgotten. */
static long raw_given(ARGUMENTS)
{
	long ret = by_number(number, a, b, c, d, e, f);

	shim_where_closed_all();
	return ret;
}

/* Most libraries have no name for fchmodat with all its flags yet. */
static long raw_fchmodat2(ARGUMENTS)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct shim_op op = {.call = SBX_CALL_fchmodat,
			     .op = SBX_MODIFY,
			     .nends = 1,
			     .end = {{.path = buf,
				      .dirfd = INT(a),
				      .asked = PATH(b),
				      .how = shim_how(INT(d)) | SHIM_JUDGE_ONLY}}};

	if (shim_begin(&op) == SHIM_REFUSE)
		return shim_end(&op, -1);
	return shim_end(&op, (int)by_number(number, a, b, c, d, e, f));
}

#define X(name, event, dirfd, path)                                                                \
	static long raw_##name(ARGUMENTS)                                                          \
	{                                                                                          \
		long ret = by_number(number, a, b, c, d, e, f);                                    \
		shim_query(SBX_CALL_##event, dirfd, path, ret < 0);                                \
		return ret;                                                                        \
	}
RAW_QUERIES(X)
RAW_OLD_QUERIES(X)
#undef X

/* SECCOMP_SET_MODE_STRICT, _FILTER; libseccomp asks what there is by a NULL filter. */
static bool brings_filter(long number, long what, long filter)
{
	if (number == SYS_prctl)
		return what == PR_SET_SECCOMP;
	return what == 0 || (what == 1 && filter);
}

/* A filter that the kernel rejected has no effect. */
static long raw_filter(ARGUMENTS)
{
	bool brings = brings_filter(number, a, c);
	long ret;

	if (brings)
		shim_filter_comes();
	ret = by_number(number, a, b, c, d, e, f);
	if (brings && ret < 0)
		shim_filter_failed();
	return ret;
}

/* access, faccessat, faccessat2: the kernel's own answer first, with the caller's real ids. */
static long asked(ARGUMENTS)
{
	bool is_at = number != SYS_access_nr;
	int dirfd = is_at ? INT(a) : AT_FDCWD, mode = is_at ? INT(c) : INT(b);
	const char *path = is_at ? PATH(b) : PATH(a);
	long ret = by_number(number, a, b, c, d, e, f);
	int saved = shim_get_errno(), denied = 0;

	if (ret == 0)
		denied = shim_access_denied(dirfd, path, mode,
					    number == SYS_faccessat2 ? INT(d) : 0);
	shim_set_errno(denied ? denied : saved);
	shim_query(SBX_CALL_faccessat, dirfd, path, ret < 0 || denied);
	return denied ? -1 : ret;
}

/* The function for a call that has one here; NULL: the library's. */
static void *decoded(long number)
{
	switch (number) {
#define X(name, call)                                                                              \
	case SYS_##name:                                                                           \
		return (void *)raw_##name;
		RAW_CALLS(X)
		RAW_OLD_CALLS(X)
#undef X
	case SYS_fchmodat2_nr:
		return (void *)raw_fchmodat2;
	case SYS_seccomp:
	case SYS_prctl:
		return (void *)raw_filter;
	case SYS_dup:
	case SYS_fcntl:
#ifdef SYS_fcntl64
	case SYS_fcntl64:
#endif
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_open_by_handle_at:
		return (void *)raw_given;
	case SYS_faccessat:
	case SYS_faccessat2:
	case SYS_access_nr:
		return (void *)asked;
	default:
		return NULL;
	}
}

/* Queries are recorded only at the audit level `all`. */
static void *decoded_query(long number)
{
	switch (number) {
#define X(name, event, dirfd, path)                                                                \
	case SYS_##name:                                                                           \
		return (void *)raw_##name;
		RAW_QUERIES(X)
		RAW_OLD_QUERIES(X)
#undef X
	default:
		return NULL;
	}
}

/* Updates the shim's state after a raw call. */
static void forget(long number, const long a[6])
{
	switch (number) {
	case SYS_seccomp:
	case SYS_prctl: /* once we are ready raw_filter() sees what comes of it */
		if (!shim_is_ready() && brings_filter(number, a[0], a[2]))
			shim_filter_comes();
		break;
	case SYS_close:
		shim_where_closed(INT(a[0]));
		break;
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
		shim_where_closed(INT(a[1]));
		break;
	case SYS_close_range:
		shim_where_closed_all();
		break;
	case SYS_clone:
		shim_clone_comes((unsigned long)a[0]);
		break;
	case SYS_clone3: /* struct clone_args begins with its flags */
		if (!shim_is_no_pointer((const void *)a[0]))
			shim_clone_comes(*(const uint64_t *)a[0]);
		break;
	case SYS_unshare: /* we do not come back after it */
	case SYS_setns:
	case SYS_chroot:
	case SYS_pivot_root:
	case SYS_mount:
	case SYS_umount2:
		shim_where_distrust();
		break;
	default:
		break;
	}
}

void *shim_before_raw(long number, const long a[6]);
void *shim_before_raw(long number, const long a[6])
{
	void *fn = NULL;

	forget(number, a);
	if (shim_is_ready() && !shim_has_filter()) {
		fn = decoded(number);
		if (!fn && shim.level == SBX_AUDIT_ALL)
			fn = decoded_query(number);
	}
	return fn ? fn : (void *)NEXT(syscall);
}
SHIM_THUNK(syscall, shim_before_raw);
