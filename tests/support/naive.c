/* SPDX-License-Identifier: Apache-2.0 */
/* naive.c - see naive.h. */
#include "tests/support/naive.h"

#include <string.h>

struct
try {
	const char *glob, *glob_end, *path;
	size_t len;
	bool folds;
	bool starts[256];      /* does a token of the path begin here? */
	bool failed[256][256]; /* what was tried in vain, or it would take for ever */
};

static bool is_tail(const char *s, size_t left, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (i >= left || (s[i] & 0xc0) != 0x80)
			return false;
	return true;
}

/* Bytes of the character that begins here (table 3-7 of the Unicode standard), or one stray byte.
 */
static size_t token(const char *s, size_t left)
{
	unsigned char a = (unsigned char)s[0], b = left > 1 ? (unsigned char)s[1] : 0;

	if (a >= 0xc2 && a <= 0xdf && is_tail(s, left, 2))
		return 2;
	if (a >= 0xe0 && a <= 0xef && is_tail(s, left, 3) && !(a == 0xe0 && b < 0xa0) &&
	    !(a == 0xed && b > 0x9f))
		return 3;
	if (a >= 0xf0 && a <= 0xf4 && is_tail(s, left, 4) && !(a == 0xf0 && b < 0x90) &&
	    !(a == 0xf4 && b > 0x8f))
		return 4;
	return 1;
}

static char small(const struct try *t, char c)
{
	return t->folds && c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool match(struct try *t, const char *g, size_t at);

/* Some run of bytes, then the rest of the pattern from `g`. */
static bool run(struct try *t, const char *g, size_t at, bool with_slash, bool only_whole_dirs)
{
	if (match(t, g, at))
		return true;
	for (; at < t->len && (with_slash || t->path[at] != '/'); at++)
		if ((!only_whole_dirs || t->path[at] == '/') && match(t, g, at + 1))
			return true;
	return false;
}

static bool attempt(struct try *t, const char *g, size_t at)
{
	size_t left = (size_t)(t->glob_end - g);

	if (left == 0)
		return at == t->len;
	if (left >= 3 && strncmp(g, "**/", 3) == 0)
		return run(t, g + 3, at, true, true);
	if (left >= 2 && strncmp(g, "**", 2) == 0)
		return run(t, g + 2, at, true, false);
	if (*g == '*')
		return run(t, g + 1, at, false, false);
	if (at == t->len)
		return false;
	if (*g == '?')
		return t->starts[at] && t->path[at] != '/' &&
		       match(t, g + 1, at + token(t->path + at, t->len - at));
	return small(t, *g) == small(t, t->path[at]) && match(t, g + 1, at + 1);
}

static bool match(struct try *t, const char *g, size_t at)
{
	bool *failed = &t->failed[g - t->glob][at];

	if (!*failed && attempt(t, g, at))
		return true;
	*failed = true;
	return false;
}

bool naive_match(const char *glob, const char *path, size_t len, bool folds)
{
	struct try t = {.glob = glob, .path = path, .len = len, .folds = folds};
	size_t n = strlen(glob);

	for (size_t i = 0; i < len; i += token(path + i, len - i))
		t.starts[i] = true;
	if (strcmp(glob, ".") == 0)
		return len == 0;
	if (strcmp(glob, "/**") == 0)
		return true;
	t.glob_end = glob + n;
	if (n < 3 || strcmp(glob + n - 3, "/**") != 0)
		return match(&t, glob, 0);
	/* the directory, and all that is in it */
	t.glob_end -= 3;
	for (size_t end = 0; end <= len; end++) {
		if (end < len && path[end] != '/')
			continue;
		t.len = end;
		memset(t.failed, 0, sizeof t.failed);
		if (match(&t, glob, 0))
			return true;
	}
	return false;
}
