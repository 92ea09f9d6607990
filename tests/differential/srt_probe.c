/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srt_probe.c - what may be done with each path of a list, tried inside a sandbox.
 *
 *	srt_probe DEVICE LIST
 *
 * A line of LIST is a letter and a path; a line of output answers it: 'y' where the host's own
 * object was reached, 'n' where it was not. srt hides a directory under an empty one of its own,
 * in which everything may be done: such an answer is 'n', which the device number proves. What is
 * changed is put back at once, so that lines do not depend on each other; '!' follows where that
 * failed, and the caller makes its tree anew.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PATH = 4096 };

static dev_t device;

static bool is_hosts(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == device && !S_ISCHR(st.st_mode);
}

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool is = fd >= 0 && is_hosts(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

/* The directory that a path is in, as text. */
static const char *parent_of(const char *path)
{
	static char dir[MAX_PATH];
	const char *slash = strrchr(path, '/');

	snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
	return *dir ? dir : "/";
}

static bool lies_on_hosts(const char *path)
{
	struct stat st;

	return stat(parent_of(path), &st) == 0 && st.st_dev == device;
}

static char reads(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char c = 'n', byte;

	if (fd >= 0 && is_hosts(fd) && read(fd, &byte, 1) == 1)
		c = 'y';
	if (fd >= 0)
		close(fd);
	return c;
}

static char creates(const char *path, bool *out_stuck)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	char c = 'n';

	if (fd < 0)
		return 'n';
	if (is_hosts(fd))
		c = 'y';
	close(fd);
	*out_stuck = unlink(path) < 0;
	return c;
}

static char makes_directory(const char *path, bool *out_stuck)
{
	bool is_real = lies_on_hosts(path);

	if (mkdir(path, 0755) < 0)
		return 'n';
	*out_stuck = rmdir(path) < 0;
	return is_real ? 'y' : 'n';
}

static char renames(const char *path, bool *out_stuck)
{
	char to[MAX_PATH + sizeof ".moved"];
	bool is_real = lies_on_hosts(path);

	snprintf(to, sizeof to, "%s.moved", path);
	if (rename(path, to) < 0)
		return 'n';
	*out_stuck = rename(to, path) < 0;
	return is_real ? 'y' : 'n';
}

static bool put_back(const char *path, const struct stat *st, const char *link)
{
	int fd;

	if (S_ISLNK(st->st_mode))
		return symlink(link, path) == 0;
	if (S_ISDIR(st->st_mode))
		return mkdir(path, 0755) == 0;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return false;
	if (write(fd, "again\n", 6) != 6) {
		close(fd);
		return false;
	}
	return close(fd) == 0;
}

static char removes(const char *path, bool *out_stuck)
{
	char link[MAX_PATH] = "";
	bool is_real = lies_on_hosts(path);
	struct stat st;

	if (lstat(path, &st) < 0)
		return 'n';
	if (S_ISLNK(st.st_mode) && readlink(path, link, sizeof link - 1) < 0)
		return 'n';
	if ((S_ISDIR(st.st_mode) ? rmdir(path) : unlink(path)) < 0)
		return 'n';
	*out_stuck = !put_back(path, &st, link);
	return is_real ? 'y' : 'n';
}

static char answer(char op, const char *path, bool *out_stuck)
{
	switch (op) {
	case 'R':
		return reads(path);
	case 'L':
		return opens(path, O_RDONLY | O_DIRECTORY) ? 'y' : 'n';
	case 'W':
		return opens(path, O_WRONLY) ? 'y' : 'n';
	case 'C':
		return creates(path, out_stuck);
	case 'D':
		return makes_directory(path, out_stuck);
	case 'M':
		return renames(path, out_stuck);
	case 'U':
		return removes(path, out_stuck);
	default:
		return '?';
	}
}

int main(int argc, char **argv)
{
	char line[MAX_PATH];
	FILE *list;

	if (argc != 3)
		return 2;
	device = (dev_t)strtoull(argv[1], NULL, 10);
	list = fopen(argv[2], "re");
	if (!list)
		return 2;
	while (fgets(line, sizeof line, list)) {
		bool is_stuck = false;
		char c;

		line[strcspn(line, "\n")] = '\0';
		c = answer(line[0], line + 1, &is_stuck);
		printf("%c%s\n", c, is_stuck ? "!" : "");
	}
	fclose(list);
	return 0;
}
