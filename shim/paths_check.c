/* SPDX-License-Identifier: Apache-2.0 */
/* paths_check.c - see paths_check.h. */
#include "shim/paths_check.h"

#include <stdio.h>
#include <unistd.h>

#include "core/decide.h"
#include "shim/judge.h"
#include "shim/marks.h"
#include "shim/mem.h"
#include "shim/next.h"
#include "shim/proc.h"
#include "shim/sys.h"
#include "shim/where.h"

/* ---- judging ---- */

/* 0 or -errno */
static int look_at_end(const struct shim_end *e, struct stat *st)
{
	return shim_has_filter() ? -ENOENT : sys_lstatat(e->at, e->name, st);
}

static bool stat_end(const struct shim_end *e, struct stat *st)
{
	return look_at_end(e, st) == 0;
}

/* The error that the kernel would have returned without the shim; 0 = none. */
static int kernel_refusal(const struct shim_end *e, bool must_exist)
{
	struct stat st;
	int rc;

	if (!shim_has_filter() && e->how & SHIM_NUMBER && sys_is_path_only(e->dirfd))
		return EBADF;
	if (shim_has_filter() || e->how & SHIM_FOLLOW)
		return 0;
	rc = look_at_end(e, &st);
	if (rc == -ENOTDIR)
		return ENOTDIR;
	if (rc < 0)
		return must_exist ? ENOENT : 0;
	if (e->how & SHIM_NEW)
		return EEXIST;
	if (e->how & SHIM_A_DIR && !S_ISDIR(st.st_mode))
		return ENOTDIR;
	if (e->how & SHIM_A_DIR && must_exist && sys_holds_something(e->at, e->name))
		return ENOTEMPTY;
	if (e->how & SHIM_NO_DIR && S_ISDIR(st.st_mode))
		return EISDIR;
	return 0;
}

static enum shim_way refuse(struct shim_op *op, unsigned which)
{
	unsigned i;

	op->is_told = true;
	op->flags |= which ? SBX_EVF_PATH2_DENIED : 0;
	op->err = 0;
	for (i = 0; i < op->nends && !op->err; i++)
		op->err = kernel_refusal(&op->end[i], i == 0 && !(op->end[i].how & SHIM_NEW));
	if (!op->err)
		op->err = EACCES;
	shim_set_errno(op->err);
	return SHIM_REFUSE;
}

/* SBX_MOVES_*. An object that cannot be examined may be of any kind, so it gets the stricter one.
 */
static unsigned what_moves(const struct shim_end *e)
{
	struct stat st;

	if (shim_has_filter())
		return SBX_MOVES_DIR | SBX_MOVES_SOCKET;
	if (!stat_end(e, &st))
		return 0;
	return S_ISDIR(st.st_mode) ? SBX_MOVES_DIR : S_ISSOCK(st.st_mode) ? SBX_MOVES_SOCKET : 0;
}

static bool may_move(struct shim_op *op, unsigned from, unsigned to)
{
	void *room SHIM_GIVEN_BACK = (from | to) & SBX_MOVES_DIR ? SHIM_ROOM(SBX_MOVE_ROOM) : NULL;
	const struct shim_end *a = &op->end[0], *b = &op->end[1];
	struct sbx_move_ends there = {a->path, a->len, b->path, b->len};
	struct sbx_move_ends back = {b->path, b->len, a->path, a->len};
	enum sbx_op against = SBX_MODIFY;

	if (sbx_move_allowed_in(room, &shim.image, &there, from, &against) &&
	    (op->moving != SHIM_SWAPS ||
	     sbx_move_allowed_in(room, &shim.image, &back, to, &against)))
		return true;
	op->aux = against;
	return false;
}

/* A rename takes what lies below with it: no rule may be escaped, or met, on the way. The broker
 * can look at what does lie there, and knows the sockets that the run has made; where there is
 * none, no name there could be may object, and no socket. */
static bool move_allowed(struct shim_op *op)
{
	const struct shim_end *a = &op->end[0], *b = &op->end[1];
	unsigned from, to = 0;

	/* for any kind of object; the broker counts directories */
	if (op->moving == SHIM_MOVES && shim_has_broker() &&
	    sbx_move_free(&shim.image, a->path, a->len, b->path, b->len))
		return true;
	from = what_moves(&op->end[0]);
	/* of directories there are no links */
	if (op->moving == SHIM_LINKS)
		from = (from & SBX_MOVES_SOCKET) | SBX_MOVES_KEPT;
	else if (op->moving == SHIM_SWAPS)
		to = what_moves(&op->end[1]);
	op->is_dir = (from | to) & SBX_MOVES_DIR;
	if (may_move(op, from, to))
		return true;
	op->is_left = (from | to) & (SBX_MOVES_DIR | SBX_MOVES_SOCKET) && shim.ring->judges_moves &&
		      may_move(op, from & SBX_MOVES_KEPT, 0);
	op->flags |= op->is_left ? 0 : SBX_EVF_MOVE;
	return op->is_left;
}

