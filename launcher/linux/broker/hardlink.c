/* SPDX-License-Identifier: Apache-2.0 */
/* hardlink.c - link: two ends, judged as those of a move; the old name stays. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "launcher/linux/broker/move.h"
#include "launcher/linux/broker/names.h"

/* The broker's own domain would return EXDEV before the kernel's error for a link of a directory.
 */
static int directory_refusal(const struct br_move *m, bool from_is_dir)
{
	int says;

	if (!from_is_dir)
		return 0;
	says = br_kernel_says(m->to, BR_WANT_NEW);
	return says ? says : EPERM;
}

/* The new name allows reading and writing. An object that never had a name (O_TMPFILE) was made in
 * the run; the kernel links no object that has lost its last name. */
static bool may_name(const struct br_call *c, const struct br_end *from)
{
	return br_may(c, SBX_MODIFY, from) && (from->st.st_nlink == 0 || br_may(c, SBX_READ, from));
}

/* The old name stays, so both names must have the same verdict for reading. */
static bool may_keep(struct br_move *m, const struct stat *st)
{
	if (!br_move_hides(m->c, m->from, m->to))
		/* the kernel makes no hard links of directories */
		return br_move_may(m, m->from, m->to,
				   (br_move_what(st) & SBX_MOVES_SOCKET) | SBX_MOVES_KEPT);
	m->against = SBX_READ;
	return false;
}

/* A symlink that is linked by its descriptor. */
static bool link_may_lead(struct br_move *m)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(m->from->fd, "", target, sizeof target - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	return br_may_lead(m->c, m->to, target);
}

/* 0: the object may have the name; else *out is the answer. `says`: the kernel's own, 0 = none. */
/* NOLINTNEXTLINE(readability-function-cognitive-complexity): tests, in the order of errno. */
static int judge_object(struct br_move *m, int says, struct br_answer *out)
{
	struct br_call *c = m->c;
	struct br_end *from = m->from, *to = m->to;
	bool is_link = S_ISLNK(from->st.st_mode);
	unsigned refused = from->is_pathless ? 0 : br_move_judge_ends(m);

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
	else if (from->is_pathless && br_move_what(&from->st))
		*out = br_deny(c, SBX_CONNECT, from, says);
	else if (refused || (is_link && !link_may_lead(m)) ||
		 (!from->is_pathless && !may_keep(m, &from->st)))
		*out = says ? br_fail(says)
			    : br_move_tell(m, br_fail(EACCES),
					   refused ? refused & ~BR_REFUSED_FROM : SBX_EVF_MOVE);
	else
		return 0;
	return -1;
}

static struct br_answer linked(struct br_move *m, int rc)
{
	struct br_answer a = br_result(rc);

	if (rc < 0 || !br_is_misplaced(m->c, m->to))
		return br_move_tell(m, a, SBX_EVF_ALLOWED);
	(void)unlinkat(m->to->at, m->to->name, 0);
	return br_move_tell(m, br_fail(EACCES), SBX_EVF_PATH2_DENIED);
}

/* The old end followed, or a descriptor: what was opened is linked, by its name in /proc. A file
 * without a name (O_TMPFILE) has no place it could escape from. */
static struct br_answer link_object(struct br_move *m)
{
	struct br_call *c = m->c;
	struct br_end *from = m->from;
	struct br_answer refusal;
	char name[32];
	int rc = br_find_object(c, from);

	if (rc == 0)
		rc = br_find_parent(c, m->to);
	if (rc)
		return br_move_not_found(c, rc);
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
static int find_for_link(struct br_move *m)
{
	struct stat st;
	int rc = br_find_parent(m->c, m->from);

	if (rc == 0 && fstatat(m->from->at, m->from->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return rc ? rc : br_find_parent(m->c, m->to);
}

static struct br_answer link_name(struct br_move *m)
{
	struct br_call *c = m->c;
	unsigned refused;
	struct stat st;
	int rc = find_for_link(m);

	if (rc)
		return br_move_not_found(c, rc);
	refused = br_move_judge_ends(m);
	(void)br_move_mode(m->from, &st);
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
		refused = br_move_by_links(m, m->from, m->to);
	if (refused || m->root)
		return br_move_refuse(m, refused & ~BR_REFUSED_FROM, BR_WANT_NEW);
	rc = directory_refusal(m, S_ISDIR(st.st_mode));
	if (rc)
		return br_fail(rc);
	if (br_stays(c, m->from, m->to, false))
		return br_move_tell(m, br_fail(EXDEV), SBX_EVF_ALLOWED);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	rc = linkat(m->from->at, m->from->name, m->to->at, m->to->name, 0);
	return linked(m, rc);
}

struct br_answer br_link(struct br_call *c)
{
	struct br_move m = {.c = c, .from = &c->end[0], .to = &c->end[1]};

	int rc;

	/* A new name of a file moves no directory, but the old name must not change while both are
	 * judged. */
	rc = br_lock_moves(c);
	if (rc < 0)
		return br_fail(-rc);
	/* "dir/." and "link/" mean what they lead to */
	if (!m.from->is_empty && br_ends_in_dots(m.from))
		m.from->follow = true;
	return m.from->follow || m.from->is_empty ? link_object(&m) : link_name(&m);
}
