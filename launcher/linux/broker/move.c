/* SPDX-License-Identifier: Apache-2.0 */
/* move.c - rename and link: two ends, judged together under the lock that nobody shares. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

struct move {
	struct br_call *c;
	struct br_end *from, *to;
	bool swaps;
	bool was_looked_through;
	enum sbx_op against;	       /* that objects to the move itself */
	const struct br_end *root;     /* the end that is the root of a grant, and changes */
	const struct br_end *program;  /* the end where one may not be that may not be read */
	const struct br_end *git_link; /* the end where a symlink would lead the host's git */
	bool is_made_anew;	       /* a file, so that nobody has what is at the new name */
	/* the name below `from` that objects, told for the directory that was asked about */
	struct br_tree tree;
};

static struct br_answer tell(const struct move *m, struct br_answer a, unsigned flags)
{
	bool allowed = flags & SBX_EVF_ALLOWED;
	const struct br_told t = {
		.op = SBX_MODIFY,
		.allowed = allowed,
		.err = a.kind == BR_KIND_ERROR ? a.err : 0,
		.flags = flags & ~SBX_EVF_ALLOWED,
		.aux = flags & SBX_EVF_MOVE ? m->against : 0,
		.path = m->from->path,
		.len = m->from->len,
		.path2 = m->to->path,
		.len2 = m->to->len,
	};

	br_tell(m->c, &t);
	return a;
}

static struct br_answer refuse(const struct move *m, unsigned flags, enum br_want to)
{
	int says = br_kernel_says(m->from, BR_WANT_ANY);

	if (!says && to != BR_WANT_ANY)
		says = br_kernel_says(m->to, to);
	if (m->root)
		return br_deny_root(m->c, m->root, says);
	if (m->git_link)
		return br_deny_git_link(m->c, m->git_link, says);
	if (m->program)
		return br_deny(m->c, SBX_READ, m->program, says);
	return says ? br_fail(says) : tell(m, br_fail(EACCES), flags);
}

/* It was done, and is undone. */
static struct br_answer tell_undone(const struct move *m, unsigned flags)
{
	return m->program ? br_deny(m->c, SBX_READ, m->program, 0)
			  : tell(m, br_fail(EACCES), flags);
}

/* The mode of what has the name, 0 = nothing. */
static mode_t mode_of(const struct br_end *e, struct stat *st)
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

	return S_ISDIR(mode_of(e, &st));
}

/* SBX_MOVES_* */
static unsigned what_moves(const struct stat *st)
{
	return S_ISDIR(st->st_mode)			      ? SBX_MOVES_DIR
	       : S_ISSOCK(st->st_mode) && !br_made_socket(st) ? SBX_MOVES_SOCKET
							      : 0;
}

static bool may_move(struct move *m, const struct br_end *a, const struct br_end *b, unsigned what)
{
	return sbx_move_allowed(m->c->b->plan->image, a->path, a->len, b->path, b->len, what,
				&m->against) &&
	       br_fold_moves(m->c, a, b, what & SBX_MOVES_DIR, &m->against);
}

/* Does something that may be read come to where it may not? */
static bool hides(const struct br_call *c, const struct br_end *a, const struct br_end *b)
{
	return br_allowed(c, SBX_READ, a->path, a->len) &&
	       !br_allowed(c, SBX_READ, b->path, b->len);
}

/* Whoever has it open would read what the host writes there later. A file is made anew; it was
 * asked where a symlink may lead. */
