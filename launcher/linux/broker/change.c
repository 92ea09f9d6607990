/* SPDX-License-Identifier: Apache-2.0 */
/* change.c - creates, removes and truncates by one path. The broker opens the parent, reads its
 * path under the lock, judges the name below it, and acts relative to the open parent. */
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

bool br_holds_something(int at, const char *name)
{
	char room[512] __attribute__((aligned(8)));
	b_auto_fd int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	long n;

	if (fd < 0)
		return false;
	/* beside "." and ".." a third entry: each takes 24 bytes */
	n = syscall(SYS_getdents64, fd, room, sizeof room);
	return n > 48;
}

int br_kernel_says(const struct br_end *e, enum br_want want)
{
	bool is_new = want == BR_WANT_NEW || want == BR_WANT_NEW_DIR;
	char name[NAME_MAX + 2];
	size_t n = strlen(strcpy(name, e->name));
	bool has_slash = name[n - 1] == '/';
	struct stat st;

	/* a new file is looked up without the trailing slash, which only a directory may have */
	if (is_new && has_slash)
		name[n - 1] = '\0';
	if (fstatat(e->at, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT || !is_new)
			return errno;
		return has_slash && want == BR_WANT_NEW ? ENOENT : 0;
	}
	if (is_new)
		return EEXIST;
	if (want == BR_WANT_FILE && S_ISDIR(st.st_mode))
		return EISDIR;
	if (want != BR_WANT_DIR)
		return 0;
	return !S_ISDIR(st.st_mode) ? ENOTDIR : br_holds_something(e->at, name) ? ENOTEMPTY : 0;
}

#define LARGE (1 << 20)

bool br_is_large(const struct stat *st)
{
	return (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) &&
	       (st->st_size >= LARGE || st->st_blocks * 512 >= LARGE);
}

