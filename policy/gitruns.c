/*
 * gitruns.c - what the host's git configuration runs or includes out of a workspace: the directory
 * of core.hooksPath and the files of include.path, closed as the protected set is, origin
 * `builtin:git:N` of workspace N. The configuration itself is in that set, so what is read here is
 * what the host's git will read. Commands (core.fsmonitor, filters) are not taken apart.
 */
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/build.h"
#include "policy/gitconfig.h"
#include "policy/workspace.h"

struct runs {
	struct pol_build *b;
	size_t ws;
};

/* Closed where it lies in a workspace; one that is a workspace, or above, would close it all. */
static void close_at(struct runs *r, enum pol_shape shape, const char *path)
{
	struct pol_build *b = r->b;
	struct pol_rule rule = {.tier = POL_TIER_SET, .shape = shape, .base = path};

	for (size_t i = 0; i < b->rs->nworkspaces; i++) {
		const char *ws = b->rs->workspaces[i];

		if (strcmp(path, ws) == 0 || !sbx_path_under(path, strlen(path), ws, strlen(ws)))
			continue;
		rule.matched = shape == POL_TREE ? pol_build_join(b, path, "**") : path;
		rule.origin = b_arena_printf(&b->rs->arena, "builtin:git:%zu", r->ws + 1);
		pol_build_add(b, POL_OPS(SBX_MODIFY), &rule, POL_TWIN_ALWAYS);
		return;
	}
}

static void take(void *ctx, const char *file, const char *section, const char *key,
		 const char *value)
{
	struct runs *r = ctx;
	struct b_arena *a = &r->b->rs->arena;
	const char *path;

	if (strcasecmp(section, "core") == 0 && strcasecmp(key, "hooksPath") == 0) {
		path = pol_gitconfig_path(a, r->b->rs->workspaces[r->ws], value);
		/* husky's are in `_`, and run those beside it */
		if (strlen(path) > 2 && strcmp(path + strlen(path) - 2, "/_") == 0)
			path = pol_gitconfig_dir(a, path);
		close_at(r, POL_TREE, path);
	} else if (strncasecmp(section, "include", 7) == 0 && strcasecmp(key, "path") == 0) {
		close_at(r, POL_EXACT, pol_gitconfig_path(a, pol_gitconfig_dir(a, file), value));
	}
}

void pol_build_git_runs(struct pol_build *b)
{
	struct b_arena *a = &b->rs->arena;

	for (size_t i = 0; i < b->rs->nworkspaces; i++) {
		struct runs r = {.b = b, .ws = i};
		const char *home = pol_home(a), *dir = b->common_dirs[i];

		if (!dir)
			dir = b->inside_dirs[i];
		if (!dir)
			dir = pol_build_join(b, b->rs->workspaces[i], ".git");
		pol_gitconfig_read(a, pol_build_join(b, dir, "config"), take, &r);
		if (home)
			pol_gitconfig_read(a, pol_build_join(b, home, ".gitconfig"), take, &r);
	}
}
