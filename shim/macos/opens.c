/*
 * opens.c - open, openat, creat, fopen, opendir on macOS. The text is judged and opened with
 * O_NOFOLLOW_ANY, which proves that the object opened is the text judged. At a symlink the object
 * is held without side effects, its own path is judged, and that is opened the same way.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/callnames.h"
#include "core/path.h"
#include "shim/judge.h"
#include "shim/macos/interpose.h"
#include "shim/macos/sys.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/where.h"

/* Other names of the same functions, as the headers of Apple select them. */
int open_nocancel(const char *, int, ...) __asm("_open$NOCANCEL");
int openat_nocancel(int, const char *, int, ...) __asm("_openat$NOCANCEL");
int creat_nocancel(const char *, mode_t) __asm("_creat$NOCANCEL");
FILE *fopen_extsn(const char *, const char *) __asm("_fopen$DARWIN_EXTSN");

struct request {
	unsigned call;
	int dirfd;
	const char *path;
	int flags;
	unsigned mode;
	char buf[SBX_PATH_MAX]; /* canonical, as far as it is known */
	size_t len;
};

static enum sbx_op op_of(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC) ? SBX_MODIFY
									      : SBX_READ;
}

/* Both ways of a read-write open are asked. */
static bool is_allowed(const struct request *r, uint64_t *out_key)
{
	struct shim_verdict v = shim_judge(op_of(r->flags), r->buf, r->len);

	*out_key = v.key;
	if (v.allowed && (r->flags & O_ACCMODE) == O_RDWR)
		return shim_judge(SBX_READ, r->buf, r->len).allowed;
	return v.allowed;
}

static int judged_open(struct request *r, int at, const char *name, int extra)
{
	uint64_t key;
	bool allowed = is_allowed(r, &key);
	int fd = allowed ? sys_openat(at, name, r->flags | extra, r->mode) : -EACCES;
	struct shim_told t = {
		.call = r->call,
		.op = op_of(r->flags),
		.flags = allowed ? SBX_EVF_ALLOWED : 0,
		.path = r->buf,
		.len = r->len,
	};
	struct stat st;

	if (fd == -ELOOP && extra & O_NOFOLLOW_ANY)
		return fd;
	/* what the kernel would have said comes first */
	if (!allowed && !(r->flags & O_CREAT) &&
	    SHIM_QUIETLY(int, fstatat(at, name, &st, 0)) == -ENOENT)
		return -ENOENT;
	t.err = fd < 0 ? -fd : 0;
	shim_tell(&t, key);
	return fd;
}

