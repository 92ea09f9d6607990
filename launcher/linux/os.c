/* os.c - see os.h; proc_pid_fd(5), statfs(2). */
#include "launcher/os.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/own.h"

enum { TMPFS = 0x01021994 /* TMPFS_MAGIC */, LINK_SIZE = sizeof "/proc/self/fd/" + 12 };

static void link_of(int fd, char link[LINK_SIZE])
{
	snprintf(link, LINK_SIZE, "/proc/self/fd/%d", fd);
}

static bool read_link(const char *link, char *path, size_t size)
{
	ssize_t n = readlink(link, path, size);

	if (n <= 0 || (size_t)n >= size)
		return false;
	path[n] = '\0';
	return true;
}

/* chmod(2) follows links, so the object is held first. */
int lau_os_open_closed_dir(int at, const char *name)
{
	b_auto_fd int handle = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char link[LINK_SIZE];

	if (handle < 0)
		return -1;
	link_of(handle, link);
	if (chmod(link, 0700) < 0)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool lau_os_fd_path(int fd, char *path, size_t size)
{
	char link[LINK_SIZE];
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH) /* held, not opened */
		return false;
	link_of(fd, link);
	return read_link(link, path, size);
}

bool lau_os_own_path(char *path, size_t size)
{
	return read_link("/proc/self/exe", path, size);
}

bool lau_os_is_memory(const char *dir, unsigned long long need)
{
	struct statfs fs;

	return statfs(dir, &fs) == 0 && fs.f_type == TMPFS &&
	       (fs.f_blocks == 0 || /* without a limit */
		(uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= need);
}

int lau_os_reserve(int fd, off_t size)
{
	return posix_fallocate(fd, 0, size);
}
