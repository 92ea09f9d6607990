/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim_matrix - every name the shim exports for paths, called on an allowed and on a denied
 * object. TAP on stdout. DIR/ok is allowed, DIR/no denied for reading and modifying.
 *
 *	shim_matrix DIR
 *
 * An allowed call must succeed and leave errno alone, a denied one must fail with EACCES and
 * leave the object as it was. Objects are made and looked at by inline system calls, of which
 * the shim sees nothing. The line of a call names the event it must cause: "# event NAME"; a
 * question causes none but at its own level.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

int __open(const char *, int, ...);
int __open64(const char *, int, ...);
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
int __mq_open_2(const char *, int);
int __xmknod(int, const char *, mode_t, dev_t *);
int __xmknodat(int, int, const char *, mode_t, dev_t *);

enum need { NOTHING, A_FILE, A_DIR };

#ifdef __i386__
#define KNOD_VERSION 1
#else
#define KNOD_VERSION 0
#endif

/* `path` is absolute, `rel` the same below `dirfd`; `spare` is a free name beside it. */
struct where {
	const char *path, *rel, *spare, *rel_spare;
	int dirfd;
};

/* The objects of the test are made behind the shim's back. */
#if defined(__i386__)
static long raw(long number, long a, long b, long c, long d)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "0"(number), "b"(a), "c"(b), "d"(c), "S"(d)
			 : "memory");
	return ret;
}
#else
static long raw(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}
#endif

static int raw_openat(const char *path)
{
	return (int)raw(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
}

static void raw_close(int fd)
{
	raw(SYS_close, fd, 0, 0, 0);
}

static void wipe(const char *path)
{
	raw(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0);
	raw(SYS_unlinkat, AT_FDCWD, (long)path, AT_REMOVEDIR, 0);
}

static int done(int fd)
{
	if (fd >= 0)
		raw_close(fd);
	return fd < 0 ? -1 : 0;
}

static int closed(FILE *f)
{
	int err = errno;

	if (f)
		fclose(f);
	errno = err;
	return f ? 0 : -1;
}

/* What scandir() put into `list` stays allocated: the probe ends soon. */
static int listed(int n)
{
	return n < 0 ? -1 : 0;
}

static int temp_at(const struct where *w, int (*make)(char *))
{
	char name[4200];
	int rc, err;

	snprintf(name, sizeof name, "%s.XXXXXX", w->path);
	rc = make(name);
	err = errno;
	if (rc == 0)
		wipe(name);
	errno = err;
	return rc;
}

static int do_mkstemp(char *t)
{
	return done(mkstemp(t));
}
static int do_mkstemp64(char *t)
{
	return done(mkstemp64(t));
}
static int do_mkostemp(char *t)
{
	return done(mkostemp(t, O_CLOEXEC));
}
static int do_mkostemp64(char *t)
{
	return done(mkostemp64(t, O_CLOEXEC));
}
static int do_mkstemps(char *t)
{
	return done(mkstemps(t, 0));
}
static int do_mkstemps64(char *t)
{
	return done(mkstemps64(t, 0));
}
static int do_mkostemps(char *t)
{
	return done(mkostemps(t, 0, O_CLOEXEC));
}
static int do_mkostemps64(char *t)
{
	return done(mkostemps64(t, 0, O_CLOEXEC));
}
static int do_mkdtemp(char *t)
{
	return mkdtemp(t) ? 0 : -1;
}

/* A call on a descriptor nobody judged. */
#define by_fd(w, call)                                                                             \
	({                                                                                         \
		int fd = raw_openat((w)->path), rc_ = (call), e_ = errno;                          \
		raw_close(fd);                                                                     \
		errno = e_;                                                                        \
		rc_;                                                                               \
	})

/* Not every file system has attributes, and none is there to be read or removed: what counts is
 * whether the policy let the call through. */
static int attr(int rc)
{
	if (rc < 0 && (errno == ENOTSUP || errno == ENODATA)) {
		errno = 77;
		return 0;
	}
	return rc;
}

static int or_absent(int rc)
{
	if (rc < 0 && errno == ENOSYS)
		return 0;
	return rc;
}

static int watch(const char *path)
{
	int fd = inotify_init1(IN_CLOEXEC), rc = inotify_add_watch(fd, path, IN_CREATE),
	    err = errno;

	raw_close(fd);
	errno = err;
	return rc < 0 ? -1 : 0;
}

/* Relative: an address has no room for long paths. */
static int bound(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc, err;

	snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
	rc = bind(fd, (const struct sockaddr *)&un, sizeof un);
	err = errno;
	raw_close(fd);
	errno = err;
	return rc;
}

static int walked(const char *path, const struct stat *st, int type)
{
	(void)path, (void)st, (void)type;
	return 0;
}
static int walked64(const char *path, const struct stat64 *st, int type)
{
	(void)path, (void)st, (void)type;
	return 0;
}
static int nwalked(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)path, (void)st, (void)type, (void)f;
	return 0;
}
static int nwalked64(const char *path, const struct stat64 *st, int type, struct FTW *f)
{
	(void)path, (void)st, (void)type, (void)f;
	return 0;
}

