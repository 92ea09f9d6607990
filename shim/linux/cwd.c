/*
 * cwd.c - getcwd below the depth the kernel has a text for. glibc then climbs to the root, and
 * opens each directory on the way in a manner that a floor does not see as listing: where one is
 * closed to Landlock and open to the policy, it fails (EACCES). We climb no further than needed.
 */
#include "shim/linux/export.h"

#include <stdlib.h>
#include <unistd.h>

#include "shim/deep.h"
#include "shim/linux/sys.h"
#include "shim/mem.h"
#include "shim/next.h"
#include "shim/proc.h"

char *__getcwd_chk(char *buf, size_t size, size_t room);

/* As getcwd(3): without `buf` into memory that is the program's to free, by its own malloc. */
static char *copy_out(const struct shim_deep *d, char *buf, size_t size)
{
	if (!buf && !size)
		size = d->len + 1;
	if (size <= d->len) {
		shim_set_errno(ERANGE);
		return NULL;
	}
	if (!buf)
		buf = NEXT(malloc)(size);
	if (buf)
		memcpy(buf, d->room, d->len + 1);
	return buf;
}

static char *climb(char *buf, size_t size)
{
	int fd = sys_openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	struct shim_deep d = {.at = -1};
	char *ret = NULL;

	if (fd >= 0 && shim_is_deep(fd) && shim_deep_text(&d, fd) == 0)
		ret = copy_out(&d, buf, size);
	else
		shim_set_errno(EACCES);
	shim_deep_release(&d);
	if (fd >= 0)
		sys_close(fd);
	return ret;
}

static bool is_to_help(const char *ret)
{
	return !ret && shim_get_errno() == EACCES && shim_is_ready() && !shim_has_filter();
}

SHIM_EXPORT char *getcwd(char *buf, size_t size)
{
	int saved = shim_get_errno();
	char *ret = NEXT(getcwd)(buf, size);

	if (!is_to_help(ret))
		return ret;
	shim_set_errno(saved);
	return climb(buf, size);
}

SHIM_EXPORT char *__getcwd_chk(char *buf, size_t size, size_t room)
{
	int saved = shim_get_errno();
	char *ret = NEXT(__getcwd_chk)(buf, size, room);

	if (!is_to_help(ret))
		return ret;
	shim_set_errno(saved);
	return climb(buf, size);
}

SHIM_EXPORT char *get_current_dir_name(void)
{
	int saved = shim_get_errno();
	char *ret = NEXT(get_current_dir_name)();

	if (!is_to_help(ret))
		return ret;
	shim_set_errno(saved);
	return climb(NULL, 0);
}
