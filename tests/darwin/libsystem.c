/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsystem.c - macOS's C library for the loader: where numbers and layouts are the same the host's
 * own function, else one that translates. Written against the headers of Linux; the numbers of
 * macOS are those of launcher/macos/sdk/darwin.h.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/darwin/libsystem.h"
#include "tests/darwin/load.h"

const char *libsystem_self, *libsystem_loader, *libsystem_library = "";

/* ---- errno ---- */

static const struct {
	int host, darwin;
} errors[] = {{EAGAIN, 35},    {EDEADLK, 11}, {ENAMETOOLONG, 63}, {ELOOP, 62},
	      {ENOTEMPTY, 66}, {ENOSYS, 78},  {EOVERFLOW, 84},	  {EOPNOTSUPP, 102}};

int libsystem_error(int e)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].host == e)
			return errors[i].darwin;
	return e; /* 1 to 34 are the same */
}

static int to_host(int e)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].darwin == e)
			return errors[i].host;
	return e;
}

/* What a host function left is taken over, once. */
int *libsystem_errno(void)
{
	static int theirs;

	if (errno) {
		theirs = libsystem_error(errno);
		errno = 0;
	}
	return &theirs;
}

static char *d_strerror(int e)
{
	return strerror(to_host(e));
}

/* ---- files ---- */

static int host_at(int at)
{
	return at == -2 ? AT_FDCWD : at;
}

static int host_at_flags(int flags)
{
	return (flags & 0x10 ? AT_EACCESS : 0) | (flags & 0x20 ? AT_SYMLINK_NOFOLLOW : 0) |
	       (flags & 0x40 ? AT_SYMLINK_FOLLOW : 0) | (flags & 0x80 ? AT_REMOVEDIR : 0);
}

struct d_stat {
	int32_t dev;
	uint16_t mode, nlink;
	uint64_t ino;
	uint32_t uid, gid;
	int32_t rdev;
	struct timespec atim, mtim, ctim, btim;
	int64_t size, blocks;
	int32_t blksize;
	uint32_t flags, gen;
	int32_t lspare;
	int64_t qspare[2];
};
_Static_assert(sizeof(struct d_stat) == 144, "struct stat of macOS");

static int put_stat(int rc, const struct stat *st, struct d_stat *out)
{
	if (rc == 0)
		*out = (struct d_stat){.dev = (int32_t)st->st_dev,
				       .mode = (uint16_t)st->st_mode,
				       .nlink = (uint16_t)st->st_nlink,
				       .ino = st->st_ino,
				       .uid = st->st_uid,
				       .gid = st->st_gid,
				       .atim = st->st_atim,
				       .mtim = st->st_mtim,
				       .ctim = st->st_ctim,
				       .size = st->st_size,
				       .blocks = st->st_blocks,
				       .blksize = (int32_t)st->st_blksize};
	return rc;
}

static const char *there(const char *path)
{
	return path && strcmp(path, SANDBOX_EXEC) == 0 && !getenv("FAKE_NO_SANDBOX_EXEC")
		       ? libsystem_loader
		       : path;
}

static int d_stat(const char *path, struct d_stat *out)
{
	struct stat st;

	return put_stat(stat(there(path), &st), &st, out);
}

static int d_lstat(const char *path, struct d_stat *out)
{
	struct stat st;

	return put_stat(lstat(path, &st), &st, out);
}

static int d_fstat(int fd, struct d_stat *out)
{
	struct stat st;

	return put_stat(fstat(fd, &st), &st, out);
}

static int d_fstatat(int at, const char *path, struct d_stat *out, int flags)
{
	struct stat st;

	return put_stat(fstatat(host_at(at), path, &st, host_at_flags(flags)), &st, out);
}

static int d_access(const char *path, int mode)
{
	return access(there(path), mode);
}

