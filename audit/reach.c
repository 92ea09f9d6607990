/* SPDX-License-Identifier: Apache-2.0 */
/* reach.c - would the kernel refuse a change whatever the policy says? Asked of places of the
 * system alone: a command names what it likes, and elsewhere a file system may keep who asks
 * waiting. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/collect_priv.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"

static bool is_of_system(const char *path)
{
	static const char *const dirs[] = {"/etc/",  "/usr/", "/bin/",	"/sbin/", "/lib",
					   "/boot/", "/sys/", "/root/", "/opt/",  "/var/"};

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		if (b_has_prefix(path, dirs[i]))
			return true;
	return !strchr(path + 1, '/'); /* at the top */
}

static int refusal(const char *path)
{
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 ? errno : 0;
}

int aud_out_of_reach(const struct aud_denial *d)
{
	b_auto(b_str_release) struct b_str path = {0};
	size_t parent = sbx_path_parent(d->path, d->path_len);
	struct stat st;
	int sys;

	if (d->op != SBX_MODIFY || d->path[0] != '/' || !is_of_system(d->path))
		return 0;
	b_str_addn(&path, d->path, d->path_len);
	if (lstat(path.s, &st) == 0 && st.st_uid == geteuid())
		return 0; /* its owner may change it, whatever its mode */
	sys = refusal(path.s);
	if (sys == ENOENT) {
		path.len = 0;
		b_str_addn(&path, parent ? d->path : "/", parent ? parent : 1);
		sys = refusal(path.s);
	}
	return sys == EACCES || sys == EROFS ? sys : 0;
}