static enum shim_way judge(struct shim_op *op)
{
	struct shim_verdict v;
	unsigned i;

	for (i = 0; i < op->nends; i++) {
		v = shim_judge(op->op, op->end[i].path, op->end[i].len);
		if (!v.allowed)
			return refuse(op, i);
		op->key = op->op == SBX_READ ? v.key : 0;
	}
	if (op->moving != SHIM_STAYS && !move_allowed(op))
		return refuse(op, 0);
	op->flags |= SBX_EVF_ALLOWED;
	op->is_told = true;
	if (shim_has_filter() || op->end[0].how & (SHIM_FOLLOW | SHIM_JUDGE_ONLY))
		return SHIM_PASS;
	return SHIM_AT;
}

/*
 * Named by their whole paths.
 *
 * The broker judges texts: of a name in a directory it asks the kernel first where that is, which
 * costs it more than the caller. So the caller says it, where it has just proved it, by opening the
 * parent by that path or by asking for the cwd; and with it how often directories had moved before,
 * by which the broker, which then holds the lock of moves, sees that none has since. Whatever came
 * between, the ends that are held are tried again.
 */

static bool is_cwd_as_noted(const struct shim_op *op)
{
	const struct shim_end *a = &op->end[0], *b = &op->end[1], *first = NULL;

	for (unsigned i = 0; i < op->nends; i++) {
		const struct shim_end *e = &op->end[i];

		if (*e->asked == '/')
			continue;
		if (first && a->base == b->base && !memcmp(a->path, b->path, a->base))
			continue;
		if (!shim_cwd_is(e->path, e->base))
			return false;
		first = e;
	}
	return true;
}

static bool may_name_by_text(const struct shim_op *op)
{
	for (unsigned i = 0; i < op->nends; i++)
		if (!op->end[i].is_text || op->end[i].deep)
			return false;
	return shim_has_broker() && is_cwd_as_noted(op);
}

static void name_ends(struct shim_op *op, bool by_text)
{
	op->is_by_text = by_text;
	for (unsigned i = 0; i < op->nends; i++) {
		struct shim_end *e = &op->end[i];

		e->call_at = by_text ? SBX_AT_SINCE(op->since) : e->at;
		e->call_name = by_text ? e->path : e->name;
	}
}

bool shim_again(struct shim_op *op, int ret)
{
	int err = shim_get_errno();
	bool again = err == ESTALE;

	if (!op->is_by_text || ret >= 0)
		return false;
	/* where the cwd's path leads nowhere nothing of what failed by it is true */
	for (unsigned i = 0; i < op->nends && !again; i++)
		again = (err == EACCES || err == ENOENT) && *op->end[i].asked != '/' &&
			!shim_cwd_leads(op->end[i].path, op->end[i].base);
	if (!again)
		return false;
	name_ends(op, false);
	shim_set_errno(op->saved_errno);
	return true;
}

enum shim_way shim_begin(struct shim_op *op)
{
	enum shim_way way;
	unsigned i;

	if (!shim_is_ready())
		return SHIM_PASS;
	op->since = shim_where_since();
	op->saved_errno = shim_get_errno();
	for (i = 0; i < op->nends; i++) {
		int rc = shim_find(&op->end[i]);

		if (rc == 0)
			continue;
		if (rc == SHIM_AS_IS)
			return SHIM_PASS;
		if (rc == SHIM_UNKNOWN && !shim_trouble()) {
			op->is_dir = true; /* for all we know */
			return SHIM_PASS;
		}
		op->err = rc < 0 ? -rc : EACCES;
		shim_set_errno(op->err);
		return SHIM_REFUSE;
	}
	way = judge(op);
	op->is_marked = way == SHIM_AT && shim.marks && shim_op_marks(op);
	/* what is held serves, should it come out that it is not granted */
	if (way == SHIM_AT)
		name_ends(op, !op->is_marked && may_name_by_text(op));
	return way;
}

