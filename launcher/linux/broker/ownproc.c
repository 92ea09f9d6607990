/*
 * ownproc.c - procfs in other places than /proc, as in the root of a container or a chroot.
 *
 * There the broker's own directory would be one of many, with a number that may be another's:
 * all of it is refused. Only the host can mount one, and does so before a run or not at all.
 */
#include "launcher/linux/broker/broker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/mem.h"

bool br_is_other_proc(const struct br_broker *b, const char *path, size_t len)
{
	for (char *const *p = b->other_procs; p && *p; p++) {
		size_t n = strlen(*p);

		if (len >= n && !memcmp(path, *p, n) && (len == n || path[n] == '/'))
			return true;
	}
	return false;
}

/* proc_pid_mountinfo(5): blanks, newlines and backslashes are three octal digits. In place. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned c;

		if (*text == '\\' && sscanf(text + 1, "%3o", &c) == 1) {
			*to++ = (char)c;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* The same line: is it /dev's file system at another place? */
static bool is_dev_again(const struct br_broker *b, const char *line)
{
	unsigned major, minor;
	char at[8];

	return b->dev_fs && sscanf(line, "%*u %*u %u:%u %*s %7s", &major, &minor, at) == 3 &&
	       makedev(major, minor) == b->dev_fs && strcmp(at, "/dev") != 0;
}

/* "36 35 0:5 / /mnt/proc rw shared:1 - proc proc rw": its mount point when it is a procfs. */
static char *other_proc_of(char *line)
{
	const char *type = strstr(line, " - ");
	char *at = line, *end;

	if (!type || strncmp(type + 3, "proc ", 5) != 0)
		return NULL;
	for (int i = 0; i < 4 && at; i++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	end = at ? strchr(at, ' ') : NULL;
	if (!end)
		return NULL;
	*end = '\0';
	unescape(at);
	/* what lies below /proc is known by its name there */
	return !strcmp(at, "/proc") || !strncmp(at, "/proc/", 6) ? NULL : at;
}

int br_find_other_procs(struct br_broker *b)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	b_auto_free char *line = NULL;
	size_t size = 0, n = 0;

	if (!f)
		return -1;
	while (getline(&line, &size, f) > 0) {
		const char *at;

		b->is_dev_twice |= is_dev_again(b, line);
		at = other_proc_of(line);
		if (!at)
			continue;
		b->other_procs = b_realloc(b->other_procs, n + 2, sizeof *b->other_procs);
		b->other_procs[n++] = b_strdup(at);
		b->other_procs[n] = NULL;
	}
	(void)fclose(f);
	return 0;
}
