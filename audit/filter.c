/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c - is an event one that was asked for? See entry.h. */
#include "audit/entry.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"

/* Most paths are told apart from a glob by characters of it that mean themselves: those at its end
 * and, where it has no more than stars and question marks, those between them. */
static bool has_literals(const char *glob, const char *path, size_t path_len)
{
	bool is_plain = !strpbrk(glob, "[]{}\\!,");
	size_t n = 0, len = strlen(glob);

	while (n < len && !strchr("/*?[]{}\\!,", glob[len - n - 1]))
		n++;
	if (len && glob[len - 1] == '.')
		return true; /* `a/.`: left to those who know */
	if (path_len < n || memcmp(path + path_len - n, glob + len - n, n) != 0)
		return false;
	for (; is_plain && *glob; glob += n + (glob[n] != '\0')) {
		n = strcspn(glob, "/*?");
		if (n && *glob != '.' && !memmem(path, path_len, glob, n))
			return false;
	}
	return true;
}

static bool glob_match(const char *glob, const char *path)
{
	size_t len = strlen(path);

	/* the workspace itself is the empty path, which `.` means */
	return (!len || has_literals(glob, path, len)) && pol_glob_match(glob, path, len);
}

static bool glob_absolute(const char *glob, const char *path)
{
	return glob_match(glob + (*glob == '/'), path + 1);
}

bool aud_glob_match(const struct aud_filter *f, const char *glob, const char *path)
{
	/* a glob that begins with a slash, or with `**`, speaks of absolute paths too */
	bool absolute = *glob == '/' || b_has_prefix(glob, "**");
	size_t i;

	if (*path == '/')
		return absolute && glob_absolute(glob, path);
	if (*path != '.' || (path[1] && path[1] != '/'))
		return false;
	path += path[1] ? 2 : 1; /* "./x" -> "x", "." -> "" */
	if (*glob != '/' && glob_match(glob + (b_has_prefix(glob, "./") ? 2 : 0), path))
		return true;
	for (i = 0; absolute && i < f->nworkspaces; i++) {
		b_auto(b_str_release) struct b_str full = {0};

		if (strcmp(f->workspaces[i], "/") != 0)
			b_str_add(&full, f->workspaces[i]);
		b_str_addf(&full, "/%s", path);
		if (full.len > 1 && !*path)
			full.s[--full.len] = '\0';
		if (glob_absolute(glob, full.s))
			return true;
	}
	return false;
}

static bool match_globs(const struct aud_filter *f, const struct aud_entry *e)
{
	size_t i;

	for (i = 0; i < f->nglobs; i++)
		if (aud_glob_match(f, f->globs[i], e->path) ||
		    aud_glob_match(f, f->globs[i], e->path2))
			return true;
	return f->nglobs == 0;
}

bool aud_entry_is_denied(const struct aud_entry *e)
{
	return (*e->kind == 'd' && strcmp(e->kind, "denied") == 0) ||
	       (e->has_verdict && !e->allowed);
}

bool aud_filter_match(const struct aud_filter *f, const struct aud_entry *e)
{
	if (f->op >= 0 && strcmp(e->op, sbx_op_name((enum sbx_op)f->op)) != 0)
		return false;
	if (f->verdict != AUD_ANY_VERDICT &&
	    (!e->has_verdict || aud_entry_is_denied(e) != (f->verdict == AUD_ONLY_DENIED)))
		return false;
	if (f->pid >= 0 && e->pid != f->pid)
		return false;
	if (f->kind && strcmp(e->kind, f->kind) != 0)
		return false;
	return match_globs(f, e);
}
