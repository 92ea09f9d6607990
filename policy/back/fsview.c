/* fsview.c - the host's file system as the planner sees it. Looks, never changes anything. */
#include "policy/back/floor.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

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

const struct pol_fsview *pol_fsview_host(void)
{
	static const struct pol_fsview host = {.list = host_list, .type = host_type};

	return &host;
}
