/* SPDX-License-Identifier: Apache-2.0 */
/* git.c - closes what the host's git runs and obeys in a workspace. */
#include "policy/rules/build.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/rules/workspace.h"

/*
 * What the host's git configuration runs or includes out of a workspace: the directory
 * of core.hooksPath and the files of include.path, closed as the protected set is, origin
 * `builtin:git:N` of workspace N. The configuration itself is in that set, or closed here where a
 * variable puts it into a workspace, so what is read here is what the host's git will read: all
 * files of git-config(1), FILES, and GIT_CONFIG_COUNT. Of a command (core.fsmonitor, filters) each
 * word with a slash in it is a file that git may run; what those run in turn is not known.
 */

enum { REPOSITORIES_MAX = 4000, DEPTH_OF_NAMES = 16, SETTINGS_MAX = 1000 };
enum { NAMED_MAX = 10000 }; /* files that settings name: an earlier run may have written these */
enum { ROWS_DEEP = 2 };	    /* names of submodules that the rows of the protected set know */
enum { ROWS_LACK = 4 }; /* parts of a repository that they do not have: refs/remotes is not one */

struct runs {
	struct pol_build *b;
	size_t ws;
	const char *dir; /* git's, of the repository that is looked at */
	const char *top; /* where its hooks run */
	/* Beside the workspaces: a git directory that a rule opens, closed again behind that rule
	 */
	const char *granted;
	enum pol_tier tier;
	unsigned seen, named;
	bool is_entered; /* closed because it is there now (close_git_of()) */
};

#define ORIGIN	"builtin:git:"
#define ENTERED ":entered"

/* Closed where it lies in a workspace, with where it leads; one that is a workspace, or above,
 * would close it all. */
static void close_at(struct runs *r, enum pol_shape shape, const char *path)
{
	struct pol_build *b = r->b;
	struct pol_rule rule = {.tier = r->tier, .shape = shape, .base = path};
	const char *real = pol_canonical(&b->rs->arena, path);
	bool is_inside =
		r->granted && sbx_path_under(real, strlen(real), r->granted, strlen(r->granted));

	for (size_t i = 0; i < b->rs->nworkspaces; i++) {
		const char *ws = b->rs->workspaces[i];

		if (sbx_path_under(ws, strlen(ws), real, strlen(real)))
			return;
		is_inside |= sbx_path_under(path, strlen(path), ws, strlen(ws)) ||
			     sbx_path_under(real, strlen(real), ws, strlen(ws));
	}
	rule.matched = shape == POL_TREE ? pol_build_join(b, path, "**") : path;
	rule.origin = b_arena_printf(&b->rs->arena, ORIGIN "%zu%s", r->ws + 1,
				     r->is_entered ? ENTERED : "");
	if (is_inside)
		pol_build_add(b, POL_OPS(SBX_MODIFY), &rule, POL_TWIN_ALWAYS);
	pol_build_set_leads(b, POL_OPS(SBX_MODIFY), &rule);
}

/* The same for what a setting names. */
static void close_named(struct runs *r, enum pol_shape shape, const char *path)
{
	if (r->named < NAMED_MAX) {
		r->named++;
		close_at(r, shape, path);
	} else if (r->b->late.kind == B_OK) {
		b_fail(&r->b->late, B_LIMIT, 0,
		       "%s: the configuration of git names more than %d files here: look for "
		       "repositories in it that you did not make",
		       r->b->rs->workspaces[r->ws], NAMED_MAX);
	}
}

/* The path `value`, relative to `dir`, with its links; in the arena. */
static const char *path_at(struct runs *r, const char *dir, const char *value)
{
	struct b_arena *a = &r->b->rs->arena;
	const char *path = pol_gitconfig_spelled(a, dir, value);
	size_t room = strlen(path) + 2;
	char *out = b_arena_alloc(a, room);
	unsigned flags;

	/* through a link `..` means another directory than the text says */
	return sbx_path_join(out, room, "", 0, path, &flags) && !(flags & SBX_PATH_DOTDOT)
		       ? out
		       : pol_canonical(a, path);
}

