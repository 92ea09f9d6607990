/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sys.h - system calls without a C library: results are the kernel's (-errno on failure),
 * errno is never touched. [AS-safe] [MT-safe]
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/openat2.h>

#include "core/ring.h"

#if defined(__x86_64__)
static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#elif defined(__i386__)
/* The sixth goes into the frame pointer, which no constraint names. */
static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
	long ret;

	__asm__ volatile("pushl %7\n"
			 "pushl %%ebp\n"
			 "movl 4(%%esp), %%ebp\n"
			 "int $0x80\n"
			 "popl %%ebp\n"
			 "addl $4, %%esp"
			 : "=a"(ret)
			 : "0"(n), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), "m"(f)
			 : "memory");
	return ret;
}
/* The present forms of calls that have older ones here. */
#undef SYS_mmap
#undef SYS_getuid
#undef SYS_getgid
#undef SYS_geteuid
#define SYS_mmap       SYS_mmap2 /* counts the offset in pages: always 0 here */
#define SYS_getuid     SYS_getuid32
#define SYS_getgid     SYS_getgid32
#define SYS_geteuid    SYS_geteuid32
#define SYS_newfstatat SYS_fstatat64
#undef SYS_fchown
#define SYS_fchown SYS_fchown32
#else
#error "shim/sys_linux.h: no system calls for this machine yet"
#endif

#define sys0(n)		       sys6(n, 0, 0, 0, 0, 0, 0)
#define sys1(n, a)	       sys6(n, (long)(a), 0, 0, 0, 0, 0)
#define sys2(n, a, b)	       sys6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define sys3(n, a, b, c)       sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys4(n, a, b, c, d)    sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys5(n, a, b, c, d, e) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* A directory's descriptor with a mark in its upper half (core/ring.h); where a register has none,
 * without. */
#if __SIZEOF_LONG__ == 8
#define SYS_CAN_MARK true
static inline long sys_mark(int fd)
{
	return (long)((uint64_t)SBX_MARK << 32 | (uint32_t)fd);
}
#else
#define SYS_CAN_MARK false
static inline long sys_mark(int fd)
{
	return fd;
}
#endif

static inline int sys_openat(int at, const char *path, int flags, unsigned mode)
{
	return (int)sys4(SYS_openat, at, path, flags, mode);
}

/*
 * Fails with -ELOOP when any component, the last included, is a symlink.
 *
 * openat2 hides its flags in memory, so that a floor with a broker cannot see which calls it
 * need not look at. Its filter knows a size of struct open_how that nobody else gives, 8 zero
 * bytes too long, as a promise to ask for no more than what the kernel's own rules decide: the
 * call does not go to the broker, and what these rules refuse is refused.
 */
#define SHIM_QUICK_HOW_SIZE 32u

static inline int sys_open_quickly(int at, const char *path, int flags, unsigned mode)
{
	struct {
		struct open_how how;
		uint64_t zero;
	} padded = {{.flags = (unsigned)flags, .mode = mode, .resolve = RESOLVE_NO_SYMLINKS}, 0};

	_Static_assert(sizeof padded == SHIM_QUICK_HOW_SIZE, "known to the filter of the broker");
	return (int)sys4(SYS_openat2, at, path, &padded, sizeof padded);
}

/* The same, and the floor may look at it as closely as it needs to. */
static inline int sys_open_fully(int at, const char *path, int flags, unsigned mode)
{
	struct open_how how = {
		.flags = (unsigned)flags, .mode = mode, .resolve = RESOLVE_NO_SYMLINKS};

	return (int)sys4(SYS_openat2, at, path, &how, sizeof how);
}

/* What reads is mostly the kernel's to decide, what writes mostly the broker's. */
static inline int sys_open_proven(int at, const char *path, int flags, unsigned mode)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
	int fd;

	if (writes && !(flags & O_PATH))
		return sys_open_fully(at, path, flags, mode);
	fd = sys_open_quickly(at, path, flags, mode);
	return fd == -EACCES ? sys_open_fully(at, path, flags, mode) : fd;
}

