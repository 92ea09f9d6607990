/* SPDX-License-Identifier: Apache-2.0 */
/* move.c - rename: two ends, judged together under the exclusive lock. */
#include "launcher/linux/broker/move.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/linux/broker/anew.h"
#include "launcher/linux/broker/compare.h"
#include "launcher/linux/broker/names.h"

struct br_answer br_move_tell(const struct br_move *m, struct br_answer a, unsigned flags)
{
	bool allowed = flags & SBX_EVF_ALLOWED;
	unsigned did = allowed && a.kind != BR_KIND_ERROR ? m->c->did : 0;
	const struct br_told t = {
		.op = SBX_MODIFY,
		.allowed = allowed,
		.err = a.kind == BR_KIND_ERROR ? a.err : 0,
		.flags = flags & ~SBX_EVF_ALLOWED,
		.aux = flags & SBX_EVF_MOVE ? m->against : did,
		.path = m->from->path,
		.len = m->from->len,
		.path2 = m->to->path,
		.len2 = m->to->len,
	};

	br_tell(m->c, &t);
	return a;
}

struct br_answer br_move_refuse(const struct br_move *m, unsigned flags, enum br_want to)
{
	int says = m->kernel_says ? m->kernel_says : br_kernel_says(m->from, BR_WANT_ANY);

	if (!says && to != BR_WANT_ANY)
		says = br_kernel_says(m->to, to);
	if (m->root && br_is_stood_in(m->c, m->root))
		return br_deny_name(m->c, m->root, SBX_EVF_STOOD_IN, says);
	if (m->root)
		return br_deny_root(m->c, m->root, says);
	if (m->git_link)
		return br_deny_git_link(m->c, m->git_link, says);
	if (m->program)
		return br_deny(m->c, SBX_READ, m->program, says);
	return says ? br_fail(says) : br_move_tell(m, br_fail(EACCES), flags);
}

/* It was done, and is undone. */
static struct br_answer tell_undone(const struct br_move *m, unsigned flags)
{
	return m->program ? br_deny(m->c, SBX_READ, m->program, 0)
			  : br_move_tell(m, br_fail(EACCES), flags);
}

