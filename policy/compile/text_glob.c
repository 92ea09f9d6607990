/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openshell_glob.c - see dialect.h. Braces are multiplied out; what is left is walked once,
 * with the set of places in the value where the pattern so far may end: no pattern is slow.
 */
#include "policy/front/dialect.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* Behind the class that begins at p, or NULL: it has no end. A bracket that is first is a member.
 */
static const char *class_end(const char *p)
{
	p++;
	p += *p == '!' || *p == '^';
	p += *p == ']';
	for (; *p; p++)
		if (*p == ']')
			return p + 1;
	return NULL;
}

/* Behind what stands at p, as a whole: an escape, a class, one byte. */
static const char *skip_one(const char *p)
{
	if (*p == '\\')
		return p[1] ? p + 2 : NULL;
	return *p == '[' ? class_end(p) : p + 1;
}

/* Behind the brace that closes the one at p. */
static const char *brace_end(const char *p)
{
	int depth = 0;

	while (p && *p) {
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		if (*p == '}' && depth == 0)
			return p + 1;
		p = skip_one(p);
	}
	return NULL;
}

const char *pol_openshell_glob_check(const char *pattern)
{
	int depth = 0;

	for (const char *p = pattern; *p;) {
		if (*p == '[' && !class_end(p))
			return "has unclosed '['";
		if (*p == '\\' && !p[1])
			return "ends in a backslash";
		if (*p == '{' && !brace_end(p))
			return "has unclosed '{'";
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		if (depth < 0)
			return "has unopened '}'";
		p = skip_one(p);
	}
	return NULL;
}

/* ---- one pattern without braces ---- */

/* Places 0 to n of the value, true where the pattern so far may end. */
struct places {
	const char *s;
	size_t n;
	bool *now, *next;
};

static void turn(struct places *w)
{
	bool *was = w->now;

	w->now = w->next;
	w->next = was;
	memset(w->next, 0, w->n + 1);
}

static size_t char_len(const struct places *w, size_t i)
{
	unsigned n = b_utf8_len((const unsigned char *)w->s + i, w->n - i);

	return n ? n : 1;
}

/* `p` is behind the bracket; ranges are of bytes, or of one character and itself. */
static bool in_class(const char *p, const char *end, const char *c, size_t len)
{
	bool negated = *p == '!' || *p == '^', found = false;

	for (p += negated; p < end - 1 && !found; p++) {
		if (p[1] == '-' && p + 2 < end - 1) {
			found = len == 1 && (unsigned char)*p <= (unsigned char)*c &&
				(unsigned char)*c <= (unsigned char)p[2];
			p += 2;
		} else {
			found = strncmp(p, c, len) == 0;
		}
	}
	return found != negated;
}

static void step_char(struct places *w, const char *p, const char *end)
{
	for (size_t i = 0; i < w->n; i++) {
		size_t len = char_len(w, i);
		bool fits;

		if (!w->now[i])
			continue;
		if (*p == '?')
			fits = w->s[i] != '/';
		else if (*p == '[')
			fits = in_class(p + 1, end, w->s + i, len);
		else
			fits = w->s[i] == (*p == '\\' ? p[1] : *p), len = 1;
		if (fits)
			w->next[i + len] = true;
	}
	turn(w);
}

/* `*`, or anything at all. */
static void step_star(struct places *w, bool crosses)
{
	bool on = false;

	for (size_t i = 0; i <= w->n; i++) {
		on |= w->now[i];
		w->next[i] = on;
		on &= crosses || w->s[i] != '/';
	}
	turn(w);
}

/* Behind a slash here or anywhere later; `may_skip`: or right here. */
static void step_components(struct places *w, bool may_skip)
{
	bool seen = false;

	for (size_t i = 0; i <= w->n; i++) {
		seen |= w->now[i] && (may_skip || w->s[i] == '/');
		w->next[i] |= may_skip && w->now[i];
		if (seen && i < w->n && w->s[i] == '/')
			w->next[i + 1] = true;
	}
	turn(w);
}

/* Stars that are a whole component; NULL: these are none. */
static const char *step_whole(struct places *w, const char *pattern, const char *p)
{
	if (p == pattern && strcmp(p, "**") == 0) {
		step_star(w, true);
		return p + 2;
	}
	if (p == pattern && strncmp(p, "**/", 3) == 0) {
		step_components(w, true);
		return p + 3;
	}
	if (strncmp(p, "/**/", 4) == 0) {
		step_components(w, false);
		return p + 4;
	}
	if (strcmp(p, "/**") != 0)
		return NULL;
	step_char(w, p, p + 1);
	step_star(w, true);
	return p + 3;
}

static bool match_plain(const char *pattern, const char *value)
{
	size_t n = strlen(value);
	b_auto_free bool *now = b_calloc(n + 2, 1), *next = b_calloc(n + 2, 1);
	struct places w = {value, n, now, next};

	w.now[0] = true;
	for (const char *p = pattern, *end; *p; p = end) {
		end = step_whole(&w, pattern, p);
		if (end)
			continue;
		end = skip_one(p);
		if (*p == '*')
			step_star(&w, false);
		else
			step_char(&w, p, end);
	}
	return w.now[n];
}

/* ---- braces ---- */

/* Of `{a,b}` at p the part that ends at the returned comma or brace. */
static const char *part_end(const char *p)
{
	int depth = 0;

	while (depth > 0 || (*p != ',' && *p != '}')) {
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		p = skip_one(p);
	}
	return p;
}

static bool match_any(const char *pattern, const char *value, int *budget)
{
	const char *open = pattern, *end;

	while (*open && *open != '{')
		open = skip_one(open);
	if (--*budget < 0)
		return false;
	if (!*open)
		return match_plain(pattern, value);
	end = brace_end(open);
	for (const char *part = open + 1; part < end; part = part_end(part) + 1) {
		b_auto(b_str_release) struct b_str one = {0};

		b_str_addn(&one, pattern, (size_t)(open - pattern));
		b_str_addn(&one, part, (size_t)(part_end(part) - part));
		b_str_add(&one, end);
		if (match_any(b_str_c(&one), value, budget))
			return true;
	}
	return false;
}

bool pol_openshell_glob_match(const char *pattern, const char *value)
{
	int budget = POL_OPENSHELL_ALTERNATIVES;

	return !pol_openshell_glob_check(pattern) && match_any(pattern, value, &budget);
}