/* Does the descriptor stand for a name alone (O_PATH)? */
static inline bool sys_is_path_only(int fd)
{
	long flags = sys3(SYS_fcntl, fd, F_GETFL, 0);

	return flags >= 0 && flags & O_PATH;
}

/* Is there anything in the directory? Beside "." and ".." a third entry: each takes 24 bytes. */
static inline bool sys_holds_something(int at, const char *name)
{
	char room[512] __attribute__((aligned(8)));
	int fd = sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : sys3(SYS_getdents64, fd, room, sizeof room);

	if (fd >= 0)
		sys1(SYS_close, fd);
	return n > 48;
}

/* Whether the call itself is refused, and not its arguments. For this size the kernel and the
 * broker return EINVAL, whatever the path; a kernel without the call returns ENOSYS, and a foreign
 * filter EPERM.
 */
static inline bool sys_openat2_is_refused(void)
{
	struct open_how how = {0};
	long rc = sys4(SYS_openat2, AT_FDCWD, "/", &how, 0);

	return rc == -ENOSYS || rc == -EPERM;
}

static inline void sys_close(int fd)
{
	sys1(SYS_close, fd);
}

/* The analyser does not see that assembly fills memory. */
#ifdef __clang_analyzer__
#define SYS_FILLS(p, n) __builtin_memset(p, 0, n)
#else
#define SYS_FILLS(p, n) ((void)0)
#endif

#if defined(__i386__)
/* The kernel fills the 64-bit struct; of the other, numbers that do not fit lose their top. */
static inline int sys_stat_taken(int rc, const struct stat64 *from, struct stat *out)
{
	if (rc < 0)
		return rc;
	*out = (struct stat){.st_dev = from->st_dev,
			     .st_ino = (ino_t)from->st_ino,
			     .st_mode = from->st_mode,
			     .st_nlink = from->st_nlink,
			     .st_uid = from->st_uid,
			     .st_gid = from->st_gid,
			     .st_rdev = from->st_rdev,
			     .st_size = (off_t)from->st_size};
	return 0;
}
#define SYS_AS_STAT(nr, first, ...)                                                                \
	({                                                                                         \
		struct stat64 st_;                                                                 \
		sys_stat_taken((int)sys4(nr, first, __VA_ARGS__), &st_, out);                      \
	})
#endif

/* The last symlink is not followed; "" is the descriptor itself. */
static inline int sys_lstatat(int at, const char *name, struct stat *out)
{
	int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);

	SYS_FILLS(out, sizeof *out);
#if defined(__i386__)
	return SYS_AS_STAT(SYS_fstatat64, at, name, &st_, flags);
#else
	return (int)sys4(SYS_newfstatat, at, name, out, flags);
#endif
}

static inline int sys_fstat(int fd, struct stat *out)
{
	SYS_FILLS(out, sizeof *out);
#if defined(__i386__)
	return SYS_AS_STAT(SYS_fstat64, fd, &st_, 0, 0);
#else
	return (int)sys2(SYS_fstat, fd, out);
#endif
}

static inline long sys_readlinkat(int at, const char *path, char *buf, size_t size)
{
	SYS_FILLS(buf, size);
	return sys4(SYS_readlinkat, at, path, buf, size);
}

static inline long sys_pread(int fd, char *buf, size_t size, long offset)
{
	SYS_FILLS(buf, size);
#if defined(__i386__)
	return sys5(SYS_pread64, fd, buf, size, offset, 0);
#else
	return sys4(SYS_pread64, fd, buf, size, offset);
#endif
}

/* Length with the NUL. */
static inline long sys_getcwd(char *buf, size_t size)
{
	SYS_FILLS(buf, size);
	return sys2(SYS_getcwd, buf, size);
}

/* What the directory does to names, SBX_FOLDS_*; -1 = there is none. What cannot be asked does
 * everything. where.c */
int sys_folds(const char *dir);
