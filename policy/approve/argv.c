/* SPDX-License-Identifier: Apache-2.0 */
/* argv.c - see approve.h: one command, and what surrounds it. */
#include "policy/approve/approve.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static bool letters_look(const struct pol_command *c, const char *word)
{
	for (const char *p = word + 1; *p; p++) {
		if (c->letters_with && strchr(c->letters_with, *p))
			return true;
		if (!strchr(c->letters, *p))
			return false;
	}
	return true;
}

/* Every word that begins with `-` is judged as an option, also where it would be a value or stand
 * behind `--`: too strict, and right without a parser for each program. Where operands are counted
 * there is no `--`, which would make one of an option. */
static bool options_look(const struct pol_command *c, char const *const *args, size_t n,
			 struct b_str *why)
{
	size_t operands = 0;

	for (size_t i = 0; i < n; i++) {
		const char *w = args[i];

		if (w[0] != '-' || !w[1])
			operands++;
		else if (!c->letters || (!strcmp(w, "--") && !c->max_operands))
			continue;
		else if (w[1] == '-' ? !pol_command_has(c->options, w) : !letters_look(c, w))
			return pol_command_refuse(why, c->name, w);
		if (c->max_operands && operands > c->max_operands)
			return pol_command_refuse(why, c->name, w);
	}
	return true;
}

static const char *const shells[] = {"sh", "bash", "dash"};

static bool is_shell(const char *name)
{
	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
		if (strcmp(name, shells[i]) == 0)
			return true;
	return false;
}

const char *pol_approve_name(size_t i)
{
	const size_t n = sizeof shells / sizeof *shells;

	return i < n ? shells[i] : pol_command_name(i - n);
}

const char *pol_approve_text(char const *const *argv, size_t n)
{
	return n == 3 && is_shell(argv[0]) && strcmp(argv[1], "-c") == 0 ? argv[2] : NULL;
}

bool pol_approve_argv(char const *const *argv, size_t n, struct b_str *why)
{
	const char *text = pol_approve_text(argv, n);
	const struct pol_command *c;

	if (text)
		return pol_approve_shell(text, why);
	c = n ? pol_command_find(argv[0]) : NULL;
	if (!c) {
		b_str_addc(why, '`');
		b_str_add_visible(why, n ? argv[0] : "", n ? strlen(argv[0]) : 0);
		b_str_add(why, "` is not known to be read-only");
		return false;
	}
	return c->judge ? c->judge(argv + 1, n - 1, why) : options_look(c, argv + 1, n - 1, why);
}

/* ---- the environment ---- */

/* Shells read files, functions and places from it, rg and grep options, git anything, the loaders
 * libraries. A name that ends in `*` is a beginning. */
static const char *const refused_names[] = {
	"BASH_ENV", "BASH_FUNC_*",  "SHELLOPTS",	   "BASHOPTS",
	"CDPATH",   "GREP_OPTIONS", "RIPGREP_CONFIG_PATH", "GIT_*",
	"LD_*",	    "DYLD_*",	    "GCONV_PATH",
};
/* Of git's, those that only say who and how; of the loader's, those that name files. GIT_PAGER is
 * put out of force by pol_approve_settings. */
static const char harmless[] = "GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS "
			       "GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_AUTHOR_NAME "
			       "GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME "
			       "GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_NO_LAZY_FETCH "
			       "GIT_SSL_CAINFO GIT_SSL_CAPATH GIT_SSL_NO_VERIFY "
			       "GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES "
			       "LD_BIND_NOW LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH";

static bool is_named(const char *entry, const char *name)
{
	size_t n = strlen(name), len = strcspn(entry, "=");

	if (name[n - 1] == '*')
		return strncmp(entry, name, n - 1) == 0;
	return len == n && memcmp(entry, name, n) == 0;
}

bool pol_approve_environment(char const *const *envp, struct b_str *why)
{
	for (; *envp; envp++)
		for (size_t i = 0; i < sizeof refused_names / sizeof *refused_names; i++) {
			if (!is_named(*envp, refused_names[i]) || pol_command_has(harmless, *envp))
				continue;
			b_str_add(why, "the variable ");
			b_str_add_visible(why, *envp, strcspn(*envp, "="));
			b_str_add(why, " changes what commands do");
			return false;
		}
	return true;
}

/* GIT_CONFIG_COUNT stands above every file of configuration (git-config(1)). */
const char *const pol_approve_settings[] = {
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_NO_LAZY_FETCH=1",
	"GIT_PAGER=cat",
	"PAGER=cat",
	"GIT_CONFIG_COUNT=5",
	"GIT_CONFIG_KEY_0=core.fsmonitor",
	"GIT_CONFIG_VALUE_0=false",
	"GIT_CONFIG_KEY_1=diff.autoRefreshIndex",
	"GIT_CONFIG_VALUE_1=false",
	"GIT_CONFIG_KEY_2=log.showSignature",
	"GIT_CONFIG_VALUE_2=false",
	"GIT_CONFIG_KEY_3=diff.ignoreSubmodules", /* else git looks into them, by their settings */
	"GIT_CONFIG_VALUE_3=dirty",
	"GIT_CONFIG_KEY_4=safe.bareRepository", /* from 2.38 on */
	"GIT_CONFIG_VALUE_4=explicit",
	NULL,
};

/* ---- caliban's list ---- */

/* [...] with ranges, ! or ^ for the opposite; *p behind it. No end: the bracket itself. */
static bool in_class(const char **p, char c)
{
	const char *q = *p + 1;
	bool not = *q == '!' || *q == '^', found = false;

	q += not ;
	do {
		if (!*q) {
			*p += 1;
			return c == '[';
		}
		found |= q[1] == '-' && q[2] && q[2] != ']' ? *q <= c && c <= q[2] : *q == c;
		q += q[1] == '-' && q[2] && q[2] != ']' ? 3 : 1;
	} while (*q != ']');
	*p = q + 1;
	return found != not ;
}

/* fnmatch(3) without flags: `*` goes over every character. */
static bool matches(const char *p, const char *s)
{
	const char *star = NULL, *from = NULL, *next;

	while (*s || *p == '*') {
		if (*p == '*') {
			star = ++p;
			from = s;
			continue;
		}
		next = *p == '[' || !*p ? p : p + 1;
		if (*p == '[' ? in_class(&next, *s) : *p && (*p == '?' || *p == *s)) {
			p = next;
			s++;
		} else if (star) {
			if (!*from)
				return false;
			p = star;
			s = ++from;
		} else {
			return false;
		}
	}
	return !*p;
}

bool pol_approve_listed(char const *const *patterns, size_t n, const char *command)
{
	b_auto(b_str_release) struct b_str first = {0};

	if (strpbrk(command, ";&|`$()<>\n\r"))
		return false;
	command += strspn(command, " \t");
	if (!*command)
		return false;
	b_str_addn(&first, command, strcspn(command, " \t"));
	for (size_t i = 0; i < n; i++)
		if (matches(patterns[i], strchr(patterns[i], ' ') ? command : b_str_c(&first)))
			return true;
	return false;
}
