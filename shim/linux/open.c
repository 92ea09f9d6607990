/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - see open.h. */
#include "shim/open.h"

#include "core/decide.h"
#include "core/event.h"
#include "core/image.h"
#include "shim/judge.h"
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

/* Access mode 3 is an old way to say "for ioctl": neither reads nor writes, but needs both. */
static inline bool wants_read(int flags)
{
	return (flags & O_ACCMODE) != O_WRONLY;
}

static inline bool wants_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC || is_tmpfile(flags);
}

struct judged {
	bool allowed;
	enum sbx_op op; /* that decided, or that the event names */
	uint64_t key;
};

static struct judged judge(int flags, bool is_new, const char *path, size_t len)
{
	bool write = wants_write(flags) || is_new;
	struct judged j = {.op = SBX_READ};
	struct shim_verdict v;

	if (write) {
		v = shim_judge(SBX_MODIFY, path, len);
		j = (struct judged){v.allowed, SBX_MODIFY, v.key};
		if (!v.allowed)
			return j;
	}
	if (wants_read(flags)) {
		v = shim_judge(SBX_READ, path, len);
		if (!v.allowed || !write)
			j = (struct judged){v.allowed, SBX_READ, v.key};
	}
	return j;
}

struct request {
	unsigned call;
	int dirfd;
	const char *path;
	int flags;
	mode_t mode;
	char *buf;
	size_t len; /* of the path of what was opened; 0 = not known */
};

static void tell(const struct request *r, const struct judged *j, int ret)
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

/* A denial stands behind what the kernel would have said. */
static int deny(const struct request *r, const struct judged *j, int kernel_says)
{
	if (!kernel_says || shim.level == SBX_AUDIT_ALL)
		tell(r, j, kernel_says ? kernel_says : -EACCES);
	return kernel_says ? kernel_says : -EACCES;
}

/* The program is promised the lowest free number, and daemons count on it: the descriptor held
 * for the search has had it, and hands it on. Closes `held`. */
static int take_number(int held, int fd, int flags)
{
	if (fd > held && sys3(SYS_dup3, fd, held, flags & O_CLOEXEC) == held) {
		sys_close(fd);
		return held;
	}
	sys_close(held);
	return fd;
}

/* ---- below the depth the kernel tells a path for ---- */

static bool is_exclusive(int flags)
{
	return (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}

/* The parent is held, so that neither we nor the floor need more than one name of it. */
static int open_deep_at(struct request *r, const struct shim_deep *d)
{
	struct stat st;
	bool is_there = sys_lstatat(d->at, d->name, &st) == 0;
	int flags = r->flags, ret;
	struct judged j;

	if (!is_there && !(flags & O_CREAT))
		return -ENOENT;
	if (is_there && is_exclusive(flags))
		return -EEXIST;
	if (is_tmpfile(flags) && !sbx_deep_append(d->room, &r->len, "#tmpfile", 8))
		return -ENAMETOOLONG;
	j = judge(flags, !is_there, r->buf, r->len);
	if (!j.allowed)
		return deny(r, &j,
			    is_there && S_ISDIR(st.st_mode) && !is_tmpfile(flags) &&
					    (wants_write(flags) || flags & O_CREAT)
				    ? -EISDIR
				    : 0);
	ret = sys_openat(d->at, d->name, flags | O_NOFOLLOW, r->mode);
	tell(r, &j, ret);
	return ret;
}

static __attribute__((noinline)) int open_deep(struct request *r)
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
static int reopen(const struct request *r, int fd)
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
static int open_real(const struct request *r, int fd, bool is_magic)
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

static int kernel_refusal(const struct request *r, int fd)
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
static bool name_tmpfile(struct request *r)
{
	if (r->len == 1)
		r->len = 0;
	return shim_append(r->buf, SBX_PATH_MAX, &r->len, "/#tmpfile", 9);
}

static int open_held(struct request *r, int fd, bool is_magic)
{
	struct stat st;
	struct judged j;
	int ret;

	if (r->flags & O_NOFOLLOW && sys_fstat(fd, &st) == 0 && S_ISLNK(st.st_mode))
		return -ELOOP;
	r->len = shim_fd_text(fd, r->buf);
	/* a pipe or a socket behind /dev/fd: no path, no rule; or there is no /proc */
	if (!r->len)
		return shim_is_deep(fd) ? open_deep(r)
					: sys_openat(r->dirfd, r->path, r->flags, r->mode);
	if (is_tmpfile(r->flags) && !name_tmpfile(r))
		return -ENAMETOOLONG;
	j = judge(r->flags, false, r->buf, r->len);
	if (!j.allowed)
		return deny(r, &j, kernel_refusal(r, fd));
	/* a directory is not there to be created, by whatever name */
	ret = r->flags & O_CREAT ? kernel_refusal(r, fd) : 0;
	if (!ret)
		ret = is_tmpfile(r->flags) ? reopen(r, fd) : open_real(r, fd, is_magic);
	tell(r, &j, ret);
	return ret;
}

/* The parent of a name that does not exist yet, held and read back; `name` points into the
 * path. -errno: the kernel's answer for such a path. NO_TEXT: the parent has none, or the name
 * does not fit behind it. */
#define NO_TEXT (-1000)
static int hold_parent(struct request *r, int at, const char *path, const char **name)
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
	return NO_TEXT;
}

