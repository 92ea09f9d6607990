/* SPDX-License-Identifier: Apache-2.0 */
/* links.c - where symlinks may lead, and names that a file system folds. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/fold.h"
#include "core/path.h"
#include "launcher/linux/broker/broker.h"
#include "policy/plan/floor.h"

/* Where symlinks may lead: one that stands for a directory with protected names must not
 * lead to where those names are free, and one that may not be read, or stands for a directory with
 * such names, must not lead to where the host's words would be read. */

/* Asked of the outer runs as well: that the command is denied the same at both here, which it can
 * bring about, says nothing of them. */
static bool link_allowed(const struct br_call *c, const char *link, size_t link_len,
			 const char *target, size_t len)
{
	const struct lau_broker_plan *p = c->b->plan;
	bool is = sbx_link_allowed(p->image, link, link_len, target, len);

	for (size_t i = 0; is && i < p->nouter; i++)
		is = sbx_link_allowed(p->outer[i], link, link_len, target, len);
	return is;
}

/* What the text leads to now; nothing, or nothing with a path: the text alone counts. */
static bool allows_object(struct br_call *c, const struct br_end *e, const char *target, char *room)
{
	b_auto_fd int fd = openat(e->at, target, O_PATH | O_CLOEXEC);
	size_t len;

	if (fd < 0 || br_text_of(c->b, fd, room, &len) < 0)
		return true;
	return link_allowed(c, e->path, e->len, room, len) &&
	       br_fold_leads(c, e->path, e->len, room, len);
}

/* Wherever it leads. */
static bool is_free(const struct br_call *c, const char *link, size_t len)
{
	const struct lau_broker_plan *p = c->b->plan;
	const struct sbx_image *img = p->image;

	for (size_t i = 0; i < p->nouter; i++)
		if (!sbx_link_free(p->outer[i], link, len))
			return false;
	return sbx_link_free(img, link, len) && sbx_folded_near(img, SBX_MODIFY, link, len) < 0 &&
	       sbx_folded_near(img, SBX_READ, link, len) < 0;
}

/* SBX_DEEP_ROOM bytes of room, at least BR_TEXT_MAX. */
static bool allows_text(struct br_call *c, const char *link, size_t link_len, const char *target,
			char *room)
{
	unsigned flags;
	size_t len = sbx_path_join(room, SBX_DEEP_ROOM, link, sbx_path_parent(link, link_len),
				   target, &flags);

	return len && link_allowed(c, link, link_len, room, len) &&
	       br_fold_leads(c, link, link_len, room, len);
}

bool br_text_may_lead(struct br_call *c, const char *link, size_t len, const char *target)
{
	b_auto_free char *room = NULL;

	if (is_free(c, link, len))
		return true;
	room = b_malloc(SBX_DEEP_ROOM);
	return allows_text(c, link, len, target, room);
}

bool br_may_lead(struct br_call *c, const struct br_end *e, const char *target)
{
	b_auto_free char *room = NULL;

	if (is_free(c, e->path, e->len))
		return true;
	room = b_malloc(SBX_DEEP_ROOM);
	return allows_text(c, e->path, e->len, target, room) && allows_object(c, e, target, room);
}

bool br_may_lead_from(struct br_call *c, const struct br_end *from, const struct br_end *to)
{
	char name[NAME_MAX + 1], target[PATH_MAX];
	size_t n = strcspn(from->name, "/");
	ssize_t len;

	if (is_free(c, to->path, to->len))
		return true;
	memcpy(name, from->name, n);
	name[n] = '\0';
	len = readlinkat(from->at, name, target, sizeof target - 1);
	if (len < 0)
		return errno == EINVAL || errno == ENOENT; /* no symlink, or nothing */
	target[len] = '\0';
	return br_may_lead(c, to, target);
}

/*
 * No symlink comes to be in a git directory whose settings are protected.
 *
 * The host's git writes its files through symlinks: `.git/COMMIT_EDITMSG -> ~/.bashrc`, left by the
 * command, would have the next commit outside write text of the command to a start-up file of the
 * home, and `.git/logs/HEAD -> ~/.profile` would have each checkout append a line. git itself makes
 * no symlink there. A link that stays inside is refused as well: it may lead to `config`.
 */

/* Directories that git, and what extends it, writes to below a git directory. */
static const char *const dirs[] = {"annex", "branches", "hooks",   "info",	   "lfs",
				   "logs",  "modules",	"objects", "rebase-apply", "rebase-merge",
				   "refs",  "reftable", "remotes", "rr-cache",	   "sequencer",
				   "svn",   "worktrees"};