/* git-config(1): keys whose values are commands. The shell gets most of them. */
static bool is_command(const char *section, const char *key, const char *value)
{
	static const char keys[] =
		"fsmonitor sshCommand editor pager askPass gitProxy clean smudge process textconv "
		"command driver helper cmd program external uploadpack receivepack diffFilter "
		"packObjectsHook alternateRefsCommand defaultKeyCommand smtpServer ";
	size_t n = strlen(key);

	if (strcasecmp(section, "alias") == 0)
		return *value == '!';
	if (strcasecmp(section, "pager") == 0)
		return true;
	for (const char *p = keys; *p; p += strcspn(p, " ") + 1)
		if (n == strcspn(p, " ") && strncasecmp(p, key, n) == 0)
			return true;
	return false;
}

/* Whether they are there or not: what is missing now, the command could make. */
static void close_words(struct runs *r, const char *value)
{
	static const char between[] = " \t\n\"'`!;&|()<>$=";
	struct b_arena *a = &r->b->rs->arena;

	for (const char *p = value; *(p += strspn(p, between)); p += strcspn(p, between)) {
		const char *word = b_arena_strndup(a, p, strcspn(p, between));

		if (strchr(word, '/') && !strstr(word, "://"))
			close_named(r, POL_EXACT, path_at(r, r->top, word));
	}
}

static void take(void *ctx, const char *file, const char *section, const char *key,
		 const char *value)
{
	struct runs *r = ctx;
	struct b_arena *a = &r->b->rs->arena;
	const char *path;

	if (r->top && value && is_command(section, key, value))
		close_words(r, value);
	if (strcasecmp(section, "core") == 0 && strcasecmp(key, "hooksPath") == 0) {
		path = path_at(r, r->top, value);
		/* husky's are in `_`, and run those beside it */
		if (strlen(path) > 2 && strcmp(path + strlen(path) - 2, "/_") == 0)
			path = pol_gitconfig_dir(a, path);
		close_named(r, POL_TREE, path);
	} else if (strncasecmp(section, "include", 7) == 0 && strcasecmp(key, "path") == 0) {
		close_named(r, POL_EXACT, path_at(r, pol_gitconfig_dir(a, file), value));
	}
}

static void gitruns_read_file(struct runs *r, const char *file)
{
	pol_gitconfig_read(&r->b->rs->arena, file, take, r);
}

/* One that no set names, for a variable says where it is. */
static void read_and_close(struct runs *r, const char *file)
{
	if (!file || *file != '/')
		return;
	close_at(r, POL_EXACT, file);
	gitruns_read_file(r, file);
}

/* GIT_CONFIG_COUNT, git-config(1), ENVIRONMENT. */
static void read_settings(struct runs *r)
{
	const char *count = getenv("GIT_CONFIG_COUNT");
	int n = count ? atoi(count) : 0;

	for (int i = 0; i < n && i < SETTINGS_MAX; i++) {
		char name[40];
		const char *key, *value;

		snprintf(name, sizeof name, "GIT_CONFIG_KEY_%d", i);
		key = getenv(name);
		snprintf(name, sizeof name, "GIT_CONFIG_VALUE_%d", i);
		value = getenv(name);
		if (key && value && strcasecmp(key, "include.path") == 0)
			read_and_close(r, value);
		else if (key && value && *value && strchr(key, '.'))
			take(r, "/", b_arena_strndup(&r->b->rs->arena, key, strcspn(key, ".")),
			     strrchr(key, '.') + 1, value);
	}
}

