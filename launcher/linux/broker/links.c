/* SPDX-License-Identifier: Apache-2.0 */
/* links.c - where symlinks may lead, and where none may be. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/path.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/compare.h"
#include "launcher/linux/broker/names.h"

/* Where symlinks may lead: one that stands for a directory with protected names must not
 * lead to where those names are free, and one that may not be read, or stands for a directory with
 * such names, must not lead to where the host's words would be read. */

/* What the text leads to now; nothing, or nothing with a path: the text alone counts (leads.c). */
static bool allows_object(struct br_call *c, const struct br_end *e, const char *target)
{
	b_auto_fd int fd = openat(e->at, target, O_PATH | O_CLOEXEC);
	char text[BR_TEXT_MAX];
	struct br_pair p = {.from = e->path, .from_len = e->len, .to = text};
	struct stat st;

	if (fd < 0 || br_text_of(c->b, fd, text, &p.to_len) < 0)
		return true;
	p.is_file = fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode) &&
		    !br_allowed(c, SBX_MODIFY, text, p.to_len);
	return br_each_image(c, br_leads, &p);
}

/* Wherever it leads. */
static bool is_free(const struct br_call *c, const char *link, size_t len)
{
	struct br_pair p = {.from = link, .from_len = len};

	return br_each_image(c, br_leads_anywhere, &p);
}

bool br_text_may_lead(struct br_call *c, const char *link, size_t len, const char *target)
{
	return is_free(c, link, len) || br_text_leads(c, link, len, target);
}

bool br_may_lead(struct br_call *c, const struct br_end *e, const char *target)
{
	return is_free(c, e->path, e->len) ||
	       (br_text_leads(c, e->path, e->len, target) && allows_object(c, e, target));
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

static bool allows(struct br_image i, char *text, size_t dir, const char *name)
{
	size_t n = strlen(name);

	text[dir] = '/';
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the length goes with it. */
	memcpy(text + dir + 1, name, n);
	return br_image_allows(i, SBX_MODIFY, text, dir + 1 + n);
}

/* The set `protected` closes these in each git directory that it knows of, and git replaces
 * packed-refs in each that the command may commit to. A pattern of the user's may close the one
 * name elsewhere, and an option may open hooks or attributes. */
static bool is_git_dir(struct br_call *c, const char *path, size_t len)
{
	memcpy(c->text, path, len);
	for (size_t n = 0; n < br_image_count(c); n++) {
		struct br_image i = br_image_at(c, n);

		if (!allows(i, c->text, len, "commondir") &&
		    allows(i, c->text, len, "packed-refs") &&
		    !(allows(i, c->text, len, "hooks/pre-push") &&
		      allows(i, c->text, len, "info/attributes")))
			return true;
	}
	return false;
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
