/* SPDX-License-Identifier: Apache-2.0 */
/* gitconfig.c - reads git's files of configuration: see build.h. */
#include "policy/rules/build.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/rules/workspace.h"

/* git goes as deep, and no deeper */
enum { DEPTH_MAX = 10, FILES_MAX = 64, CONFIG_MAX = 1 << 20 };

struct reader {
	struct b_arena *a;
	pol_gitconfig_take *take;
	void *ctx;
	unsigned files;	      /* read so far */
	const char *left_out; /* the first file of which not all was read */
};

static bool read_file(struct reader *r, const char *file, unsigned depth);

const char *pol_gitconfig_spelled(struct b_arena *a, const char *dir, const char *value)
{
	const char *home = strncmp(value, "~/", 2) == 0 ? pol_home(a) : NULL;

	if (home)
		return b_arena_printf(a, "%s%s", home, value + 1);
	return *value == '/' ? value : b_arena_printf(a, "%s/%s", dir, value);
}

const char *pol_gitconfig_path(struct b_arena *a, const char *dir, const char *value)
{
	return pol_canonical(a, pol_gitconfig_spelled(a, dir, value));
}

const char *pol_gitconfig_dir(struct b_arena *a, const char *file)
{
	return b_arena_strndup(a, file, (size_t)(strrchr(file, '/') - file));
}

/* ---- the text, as git-config(1), Syntax has it ---- */

/* The next character; an end of line is '\n', the end of the text '\0'. */
static char next(const char **p)
{
	*p += (*p)[0] == '\r' && (*p)[1] == '\n';
	return **p ? *(*p)++ : '\0';
}

/* Behind its '['. `[a "b"]`, and `[a.b]` as it was once written: "a". */
static bool read_section(const char **p, struct b_str *section)
{
	bool is_first = true;
	char c;

	b_str_reset(section);
	while ((c = next(p)) && !isspace((unsigned char)c) && c != ']') {
		if (!isalnum((unsigned char)c) && c != '-' && c != '.')
			return false;
		is_first &= c != '.';
		if (is_first)
			b_str_addc(section, c);
	}
	if (c == ']')
		return true;
	while (c == ' ' || c == '\t')
		c = next(p);
	if (c != '"')
		return false;
	while ((c = next(p)) != '"')
		if (!c || c == '\n' || (c == '\\' && ((c = next(p)) == '\0' || c == '\n')))
			return false;
	return next(p) == ']';
}

/* Behind its '='. */
static bool read_value(const char **p, struct b_str *value)
{
	bool is_quoted = false;
	size_t end = 0; /* blanks behind it are not quoted: dropped */
	char c;

	while ((c = next(p)) && c != '\n') {
		if (!is_quoted && (c == '#' || c == ';')) {
			*p += strcspn(*p, "\n");
			continue;
		}
		if (c == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (c == '\\') {
			static const char from[] = "tbn\\\"", to[] = "\t\b\n\\\"";
			const char *known;

			c = next(p);
			if (c == '\n')
				continue;
			known = c ? strchr(from, c) : NULL;
			if (!known)
				return false;
			c = to[known - from];
		} else if (!is_quoted && isspace((unsigned char)c)) {
			if (end)
				b_str_addc(value, ' ');
			continue;
		}
		b_str_addc(value, c);
		end = value->len;
	}
	if (value->len)
		value->s[value->len = end] = '\0';
	return !is_quoted;
}

static bool follow(struct reader *r, const char *file, const char *value, unsigned depth)
{
	if ((*value == '~' && value[1] != '/') || *value == '%')
		return false; /* another's home, git's own directory */
	/* a link stays one: what that file includes is relative to where git finds it; `value` is
	 * not in the arena, and an absolute one comes back as it is */
	value = pol_gitconfig_spelled(r->a, pol_gitconfig_dir(r->a, file), value);
	return read_file(r, b_arena_strndup(r->a, value, strlen(value)), depth);
}

/* From its first letter on. */
static bool read_setting(struct reader *r, const char *file, const char *section, const char **p,
			 unsigned depth)
{
	b_auto(b_str_release) struct b_str key = {0}, value = {0};
	char c;

	while ((c = next(p)) && (isalnum((unsigned char)c) || c == '-'))
		b_str_addc(&key, c);
	while (c == ' ' || c == '\t')
		c = next(p);
	if (!c || c == '\n')
		return true; /* a switch, on: none of those asked for is one */
	if (c != '=' || !read_value(p, &value))
		return false;
	if (!value.len)
		return true;
	r->take(r->ctx, file, section, b_str_c(&key), b_str_c(&value));
	if (strncasecmp(section, "include", 7) != 0 || strcasecmp(b_str_c(&key), "path") != 0)
		return true;
	if (!follow(r, file, b_str_c(&value), depth + 1) && !r->left_out)
		r->left_out = file;
	return true;
}

static bool read_text(struct reader *r, const char *file, const char *p, unsigned depth)
{
	b_auto(b_str_release) struct b_str section = {0};
	bool is_good = true;

	if (strncmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	while (is_good) {
		p += strspn(p, " \t\r\n\v\f");
		if (!*p)
			return true;
		if (*p == '#' || *p == ';')
			p += strcspn(p, "\n");
		else if (*p == '[')
			is_good = (p++, read_section(&p, &section));
		else
			is_good = isalpha((unsigned char)*p) &&
				  read_setting(r, file, b_str_c(&section), &p, depth);
	}
	return false;
}

/* False: not all of it. */
static bool read_file(struct reader *r, const char *file, unsigned depth)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;

	if (depth > DEPTH_MAX || r->files++ >= FILES_MAX)
		return false;
	if (b_read_file(file, CONFIG_MAX, &text, &err) < 0)
		return err.sys == ENOENT || err.sys == ENOTDIR;
	return text.len == 0 || (read_text(r, file, text.s, depth) && strlen(text.s) == text.len);
}

const char *pol_gitconfig_read(struct b_arena *a, const char *file, pol_gitconfig_take *take,
			       void *ctx)
{
	struct reader r = {.a = a, .take = take, .ctx = ctx};

	if (!read_file(&r, file, 0) && !r.left_out)
		r.left_out = file;
	return r.left_out;
}
