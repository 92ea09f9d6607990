/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - see open.h. */
#include "shim/open.h"
#include "shim/linux/open_priv.h"

#include "core/decide.h"
#include "core/event.h"
#include "core/image.h"
#include "shim/judge.h"
#include "shim/marks.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/where.h"

/* ---- what an open asks for ---- */

enum {
	FOLLOWS_MAX = 40 /* as the kernel's MAXSYMLINKS */
};

static inline bool is_tmpfile(int flags)
{
	return (flags & O_TMPFILE) == O_TMPFILE;
}

/* Access mode 3 is for ioctl(2) only: it neither reads nor writes, but needs both rights. */
static inline bool wants_read(int flags)
{
	return (flags & O_ACCMODE) != O_WRONLY;
}

static inline bool wants_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC || is_tmpfile(flags);
}

struct shim_judged shim_open_judge(int flags, bool is_new, const char *path, size_t len)
{
	bool write = wants_write(flags) || is_new;
	struct shim_judged j = {.op = SBX_READ};
	struct shim_verdict v;

	if (write) {
		v = shim_judge(SBX_MODIFY, path, len);
		j = (struct shim_judged){v.allowed, SBX_MODIFY, v.key};
		if (!v.allowed)
			return j;
	}
	if (wants_read(flags)) {
		v = shim_judge(SBX_READ, path, len);
		if (!v.allowed || !write)
			j = (struct shim_judged){v.allowed, SBX_READ, v.key};
	}
	return j;
}

static void tell(const struct shim_open *r, const struct shim_judged *j, int ret)
{
	struct shim_told t = {
		.call = r->call,
		.op = j->op,
		.err = ret < 0 ? -ret : 0,
		.flags = j->allowed ? SBX_EVF_ALLOWED : 0,
		.path = r->buf,
		.len = r->len,
		.asked = r->path,
	};

	shim_tell(&t, j->key);
}

/* The kernel's own error takes precedence over a denial. */
int shim_open_deny(const struct shim_open *r, const struct shim_judged *j, int kernel_says)
{
	if (!kernel_says || shim.level == SBX_AUDIT_ALL)
		tell(r, j, kernel_says ? kernel_says : -EACCES);
	return kernel_says ? kernel_says : -EACCES;
}

/* The program is promised the lowest free number, and daemons count on it: the descriptor held
 * for the search has had it, and hands it on. Closes `held`, which may be gone (-1). */
static int take_number(int held, int fd, int flags)
{
	if (held < 0)
		return fd;
	if (fd > held && sys3(SYS_dup3, fd, held, flags & O_CLOEXEC) == held) {
		sys_close(fd);
		return held;
	}
	sys_close(held);
	return fd;
}

/* The last descriptor is the one that we hold: without us the program would have had it. Closes
 * it, and opens by the program's own name, whose object has just been judged. What the name leads
 * to by now is the floor's to judge; without a floor it is judged once more here. */
static int open_alone(struct shim_open *r, struct shim_judged *j, int *held)
{
	int fd;

	sys_close(*held);
	*held = -1;
	fd = sys_openat(r->dirfd, r->path, r->flags, r->mode);
	if (fd < 0 || shim_has_broker() || is_tmpfile(r->flags))
		return fd;
	r->len = shim_fd_text(fd, r->buf);
	if (r->len)
		*j = shim_open_judge(r->flags, false, r->buf, r->len);
	if (j->allowed)
		return fd;
	sys_close(fd);
	return -EACCES;
}

/* ---- below the depth the kernel tells a path for ---- */

