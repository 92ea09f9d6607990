/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsystem_macos.c - calls of macOS for the loader, see libsystem.c: those that are variadic
 * there, and those that Linux does not have. The latter fail with EOPNOTSUPP, which tells a test
 * that a call has come through; each is a function of its own, for replacements are found by
 * address.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/darwin/libsystem.h"
#include "tests/darwin/load.h"

static const struct {
	int darwin, host;
} open_flags[] = {{0x4, O_NONBLOCK},	   {0x8, O_APPEND},
		  {0x100, O_NOFOLLOW},	   {0x200, O_CREAT},
		  {0x400, O_TRUNC},	   {0x800, O_EXCL},
		  {0x8000, O_PATH},	   {0x20000, O_NOCTTY},
		  {0x100000, O_DIRECTORY}, {0x200000, O_PATH | O_NOFOLLOW},
		  {0x1000000, O_CLOEXEC},  {0x40000000, O_PATH}};
enum { D_NOFOLLOW_ANY = 0x20000000, D_CREAT = 0x200, D_FDCWD = -2 };

static int host_flags(int flags)
{
	int out = flags & 3;

	for (size_t i = 0; i < sizeof open_flags / sizeof *open_flags; i++)
		if (flags & open_flags[i].darwin)
			out |= open_flags[i].host;
	return out;
}

static int darwin_flags(int flags)
{
	int out = flags & 3;

	for (size_t i = 0; i < 3; i++)
		if (flags & open_flags[i].host)
			out |= open_flags[i].darwin;
	return out;
}

static int host_at(int at)
{
	return at == D_FDCWD ? AT_FDCWD : at;
}

