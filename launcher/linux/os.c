/* os.c - see os.h; proc_pid_fd(5), statfs(2). */
#include "launcher/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"

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

int lau_os_rename_new(int dir, const char *from, const char *to)
{
	return renameat2(dir, from, dir, to, RENAME_NOREPLACE);
}

/* Flags of ext4 and its like that say how the directory is stored, and nothing else. */
#define STORAGE_FLAGS (FS_EXTENT_FL | FS_INDEX_FL | FS_INLINE_DATA_FL)

bool lau_os_is_plain_dir(int fd)
{
	struct stat st;
	int flags = 0;

	if (fstat(fd, &st) < 0 || st.st_mode != (S_IFDIR | 0700) || st.st_uid != geteuid() ||
	    st.st_gid != getegid() || flistxattr(fd, NULL, 0) > 0)
		return false;
	return ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ? errno == ENOTTY || errno == EOPNOTSUPP
						      : !(flags & ~STORAGE_FLAGS);
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

int lau_os_no_listing(void)
{
	_Alignas(struct dirent64) char buf[1024];
	b_auto_fd int fd = -1;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
		return 0;
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* EINVAL: the first name does not fit in there, and it was looked at */
	return fd >= 0 && syscall(SYS_getdents64, fd, buf, sizeof buf) < 0 && errno != EINVAL
		       ? errno
		       : 0;
}

int lau_os_reserve(int fd, off_t size)
{
	return posix_fallocate(fd, 0, size);
}

aud_kin_fn *const lau_os_kin = aud_kin_of;

static char *const *borrowed;

char *const *lau_os_environ(void)
{
	extern char **environ;

	return borrowed ? borrowed : environ;
}

void lau_os_borrow_environ(char *const *env)
{
	borrowed = env;
}
