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
#include "policy/rules/git_pointer.h"
#include "policy/rules/workspace.h"

enum { SUBMODULES_MAX = 4096 };

static const char *join(struct b_arena *a, const char *dir, const char *name)
{
	return *name == '/' ? name : b_arena_printf(a, "%s/%s", strcmp(dir, "/") ? dir : "", name);
}

static bool has(struct b_arena *a, const char *dir, const char *name)
{
	struct stat st;

	return lstat(join(a, dir, name), &st) == 0;
}

/* The path in a file of git's, with the links on it resolved; NULL = there is none, or it cannot be
 * read. */
static const char *pointer(struct b_arena *a, const char *dir, const char *name, const char *prefix,
			   bool *out_unread)
{
	const char *path;
	enum pol_pointer how = pol_git_pointer(a, join(a, dir, name), prefix, &path);

	*out_unread = how == POL_POINTER_UNREADABLE;
	return how == POL_POINTER_READ ? pol_canonical(a, join(a, dir, path)) : NULL;
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
	bool is_unread;
	const char *common = pointer(a, dir, "commondir", "", &is_unread);
	struct worktree w = {a, out};

	if (!has(a, dir, "HEAD"))
		return false;
	*out = (struct lau_repo){top, dir, common ? common : dir, is_unread};
	/* worktrees that share a configuration have entries of their own */
	if (out->common == dir)
		(void)pol_gitconfig_read(a, join(a, dir, "config"), take_worktree, &w);
	(void)pol_gitconfig_read(a, join(a, dir, "config.worktree"), take_worktree, &w);
	return true;
}

bool lau_repo_at(struct b_arena *a, const char *top, struct lau_repo *out)
{
	const char *git = join(a, top, ".git"), *dir;
	bool is_unread = false;
	struct stat st;

	if (stat(git, &st) < 0)
		return false;
	dir = S_ISDIR(st.st_mode) ? pol_canonical(a, git)
				  : pointer(a, top, ".git", "gitdir: ", &is_unread);
	if (is_unread)
		*out = (struct lau_repo){top, git, git, true};
	return is_unread || (dir && take(a, top, dir, out));
}

/* Whether git takes the directory for a bare repository. */
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

/* ---- the index (gitformat-index(5)), versions 2 to 4, SHA-1 ----
 *
 * As git reads it: where its reading could differ from this one, the index is not read whole. Git
 * does not look at the checksum, nor at what the padding is. */

enum {
	HEAD_SIZE = 12,
	MODE_AT = 24,
	FLAGS_AT = 60,
	NAME_AT = 62,
	HASH_SIZE = 20,
	EXTENSION_HEAD = 8,
	END_SIZE = EXTENSION_HEAD + 4 + HASH_SIZE, /* the extension EOIE */
	EXTENDED = 0x4000,
	LENGTH = 0xfff, /* as long, or longer */
	GITLINK = 0160000,
	TYPE_MASK = 0170000,
};

struct index {
	const unsigned char *start, *at, *end;
	uint32_t version, entries;
	struct b_str name; /* of the entry before, whose beginning version 4 reuses */
	uint32_t *places;  /* where each entry begins; 0: not without the one before */
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

/* The bytes of the name that lie in the entry, of which `same` are the one's before. SIZE_MAX: a
 * length that the name does not have. */
static size_t name_size(const struct index *x, size_t length, size_t same)
{
	size_t left = (size_t)(x->end - x->at), n;
	const unsigned char *nul;

	if (length < LENGTH && (length < same || length - same >= left))
		return SIZE_MAX;
	nul = memchr(x->at, '\0', left);
	n = nul ? (size_t)(nul - x->at) : SIZE_MAX;
	return length == LENGTH || n == length - same ? n : SIZE_MAX;
}

/* The name of one entry, and its mode. */
static bool take_entry(struct index *x, uint32_t *out_mode, uint32_t *out_place)
{
	const unsigned char *start = x->at;
	size_t cut = x->name.len, size = NAME_AT, n;
	unsigned flags;

	if (x->end - start < NAME_AT + 2)
		return false;
	*out_mode = number(start + MODE_AT);
	flags = (unsigned)start[FLAGS_AT] << 8 | start[FLAGS_AT + 1];
	if (flags & EXTENDED) {
		if (x->version < 3)
			return false;
		size += 2;
	}
	x->at = start + size;
	if (x->version == 4 && (!take_length(x, &cut) || cut > x->name.len))
		return false;
	x->name.len -= cut;
	*out_place = x->name.len ? 0 : (uint32_t)(start - x->start);
	n = name_size(x, flags & LENGTH, x->name.len);
	if (n == SIZE_MAX)
		return false;
	b_str_addn(&x->name, x->at, n);
	x->at += n + 1;
	if (x->version < 4) /* up to a multiple of eight, one at least */
		x->at = start + (size + n + 8) / 8 * 8;
	return x->at <= x->end;
}

/* IEOT: where the blocks of entries begin that threads of git read, and how many each has. A block
 * knows no name before it. */
static bool is_as_walked(const struct index *x, const unsigned char *p, uint32_t size)
{
	uint64_t entry = 0;

	if (size < 12 || size % 8 != 4 || number(p) != 1)
		return false;
	for (uint32_t i = 4; i < size; i += 8) {
		if (entry >= x->entries || x->places[entry] != number(p + i))
			return false;
		entry += number(p + i + 4);
	}
	return entry == x->entries;
}

/* EOIE, which git finds at the end whatever lies before: where the extensions begin. */
static bool ends_as_walked(const struct index *x)
{
	const unsigned char *p = x->end - END_SIZE;

	return x->end - x->at < END_SIZE || memcmp(p, "EOIE", 4) != 0 ||
	       number(p + EXTENSION_HEAD) == (uint32_t)(x->at - x->start);
}

/* A link to another index, or directories that are not spread out, name entries that are not here.
 * git ignores what it does not know in capitals. */
static bool extensions_are_known(struct index *x)
{
	if (!ends_as_walked(x))
		return false;
	while (x->end - x->at >= EXTENSION_HEAD) {
		uint32_t n = number(x->at + 4);

		if (*x->at < 'A' || *x->at > 'Z' || n > (size_t)(x->end - x->at) - EXTENSION_HEAD)
			return false;
		if (memcmp(x->at, "IEOT", 4) == 0 && !is_as_walked(x, x->at + EXTENSION_HEAD, n))
			return false;
		x->at += EXTENSION_HEAD + n;
	}
	return x->at == x->end;
}

static bool read_index(struct b_arena *a, struct index *x, const char **v, size_t *n)
{
	if (x->entries > (size_t)(x->end - x->at) / NAME_AT)
		return false;
	x->places = b_arena_alloc(a, (x->entries + 1) * sizeof *x->places);
	for (uint32_t i = 0; i < x->entries; i++) {
		uint32_t mode, type;

		if (!take_entry(x, &mode, &x->places[i]))
			return false;
		type = mode & TYPE_MASK;
		if (type == S_IFREG || type == S_IFLNK)
			continue;
		/* of a directory, and of a path from the root, it is not known what git enters */
		if (type != GITLINK || *b_str_c(&x->name) == '/' || *n == SUBMODULES_MAX)
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
	x.start = (const unsigned char *)text.s;
	x.at = x.start + HEAD_SIZE;
	x.end = x.start + text.len - HASH_SIZE;
	x.version = number(x.start + 4);
	x.entries = number(x.start + 8);
	is_whole = x.version >= 2 && x.version <= 4 && read_index(a, &x, v, out_n);
	b_str_release(&x.name);
	return is_whole;
}
