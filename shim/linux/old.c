/* old.c - see old.h. Those of posix_spawn are in execs.c. */
#include "shim/linux/old.h"

#include <errno.h>

#include "shim/linux/export.h"
#include "shim/proc.h"

#ifdef SHIM_OLD_NAMES

/* Before 2.3: no memory is allocated for the answer. */
SHIM_EXPORT char *realpath_old(const char *path, char *resolved)
{
	if (!resolved) {
		shim_set_errno(EINVAL);
		return NULL;
	}
	return realpath(path, resolved);
}
SHIM_OLD_NAME(realpath);

/* Before 2.3.3: flags that are not known are none. */
enum { OLD_FLAGS = FTW_PHYS | FTW_MOUNT | FTW_CHDIR | FTW_DEPTH };

SHIM_EXPORT int nftw_old(const char *path, __nftw_func_t fn, int fds, int flags)
{
	return nftw(path, fn, fds, flags & OLD_FLAGS);
}
SHIM_OLD_NAME(nftw);

SHIM_EXPORT int nftw64_old(const char *path, __nftw64_func_t fn, int fds, int flags)
{
	return nftw64(path, fn, fds, flags & OLD_FLAGS);
}
SHIM_OLD_NAME(nftw64);

#endif
