/* SPDX-License-Identifier: Apache-2.0 */
/*
 * darwin.h - what our sources need of macOS's C library, for building on other systems: every
 * standard header of a cross-build is a line that includes this one (mk/darwin.mk).
 *
 * Our own text. Layouts and numbers are those of the 64-bit interface of macOS 11 to 15, for
 * arm64 and x86_64; libSystem.tbd names the same functions, so that one that is not there is an
 * error of the linker. On a Mac the system's own headers are used instead.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* x86_64 kept the symbols of the 32-bit inode interface under the plain names. */
#if defined(__x86_64__)
#define DARWIN_INODE64(name) __asm("_" name "$INODE64")
#else
#define DARWIN_INODE64(name)
#endif

/* ---- sys/types.h ---- */

typedef int32_t pid_t, dev_t, blksize_t;
typedef uint32_t uid_t, gid_t, mode_t16_;
typedef uint16_t mode_t, nlink_t;
typedef uint64_t ino_t;
typedef int64_t off_t, blkcnt_t;
typedef long ssize_t;
typedef long time_t;
typedef unsigned long clock_t;
typedef int32_t suseconds_t;
typedef uint32_t id_t;
typedef unsigned long rlim_t_;
struct timespec {
	time_t tv_sec;
	long tv_nsec;
};
struct timeval {
	time_t tv_sec;
	suseconds_t tv_usec;
};

/* ---- errno.h ---- */

int *__error(void);
#define errno (*__error())

#define EPERM	     1
#define ENOENT	     2
#define ESRCH	     3
#define EINTR	     4
#define EIO	     5
#define ENXIO	     6
#define E2BIG	     7
#define ENOEXEC	     8
#define EBADF	     9
#define ECHILD	     10
#define EDEADLK	     11
#define ENOMEM	     12
#define EACCES	     13
#define EFAULT	     14
#define EBUSY	     16
#define EEXIST	     17
#define EXDEV	     18
#define ENODEV	     19
#define ENOTDIR	     20
#define EISDIR	     21
#define EINVAL	     22
#define ENFILE	     23
#define EMFILE	     24
#define ENOTTY	     25
#define EFBIG	     27
#define ENOSPC	     28
#define ESPIPE	     29
#define EROFS	     30
#define EMLINK	     31
#define EPIPE	     32
#define ERANGE	     34
#define EAGAIN	     35
#define EWOULDBLOCK  EAGAIN
#define ENOTSUP	     45
#define ELOOP	     62
#define ENAMETOOLONG 63
#define ENOTEMPTY    66
#define EDQUOT	     69
#define ESTALE	     70
#define ENOSYS	     78
#define EADDRINUSE   48
#define EOVERFLOW    84
#define EBADARCH     86
#define EOPNOTSUPP   102

/* ---- string.h ---- */

