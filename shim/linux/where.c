/* SPDX-License-Identifier: Apache-2.0 */
/* where.c - see where.h. */
#include "shim/where.h"

#include <linux/fs.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/fold.h"
#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/proc.h"

/*
 * A remembered path, written by one at a time and read by all without a lock: `seq` is odd
 * while it is written. A reader that sees it odd, or changed, takes the slow way; it never
 * waits, because the writer may be the very thread a signal handler interrupted.
 */
struct note {
	_Atomic uint32_t seq;
	uint32_t epoch; /* of the descriptor (or of the cwd) when it was looked up */
	uint64_t moves; /* of the run when it was looked up */
	uint32_t len;
};

enum { FDS = 256, FIRST_FD = 3, FD_TEXT = 232 }; /* 0..2: dup2 inside the C library */

static struct {
	struct note note;
	char text[SBX_PATH_MAX];
} cwd_note;
static struct {
	struct note note;
	char text[FD_TEXT];
} fd_notes[FDS];
static _Atomic uint32_t fd_epoch[FDS];	       /* counts closes */
static _Atomic uint32_t cwd_epoch, cwd_closed; /* closed: the epoch + 1 */
static _Atomic bool is_distrusted;

static inline uint64_t moves_now(void)
{
	return shim.ring ? atomic_load_explicit(&shim.ring->moves, memory_order_relaxed) : 0;
}

static size_t note_read(const struct note *n, const char *text, uint32_t epoch, char *buf)
{
	uint32_t seq = atomic_load_explicit(&n->seq, memory_order_acquire);
	uint32_t len = n->len;

	if (seq & 1 || !len || len >= SBX_PATH_MAX || n->epoch != epoch || n->moves != moves_now())
		return 0;
	memcpy(buf, text, len);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&n->seq, memory_order_relaxed) == seq ? len : 0;
}

/* The counters as they were before the lookup began: a change during the lookup makes the entry
 * stale at once. */
struct moment {
	uint32_t epoch;
	uint64_t moves;
};

static void note_write(struct note *n, char *text, struct moment at, const char *buf, size_t len)
{
	uint32_t seq = atomic_load_explicit(&n->seq, memory_order_relaxed);

	if (seq & 1 || !atomic_compare_exchange_strong_explicit(
			       &n->seq, &seq, seq + 1, memory_order_acquire, memory_order_relaxed))
		return;
	atomic_thread_fence(memory_order_release);
	n->epoch = at.epoch;
	n->moves = at.moves;
	n->len = (uint32_t)len;
	memcpy(text, buf, len);
	atomic_store_explicit(&n->seq, seq + 2, memory_order_release);
}

static bool may_note(void)
{
	return !atomic_load_explicit(&is_distrusted, memory_order_relaxed) && shim_is_own_memory();
}

/* ---- current directory ---- */

static size_t cwd_text(char *buf)
{
	struct moment now = {atomic_load(&cwd_epoch), moves_now()};
	size_t len = note_read(&cwd_note.note, cwd_note.text, now.epoch, buf);
	long n;

	if (len)
		return len;
	if (shim_has_filter())
		return 0;
	n = sys_getcwd(buf, SBX_PATH_MAX);
	/* "(unreachable)/x": the directory lies outside the root of this process */
	if (n < 2 || buf[0] != '/')
		return 0;
	len = (size_t)n - 1;
	if (may_note())
		note_write(&cwd_note.note, cwd_note.text, now, buf, len);
	return len;
}

void shim_where_fill(void)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);

	cwd_text(buf);
}

enum { CWD_SIZE = 512 }; /* on the stack */

bool shim_cwd_is(const char *text, size_t base)
{
	uint32_t epoch = atomic_load(&cwd_epoch);
	size_t len = base ? base : 1;
	char now[CWD_SIZE];
	long n;

	if (atomic_load(&cwd_closed) == epoch + 1)
		return false;
	n = sys_getcwd(now, sizeof now);
	if (n == (long)len + 1 && !memcmp(now, text, len))
		return true;
	if (n > 0)
		shim_where_moved(); /* nobody saw it */
	return false;
}

