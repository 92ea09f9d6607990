/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - opens that trap.
 *
 * Most paths have no symlink: their text is judged and opened by one openat2(2) that refuses
 * symlinks, so that success proves the object to be the text. All others are found first, held
 * by an O_PATH descriptor, judged by what they are, and opened anew through /proc/self/fd.
 */
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/names.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/path.h"

/* open(2) ignores what it does not know, openat2(2) refuses it. */
#define KNOWN_FLAGS                                                                                \
	(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC |      \
	 O_DSYNC | O_ASYNC | O_DIRECT | O_LARGEFILE | O_DIRECTORY | O_NOFOLLOW | O_NOATIME |       \
	 O_CLOEXEC | O_PATH | O_TMPFILE)
#define TRIES 8 /* at a name that comes and goes while we look */

static bool is_tmpfile(unsigned flags)
{
	return (flags & O_TMPFILE) == O_TMPFILE;
}

/* Access mode 3 is for ioctl(2) only: it neither reads nor writes, but needs both rights. */
static bool wants_read(unsigned flags)
{
	return (flags & O_ACCMODE) != O_WRONLY;
}

static bool wants_write(unsigned flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC || is_tmpfile(flags);
}

static bool is_exclusive(unsigned flags)
{
	return (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}

static bool is_path(const char *a, const char *b)
{
	return a && !strcmp(a, b);
}

/* Files that the shim needs from the broker. */
static bool is_of_run(const struct br_call *c, unsigned flags, const char *path)
{
	const struct lau_broker_plan *p = c->b->plan;

	if (is_path(p->ring_path, path))
		return true;
	return !wants_write(flags) && (is_path(p->image_path, path) || is_path(p->shim_path, path));
}

/* The operation that objects, or -1. */
static int objects(const struct br_call *c, unsigned flags, bool is_new, const char *path,
		   size_t len)
{
	if (is_of_run(c, flags, path))
		return -1;
	if ((wants_write(flags) || is_new) && !br_allowed(c, SBX_MODIFY, path, len))
		return SBX_MODIFY;
	if (wants_read(flags) && !br_allowed(c, SBX_READ, path, len))
		return SBX_READ;
	return -1;
}

/* `st` is the descriptor's; br_lend() came before it was asked for. */
static struct br_answer give(const struct br_open_request *r, int fd, const struct stat *st)
{
	bool is_data = S_ISREG(st->st_mode) && !(st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH));

	return (struct br_answer){
		.kind = BR_KIND_FD,
		.fd = fd,
		.fd_flags = r->flags & O_CLOEXEC,
		.is_alone = (wants_write(r->flags) && !is_data) || S_ISFIFO(st->st_mode),
	};
}

/* As give(). If there is no descriptor, or it must not be passed, the answer is the error. */
static struct br_answer look_and_give(const struct br_open_request *r, int fd)
{
	struct stat st;
	int err;

	if (fd < 0)
		return br_fail(errno);
	if (wants_write(r->flags))
		br_lend(r->c->w);
	err = fstat(fd, &st) < 0 || br_is_stray_device(r->c, &r->c->end[0], &st) ? EACCES : 0;
	if (!err && (!wants_write(r->flags) || br_drop_set_ids(r->c, fd, st.st_mode)))
		return give(r, fd, &st);
	close(fd);
	return err ? br_fail(err) : br_deny_set_ids(r->c, &r->c->end[0]);
}

/* O_TRUNC frees what is large without the lock of moves: who has a file open to write may cut it,
 * wherever it is by then. */
static unsigned cut_later(struct br_open_request *r, const struct stat *st, unsigned flags)
{
	r->cuts = flags & O_TRUNC && S_ISREG(st->st_mode) && br_is_large(st);
	return r->cuts ? flags & ~(unsigned)O_TRUNC : flags;
}

