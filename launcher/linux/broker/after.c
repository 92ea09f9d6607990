/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after.c - after the act: is it still what it was judged to be?
 *
 * The lock of moves (public.h) is one for the brokers of a user. It does not stop brokers of other
 * users or of containers, nor the host, which may move a directory while this broker creates
 * something in it. Therefore both check a second time, and one of the two sees the other's act. A
 * worker that moves a directory waits a little, searches it again at its new place, and moves it
 * back if a rule objects (move.c). A worker that makes a name, and took longer than that wait, asks
 * where the directory is, and removes a name that may not be there. A quick worker need not ask:
 * the other's second look comes after its act.
 */
#include "launcher/linux/broker/broker.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "core/path.h"

#define QUICK_NS    100000u
#define PATIENCE_NS 200000u /* twice that */

uint64_t br_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool br_was_slow(const struct br_call *c)
{
	return br_now_ns() - c->locked_ns >= QUICK_NS;
}

/* The only signal that ends this sleep is the one for a caller that has ended. */
void br_let_them_act(void)
{
	const uint64_t end = br_now_ns() + PATIENCE_NS;
	_Atomic uint32_t nobody = 0;

	for (uint64_t now = br_now_ns(); now < end; now = br_now_ns()) {
		const struct timespec rest = {0, (long)(end - now)};

		syscall(SYS_futex, &nobody, FUTEX_WAIT_PRIVATE, 0, &rest, NULL, 0);
	}
}

/* Another process has removed the directory with what was made in it. The act was done where it was
 * judged, and nothing of it is elsewhere. */
static bool is_removed(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && !st.st_nlink;
}

/* 0: it is where it was; 1: it is elsewhere, at path and len; -1: its place is not known. */
static int look_where(struct br_call *c, struct br_end *e)
{
	size_t parent = sbx_path_parent(e->path, e->len), len, n;
	b_auto_free char *now = b_malloc(SBX_DEEP_ROOM);
	char name[NAME_MAX + 1];

	if (br_text_of_dir(c->b, e->at, now, &len) < 0)
		return is_removed(e->at) ? 0 : -1;
	if (len == parent && !memcmp(now, e->path, len))
		return 0;
	n = e->len - parent - (parent > 1);
	memcpy(name, e->path + e->len - n, n);
	memcpy(e->path, now, len + 1);
	e->len = len > 1 ? len : 0;
	return sbx_deep_append(e->path, &e->len, name, n) ? 1 : -1;
}

bool br_is_misplaced(struct br_call *c, struct br_end *e)
{
	int moved = br_was_slow(c) ? look_where(c, e) : 0;

	return moved < 0 || (moved && !br_allowed(c, SBX_MODIFY, e->path, e->len));
}

struct br_answer br_made(struct br_call *c, struct br_end *e, struct br_answer a, int flags)
{
	br_test_point(c->b, BR_POINT_MADE);
	if (a.kind == BR_KIND_VALUE && br_is_misplaced(c, e)) {
		(void)unlinkat(e->at, e->name, flags);
		return br_deny(c, SBX_MODIFY, e, 0);
	}
	return br_told_result(c, SBX_MODIFY, a);
}

/* The broker made it, or another process made it in the same second and has not written to it
 * since. */
static bool is_new_file(int fd)
{
	const uint64_t second = 1000000000u;
	struct statx st;
	uint64_t born;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0 ||
	    !(st.stx_mask & STATX_BTIME) || st.stx_size || st.stx_nlink != 1)
		return false;
	born = (uint64_t)st.stx_btime.tv_sec * second + st.stx_btime.tv_nsec;
	return memcmp(&st.stx_btime.tv_sec, &st.stx_mtime.tv_sec, sizeof st.stx_btime.tv_sec) ==
		       0 &&
	       st.stx_btime.tv_nsec == st.stx_mtime.tv_nsec && born + second > b_now_real_ns();
}

/* Judges by the directory that its path names now, if it exists. */
static void take_away(const struct br_call *c, const struct br_end *e, int fd)
{
	size_t parent = sbx_path_parent(e->path, e->len);
	char dir[BR_TEXT_MAX];
	struct stat its, there;
	b_auto_fd int at = -1;
	const char *name = e->path + parent + (parent > 1);

	if (!is_new_file(fd) || parent >= sizeof dir)
		return;
	memcpy(dir, e->path, parent);
	dir[parent] = '\0';
	at = br_open_plain(c->b->root, dir, O_DIRECTORY);
	if (at >= 0 && fstat(fd, &its) == 0 &&
	    fstatat(at, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && its.st_ino == there.st_ino &&
	    its.st_dev == there.st_dev)
		(void)unlinkat(at, name, 0);
}

bool br_is_file_misplaced(struct br_call *c, struct br_end *e, int fd)
{
	char now[BR_TEXT_MAX];
	size_t len;

	if (!br_was_slow(c))
		return false;
	if (br_text_of(c->b, fd, now, &len) < 0)
		return e->at >= 0 && br_is_misplaced(c, e);
	if (len == e->len && !memcmp(now, e->path, len))
		return false;
	memcpy(e->path, now, len + 1);
	e->len = len;
	if (br_allowed(c, SBX_MODIFY, e->path, e->len))
		return false;
	take_away(c, e, fd);
	return true;
}
