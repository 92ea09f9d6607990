/* os.c - see launcher/os.h; fcntl(2) of macOS. */
#include "launcher/os.h"

#include <errno.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

int lau_os_open_closed_dir(int at, const char *name)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
	    fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int lau_os_rename_new(int dir, const char *from, const char *to)
{
	return renameatx_np(dir, from, dir, to, RENAME_EXCL);
}

/* Access lists are seen by acl_get_fd_np(3) alone, so none is taken for plain: directories are
 * made anew. */
bool lau_os_is_plain_dir(int fd)
{
	(void)fd;
	return false;
}

bool lau_os_fd_path(int fd, char *path, size_t size)
{
	return size >= PATH_MAX && fcntl(fd, F_GETPATH, path) == 0;
}

bool lau_os_own_path(char *path, size_t size)
{
	char given[PATH_MAX], *real;
	uint32_t n = sizeof given;

	if (_NSGetExecutablePath(given, &n) != 0)
		return false;
	real = realpath(given, NULL);
	n = real ? (uint32_t)strlen(real) : UINT32_MAX;
	if (n < size)
		memcpy(path, real, n + 1);
	free(real);
	return n < size;
}

/* There is none to be found on macOS: the ring lies on disk, in the buffer cache. */
bool lau_os_is_memory(const char *dir, unsigned long long need)
{
	(void)dir, (void)need;
	return false;
}

/* Behind the end of what is allocated already; the size of the file stays. */
int lau_os_reserve(int fd, off_t size)
{
	fstore_t want = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return errno;
	want.fst_length = size - (off_t)st.st_blocks * 512;
	if (want.fst_length <= 0 || fcntl(fd, F_PREALLOCATE, &want) == 0)
		return 0;
	return errno == ENOTSUP ? 0 : errno; /* a file system without it grows as it is written */
}

aud_kin_fn *const lau_os_kin; /* parents change to launchd's when theirs end */

char *const *lau_os_environ(void)
{
	return environ;
}
