/* SPDX-License-Identifier: Apache-2.0 */
/* owndev.c - a /dev that nobody else has. */
#include "attack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void name_in(const char *dir, const char *name, char out[80])
{
	snprintf(out, 80, "%.40s/%s", dir, name);
}

static bool copy_node(const char *to, const char *name)
{
	char from[80], path[80];
	struct stat st;

	name_in("/dev", name, from);
	name_in(to, name, path);
	return stat(from, &st) < 0 ||
	       (mknod(path, st.st_mode, st.st_rdev) == 0 && chmod(path, st.st_mode & 07777) == 0 &&
		chown(path, st.st_uid, st.st_gid) == 0);
}

/* Each a file system of its own already. */
static bool bring_mount(const char *to, const char *name)
{
	char from[80], path[80];

	name_in("/dev", name, from);
	name_in(to, name, path);
	return access(from, F_OK) < 0 ||
	       (mkdir(path, 0755) == 0 && mount(from, path, NULL, MS_BIND | MS_REC, NULL) == 0);
}

bool ak_own_dev(void)
{
	static const char *const nodes[] = {"null",    "zero", "full", "random",
					    "urandom", "tty",  "fuse", "ptmx"};
	static const char *const links[][2] = {{"/proc/self/fd", "fd"},
					       {"/proc/self/fd/0", "stdin"},
					       {"/proc/self/fd/1", "stdout"},
					       {"/proc/self/fd/2", "stderr"}};
	char dir[] = "/tmp/sbx-attack-dev-XXXXXX", path[80];
	bool ok = mkdtemp(dir) && mount("dev", dir, "tmpfs", MS_NOSUID, "mode=755") == 0;

	for (unsigned i = 0; ok && i < sizeof nodes / sizeof *nodes; i++)
		ok = copy_node(dir, nodes[i]);
	for (unsigned i = 0; ok && i < sizeof links / sizeof *links; i++) {
		name_in(dir, links[i][1], path);
		ok = symlink(links[i][0], path) == 0;
	}
	ok = ok && bring_mount(dir, "pts") && bring_mount(dir, "shm") &&
	     mount(dir, "/dev", NULL, MS_MOVE, NULL) == 0;
	if (!ok)
		(void)umount2(dir, MNT_DETACH);
	rmdir(dir);
	return ok;
}