/* By its name in /proc, for an open to read that cuts (fcntl(2) cannot). 0 or -1 with errno. */
static int cut_now(const struct br_open_request *r, int fd)
{
	char name[32];

	br_unlock(r->c);
	br_test_point(r->c->b, BR_POINT_UNLOCKED);
	br_fd_path(name, fd);
	return truncate(name, 0);
}

/* The opened descriptor, or errno. Reports the call if it was for writing. */
static struct br_answer opened(struct br_open_request *r, int fd, bool is_new)
{
	struct br_answer a;

	if (fd >= 0 && is_new && !is_tmpfile(r->flags) &&
	    br_is_file_misplaced(r->c, &r->c->end[0], fd)) {
		close(fd);
		return br_deny(r->c, SBX_MODIFY, &r->c->end[0], 0);
	}
	if (fd >= 0 && r->cuts && cut_now(r, fd) < 0) {
		int err = errno;

		close(fd);
		fd = -1;
		errno = err;
	}
	a = look_and_give(r, fd);
	if (fd >= 0 && a.kind != BR_KIND_FD)
		return a;
	if ((wants_write(r->flags) || is_new) && !is_of_run(r->c, r->flags, r->c->end[0].path))
		return br_told_of_object(r->c, a);
	return a;
}

/* A writer's open of a FIFO waits for readers. With O_NONBLOCK it fails at once (ENXIO), and
 * with a reader there the two are the same; so writers are opened without waiting, and only
 * those that would wait are opened again, without a lock. Readers are not: a reader that looks
 * in and goes makes waiting writers die. */
static unsigned without_waiting(unsigned flags)
{
	/* a file that must be new is not a FIFO */
	if (is_exclusive(flags))
		return flags;
	return (flags & O_ACCMODE) == O_WRONLY ? flags | O_NONBLOCK : flags;
}

static void wait_again(const struct br_open_request *r, int fd)
{
	if (fd >= 0 && !(r->flags & O_NONBLOCK) && without_waiting(r->flags) != r->flags)
		(void)fcntl(fd, F_SETFL, (int)(r->flags & ~(unsigned)O_NONBLOCK));
}

/* ---- the object is held ---- */

/* O_NOFOLLOW stays on what is opened, where fcntl(F_GETFL) shows it, and keeps the descriptor's
 * name in /proc from being opened: by the text that was judged, which no symlink may be on. */
static int reopen_by_text(const struct br_open_request *r, unsigned flags)
{
	const struct br_end *e = &r->c->end[0];
	const struct open_how how = {.flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
				     .resolve = RESOLVE_NO_SYMLINKS};

	if (!(r->flags & O_NOFOLLOW) || e->is_pathless || e->magic || is_tmpfile(flags) ||
	    e->len >= PATH_MAX || !(S_ISREG(e->st.st_mode) || S_ISDIR(e->st.st_mode)) ||
	    br_changes_alone(r->c, e))
		return -1;
	return (int)syscall(SYS_openat2, r->c->b->root, e->path, &how, sizeof how);
}

static int reopen(struct br_open_request *r)
{
	/* of a file without a name O_EXCL says that it never gets one */
	unsigned excl = is_tmpfile(r->flags) ? 0 : O_EXCL;
	struct br_end *e = &r->c->end[0];
	unsigned flags = cut_later(r, &e->st, r->flags & ~(O_CREAT | excl | O_NOFOLLOW));
	bool lends_less;
	char name[32];
	int fd;

	snprintf(name, sizeof name, "%d", e->fd);
	/* open(2): the kernel's error when it has no memory for another pipe */
	if (S_ISFIFO(e->st.st_mode) && !br_may_block(r->c) && !(flags & O_NONBLOCK)) {
		errno = ENOMEM;
		return -1;
	}
	/* to look into another process is the caller's own affair */
	lends_less = !e->is_pathless && br_is_of_another(r->c, e->path);
	if (lends_less && br_set_trace(false) < 0)
		return -1;
	fd = reopen_by_text(r, flags);
	if (fd < 0)
		fd = openat(r->c->b->self_fd, name, (int)(flags | O_CLOEXEC | O_NOCTTY),
			    is_tmpfile(flags) ? r->mode : 0);
	if (fd < 0 && errno == EACCES && r->c->w->is_other && br_is_own_numbers(r->c, e->path))
		fd = br_openat_as_self(r->c, r->c->b->self_fd, name, (int)flags);
	if (lends_less)
		(void)br_set_trace(true);
	return fd;
}

