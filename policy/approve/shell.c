/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell.c - see approve.h: the text of `sh -c`, split where every shell splits it.
 *
 * The accepted strings mean the same to dash, bash and any POSIX shell: words of plain characters,
 * '...', "..." without expansion, joined by | && || ; and newline. Anything else (expansions,
 * globs, which may become options, assignments, here-documents, comments, `&`, bytes above 127
 * outside quotes) is refused where it begins.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/approve/approve.h"

#define MAX_TEXT 65536 /* bytes */

struct line {
	const char *p;
	char **words; /* of the command that is being read */
	size_t n, cap;
	pol_approve_each *each;
	void *ctx;
	struct b_str *why;
};

static void line_clear(struct line *l)
{
	while (l->n > 0)
		free(l->words[--l->n]);
}

static bool refuse(struct line *l, const char *what, const char *at)
{
	size_t n = strlen(at);

	b_str_addf(l->why, "shell: %s: `", what);
	b_str_add_visible(l->why, at, n < 16 ? n : 16);
	b_str_addc(l->why, '`');
	return false;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_-./,:@%+=", c));
}

/* HEAD~1, HEAD^: within a word, behind a letter or digit, these stand for themselves. */
static bool is_plain_after(const struct b_str *word, char c)
{
	char last = word->len ? word->s[word->len - 1] : '/';

	return (c == '~' || c == '^') && is_plain(last) && !strchr("_-./,:@%+=", last);
}

static bool is_end(char c)
{
	return !c || strchr(" \t\n;|&<>", c);
}

/* A \ before " \ $ ` quotes that; before a newline it joins lines; else it stands for itself. */
static bool take_double(struct line *l, struct b_str *word)
{
	const char *start = l->p++;

	for (; *l->p != '"'; l->p++) {
		if (!*l->p)
			return refuse(l, "a quote without its end", start);
		if (*l->p == '$' || *l->p == '`' || (*l->p == '\\' && l->p[1] == '\n'))
			return refuse(l, "an expansion", l->p);
		if (*l->p == '\\' && l->p[1] && strchr("\"\\$`", l->p[1]))
			l->p++;
		b_str_addc(word, *l->p);
	}
	l->p++;
	return true;
}

static bool take_single(struct line *l, struct b_str *word)
{
	size_t n = strcspn(l->p + 1, "'");

	if (!l->p[1 + n])
		return refuse(l, "a quote without its end", l->p);
	b_str_addn(word, l->p + 1, n);
	l->p += n + 2;
	return true;
}

static bool take_word(struct line *l)
{
	b_auto(b_str_release) struct b_str word = {0};
	const char *start = l->p;

	while (!is_end(*l->p)) {
		if (*l->p == '\'') {
			if (!take_single(l, &word))
				return false;
		} else if (*l->p == '"') {
			if (!take_double(l, &word))
				return false;
		} else if (is_plain(*l->p) || is_plain_after(&word, *l->p)) {
			b_str_addc(&word, *l->p++);
		} else {
			return refuse(l, "syntax that may run or name something else", l->p);
		}
	}
	if (l->n == 0 && strchr(b_str_c(&word), '='))
		return refuse(l, "a variable in front of a command", start);
	b_grow(l->words, l->n, l->cap);
	l->words[l->n++] = b_strdup(b_str_c(&word));
	return true;
}

/* Those that write nowhere. The number belongs to the operator: nothing stands between. */
static bool take_redirection(struct line *l, bool *out_taken)
{
	static const char *const harmless[] = {
		"2>&1",		"1>&2",	       ">&2",	       ">&1",	       "</dev/null",
		">/dev/null",	"> /dev/null", "1>/dev/null",  "1> /dev/null", "2>/dev/null",
		"2> /dev/null", ">>/dev/null", "2>>/dev/null", "< /dev/null",
	};
	const char *op = l->p + (*l->p >= '0' && *l->p <= '9');

	*out_taken = false;
	if (*op != '<' && *op != '>')
		return true;
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
		size_t n = strlen(harmless[i]);

		if (strncmp(l->p, harmless[i], n) == 0 && is_end(l->p[n]) && l->p[n] != '<' &&
		    l->p[n] != '>') {
			l->p += n;
			*out_taken = true;
			return true;
		}
	}
	return refuse(l, "a redirection", l->p);
}

static bool command_looks(struct line *l)
{
	bool ok = l->each(l->ctx, (char const *const *)l->words, l->n, l->why);

	line_clear(l);
	return ok;
}

/* Between commands: no two of ; in a row, no & alone, none at the beginning. */
static bool take_operator(struct line *l, bool *out_need_more)
{
	const char *at = l->p;
	bool is_newline = *at == '\n';
	size_t len = at[0] == at[1] && (*at == '&' || *at == '|') ? 2 : 1;

	if (*at == '&' && len == 1)
		return refuse(l, "a command in the background", at);
	if (*at == '|' && at[len] == '&')
		return refuse(l, "an operator", at);
	l->p += len;
	if (l->n == 0)
		return is_newline ? true : refuse(l, "an operator without a command", at);
	*out_need_more = *at == '&' || *at == '|';
	return command_looks(l);
}

static bool take_all(struct line *l)
{
	bool need_more = true, taken;

	for (;;) {
		l->p += strspn(l->p, " \t");
		if (!*l->p)
			break;
		if (strchr("\n;|&", *l->p)) {
			if (!take_operator(l, &need_more))
				return false;
			continue;
		}
		if (!take_redirection(l, &taken) || (!taken && !take_word(l)))
			return false;
		need_more = false;
	}
	if (l->n > 0)
		return command_looks(l);
	return need_more ? refuse(l, "no command", l->p) : true;
}

bool pol_approve_split(const char *text, pol_approve_each *each, void *ctx, struct b_str *why)
{
	struct line l = {.p = text, .each = each, .ctx = ctx, .why = why};
	bool ok;

	if (strlen(text) > MAX_TEXT) {
		b_str_add(why, "shell: the text is too long to be judged");
		return false;
	}
	ok = take_all(&l);
	line_clear(&l);
	free(l.words);
	return ok;
}

static bool looks(void *ctx, char const *const *argv, size_t n, struct b_str *why)
{
	(void)ctx;
	return pol_approve_argv(argv, n, why);
}

bool pol_approve_shell(const char *text, struct b_str *why)
{
	return pol_approve_split(text, looks, NULL, why);
}
