/* fsview.c - the host's file system as the planner sees it. Looks, never changes anything. */
#include "policy/back/floor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/capability.h>
#include <sys/syscall.h>
#endif

#include "policy/dirfold.h"

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
	static const struct pol_fsview root = {.list = host_list,
					       .type = host_type,
					       .link = host_link,
					       .folds = host_folds};

	return geteuid() == 0 || getuid() == 0 || has_capabilities() ? &root : &user;
}
