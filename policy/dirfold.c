#include "policy/dirfold.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/fold.h"

#define ALL (SBX_FOLDS_CASE | SBX_FOLDS_ALIAS)

#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

/* What only the directory itself can say; it has to be opened for that. */
static unsigned ask(const char *dir, enum sbx_fs fs)
{
	b_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	unsigned char geometry[SBX_XFS_GEOMETRY_N];
	uint32_t flags = 0;
	long said = 0;

	if (fd < 0)
		return ALL;
	if (fs == SBX_FS_FLAGGED) {
		/* ENOTTY: there are no flags, so no such flag */
		if (ioctl(fd, FS_IOC_GETFLAGS, &said) < 0)
			return errno == ENOTTY || errno == EOPNOTSUPP ? 0 : ALL;
		return (unsigned long)said & SBX_CASEFOLD_FL ? SBX_FOLDS_CASE : 0;
	}
	if (ioctl(fd, SBX_XFS_GEOMETRY, geometry) < 0)
		return ALL;
	memcpy(&flags, geometry + SBX_XFS_FLAGS_AT, sizeof flags);
	return flags & SBX_XFS_ASCII_CI ? SBX_FOLDS_CASE : 0;
}

static int look(void *ctx, const char *dir)
{
	const bool *deep = ctx;
	b_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	enum sbx_fs fs;
	struct statfs st;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -1 : (int)ALL;
	if (fstatfs(fd, &st) < 0)
		return (int)ALL;
	fs = sbx_fs_of_type((uint32_t)st.f_type);
	if (fs == SBX_FS_FLAGGED && *deep)
		return (int)SBX_FOLDS_CASE;
	return fs == SBX_FS_FLAGGED || fs == SBX_FS_XFS ? (int)ask(dir, fs) : (int)sbx_fs_how(fs);
}

const char *pol_dir_unknown(const char *dir)
{
	struct statfs st;

	if (statfs(dir, &st) < 0 || sbx_fs_of_type((uint32_t)st.f_type) != SBX_FS_UNKNOWN)
		return NULL;
	return sbx_fs_name((uint32_t)st.f_type);
}

/* Can this kernel fold names in single directories? Then a file system might. */
static bool kernel_folds(void)
{
	static const char *const says[] = {"/sys/fs/ext4/features/casefold",
					   "/sys/fs/f2fs/features/casefold",
					   "/sys/fs/tmpfs/features/casefold", "/sys/fs/bcachefs"};

	for (size_t i = 0; i < sizeof says / sizeof *says; i++)
		if (access(says[i], F_OK) == 0 || errno != ENOENT)
			return true;
	return access("/sys/fs", F_OK) < 0; /* nothing says */
}

struct mount {
	char *at; /* its special characters as three octal digits: then it is not found by it */
	char *type;
	enum sbx_fs fs;
};

/* "36 35 0:5 / /mnt rw shared:1 - xfs /dev/sda rw", proc_pid_mountinfo(5). In place. */
static bool parse(char *line, struct mount *out)
{
	char *type = strstr(line, " - "), *at = line;

	for (int i = 0; i < 4 && at; i++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	if (!type || !at || at > type)
		return false;
	type += 3;
	type[strcspn(type, " \n")] = '\0';
	at[strcspn(at, " ")] = '\0';
	*out = (struct mount){at, type, sbx_fs_of_name(type, strlen(type))};
	return true;
}

/* Calls each() until it answers true, which is the answer. -1: the mounts cannot be read. */
static int each_mount(bool (*each)(void *ctx, const struct mount *), void *ctx)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	b_auto_free char *line = NULL;
	size_t size = 0;
	int found = f ? 0 : -1;

	while (found == 0 && getline(&line, &size, f) > 0) {
		struct mount m;

		found = parse(line, &m) ? each(ctx, &m) : -1;
	}
	if (f)
		(void)fclose(f);
	return found;
}

static bool may_fold(void *ctx, const struct mount *m)
{
	int *kernel = ctx;

	if (m->fs == SBX_FS_FLAGGED && *kernel < 0)
		*kernel = kernel_folds();
	if (m->fs == SBX_FS_FLAGGED)
		return *kernel;
	return m->fs == SBX_FS_XFS ? ask(m->at, m->fs) != 0 : sbx_fs_how(m->fs) != 0;
}

bool pol_host_may_fold(void)
{
	int kernel = -1; /* not yet asked */

	return each_mount(may_fold, &kernel) != 0;
}

struct folding {
	void (*each)(void *ctx, const char *at, const char *type);
	void *ctx;
};

static bool tell_mount(void *ctx, const struct mount *m)
{
	struct folding *f = ctx;

	if (m->fs == SBX_FS_XFS ? ask(m->at, m->fs) : sbx_fs_how(m->fs))
		f->each(f->ctx, m->at, m->type);
	return false;
}

int pol_each_folding_mount(void (*each)(void *ctx, const char *at, const char *type), void *ctx)
{
	struct folding f = {each, ctx};

	return each_mount(tell_mount, &f);
}
#else
static int look(void *ctx, const char *dir)
{
	long says = pathconf(dir, _PC_CASE_SENSITIVE);

	(void)ctx;
	if (says < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -1;
	return says == 1 ? 0 : (int)ALL; /* names are normalised by those that do not fold, too */
}

const char *pol_dir_unknown(const char *dir)
{
	(void)dir;
	return NULL;
}

bool pol_host_may_fold(void)
{
	return true;
}

int pol_each_folding_mount(void (*each)(void *ctx, const char *at, const char *type), void *ctx)
{
	(void)each;
	(void)ctx;
	return 0;
}
#endif

unsigned pol_path_folds(const char *path, size_t len, bool deep)
{
	char room[PATH_MAX];

	return sbx_path_folds(path, len, room, sizeof room, look, &deep);
}