static int add_open(const char *path)
{
	posix_spawn_file_actions_t actions;
	int rc;

	posix_spawn_file_actions_init(&actions);
	rc = posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		errno = rc;
	return rc ? -1 : 0;
}

/* What the directory contains is asked for: the pattern has no slash of its own to look up. */
static int globbed(const char *dir)
{
	char pattern[4200];
	glob_t g = {0};
	int rc, err;

	snprintf(pattern, sizeof pattern, "%s/*", dir);
	errno = 77;
	rc = glob(pattern, GLOB_ERR, NULL, &g);
	err = errno;
	globfree(&g);
	errno = rc == GLOB_ABORTED ? err : 77;
	return rc == GLOB_ABORTED ? -1 : 0;
}

static const struct timeval tv[2] = {{1, 0}, {2, 0}};
static const struct timespec ts[2] = {{1, 0}, {2, 0}};
static const struct utimbuf ut = {1, 2};
static dev_t no_dev;
static struct dirent **list;
static struct dirent64 **list64;

/* clang-format off */
/*      name, event, need, what is left behind, call; w = where */
#define ROWS(X)                                                                                 \
	X(open, open, A_FILE, A_FILE, done(open(w->path, O_RDONLY)))                            \
	X(open64, open, A_FILE, A_FILE, done(open64(w->path, O_RDWR)))                          \
	X(__open, open, A_FILE, A_FILE, done(__open(w->path, O_WRONLY | O_TRUNC)))              \
	X(__open64, open, NOTHING, A_FILE, done(__open64(w->path, O_WRONLY | O_CREAT, 0600)))   \
	X(__open_2, open, A_FILE, A_FILE, done(__open_2(w->path, O_RDONLY)))                    \
	X(__open64_2, open, A_FILE, A_FILE, done(__open64_2(w->path, O_RDONLY)))                \
	X(openat, openat, NOTHING, A_FILE,                                                      \
	  done(openat(w->dirfd, w->rel, O_RDWR | O_CREAT | O_EXCL, 0600)))                      \
	X(openat64, openat, A_FILE, A_FILE, done(openat64(w->dirfd, w->rel, O_RDONLY)))         \
	X(__openat_2, openat, A_FILE, A_FILE, done(__openat_2(w->dirfd, w->rel, O_RDONLY)))     \
	X(__openat64_2, openat, A_FILE, A_FILE, done(__openat64_2(w->dirfd, w->rel, O_WRONLY))) \
	X(creat, creat, NOTHING, A_FILE, done(creat(w->path, 0600)))                            \
	X(creat64, creat, A_FILE, A_FILE, done(creat64(w->path, 0600)))                         \
	X(fopen, fopen, A_FILE, A_FILE, closed(fopen(w->path, "re")))                           \
	X(fopen64, fopen, NOTHING, A_FILE, closed(fopen64(w->path, "we")))                      \
	X(freopen, freopen, A_FILE, A_FILE, closed(freopen(w->path, "r", fopen("/dev/null", "r")))) \
	X(freopen64, freopen, NOTHING, A_FILE,                                                  \
	  closed(freopen64(w->path, "a", fopen("/dev/null", "r"))))                             \
	X(opendir, opendir, A_DIR, A_DIR, ({                                                    \
		  DIR *d = opendir(w->path);                                                    \
		  int e_ = errno;                                                               \
		  if (d)                                                                        \
			  closedir(d);                                                          \
		  errno = e_;                                                                   \
		  d ? 0 : -1;                                                                   \
	  }))                                                                                   \
	X(scandir, scandir, A_DIR, A_DIR, listed(scandir(w->path, &list, NULL, NULL)))    \
	X(scandir64, scandir, A_DIR, A_DIR,                                                     \
	  listed(scandir64(w->path, &list64, NULL, NULL)))            \
	X(scandirat, scandirat, A_DIR, A_DIR,                                                   \
	  listed(scandirat(w->dirfd, w->rel, &list, NULL, NULL)))                         \
	X(scandirat64, scandirat, A_DIR, A_DIR,                                                 \
	  listed(scandirat64(w->dirfd, w->rel, &list64, NULL, NULL))) \
	X(rename, rename, A_FILE, NOTHING, rename(w->path, w->spare))                           \
	X(renameat, renameat, A_DIR, NOTHING, renameat(w->dirfd, w->rel, w->dirfd, w->rel_spare)) \
	X(renameat2, renameat2, A_FILE, NOTHING,                                                \
	  renameat2(w->dirfd, w->rel, AT_FDCWD, w->spare, RENAME_NOREPLACE))                    \
	X(link, link, A_FILE, A_FILE, link(w->path, w->spare))                                  \
	X(linkat, linkat, A_FILE, A_FILE, linkat(w->dirfd, w->rel, w->dirfd, w->rel_spare, 0))  \
	X(symlink, symlink, NOTHING, A_FILE, symlink("x", w->path))                             \
	X(symlinkat, symlinkat, NOTHING, A_FILE, symlinkat("x", w->dirfd, w->rel))              \
	X(unlink, unlink, A_FILE, NOTHING, unlink(w->path))                                     \
	X(unlinkat, unlinkat, A_FILE, NOTHING, unlinkat(w->dirfd, w->rel, 0))                   \
	X(rmdir, rmdir, A_DIR, NOTHING, rmdir(w->path))                                         \
	X(remove, remove, A_DIR, NOTHING, remove(w->path))                                      \
	X(mkdir, mkdir, NOTHING, A_DIR, mkdir(w->path, 0700))                                   \
	X(mkdirat, mkdirat, NOTHING, A_DIR, mkdirat(w->dirfd, w->rel, 0700))                    \
	X(mknod, mknod, NOTHING, A_FILE, mknod(w->path, S_IFREG | 0600, 0))                     \
	X(mknodat, mknodat, NOTHING, A_FILE, mknodat(w->dirfd, w->rel, S_IFIFO | 0600, 0))      \
	X(__xmknod, mknod, NOTHING, A_FILE, __xmknod(KNOD_VERSION, w->path, S_IFREG | 0600, &no_dev))      \
	X(__xmknodat, mknodat, NOTHING, A_FILE,                                                 \
	  __xmknodat(KNOD_VERSION, w->dirfd, w->rel, S_IFREG | 0600, &no_dev))                             \
	X(mkfifo, mkfifo, NOTHING, A_FILE, mkfifo(w->path, 0600))                               \
	X(mkfifoat, mkfifoat, NOTHING, A_FILE, mkfifoat(w->dirfd, w->rel, 0600))                \
	X(truncate, truncate, A_FILE, A_FILE, truncate(w->path, 0))                             \
	X(truncate64, truncate, A_FILE, A_FILE, truncate64(w->path, 0))                         \
	X(chmod, chmod, A_FILE, A_FILE, chmod(w->path, 0640))                                   \
	X(fchmodat, fchmodat, A_FILE, A_FILE, fchmodat(w->dirfd, w->rel, 0640, 0))              \
	X(lchmod, lchmod, A_FILE, A_FILE, lchmod(w->path, 0640))                                \
	X(chown, chown, A_FILE, A_FILE, chown(w->path, getuid(), (gid_t)-1))                    \
	X(lchown, lchown, A_FILE, A_FILE, lchown(w->path, getuid(), (gid_t)-1))                 \
	X(fchownat, fchownat, A_FILE, A_FILE,                                                   \
	  fchownat(w->dirfd, w->rel, getuid(), (gid_t)-1, AT_SYMLINK_NOFOLLOW))                 \
	X(utime, utime, A_FILE, A_FILE, utime(w->path, &ut))                                    \
	X(utimes, utimes, A_FILE, A_FILE, utimes(w->path, tv))                                  \
	X(lutimes, lutimes, A_FILE, A_FILE, lutimes(w->path, tv))                               \
	X(futimesat, futimesat, A_FILE, A_FILE, futimesat(w->dirfd, w->rel, tv))                \
	X(utimensat, utimensat, A_FILE, A_FILE, utimensat(w->dirfd, w->rel, ts, 0))             \
	X(mkstemp, mkstemp, NOTHING, NOTHING, temp_at(w, do_mkstemp))                           \
	X(mkstemp64, mkstemp, NOTHING, NOTHING, temp_at(w, do_mkstemp64))                       \
	X(mkostemp, mkstemp, NOTHING, NOTHING, temp_at(w, do_mkostemp))                         \
	X(mkostemp64, mkstemp, NOTHING, NOTHING, temp_at(w, do_mkostemp64))                     \
	X(mkstemps, mkstemp, NOTHING, NOTHING, temp_at(w, do_mkstemps))                         \
	X(mkstemps64, mkstemp, NOTHING, NOTHING, temp_at(w, do_mkstemps64))                     \
	X(mkostemps, mkstemp, NOTHING, NOTHING, temp_at(w, do_mkostemps))                       \
	X(mkostemps64, mkstemp, NOTHING, NOTHING, temp_at(w, do_mkostemps64))                   \
	X(mkdtemp, mkdtemp, NOTHING, NOTHING, temp_at(w, do_mkdtemp))                           \
	X(fchmod, fchmodat, A_FILE, A_FILE, by_fd(w, fchmod(fd, 0640)))                         \
	X(fchown, fchownat, A_FILE, A_FILE, by_fd(w, fchown(fd, getuid(), (gid_t)-1)))          \
	X(futimes, utimes, A_FILE, A_FILE, by_fd(w, futimes(fd, tv)))                           \
	X(futimens, utimensat, A_FILE, A_FILE, by_fd(w, futimens(fd, ts)))                      \
	X(setxattr, setxattr, A_FILE, A_FILE, attr(setxattr(w->path, "user.x", "v", 1, 0)))     \
	X(lsetxattr, setxattr, A_FILE, A_FILE, attr(lsetxattr(w->path, "user.x", "v", 1, 0)))   \
	X(fsetxattr, setxattr, A_FILE, A_FILE, attr(by_fd(w, fsetxattr(fd, "user.x", "v", 1, 0)))) \
	X(removexattr, removexattr, A_FILE, A_FILE, attr(removexattr(w->path, "user.x")))       \
	X(lremovexattr, removexattr, A_FILE, A_FILE, attr(lremovexattr(w->path, "user.x")))     \
	X(fremovexattr, removexattr, A_FILE, A_FILE, attr(by_fd(w, fremovexattr(fd, "user.x")))) \
	X(getxattr, getxattr, A_FILE, A_FILE, attr((int)getxattr(w->path, "user.x", NULL, 0)))  \
	X(lgetxattr, getxattr, A_FILE, A_FILE, attr((int)lgetxattr(w->path, "user.x", NULL, 0))) \
	X(fgetxattr, getxattr, A_FILE, A_FILE, attr(by_fd(w, (int)fgetxattr(fd, "user.x", NULL, 0)))) \
	X(inotify_add_watch, inotify_add_watch, A_DIR, A_DIR, watch(w->path))                   \
	X(bind, bind, NOTHING, A_FILE, bound(w->rel))                                           \
	X(ftw, ftw, A_DIR, A_DIR, ftw(w->path, walked, 4))                                      \
	X(ftw64, ftw, A_DIR, A_DIR, ftw64(w->path, walked64, 4))                                \
	X(nftw, ftw, A_DIR, A_DIR, nftw(w->path, nwalked, 4, FTW_PHYS))                         \
	X(nftw64, ftw, A_DIR, A_DIR, nftw64(w->path, nwalked64, 4, FTW_PHYS))                   \
	X(fts_open, fts_open, A_DIR, A_DIR, ({                                                  \
		  char *roots_[] = {(char *)(uintptr_t)w->path, NULL};                          \
		  FTS *f_ = fts_open(roots_, FTS_PHYSICAL | FTS_NOCHDIR, NULL);                 \
		  int e_ = errno;                                                               \
		  if (f_)                                                                       \
			  fts_close(f_);                                                        \
		  errno = e_;                                                                   \
		  f_ ? 0 : -1;                                                                  \
	  }))                                                                                   \
	X(posix_spawn_file_actions_addopen, spawn_addopen, A_FILE, A_FILE, add_open(w->path))   \
	X(glob, opendir, A_DIR, A_DIR, globbed(w->path))                                        \
	X(access, -, A_FILE, A_FILE, access(w->path, R_OK))                                     \
	X(faccessat, -, A_FILE, A_FILE, faccessat(w->dirfd, w->rel, W_OK, 0))                   \
	X(euidaccess, -, A_FILE, A_FILE, euidaccess(w->path, R_OK | W_OK))                      \
	X(eaccess, -, A_FILE, A_FILE, eaccess(w->path, W_OK))                                   \
	X(raw_open, open, A_FILE, A_FILE, done((int)syscall(SYS_open, w->path, O_RDONLY)))      \
	X(raw_openat, openat, NOTHING, A_FILE,                                                  \
	  done((int)syscall(SYS_openat, w->dirfd, w->rel, O_WRONLY | O_CREAT, 0600)))           \
	X(raw_renameat2, renameat2, A_FILE, NOTHING,                                            \
	  (int)syscall(SYS_renameat2, w->dirfd, w->rel, w->dirfd, w->rel_spare, 0))             \
	X(raw_unlink, unlink, A_FILE, NOTHING, (int)syscall(SYS_unlink, w->path))               \
	X(raw_unlinkat, unlinkat, A_FILE, NOTHING, (int)syscall(SYS_unlinkat, w->dirfd, w->rel, 0)) \
	X(raw_mkdirat, mkdirat, NOTHING, A_DIR, (int)syscall(SYS_mkdirat, w->dirfd, w->rel, 0700)) \
	X(raw_fchmodat2, fchmodat, A_FILE, A_FILE,                                              \
	  or_absent((int)syscall(452, w->dirfd, w->rel, 0640, 0)))                              \
	X(raw_utimensat, utimensat, A_FILE, A_FILE,                                             \
	  by_fd(w, (int)syscall(SYS_utimensat, fd, NULL, ts, 0)))                               \
	X(raw_getxattr, getxattr, A_FILE, A_FILE,                                               \
	  attr((int)syscall(SYS_getxattr, w->path, "user.x", NULL, 0)))                         \
	X(raw_faccessat2, -, A_FILE, A_FILE, (int)syscall(SYS_faccessat2, w->dirfd, w->rel, R_OK, 0))