static bool may_hide(struct move *m, const struct br_end *a, const struct br_end *b,
		     const struct stat *st)
{
	if (!hides(m->c, a, b))
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

/* What lies below the directory objects. SBX_EVF_*. */
static unsigned object_below(struct move *m, struct br_end *a, struct br_end *b,
			     enum br_tree_answer answer)
{
	m->against = m->tree.against;
	if (answer == BR_TREE_UNSEEN)
		return SBX_EVF_MOVE | SBX_EVF_UNSEEN;
	name_below(a, &m->tree);
	name_below(b, &m->tree);
	return SBX_EVF_MOVE;
}

/* 0, or SBX_EVF_*: what lies below a directory is looked through when not every name there could
 * be may move. */
static unsigned by_names(struct move *m, struct br_end *a, struct br_end *b)
{
	enum br_tree_answer answer;
	struct stat st;
	bool dir;

	if (!br_may_lead_from(m->c, a, b)) {
		m->against = SBX_MODIFY;
		return SBX_EVF_MOVE;
	}
	dir = m->c->b->plan->image->hdr->folds && is_dir(a);
	if (!br_fold_moves(m->c, a, b, dir, &m->against))
		return SBX_EVF_MOVE | (dir ? SBX_EVF_UNSEEN : 0);
	if (sbx_move_free(m->c->b->plan->image, a->path, a->len, b->path, b->len) &&
	    !hides(m->c, a, b))
		return 0;
	dir = S_ISDIR(mode_of(a, &st));
	if (!br_may_name_program(m->c, &st, a, b)) {
		m->program = b;
		return SBX_EVF_MOVE;
	}
	if (!may_hide(m, a, b, &st))
		return SBX_EVF_MOVE;
	if (may_move(m, a, b, what_moves(&st)))
		return 0;
	if (!dir || !may_move(m, a, b, SBX_MOVES_KEPT))
		return SBX_EVF_MOVE;
	m->was_looked_through = true;
	answer = br_tree_moves(m->c, a, b, a, &m->tree);
	return answer == BR_TREE_MOVES ? 0 : object_below(m, a, b, answer);
}

/* Of what has come from `a` to `b`. */
static unsigned object_now(struct move *m, struct br_end *a, struct br_end *b)
{
	enum br_tree_answer answer;

	if (br_is_misplaced(m->c, b))
		return SBX_EVF_PATH2_DENIED;
	if (!m->was_looked_through || !is_dir(b))
		return 0;
	answer = br_tree_moves(m->c, a, b, b, &m->tree);
	return answer == BR_TREE_MOVES ? 0 : object_below(m, a, b, answer);
}

/* What objects was made after the directory had come from a place where it may not be: it lies
 * where it may, and the way back would carry it to where it may not. `to` names it
 * (object_below()). */
static bool may_stay(const struct move *m, unsigned refused)
{
	return !m->swaps && !(refused & SBX_EVF_UNSEEN) && m->tree.len &&
	       m->against == SBX_MODIFY && br_allowed(m->c, SBX_MODIFY, m->to->path, m->to->len) &&
	       !br_allowed(m->c, SBX_MODIFY, m->from->path, m->from->len);
}

/* Where the old name is taken by now, to one of which no rule speaks. */
static int move_back(const struct move *m)
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
		"sbx-launch: E_FLOOR: broker: %s: may not be there, and its old name was taken "
		"meanwhile: it is now %s, beside\n",
		m->to->path, aside);
	return 0;
}

/* After the move: somebody who does not know our lock may have made something in the directory, or
 * have moved the one it went to. 0: it stays; else it was moved back, and why. */
static unsigned look_again(struct move *m)
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
			"sbx-launch: E_FLOOR: broker: %s: moved, and could not be moved back: %s: "
			"look at what is there now\n",
			m->to->path, strerror(errno));
	return refused;
}