/* The mode of what has the name, 0 = nothing. */
mode_t br_move_mode(const struct br_end *e, struct stat *st)
{
	size_t n = strcspn(e->name, "/");
	char name[NAME_MAX + 1];

	/* without its slash, by which fstatat(2) would follow a symlink */
	memcpy(name, e->name, n);
	name[n] = '\0';
	if (fstatat(e->at, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		st->st_mode = 0;
	return st->st_mode;
}

static bool is_dir(const struct br_end *e)
{
	struct stat st;

	return S_ISDIR(br_move_mode(e, &st));
}

/* SBX_MOVES_* */
unsigned br_move_what(const struct stat *st)
{
	return S_ISDIR(st->st_mode)			      ? SBX_MOVES_DIR
	       : S_ISSOCK(st->st_mode) && !br_made_socket(st) ? SBX_MOVES_SOCKET
							      : 0;
}

bool br_move_may(struct br_move *m, const struct br_end *a, const struct br_end *b, unsigned what)
{
	struct br_pair p = br_pair_of(a, b);
	bool may;

	p.what = what;
	may = br_each_image(m->c, br_moves, &p);
	m->against = p.against;
	return may;
}

static bool may_fold(struct br_move *m, const struct br_end *a, const struct br_end *b, bool dir)
{
	struct br_pair p = br_pair_of(a, b);
	bool may;

	p.what = dir ? SBX_MOVES_DIR : 0;
	may = br_each_image(m->c, br_fold_moves, &p);
	m->against = p.against;
	return may;
}

static bool is_free(const struct br_call *c, const struct br_end *a, const struct br_end *b)
{
	struct br_pair p = br_pair_of(a, b);

	return br_each_image(c, br_moves_freely, &p) && br_each_image(c, br_stays_read, &p);
}

/* Does something that may be read come to where it may not? */
bool br_move_hides(const struct br_call *c, const struct br_end *a, const struct br_end *b)
{
	struct br_pair p = br_pair_of(a, b);

	return !br_each_image(c, br_stays_read, &p);
}

/* A process that has the file open would read what the host writes there later. The file is
 * therefore copied. The targets of symlinks were checked before. */
static bool may_hide(struct br_move *m, const struct br_end *a, const struct br_end *b,
		     const struct stat *st)
{
	if (!br_move_hides(m->c, a, b))
		return true;
	m->against = SBX_READ;
	m->is_made_anew = S_ISREG(st->st_mode);
	return m->is_made_anew || S_ISLNK(st->st_mode);
}

/* Names what objects, in the event. */
static void name_below(struct br_end *e, const struct br_tree *t)
{
	if (!t->len || e->len + t->len + 1 >= PATH_MAX)
		return;
	e->path[e->len++] = '/';
	memcpy(e->path + e->len, t->name, t->len + 1);
	e->len += t->len;
}

/* Something below the directory forbids the move. SBX_EVF_*. */
static unsigned object_below(struct br_move *m, struct br_end *a, struct br_end *b,
			     enum br_tree_answer answer)
{
	m->against = m->tree.against;
	if (answer == BR_TREE_UNSEEN)
		return SBX_EVF_MOVE | SBX_EVF_UNSEEN;
	name_below(a, &m->tree);
	name_below(b, &m->tree);
	return SBX_EVF_MOVE;
}

/* The kernel's error for the new place of a directory, checked before the directory is searched. */
static int no_place(const struct br_move *m, const struct br_end *a, const struct br_end *b)
{
	char name[NAME_MAX + 1];
	size_t n = strcspn(b->name, "/");
	struct stat st;

	/* in the kernel's order */
	if (!br_move_mode(m->from, &st) || (m->swaps && !br_move_mode(m->to, &st)))
		return ENOENT;
	if (m->c->flags & RENAME_NOREPLACE && br_move_mode(m->to, &st))
		return EEXIST;
	if (b->len > a->len && b->path[a->len] == '/' && !memcmp(a->path, b->path, a->len))
		return EINVAL;
	if (m->swaps || !br_move_mode(b, &st))
		return 0;
	memcpy(name, b->name, n);
	name[n] = '\0';
	return !S_ISDIR(st.st_mode) ? ENOTDIR : br_holds_something(b->at, name) ? ENOTEMPTY : 0;
}

/* 0, or SBX_EVF_*. Searches the directory if the rules do not allow the move for every possible
 * name below it. */
static unsigned by_names(struct br_move *m, struct br_end *a, struct br_end *b)
{
	enum br_tree_answer answer;
	struct stat st;
	bool dir;

	if (!br_may_lead_from(m->c, a, b)) {
		m->against = SBX_MODIFY;
		return SBX_EVF_MOVE;
	}
	dir = br_any_folds(m->c) && is_dir(a);
	if (!may_fold(m, a, b, dir))
		return SBX_EVF_MOVE | (dir ? SBX_EVF_UNSEEN : 0);
	if (is_free(m->c, a, b))
		return 0;
	dir = S_ISDIR(br_move_mode(a, &st));
	if (!br_may_name_program(m->c, &st, a, b)) {
		m->program = b;
		return SBX_EVF_MOVE;
	}
	if (!may_hide(m, a, b, &st))
		return SBX_EVF_MOVE;
	if (br_move_may(m, a, b, br_move_what(&st)))
		return 0;
	if (!dir || !br_move_may(m, a, b, SBX_MOVES_KEPT))
		return SBX_EVF_MOVE;
	m->kernel_says = no_place(m, a, b);
	if (m->kernel_says)
		return SBX_EVF_MOVE;
	m->was_looked_through = true;
	answer = br_tree_moves(m->c, a, b, a, &m->tree);
	return answer == BR_TREE_MOVES ? 0 : object_below(m, a, b, answer);
}

/* Judges an object that came from `a` to `b`. */
static unsigned object_now(struct br_move *m, struct br_end *a, struct br_end *b)
{
	enum br_tree_answer answer;

	if (br_is_misplaced(m->c, b))
		return SBX_EVF_PATH2_DENIED;
	if (!m->was_looked_through || !is_dir(b))
		return 0;
	answer = br_tree_moves(m->c, a, b, b, &m->tree);
	return answer == BR_TREE_MOVES ? 0 : object_below(m, a, b, answer);
}

/* The object that forbids the move was made after the directory had moved. It is allowed where it
 * is now, and moving the directory back would bring it to where it is denied. `to` names it
 * (object_below()). */
static bool may_stay(const struct br_move *m, unsigned refused)
{
	return !m->swaps && !(refused & SBX_EVF_UNSEEN) && m->tree.len &&
	       m->against == SBX_MODIFY && br_allowed(m->c, SBX_MODIFY, m->to->path, m->to->len) &&
	       !br_allowed(m->c, SBX_MODIFY, m->from->path, m->from->len);
}

/* If the old name is taken by now, to a name that no rule is about. */
static int move_back(const struct br_move *m)
{
	char aside[40];
	uint64_t id;

	if (syscall(SYS_renameat2, m->to->at, m->to->name, m->from->at, m->from->name,
		    m->swaps ? RENAME_EXCHANGE : RENAME_NOREPLACE) == 0)
		return 0;
	if (m->swaps || getrandom(&id, sizeof id, 0) != sizeof id)
		return -1;
	snprintf(aside, sizeof aside, ".sbx-%016llx.undone", (unsigned long long)id);
	if (syscall(SYS_renameat2, m->to->at, m->to->name, m->to->at, aside, RENAME_NOREPLACE) < 0)
		return -1;
	dprintf(STDERR_FILENO,
		"sbx-launch: E_FLOOR: broker: %s: no rule allows this file here, and its old name "
		"was taken meanwhile: it is now %s in the same directory\n",
		m->to->path, aside);
	return 0;
}

/* Checks after the move: a process that does not use the lock may have created something in the
 * directory, or moved the target directory. 0: it stays; otherwise it was moved back, and the value
 * is the reason. */
static unsigned look_again(struct br_move *m)
{
	size_t from_len = m->from->len, to_len = m->to->len;
	unsigned refused;

	if (m->was_looked_through)
		br_let_them_act();
	refused = object_now(m, m->from, m->to);
	if (refused && may_stay(m, refused)) {
		m->from->path[m->from->len = from_len] = '\0';
		m->to->path[m->to->len = to_len] = '\0';
		refused = 0;
	}
	if (!refused && m->swaps)
		refused = object_now(m, m->to, m->from);
	if (refused && move_back(m) < 0)
		dprintf(STDERR_FILENO,
			"sbx-launch: E_FLOOR: broker: %s: no rule allows this file here, and it "
			"could not be moved back: %s: check what is there now\n",
			m->to->path, strerror(errno));
	return refused;
}

/* links.c: neither a symlink nor a directory with one comes into a git directory. */
unsigned br_move_by_links(struct br_move *m, struct br_end *a, struct br_end *b)
{
	enum br_tree_answer answer;
	unsigned flags = SBX_EVF_MOVE;
	struct stat st;

	if (!S_ISLNK(br_move_mode(a, &st)) && !S_ISDIR(st.st_mode))
		return 0;
	if (!br_is_gits_name(m->c, b->path, b->len))
		return 0;
	m->against = SBX_MODIFY;
	if (S_ISDIR(st.st_mode)) {
		m->tree.is_without_links = true;
		answer = br_tree_moves(m->c, a, b, a, &m->tree);
		if (answer == BR_TREE_MOVES)
			return 0;
		flags = object_below(m, a, b, answer);
	}
	if (!(flags & SBX_EVF_UNSEEN))
		m->git_link = b;
	return flags;
}

/* 0, or SBX_EVF_*. */
static unsigned one_way(struct br_move *m, struct br_end *a, struct br_end *b)
{
	unsigned refused = by_names(m, a, b);

	return refused ? refused : br_move_by_links(m, a, b);
}

/* 0: allowed; else the SBX_EVF_* of the refusal, bit 31 for a plain one. */
unsigned br_move_judge_ends(struct br_move *m)
{
	const struct br_call *c = m->c;

	if (!br_allowed(c, SBX_MODIFY, m->from->path, m->from->len))
		return BR_REFUSED_FROM;
	if (!br_allowed(c, SBX_MODIFY, m->to->path, m->to->len))
		return SBX_EVF_PATH2_DENIED;
	return 0;
}

static int find_ends(struct br_move *m)
{
	int rc = br_find_parent(m->c, m->from);

	return rc ? rc : br_find_parent(m->c, m->to);
}

struct br_answer br_move_not_found(const struct br_call *c, int rc)
{
	return rc == BR_AS_IS || rc == BR_UNREADABLE ? br_proceed(c, BR_PROCEED_NAME)
						     : br_fail(-rc);
}

/* kept.c: a directory stays where it is granted, and no symlink comes to be there. */
static void find_root(struct br_move *m)
{
	struct stat st;

	if (br_is_kept_name(m->c, m->from) || br_is_kept_name(m->c, m->to))
		m->root = br_is_kept_name(m->c, m->from) ? m->from : m->to;
	else if (br_is_stood_in(m->c, m->from) && is_dir(m->from))
		m->root = m->from;
	else if (m->swaps && br_is_stood_in(m->c, m->to) && is_dir(m->to))
		m->root = m->to;
	else if (br_is_grant_root(m->c, m->from) &&
		 (is_dir(m->from) || (m->swaps && S_ISLNK(br_move_mode(m->to, &st)))))
		m->root = m->from;
	else if (br_is_grant_root(m->c, m->to) &&
		 (is_dir(m->to) || S_ISLNK(br_move_mode(m->from, &st))))
		m->root = m->to;
}

/* Before the act. The mode of what it replaces; 0 = nothing, or not looked at. */
static mode_t hold_replaced(const struct br_move *m)
{
	mode_t mode = br_hold_large(m->to);

	if (mode || m->to->fd >= 0)
		m->c->did |= SBX_DID_REPLACE;
	return mode;
}

/* A directory replaces only directories, and a file never replaces one (rename(2)). */
static bool has_moved_dir(const struct br_move *m)
{
	if (m->replaced)
		return S_ISDIR(m->replaced);
	return is_dir(m->to) || (m->swaps && is_dir(m->from));
}

/* Programs with the shim remember paths of directories; who moved one may have none. */
static void tell_shims(const struct br_move *m)
{
	_Atomic uint64_t *moves = m->c->b->plan->moves;

	if (moves && has_moved_dir(m))
		atomic_fetch_add_explicit(moves, 1, memory_order_relaxed);
}

static struct br_answer move_now(struct br_move *m)
{
	const struct br_call *c = m->c;
	unsigned refused;
	int rc;

	rc = (int)syscall(SYS_renameat2, m->from->at, m->from->name, m->to->at, m->to->name,
			  c->flags);
	if (rc < 0)
		return br_move_tell(m, br_result(rc), SBX_EVF_ALLOWED);
	br_test_point(c->b, BR_POINT_MOVED);
	refused = look_again(m);
	tell_shims(m);
	return refused ? tell_undone(m, refused) : br_move_tell(m, br_value(0), SBX_EVF_ALLOWED);
}

/* Everything before the act. 0: it may be done, and the lock is held; else *out is the answer. */
static int judge_move(struct br_move *m, struct br_answer *out)
{
	struct br_call *c = m->c;
	enum br_want to = m->swaps			? BR_WANT_ANY
			  : c->flags & RENAME_NOREPLACE ? BR_WANT_NEW_DIR
							: BR_WANT_ANY;
	unsigned refused;
	int rc = br_lock_moves(c);

	if (rc == 0)
		rc = find_ends(m);
	if (rc == 0 && c->flags & RENAME_WHITEOUT) { /* makes a device node */
		rc = br_kernel_says(m->from, BR_WANT_ANY);
		*out = br_fail(rc ? rc : EPERM);
		return -1;
	}
	if (rc) {
		*out = c->flags & RENAME_WHITEOUT && rc == BR_AS_IS ? br_fail(EBUSY)
								    : br_move_not_found(c, rc);
		return -1;
	}
	refused = br_move_judge_ends(m);
	if (!refused)
		find_root(m);
	if (!refused && !m->root)
		refused = one_way(m, m->from, m->to);
	if (!refused && !m->root && m->swaps)
		refused = one_way(m, m->to, m->from);
	if (refused || m->root)
		*out = br_move_refuse(m, refused & ~BR_REFUSED_FROM, to);
	else if (br_stays(c, m->from, m->to, is_dir(m->from)) ||
		 (m->swaps && br_stays(c, m->to, m->from, is_dir(m->to))))
		*out = br_move_tell(m, br_fail(EXDEV), SBX_EVF_ALLOWED);
	else if (!br_is_alive(c))
		*out = br_fail(EINTR);
	else
		return 0;
	return -1;
}

static struct br_answer not_copied(const struct br_move *m, int rc)
{
	return rc == BR_NOT_COPIED ? br_move_refuse(m, SBX_EVF_MOVE, BR_WANT_ANY)
				   : br_move_tell(m, br_fail(-rc), SBX_EVF_ALLOWED);
}

/* 0: what was judged may have changed meanwhile, unless the copy has a name. */
static int make_copy(struct br_move *m, struct br_copy *copy)
{
	int rc;

	br_copy_drop(copy, m->to);
	rc = br_copy_begin(copy, m->from, m->to, m->c->flags);
	if (rc < 0)
		return rc;
	if (!copy->name[0]) {
		br_unlock(m->c);
		br_test_point(m->c->b, BR_POINT_UNLOCKED);
	}
	return br_copy_fill(copy);
}

static struct br_answer place_copy(struct br_move *m, struct br_copy *copy)
{
	int rc;

	(void)hold_replaced(m);
	rc = br_copy_place(copy, m->from, m->to, m->c->flags);
	if (m->from->fd < 0) /* the last of the original: freed when the lock is given back */
		m->from->fd = b_take_fd(&copy->old);
	return br_move_tell(m, rc < 0 ? br_fail(-rc) : br_value(0), SBX_EVF_ALLOWED);
}

#define COPIES_MAX 8

/* Judged again after each copy, because the lock was not held while it was made. */
static struct br_answer move_file_anew(struct br_move *m, struct br_copy *copy)
{
	struct br_answer out;

	for (unsigned i = 0; i < COPIES_MAX; i++) {
		int rc = make_copy(m, copy);

		if (rc < 0)
			return not_copied(m, rc);
		if (!copy->name[0]) {
			br_ends_release(m->c);
			*m = (struct br_move){
				.c = m->c, .from = m->from, .to = m->to, .swaps = m->swaps};
			if (judge_move(m, &out) < 0)
				return out;
		}
		if (!m->is_made_anew)
			return move_now(m);
		if (br_copy_fits(copy, m->from))
			return place_copy(m, copy);
	}
	return br_fail(EBUSY); /* somebody writes to it all the time */
}

struct br_answer br_rename(struct br_call *c)
{
	struct br_move m = {
		.c = c, .from = &c->end[0], .to = &c->end[1], .swaps = c->flags & RENAME_EXCHANGE};
	struct br_copy copy = BR_COPY_INIT;
	struct br_answer a;

	if (judge_move(&m, &a) < 0)
		return a;
	c->did = m.swaps ? SBX_DID_EXCHANGE : 0;
	if (!m.is_made_anew) {
		if (!m.swaps)
			m.replaced = hold_replaced(&m);
		return move_now(&m);
	}
	a = move_file_anew(&m, &copy);
	br_copy_drop(&copy, m.to);
	return a;
}