/* /dev/tty is whatever terminal the caller has, not ours: field 7 of proc_pid_stat(5). */
static struct br_answer open_terminal(struct br_open_request *r)
{
	char name[32];
	long nr = br_terminal_of(r->c);
	int fd;

	if (nr <= 0)
		return br_fail(ENXIO);
	if (major((unsigned)nr) < 136 || major((unsigned)nr) > 143)
		return br_fail(EACCES); /* a real console: not by this way */
	snprintf(name, sizeof name, "/dev/pts/%u",
		 (major((unsigned)nr) - 136) * 256 + minor((unsigned)nr));
	fd = open(name, (int)((r->flags & ~(unsigned)(O_CREAT | O_EXCL)) | O_NOCTTY | O_CLOEXEC));
	return fd < 0 ? br_fail(errno) : give(r, fd, &r->c->end[0].st);
}

/* The caller may write to the ring, and not empty it. The broker may have the right to truncate
 * where the ring lies, and a descriptor keeps the rights of its opener: all callers share the one
 * that the command itself opened, under its own domain. */
static struct br_answer lend_ring(const struct br_open_request *r)
{
	int fd;

	if (r->c->b->plan->ring_fd < 0 || r->flags & O_TRUNC || (r->flags & O_ACCMODE) != O_RDWR)
		return br_fail(EACCES);
	fd = fcntl(r->c->b->plan->ring_fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? br_fail(errno)
		      : (struct br_answer){
				.kind = BR_KIND_FD, .fd = fd, .fd_flags = r->flags & O_CLOEXEC};
}

/* Devices and pipes are opened by the caller itself where the kernel's rules are exact for
 * them: a terminal may become its controlling terminal. */
static bool is_for_kernel(const struct br_open_request *r)
{
	const struct br_end *e = &r->c->end[0];

	if (!br_may_proceed(r->c, BR_PROCEED_NODE))
		return false;
	/* another descriptor could be put in place of the one that was judged */
	if (e->is_pathless && S_ISFIFO(e->st.st_mode) && r->c->b->plan->given.n > 0)
		return false;
	return S_ISCHR(e->st.st_mode) || S_ISBLK(e->st.st_mode) ||
	       (e->is_pathless && (S_ISFIFO(e->st.st_mode) || S_ISSOCK(e->st.st_mode)));
}

/* The kernel's error for an existing object, independent of the policy. */
static int refusal(const struct br_open_request *r)
{
	const struct br_end *e = &r->c->end[0];
	bool is_dir = S_ISDIR(e->st.st_mode);

	if (is_exclusive(r->flags))
		return EEXIST;
	if (S_ISLNK(e->st.st_mode))
		return ELOOP;
	if (r->flags & O_DIRECTORY && !is_dir)
		return ENOTDIR;
	if (is_dir && !is_tmpfile(r->flags) && (wants_write(r->flags) || r->flags & O_CREAT))
		return EISDIR;
	return S_ISSOCK(e->st.st_mode) ? ENXIO : 0;
}

/* O_TMPFILE makes a file without a name in the directory: judged as a name there. */
static int name_tmpfile(struct br_end *e)
{
	static const char name[] = "/#tmpfile";

	if (e->len == 1)
		e->len = 0;
	if (e->len + sizeof name > SBX_DEEP_MAX)
		return -1;
	memcpy(e->path + e->len, name, sizeof name);
	e->len += sizeof name - 1;
	return 0;
}

/* objects(), of what has no path. */
static int objects_to_lent(const struct br_open_request *r)
{
	const struct br_end *e = &r->c->end[0];

	if (wants_write(r->flags) && !br_may(r->c, SBX_MODIFY, e))
		return SBX_MODIFY;
	return wants_read(r->flags) && !br_may(r->c, SBX_READ, e) ? SBX_READ : -1;
}

static struct br_answer open_held(struct br_open_request *r)
{
	struct br_call *c = r->c;
	struct br_end *e = &c->end[0];
	int err, against;

