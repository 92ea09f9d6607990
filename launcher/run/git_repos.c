/* SPDX-License-Identifier: Apache-2.0 */
/* git_repos.c - see git_repos.h. */
#include "launcher/run/git_repos.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

enum { POINTER_MAX = 1 << 20, SUBMODULES_MAX = 4096 };

static const char *join(struct b_arena *a, const char *dir, const char *name)
{
	return *name == '/' ? name : b_arena_printf(a, "%s/%s", strcmp(dir, "/") ? dir : "", name);
}

static bool has(struct b_arena *a, const char *dir, const char *name)
{
	struct stat st;

	return lstat(join(a, dir, name), &st) == 0;
}

/* The path in a file of one line, with the links on it resolved; NULL = there is none. */
static const char *pointer(struct b_arena *a, const char *dir, const char *name, const char *prefix)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;
	size_t n = strlen(prefix);

	if (b_read_file(join(a, dir, name), POINTER_MAX, &text, &err) < 0 || text.len <= n ||
	    strncmp(text.s, prefix, n) != 0)
		return NULL;
	text.s[strcspn(text.s, "\r\n")] = '\0';
	return text.s[n]
		       ? pol_canonical(a, join(a, dir,
					       b_arena_strndup(a, text.s + n, strlen(text.s + n))))
		       : NULL;
}

struct worktree {
	struct b_arena *a;
	struct lau_repo *repo;
};

static void take_worktree(void *ctx, const char *file, const char *section, const char *key,
			  const char *value)
{
	struct worktree *w = ctx;

	(void)file;
	if (strcasecmp(section, "core") == 0 && strcasecmp(key, "worktree") == 0)
		w->repo->top = pol_gitconfig_path(w->a, w->repo->dir, value);
}

static bool take(struct b_arena *a, const char *top, const char *dir, struct lau_repo *out)
{
	const char *common = pointer(a, dir, "commondir", "");
	struct worktree w = {a, out};

	if (!has(a, dir, "HEAD"))
		return false;
	*out = (struct lau_repo){.top = top, .dir = dir, .common = common ? common : dir};
	/* of worktrees that share a configuration each says its own */
	if (out->common == dir)
		(void)pol_gitconfig_read(a, join(a, dir, "config"), take_worktree, &w);
	(void)pol_gitconfig_read(a, join(a, dir, "config.worktree"), take_worktree, &w);
	return true;
}

bool lau_repo_at(struct b_arena *a, const char *top, struct lau_repo *out)
{
	const char *git = join(a, top, ".git");
	struct stat st;

	if (stat(git, &st) < 0)
		return false;
	git = S_ISDIR(st.st_mode) ? pol_canonical(a, git) : pointer(a, top, ".git", "gitdir: ");
	return git && take(a, top, git, out);
}

/* What git takes for a bare repository. */
static bool is_bare(struct b_arena *a, const char *dir)
{
	return has(a, dir, "commondir") || (has(a, dir, "objects") && has(a, dir, "refs"));
}

size_t lau_repos_find(struct b_arena *a, const char *from, struct lau_repo out[LAU_REPOS_MAX])
{
	char *dir = b_arena_strndup(a, from, strlen(from));
	size_t n = 0;

	for (;;) {
		const char *at = b_arena_strndup(a, *dir ? dir : "/", strlen(*dir ? dir : "/"));

		if (n + 2 > LAU_REPOS_MAX)
			return LAU_REPOS_MAX;
		n += lau_repo_at(a, at, &out[n]);
		n += is_bare(a, at) && take(a, at, at, &out[n]);
		if (!*dir || !strrchr(dir, '/'))
			return n;
		*strrchr(dir, '/') = '\0';
	}
}

/* ---- the index (gitformat-index(5)), versions 2 to 4, SHA-1 ---- */

enum {
	HEAD_SIZE = 12,
	MODE_AT = 24,
	FLAGS_AT = 60,
	NAME_AT = 62,
	HASH_SIZE = 20,
	EXTENDED = 0x4000,
	GITLINK = 0160000,
	TYPE_MASK = 0170000,
};