/* RESOLVE_NO_SYMLINKS by hand, for qemu's user mode, which has no openat2 before version 10. */
static int open_walking(int at, const char *path, const struct open_how *how)
{
	char prefix[4096];
	struct stat st;

	for (const char *p = path; how->resolve && *p; p++) {
		size_t n;

		p += strspn(p, "/");
		p += strcspn(p, "/");
		n = (size_t)(p - path);
		if (n >= sizeof prefix)
			return errno = ENAMETOOLONG, -1;
		memcpy(prefix, path, n);
		prefix[n] = '\0';
		if (n && fstatat(at, prefix, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
			return errno = ELOOP, -1;
		if (!*p)
			break;
	}
	return openat(at, path, (int)how->flags, how->mode);
}

static int do_open(int at, const char *path, int flags, unsigned mode)
{
	struct open_how how = {.flags = (unsigned)host_flags(flags), .mode = 0};
	long fd;

	if (flags & D_CREAT)
		how.mode = mode & 07777;
	if (flags & D_NOFOLLOW_ANY)
		how.resolve = RESOLVE_NO_SYMLINKS;
	fd = syscall(SYS_openat2, host_at(at), path, &how, sizeof how);
	return fd < 0 && errno == ENOSYS ? open_walking(host_at(at), path, &how) : (int)fd;
}

/*
 * The variadic ones. macOS on arm64 passes what stands for "..." on the stack, the functions here
 * look in the next register, as everybody else has it: a jump in between moves it over. So a mode
 * that is passed where macOS does not look shows.
 */
#ifdef __aarch64__
#define FROM_STACK(name, reg)                                                                      \
	__asm(".text\n.global stack_" #name "\n.type stack_" #name ", %function\n"                 \
	      "stack_" #name ":\n\tldr " reg ", [sp]\n\tb " #name "\n");                           \
	extern const char stack_##name[]
#define VARIADIC(name, fn)                                                                         \
	{                                                                                          \
		"_" name, (void *)(uintptr_t)stack_##fn                                            \
	}
#else
#define FROM_STACK(name, reg) _Static_assert(1, reg)
#define VARIADIC(name, fn)    OWN(name, fn)
#endif

int d_open(const char *path, int flags, unsigned mode);
int d_openat(int at, const char *path, int flags, unsigned mode);
int d_open_protected(const char *path, int flags, int class, int protect, unsigned mode);
int d_openat_protected(int at, const char *path, int flags, int class, int protect, unsigned mode);
int d_fcntl(int fd, int command, long arg);
FROM_STACK(d_open, "x2");
FROM_STACK(d_openat, "x3");
FROM_STACK(d_open_protected, "x4");
FROM_STACK(d_openat_protected, "x5");
FROM_STACK(d_fcntl, "x2");

int d_open(const char *path, int flags, unsigned mode)
{
	return do_open(D_FDCWD, path, flags, mode);
}

int d_openat(int at, const char *path, int flags, unsigned mode)
{
	return do_open(at, path, flags, mode);
}

enum { A_CLASS = 3 }; /* tests ask for no other */

int d_open_protected(const char *path, int flags, int class, int protect, unsigned mode)
{
	(void)protect;
	return class == A_CLASS ? do_open(D_FDCWD, path, flags, mode) : (errno = EINVAL, -1);
}

int d_openat_protected(int at, const char *path, int flags, int class, int protect, unsigned mode)
{
	(void)protect;
	return class == A_CLASS ? do_open(at, path, flags, mode) : (errno = EINVAL, -1);
}

static int d_creat(const char *path, uint16_t mode)
{
	return creat(path, mode);
}

static int getpath(int fd, char *out)
{
	char link[40];
	long n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, out, 1023);
	if (n <= 0 || *out != '/')
		return errno = EBADF, -1;
	out[n] = '\0';
	return 0;
}

int d_fcntl(int fd, int command, long arg)
{
	int n;

	switch (command) {
	case 3:
		n = fcntl(fd, F_GETFL);
		return n < 0 ? -1 : darwin_flags(n);
	case 4:
		return fcntl(fd, F_SETFL, host_flags((int)arg));
	case 50: /* F_GETPATH */
		return getpath(fd, (char *)arg);
	case 42: /* F_PREALLOCATE */
		n = posix_fallocate(fd, 0, ((const int64_t *)arg)[2]);
		return n ? (errno = n, -1) : 0;
	case 67:
		return fcntl(fd, F_DUPFD_CLOEXEC, (int)arg);
	case 0:
	case 1:
	case 2:
		return fcntl(fd, command, (int)arg);
	default:
		return errno = EINVAL, -1;
	}
}

/* ---- sockets: the length of an address is its first byte ---- */

struct d_sockaddr {
	uint8_t len, family;
	char path[104];
};

static socklen_t host_address(const struct d_sockaddr *a, struct sockaddr_un *out)
{
	*out = (struct sockaddr_un){.sun_family = a->family};
	snprintf(out->sun_path, sizeof out->sun_path, "%s", a->path);
	return sizeof *out;
}

static int d_connect(int fd, const struct d_sockaddr *a, uint32_t len)
{
	struct sockaddr_un un;

	(void)len;
	return connect(fd, (const void *)&un, host_address(a, &un));
}

static int d_connect_nocancel(int fd, const struct d_sockaddr *a, uint32_t len)
{
	return d_connect(fd, a, len);
}

static int d_bind(int fd, const struct d_sockaddr *a, uint32_t len)
{
	struct sockaddr_un un;

	(void)len;
	return bind(fd, (const void *)&un, host_address(a, &un));
}

struct d_endpoints {
	unsigned interface;
	const struct d_sockaddr *from;
	uint32_t from_len;
	const struct d_sockaddr *to;
	uint32_t to_len;
};

static int d_connectx(int fd, const struct d_endpoints *ends)
{
	return d_connect(fd, ends->to, ends->to_len);
}

/* ---- objects by number: that of the inode in the working directory ---- */

static int d_openbyid(const int32_t *volume, const uint32_t *object, int flags)
{
	char name[16];

	(void)volume;
	snprintf(name, sizeof name, "id-%u", *object);
	return do_open(D_FDCWD, name, flags, 0);
}

static FILE *d_popen_extsn(const char *command, const char *mode)
{
	return popen(command, mode);
}

static int d_execvP(const char *name, const char *search, char *const *argv)
{
	(void)search;
	return execvp(name, argv);
}

/* ---- there is nothing of the kind on Linux ---- */

#define REFUSED(X)                                                                                 \
	X(chflags)                                                                                 \
	X(lchflags)                                                                                \
	X(fchflags)                                                                                \
	X(clonefile)                                                                               \
	X(clonefileat)                                                                             \
	X(fclonefileat)                                                                            \
	X(exchangedata)                                                                            \
	X(renamex_np)                                                                              \
	X(setxattr)                                                                                \
	X(fsetxattr)                                                                               \
	X(removexattr)                                                                             \
	X(fremovexattr)                                                                            \
	X(setattrlist)                                                                             \
	X(setattrlistat)                                                                           \
	X(fsetattrlist)                                                                            \
	X(acl_set_file)                                                                            \
	X(acl_set_link_np)                                                                         \
	X(copyfile)                                                                                \
	X(undelete)                                                                                \
	X(fs_snapshot_create)                                                                      \
	X(lchmod)

#define X(name)                                                                                    \
	static __attribute__((noinline)) int refuse_##name(void)                                   \
	{                                                                                          \
		return errno = EOPNOTSUPP, -1;                                                     \
	}
REFUSED(X)
#undef X

const struct libsystem_name libsystem_macos[] = {
	VARIADIC("open", d_open),
	VARIADIC("open$NOCANCEL", d_open),
	VARIADIC("openat", d_openat),
	VARIADIC("openat$NOCANCEL", d_openat),
	VARIADIC("open_dprotected_np", d_open_protected),
	VARIADIC("openat_dprotected_np", d_openat_protected),
	VARIADIC("fcntl", d_fcntl),
	OWN("openbyid_np", d_openbyid),
	OWN("creat", d_creat),
	OWN("creat$NOCANCEL", d_creat),
	OWN("connect", d_connect),
	OWN("connect$NOCANCEL", d_connect_nocancel),
	OWN("connectx", d_connectx),
	OWN("bind", d_bind),
	OWN("popen$DARWIN_EXTSN", d_popen_extsn),
	OWN("execvP", d_execvP),
#define X(name) OWN(#name, refuse_##name),
	REFUSED(X)
#undef X
		{NULL, NULL},
};
