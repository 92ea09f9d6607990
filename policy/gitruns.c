/*
 * gitruns.c - what the host's git configuration runs or includes out of a workspace: the directory
 * of core.hooksPath and the files of include.path, closed as the protected set is, origin
 * `builtin:git:N` of workspace N. The configuration itself is in that set, so what is read here is
 * what the host's git will read. Commands (core.fsmonitor, filters) are not taken apart.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/build.h"
#include "policy/workspace.h"

enum { DEPTH_MAX = 5, FILES_MAX = 32, CONFIG_MAX = 1 << 20 };

struct runs {
	struct pol_build *b;
	size_t ws;
	unsigned files; /* read so far */
};

static void read_config(struct runs *r, const char *file, unsigned depth);

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

static const char *placed(struct runs *r, const char *dir, const char *value)
{
	struct b_arena *a = &r->b->rs->arena;
	const char *home = strncmp(value, "~/", 2) == 0 ? pol_home(a) : NULL;

	if (home)
		return pol_canonical(a, b_arena_printf(a, "%s%s", home, value + 1));
	return pol_canonical(a, *value == '/' ? value : b_arena_printf(a, "%s/%s", dir, value));
}

static const char *above(struct runs *r, const char *path)
{
	return b_arena_strndup(&r->b->rs->arena, path, (size_t)(strrchr(path, '/') - path));
}

static void take(struct runs *r, const char *file, const char *section, const char *key,
		 const char *value, unsigned depth)
{
	const char *path;

	if (!*value)
		return;
	if (strcasecmp(section, "core") == 0 && strcasecmp(key, "hooksPath") == 0) {
		path = placed(r, r->b->rs->workspaces[r->ws], value);
		/* husky's are in `_`, and run those beside it */
		if (strlen(path) > 2 && strcmp(path + strlen(path) - 2, "/_") == 0)
			path = above(r, path);
		close_at(r, POL_TREE, path);
	} else if (strncasecmp(section, "include", 7) == 0 && strcasecmp(key, "path") == 0) {
		path = placed(r, above(r, file), value);
		close_at(r, POL_EXACT, path);
		read_config(r, path, depth + 1);
	}
}

/* The value without quotes, escapes and a comment, in place (git-config(1), Syntax). */
static void unquote(char *s)
{
	char *out = s, *end = s; /* blanks behind `end` are not quoted: dropped */
	bool quoted = false;

	for (; *s && (quoted || (*s != '#' && *s != ';')); s++) {
		if (*s == '"') {
			quoted = !quoted;
			continue;
		}
		s += *s == '\\' && s[1];
		*out++ = *s;
		if (quoted || !isspace((unsigned char)*s))
			end = out;
	}
	*end = '\0';
}

static void take_line(struct runs *r, const char *file, char *line, char section[64],
		      unsigned depth)
{
	char *p = line + strspn(line, " \t\r"), *value;

	if (*p == '[') {
		size_t n = strcspn(p + 1, " \t\"]");
		char *end = strrchr(p, ']');

		n = n < 63 ? n : 63;
		memcpy(section, p + 1, n);
		section[n] = '\0';
		if (!end)
			return;
		p = end + 1 + strspn(end + 1, " \t\r");
	}
	value = strchr(p, '=');
	if (!value)
		return;
	*value++ = '\0';
	p[strcspn(p, " \t")] = '\0';
	value += strspn(value, " \t");
	unquote(value);
	take(r, file, section, p, value, depth);
}

static void read_config(struct runs *r, const char *file, unsigned depth)
{
	b_auto(b_str_release) struct b_str text = {0};
	char section[64] = "", *next;
	struct b_err err;

	if (depth > DEPTH_MAX || r->files++ >= FILES_MAX ||
	    b_read_file(file, CONFIG_MAX, &text, &err) < 0)
		return;
	for (char *line = text.len ? text.s : NULL; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		take_line(r, file, line, section, depth);
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
		read_config(&r, pol_build_join(b, dir, "config"), 0);
		if (home)
			read_config(&r, pol_build_join(b, home, ".gitconfig"), 0);
	}
}