/* The directory something would be made in, and its name there. */
static int open_in_parent(struct request *r)
{
	const char *slash = strrchr(r->path, '/'), *name = slash ? slash + 1 : r->path;
	size_t n = slash ? (size_t)(slash - r->path) : 0, len = strlen(name);
	int at, fd;

	if (!*name || n >= sizeof r->buf)
		return -ENOENT;
	memcpy(r->buf, r->path, n);
	memcpy(r->buf + n, slash && !n ? "/" : n ? "" : ".", slash && n ? 1 : 2);
	at = sys_openat(r->dirfd, r->buf, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (at < 0)
		return at;
	r->len = shim_fd_text(at, r->buf);
	r->len = r->len == 1 ? 0 : r->len;
	if (!shim_append(r->buf, sizeof r->buf, &r->len, "/", 1) ||
	    !shim_append(r->buf, sizeof r->buf, &r->len, name, len))
		fd = -ENAMETOOLONG;
	else
		fd = judged_open(r, at, name, O_NOFOLLOW);
	sys_close(at);
	return fd;
}

static int open_slowly(struct request *r)
{
	int hold = sys_openat(r->dirfd, r->path, O_PATH | O_CLOEXEC | (r->flags & O_NOFOLLOW), 0);

	if (hold == -ENOENT && r->flags & O_CREAT)
		return open_in_parent(r);
	if (hold < 0)
		return hold;
	r->len = shim_fd_text(hold, r->buf);
	sys_close(hold);
	if (!r->len) /* a pipe, a socket: no path to judge */
		return sys_openat(r->dirfd, r->path, r->flags, r->mode);
	return judged_open(r, AT_FDCWD, r->buf, O_NOFOLLOW_ANY);
}

static int do_open(struct request *r)
{
	struct shim_text t;
	int fd;

	if (!shim_is_ready() || shim_is_no_pointer(r->path) || !*r->path)
		return sys_openat(r->dirfd, r->path, r->flags, r->mode);
	t = shim_text(r->buf, r->dirfd, r->path);
	if (!t.len || t.flags & SBX_PATH_DOTDOT || r->flags & O_SYMLINK)
		return open_slowly(r);
	r->len = t.len;
	fd = judged_open(r, AT_FDCWD, r->buf, O_NOFOLLOW_ANY);
	return fd == -ELOOP ? open_slowly(r) : fd;
}

static int opened(unsigned call, int dirfd, const char *path, int flags, unsigned mode)
{
	struct request r;

	r.call = call;
	r.dirfd = dirfd;
	r.path = path;
	r.flags = flags;
	r.mode = mode;
	return (int)shim_result(do_open(&r));
}

/* arm64 passes variadic arguments on the stack: only a variadic function finds them. */
#define MODE(flags)                                                                                \
	({                                                                                         \
		unsigned mode_ = 0;                                                                \
		if ((flags)&O_CREAT) {                                                             \
			va_list ap_;                                                               \
			va_start(ap_, flags);                                                      \
			mode_ = va_arg(ap_, unsigned);                                             \
			va_end(ap_);                                                               \
		}                                                                                  \
		mode_;                                                                             \
	})

static int shim_open_call(const char *path, int flags, ...)
{
	return opened(SBX_CALL_open, AT_FDCWD, path, flags, MODE(flags));
}

static int shim_openat_call(int dirfd, const char *path, int flags, ...)
{
	return opened(SBX_CALL_openat, dirfd, path, flags, MODE(flags));
}

static int shim_creat_call(const char *path, mode_t mode)
{
	return opened(SBX_CALL_creat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

/* "r", "w+", ... as fopen(3) has it; -1 = the library is to say what is wrong. */
static int mode_flags(const char *mode)
{
	int flags;

	switch (*mode) {
	case 'r':
		flags = 0;
		break;
	case 'w':
		flags = O_CREAT | O_TRUNC;
		break;
	case 'a':
		flags = O_CREAT | O_APPEND;
		break;
	default:
		return -1;
	}
	for (const char *p = mode + 1; *p; p++)
		flags |= *p == 'x' ? O_EXCL : *p == 'e' ? O_CLOEXEC : 0;
	if (strchr(mode, '+'))
		return flags | O_RDWR;
	return flags | (*mode == 'r' ? O_RDONLY : O_WRONLY);
}

static FILE *open_stream(const char *path, const char *mode)
{
	int flags = mode_flags(mode), fd;
	FILE *f;

	if (flags < 0 || !shim_is_ready())
		return fopen(path, mode);
	fd = opened(SBX_CALL_fopen, AT_FDCWD, path, flags, 0666);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, mode);
	if (!f)
		sys_close(fd);
	return f;
}

static FILE *shim_fopen_call(const char *path, const char *mode)
{
	return open_stream(path, mode);
}

static DIR *shim_opendir_call(const char *path)
{
	int fd = opened(SBX_CALL_opendir, AT_FDCWD, path,
			O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		sys_close(fd);
	return dir;
}

SHIM_INTERPOSE(shim_open_call, open);
SHIM_INTERPOSE(shim_openat_call, openat);
SHIM_INTERPOSE(shim_creat_call, creat);
SHIM_INTERPOSE(shim_fopen_call, fopen);
SHIM_INTERPOSE(shim_opendir_call, opendir);

SHIM_INTERPOSE(shim_open_call, open_nocancel);
SHIM_INTERPOSE(shim_openat_call, openat_nocancel);
SHIM_INTERPOSE(shim_creat_call, creat_nocancel);
SHIM_INTERPOSE(shim_fopen_call, fopen_extsn);