/* One try at creating `name`: -ELOOP = it is a symlink, to be followed. */
static int create_at(struct request *r, int parent, const char *name)
{
	struct judged j = judge(r->flags, true, r->buf, r->len);
	struct stat st;
	int ret;

	if (!j.allowed) {
		if (sys_lstatat(parent, name, &st) == 0 && S_ISLNK(st.st_mode) &&
		    !(r->flags & O_EXCL))
			return -ELOOP;
		return deny(r, &j, 0);
	}
	ret = sys_openat(parent, name, r->flags | O_NOFOLLOW, r->mode);
	if (ret != -ELOOP)
		tell(r, &j, ret);
	return ret;
}

/* A new file, perhaps at the end of a dangling symlink. Never inlined: a second room, which only
 * this rare case needs. */
static __attribute__((noinline)) int create(struct request *r)
{
	char *link SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	const char *path = r->path, *name;
	int at = r->dirfd, ret = -ELOOP, hops;

	for (hops = 0; hops < FOLLOWS_MAX; hops++) {
		int parent = hold_parent(r, at, path, &name);
		long n;

		if (at != r->dirfd)
			sys_close(at);
		if (parent < 0)
			return parent == NO_TEXT ? open_deep(r) : parent;
		at = parent;
		ret = create_at(r, parent, name);
		if (ret != -ELOOP || r->flags & O_NOFOLLOW)
			break;
		n = sys_readlinkat(parent, name, link, SBX_PATH_MAX - 1);
		if (n <= 0)
			break;
		link[n] = '\0';
		path = link;
	}
	if (at != r->dirfd)
		ret = take_number(at, ret, r->flags);
	return ret;
}