struct index {
	const unsigned char *at, *end;
	uint32_t version;
	struct b_str name; /* of the entry before: version 4 says what of it stays */
};

static uint32_t number(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A number of version 4: how many bytes of the name before go. */
static bool take_length(struct index *x, size_t *out)
{
	size_t n = 0;

	for (int i = 0; i < 5 && x->at < x->end; i++) {
		unsigned char c = *x->at++;

		n = (i ? (n + 1) << 7 : 0) + (c & 127);
		if (!(c & 128)) {
			*out = n;
			return true;
		}
	}
	return false;
}

/* The name of one entry, and its mode. */
static bool take_entry(struct index *x, uint32_t *out_mode)
{
	const unsigned char *start = x->at, *nul;
	size_t cut = x->name.len, size = NAME_AT;

	if (x->end - start < NAME_AT + 2)
		return false;
	*out_mode = number(start + MODE_AT);
	if ((start[FLAGS_AT] << 8 | start[FLAGS_AT + 1]) & EXTENDED) {
		if (x->version < 3)
			return false;
		size += 2;
	}
	x->at = start + size;
	if (x->version == 4 && (!take_length(x, &cut) || cut > x->name.len))
		return false;
	nul = memchr(x->at, '\0', (size_t)(x->end - x->at));
	if (!nul)
		return false;
	x->name.len -= cut;
	b_str_addn(&x->name, x->at, (size_t)(nul - x->at));
	x->at = nul + 1;
	if (x->version < 4) /* NULs up to a multiple of eight, one at least */
		x->at = start + ((size_t)(nul - start) + 8) / 8 * 8;
	return x->at <= x->end;
}

/* A link to another index, or directories that are not spread out, name entries that are not here.
 * git ignores what it does not know in capitals. */
static bool extensions_are_known(struct index *x)
{
	while (x->end - x->at >= 8) {
		uint32_t n = number(x->at + 4);

		if (*x->at < 'A' || *x->at > 'Z' || n > (size_t)(x->end - x->at) - 8)
			return false;
		x->at += 8 + n;
	}
	return x->at == x->end;
}

static bool read_index(struct b_arena *a, struct index *x, uint32_t entries, const char **v,
		       size_t *n)
{
	for (uint32_t i = 0; i < entries; i++) {
		uint32_t mode;

		if (!take_entry(x, &mode))
			return false;
		if ((mode & TYPE_MASK) != GITLINK)
			continue;
		if (*n == SUBMODULES_MAX)
			return false;
		v[(*n)++] = b_arena_strndup(a, b_str_c(&x->name), x->name.len);
	}
	return extensions_are_known(x);
}

static void take_format(void *ctx, const char *file, const char *section, const char *key,
			const char *value)
{
	(void)file;
	if (strcasecmp(section, "extensions") == 0 && strcasecmp(key, "objectFormat") == 0)
		*(bool *)ctx |= strcasecmp(value, "sha1") != 0;
}

bool lau_repo_submodules(struct b_arena *a, const struct lau_repo *r, size_t *left,
			 const char *const **out, size_t *out_n)
{
	b_auto(b_str_release) struct b_str text = {0};
	const char **v = b_arena_alloc(a, SUBMODULES_MAX * sizeof *v);
	struct index x = {0};
	bool is_other = false, is_whole;
	struct b_err err;

	*out = v;
	*out_n = 0;
	if (b_read_file(join(a, r->dir, "index"), *left, &text, &err) < 0)
		return err.sys == ENOENT;
	*left -= text.len;
	(void)pol_gitconfig_read(a, join(a, r->common, "config"), take_format, &is_other);
	if (is_other || text.len < HEAD_SIZE + HASH_SIZE || memcmp(text.s, "DIRC", 4) != 0)
		return false;
	x.at = (const unsigned char *)text.s + HEAD_SIZE;
	x.end = (const unsigned char *)text.s + text.len - HASH_SIZE;
	x.version = number((const unsigned char *)text.s + 4);
	is_whole = x.version >= 2 && x.version <= 4 &&
		   read_index(a, &x, number((const unsigned char *)text.s + 8), v, out_n);
	b_str_release(&x.name);
	return is_whole;
}
