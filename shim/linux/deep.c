/* SPDX-License-Identifier: Apache-2.0 */
/* deep.c - see where.h. */
#include "shim/where.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "core/path.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/proc.h"

enum { HOLD_DIR = O_PATH | O_DIRECTORY | O_CLOEXEC, FOLLOWS_MAX = 40, NAME_SIZE = 256 };

/* One mapping: the path, the path asked for as far as it is left, and the name at hand. */
enum { ASKED_AT = SBX_DEEP_ROOM, NAME_AT = ASKED_AT + SBX_PATH_MAX };
#define MAPPED (NAME_AT + NAME_SIZE)

/* ---- the system calls of core/deep.h ---- */

static int up(int dir)
{
	return sys_openat(dir, "..", HOLD_DIR, 0);
}

/* Where openat2 is refused symlinks are not: what is kept then could be spelled with one that came
 * since. The floor judges objects. */
static int down(int at, const char *path)
{
	int fd = -ENOSYS;

	if (shim_holds_proven())
		fd = sys_open_quickly(at, path, HOLD_DIR, 0);
	shim_held_proven(fd);
	if (fd != -ENOSYS && fd != -EPERM)
		return fd;
	return sys_openat(at, path, HOLD_DIR, 0);
}

static int list(int dir)
{
	return sys_openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

static long entries(int fd, void *buf, size_t size)
{
	return sys3(SYS_getdents64, fd, buf, size);
}

static long text(int fd, char *buf, size_t size)
{
	char link[SHIM_FD_PATH_SIZE];

	return sys_readlinkat(AT_FDCWD, shim_fd_path(link, fd), buf, size);
}

static int identify(int at, const char *name, struct sbx_deep_id *out)
{
	struct statx st;
	long rc = sys5(SYS_statx, at, name,
		       AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH),
		       STATX_INO | STATX_NLINK | STATX_MNT_ID, &st);

	if (rc < 0)
		return (int)rc;
	out->is_gone = st.stx_mask & STATX_NLINK && st.stx_nlink == 0;
	out->dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	out->ino = st.stx_ino;
	out->mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
	return 0;
}

static const struct sbx_deep_sys calls = {up, down, list, entries, text, identify, sys_close};

/* ---- */

bool shim_is_deep(int fd)
{
	char first; /* the kernel refuses before it copies */

	return text(fd, &first, sizeof first) == -ENAMETOOLONG;
}

static int map(struct shim_deep *d)
{
	long p = sys6(SYS_mmap, 0, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);

	*d = (struct shim_deep){.at = -1};
	if (p < 0 && p > -4096)
		return SHIM_DEEP_UNKNOWN;
	d->room = (char *)p;
	return 0;
}

/* Whoever finds it taken, a signal handler or a child of fork() for ever, does without. */
static struct sbx_deep_memo memo;
static atomic_flag is_memo_taken = ATOMIC_FLAG_INIT;

static int text_of(struct shim_deep *d, int dir)
{
	bool is_ours = !atomic_flag_test_and_set_explicit(&is_memo_taken, memory_order_acquire);
	long n = sbx_deep_text(&calls, dir, d->room, is_ours ? &memo : NULL);

	if (is_ours)
		atomic_flag_clear_explicit(&is_memo_taken, memory_order_release);
	if (n < 0)
		return n == -ENAMETOOLONG ? (int)n : SHIM_DEEP_UNKNOWN;
	d->len = (size_t)n;
	return 0;
}

int shim_deep_text(struct shim_deep *d, int dir)
{
	int rc = map(d);

	return rc ? rc : text_of(d, dir);
}

/* The path asked for, split at its last slash: the parent is held, *out_name the last component,
 * "." for the parent itself. */
static int hold_parent(struct shim_deep *d, int from, bool *out_slash)
{
	char *asked = d->room + ASKED_AT, *name = d->room + NAME_AT;
	size_t n = strlen(asked), end = n, start;
	int fd;

	while (end && asked[end - 1] == '/')
		end--;
	for (start = end; start && asked[start - 1] != '/';)
		start--;
	*out_slash = end < n;
	if (end - start >= NAME_SIZE)
		return -ENAMETOOLONG;
	memcpy(name, asked + start, end - start);
	name[end - start] = '\0';
	/* "/", "x/.", "..": a directory that is its own parent for us */
	if (!*name || shim_equal(name, ".") || shim_equal(name, "..")) {
		fd = sys_openat(from, asked, HOLD_DIR, 0);
		memcpy(name, ".", 2);
		return fd;
	}
	if (!start)
		return sys_openat(from, ".", HOLD_DIR, 0);
	asked[start] = '\0'; /* the name is copied */
	return sys_openat(from, asked, HOLD_DIR, 0);
}

/* Does the name lead on? Then what it says is what is asked for. 1, 0 or -errno. */
static int follow(const struct shim_deep *d)
{
	char *asked = d->room + ASKED_AT;
	long n = sys_readlinkat(d->at, d->name, asked, SBX_PATH_MAX - 1);

	if (n <= 0)
		/* a link in /proc to what is too deep for it; no link, or nothing at all */
		return n == -ENAMETOOLONG ? -ELOOP : 0;
	asked[n] = '\0';
	return 1;
}

int shim_deep_find(struct shim_deep *d, int dirfd, const char *path, bool want_follow)
{
	int rc = map(d), hops;
	size_t n = strlen(path);
	bool has_slash;

	if (rc)
		return rc;
	if (n >= SBX_PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(d->room + ASKED_AT, path, n + 1);
	d->name = d->room + NAME_AT;
	for (hops = 0; hops < FOLLOWS_MAX; hops++) {
		int parent = hold_parent(d, d->at >= 0 ? d->at : dirfd, &has_slash);

		if (d->at >= 0)
			sys_close(d->at);
		d->at = parent;
		if (parent < 0)
			return parent;
		rc = want_follow || has_slash ? follow(d) : 0;
		if (rc < 0)
			return SHIM_DEEP_UNKNOWN;
		if (rc == 0)
			break;
	}
	if (hops == FOLLOWS_MAX)
		return -ELOOP;
	rc = text_of(d, d->at);
	if (rc == 0 && !shim_equal(d->name, ".") &&
	    !sbx_deep_append(d->room, &d->len, d->name, strlen(d->name)))
		rc = -ENAMETOOLONG;
	return rc;
}

void shim_deep_release(struct shim_deep *d)
{
	if (d->at >= 0)
		sys_close(d->at);
	if (d->room)
		sys2(SYS_munmap, d->room, MAPPED);
	*d = (struct shim_deep){.at = -1};
}