#define X(name, event, need, left, call)              \
	static int call_##name(const struct where *w) \
	{                                             \
		return call;                          \
	}
ROWS(X)
#undef X

/* clang-format on */

static const struct row {
	const char *name, *event;
	enum need need, left;
	int (*call)(const struct where *);
} rows[] = {
#define X(name, event, need, left, call) {#name, #event, need, left, call_##name},
	ROWS(X)
#undef X
};

static int tests, failures;

static void check(bool ok, const char *name, const char *what, int rc, int err)
{
	tests++;
	failures += !ok;
	printf("%sok - %s: %s", ok ? "" : "not ", name, what);
	if (!ok)
		printf(" (returned %d, errno %s)", rc, strerrorname_np(err));
	putchar('\n');
}

static void make(enum need need, const char *path)
{
	if (need == A_FILE)
		raw(SYS_mknodat, AT_FDCWD, (long)path, S_IFREG | 0600, 0);
	else if (need == A_DIR)
		raw(SYS_mkdirat, AT_FDCWD, (long)path, 0700, 0);
}

static enum need look(const char *path)
{
#ifdef SYS_newfstatat
	struct stat st;
#else
	struct stat64 st;
#define SYS_newfstatat SYS_fstatat64
#endif

	if (raw(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, AT_SYMLINK_NOFOLLOW) < 0)
		return NOTHING;
	return S_ISDIR(st.st_mode) ? A_DIR : A_FILE;
}

