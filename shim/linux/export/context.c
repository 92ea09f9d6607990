/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - the exported wrappers of calls that change what the shim remembers: directories,
 * filters, descriptors. */
#include "shim/linux/export/export.h"

#include <dlfcn.h>
#include <fts.h>
#include <ftw.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/open.h"
#include "shim/proc.h"
#include "shim/where.h"

/* Calls that change what we remember: directories, filters (descriptors: context.c). They
 * are never refused here. In a vfork child they may only forget: its memory is its parent's. */

static int moved(int ret)
{
	if (ret == 0)
		shim_where_moved();
	return ret;
}

SHIM_EXPORT int chdir(const char *path)
{
	return moved(NEXT(chdir)(path));
}

SHIM_EXPORT int fchdir(int fd)
{
	return moved(NEXT(fchdir)(fd));
}

static int distrusted(int ret)
{
	shim_where_distrust();
	return ret;
}

SHIM_EXPORT int chroot(const char *path)
{
	return distrusted(NEXT(chroot)(path));
}

/* CLONE_FS, CLONE_FILES: from now on threads differ in what we take for the process's. */
SHIM_EXPORT int unshare(int flags)
{
	return distrusted(NEXT(unshare)(flags));
}

SHIM_EXPORT int setns(int fd, int type)
{
	return distrusted(NEXT(setns)(fd, type));
}

/* Paths mean other files now. */
SHIM_EXPORT int mount(const char *source, const char *target, const char *type, unsigned long flags,
		      const void *data)
{
	return distrusted(NEXT(mount)(source, target, type, flags, data));
}

SHIM_EXPORT int umount(const char *target)
{
	return distrusted(NEXT(umount)(target));
}

SHIM_EXPORT int umount2(const char *target, int flags)
{
	return distrusted(NEXT(umount2)(target, flags));
}

/* Our notes lie in memory and speak of a directory and of descriptors: a thread shares all three, a
 * child of fork() none. Who shares some makes them wrong. A child of vfork() runs while its parent
 * waits, and only forgets. */
void shim_clone_comes(uint64_t flags)
{
	uint64_t all = CLONE_VM | CLONE_FS | CLONE_FILES, shared = flags & all;

	if (shared && shared != all && !(shared == CLONE_VM && flags & CLONE_VFORK))
		shim_where_distrust();
}

/* The child begins in `fn` on a stack of its own, so that no frame of this one is in its way.
 * fork() and vfork() need no wrapper (shim/proc.h). */
#define CLONE(name)                                                                                \
	SHIM_EXPORT int name(int (*fn)(void *), void *stack, int flags, void *arg, ...)            \
	{                                                                                          \
		pid_t *parent_tid, *child_tid;                                                     \
		void *tls;                                                                         \
		va_list ap;                                                                        \
		va_start(ap, arg);                                                                 \
		parent_tid = va_arg(ap, pid_t *);                                                  \
		tls = va_arg(ap, void *);                                                          \
		child_tid = va_arg(ap, pid_t *);                                                   \
		va_end(ap);                                                                        \
		shim_clone_comes((unsigned)flags);                                                 \
		return NEXT(clone)(fn, stack, flags, arg, parent_tid, tls, child_tid);             \
	}
CLONE(clone)
CLONE(__clone)

SHIM_EXPORT int daemon(int keep_dir, int keep_fds)
{
	return moved(NEXT(daemon)(keep_dir, keep_fds));
}

/* ---- walks inside the C library ---- */

/* The library opens and lists what lies below by itself: of a walk the root is judged and told,
 * the floor judges the rest. A walk that changes directory ends our remembering. */
static __attribute__((noinline)) bool may_walk(unsigned call, const char *path)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct shim_asked a = {
		.call = call, .dirfd = AT_FDCWD, .path = path, .flags = O_RDONLY, .buf = buf};
	int ret, fd = -1;

	if (shim_is_ready() && !shim_has_filter() && !shim_is_no_pointer(path))
		fd = sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0) /* a file is looked at, not read */
		return true;
	sys_close(fd);
	ret = shim_may_open(&a);
	if (ret < 0) {
		shim_result(ret);
		return false;
	}
	shim_opened(&a, 0);
	return true;
}

#define FTW(name, fn_type)                                                                         \
	SHIM_EXPORT int name(const char *path, fn_type fn, int fds)                                \
	{                                                                                          \
		return may_walk(SBX_CALL_ftw, path) ? NEXT(name)(path, fn, fds) : -1;              \
	}
FTW(ftw, __ftw_func_t)
FTW(ftw64, __ftw64_func_t)