static bool is_own_limit(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

static int open_slowly(struct request *r, bool is_magic)
{
	int fd = sys_openat(r->dirfd, r->path,
			    O_PATH | O_CLOEXEC | (r->flags & (O_NOFOLLOW | O_DIRECTORY)), 0);

	/* "file/" is no directory, and would be no file */
	if ((fd == -ENOENT || fd == -ENOTDIR) && r->flags & O_CREAT)
		return create(r);
	if (fd < 0) {
		struct judged j = {.op = wants_write(r->flags) ? SBX_MODIFY : SBX_READ};

		if (is_own_limit(fd)) {
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
	return take_number(fd, open_held(r, fd, is_magic), r->flags);
}

/* ---- the fast way ---- */

/* An own filter may kill for any call the program does not make itself: the text is judged,
 * the plain call made. */
static int open_plainly(struct request *r, struct shim_text t)
{
	struct judged j = {.allowed = true};
	int ret;

	if (!t.len) {
		if (shim_trouble())
			return -EACCES;
		return sys_openat(r->dirfd, r->path, r->flags, r->mode);
	}
	j = judge(r->flags, r->flags & O_CREAT, r->buf, r->len);
	ret = j.allowed ? sys_openat(r->dirfd, r->path, r->flags, r->mode) : -EACCES;
	tell(r, &j, ret);
	return ret;
}

/* To write, which is the broker's, by the whole path: it need not ask the kernel where the cwd is
 * (shim/paths_check.c). */
static int open_relative(const struct request *r, struct shim_text t, mode_t mode)
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

static int open_text(struct request *r, struct shim_text t)
{
	bool is_magic = t.flags & SBX_PATH_MAGIC;
	mode_t mode = r->flags & O_CREAT ? r->mode : 0;
	struct judged j;
	int fd;

	if (!t.len || t.flags & SBX_PATH_DOTDOT || is_tmpfile(r->flags) ||
	    atomic_load_explicit(&shim.no_openat2, memory_order_relaxed))
		return open_slowly(r, is_magic);
	j = judge(r->flags, r->flags & O_CREAT, r->buf, r->len);
	/* the text is denied, the object need not be; a slash at the end is no part of the text */
	if (!j.allowed || (t.flags & SBX_PATH_TRAILING && r->flags & O_CREAT))
		return open_slowly(r, is_magic);
	if (t.flags & SHIM_TEXT_ABSOLUTE)
		fd = sys_open_proven(AT_FDCWD, r->buf,
				     r->flags | (t.flags & SBX_PATH_TRAILING ? O_DIRECTORY : 0),
				     mode);
	else
		fd = open_relative(r, t, mode);
	if (fd == -ELOOP)
		return open_slowly(r, is_magic);
	/* EPERM is also what the kernel says of immutable files and O_NOATIME */
	if ((fd == -ENOSYS || fd == -EPERM) && sys_openat2_is_refused()) {
		atomic_store(&shim.no_openat2, true);
		return open_slowly(r, is_magic);
	}
	tell(r, &j, fd);
	return fd;
}

static int open_judged(struct request *r)
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
	struct request r = {call, dirfd, path, flags & SHIM_OPEN_FLAGS, mode & 07777, NULL, 0};

	/* O_PATH neither reads nor writes; what is done with it later is judged then. NULL and
	 * the first page: the kernel answers EFAULT. */
	if (flags & O_PATH || shim_is_no_pointer(path) || !*path || !shim_is_ready())
		return shim_where_given(sys_openat(dirfd, path, flags, mode));
	return open_judged(&r);
}

/* ---- calls we cannot make ourselves ---- */

bool shim_opens(void)
{
	return shim_is_ready() && !shim_has_filter() && !shim_is_open_foreign();
}

static int ask(struct shim_asked *a, bool is_new)
{
	struct judged j = judge(a->flags, is_new, a->buf, a->len);
	struct request r = {a->call, a->dirfd, a->path, a->flags, 0, a->buf, a->len};

	a->op = j.op;
	a->key = j.key;
	a->is_told = j.allowed;
	return j.allowed ? 0 : deny(&r, &j, 0);
}

static int unknown(void)
{
	return shim_trouble() ? -EACCES : 0;
}

/* The verdict is of the whole path, what is told later of its beginning. */
static __attribute__((noinline)) int ask_deep(struct shim_asked *a)
{
	char *buf = a->buf;
	struct shim_deep d;
	struct stat st;
	int ret = shim_deep_find(&d, a->dirfd, a->path, !(a->flags & O_NOFOLLOW));

	if (ret == SHIM_DEEP_UNKNOWN) {
		ret = unknown();
	} else if (ret == 0) {
		a->buf = d.room;
		a->len = d.len;
		ret = ask(a, sys_lstatat(d.at, d.name, &st) < 0);
		a->buf = buf;
		a->is_cut = d.len >= SBX_PATH_MAX;
		a->rule =
			(unsigned)sbx_attribute(&shim.image, (enum sbx_op)a->op, d.room, d.len) + 1;
		a->len = a->is_cut ? SBX_PATH_MAX - 1 : d.len;
		memcpy(buf, d.room, a->len);
		buf[a->len] = '\0';
	} else {
		ret = 0; /* what the kernel says of the path it will say again */
	}
	shim_deep_release(&d);
	return ret;
}

int shim_may_open(struct shim_asked *a)
{
	struct request r = {a->call, a->dirfd, a->path, a->flags, 0, a->buf, 0};
	const char *name;
	bool is_deep;
	int fd;

	a->is_told = a->is_cut = false;
	if (!shim_is_ready() || shim_is_no_pointer(a->path) || !*a->path || a->flags & O_PATH)
		return 0;
	if (shim_has_filter()) {
		a->len = shim_text(a->buf, a->dirfd, a->path).len;
		return a->len ? ask(a, a->flags & O_CREAT) : unknown();
	}
	fd = sys_openat(a->dirfd, a->path, O_PATH | O_CLOEXEC | (a->flags & O_NOFOLLOW), 0);
	if (fd >= 0) {
		a->len = shim_fd_text(fd, a->buf);
		is_deep = !a->len && shim_is_deep(fd);
		sys_close(fd);
		if (is_deep)
			return ask_deep(a);
		return a->len ? ask(a, false) : 0;
	}
	if (is_own_limit(fd))
		return unknown();
	/* what the kernel says of the path it will say again */
	if (fd != -ENOENT || !(a->flags & O_CREAT))
		return 0;
	fd = hold_parent(&r, a->dirfd, a->path, &name);
	if (fd < 0)
		return fd == NO_TEXT ? ask_deep(a) : 0;
	sys_close(fd);
	a->len = r.len;
	return ask(a, true);
}

void shim_opened(const struct shim_asked *a, int err)
{
	struct shim_told t = {
		.call = a->call,
		.op = (enum sbx_op)a->op,
		.err = err,
		.flags = SBX_EVF_ALLOWED | (a->is_cut ? SBX_EVF_TRUNCATED : 0),
		.rule = a->is_cut ? a->rule : 0,
		.path = a->buf,
		.len = a->len,
	};

	if (a->is_told)
		shim_tell(&t, a->key);
}
