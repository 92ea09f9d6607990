/* SPDX-License-Identifier: Apache-2.0 */
/* denial_scope.c - what an option would open that names a refused path, or a part of it: see
 * collect_priv.h. Pure. */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "audit/collect_priv.h"
#include "base/str.h"
#include "core/event.h"
#include "core/path.h"

/* By a rule that somebody wrote: "<...>" and "[]" are no names, no rule matched, or there is none.
 */
bool aud_denial_is_named(const struct aud_denial *d)
{
	return d->matched[0] != '<' && strcmp(d->matched, "[]") != 0;
}

#define DIGITS_MADE_UP 10 /* a time, or what Java makes: no number that somebody chose */

/* "abc11103729415905170744b": the length of what is in front of the number; 0: there is none. */
static size_t before_number(const char *p, size_t n)
{
	size_t digits = 0, at = n;

	while (at && p[at - 1] != '/' && digits < DIGITS_MADE_UP)
		digits = isdigit((unsigned char)p[--at]) ? digits + 1 : 0;
	while (at && isdigit((unsigned char)p[at - 1]))
		at--;
	return digits == DIGITS_MADE_UP && at && p[at - 1] != '/' ? at : 0;
}

static size_t before_made_up(const char *p, size_t n)
{
	size_t end = n, from;
	bool has_lower = false, has_other = false;

	for (from = n; from && (isalnum((unsigned char)p[from - 1]) || p[from - 1] == '_');
	     from--) {
		unsigned char c = (unsigned char)p[from - 1];

		has_lower |= islower(c) != 0;
		has_other |= isupper(c) || isdigit(c);
	}
	if (from && strchr(".-", p[from - 1]) && end - from >= 6 && end - from <= 12 && has_lower &&
	    has_other)
		return from;
	if (end - from == 11 && !strncmp(p + from, "tmp", 3) && has_other)
		return from + 3;
	return before_number(p, n);
}

/* A name made up so that nobody else has it, as mkstemp(3) does: "x.J7MehC", "tmpk3_a9x2q". Another
 * run has another one. The length of what is in front of that; 0: no such name. What a rule denies
 * has the name that the rule says (".Xauthority"), and a dot alone is in front of all hidden files.
 */
size_t aud_denial_before_random(const struct aud_denial *d)
{
	size_t n = aud_denial_is_named(d) ? 0 : before_made_up(d->path, d->path_len), at = n;

	while (at && d->path[at - 1] != '/' && !isalnum((unsigned char)d->path[at - 1]))
		at--;
	return at && d->path[at - 1] != '/' ? n : 0;
}

/* A part of a git directory that git writes to when it commits, branches or is pushed to. */
static bool is_gits(const char *name, size_t n)
{
	static const char *const names[] = {"objects",	      "refs",
					    "logs",	      "index",
					    "HEAD",	      "ORIG_HEAD",
					    "FETCH_HEAD",     "packed-refs",
					    "index.lock",     "HEAD.lock",
					    "COMMIT_EDITMSG", "MERGE_HEAD",
					    "MERGE_MSG",      "packed-refs.lock",
					    "ORIG_HEAD.lock"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
			return true;
	return false;
}

static bool is_git_directory(const char *p, size_t n)
{
	const char *inside = strstr(p, "/.git/modules/");

	return (n > 4 && memcmp(p + n - 4, ".git", 4) == 0) ||
	       (inside && (size_t)(inside - p) + sizeof "/.git/modules/" - 1 <= n);
}

size_t aud_denial_in_git(const struct aud_denial *d)
{
	if (d->op != SBX_MODIFY || !b_has_prefix(d->origin, "builtin:base:"))
		return 0;
	for (size_t at = 1; at < d->path_len;) {
		const char *slash = memchr(d->path + at, '/', d->path_len - at);
		size_t end = slash ? (size_t)(slash - d->path) : d->path_len;

		if (at > 1 && is_gits(d->path + at, end - at) && is_git_directory(d->path, at - 1))
			return at - 1;
		at = end + 1;
	}
	return 0;
}

/* Does the rule name something below the first `n` bytes of the path (".claude/hooks/" of
 * ".claude")?
 */
static bool is_above_rule(const struct aud_denial *d, size_t n)
{
	const char *name = d->path + n, *at = d->matched, *below = NULL;
	size_t len = 0;

	while (len < n && name[-1] != '/')
		name--, len++;
	for (; len && (at = strchr(at, '/')); at++)
		if ((size_t)(at - d->matched) >= len && !memcmp(at - len, name, len) &&
		    ((size_t)(at - d->matched) == len || at[-(ptrdiff_t)len - 1] == '/'))
			below = at + 1;
	return below && *below && *below != '*';
}

/* An option opens all that lies below what it names. */
const char *aud_denial_opens(const struct aud_denial *d, size_t n)
{
	if (d->op != SBX_MODIFY)
		return d->op == SBX_READ && is_above_rule(d, n) ? "what is denied below it" : NULL;
	for (size_t i = 0; i < d->nworkspaces; i++)
		if (sbx_path_under(d->workspaces[i], strlen(d->workspaces[i]), d->path, n))
			return "the workspace and what is protected there";
	if (b_has_prefix(d->origin, "preset:protected:") && n > 5 &&
	    memcmp(d->path + n - 5, "/.git", 5) == 0)
		return "its hooks and configuration";
	if (is_above_rule(d, n))
		return "what is denied below it";
	return NULL;
}