void *memcpy(void *restrict, const void *restrict, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
void *memchr(const void *, int, size_t);
void *memmem(const void *, size_t, const void *, size_t);
size_t strlen(const char *);
size_t strnlen(const char *, size_t);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
char *strcpy(char *restrict, const char *restrict);
char *strchr(const char *, int);
char *strrchr(const char *, int);
char *strstr(const char *, const char *);
char *strdup(const char *);
size_t strspn(const char *, const char *);
size_t strcspn(const char *, const char *);
char *strpbrk(const char *, const char *);
char *strsep(char **, const char *);
char *strerror(int);
char *strsignal(int);
int strcasecmp(const char *, const char *);
int strncasecmp(const char *, const char *, size_t);

/* ---- ctype.h ---- */

int isdigit(int);
int isalpha(int);
int isalnum(int);
int isspace(int);
int isprint(int);
int isxdigit(int);
int tolower(int);
int toupper(int);
int isupper(int);
int islower(int);

/* ---- stdlib.h ---- */

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void free(void *);
_Noreturn void abort(void);
_Noreturn void exit(int);
char *getenv(const char *);
int setenv(const char *, const char *, int);
int unsetenv(const char *);
char *realpath(const char *restrict, char *restrict);
char *mkdtemp(char *);
int mkstemp(char *);
int mkostemp(char *, int);
long strtol(const char *restrict, char **restrict, int);
unsigned long strtoul(const char *restrict, char **restrict, int);
long long strtoll(const char *restrict, char **restrict, int);
unsigned long long strtoull(const char *restrict, char **restrict, int);
double strtod(const char *restrict, char **restrict);
int atoi(const char *);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
void *bsearch(const void *, const void *, size_t, size_t, int (*)(const void *, const void *));
int system(const char *);

/* ---- dirs.h ---- */

typedef struct darwin_file FILE;
typedef int64_t fpos_t;
extern FILE *__stdinp, *__stdoutp, *__stderrp;
#define stdin	 __stdinp
#define stdout	 __stdoutp
#define stderr	 __stderrp
#define EOF	 (-1)
#define BUFSIZ	 1024
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2

int printf(const char *restrict, ...) __attribute__((format(printf, 1, 2)));
int fprintf(FILE *restrict, const char *restrict, ...) __attribute__((format(printf, 2, 3)));
int snprintf(char *restrict, size_t, const char *restrict, ...)
	__attribute__((format(printf, 3, 4)));
int vsnprintf(char *restrict, size_t, const char *restrict, va_list)
	__attribute__((format(printf, 3, 0)));
int sscanf(const char *restrict, const char *restrict, ...) __attribute__((format(scanf, 2, 3)));
int fputs(const char *restrict, FILE *restrict);
int puts(const char *);
int fputc(int, FILE *);
int putchar(int);
size_t fwrite(const void *restrict, size_t, size_t, FILE *restrict);
size_t fread(void *restrict, size_t, size_t, FILE *restrict);
FILE *fopen(const char *restrict, const char *restrict);
FILE *fdopen(int, const char *);
FILE *freopen(const char *restrict, const char *restrict, FILE *restrict);
FILE *popen(const char *, const char *);
int fclose(FILE *);
int fflush(FILE *);
int ferror(FILE *);
int fileno(FILE *);
char *fgets(char *restrict, int, FILE *restrict);
long getline(char **restrict, size_t *restrict, FILE *restrict);
int rename(const char *, const char *);
int renameat(int, const char *, int, const char *);
int remove(const char *);
#define RENAME_SWAP 0x2
#define RENAME_EXCL 0x4
int renamex_np(const char *, const char *, unsigned);
int renameatx_np(int, const char *, int, const char *, unsigned);

/* ---- fcntl.h ---- */

#define O_RDONLY    0x0000
#define O_WRONLY    0x0001
#define O_RDWR	    0x0002
#define O_ACCMODE   0x0003
#define O_NONBLOCK  0x0004
#define O_APPEND    0x0008
#define O_NOFOLLOW  0x0100
#define O_CREAT	    0x0200
#define O_TRUNC	    0x0400
#define O_EXCL	    0x0800
#define O_EVTONLY   0x8000
#define O_NOCTTY    0x20000
#define O_DIRECTORY 0x100000
#define O_SYMLINK   0x200000
#define O_CLOEXEC   0x1000000
#define O_SEARCH    (0x40000000 | O_DIRECTORY)

#define AT_FDCWD	    (-2)
#define AT_EACCESS	    0x0010
#define AT_SYMLINK_NOFOLLOW 0x0020
#define AT_SYMLINK_FOLLOW   0x0040
#define AT_REMOVEDIR	    0x0080

#define F_DUPFD	      0
#define F_GETFD	      1
#define F_SETFD	      2
#define F_GETFL	      3
#define F_SETFL	      4
#define F_SETLK	      8
#define F_PREALLOCATE 42
#define F_GETPATH     50
#define F_ALLOCATEALL 4
#define F_PEOFPOSMODE 3
typedef struct {
	unsigned fst_flags;
	int fst_posmode;
	off_t fst_offset, fst_length, fst_bytesalloc;
} fstore_t;
#define F_DUPFD_CLOEXEC 67
#define FD_CLOEXEC	1

int open(const char *, int, ...);
int openat(int, const char *, int, ...);
int creat(const char *, mode_t);
int fcntl(int, int, ...);
/* The header does not promise these on every release: dyld binds NULL where they are missing. */
#define DARWIN_MAY_MISS __attribute__((weak_import))
typedef struct {
	int32_t val[2];
} fsid_t;
typedef struct {
	uint32_t fid_objno, fid_generation;
} fsobj_id_t;
int open_dprotected_np(const char *, int, int, int, ...);
int openat_dprotected_np(int, const char *, int, int, int, ...) DARWIN_MAY_MISS;
int openbyid_np(fsid_t *, fsobj_id_t *, int) DARWIN_MAY_MISS;
#define POSIX_FADV_SEQUENTIAL 2

/* ---- sys/stat.h ---- */

struct stat {
	dev_t st_dev;
	mode_t st_mode;
	nlink_t st_nlink;
	ino_t st_ino;
	uid_t st_uid;
	gid_t st_gid;
	dev_t st_rdev;
	struct timespec st_atimespec, st_mtimespec, st_ctimespec, st_birthtimespec;
	off_t st_size;
	blkcnt_t st_blocks;
	blksize_t st_blksize;
	uint32_t st_flags, st_gen;
	int32_t st_lspare;
	int64_t st_qspare[2];
};
_Static_assert(sizeof(struct stat) == 144, "struct stat of the 64-bit inode interface");
#define st_atim st_atimespec
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec

#define S_IFMT	      0170000
#define S_IFIFO	      0010000
#define S_IFCHR	      0020000
#define S_IFDIR	      0040000
#define S_IFBLK	      0060000
#define S_IFREG	      0100000
#define S_IFLNK	      0120000
#define S_IFSOCK      0140000
#define S_ISUID	      0004000
#define S_ISGID	      0002000
#define S_ISVTX	      0001000
#define S_IWGRP	      0000020
#define S_IWOTH	      0000002
#define S_IXUSR	      0000100
#define S_ISDIR(m)    (((m)&S_IFMT) == S_IFDIR)
#define S_ISREG(m)    (((m)&S_IFMT) == S_IFREG)
#define S_ISLNK(m)    (((m)&S_IFMT) == S_IFLNK)
#define S_ISCHR(m)    (((m)&S_IFMT) == S_IFCHR)
#define S_ISFIFO(m)   (((m)&S_IFMT) == S_IFIFO)
#define S_ISSOCK(m)   (((m)&S_IFMT) == S_IFSOCK)
#define SF_RESTRICTED 0x00080000 /* st_flags: under System Integrity Protection */
#define UTIME_NOW     (-1)
#define UTIME_OMIT    (-2)

int stat(const char *restrict, struct stat *restrict) DARWIN_INODE64("stat");
int lstat(const char *restrict, struct stat *restrict) DARWIN_INODE64("lstat");
int fstat(int, struct stat *) DARWIN_INODE64("fstat");
int fstatat(int, const char *, struct stat *, int) DARWIN_INODE64("fstatat");
int mkdir(const char *, mode_t);
int mkdirat(int, const char *, mode_t);
int mkfifo(const char *, mode_t);
int mkfifoat(int, const char *, mode_t);
int mknod(const char *, mode_t, dev_t);
int mknodat(int, const char *, mode_t, dev_t);
int chmod(const char *, mode_t);
int fchmod(int, mode_t);
int lchmod(const char *, mode_t);
int fchmodat(int, const char *, mode_t, int);
int chflags(const char *, uint32_t);
int lchflags(const char *, uint32_t);
int fchflags(int, uint32_t);
int utimensat(int, const char *, const struct timespec[2], int);
int futimens(int, const struct timespec[2]);
mode_t umask(mode_t);

/* ---- unistd.h ---- */

#define STDIN_FILENO	     0
#define STDOUT_FILENO	     1
#define STDERR_FILENO	     2
#define F_OK		     0
#define X_OK		     1
#define W_OK		     2
#define R_OK		     4
#define _SC_OPEN_MAX	     5
#define _SC_PAGESIZE	     29
#define _SC_NPROCESSORS_ONLN 58

ssize_t read(int, void *, size_t);
ssize_t write(int, const void *, size_t);
ssize_t pread(int, void *, size_t, off_t);
ssize_t pwrite(int, const void *, size_t, off_t);
int close(int);
int dup(int);
int dup2(int, int);
int pipe(int[2]);
off_t lseek(int, off_t, int);
int ftruncate(int, off_t);
int truncate(const char *, off_t);
int fsync(int);
char *getcwd(char *, size_t);
int chdir(const char *);
int fchdir(int);
int chroot(const char *);
int access(const char *, int);
int faccessat(int, const char *, int, int);
int link(const char *, const char *);
int linkat(int, const char *, int, const char *, int);
int symlink(const char *, const char *);
int symlinkat(const char *, int, const char *);
long pathconf(const char *, int);
#define _PC_CASE_SENSITIVE 11 /* unistd.h of macOS */
ssize_t readlink(const char *restrict, char *restrict, size_t);
ssize_t readlinkat(int, const char *, char *, size_t);
int unlink(const char *);
int unlinkat(int, const char *, int);
int rmdir(const char *);
int chown(const char *, uid_t, gid_t);
int lchown(const char *, uid_t, gid_t);
int fchown(int, uid_t, gid_t);
int fchownat(int, const char *, uid_t, gid_t, int);
int isatty(int);
int ttyname_r(int, char *, size_t);
int gethostname(char *, size_t);
pid_t fork(void);
pid_t vfork(void);
int execve(const char *, char *const[], char *const[]);
int execv(const char *, char *const[]);
int execvp(const char *, char *const[]);
int execvP(const char *, const char *, char *const[]);
_Noreturn void _exit(int);
pid_t getpid(void);
pid_t getppid(void);
pid_t getpgrp(void);
pid_t getpgid(pid_t);
int setpgid(pid_t, pid_t);
pid_t tcgetpgrp(int);
int tcsetpgrp(int, pid_t);
uid_t getuid(void);
uid_t geteuid(void);
gid_t getgid(void);
gid_t getegid(void);
int issetugid(void);
long sysconf(int);
unsigned sleep(unsigned);
int usleep(unsigned);
int undelete(const char *);
int exchangedata(const char *, const char *, unsigned);
extern char ***_NSGetEnviron(void);
#define environ (*_NSGetEnviron())

/* ---- sys/random.h ---- */

int getentropy(void *, size_t);

/* ---- poll.h ---- */

struct pollfd {
	int fd;
	short events, revents;
};
#define POLLIN	0x0001
#define POLLOUT 0x0004
#define POLLHUP 0x0010
int poll(struct pollfd *, unsigned, int);

/* ---- dirent.h ---- */

typedef struct darwin_dir DIR;
struct dirent {
	uint64_t d_ino, d_seekoff;
	uint16_t d_reclen, d_namlen;
	uint8_t d_type;
	char d_name[1024];
};
#define DT_UNKNOWN   0
#define DT_FIFO	     1
#define DT_CHR	     2
#define DT_DIR	     4
#define DT_BLK	     6
#define DT_REG	     8
#define DT_LNK	     10
#define DT_SOCK	     12
#define DTTOIF(type) ((type) << 12)
DIR *opendir(const char *) DARWIN_INODE64("opendir");
DIR *fdopendir(int) DARWIN_INODE64("fdopendir");
struct dirent *readdir(DIR *) DARWIN_INODE64("readdir");
void rewinddir(DIR *) DARWIN_INODE64("rewinddir");
int closedir(DIR *);
int dirfd(DIR *);

/* ---- pwd.h ---- */

struct passwd {
	char *pw_name, *pw_passwd;
	uid_t pw_uid;
	gid_t pw_gid;
	time_t pw_change;
	char *pw_class, *pw_gecos, *pw_dir, *pw_shell;
	time_t pw_expire;
};
struct passwd *getpwuid(uid_t);
struct passwd *getpwnam(const char *);

/* ---- sys/mman.h ---- */

#define PROT_READ     1
#define PROT_WRITE    2
#define PROT_EXEC     4
#define PROT_NONE     0
#define MAP_SHARED    0x0001
#define MAP_PRIVATE   0x0002
#define MAP_FIXED     0x0010
#define MAP_ANON      0x1000
#define MAP_ANONYMOUS MAP_ANON
#define MAP_FAILED    ((void *)-1)
void *mmap(void *, size_t, int, int, int, off_t);
int munmap(void *, size_t);
int mprotect(void *, size_t, int);
int msync(void *, size_t, int);

/* ---- sys/file.h ---- */

#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8
int flock(int, int);

/* ---- time.h, sys/time.h ---- */

struct tm {
	int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
	long tm_gmtoff;
	char *tm_zone;
};
typedef int clockid_t;
#define CLOCK_REALTIME	0
#define CLOCK_MONOTONIC 6
int clock_gettime(clockid_t, struct timespec *);
int nanosleep(const struct timespec *, struct timespec *);
time_t time(time_t *);
size_t strftime(char *restrict, size_t, const char *restrict, const struct tm *restrict);
time_t timegm(struct tm *);
struct tm *gmtime_r(const time_t *restrict, struct tm *restrict);
int gettimeofday(struct timeval *restrict, void *restrict);
int utimes(const char *, const struct timeval[2]);
int futimes(int, const struct timeval[2]);
int lutimes(const char *, const struct timeval[2]);

#include <darwin_system.h>
