/* dirnames.c - what a directory does to names, asked of the kernel. */
#include <linux/fs.h>

#include "core/fold.h"
#include "shim/linux/sys.h"

#define ALL (SBX_FOLDS_CASE | SBX_FOLDS_ALIAS)

static unsigned of_flags(int fd)
{
	unsigned long flags = 0;
	long rc = sys3(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags);

	if (rc == -ENOTTY || rc == -EOPNOTSUPP)
		return 0; /* there are no flags, so no such flag */
	if (rc < 0)
		return ALL;
	return flags & SBX_CASEFOLD_FL ? SBX_FOLDS_CASE : 0;
}

static unsigned of_geometry(int fd)
{
	unsigned char geometry[SBX_XFS_GEOMETRY_N];
	uint32_t flags;

	SYS_FILLS(geometry, sizeof geometry);
	if (sys3(SYS_ioctl, fd, SBX_XFS_GEOMETRY, geometry) < 0)
		return ALL;
	__builtin_memcpy(&flags, geometry + SBX_XFS_FLAGS_AT, sizeof flags);
	return flags & SBX_XFS_ASCII_CI ? SBX_FOLDS_CASE : 0;
}

int sys_folds(const char *dir)
{
	unsigned long st[32] = {0}; /* struct statfs, which begins with the type */
	int fd = sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC, 0);
	enum sbx_fs fs = SBX_FS_UNKNOWN;
	unsigned how;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? -1 : (int)ALL;
	SYS_FILLS(st, sizeof st);
	if (sys2(SYS_fstatfs, fd, st) == 0)
		fs = sbx_fs_of_type((uint32_t)st[0]);
	how = fs == SBX_FS_FLAGGED ? of_flags(fd)
	      : fs == SBX_FS_XFS   ? of_geometry(fd)
				   : sbx_fs_how(fs);
	sys_close(fd);
	return (int)how;
}
