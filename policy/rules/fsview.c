/* SPDX-License-Identifier: Apache-2.0 */
/* fsview.c - the host's file system as the planner sees it. Looks, never changes anything. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/fold.h"
#include "policy/rules/fsview.h"

#ifdef __linux__
#include <linux/capability.h>
#include <sys/syscall.h>
#endif

/* The host's file system as the planner sees it. Looks, never changes anything. */

static char type_of_mode(mode_t mode)
{
	if (S_ISDIR(mode))
		return 'd';
	return S_ISLNK(mode) ? 'l' : 'f';
}

static char type_of_entry(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type == DT_DIR)
		return 'd';
	if (entry->d_type == DT_LNK)
		return 'l';
	if (entry->d_type != DT_UNKNOWN)
		return 'f';
	if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return type_of_mode(st.st_mode);
}

static int host_list(void *ctx, const char *path,
		     int (*each)(void *arg, const char *name, char type), void *arg)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	(void)ctx;
	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		char type;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		type = type_of_entry(dir, entry);
		if (type && each(arg, entry->d_name, type))
			break;
	}
	closedir(dir);
	return 0;
}

static char host_type(void *ctx, const char *path)
{
	struct stat st;

	(void)ctx;
	return lstat(path, &st) < 0 ? 0 : type_of_mode(st.st_mode);
}

static int host_link(void *ctx, const char *path, char *out, size_t size)
{
	ssize_t n = readlink(path, out, size - 1);

	(void)ctx;
	if (n < 0)
		return -1;
	out[n] = '\0';
	return (int)n;
}

/* Root is asked for no permission, nor is whoever has capabilities or may take them. */
static bool has_capabilities(void)
{
#ifdef __linux__
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	return syscall(SYS_capget, &head, data) < 0 || data[0].permitted || data[1].permitted;
#else
	return false;
#endif
}

/* Can nobody but root make, move or replace something in the directory, or the directory? */
static bool is_roots(char *dir)
{
	struct stat st;

	for (;;) {
		char *slash = strrchr(dir, '/');

		if (lstat(*dir ? dir : "/", &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != 0 ||
		    st.st_mode & S_IWOTH ||
		    faccessat(AT_FDCWD, *dir ? dir : "/", W_OK, AT_EACCESS) == 0)
			return false;
		if (!slash)
			return true;
		*slash = '\0';
	}
}

/* Nearest directory above that exists: whoever may write there decides what the path means. */
static bool lies_in_roots(const char *path)
{
	char dir[PATH_MAX];
	struct stat st;
	char *slash;

	if (strlen(path) >= sizeof dir)
		return false;
	strcpy(dir, path);
	do {
		slash = strrchr(dir, '/');
		if (!slash)
			return false;
		*slash = '\0';
	} while (lstat(*dir ? dir : "/", &st) < 0 && errno == ENOENT);
	return is_roots(dir);
}

static bool is_refused(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) < 0 && errno == EACCES;
}

static bool host_is_closed(void *ctx, const char *path)
{
	struct stat st;

	(void)ctx;
	if (lstat(path, &st) < 0) {
		if (errno != ENOENT)
			return false;
	} else if (st.st_uid != 0 || S_ISLNK(st.st_mode) || !is_refused(path, R_OK) ||
		   !is_refused(path, X_OK)) {
		return false;
	}
	return lies_in_roots(path);
}

static bool host_folds(void *ctx, const char *path)
{
	(void)ctx;
	return pol_path_folds(path, strlen(path), false) != 0;
}

const struct pol_fsview *pol_fsview_host(void)
{
	static const struct pol_fsview user = {.list = host_list,
					       .type = host_type,
					       .link = host_link,
					       .is_closed = host_is_closed,
					       .folds = host_folds};
	static const struct pol_fsview root = {
		.list = host_list, .type = host_type, .link = host_link, .folds = host_folds};

	return geteuid() == 0 || getuid() == 0 || has_capabilities() ? &root : &user;
}

/* ---- directories that fold names ---- */

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
