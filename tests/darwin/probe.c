/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - a small program for macOS that does what its arguments say, each a word and a path; the
 * answer is a line "word path errno". Built like the shim, run by the loader. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int act(const char *word, const char *path)
{
	int fd;

	if (strcmp(word, "read") == 0)
		fd = open(path, O_RDONLY);
	else if (strcmp(word, "write") == 0)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	else if (strcmp(word, "mkdir") == 0)
		return mkdir(path, 0755);
	else if (strcmp(word, "unlink") == 0)
		return unlink(path);
	else
		return errno = EINVAL, -1;
	if (fd < 0)
		return -1;
	return close(fd);
}

int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		char line[1200];
		int n;

		if (strcmp(argv[i], "exec") == 0) {
			execv(argv[i + 1], argv + i + 1);
			return 126;
		}
		errno = 0;
		n = act(argv[i], argv[i + 1]);
		n = snprintf(line, sizeof line, "%s %s %d\n", argv[i], argv[i + 1],
			     n < 0 ? errno : 0);
		if (write(1, line, (size_t)n) < 0)
			return 1;
	}
	return 0;
}
