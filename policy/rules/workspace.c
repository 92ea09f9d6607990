/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - see workspace.h. */
#include "policy/rules/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/document/layers.h"
#include "policy/rules/git_pointer.h"

#define MAX_GITFILE (1 << 20) /* as git has it */
#define GITFILE	    "gitdir: "

static const char *join(struct b_arena *a, const char *dir, const char *name)
{
	if (name[0] == '/')
		return name;
	return b_arena_printf(a, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
}

static const char *cwd(struct b_arena *a, struct b_err *err)
{
	char buf[PATH_MAX];

	/* getcwd(2) answers "(unreachable)/..." for a directory outside the root. */
	if (!getcwd(buf, sizeof buf) || buf[0] != '/') {
		b_fail(err, B_WORKSPACE, errno,
		       "the current directory has no path: --workspace DIR");
		return NULL;
	}
	return b_arena_strndup(a, buf, strlen(buf));
}

const char *pol_given_path(struct b_arena *a, const char *text)
{
	const char *base;
	char here[PATH_MAX];

	if (text[0] == '/')
		return text;
	if (text[0] == '~' && (text[1] == '/' || text[1] == '\0')) {
		base = pol_home(a);
		return base ? b_arena_printf(a, "%s%s", base, text + 1) : NULL;
	}
	/* the kernel's, without links */
	return getcwd(here, sizeof here) ? join(a, here, text) : text;
}

/* What the user names: relative to the current directory, or to the home. */
static const char *given(struct b_arena *a, const char *text, char real[PATH_MAX])
{
	const char *path = pol_given_path(a, text);

	if (!path)
		return "no home directory";
	return realpath(path, real) ? NULL : strerror(errno);
}

int pol_workspace_given(struct b_arena *a, const char *text, const char **out, struct b_err *err)
{
	const char *why;
	char real[PATH_MAX];
	struct stat st;

	if (*text == '\0')
		return b_fail(err, B_WORKSPACE, 0, "workspace: empty, expected a directory");
	why = given(a, text, real);
	if (!why && stat(real, &st) < 0)
		why = strerror(errno);
	if (why)
		return b_fail(err, B_WORKSPACE, errno, "workspace %s: %s", text, why);
	if (!S_ISDIR(st.st_mode))
		return b_fail(err, B_WORKSPACE, ENOTDIR,
			      "workspace %s: not a directory, expected one", text);
	if (pol_refuse_led("workspace", text, B_WORKSPACE, err) < 0)
		return -1;
	*out = b_arena_strndup(a, real, strlen(real));
	return 0;
}

int pol_file_given(struct b_arena *a, const char *text, const char **out, struct b_err *err)
{
	const char *why = *text ? NULL : "expected a file";
	char real[PATH_MAX];

	if (!why)
		why = given(a, text, real);
	if (why)
		return b_fail(err, B_USAGE, errno, "%s: %s", text, why);
	*out = b_arena_strndup(a, real, strlen(real));
	return 0;
}

enum pol_pointer pol_git_pointer(struct b_arena *a, const char *file, const char *prefix,
				 const char **out)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;
	size_t n = strlen(prefix), len;

	if (b_read_file(file, MAX_GITFILE, &text, &err) < 0)
		return err.sys == ENOENT ? POL_POINTER_NONE : POL_POINTER_UNREADABLE;
	len = text.len;
	while (len && strchr("\r\n", text.s[len - 1]) && text.s[len - 1])
		len--;
	if (len <= n || strncmp(text.s, prefix, n) != 0 || memchr(text.s, '\0', len))
		return POL_POINTER_UNREADABLE;
	*out = b_arena_strndup(a, text.s + n, len - n);
	return POL_POINTER_READ;
}

static const char *git_path(struct b_arena *a, const char *file, const char *prefix)
{
	const char *path;

	return pol_git_pointer(a, file, prefix, &path) == POL_POINTER_READ ? path : NULL;
}

/* Does `dir` hold a repository or a gitfile? *out_st describes its `.git`. */
static bool has_git(struct b_arena *a, const char *dir, struct stat *out_st)
{
	const char *git = join(a, dir, ".git");
	struct stat head;

	return lstat(git, out_st) == 0 &&
	       (lstat(join(a, git, "HEAD"), &head) == 0 || git_path(a, git, GITFILE));
}