static bool is_exclusive(int flags)
{
	return (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}

/* The parent is held, so that neither we nor the floor need more than one name of it. */
static int open_deep_at(struct shim_open *r, const struct shim_deep *d)
{
	struct stat st;
	bool is_there = sys_lstatat(d->at, d->name, &st) == 0;
	int flags = r->flags, ret;
	struct shim_judged j;

	if (!is_there && !(flags & O_CREAT))
		return -ENOENT;
	if (is_there && is_exclusive(flags))
		return -EEXIST;
	if (is_tmpfile(flags) && !sbx_deep_append(d->room, &r->len, "#tmpfile", 8))
		return -ENAMETOOLONG;
	j = shim_open_judge(flags, !is_there, r->buf, r->len);
	if (!j.allowed)
		return shim_open_deny(r, &j,
				      is_there && S_ISDIR(st.st_mode) && !is_tmpfile(flags) &&
						      (wants_write(flags) || flags & O_CREAT)
					      ? -EISDIR
					      : 0);
	ret = sys_openat(d->at, d->name, flags | O_NOFOLLOW, r->mode);
	tell(r, &j, ret);
	return ret;
}

static __attribute__((noinline)) int open_deep(struct shim_open *r)
{
	char *buf = r->buf;
	bool follow = !(r->flags & O_NOFOLLOW) && !is_exclusive(r->flags);
	struct shim_deep d;
	int ret = shim_deep_find(&d, r->dirfd, r->path, follow);

	if (ret == SHIM_DEEP_UNKNOWN) {
		ret = shim_trouble() ? -EACCES : sys_openat(r->dirfd, r->path, r->flags, r->mode);
	} else if (ret == 0) {
		r->buf = d.room;
		r->len = d.len;
		ret = open_deep_at(r, &d);
		if (ret >= 0) {
			ret = take_number(d.at, ret, r->flags);
			d.at = -1;
		}
	}
	shim_deep_release(&d);
	r->buf = buf;
	r->len = 0;
	return ret;
}

/* ---- the slow way ---- */

static bool has_no_name(int fd)
{
	struct stat st;

	return sys_fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/* Opens the very object behind an O_PATH descriptor, whatever its name has become. O_EXCL stays:
 * without O_CREAT it means something for block devices, and to O_TMPFILE. */
static int reopen(const struct shim_open *r, int fd)
{
	char link[SHIM_FD_PATH_SIZE];
	int ret = -EACCES;

	if (!has_no_name(fd))
		ret = sys_openat(AT_FDCWD, shim_fd_path(link, fd),
				 r->flags & ~(O_CREAT | O_NOFOLLOW), r->mode);
	/* What has lost its name, perhaps just now, by the program's own name for it: the broker
	 * looks for what that is good, and our descriptor is good for nothing. */
	if (ret == -EACCES && has_no_name(fd))
		return sys_openat(r->dirfd, r->path, r->flags, r->mode);
	return ret;
}

/* By its name where that is enough: the object then has been reached by the path it is known
 * by, and its descriptor is worth no second look. */
static int open_real(const struct shim_open *r, int fd, bool is_magic)
{
	int flags = r->flags & ~O_NOFOLLOW, ret;

	if (!wants_write(flags) && !is_tmpfile(flags))
		flags &= ~O_CREAT;
	if (is_magic || atomic_load(&shim.no_openat2))
		return reopen(r, fd);
	ret = sys_open_proven(AT_FDCWD, r->buf, flags,
			      flags & O_CREAT || is_tmpfile(flags) ? r->mode : 0);
	/* replaced meanwhile, deleted, or below a directory closed to us */
	if (ret == -ELOOP || ret == -ENOENT || ret == -EACCES || ret == -ENOTDIR)
		return reopen(r, fd);
	return ret;
}

/* "name/", and not "../" or "/": the slash is refused before it is seen what is there. */
static bool is_name_with_slash(const char *path)
{
	size_t n = strlen(path), end = n;

	while (end && path[end - 1] == '/')
		end--;
	if (!end || end == n)
		return false;
	return path[end - 1] != '.' ||
	       !(end == 1 || path[end - 2] == '/' ||
		 (path[end - 2] == '.' && (end == 2 || path[end - 3] == '/')));
}

static int kernel_refusal(const struct shim_open *r, int fd)
{
	struct stat st;

	if (is_exclusive(r->flags))
		return is_name_with_slash(r->path) ? -EISDIR : -EEXIST;
	if (sys_fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && !is_tmpfile(r->flags) &&
	    (wants_write(r->flags) || r->flags & O_CREAT))
		return -EISDIR;
	return 0;
}

/* O_TMPFILE makes a file without a name in the directory: judged as a name there. */
static bool name_tmpfile(struct shim_open *r)
{
	if (r->len == 1)
		r->len = 0;
	return shim_append(r->buf, SBX_PATH_MAX, &r->len, "/#tmpfile", 9);
}

static int open_held(struct shim_open *r, int *held, bool is_magic)
{
	int fd = *held, ret;
	struct stat st;
	struct shim_judged j;

	if (r->flags & O_NOFOLLOW && sys_fstat(fd, &st) == 0 && S_ISLNK(st.st_mode))
		return -ELOOP;
	r->len = shim_fd_text(fd, r->buf);
	/* a pipe or a socket behind /dev/fd: no path, no rule; or there is no /proc */
	if (!r->len)
		return shim_is_deep(fd) ? open_deep(r)
					: sys_openat(r->dirfd, r->path, r->flags, r->mode);
	if (is_tmpfile(r->flags) && !name_tmpfile(r))
		return -ENAMETOOLONG;
	j = shim_open_judge(r->flags, false, r->buf, r->len);
	if (!j.allowed)
		return shim_open_deny(r, &j, kernel_refusal(r, fd));
	/* a directory is not there to be created, by whatever name */
	ret = r->flags & O_CREAT ? kernel_refusal(r, fd) : 0;
	if (!ret)
		ret = is_tmpfile(r->flags) ? reopen(r, fd) : open_real(r, fd, is_magic);
	if (shim_is_own_limit(ret))
		ret = open_alone(r, &j, held);
	tell(r, &j, ret);
	return ret;
}

int shim_open_parent(struct shim_open *r, int at, const char *path, const char **name)
{
	size_t n = strlen(path), end = n, start;
	int fd;

	if (!n || n >= SBX_PATH_MAX)
		return n ? -ENAMETOOLONG : -ENOENT;
	while (end && path[end - 1] == '/')
		end--;
	start = end;
	while (start && path[start - 1] != '/')
		start--;
	*name = path + start;
	memcpy(r->buf, path, start);
	if (!start)
		r->buf[start++] = '.';
	r->buf[start] = '\0';
	fd = sys_openat(at, r->buf, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	if (end < n) { /* "new/": no file is made by such a name, if its parent is one */
		sys_close(fd);
		return -EISDIR;
	}
	r->len = shim_fd_text(fd, r->buf);
	if (r->len) {
		r->len -= r->len == 1;
		if (shim_append(r->buf, SBX_PATH_MAX, &r->len, "/", 1) &&
		    shim_append(r->buf, SBX_PATH_MAX, &r->len, *name, n - (size_t)(*name - path)))
			return fd;
	}
	sys_close(fd);
	return SHIM_NO_TEXT;
}

/* A broker may have made the file before there is no descriptor for it: it would be there already
 * at the second try. */
static bool has_another(int fd)
{
	int other = (int)sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);

	if (other >= 0)
		sys_close(other);
	return !shim_is_own_limit(other);
}

/* One try at creating `name`: -ELOOP = it is a symlink, to be followed. */
static int create_at(struct shim_open *r, int *parent, const char *name)
{
	struct shim_judged j = shim_open_judge(r->flags, true, r->buf, r->len);
	struct stat st;
	int ret;

	if (!j.allowed) {
		if (sys_lstatat(*parent, name, &st) == 0 && S_ISLNK(st.st_mode) &&
		    !(r->flags & O_EXCL))
			return -ELOOP;
		return shim_open_deny(r, &j, 0);
	}
	ret = is_exclusive(r->flags) && !has_another(*parent)
		      ? -EMFILE
		      : sys_openat(*parent, name, r->flags | O_NOFOLLOW, r->mode);
	if (shim_is_own_limit(ret))
		ret = open_alone(r, &j, parent);
	if (ret != -ELOOP)
		tell(r, &j, ret);
	return ret;
}

/* A parent that cannot be held beside the last: what a chain of symlinks leads to is not known. */
static int create_unseen(const struct shim_open *r, int *at)
{
	sys_close(*at);
	*at = -1;
	return shim_trouble() ? -EMFILE : sys_openat(r->dirfd, r->path, r->flags, r->mode);
}

/* A new file, perhaps at the end of a dangling symlink. Never inlined: a second room, which only
 * this rare case needs. */
static __attribute__((noinline)) int create(struct shim_open *r)
{
	char *link SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	const char *path = r->path, *name;
	int at = r->dirfd, ret = -ELOOP, hops;

	for (hops = 0; hops < FOLLOWS_MAX; hops++) {
		int parent = shim_open_parent(r, at, path, &name);
		long n;

		if (shim_is_own_limit(parent) && at != r->dirfd)
			return create_unseen(r, &at);
		if (at != r->dirfd)
			sys_close(at);
		if (parent < 0)
			return parent == SHIM_NO_TEXT ? open_deep(r) : parent;
		at = parent;
		ret = create_at(r, &at, name);
		if (ret != -ELOOP || r->flags & O_NOFOLLOW || at < 0)
			break;
		n = sys_readlinkat(at, name, link, SBX_PATH_MAX - 1);
		if (n <= 0)
			break;
		link[n] = '\0';
		path = link;
	}
	if (at != r->dirfd)
		ret = take_number(at, ret, r->flags);
	return ret;
}

static int open_slowly(struct shim_open *r, bool is_magic)
{
	int held = sys_openat(r->dirfd, r->path,
			      O_PATH | O_CLOEXEC | (r->flags & (O_NOFOLLOW | O_DIRECTORY)), 0);
	int fd = held;

	/* "file/" is no directory, and would be no file */
	if ((fd == -ENOENT || fd == -ENOTDIR) && r->flags & O_CREAT)
		return create(r);
	if (fd < 0) {
		struct shim_judged j = {.op = wants_write(r->flags) ? SBX_MODIFY : SBX_READ};

		if (shim_is_own_limit(fd)) {
			r->len = 0; /* a guess */
			return shim_trouble() ? -EACCES
					      : sys_openat(r->dirfd, r->path, r->flags, r->mode);
		}
		/* the kernel's own answer; of use to a reader only with a path that is known */
		j.allowed = true;
		if (r->len && shim.level == SBX_AUDIT_ALL)
			tell(r, &j, fd);
		return fd;
	}
	fd = open_held(r, &held, is_magic);
	return take_number(held, fd, r->flags);
}

/* ---- the fast way ---- */

/* An own filter may kill for any call the program does not make itself: the text is judged,
 * the plain call made. */
static int open_plainly(struct shim_open *r, struct shim_text t)
{
	struct shim_judged j = {.allowed = true};
	int ret;

	if (!t.len) {
		if (shim_trouble())
			return -EACCES;
		return sys_openat(r->dirfd, r->path, r->flags, r->mode);
	}
	j = shim_open_judge(r->flags, r->flags & O_CREAT, r->buf, r->len);
	ret = j.allowed ? sys_openat(r->dirfd, r->path, r->flags, r->mode) : -EACCES;
	tell(r, &j, ret);
	return ret;
}

/* To write, which is the broker's, by the whole path: it need not ask the kernel where the cwd is
 * (shim/paths_check.c). */
static int open_relative(const struct shim_open *r, struct shim_text t, mode_t mode)
{
	uint64_t since = shim_where_since();
	int fd = -ESTALE;

	if (wants_write(r->flags) && r->dirfd == AT_FDCWD && !(t.flags & SBX_PATH_TRAILING) &&
	    shim_has_broker() && shim_cwd_is(r->buf, t.base))
		fd = sys_open_fully(SBX_AT_SINCE(since), r->buf, r->flags, mode);
	if (fd == -ESTALE || ((fd == -EACCES || fd == -ENOENT) && !shim_cwd_leads(r->buf, t.base)))
		fd = sys_open_proven(r->dirfd, r->path, r->flags, mode);
	return fd;
}

/* SHIM_NOT_AT_ONCE, or the answer, told. */
static int open_at_once(struct shim_open *r, struct shim_text t, mode_t mode, struct shim_judged j)
{
	bool writes = wants_write(r->flags) || r->flags & O_CREAT;
	struct shim_once o = {r->dirfd, r->path, r->flags, mode, writes, r->buf, t, false};
	int fd = shim_open_at_once(&o);

	r->len = o.text.len;
	if (o.is_elsewhere)
		j = shim_open_judge(r->flags, r->flags & O_CREAT, r->buf, r->len);
	if (fd >= 0 && !j.allowed) {
		sys_close(fd);
		fd = -EACCES;
	}
	if (fd != SHIM_NOT_AT_ONCE)
		tell(r, &j, fd);
	return fd;
}

static int open_text(struct shim_open *r, struct shim_text t)
{
	bool is_magic = t.flags & SBX_PATH_MAGIC;
	mode_t mode = r->flags & O_CREAT ? r->mode : 0;
	struct shim_judged j;
	int fd;

	if (!t.len || t.flags & SBX_PATH_DOTDOT || is_tmpfile(r->flags) ||
	    atomic_load_explicit(&shim.no_openat2, memory_order_relaxed))
		return open_slowly(r, is_magic);
	j = shim_open_judge(r->flags, r->flags & O_CREAT, r->buf, r->len);
	/* the text is denied, the object need not be; a slash at the end is no part of the text */
	if (!j.allowed || (t.flags & SBX_PATH_TRAILING && r->flags & O_CREAT))
		return open_slowly(r, is_magic);
	fd = shim.marks ? open_at_once(r, t, mode, j) : SHIM_NOT_AT_ONCE;
	if (fd != SHIM_NOT_AT_ONCE)
		return fd;
	if (t.flags & SHIM_TEXT_ABSOLUTE)
		fd = sys_open_proven(AT_FDCWD, r->buf,
				     r->flags | (t.flags & SBX_PATH_TRAILING ? O_DIRECTORY : 0),
				     mode);
	else
		fd = open_relative(r, t, mode);
	if (fd == -ELOOP)
		return open_slowly(r, is_magic);
	/* the kernel also returns EPERM for immutable files and O_NOATIME */
	if ((fd == -ENOSYS || fd == -EPERM) && sys_openat2_is_refused()) {
		atomic_store(&shim.no_openat2, true);
		return open_slowly(r, is_magic);
	}
	tell(r, &j, fd);
	return fd;
}

static int open_judged(struct shim_open *r)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	bool is_dir = r->flags & O_DIRECTORY && !is_tmpfile(r->flags);
	uint64_t since = is_dir ? shim_where_since() : 0;
	struct shim_text t = shim_text(buf, r->dirfd, r->path);
	int fd;

	r->buf = buf;
	r->len = t.len;
	fd = shim_where_given(shim_has_filter() ? open_plainly(r, t) : open_text(r, t));
	if (is_dir && fd >= 0 && r->len)
		shim_where_learn(fd, since, buf, r->len);
	return fd;
}

int shim_open(unsigned call, int dirfd, const char *path, int flags, mode_t mode)
{
	struct shim_open r = {call, dirfd, path, flags & SHIM_OPEN_FLAGS, mode & 07777, NULL, 0};

	/* O_PATH neither reads nor writes; what is done with it later is judged then. NULL and
	 * the first page: the kernel answers EFAULT. */
	if (flags & O_PATH || shim_is_no_pointer(path) || !*path || !shim_is_ready())
		return shim_where_given(sys_openat(dirfd, path, flags, mode));
	return open_judged(&r);
}