bool shim_cwd_leads(char *text, size_t base)
{
	uint32_t epoch = atomic_load(&cwd_epoch);
	char *end = text + (base ? base : 1), saved = *end;
	int fd;

	*end = '\0';
	fd = shim.marks ? sys_openat(AT_FDCWD, text, O_PATH | O_DIRECTORY | O_CLOEXEC, 0)
			: sys_open_proven(AT_FDCWD, text, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	*end = saved;
	if (fd >= 0)
		sys_close(fd);
	else
		atomic_store(&cwd_closed, epoch + 1);
	return fd >= 0;
}

/* Also called by a vfork child after its own chdir: forgetting is safe in shared memory. */
void shim_where_moved(void)
{
	atomic_fetch_add(&cwd_epoch, 1);
}

/* ---- descriptors ---- */

/* What has lost its name is judged by that, as far as the shim can tell: the broker looks at how
 * the descriptor was opened. A memfd never had one: 0. */
static size_t without_mark(int fd, char *buf, size_t len)
{
	static const char deleted[] = " (deleted)";
	size_t n = sizeof deleted - 1;
	struct stat st;

	if (buf[len - 1] != ')' || len <= n || memcmp(buf + len - n, deleted, n) != 0 ||
	    sys_fstat(fd, &st) < 0 || st.st_nlink > 0)
		return len;
	if (memcmp(buf, "/memfd:", 7) == 0)
		return 0;
	buf[len - n] = '\0';
	return len - n;
}

size_t shim_fd_text(int fd, char *buf)
{
	char link[SHIM_FD_PATH_SIZE];
	long n = sys_readlinkat(AT_FDCWD, shim_fd_path(link, fd), buf, SBX_PATH_MAX);

	/* d_path() has a page for the text and its NUL: what comes is whole */
	if (n <= 0 || n >= SBX_PATH_MAX || buf[0] != '/')
		return 0;
	buf[n] = '\0';
	return without_mark(fd, buf, (size_t)n);
}

static inline bool is_noted_fd(int fd)
{
	return fd >= FIRST_FD && fd < FDS;
}

static void learn_at(int fd, struct moment at, const char *text, size_t len)
{
	if (is_noted_fd(fd) && len <= FD_TEXT && may_note())
		note_write(&fd_notes[fd].note, fd_notes[fd].text, at, text, len);
}

uint64_t shim_where_since(void)
{
	return moves_now();
}

void shim_where_learn(int fd, uint64_t since, const char *text, size_t len)
{
	if (is_noted_fd(fd))
		learn_at(fd, (struct moment){atomic_load(&fd_epoch[fd]), since}, text, len);
}

static size_t dirfd_text(int fd, char *buf)
{
	struct moment now = {0, moves_now()};
	struct stat st;
	size_t len;

	if (is_noted_fd(fd)) {
		now.epoch = atomic_load_explicit(&fd_epoch[fd], memory_order_relaxed);
		len = note_read(&fd_notes[fd].note, fd_notes[fd].text, now.epoch, buf);
		if (len)
			return len;
	}
	if (shim_has_filter())
		return 0;
	len = shim_fd_text(fd, buf);
	if (len && is_noted_fd(fd) && sys_fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_nlink > 0)
		learn_at(fd, now, buf, len);
	return len;
}

void shim_where_closed(int fd)
{
	/* no atomic add: two threads that close one descriptor at once are broken already */
	if (is_noted_fd(fd))
		atomic_store_explicit(&fd_epoch[fd],
				      atomic_load_explicit(&fd_epoch[fd], memory_order_relaxed) + 1,
				      memory_order_relaxed);
}

int shim_where_given(int fd)
{
	shim_where_closed(fd);
	return fd;
}

void shim_where_closed_all(void)
{
	int fd;

	for (fd = FIRST_FD; fd < FDS; fd++)
		shim_where_closed(fd);
}

void shim_where_distrust(void)
{
	atomic_store(&is_distrusted, true);
	shim_where_moved();
	shim_where_closed_all();
}

/* ---- texts ---- */

/* Copies a path that needs no folding: no empty, "." or ".." component. 0 = it does, or is
 * too long. One pass; core/path.h's join takes three, for what happens in one path of twenty. */
static size_t copy_plain(char *to, size_t size, const char *p)
{
	char *t = to;
	const char *end = to + size - 1;

	for (; *p && t < end; *t++ = *p++) {
		if (p[0] == '/' && (p[1] == '/' || p[1] == '\0'))
			return 0;
		if (p[0] == '/' && p[1] == '.' && (p[2] == '\0' || p[2] == '/' || p[2] == '.'))
			return 0;
	}
	if (*p)
		return 0;
	*t = '\0';
	return (size_t)(t - to);
}

static inline bool starts_with_dots(const char *p)
{
	return p[0] == '.' && (p[1] == '\0' || p[1] == '/' || p[1] == '.');
}

static inline bool may_be_alias(const char *text)
{
	unsigned char c = (unsigned char)text[1];

	return shim.alias_first[c / 32] >> c % 32 & 1;
}

/* "/bin/sh" becomes "/usr/bin/sh", as resolved at launch. */
static bool follow_alias(char *buf, size_t *len)
{
	const unsigned char *base = shim.image.base;
	const struct sbx_image_alias *a =
		(const struct sbx_image_alias *)(const void *)(base + shim.image.hdr->aliases);
	uint32_t i, n = shim.image.hdr->naliases;

	for (i = 0; i < n; i++, a++) {
		const char *from = (const char *)base + a->from.off;
		size_t rest;

		if (!sbx_path_under(buf, *len, from, a->from.len))
			continue;
		rest = *len - a->from.len;
		if (a->to.len + rest >= SBX_PATH_MAX)
			return false;
		memmove(buf + a->to.len, buf + a->from.len, rest + 1);
		memcpy(buf, base + a->to.off, a->to.len);
		*len = a->to.len + rest;
		return true;
	}
	return false;
}

static struct shim_text absolute_text(char *buf, const char *path)
{
	struct shim_text t = {.len = copy_plain(buf, SBX_PATH_MAX, path)};

	/* what folds to a short text may be too long for the kernel all the same */
	if (!t.len && strlen(path) < SBX_PATH_MAX)
		t.len = sbx_path_join(buf, SBX_PATH_MAX, NULL, 0, path, &t.flags);
	t.flags |= SHIM_TEXT_ABSOLUTE;
	return t;
}

static struct shim_text relative_text(char *buf, int dirfd, const char *path)
{
	struct shim_text t = {.len = dirfd == AT_FDCWD ? cwd_text(buf) : dirfd_text(dirfd, buf)};
	size_t n;

	if (!t.len)
		return t;
	t.base = t.len == 1 ? 0 : t.len; /* the root's slash is the one we add */
	buf[t.base] = '/';
	if (!starts_with_dots(path) && t.base + 2 < SBX_PATH_MAX) {
		n = copy_plain(buf + t.base + 1, SBX_PATH_MAX - t.base - 1, path);
		if (n) {
			t.len = t.base + 1 + n;
			return t;
		}
	}
	/* in place: join reads each component of the directory where it writes it */
	t.len = strlen(path) < SBX_PATH_MAX
			? sbx_path_join(buf, SBX_PATH_MAX, buf, t.len, path, &t.flags)
			: 0;
	return t;
}

struct shim_text shim_text(char *buf, int dirfd, const char *path)
{
	struct shim_text t =
		path[0] == '/' ? absolute_text(buf, path) : relative_text(buf, dirfd, path);

	if (t.len && !(t.flags & SBX_PATH_DOTDOT) && may_be_alias(buf) && follow_alias(buf, &t.len))
		t.flags |= SHIM_TEXT_ABSOLUTE;
	return t;
}

/* ---- a name proved ---- */

enum { LINKS_MAX = 8, LINK_SIZE = 512, HOLD = O_PATH | O_CLOEXEC };

/* The kernel resolves the path, and /proc shows the result. */
static int hold_by_kernel(int dirfd, const char *path, char *buf, size_t *out_len)
{
	int fd = sys_openat(dirfd, path, HOLD, 0);

	*out_len = fd >= 0 ? shim_fd_text(fd, buf) : 0;
	return fd;
}

/* In a sticky directory anybody may write to, the kernel follows only links of certain owners
 * (fs.protected_symlinks): that question stays with the kernel. */
static long read_link(int parent, const char *name, char *link)
{
	struct stat st;
	long n;

	if (sys_fstat(parent, &st) < 0 || (st.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH))
		return -EACCES;
	n = sys_readlinkat(parent, name, link, LINK_SIZE - 1);
	if (n <= 0 || n >= LINK_SIZE - 1)
		return -EINVAL;
	link[n] = '\0';
	return n;
}

static bool has_dots(const char *p)
{
	for (; *p; p++)
		if (p[0] == '.' && p[1] == '.')
			return true;
	return false;
}

/* Replaces the last component of buf, whose parent is proven, by where its link points. ".."
 * may be folded at the front of the link only: there it stands on the proven parent. */
static bool follow(char *buf, size_t *len)
{
	char link[LINK_SIZE];
	const char *rest = link;
	size_t parent = sbx_path_parent(buf, *len), name = parent == 1 ? 1 : parent + 1;
	struct shim_text t;
	int fd;
	long n;

	if (parent > 1)
		buf[parent] = '\0';
	fd = sys_open_proven(AT_FDCWD, parent > 1 ? buf : "/", HOLD | O_DIRECTORY, 0);
	if (parent > 1)
		buf[parent] = '/';
	if (fd < 0)
		return false;
	n = read_link(fd, buf + name, link);
	sys_close(fd);
	if (n < 0)
		return false;
	if (link[0] == '/') {
		t = shim_text(buf, AT_FDCWD, link);
		*len = t.len;
		return t.len && !(t.flags & SBX_PATH_DOTDOT);
	}
	for (; shim_has_prefix(rest, "../"); rest += 3)
		parent = sbx_path_parent(buf, parent);
	if (!*rest || has_dots(rest))
		return false;
	*len = parent == 1 ? 0 : parent;
	return shim_append(buf, SBX_PATH_MAX, len, "/", 1) &&
	       shim_append(buf, SBX_PATH_MAX, len, rest, strlen(rest));
}

int shim_hold(int dirfd, const char *path, char *buf, size_t *out_len)
{
	struct shim_text t;
	int links;

	if (!shim_holds_proven())
		return hold_by_kernel(dirfd, path, buf, out_len);
	t = shim_text(buf, dirfd, path);
	/* links in /proc are not texts but jumps */
	if (!t.len || t.flags & (SBX_PATH_DOTDOT | SBX_PATH_MAGIC | SBX_PATH_TRAILING))
		return hold_by_kernel(dirfd, path, buf, out_len);
	for (links = 0; links < LINKS_MAX; links++) {
		int fd = sys_open_proven(AT_FDCWD, buf, HOLD, 0);

		if (fd >= 0) {
			*out_len = t.len;
			return fd;
		}
		shim_held_proven(fd);
		if (fd != -ELOOP || !follow(buf, &t.len) || shim_has_prefix(buf, "/proc/"))
			break;
	}
	return hold_by_kernel(dirfd, path, buf, out_len);
}

/* Asks the kernel how a directory treats names. */

#define ALL (SBX_FOLDS_CASE | SBX_FOLDS_ALIAS)

static unsigned of_flags(int fd)
{
	unsigned long flags = 0;
	long rc = sys3(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags);

	if (rc == -ENOTTY || rc == -EOPNOTSUPP)
		return 0; /* there are no flags, so no such flag */
	if (rc < 0)
		return ALL;
	return flags & SBX_CASEFOLD_FL ? SBX_FOLDS_CASE : 0;
}

static unsigned of_geometry(int fd)
{
	unsigned char geometry[SBX_XFS_GEOMETRY_N];
	uint32_t flags;

	SYS_FILLS(geometry, sizeof geometry);
	if (sys3(SYS_ioctl, fd, SBX_XFS_GEOMETRY, geometry) < 0)
		return ALL;
	__builtin_memcpy(&flags, geometry + SBX_XFS_FLAGS_AT, sizeof flags);
	return flags & SBX_XFS_ASCII_CI ? SBX_FOLDS_CASE : 0;
}

int sys_folds(const char *dir)
{
	unsigned long st[32] = {0}; /* struct statfs, which begins with the type */
	int fd = sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC, 0);
	enum sbx_fs fs = SBX_FS_UNKNOWN;
	unsigned how;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? -1 : (int)ALL;
	SYS_FILLS(st, sizeof st);
	if (sys2(SYS_fstatfs, fd, st) == 0)
		fs = sbx_fs_of_type((uint32_t)st[0]);
	how = fs == SBX_FS_FLAGGED ? of_flags(fd)
	      : fs == SBX_FS_XFS   ? of_geometry(fd)
				   : sbx_fs_how(fs);
	sys_close(fd);
	return (int)how;
}
