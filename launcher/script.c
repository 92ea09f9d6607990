/* script.c - see script.h. */
#include "launcher/script.h"

#include <string.h>

bool lau_script_parse(struct b_arena *arena, const char *head, size_t n, struct lau_script *out)
{
	const char *end = memchr(head, '\n', n);
	char *s, *tail;

	if (n < 2 || memcmp(head, "#!", 2) != 0 || !end)
		return false;
	s = b_arena_strndup(arena, head + 2, (size_t)(end - head) - 2);
	s += strspn(s, " \t");
	out->interpreter = s;
	s += strcspn(s, " \t");
	out->argument = NULL;
	if (*s) {
		*s++ = '\0';
		s += strspn(s, " \t");
		tail = s + strlen(s);
		while (tail > s && (tail[-1] == ' ' || tail[-1] == '\t'))
			*--tail = '\0';
		out->argument = *s ? s : NULL;
	}
	return *out->interpreter == '/';
}

const char *lau_script_env(const struct lau_script *s)
{
	if (strcmp(s->interpreter, "/usr/bin/env") != 0 || !s->argument ||
	    strpbrk(s->argument, " \t=") || s->argument[0] == '-')
		return NULL;
	return s->argument;
}

char **lau_script_argv(struct b_arena *arena, const struct lau_script *s, const char *file,
		       char *const *argv)
{
	size_t n = 0, at = 0;
	char **out;

	while (argv[n])
		n++;
	out = b_arena_alloc(arena, (n + 4) * sizeof *out);
	out[at++] = s->interpreter;
	if (s->argument)
		out[at++] = s->argument;
	out[at++] = b_arena_strndup(arena, file, strlen(file));
	for (size_t i = 1; i < n; i++)
		out[at++] = argv[i];
	out[at] = NULL;
	return out;
}