/* All repositories of this user obey these: a relative path there is relative to each of them. */
static void read_users(struct runs *r)
{
	struct pol_build *b = r->b;
	const char *home = pol_home(&b->rs->arena), *xdg = getenv("XDG_CONFIG_HOME");

	read_and_close(r, "/etc/gitconfig");
	read_and_close(r, getenv("GIT_CONFIG_SYSTEM"));
	read_and_close(r, getenv("GIT_CONFIG_GLOBAL"));
	if (home) {
		read_and_close(r, pol_build_join(b, home, ".gitconfig"));
		read_and_close(r, pol_build_join(b, home, ".config/git/config"));
	}
	if (xdg && *xdg == '/')
		read_and_close(r, pol_build_join(b, xdg, "git/config"));
	read_settings(r);
}

static void take_worktree(void *ctx, const char *file, const char *section, const char *key,
			  const char *value)
{
	struct runs *r = ctx;

	(void)file;
	if (strcasecmp(section, "core") == 0 && strcasecmp(key, "worktree") == 0)
		r->top = pol_gitconfig_path(&r->b->rs->arena, r->dir, value);
}

/* A repository: its own files, and those of the user for where they lead in it. */
static void read_repository(struct runs *r, const char *dir, const char *top)
{
	static const char *const files[] = {"config", "config.worktree"};

	r->dir = dir;
	r->top = top;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		pol_gitconfig_read(&r->b->rs->arena, pol_build_join(r->b, dir, files[i]),
				   take_worktree, r);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		gitruns_read_file(r, pol_build_join(r->b, dir, files[i]));
	read_users(r);
}

static void too_many(struct runs *r, const char *at)
{
	if (r->b->late.kind == B_OK)
		b_fail(&r->b->late, B_LIMIT, 0,
		       "%s: too many or too deep directories to find the configuration of "
		       "submodules and worktrees: remove directories that git did not make",
		       at);
}

static bool is_in_dir(struct runs *r, const char *dir, const char *name)
{
	return access(pol_build_join(r->b, dir, name), F_OK) == 0;
}

/* The rows of the protected set know submodules by names of one part or two, but for the first
 * parts; git names them by their paths, and those of submodules lie in them. */
static void close_repository(struct runs *r, const char *dir, unsigned depth)
{
	static const struct {
		enum pol_shape shape;
		const char *name;
	} parts[] = {
		{POL_EXACT, "config.worktree"},
		{POL_EXACT, "config.worktree.lock"},
		{POL_TREE, "remotes"},
		{POL_TREE, "branches"},
		{POL_TREE, "hooks"},
		{POL_EXACT, "config"},
		{POL_EXACT, "config.lock"},
		{POL_EXACT, "commondir"},
		{POL_EXACT, "gitdir"},
		{POL_EXACT, "info/attributes"},
	};
	size_t n = depth >= ROWS_DEEP ? sizeof parts / sizeof *parts : ROWS_LACK;

	for (size_t i = 0; i < n; i++)
		close_at(r, parts[i].shape, pol_build_join(r->b, dir, parts[i].name));
}

bool pol_git_is_entered(const char *origin)
{
	size_t n = strlen(origin), len = sizeof ENTERED - 1;

	return strncmp(origin, ORIGIN, sizeof ORIGIN - 1) == 0 && n > len &&
	       strcmp(origin + n - len, ENTERED) == 0;
}

/* The `.git` by which the host's git finds a repository that it enters by itself: the git directory
 * that it names, or is, decides what is run. Closed, it keeps its directory where it is, for a move
 * would open it. */
static void close_git_of(struct runs *r, const char *top)
{
	const char *git = pol_build_join(r->b, top, ".git");
	struct stat st;

	if (!strcmp(top, r->b->rs->workspaces[r->ws]))
		return;
	r->is_entered = true;
	close_at(r, POL_EXACT, git);
	if (lstat(git, &st) == 0 && S_ISDIR(st.st_mode)) {
		/* a submodule as it was made before 1.7.8, or by hand */
		read_repository(r, git, top);
		close_repository(r, git, ROWS_DEEP);
	}
	r->is_entered = false;
}