	err = refusal(r);
	if (err)
		return br_fail(err);
	/* as the kernel says where a mount has no devices */
	if (br_is_stray_device(c, e, &e->st))
		return br_fail(EACCES);
	against = e->is_pathless ? objects_to_lent(r) : -1;
	if (against >= 0)
		return br_deny(c, (enum sbx_op)against, e, 0);
	if (is_for_kernel(r))
		return br_proceed(c, BR_PROCEED_NODE);
	if (wants_write(r->flags) && is_path(c->b->plan->ring_path, e->path))
		return lend_ring(r);
	if (is_tmpfile(r->flags) && name_tmpfile(e) < 0)
		return br_fail(ENAMETOOLONG);
	against = e->is_pathless ? -1 : objects(c, r->flags, false, e->path, e->len);
	if (against < 0 && is_tmpfile(r->flags) && !br_may_make_program(c, e, r->mode))
		against = SBX_READ;
	if (against >= 0)
		return br_deny(c, (enum sbx_op)against, e, 0);
	if (is_tmpfile(r->flags) && !br_may_set_ids(c, S_IFREG, r->mode))
		return br_deny_set_ids(c, e);
	if (wants_write(r->flags) && br_is_foreign_map(c, e->path))
		return br_fail(EACCES);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	if (S_ISCHR(e->st.st_mode) && e->st.st_rdev == makedev(5, 0))
		return open_terminal(r);
	c->did = is_tmpfile(r->flags) ? SBX_DID_CREATE : 0;
	return opened(r, reopen(r), is_tmpfile(r->flags));
}

/* ---- the object is missing ---- */

/* openat2(2). That it makes the file is known, and told, where O_EXCL lets it pass. */
static int open_made(const struct br_open_request *r, int at, const char *name,
		     const struct open_how *how)
{
	struct open_how made = *how;
	int fd;

	made.flags |= how->flags & O_CREAT ? O_EXCL : 0;
	fd = (int)syscall(SYS_openat2, at, name, &made, sizeof made);
	r->c->did = fd >= 0 && made.flags & O_CREAT ? SBX_DID_CREATE : 0;
	return fd < 0 && errno == EEXIST && made.flags != how->flags
		       ? (int)syscall(SYS_openat2, at, name, how, sizeof *how)
		       : fd;
}

static struct br_answer create(struct br_open_request *r, bool *out_again)
{
	struct br_call *c = r->c;
	struct br_end *e = &c->end[0];
	/* not by O_NOFOLLOW, which fcntl(F_GETFL) would show */
	struct open_how how = {.flags = without_waiting(r->flags) | O_NOCTTY | O_CLOEXEC,
			       .mode = r->mode,
			       .resolve = RESOLVE_NO_SYMLINKS};
	int rc, against, fd;

