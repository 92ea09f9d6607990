/* normalise.c - one spelling for each Orbit rule and each path a person asks about. */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/model.h"

/* Unicode White_Space, which is what Orbit trims. */
static bool is_space(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} spaces[] = {
		{0x09, 0x0d},	  {0x20, 0x20},	    {0x85, 0x85},     {0xa0, 0xa0},
		{0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
		{0x205f, 0x205f}, {0x3000, 0x3000},
	};

	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (c >= spaces[i].first && c <= spaces[i].last)
			return true;
	return false;
}

static unsigned space_at(const char *s, size_t n)
{
	unsigned len = b_utf8_len((const unsigned char *)s, n);

	return len && is_space(b_utf8_decode((const unsigned char *)s, len)) ? len : 0;
}

static unsigned space_before(const char *s, size_t n)
{
	for (unsigned len = 1; len <= 3 && len <= n; len++)
		if (space_at(s + n - len, len) == len)
			return len;
	return 0;
}

static void trim(const char **s, size_t *n)
{
	unsigned len;

	while ((len = space_at(*s, *n)) > 0) {
		*s += len;
		*n -= len;
	}
	while ((len = space_before(*s, *n)) > 0)
		*n -= len;
}

/* Rebuilds from the components that name something. False when one is "..". */
static bool rebuild(const char *s, size_t n, char *out, size_t *out_len)
{
	size_t len = 0;

	for (size_t i = 0; i < n;) {
		const char *slash = memchr(s + i, '/', n - i);
		size_t part = slash ? (size_t)(slash - (s + i)) : n - i;

		if (part == 2 && s[i] == '.' && s[i + 1] == '.')
			return false;
		if (part > 0 && !(part == 1 && s[i] == '.')) {
			if (len)
				out[len++] = '/';
			memcpy(out + len, s + i, part);
			len += part;
		}
		i += part + 1;
	}
	out[len] = '\0';
	*out_len = len;
	return true;
}

/* Components joined by '/', "" for the root. NULL: leaves the workspace. */
static const char *inside(struct b_arena *a, const char *s, size_t n)
{
	char *out = b_arena_alloc(a, n + 1);
	size_t len;

	if (n > 0 && s[0] == '/')
		return NULL;
	/* `~user` is an ordinary name; `~` is, too, once something stands before it. */
	if (n > 0 && s[0] == '~' && (n == 1 || s[1] == '/'))
		return NULL;
	return rebuild(s, n, out, &len) ? out : NULL;
}

/* The same of what a person wrote: trimmed, and a backslash is a slash. */
static const char *text_inside(struct b_arena *a, const char *s, size_t n)
{
	char *slashed = b_arena_strndup(a, s, n);

	for (size_t i = 0; i < n; i++)
		if (slashed[i] == '\\')
			slashed[i] = '/';
	return inside(a, slashed, n);
}

const char *pol_rule_normalise(struct b_arena *a, const char *raw, const char *label,
			       bool *out_negated, struct b_err *err)
{
	const char *s = raw, *norm;
	size_t n = strlen(raw);
	bool negated = false;

	if (n > POL_MAX_RULE_LEN) {
		b_fail(err, B_POLICY, 0, "%s contains a rule of more than %d bytes", label,
		       POL_MAX_RULE_LEN);
		return NULL;
	}
	if (!b_utf8_valid(raw, n)) {
		b_fail(err, B_POLICY, 0, "%s contains a rule that is not UTF-8", label);
		return NULL;
	}
	trim(&s, &n);
	if (n == 0) {
		b_fail(err, B_POLICY, 0, "%s contains an empty path rule", label);
		return NULL;
	}
	if (*s == '!') {
		negated = true;
		s++;
		n--;
	}
	/* "./~" and ".//x" name things inside: the prefix goes before the checks. */
	while (n >= 2 && s[0] == '.' && (s[1] == '/' || s[1] == '\\')) {
		s += 2;
		n -= 2;
	}
	norm = text_inside(a, s, n);
	if (!norm) {
		b_fail(err, B_POLICY, 0, "%s rule `%s` must stay inside the workspace root", label,
		       raw);
		return NULL;
	}
	*out_negated = negated;
	return *norm ? norm : ".";
}