static void take_submodule(void *ctx, const char *file, const char *section, const char *key,
			   const char *value)
{
	struct runs *r = ctx;
	const char *ws = r->b->rs->workspaces[r->ws];

	(void)file;
	if (strcasecmp(section, "submodule") != 0 || strcasecmp(key, "path") != 0)
		return;
	if (++r->seen > REPOSITORIES_MAX)
		too_many(r, ws);
	else
		close_git_of(r, pol_gitconfig_path(&r->b->rs->arena, ws, value));
}

/* A linked worktree's settings, and those of all beside it: its hooks run at its own top. */
static void read_worktree(struct runs *r, const char *common, const char *dir)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;

	if (b_read_file(pol_build_join(r->b, dir, "gitdir"), 1 << 14, &text, &err) < 0 || !text.len)
		return;
	text.s[strcspn(text.s, "\n")] = '\0';
	r->dir = dir;
	/* relative to that file since 2.48 */
	r->top = pol_gitconfig_dir(&r->b->rs->arena,
				   pol_gitconfig_path(&r->b->rs->arena, dir, text.s));
	if (!*r->top)
		return;
	close_git_of(r, r->top);
	gitruns_read_file(r, pol_build_join(r->b, dir, "config.worktree"));
	gitruns_read_file(r, pol_build_join(r->b, common, "config"));
	read_users(r);
}

/* What git itself makes in a repository, and where no other one is. */
static bool is_gits_own(const char *name)
{
	static const char *const names[] = {"objects", "refs", "logs", "hooks", "info", "lfs"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void each(struct runs *r, const char *common, const char *at, unsigned depth);

/* A command can make a directory look like a repository, or take a HEAD away: one file is enough,
 * and others may always lie below. */
static void look_at(struct runs *r, const char *common, const char *dir, unsigned depth)
{
	const char *top;

	if (common) {
		read_worktree(r, common, dir);
		/* its submodules, of which the rows know nothing */
		each(r, NULL, pol_build_join(r->b, dir, "modules"), ROWS_DEEP);
		return;
	}
	if (is_in_dir(r, dir, "config") || is_in_dir(r, dir, "HEAD")) {
		read_repository(r, dir, r->b->rs->workspaces[r->ws]);
		top = r->top;
		close_repository(r, dir, depth);
		close_git_of(r, top);
	}
	each(r, NULL, dir, depth + 1);
}

/* Each directory in `at`: worktrees of `common`, or repositories and directories of them. */
static void each(struct runs *r, const char *common, const char *at, unsigned depth)
{
	bool is_repository = is_in_dir(r, at, "HEAD");
	DIR *list = opendir(at);
	const struct dirent *e;

	while (list && (e = readdir(list))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || e->d_type == DT_REG ||
		    (is_repository && is_gits_own(e->d_name)))
			continue;
		if (depth > DEPTH_OF_NAMES || ++r->seen > REPOSITORIES_MAX) {
			too_many(r, at);
			break;
		}
		look_at(r, common, pol_build_join(r->b, at, e->d_name), depth);
	}
	if (list)
		closedir(list);
}

void pol_build_git_runs(struct pol_build *b)
{
	for (size_t i = 0; i < b->rs->nworkspaces; i++) {
		struct runs r = {.b = b, .ws = i, .tier = POL_TIER_SET};
		const char *dir = b->common_dirs[i], *ws = b->rs->workspaces[i];

		if (!dir)
			dir = b->inside_dirs[i];
		if (!dir)
			dir = pol_build_join(b, ws, ".git");
		read_repository(&r, dir, ws);
		each(&r, dir, pol_build_join(b, dir, "worktrees"), 0);
		each(&r, NULL, pol_build_join(b, dir, "modules"), 0);
		pol_gitconfig_read(&b->rs->arena, pol_build_join(b, ws, ".gitmodules"),
				   take_submodule, &r);
	}
}

void pol_build_git_granted(struct pol_build *b, const char *dir, enum pol_tier tier)
{
	struct runs r = {.b = b, .granted = dir, .tier = tier};

	each(&r, dir, pol_build_join(b, dir, "worktrees"), 0);
	each(&r, NULL, pol_build_join(b, dir, "modules"), 0);
}
