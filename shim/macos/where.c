/* SPDX-License-Identifier: Apache-2.0 */
/* where.c - macOS returns the path of any open directory in one call, so that this file remembers
 * nothing. */
#include "shim/where.h"

#include "shim/sys_macos.h"
#include "shim/mem.h"
#include "shim/proc.h"

_Static_assert(SBX_PATH_MAX >= PATH_MAX, "F_GETPATH writes up to PATH_MAX");

size_t shim_fd_text(int fd, char *buf)
{
	return sys_getpath(fd, buf) < 0 ? 0 : strlen(buf);
}

static size_t directory_text(int dirfd, char *buf)
{
	size_t len;
	int fd;

	if (dirfd != AT_FDCWD)
		return shim_fd_text(dirfd, buf);
	fd = sys_openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	len = shim_fd_text(fd, buf);
	sys_close(fd);
	return len;
}

struct shim_text shim_text(char *buf, int dirfd, const char *path)
{
	struct shim_text t = {0};
	char dir[PATH_MAX];
	size_t n = 0;

	if (*path != '/') {
		n = directory_text(dirfd, dir);
		if (!n)
			return t;
	}
	t.len = sbx_path_join(buf, SBX_PATH_MAX, dir, n, path, &t.flags);
	t.base = *path == '/' || n == 1 ? 0 : n;
	if (*path == '/')
		t.flags |= SHIM_TEXT_ABSOLUTE;
	return t;
}

void shim_where_learn(int fd, uint64_t since, const char *text, size_t len)
{
	(void)fd, (void)since, (void)text, (void)len;
}

/* No broker would be helped by it. */
bool shim_cwd_is(const char *text, size_t base)
{
	(void)text, (void)base;
	return false;
}

bool shim_cwd_leads(char *text, size_t base)
{
	(void)text, (void)base;
	return false;
}

uint64_t shim_where_since(void)
{
	return 0;
}

int shim_where_given(int fd)
{
	return fd;
}

/* MacOS has no longer paths than F_GETPATH tells (PATH_MAX is 1,024, and
 * what lies deeper has no path for anybody, Seatbelt included). */

bool shim_is_deep(int fd)
{
	(void)fd;
	return false;
}

int shim_deep_find(struct shim_deep *d, int dirfd, const char *path, bool follow)
{
	(void)dirfd, (void)path, (void)follow;
	*d = (struct shim_deep){.at = -1};
	return SHIM_DEEP_UNKNOWN;
}

int shim_deep_text(struct shim_deep *d, int dir)
{
	return shim_deep_find(d, dir, "", false);
}

void shim_deep_release(struct shim_deep *d)
{
	(void)d;
}