mode_t br_hold_large(struct br_end *e)
{
	size_t n = strcspn(e->name, "/");
	char name[NAME_MAX + 1];
	struct stat st;

	memcpy(name, e->name, n);
	name[n] = '\0';
	if (e->fd >= 0 || fstatat(e->at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (br_is_large(&st))
		e->fd = openat(e->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return st.st_mode;
}

/* Everything up to the act. 0: go on, the lock is held; else *out is the answer. */
static int prepare(struct br_call *c, enum br_want want, struct br_answer *out)
{
	struct br_end *e = &c->end[0];
	int rc;

	rc = br_lock_shared(c);
	if (rc == 0)
		rc = br_find_parent(c, e);
	if (rc == BR_AS_IS || rc == BR_UNREADABLE)
		*out = br_proceed(c, BR_PROCEED_NAME);
	else if (rc < 0)
		*out = br_fail(-rc);
	else if (!br_allowed(c, SBX_MODIFY, e->path, e->len))
		*out = br_deny(c, SBX_MODIFY, e, br_kernel_says(e, want));
	else if (br_is_kept_name(c, e))
		*out = br_deny_root(c, e, br_kernel_says(e, want));
	else if (!br_is_alive(c))
		*out = br_fail(EINTR);
	else
		return 0;
	return -1;
}

/* A new file gets the caller's umask. It is set before the lock is taken, because it may have to be
 * read. */
static int prepare_new(struct br_call *c, enum br_want want, struct br_answer *out)
{
	int rc = br_become_maker(c);

	if (rc == 0)
		return prepare(c, want, out);
	*out = rc == BR_UNREADABLE ? br_proceed(c, BR_PROCEED_NAME) : br_fail(-rc);
	return -1;
}

struct br_answer br_mkdir(struct br_call *c)
{
	struct br_answer a;

	if (prepare_new(c, BR_WANT_NEW_DIR, &a) < 0)
		return a;
	a = br_result(mkdirat(c->end[0].at, c->end[0].name, c->mode));
	return br_made(c, &c->end[0], a, AT_REMOVEDIR);
}

/* Making device nodes needs a capability that no caller has. The broker may have it. */
struct br_answer br_mknod(struct br_call *c)
{
	unsigned dev_arg = c->row->mode_arg + 1u;
	struct br_answer a;

	if (S_ISCHR(c->mode) || S_ISBLK(c->mode))
		return br_fail(EPERM);
	if (prepare_new(c, BR_WANT_NEW, &a) < 0)
		return a;
	if (!br_may_set_ids(c, c->mode, c->mode))
		return br_deny_set_ids(c, &c->end[0]);
	if ((S_ISREG(c->mode) || !(c->mode & S_IFMT)) &&
	    !br_may_make_program(c, &c->end[0], c->mode))
		return br_deny(c, SBX_READ, &c->end[0], br_kernel_says(&c->end[0], BR_WANT_NEW));
	a = br_result(mknodat(c->end[0].at, c->end[0].name, c->mode, br_arg(c, dev_arg)));
	return br_made(c, &c->end[0], a, 0);
}

/* Reported as a refused move: an object that a rule names would get another name. */
static struct br_answer deny_link(struct br_call *c, int says)
{
	const struct br_end *e = &c->end[0];
	const struct br_told t = {.op = SBX_MODIFY,
				  .err = EACCES,
				  .flags = SBX_EVF_MOVE,
				  .aux = SBX_MODIFY,
				  .path = e->path,
				  .path2 = e->path,
				  .len = e->len,
				  .len2 = e->len};

	if (says)
		return br_fail(says);
	br_tell(c, &t);
	return br_fail(EACCES);
}

static struct br_answer remove_at(struct br_call *c, int flags)
{
	struct br_answer a;

	if (prepare(c, flags ? BR_WANT_DIR : BR_WANT_FILE, &a) < 0)
		return a;
	if (flags && br_is_grant_root(c, &c->end[0]))
		return br_deny_root(c, &c->end[0], br_kernel_says(&c->end[0], BR_WANT_DIR));
	br_hold_large(&c->end[0]);
	a = br_result(unlinkat(c->end[0].at, c->end[0].name, flags));
	return br_told_result(c, SBX_MODIFY, a);
}

struct br_answer br_unlink(struct br_call *c)
{
	return remove_at(c, (int)c->flags);
}

struct br_answer br_rmdir(struct br_call *c)
{
	return remove_at(c, AT_REMOVEDIR);
}

struct br_answer br_symlink(struct br_call *c)
{
	struct br_answer a;
	int says;

	if (prepare(c, BR_WANT_NEW, &a) < 0)
		return a;
	says = br_kernel_says(&c->end[0], BR_WANT_NEW);
	if (br_is_grant_root(c, &c->end[0]))
		return br_deny_root(c, &c->end[0], says);
	if (br_is_gits_name(c, c->end[0].path, c->end[0].len))
		return br_deny_git_link(c, &c->end[0], says);
	if (!br_may_lead(c, &c->end[0], c->end[1].asked))
		return deny_link(c, says);
	a = br_result(symlinkat(c->end[1].asked, c->end[0].at, c->end[0].name));
	return br_made(c, &c->end[0], a, 0);
}

/* setrlimit(2): the caller's limit on file sizes does not apply to the broker, so it is checked
 * here. */
static bool is_too_long(const struct br_call *c)
{
	uint64_t max = c->b->plan->max_size;

	return max && br_arg(c, 1) > max;
}

/* By the descriptor's name in /proc, so that the kernel checks all that it checks for a path. */
struct br_answer br_truncate(struct br_call *c)
{
	struct br_end *e = &c->end[0];
	struct br_answer a;
	char name[32];
	int rc;

	rc = br_lock_shared(c);
	if (rc == 0)
		rc = br_find_object(c, e);
	if (rc == BR_UNREADABLE)
		return br_proceed_unseen(c);
	if (rc < 0)
		return br_fail(-rc);
	if (S_ISDIR(e->st.st_mode))
		return br_fail(EISDIR);
	if (!br_may(c, SBX_MODIFY, e))
		return br_deny(c, SBX_MODIFY, e, 0);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	if (is_too_long(c))
		return br_fail(EFBIG);
	br_fd_path(name, e->fd);
	/* by a descriptor that was opened for writing, so that freeing the blocks does not delay
	 * other callers */
	br_unlock(c);
	br_test_point(c->b, BR_POINT_UNLOCKED);
	a = br_result(truncate(name, (off_t)br_arg(c, 1)));
	return br_told_of_object(c, a);
}

static bool is_ring(const struct br_call *c, int fd)
{
	struct stat ring, st;

	return fstat(c->b->plan->ring_fd, &ring) == 0 && fstat(fd, &st) == 0 &&
	       st.st_dev == ring.st_dev && st.st_ino == ring.st_ino;
}

/* A caller that could open a file for writing may truncate it, except the ring. Done to the
 * description, not left to the kernel: another thread could put a second file under the number. */
struct br_answer br_ftruncate(struct br_call *c)
{
	b_auto_fd int fd = br_take_fd(c, (pid_t)c->n.pid, (int)br_arg(c, 0));

	if (fd < 0)
		return br_fail(-fd);
	if (is_ring(c, fd))
		return br_fail(EACCES);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	if (is_too_long(c))
		return br_fail(EFBIG);
	return br_result(ftruncate(fd, (off_t)br_arg(c, 1)));
}