static bool allows(struct br_call *c, size_t dir, const char *name)
{
	size_t n = strlen(name);

	c->text[dir] = '/';
	memcpy(c->text + dir + 1, name, n);
	return br_allowed(c, SBX_MODIFY, c->text, dir + 1 + n);
}

/* The set `protected` closes these in each git directory that it knows of, and git replaces
 * packed-refs in each that the command may commit to. A pattern of the user's may close the one
 * name elsewhere, and an option may open hooks or attributes. */
static bool is_git_dir(struct br_call *c, const char *path, size_t len)
{
	memcpy(c->text, path, len);
	/* in a run inside a run the command chooses what is denied beside */
	return !allows(c, len, "commondir") &&
	       (allows(c, len, "packed-refs") || c->b->plan->image->hdr->inside) &&
	       !(allows(c, len, "hooks/pre-push") && allows(c, len, "info/attributes"));
}

static bool is_listed(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		if (strncasecmp(dirs[i], name, n) == 0 && dirs[i][n] == '\0')
			return true;
	return false;
}

/* A worktree may lie below a bare repository, and has symlinks of its own. */
static bool is_gits(const char *path, size_t dir, size_t len)
{
	size_t n = strcspn(path + dir + 1, "/");

	if (dir >= 5 && strncasecmp(path + dir - 5, "/.git", 5) == 0)
		return true;
	return dir + 1 + n >= len || is_listed(path + dir + 1, n);
}

bool br_is_gits_name(struct br_call *c, const char *path, size_t len)
{
	for (size_t i = 1; i < len && i + sizeof "/info/attributes" < sizeof c->text; i++)
		if (path[i] == '/' && is_git_dir(c, path, i) && is_gits(path, i, len))
			return true;
	return false;
}

struct br_answer br_deny_git_link(struct br_call *c, const struct br_end *e, int kernel_says)
{
	return br_deny_name(c, e, SBX_EVF_GIT_LINK, kernel_says);
}

/*
 * File systems that do not tell names apart (core/fold.h). They are asked only when a
 * rule that denies matches a path by its folded text and not by its bytes: for hardly any call.
 *
 * The path is canonical and the lock of moves is held: what it leads through is what was judged.
 */

#define ANYHOW (SBX_FOLDS_CASE | SBX_FOLDS_ALIAS)

bool br_fold_denies(const struct br_call *c, enum sbx_op op, const char *path, size_t len)
{
	const struct sbx_image *img = c->b->plan->image;

	return sbx_folded_rule(img, op, path, len, ANYHOW) >= 0 &&
	       sbx_folded_rule(img, op, path, len, pol_path_folds(path, len, false)) >= 0;
}

/* All that may be below the one may be below the other, for all that any rule says of names. */
static bool tree_may_move(const struct sbx_image *img, enum sbx_op op, const struct br_end *from,
			  const struct br_end *to)
{
	if (sbx_folded_near(img, op, from->path, from->len) < 0 &&
	    sbx_folded_near(img, op, to->path, to->len) < 0)
		return true;
	return sbx_folded_same(img, op, from->path, from->len, to->path, to->len) ||
	       !(pol_path_folds(from->path, from->len, true) |
		 pol_path_folds(to->path, to->len, true));
}

bool br_fold_moves(const struct br_call *c, const struct br_end *from, const struct br_end *to,
		   bool is_dir, enum sbx_op *out_op)
{
	const struct sbx_image *img = c->b->plan->image;

	if (!img->hdr->folds)
		return true;
	*out_op = SBX_READ;
	if (br_fold_denies(c, SBX_READ, from->path, from->len) &&
	    br_allowed(c, SBX_READ, to->path, to->len))
		return false;
	if (!is_dir)
		return true;
	if (!tree_may_move(img, SBX_READ, from, to))
		return false;
	*out_op = SBX_MODIFY;
	return tree_may_move(img, SBX_MODIFY, from, to);
}

bool br_fold_leads(const struct br_call *c, const char *link, size_t link_len, const char *target,
		   size_t target_len)
{
	const struct sbx_image *img = c->b->plan->image;

	if (br_fold_denies(c, SBX_READ, link, link_len) &&
	    br_allowed(c, SBX_READ, target, target_len))
		return false;
	return sbx_folded_near(img, SBX_MODIFY, link, link_len) < 0 ||
	       sbx_folded_same(img, SBX_MODIFY, link, link_len, target, target_len) ||
	       !pol_path_folds(link, link_len, false);
}