/* links.c: neither a symlink nor a directory with one comes into a git directory. */
static unsigned by_links(struct move *m, struct br_end *a, struct br_end *b)
{
	enum br_tree_answer answer;
	unsigned flags = SBX_EVF_MOVE;
	struct stat st;

	if (!S_ISLNK(mode_of(a, &st)) && !S_ISDIR(st.st_mode))
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
static unsigned one_way(struct move *m, struct br_end *a, struct br_end *b)
{
	unsigned refused = by_names(m, a, b);

	return refused ? refused : by_links(m, a, b);
}

/* 0: allowed; else the SBX_EVF_* of the refusal, bit 31 for a plain one. */
#define REFUSED_FROM 0x80000000u
static unsigned judge_ends(struct move *m)
{
	const struct br_call *c = m->c;

	if (!br_allowed(c, SBX_MODIFY, m->from->path, m->from->len))
		return REFUSED_FROM;
	if (!br_allowed(c, SBX_MODIFY, m->to->path, m->to->len))
		return SBX_EVF_PATH2_DENIED;
	return 0;
}

static int find_ends(struct move *m)
{
	int rc = br_find_parent(m->c, m->from);

	return rc ? rc : br_find_parent(m->c, m->to);
}

static struct br_answer not_found(const struct br_call *c, int rc)
{
	return rc == BR_AS_IS || rc == BR_UNREADABLE ? br_proceed(c, BR_PROCEED_NAME)
						     : br_fail(-rc);
}

/* kept.c: a directory stays where it is granted, and no symlink comes to be there. */
static void find_root(struct move *m)
{
	struct stat st;

	if (br_is_kept_name(m->c, m->from) || br_is_kept_name(m->c, m->to))
		m->root = br_is_kept_name(m->c, m->from) ? m->from : m->to;
	else if (br_is_grant_root(m->c, m->from) &&
		 (is_dir(m->from) || (m->swaps && S_ISLNK(mode_of(m->to, &st)))))
		m->root = m->from;
	else if (br_is_grant_root(m->c, m->to) && (is_dir(m->to) || S_ISLNK(mode_of(m->from, &st))))
		m->root = m->to;
}

/* Programs with the shim remember paths of directories; who moved one may have none. */
static void tell_shims(const struct move *m)
{
	_Atomic uint64_t *moves = m->c->b->plan->moves;

	if (moves && (is_dir(m->to) || (m->swaps && is_dir(m->from))))
		atomic_fetch_add_explicit(moves, 1, memory_order_relaxed);
}

static struct br_answer move_now(struct move *m)
{
	const struct br_call *c = m->c;
	unsigned refused;
	int rc;

	if (m->is_made_anew) {
		rc = br_rename_anew(m->from, m->to, c->flags);
		if (rc == BR_NOT_COPIED)
			return refuse(m, SBX_EVF_MOVE, BR_WANT_ANY);
		return tell(m, rc < 0 ? br_fail(-rc) : br_value(0), SBX_EVF_ALLOWED);
	}
	rc = (int)syscall(SYS_renameat2, m->from->at, m->from->name, m->to->at, m->to->name,
			  c->flags);
	if (rc < 0)
		return tell(m, br_result(rc), SBX_EVF_ALLOWED);
	br_test_point(c->b, BR_POINT_MOVED);
	refused = look_again(m);
	tell_shims(m);
	return refused ? tell_undone(m, refused) : tell(m, br_value(0), SBX_EVF_ALLOWED);
}

struct br_answer br_rename(struct br_call *c)
{
	struct move m = {
		.c = c, .from = &c->end[0], .to = &c->end[1], .swaps = c->flags & RENAME_EXCHANGE};
	enum br_want to = m.swaps			? BR_WANT_ANY
			  : c->flags & RENAME_NOREPLACE ? BR_WANT_NEW_DIR
							: BR_WANT_ANY;
	unsigned refused;
	int rc;

	rc = br_lock_moves(c);
	if (rc == 0)
		rc = find_ends(&m);
	if (rc == 0 && c->flags & RENAME_WHITEOUT) { /* makes a device node */
		rc = br_kernel_says(m.from, BR_WANT_ANY);
		return br_fail(rc ? rc : EPERM);
	}
	if (rc)
		return c->flags & RENAME_WHITEOUT && rc == BR_AS_IS ? br_fail(EBUSY)
								    : not_found(c, rc);
	refused = judge_ends(&m);
	if (!refused)
		find_root(&m);
	if (!refused && !m.root)
		refused = one_way(&m, m.from, m.to);
	if (!refused && !m.root && m.swaps)
		refused = one_way(&m, m.to, m.from);
	if (refused || m.root)
		return refuse(&m, refused & ~REFUSED_FROM, to);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	return move_now(&m);
}

/* ---- link ---- */

/* Our own domain would answer EXDEV before the kernel says that directories have one name. */
static int directory_refusal(const struct move *m, bool from_is_dir)
{
	int says;

	if (!from_is_dir)
		return 0;
	says = br_kernel_says(m->to, BR_WANT_NEW);
	return says ? says : EPERM;
}

/* Whoever has the new name may read and write. What never had one (O_TMPFILE; the kernel gives none
 * to what has lost its last) was made in the run. */
static bool may_name(const struct br_call *c, const struct br_end *from)
{
	return br_may(c, SBX_MODIFY, from) && (from->st.st_nlink == 0 || br_may(c, SBX_READ, from));
}

/* The old name stays: both are read alike. */
static bool may_keep(struct move *m, const struct stat *st)
{
	if (!hides(m->c, m->from, m->to))
		/* of directories there are no links, says the kernel */
		return may_move(m, m->from, m->to,
				(what_moves(st) & SBX_MOVES_SOCKET) | SBX_MOVES_KEPT);
	m->against = SBX_READ;
	return false;
}

/* A symlink that is linked by its descriptor. */
static bool link_may_lead(struct move *m)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(m->from->fd, "", target, sizeof target - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	return br_may_lead(m->c, m->to, target);
}

/* 0: the object may have the name; else *out is the answer. `says`: the kernel's own, 0 = none. */
static int judge_object(struct move *m, int says, struct br_answer *out)
{
	struct br_call *c = m->c;
	struct br_end *from = m->from, *to = m->to;
	bool is_link = S_ISLNK(from->st.st_mode);
	unsigned refused = from->is_pathless ? 0 : judge_ends(m);

	m->against = SBX_MODIFY;
	if (from->is_pathless && !may_name(c, from))
		*out = br_deny(c, SBX_MODIFY, from, says);
	else if (from->is_pathless && !br_allowed(c, SBX_MODIFY, to->path, to->len))
		*out = br_deny(c, SBX_MODIFY, to, says);
	else if (!refused && (br_is_kept_name(c, to) || (is_link && br_is_grant_root(c, to))))
		*out = br_deny_root(c, to, says);
	else if (!refused && !from->is_pathless && br_is_stream(c, from))
		*out = br_deny_root(c, from, says);
	else if (!refused && is_link && br_is_gits_name(c, to->path, to->len))
		*out = br_deny_git_link(c, to, says);
	else if (from->is_pathless && !br_allowed(c, SBX_READ, to->path, to->len))
		*out = br_deny(c, SBX_READ, to, says);
	else if (from->is_pathless && what_moves(&from->st))
		*out = br_deny(c, SBX_CONNECT, from, says);
	else if (refused || (is_link && !link_may_lead(m)) ||
		 (!from->is_pathless && !may_keep(m, &from->st)))
		*out = says ? br_fail(says)
			    : tell(m, br_fail(EACCES),
				   refused ? refused & ~REFUSED_FROM : SBX_EVF_MOVE);
	else
		return 0;
	return -1;
}

static struct br_answer linked(struct move *m, int rc)
{
	struct br_answer a = br_result(rc);

	if (rc < 0 || !br_is_misplaced(m->c, m->to))
		return tell(m, a, SBX_EVF_ALLOWED);
	(void)unlinkat(m->to->at, m->to->name, 0);
	return tell(m, br_fail(EACCES), SBX_EVF_PATH2_DENIED);
}

/* The old end followed, or a descriptor: what was opened is linked, by its name in /proc. A file
 * without a name (O_TMPFILE) has no place it could escape from. */
static struct br_answer link_object(struct move *m)
{
	struct br_call *c = m->c;
	struct br_end *from = m->from;
	struct br_answer refusal;
	char name[32];
	int rc = br_find_object(c, from);

	if (rc == 0)
		rc = br_find_parent(c, m->to);
	if (rc)
		return not_found(c, rc);
	if (judge_object(m, br_kernel_says(m->to, BR_WANT_NEW), &refusal) < 0)
		return refusal;
	rc = directory_refusal(m, S_ISDIR(from->st.st_mode));
	if (rc)
		return br_fail(rc);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	br_fd_path(name, from->fd);
	rc = linkat(AT_FDCWD, name, m->to->at, m->to->name, AT_SYMLINK_FOLLOW);
	if (from->is_pathless)
		from->len = 0;
	return linked(m, rc);
}

/* The kernel looks the old one up before it looks at the new one. */
static int find_for_link(struct move *m)
{
	struct stat st;
	int rc = br_find_parent(m->c, m->from);

	if (rc == 0 && fstatat(m->from->at, m->from->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return rc ? rc : br_find_parent(m->c, m->to);
}

static struct br_answer link_name(struct move *m)
{
	struct br_call *c = m->c;
	unsigned refused;
	struct stat st;
	int rc = find_for_link(m);

	if (rc)
		return not_found(c, rc);
	refused = judge_ends(m);
	(void)mode_of(m->from, &st);
	if (!refused && !may_keep(m, &st))
		refused = SBX_EVF_MOVE;
	if (!refused &&
	    (br_is_kept_name(c, m->to) || (S_ISLNK(st.st_mode) && br_is_grant_root(c, m->to))))
		m->root = m->to;
	else if (!refused && br_is_stream(c, m->from))
		m->root = m->from;
	if (!refused && !br_may_lead_from(c, m->from, m->to)) {
		m->against = SBX_MODIFY;
		refused = SBX_EVF_MOVE;
	}
	if (!refused && !S_ISDIR(st.st_mode))
		refused = by_links(m, m->from, m->to);
	if (refused || m->root)
		return refuse(m, refused & ~REFUSED_FROM, BR_WANT_NEW);
	rc = directory_refusal(m, S_ISDIR(st.st_mode));
	if (rc)
		return br_fail(rc);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	rc = linkat(m->from->at, m->from->name, m->to->at, m->to->name, 0);
	return linked(m, rc);
}

struct br_answer br_link(struct br_call *c)
{
	struct move m = {.c = c, .from = &c->end[0], .to = &c->end[1]};

	int rc;

	/* A file's new name changes the place of no directory, but the old one must not change
	 * while both are judged. */
	rc = br_lock_moves(c);
	if (rc < 0)
		return br_fail(-rc);
	/* "dir/." and "link/" mean what they lead to */
	if (!m.from->is_empty && br_ends_in_dots(m.from))
		m.from->follow = true;
	return m.from->follow || m.from->is_empty ? link_object(&m) : link_name(&m);
}
