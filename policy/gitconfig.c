/* gitconfig.c - see gitconfig.h. */
#include "policy/gitconfig.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/str.h"
#include "policy/workspace.h"

enum { DEPTH_MAX = 5, FILES_MAX = 32, CONFIG_MAX = 1 << 20 };

struct reader {
	struct b_arena *a;
	pol_gitconfig_take *take;
	void *ctx;
	unsigned files; /* read so far */
};

static void read_file(struct reader *r, const char *file, unsigned depth);

const char *pol_gitconfig_path(struct b_arena *a, const char *dir, const char *value)
{
	const char *home = strncmp(value, "~/", 2) == 0 ? pol_home(a) : NULL;

	if (home)
		return pol_canonical(a, b_arena_printf(a, "%s%s", home, value + 1));
	return pol_canonical(a, *value == '/' ? value : b_arena_printf(a, "%s/%s", dir, value));
}

const char *pol_gitconfig_dir(struct b_arena *a, const char *file)
{
	return b_arena_strndup(a, file, (size_t)(strrchr(file, '/') - file));
}

/* The value without quotes, escapes and a comment, in place (git-config(1), Syntax). */
static void unquote(char *s)
{
	char *out = s, *end = s; /* blanks behind `end` are not quoted: dropped */
	bool quoted = false;

	for (; *s && (quoted || (*s != '#' && *s != ';')); s++) {
		if (*s == '"') {
			quoted = !quoted;
			continue;
		}
		s += *s == '\\' && s[1];
		*out++ = *s;
		if (quoted || !isspace((unsigned char)*s))
			end = out;
	}
	*end = '\0';
}

static void take_line(struct reader *r, const char *file, char *line, char section[64],
		      unsigned depth)
{
	char *p = line + strspn(line, " \t\r"), *value;

	if (*p == '[') {
		size_t n = strcspn(p + 1, " \t\"]");
		char *end = strrchr(p, ']');

		n = n < 63 ? n : 63;
		memcpy(section, p + 1, n);
		section[n] = '\0';
		if (!end)
			return;
		p = end + 1 + strspn(end + 1, " \t\r");
	}
	value = strchr(p, '=');
	if (!value)
		return;
	*value++ = '\0';
	p[strcspn(p, " \t")] = '\0';
	value += strspn(value, " \t");
	unquote(value);
	if (!*value)
		return;
	r->take(r->ctx, file, section, p, value);
	if (strncasecmp(section, "include", 7) == 0 && strcasecmp(p, "path") == 0)
		read_file(r, pol_gitconfig_path(r->a, pol_gitconfig_dir(r->a, file), value),
			  depth + 1);
}

static void read_file(struct reader *r, const char *file, unsigned depth)
{
	b_auto(b_str_release) struct b_str text = {0};
	char section[64] = "", *next;
	struct b_err err;

	if (depth > DEPTH_MAX || r->files++ >= FILES_MAX ||
	    b_read_file(file, CONFIG_MAX, &text, &err) < 0)
		return;
	for (char *line = text.len ? text.s : NULL; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		take_line(r, file, line, section, depth);
	}
}

void pol_gitconfig_read(struct b_arena *a, const char *file, pol_gitconfig_take *take, void *ctx)
{
	struct reader r = {.a = a, .take = take, .ctx = ctx};

	read_file(&r, file, 0);
}
