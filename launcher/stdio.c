/* stdio.c - see stdio.h. */
#include "launcher/stdio.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/dirs.h"
#include "launcher/os.h"

static bool is_within(const char *path, const char *dir)
{
	size_t n = dir ? strlen(dir) : 0;

	return n && strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* Each file would be another policy to compile. */
static bool is_given(const struct lau_dirs *d, const char *path)
{
	for (size_t i = 0; i < d->nworkspaces; i++)
		if (is_within(path, d->workspaces[i]))
			return true;
	return is_within(path, d->scratch.path) || is_within(path, d->cache);
}

/* What proc_pid_fd(5) says may be an older name, or "/x (deleted)": only what the name leads to
 * now counts, and must be the very file. */
static bool path_of(int fd, char path[PATH_MAX])
{
	struct stat held, there;

	if (fstat(fd, &held) < 0 || !S_ISREG(held.st_mode) || !lau_os_fd_path(fd, path, PATH_MAX))
		return false;
	return lstat(path, &there) == 0 && held.st_dev == there.st_dev &&
	       held.st_ino == there.st_ino;
}

size_t lau_stdio_find(struct lau_dirs *d, struct pol_stdio out[POL_STDIO_MAX])
{
	size_t n = 0;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = fcntl(fd, F_GETFL);
		char path[PATH_MAX];

		if (flags < 0 || !path_of(fd, path) || is_given(d, path))
			continue;
		out[n++] = (struct pol_stdio){
			.fd = fd,
			.path = b_arena_strndup(&d->arena, path, strlen(path)),
			.reads = (flags & O_ACCMODE) != O_WRONLY,
			.modifies = (flags & O_ACCMODE) != O_RDONLY,
		};
	}
	return n;
}