#define NFTW(name, fn_type)                                                                        \
	SHIM_EXPORT int name(const char *path, fn_type fn, int fds, int flags)                     \
	{                                                                                          \
		if (flags & FTW_CHDIR)                                                             \
			shim_where_distrust();                                                     \
		return may_walk(SBX_CALL_ftw, path) ? NEXT(name)(path, fn, fds, flags) : -1;       \
	}
NFTW(nftw, __nftw_func_t)
NFTW(nftw64, __nftw64_func_t)

static bool may_walk_all(char *const *paths)
{
	for (; !shim_is_no_pointer(paths) && *paths; paths++)
		if (!may_walk(SBX_CALL_fts_open, *paths))
			return false;
	return true;
}

#define FTS_OPEN(name, fts_type, entry)                                                            \
	SHIM_EXPORT fts_type *name(char *const *paths, int options,                                \
				   int (*compare)(const entry **, const entry **))                 \
	{                                                                                          \
		if (!(options & FTS_NOCHDIR))                                                      \
			shim_where_distrust();                                                     \
		return may_walk_all(paths) ? NEXT(name)(paths, options, compare) : NULL;           \
	}
FTS_OPEN(fts_open, FTS, FTSENT)
FTS_OPEN(fts64_open, FTS64, FTSENT64)

/* ---- filters ---- */

/* Before the call: with the filter in force it may be too late for one more of our own. */
void shim_filter_comes(void)
{
	if (shim_is_ready()) {
		shim_life();
		shim_where_fill();
	}
	atomic_store(&shim.has_own_filter, true);
}

void shim_filter_failed(void)
{
	atomic_store(&shim.has_own_filter, false);
}

#define PRCTL(name)                                                                                \
	SHIM_EXPORT int name(int option, ...)                                                      \
	{                                                                                          \
		unsigned long a[4];                                                                \
		bool had_filter;                                                                   \
		va_list ap;                                                                        \
		int i, ret;                                                                        \
		va_start(ap, option);                                                              \
		for (i = 0; i < 4; i++)                                                            \
			a[i] = va_arg(ap, unsigned long);                                          \
		va_end(ap);                                                                        \
		if (option != PR_SET_SECCOMP)                                                      \
			return NEXT(name)(option, a[0], a[1], a[2], a[3]);                         \
		had_filter = shim_has_filter();                                                    \
		shim_filter_comes();                                                               \
		ret = NEXT(name)(option, a[0], a[1], a[2], a[3]);                                  \
		if (ret < 0 && !had_filter)                                                        \
			shim_filter_failed();                                                      \
		return ret;                                                                        \
	}
PRCTL(prctl)
#if __SIZEOF_LONG__ == 4
PRCTL(__prctl_time64)
#endif

/* ---- libraries the program loads ---- */

static void tell_loss(enum sbx_loss why, const char *what)
{
	struct shim_told t = {.op = SBX_READ, .flags = SBX_EVF_ALLOWED, .aux = why};
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);

	if (!shim_is_ready())
		return;
	t.call = why == SBX_LOSS_DLMOPEN ? SBX_CALL_dlmopen : SBX_CALL_dlopen;
	t.path = buf;
	if (!shim_is_no_pointer(what) && *what == '/')
		t.len = shim_text(buf, AT_FDCWD, what).len;
	else if (!shim_is_no_pointer(what))
		shim_append(buf, SBX_PATH_MAX, &t.len, what, strlen(what));
	shim_tell_exec(SBX_EV_LOSS, &t, 0);
}

/* dlsym(3) on such a handle returns the C library's own functions. Opening it is reported in any
 * case, because the shim cannot see how the handle is used. */
static bool is_libc(const char *path)
{
	const char *name = shim_basename(path);

	return shim_has_prefix(name, "libc.so") || shim_has_prefix(name, "libc.musl-");
}

/* The loader looks in the run path of whoever called, which it finds by the return address. */
void *shim_before_dlopen(const char *path, const long a[6]);
void *shim_before_dlopen(const char *path, const long a[6])
{
	if (path && (int)a[0] & RTLD_DEEPBIND)
		tell_loss(SBX_LOSS_DEEPBIND, path);
	else if (!shim_is_no_pointer(path) && is_libc(path))
		tell_loss(SBX_LOSS_HANDLE, path);
	return (void *)NEXT(dlopen);
}
SHIM_THUNK(dlopen, shim_before_dlopen);

void *shim_before_dlmopen(long space, const long a[6]);
void *shim_before_dlmopen(long space, const long a[6])
{
	if (space != LM_ID_BASE)
		tell_loss(SBX_LOSS_DLMOPEN, (const char *)a[0]);
	else if ((int)a[1] & RTLD_DEEPBIND)
		tell_loss(SBX_LOSS_DEEPBIND, (const char *)a[0]);
	return (void *)NEXT(dlmopen);
}
SHIM_THUNK(dlmopen, shim_before_dlmopen);