static void run(const struct row *r, const char *dir, int dirfd, bool allowed)
{
	const char *sub = allowed ? "ok" : "no";
	char path[4096], rel[512], spare[4096], rel_spare[512];
	struct where w = {path, rel, spare, rel_spare, dirfd};
	int rc, err;

	snprintf(rel, sizeof rel, "%s/%s", sub, r->name);
	snprintf(rel_spare, sizeof rel_spare, "%s/%s.spare", sub, r->name);
	snprintf(path, sizeof path, "%s/%s", dir, rel);
	snprintf(spare, sizeof spare, "%s/%s", dir, rel_spare);
	make(r->need, path);
	errno = 77;
	rc = r->call(&w);
	err = errno;
	if (allowed) {
		check(rc >= 0, r->name, "allowed", rc, err);
		/* stdio and scandir set errno on success as they please; system call wrappers not
		 */
		if (rc >= 0 && !strstr(r->event, "open") && !strstr(r->event, "scandir") &&
		    !strstr(r->event, "ftw"))
			check(err == 77, r->name, "errno kept", rc, err);
		check(look(path) == r->left, r->name, "did its work", rc, err);
	} else {
		check(rc < 0 && err == EACCES, r->name, "denied with EACCES", rc, err);
		check(look(path) == r->need && look(spare) == NOTHING, r->name,
		      "left all as it was", rc, err);
	}
	wipe(path);
	wipe(spare);
}

int main(int argc, char **argv)
{
	size_t i;
	int dirfd;

	if (argc != 2)
		return 2;
	dirfd = raw_openat(argv[1]);
	if (dirfd < 0)
		return 2;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		run(&rows[i], argv[1], dirfd, true);
		run(&rows[i], argv[1], dirfd, false);
		if (*rows[i].event != '-')
			printf("# event %s %s\n", rows[i].event, rows[i].name);
	}
	printf("1..%d\n", tests);
	return failures != 0;
}