	/* A link led to where not even the parent is; or restrictions hold for the parent as well,
	 * and under them there is none: without them there may be one. */
	if (e->at < 0 && (r->resolve || (e->was_walked && e->follow)))
		return br_fail(ENOENT);
	rc = e->at >= 0 ? 0 : br_find_parent(c, e);
	if (rc < 0)
		return br_fail(-rc);
	if (rc == BR_AS_IS) /* "none/." */
		return br_fail(ENOENT);
	if (e->name[strlen(e->name) - 1] == '/')
		return br_fail(EISDIR);
	against = objects(c, r->flags, true, e->path, e->len);
	if (against < 0 && !br_may_make_program(c, e, r->mode))
		against = SBX_READ;
	if (against >= 0)
		return br_deny(c, (enum sbx_op)against, e, 0);
	if (br_is_kept_name(c, e))
		return br_deny_root(c, e, 0);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	if (!br_may_set_ids(c, S_IFREG, r->mode))
		return br_deny_set_ids(c, e);
	r->cuts = false;
	if (!wants_write(r->flags))
		how.flags |= O_EXCL; /* what came meanwhile may be a FIFO: to be looked at first */
	fd = open_made(r, e->at, e->name, &how);
	if (fd < 0 &&
	    (errno == ELOOP || errno == ENXIO || (errno == EEXIST && !is_exclusive(r->flags)))) {
		*out_again = true;
		return br_fail(errno);
	}
	wait_again(r, fd);
	return opened(r, fd, true);
}

/* An open(2) that may create a file fails for a path that ends in a slash. */
static bool slash_at_end(struct br_open_request *r, struct br_answer *out)
{
	int rc = br_find_parent(r->c, &r->c->end[0]);

	*out = br_fail(rc < 0 ? -rc : EISDIR);
	return rc != BR_AS_IS; /* "dir/./" is there already */
}

static void let_go(struct br_end *e)
{
	if (e->at >= 0)
		close(e->at);
	if (e->fd >= 0)
		close(e->fd);
	e->at = e->fd = -1;
}

static struct br_answer open_slowly(struct br_open_request *r)
{
	struct br_call *c = r->c;
	struct br_end *e = &c->end[0];
	struct br_answer a = br_fail(ELOOP);
	bool again = true;