static int d_faccessat(int at, const char *path, int mode, int flags)
{
	return faccessat(host_at(at), path, mode, host_at_flags(flags));
}
static int d_fchmodat(int at, const char *path, uint16_t mode, int flags)
{
	return fchmodat(host_at(at), path, mode, host_at_flags(flags));
}
static int d_fchownat(int at, const char *path, uint32_t uid, uint32_t gid, int flags)
{
	return fchownat(host_at(at), path, uid, gid, host_at_flags(flags));
}
static int d_linkat(int d1, const char *from, int d2, const char *to, int flags)
{
	return linkat(host_at(d1), from, host_at(d2), to, host_at_flags(flags));
}
static int d_mkdirat(int at, const char *path, uint16_t mode)
{
	return mkdirat(host_at(at), path, mode);
}
static int d_mkfifoat(int at, const char *path, uint16_t mode)
{
	return mkfifoat(host_at(at), path, mode);
}
static int d_mknodat(int at, const char *path, uint16_t mode, int32_t dev)
{
	return mknodat(host_at(at), path, mode, (dev_t)dev);
}
static int d_renameat(int d1, const char *from, int d2, const char *to)
{
	return renameat(host_at(d1), from, host_at(d2), to);
}
static int d_renameatx(int d1, const char *from, int d2, const char *to, unsigned flags)
{
	return renameat2(host_at(d1), from, host_at(d2), to,
			 (flags & 2 ? RENAME_EXCHANGE : 0) | (flags & 4 ? RENAME_NOREPLACE : 0));
}
static int d_symlinkat(const char *target, int at, const char *path)
{
	return symlinkat(target, host_at(at), path);
}
static int d_unlinkat(int at, const char *path, int flags)
{
	return unlinkat(host_at(at), path, host_at_flags(flags));
}
static int d_utimensat(int at, const char *path, const struct timespec times[2], int flags)
{
	return utimensat(host_at(at), path, times, host_at_flags(flags));
}

/* ---- directories ---- */

struct d_dirent {
	uint64_t ino, seek;
	uint16_t reclen, namlen;
	uint8_t type;
	char name[1024];
};

static struct d_dirent *d_readdir(DIR *dir)
{
	static struct d_dirent out;
	const struct dirent *e = readdir(dir);

	if (!e)
		return NULL;
	out = (struct d_dirent){.ino = e->d_ino, .type = e->d_type};
	out.namlen = (uint16_t)strlen(strcpy(out.name, e->d_name));
	return &out;
}

/* ---- memory ---- */

static void *d_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	int host = (flags & 1 ? MAP_SHARED : 0) | (flags & 2 ? MAP_PRIVATE : 0) |
		   (flags & 0x10 ? MAP_FIXED : 0) | (flags & 0x1000 ? MAP_ANONYMOUS : 0);

	return mmap(at, size, prot, host, fd, offset);
}

static void d_pattern(void *to, const void *pattern, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = ((const char *)pattern)[i % 16];
}

/* ---- the rest ---- */

static int d_clock(int id, struct timespec *out)
{
	return clock_gettime(id == 6 ? CLOCK_MONOTONIC : CLOCK_REALTIME, out);
}

static long d_sysconf(int name)
{
	return sysconf(name == 5 ? _SC_OPEN_MAX : name == 29 ? _SC_PAGESIZE : _SC_NPROCESSORS_ONLN);
}

struct d_passwd {
	char *name, *passwd;
	uint32_t uid, gid;
	long change;
	char *class, *gecos, *dir, *shell;
	long expire;
};

static struct d_passwd *d_getpwuid(uint32_t uid)
{
	static struct d_passwd out;
	const struct passwd *pw = getpwuid(uid);

	if (!pw)
		return NULL;
	out = (struct d_passwd){
		.name = pw->pw_name, .uid = uid, .gid = pw->pw_gid, .dir = pw->pw_dir};
	return &out;
}

static int d_executable(char *path, uint32_t *size)
{
	if (strlen(libsystem_self) >= *size)
		return -1;
	strcpy(path, libsystem_self);
	return 0;
}

static int d_sysctl(const char *name, void *out, size_t *size, void *new, size_t n)
{
	(void)new, (void)n;
	if (strcmp(name, "kern.osproductversion") != 0 || *size < 5)
		return errno = ENOENT, -1;
	*size = (size_t)snprintf(out, *size, "14.4") + 1;
	return 0;
}

static int d_check(pid_t pid, const char *operation, int type, ...)
{
	(void)pid, (void)operation, (void)type;
	return getenv("FAKE_INSIDE") != NULL;
}

static int d_init(const char *text, uint64_t flags, const char *const *params, char **error)
{
	char *words[] = {(char *)(uintptr_t) "sandbox_init_with_parameters", NULL};

	(void)flags;
	log_arguments(words);
	log_arguments((char *const *)(uintptr_t)params);
	if (getenv("FAKE_INIT_FAILS")) {
		*error = (char *)(uintptr_t) "line 1: made up";
		return -1;
	}
	return strncmp(text, "(version 1)", 11) == 0 ? 0 : -1;
}

