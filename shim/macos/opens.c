/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opens.c - open, openat, creat, their protected forms and openbyid_np, fopen, freopen, opendir on
 * macOS. The text is judged and opened with
 * O_NOFOLLOW_ANY, which proves that the object opened is the text judged. At a symlink the object
 * is held without side effects, its own path is judged, and that is opened the same way.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/event.h"
#include "core/path.h"
#include "shim/judge.h"
#include "shim/macos/interpose.h"
#include "shim/sys_macos.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/where.h"

/* Other names of the same functions, as the headers of Apple select them. */
int open_nocancel(const char *, int, ...) __asm("_open$NOCANCEL");
int openat_nocancel(int, const char *, int, ...) __asm("_openat$NOCANCEL");
int creat_nocancel(const char *, mode_t) __asm("_creat$NOCANCEL");
FILE *fopen_extsn(const char *, const char *) __asm("_fopen$DARWIN_EXTSN");

/* Data protection of the file that is made: passed on, not looked at. */
struct protection {
	int class, flags;
};

struct request {
	unsigned call;
	int dirfd;
	const char *path;
	int flags;
	unsigned mode;
	const struct protection *protection; /* NULL: an ordinary open */
	char buf[SBX_PATH_MAX];		     /* canonical, as far as it is known */
	size_t len;
};

static enum sbx_op op_of(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC) ? SBX_MODIFY
									      : SBX_READ;
}

/* By `at` and `name`; a protected one by the canonical path, which open_dprotected_np() takes. */
static int really_open(const struct request *r, int at, const char *name, int extra)
{
	const struct protection *p = r->protection;

	if (!p)
		return sys_openat(at, name, r->flags | extra, r->mode);
	return SHIM_QUIETLY(
		int, open_dprotected_np(r->buf, r->flags | extra, p->class, p->flags, r->mode));
}

/* As the program wrote it. */
static int open_as_asked(const struct request *r)
{
	const struct protection *p = r->protection;

	if (!p)
		return sys_openat(r->dirfd, r->path, r->flags, r->mode);
	if (r->dirfd == AT_FDCWD)
		return SHIM_QUIETLY(
			int, open_dprotected_np(r->path, r->flags, p->class, p->flags, r->mode));
	return SHIM_QUIETLY(int, openat_dprotected_np(r->dirfd, r->path, r->flags, p->class,
						      p->flags, r->mode));
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
	int fd = allowed ? really_open(r, at, name, extra) : -EACCES;
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
		return open_as_asked(r);
	return judged_open(r, AT_FDCWD, r->buf, O_NOFOLLOW_ANY);
}

static int do_open(struct request *r)
{
	struct shim_text t;
	int fd;

	if (!shim_is_ready() || shim_is_no_pointer(r->path) || !*r->path)
		return open_as_asked(r);
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
	r.protection = NULL;
	return (int)shim_result(do_open(&r));
}

static int opened_protected(const struct protection *p, int dirfd, const char *path, int flags,
			    unsigned mode)
{
	struct request r;

	r.call = dirfd == AT_FDCWD ? SBX_CALL_open : SBX_CALL_openat;
	r.dirfd = dirfd;
	r.path = path;
	r.flags = flags;
	r.mode = mode;
	r.protection = p;
	return (int)shim_result(do_open(&r));
}

/* arm64 passes variadic arguments on the stack: only a variadic function finds them. */
#define MODE(flags, last)                                                                          \
	({                                                                                         \
		unsigned mode_ = 0;                                                                \
		if ((flags)&O_CREAT) {                                                             \
			va_list ap_;                                                               \
			va_start(ap_, last);                                                       \
			mode_ = va_arg(ap_, unsigned);                                             \
			va_end(ap_);                                                               \
		}                                                                                  \
		mode_;                                                                             \
	})

static int shim_open_call(const char *path, int flags, ...)
{
	return opened(SBX_CALL_open, AT_FDCWD, path, flags, MODE(flags, flags));
}

static int shim_openat_call(int dirfd, const char *path, int flags, ...)
{
	return opened(SBX_CALL_openat, dirfd, path, flags, MODE(flags, flags));
}

static int shim_open_dprotected_call(const char *path, int flags, int class, int protect, ...)
{
	const struct protection p = {class, protect};

	return opened_protected(&p, AT_FDCWD, path, flags, MODE(flags, protect));
}

static int shim_openat_dprotected_call(int dirfd, const char *path, int flags, int class,
				       int protect, ...)
{
	const struct protection p = {class, protect};

	return opened_protected(&p, dirfd, path, flags, MODE(flags, protect));
}

/* A number of a volume has no text to judge before: what was opened tells its path. */
static int shim_openbyid_call(fsid_t *volume, fsobj_id_t *object, int flags)
{
	int fd = openbyid_np(volume, object, flags), saved = errno;
	struct request r;
	uint64_t key;

	if (fd < 0 || !shim_is_ready())
		return fd;
	r.flags = flags;
	r.len = shim_fd_text(fd, r.buf);
	if (r.len) {
		bool allowed = is_allowed(&r, &key);
		struct shim_told t = {
			.call = SBX_CALL_openbyid_np,
			.op = op_of(flags),
			.err = allowed ? 0 : EACCES,
			.flags = allowed ? SBX_EVF_ALLOWED : 0,
			.path = r.buf,
			.len = r.len,
		};

		shim_tell(&t, key);
		if (!allowed) {
			sys_close(fd);
			fd = -1;
			saved = EACCES;
		}
	}
	errno = saved;
	return fd;
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

/* freopen keeps the number of the descriptor, which only the library can do: an open that takes
 * nothing away is judged in front of it. A denial closes the stream, as every failure does. */
static FILE *shim_freopen_call(const char *path, const char *mode, FILE *f)
{
	int flags = shim_is_no_pointer(mode) ? -1 : mode_flags(mode), fd;

	if (!shim_is_ready() || flags < 0 || shim_is_no_pointer(path))
		return freopen(path, mode, f);
	fd = opened(SBX_CALL_freopen, AT_FDCWD, path, flags & ~(O_TRUNC | O_EXCL), 0666);
	if (fd < 0 && errno == EACCES) {
		(void)freopen("", "r", f);
		errno = EACCES;
		return NULL;
	}
	if (fd >= 0)
		sys_close(fd);
	return freopen(path, mode, f);
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
SHIM_INTERPOSE(shim_open_dprotected_call, open_dprotected_np);
SHIM_INTERPOSE(shim_openat_dprotected_call, openat_dprotected_np);
SHIM_INTERPOSE(shim_openbyid_call, openbyid_np);
SHIM_INTERPOSE(shim_fopen_call, fopen);
SHIM_INTERPOSE(shim_freopen_call, freopen);
SHIM_INTERPOSE(shim_opendir_call, opendir);

SHIM_INTERPOSE(shim_open_call, open_nocancel);
SHIM_INTERPOSE(shim_openat_call, openat_nocancel);
SHIM_INTERPOSE(shim_creat_call, creat_nocancel);
SHIM_INTERPOSE(shim_fopen_call, fopen_extsn);