bool pol_rule_is_negated(const char *raw)
{
	size_t n = strlen(raw);

	trim(&raw, &n);
	return n > 0 && *raw == '!';
}

static const char *path_or_fail(const char *norm, size_t n, const char *raw, struct b_err *err)
{
	if (n == 0)
		b_fail(err, B_USAGE, 0, "filesystem path must not be empty");
	else if (!norm)
		b_fail(err, B_USAGE, 0, "path `%s` must stay inside the workspace root", raw);
	return n ? norm : NULL;
}

const char *pol_path_normalise(struct b_arena *a, const char *raw, struct b_err *err)
{
	const char *s = raw;
	size_t n = strlen(raw);

	trim(&s, &n);
	return path_or_fail(text_inside(a, s, n), n, raw, err);
}

const char *pol_path_inside(struct b_arena *a, const char *path, struct b_err *err)
{
	size_t n = strlen(path);

	return path_or_fail(inside(a, path, n), n, path, err);
}

bool pol_rule_is_subtree(const char *rule, size_t *out_len, bool *out_with_below)
{
	size_t n = strlen(rule);
	bool below = false;

	if (strcmp(rule, ".") == 0) {
		n = 0;
	} else if (strcmp(rule, "**") == 0 || strcmp(rule, "/**") == 0) {
		n = 0;
		below = true;
	} else if (n > 3 && strcmp(rule + n - 3, "/**") == 0) {
		n -= 3;
		below = true;
	}
	if (memchr(rule, '*', n) || memchr(rule, '?', n))
		return false;
	*out_len = n;
	*out_with_below = below;
	return true;
}

bool pol_rule_contains(const char *outer, const char *inner)
{
	size_t out_len, in_len;
	bool out_below, in_below;

	if (!pol_rule_is_subtree(outer, &out_len, &out_below) || !out_below ||
	    !pol_rule_is_subtree(inner, &in_len, &in_below))
		return false;
	return in_len > out_len && memcmp(outer, inner, out_len) == 0 &&
	       (out_len == 0 || inner[out_len] == '/');
}

bool pol_rule_covers(const char *read_rule, const char *modify_rule)
{
	size_t n = strlen(read_rule);

	if (strcmp(read_rule, modify_rule) == 0 || strcmp(read_rule, "**") == 0 ||
	    strcmp(read_rule, "/**") == 0)
		return true;
	if (n < 3 || strcmp(read_rule + n - 3, "/**") != 0)
		return false;
	n -= 3;
	return strncmp(read_rule, modify_rule, n) == 0 &&
	       (modify_rule[n] == '\0' || modify_rule[n] == '/');
}

/* A file stem with an extension: the last dot has something before it. */
static bool has_extension(const char *s, size_t n)
{
	return n > 1 && memchr(s + 1, '.', n - 1);
}

const char *pol_name_check_n(const char *name, size_t len)
{
	const char *s = name;
	size_t n = len;

	if (len == 0)
		return "must not be empty";
	trim(&s, &n);
	if (n != len)
		return "must not have leading or trailing whitespace";
	if (name[0] == '.')
		return "must not start with `.`";
	for (size_t i = 0; i + 1 < len; i++)
		if (name[i] == '.' && name[i + 1] == '.')
			return "must not contain `..`";
	for (size_t i = 0; i < len;) {
		unsigned step = b_utf8_len((const unsigned char *)name + i, len - i);
		uint32_t c = step ? b_utf8_decode((const unsigned char *)name + i, step) : 0;

		/* Cc: C0, DEL and C1; a byte that is no UTF-8 counts as NUL. */
		if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == '/' || c == '\\' || c == ':')
			return "must not contain separators, drive prefixes, or control characters";
		i += step;
	}
	return has_extension(name, len) ? "must be a single file stem" : NULL;
}

const char *pol_name_check(const char *name)
{
	return pol_name_check_n(name, strlen(name));
}
