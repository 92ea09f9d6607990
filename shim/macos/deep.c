/* deep.c - see shim/deep.h: macOS has no longer paths than F_GETPATH tells (PATH_MAX is 1,024, and
 * what lies deeper has no path for anybody, Seatbelt included). */
#include "shim/deep.h"

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