int shim_end(struct shim_op *op, int ret)
{
	int err = shim_get_errno();
	unsigned i;

	for (i = 0; i < op->nends; i++)
		shim_end_close(&op->end[i]);
	if (op->moving != SHIM_STAYS && op->moving != SHIM_LINKS && op->is_dir && ret == 0)
		atomic_fetch_add_explicit(&shim.ring->moves, 1, memory_order_relaxed);
	/* by the broker, which knows what objected: it looks at trees and at links */
	if (op->op == SBX_MODIFY && ret != 0 && err == EACCES && shim.ring &&
	    op->flags & SBX_EVF_ALLOWED && shim.ring->judges_moves)
		op->is_told = false;
	/* an attribute that is not there was not read */
	if (op->op == SBX_READ && ret < 0 && op->flags & SBX_EVF_ALLOWED)
		op->is_told = shim.level == SBX_AUDIT_ALL;
	/* the kernel would have refused without us: no denial to report */
	if (!(op->flags & SBX_EVF_ALLOWED) && err != EACCES && shim.level != SBX_AUDIT_ALL)
		op->is_told = false;
	if (op->is_told) {
		struct shim_told t = {
			.call = op->call,
			.op = op->op,
			.err = ret < 0 ? err : 0,
			.flags = op->flags,
			.aux = op->aux,
			.path = op->end[0].path,
			.len = op->end[0].len,
			.path2 = op->nends > 1 ? op->end[1].path : NULL,
			.len2 = op->nends > 1 ? op->end[1].len : 0,
			.asked = op->end[0].asked,
			.asked2 = op->nends > 1 ? op->end[1].asked : NULL,
		};

		shim_tell(&t, op->key);
	}
	for (i = 0; i < op->nends; i++)
		if (op->end[i].deep)
			shim_deep_release(&(struct shim_deep){.room = op->end[i].deep, .at = -1});
	shim_set_errno(err);
	return ret;
}

/* ---- questions ---- */

static bool is_dir(const struct shim_end *e)
{
	struct stat st;
	int fd, rc;

	if (shim_has_filter())
		return false;
	fd = sys_openat(e->dirfd, *e->asked ? e->asked : ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	rc = sys_fstat(fd, &st);
	sys_close(fd);
	return rc == 0;
}

/* Searching a directory is free; writing to one means making something in it. */
static bool is_denied(const struct shim_end *e, enum sbx_op op)
{
	if (shim_judge(op, e->path, e->len).allowed)
		return false;
	if (op == SBX_READ || !is_dir(e))
		return true;
	return op == SBX_MODIFY &&
	       sbx_subtree(&shim.image, op, e->path, e->len) == SBX_SUBTREE_DENY;
}

int shim_access_denied(int dirfd, const char *path, int mode, int flags)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct shim_end e = {.path = buf,
			     .dirfd = dirfd,
			     .asked = path,
			     .how = shim_how(flags) | SHIM_JUDGE_ONLY};
	int rc;

	if (!shim_is_ready() || !(mode & (R_OK | W_OK | X_OK)))
		return 0;
	rc = shim_find(&e);
	shim_end_close(&e);
	if (rc == SHIM_UNKNOWN)
		return shim_trouble() ? EACCES : 0;
	if (rc)
		return 0;
	if ((mode & R_OK && is_denied(&e, SBX_READ)) ||
	    (mode & W_OK && is_denied(&e, SBX_MODIFY)) || (mode & X_OK && is_denied(&e, SBX_EXEC)))
		return EACCES;
	return 0;
}

void shim_query(unsigned call, int dirfd, const char *path, bool failed)
{
	int err = failed ? shim_get_errno() : 0;
	struct shim_told t = {.call = call, .err = err, .flags = SBX_EVF_ALLOWED | SBX_EVF_QUERY};
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);

	/* a pointer the kernel could not follow is not followed here either */
	if (shim.level != SBX_AUDIT_ALL || !shim_is_ready() || err == EFAULT ||
	    shim_is_no_pointer(path) || !*path)
		return;
	t.path = buf;
	t.len = shim_text(buf, dirfd, path).len;
	if (t.len)
		shim_tell(&t, 0);
	if (failed)
		shim_set_errno(err);
}

int shim_access_answer(unsigned call, int dirfd, const char *path, int mode, int flags, int ret)
{
	int saved, denied;

	if (ret == 0) {
		saved = shim_get_errno();
		denied = shim_access_denied(dirfd, path, mode, flags);
		shim_set_errno(denied ? denied : saved);
		ret = denied ? -1 : 0;
	}
	if (shim.level == SBX_AUDIT_ALL)
		shim_query(call, dirfd, path, ret < 0);
	return ret;
}

/* ---- flags of calls ---- */

unsigned shim_how(int flags)
{
	return (flags & AT_SYMLINK_NOFOLLOW ? SHIM_LAST | SHIM_ATTRS : SHIM_FOLLOW) |
	       (flags & AT_EMPTY_PATH ? SHIM_EMPTY : 0);
}

unsigned shim_how_link(int flags)
{
	return (flags & AT_SYMLINK_FOLLOW ? SHIM_FOLLOW : SHIM_LAST) |
	       (flags & AT_EMPTY_PATH ? SHIM_EMPTY : 0) | SHIM_SOURCE;
}

int shim_remove_at(int at, const char *name)
{
	int saved = shim_get_errno(), rc = NEXT(unlinkat)(at, name, 0);

	if (rc == 0 || shim_get_errno() != EISDIR)
		return rc;
	shim_set_errno(saved);
	return NEXT(unlinkat)(at, name, AT_REMOVEDIR);
}