static void *d_dlsym(void *handle, const char *name)
{
	char symbol[80];

	(void)handle;
	snprintf(symbol, sizeof symbol, "_%s", name);
	return libsystem_find(symbol);
}

struct d_dl_info {
	const char *file;
	void *base;
	const char *symbol;
	void *address;
};

static int d_dladdr(const void *address, struct d_dl_info *out)
{
	*out = (struct d_dl_info){.file = libsystem_library, .address = (void *)(uintptr_t)address};
	return 1;
}

static int d_issetugid(void)
{
	return 0;
}

static char ***d_environ(void)
{
	return &environ;
}

static _Noreturn void d_smashed(void)
{
	fputs("load: the stack was smashed\n", stderr);
	abort();
}

static uintptr_t guard = 0x5eed5eed5eed5eed;

static const struct libsystem_name own[] = {
	OWN("__error", libsystem_errno),
	OWN("strerror", d_strerror),
	OWN("stat", d_stat), /* arm64 has these names, x86_64 the others */
	OWN("lstat", d_lstat),
	OWN("fstat", d_fstat),
	OWN("fstatat", d_fstatat),
	OWN("readdir", d_readdir),
	OWN("stat$INODE64", d_stat),
	OWN("lstat$INODE64", d_lstat),
	OWN("fstat$INODE64", d_fstat),
	OWN("fstatat$INODE64", d_fstatat),
	OWN("access", d_access),
	OWN("faccessat", d_faccessat),
	OWN("fchmodat", d_fchmodat),
	OWN("fchownat", d_fchownat),
	OWN("linkat", d_linkat),
	OWN("mkdirat", d_mkdirat),
	OWN("mkfifoat", d_mkfifoat),
	OWN("mknodat", d_mknodat),
	OWN("renameat", d_renameat),
	OWN("renameatx_np", d_renameatx),
	OWN("symlinkat", d_symlinkat),
	OWN("unlinkat", d_unlinkat),
	OWN("utimensat", d_utimensat),
	OWN("opendir$INODE64", opendir),
	OWN("fdopendir$INODE64", fdopendir),
	OWN("readdir$INODE64", d_readdir),
	OWN("rewinddir$INODE64", rewinddir),
	OWN("mmap", d_mmap),
	OWN("memset_pattern16", d_pattern),
	OWN("__bzero", bzero),
	OWN("bzero", bzero),
	OWN("sigaction", d_sigaction),
	OWN("signal", d_signal),
	OWN("sigprocmask", d_sigprocmask),
	OWN("kill", d_kill),
	OWN("raise", d_raise),
	OWN("waitpid", d_waitpid),
	OWN("execve", d_execve),
	OWN("execv", d_execv),
	OWN("posix_spawn", d_spawn),
	OWN("posix_spawnp", d_spawnp),
	OWN("proc_listallpids", d_listallpids),
	OWN("proc_pidinfo", d_pidinfo),
	OWN("clock_gettime", d_clock),
	OWN("sysconf", d_sysconf),
	OWN("getpwuid", d_getpwuid),
	OWN("sysctlbyname", d_sysctl),
	OWN("sandbox_check", d_check),
	OWN("sandbox_init_with_parameters", d_init),
	OWN("dlsym", d_dlsym),
	OWN("dladdr", d_dladdr),
	OWN("issetugid", d_issetugid),
	OWN("_NSGetEnviron", d_environ),
	OWN("_NSGetExecutablePath", d_executable),
	OWN("fopen$DARWIN_EXTSN", fopen),
	OWN("__stack_chk_fail", d_smashed),
	OWN("__stack_chk_guard", guard),
	OWN("dyld_stub_binder", d_smashed),
};

void *libsystem_find(const char *symbol)
{
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strcmp(own[i].symbol, symbol) == 0)
			return own[i].address;
	for (const struct libsystem_name *p = libsystem_macos; p->symbol; p++)
		if (strcmp(p->symbol, symbol) == 0)
			return p->address;
	if (strcmp(symbol, "dyld_stub_binder") == 0)
		return (void *)(uintptr_t)&d_smashed;
	return dlsym(RTLD_DEFAULT, symbol + 1);
}