	e->follow = !(r->flags & O_NOFOLLOW) && !is_exclusive(r->flags);
	e->creates = r->flags & O_CREAT;
	if (r->flags & O_CREAT && !r->resolve && e->asked[e->asked_len - 1] == '/' &&
	    slash_at_end(r, &a))
		return a;
	for (int tries = 0; again && tries < TRIES; tries++) {
		int rc = r->resolve ? br_find_restricted(r) : br_find_object(c, e);

		again = false;
		if (rc == 0)
			return open_held(r);
		if (rc == BR_UNREADABLE)
			return br_proceed_unseen(c);
		if (rc == BR_VANISHED) { /* by a restricted path */
			again = true;
			a = br_fail(ENOENT);
			let_go(e);
			continue;
		}
		if (rc != -ENOENT || !(r->flags & O_CREAT) || is_tmpfile(r->flags))
			return br_fail(-rc);
		a = create(r, &again);
		let_go(e);
	}
	return a;
}

/* ---- by its text ---- */

static bool make_text(struct br_open_request *r)
{
	unsigned flags;

	if (r->resolve & ~(uint64_t)RESOLVE_NO_SYMLINKS || is_tmpfile(r->flags) ||
	    !br_make_text(r->c, &r->c->end[0], &flags))
		return false;
	r->has_slash = flags & SBX_PATH_TRAILING;
	return !r->has_slash || (!(r->flags & O_CREAT) && r->c->end[0].len + 1 < PATH_MAX);
}

static int open_text(const struct br_open_request *r, unsigned flags)
{
	struct br_end *e = &r->c->end[0];
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NOCTTY,
		.mode = r->flags & O_CREAT ? r->mode : 0,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	int fd;

	strcpy(e->path + e->len, r->has_slash ? "/" : "");
	fd = open_made(r, r->c->b->root, e->path, &how);
	e->path[e->len] = '\0';
	return fd;
}

/* A reader's open may wait at a FIFO, and must not under our lock: looked at first. What takes
 * its place between the look and the open makes one worker wait, until its caller is gone. */
static int open_reader(const struct br_open_request *r)
{
	const char *path = r->c->end[0].path;
	struct stat st;

	if (r->flags & O_DIRECTORY || r->has_slash)
		return open_text(r, r->flags);
	if (fstatat(r->c->b->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return open_text(r, r->flags);
	errno = ELOOP; /* not a plain file: the slow way */
	return -1;
}

static int open_writer(struct br_open_request *r)
{
	unsigned flags = without_waiting(r->flags);
	struct stat st;

	if (flags & O_TRUNC && !r->has_slash &&
	    fstatat(r->c->b->root, r->c->end[0].path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		flags = cut_later(r, &st, flags);
	return open_text(r, flags);
}

/* true: *out is the answer. Whatever is not plain is left to the slow way. */
static bool open_fast(struct br_open_request *r, struct br_answer *out)
{
	struct br_call *c = r->c;
	struct br_end *e = &c->end[0];
	bool writes = wants_write(r->flags);
	int fd;

	/* made in /dev's other place it would be in /dev: only the parent can tell */
	if ((r->flags & O_CREAT && (!writes || c->b->is_dev_twice)) || !make_text(r))
		return false;
	/* nor whether it is there: then the mode means nothing */
	if (r->flags & O_CREAT && !br_may_set_ids(c, S_IFREG, r->mode))
		return false;
	if (is_path(c->b->plan->ring_path, e->path) ||
	    (r->flags & O_CREAT && br_is_stream(c, e)) || /* opened, but not made */
	    objects(c, r->flags, r->flags & O_CREAT, e->path, e->len) >= 0 ||
	    (r->flags & O_CREAT && !br_may_make_program(c, e, r->mode)))
		return false;
	/* without a caller a reader's open comes to nothing: ADDFD fails */
	if (writes && !br_is_alive(c)) {
		*out = br_fail(EINTR);
		return true;
	}
	fd = writes ? open_writer(r) : open_reader(r);
	if (fd < 0 && (errno == ELOOP || errno == ENOENT || errno == ENOTDIR || errno == EACCES ||
		       errno == EAGAIN || errno == ENXIO || errno == EWOULDBLOCK))
		return false;
	wait_again(r, fd);
	*out = opened(r, fd, r->flags & O_CREAT);
	return true;
}

/* ---- the calls ---- */

static struct br_answer perform(struct br_call *c, struct br_open_request *r)
{
	struct br_answer a;
	int rc;

	if (r->flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {
		rc = br_become_maker(c);
		if (rc < 0 && rc != BR_UNREADABLE)
			return br_fail(-rc);
		if (rc == BR_UNREADABLE)
			return br_proceed_unseen(c);
	}
	rc = br_lock_shared(c);
	if (rc < 0)
		return br_fail(-rc);
	if (open_fast(r, &a))
		return a;
	let_go(&c->end[0]);
	return open_slowly(r);
}

struct br_answer br_open(struct br_call *c)
{
	struct br_open_request r = {
		.c = c, .flags = c->flags & KNOWN_FLAGS, .mode = c->mode & 07777};

	return perform(c, &r);
}

struct br_answer br_creat(struct br_call *c)
{
	struct br_open_request r = {
		.c = c, .flags = O_CREAT | O_WRONLY | O_TRUNC, .mode = c->mode & 07777};

	return perform(c, &r);
}

struct br_answer br_openat2(struct br_call *c)
{
	struct br_open_request r = {
		.c = c, .flags = c->flags, .mode = c->mode, .resolve = c->resolve};

	/* the caller wants an answer from the cache only; a failure means "not cached" */
	if (r.resolve & RESOLVE_CACHED)
		return br_fail(EAGAIN);
	/* The kernel puts no O_PATH descriptor into another process (ADDFD: EBADF). Where it may
	 * not make one itself, programs, the shim among them, go back to openat(2), whose flags the
	 * filter sees. */
	return r.flags & O_PATH ? br_proceed(c, BR_PROCEED_PATH_ONLY) : perform(c, &r);
}