static bool is_there(struct b_arena *a, const char *dir, const char *name)
{
	struct stat st;

	return lstat(join(a, dir, name), &st) == 0;
}

static const char *toplevel(struct b_arena *a, const char *dir, struct stat *out_git)
{
	char *up = b_arena_strndup(a, dir, strlen(dir));

	for (;;) {
		char *slash;

		if (has_git(a, up, out_git))
			return up;
		/* one that a run has taken the HEAD out of leads nobody further up */
		if (is_there(a, up, ".git"))
			return NULL;
		slash = strrchr(up, '/');
		if (!slash || slash == up)
			return NULL;
		*slash = '\0';
	}
}

static bool is_above(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	return strcmp(dir, "/") == 0 ||
	       (strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

static int refuse(const char *dir, const char *why, struct b_err *err)
{
	return b_fail(err, B_WORKSPACE, 0,
		      "%s would be the workspace, but %s: cd to a project, or --workspace DIR", dir,
		      why);
}

int pol_workspace_default(struct b_arena *a, const char **out, struct b_err *err)
{
	const char *here = cwd(a, err), *top, *home;
	struct stat st, git = {0};
	size_t n;
	const char **homes;

	if (!here)
		return -1;
	top = toplevel(a, here, &git);
	if (!top)
		top = here;
	if (strcmp(top, "/") == 0)
		return refuse(top, "it is the whole file system", err);
	homes = pol_own_homes(a, &n);
	for (size_t i = 0; i < n; i++) {
		home = homes[i];
		if (strcmp(top, home) == 0)
			return refuse(top, "it is your home directory", err);
		if (is_above(top, home))
			return refuse(top, "your home directory lies below it", err);
	}
	if (stat(top, &st) < 0)
		return b_fail(err, B_WORKSPACE, errno, "workspace %s: %s", top, strerror(errno));
	if (geteuid() != 0 && st.st_uid != geteuid())
		return refuse(top, "another user owns it", err);
	/* Somebody's `.git` in a shared directory must not make that a workspace. */
	if (git.st_mode && git.st_uid != st.st_uid)
		return refuse(top, "another user owns its .git", err);
	*out = top;
	return 0;
}

/* A directory that a run may have had as its workspace: it says so by a repository or a project
 * file, of the same owner, where nobody else can make one. */
static bool is_project(struct b_arena *a, const char *dir, uid_t owner)
{
	static const char *const names[] = {".git", POL_PROJECT_FILE};
	struct stat st;

	if (lstat(dir, &st) < 0 || st.st_uid != owner || st.st_mode & S_IWOTH)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (lstat(join(a, dir, names[i]), &st) == 0 && st.st_uid == owner)
			return true;
	return false;
}

size_t pol_workspace_above(struct b_arena *a, const char *ws, const char *out[POL_ABOVE_MAX])
{
	char *up = b_arena_strndup(a, ws, strlen(ws)), *slash;
	size_t n = 0, nhomes;
	const char **homes = pol_own_homes(a, &nhomes);
	struct stat st;

	if (lstat(ws, &st) < 0)
		return 0;
	while (n < POL_ABOVE_MAX && (slash = strrchr(up, '/')) && slash != up) {
		*slash = '\0';
		for (size_t i = 0; i < nhomes; i++)
			if (is_above(up, homes[i]))
				return n;
		if (is_project(a, up, st.st_uid))
			out[n++] = b_arena_strndup(a, up, strlen(up));
	}
	return n;
}

struct leading {
	struct b_arena *a;
	const char *real, *here;
	const char *link, *out_of; /* what was found */
};

static bool holds_home(struct b_arena *a, const char *dir)
{
	size_t n;
	const char **homes = pol_own_homes(a, &n);

	for (size_t i = 0; i < n; i++)
		if (is_above(dir, homes[i]))
			return true;
	return strcmp(dir, "/") == 0;
}

/* Could a run have had it as its workspace? */
static bool was_workspace(const struct leading *l, const char *dir)
{
	struct stat st;

	return (l->here && strcmp(dir, l->here) == 0) ||
	       (lstat(dir, &st) == 0 && is_project(l->a, dir, st.st_uid));
}

static bool note_led(void *arg, const char *link, size_t len)
{
	struct leading *l = arg;
	char *up = b_arena_strndup(l->a, link, len), *slash;

	while ((slash = strrchr(up, '/')) && slash != up) {
		*slash = '\0';
		if (holds_home(l->a, up) || (geteuid() != 0 && pol_only_root_changes(up)))
			return true;
		if (!was_workspace(l, up) || is_above(up, l->real))
			continue;
		l->link = b_arena_strndup(l->a, link, len);
		l->out_of = up;
		return false;
	}
	return true;
}

int pol_refuse_led(const char *what, const char *text, enum b_kind kind, struct b_err *err)
{
	b_auto(b_arena_release) struct b_arena arena = {0};
	const char *path = pol_given_path(&arena, text);
	struct leading l = {.a = &arena};
	char here[PATH_MAX]; /* the kernel's, without links */

	if (!path)
		return 0;
	l.real = pol_canonical(&arena, path);
	if (getcwd(here, sizeof here) && here[0] == '/')
		l.here = here;
	(void)pol_canonical_links(&arena, path, note_led, &l);
	if (!l.link)
		return 0;
	return b_fail(err, kind, 0,
		      "%s %s: the symlink %s leads out of %s, to %s, and an earlier run could have "
		      "made it: name that itself",
		      what, text, l.link, l.out_of, l.real);
}

static bool is_ours(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	       (geteuid() == 0 || st.st_uid == geteuid());
}

/*
 * ws/.git says "gitdir: COMMON/worktrees/NAME", that directory's `commondir` leads to COMMON and
 * its `gitdir` back to ws/.git (gitrepository-layout(5)). The back-pointer is the proof: a file
 * planted in the workspace cannot make somebody else's repository point back at it.
 */
void pol_worktree_dirs(struct b_arena *a, const char *ws, const char *out[2], size_t *out_n)
{
	const char *gitfile = join(a, ws, ".git"), *line = git_path(a, gitfile, GITFILE);
	const char *own, *common, *back, *base;
	struct stat st;
	size_t n;

	*out_n = 0;
	if (!line)
		return;
	own = pol_canonical(a, join(a, ws, line));
	line = git_path(a, join(a, own, "commondir"), "");
	back = git_path(a, join(a, own, "gitdir"), "");
	if (!line || !back)
		return;
	common = pol_canonical(a, join(a, own, line));
	base = b_arena_printf(a, "%s/worktrees/", common);
	n = strlen(base);
	if (strncmp(own, base, n) != 0 || own[n] == '\0' || strchr(own + n, '/'))
		return;
	/* git resolves a relative back-pointer (2.48) from the own directory. */
	if (strcmp(pol_canonical(a, join(a, own, back)), gitfile) != 0)
		return;
	/* nor is a place of which only the names are right: the workspace's own, or a directory
	 * that happens to be called `worktrees` */
	if (is_above(own, ws) || !is_there(a, own, "HEAD") || !is_there(a, common, "HEAD") ||
	    !is_there(a, common, "refs"))
		return;
	if (!is_ours(own) || !is_ours(common) || stat(join(a, common, "objects"), &st) < 0)
		return;
	out[0] = own;
	out[1] = common;
	*out_n = 2;
}

/* git asks for these three (gitrepository-layout(5)), `.git` comes first. */
static bool is_bare(struct b_arena *a, const char *ws)
{
	static const char *const names[] = {"HEAD", "objects", "refs"};
	struct stat st;

	if (lstat(join(a, ws, ".git/HEAD"), &st) == 0)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (lstat(join(a, ws, names[i]), &st) < 0)
			return false;
	return true;
}

const char *pol_git_inside(struct b_arena *a, const char *ws)
{
	const char *path = git_path(a, join(a, ws, ".git"), GITFILE);

	if (path)
		return pol_canonical(a, join(a, ws, path));
	return is_bare(a, ws) ? ws : NULL;
}

void pol_git_find(struct b_arena *a, const char *dir, struct pol_git *out)
{
	const char *dirs[2], *git;
	struct stat st = {0};
	size_t n;

	*out = (struct pol_git){.toplevel = toplevel(a, dir, &st)};
	if (!out->toplevel || !is_ours(out->toplevel)) {
		out->toplevel = NULL;
		return;
	}
	git = join(a, out->toplevel, ".git");
	if (S_ISDIR(st.st_mode) && is_ours(git)) {
		out->dir = out->common = git;
		return;
	}
	pol_worktree_dirs(a, out->toplevel, dirs, &n);
	if (n == 2) {
		out->dir = dirs[0];
		out->common = dirs[1];
	}
}
