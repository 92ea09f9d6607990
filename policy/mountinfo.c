/* mountinfo.c - see mountinfo.h. */
#include "policy/mountinfo.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A blank-separated word with its octal escapes undone, in place; NULL: there is none. */
static char *take_word(char **at)
{
	char *word = *at, *to = word, *p = word;
	unsigned c;

	if (!word || !*word)
		return NULL;
	for (; *p && *p != ' '; *to++ = *p++)
		if (*p == '\\' && sscanf(p + 1, "%3o", &c) == 1) {
			*(p += 3) = (char)c;
		}
	*at = *p ? p + 1 : NULL;
	*to = '\0';
	return word;
}

/* "36 35 0:5 / /mnt rw shared:1 - xfs /dev/sda rw", proc_pid_mountinfo(5). In place. */
static bool parse(char *line, struct pol_mounted *out)
{
	char *root, *at;
	int used = 0;

	if (sscanf(line, "%*u %*u %u:%u %n", &out->major, &out->minor, &used) != 2 || !used)
		return false;
	line += used;
	root = take_word(&line);
	at = take_word(&line);
	/* not "/x//deleted", nor a namespace's "net:[1]" */
	if (!root || !at || *root != '/' || *at != '/')
		return false;
	out->root = root;
	out->at = at;
	return true;
}

size_t pol_mountinfo(struct b_arena *arena, struct pol_mounted **out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	b_auto_free struct pol_mounted *v = NULL;
	b_auto_free char *line = NULL;
	size_t size = 0, n = 0, cap = 0;

	while (f && getline(&line, &size, f) > 0) {
		struct pol_mounted m;

		if (!parse(line, &m))
			continue;
		b_grow(v, n, cap);
		m.root = b_arena_strndup(arena, m.root, strlen(m.root));
		m.at = b_arena_strndup(arena, m.at, strlen(m.at));
		v[n++] = m;
	}
	if (f)
		(void)fclose(f);
	*out = n ? b_arena_alloc(arena, n * sizeof *v) : NULL;
	if (n)
		memcpy(*out, v, n * sizeof *v);
	return n;
}

const char *pol_mounted_behind(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	n -= n == 1; /* "/" */
	if (strncmp(path, dir, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return path[n] && path[n + 1] ? path + n : "";
}

const struct pol_mounted *pol_mounted_at(const struct pol_mounted *v, size_t n, const char *path)
{
	const struct pol_mounted *found = NULL;

	/* a later one hides an earlier, below it or at its place */
	for (size_t i = 0; i < n; i++)
		if (pol_mounted_behind(path, v[i].at) &&
		    (!found || strlen(v[i].at) >= strlen(found->at)))
			found = &v[i];
	return found;
}
