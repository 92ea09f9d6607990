/*
 * gitlinks.c - no symlink comes to be in a git directory whose settings are protected.
 *
 * The host's git writes its files through symlinks: `.git/COMMIT_EDITMSG -> ~/.bashrc`, left by the
 * command, would have the next commit outside write text of the command to a start-up file of the
 * home, and `.git/logs/HEAD -> ~/.profile` would have each checkout append a line. git itself makes
 * no symlink there. A link that stays inside is refused as well: it may lead to `config`.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/path.h"

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
	return !allows(c, len, "commondir") && allows(c, len, "packed-refs") &&
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
	const struct br_told t = {
		.op = SBX_MODIFY,
		.err = EACCES,
		.flags = SBX_EVF_MOVE | SBX_EVF_GIT_LINK,
		.aux = SBX_MODIFY,
		.path = e->path,
		.path2 = e->path,
		.len = e->len,
		.len2 = e->len,
	};

	if (kernel_says)
		return br_fail(kernel_says);
	br_tell(c, &t);
	return br_fail(EACCES);
}