/* Calls that close descriptors, or give the program new ones for what is open already:
 * what we remember of a number must not outlive them. In a vfork child, whose memory is its
 * parent's, forgetting is all that is done. What no directory can come from (socket(2), pipe(2)) is
 * not here: the kernel resolves no path beneath it. */

/* Forgotten before: once it is closed another thread may get the number. */
SHIM_EXPORT int close(int fd)
{
	shim_where_closed(fd);
	return NEXT(close)(fd);
}

SHIM_EXPORT int __close(int fd)
{
	shim_where_closed(fd);
	return NEXT(__close)(fd);
}

/* The library itself closes the descriptor of a stream. */
SHIM_EXPORT int fclose(FILE *f)
{
	int saved = shim_get_errno();

	if (!shim_is_no_pointer(f))
		shim_where_closed(NEXT(fileno)(f));
	shim_set_errno(saved); /* there are streams without a number */
	return NEXT(fclose)(f);
}

SHIM_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (flags & (int)CLOSE_RANGE_UNSHARE)
		shim_where_distrust();
	else
		shim_where_closed_all();
	return NEXT(close_range)(first, last, flags);
}

SHIM_EXPORT void closefrom(int first)
{
	shim_where_closed_all();
	NEXT(closefrom)(first);
}

SHIM_EXPORT int closedir(DIR *d)
{
	if (!shim_is_no_pointer(d))
		shim_where_closed(NEXT(dirfd)(d));
	return NEXT(closedir)(d);
}

/* Forgotten after: until then another thread may use the number for what it was, and what it
 * learns of it must not outlive the change. */
static int replaced(int fd, int ret)
{
	shim_where_closed(fd);
	return ret;
}

SHIM_EXPORT int dup2(int from, int to)
{
	return replaced(to, NEXT(dup2)(from, to));
}

SHIM_EXPORT int dup3(int from, int to, int flags)
{
	return replaced(to, NEXT(dup3)(from, to, flags));
}

SHIM_EXPORT int __dup2(int from, int to)
{
	return replaced(to, NEXT(__dup2)(from, to));
}

SHIM_EXPORT int dup(int fd)
{
	return shim_where_given(NEXT(dup)(fd));
}

/* The third argument is passed on whatever it is: the command says whether it is one. */
#define FCNTL(name)                                                                                \
	SHIM_EXPORT int name(int fd, int command, ...)                                             \
	{                                                                                          \
		void *arg;                                                                         \
		va_list ap;                                                                        \
		int ret;                                                                           \
		va_start(ap, command);                                                             \
		arg = va_arg(ap, void *);                                                          \
		va_end(ap);                                                                        \
		ret = NEXT(name)(fd, command, arg);                                                \
		return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? shim_where_given(ret)    \
									: ret;                     \
	}
FCNTL(fcntl)
FCNTL(fcntl64)
FCNTL(__fcntl)
#if __SIZEOF_LONG__ == 4
FCNTL(__fcntl_time64)
#endif

/* ---- descriptors that arrive ---- */

/* Rare: not worth looking for the numbers. */
static void arrived(const struct msghdr *m)
{
	const struct cmsghdr *c = m->msg_control;
	size_t left = m->msg_controllen;

	while (left >= sizeof *c && c->cmsg_len >= sizeof *c) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			shim_where_closed_all();
		if (CMSG_ALIGN(c->cmsg_len) >= left)
			return;
		left -= CMSG_ALIGN(c->cmsg_len);
		c = (const void *)((const char *)c + CMSG_ALIGN(c->cmsg_len));
	}
}

#define RECVMSG(name)                                                                              \
	SHIM_EXPORT ssize_t name(int fd, struct msghdr *m, int flags)                              \
	{                                                                                          \
		ssize_t ret = NEXT(name)(fd, m, flags);                                            \
		if (ret >= 0)                                                                      \
			arrived(m);                                                                \
		return ret;                                                                        \
	}
RECVMSG(recvmsg)

#define RECVMMSG(name)                                                                             \
	SHIM_EXPORT int name(int fd, struct mmsghdr *m, unsigned n, int flags,                     \
			     struct timespec *limit)                                               \
	{                                                                                          \
		int i, ret = NEXT(name)(fd, m, n, flags, limit);                                   \
		for (i = 0; i < ret; i++)                                                          \
			arrived(&m[i].msg_hdr);                                                    \
		return ret;                                                                        \
	}
RECVMMSG(recvmmsg)
#if __SIZEOF_LONG__ == 4
RECVMSG(__recvmsg64)
RECVMMSG(__recvmmsg64)
#endif
