/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private_tmp.c - a /tmp of the run's own (docs/adr/017).
 *
 * Called in the new mount namespace. What of the host's /tmp is to stay is held open before the
 * tmpfs hides it, and bound into it at the same place, so that each path that is there means what
 * it means outside. A working directory below /tmp is entered anew: by ".." from the old one the
 * host's /tmp could be reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/run/confine.h"

#define TMP	"/tmp"
#define TMP_LEN (sizeof TMP - 1)

/* Rules speak of this name. A symlink in the way has come since they were made, or leads to what
 * they did not mean: it does not stay. */
static int open_kept(const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Directories of `path` below /tmp, without the last name, for anybody to pass. */
static int make_way(const char *path)
{
	char dir[PATH_MAX];
	size_t n = strlen(path);

	if (n >= sizeof dir)
		return -1;
	memcpy(dir, path, n + 1);
	for (char *p = dir + TMP_LEN + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return -1;
		*p = '/';
	}
	return 0;
}

/* Something for the mount to lie on. */
static int make_place(const char *path, bool is_dir)
{
	int fd;

	if (make_way(path) < 0)
		return -1;
	if (is_dir)
		return mkdir(path, 0700);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : close(fd);
}

/* With what is mounted below: in a user namespace nothing can be uncovered. */
static int put_back(int fd, const char *path)
{
	char source[32];
	struct stat st;

	snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) < 0 || make_place(path, S_ISDIR(st.st_mode)) < 0)
		return -1;
	return mount(source, path, NULL, MS_BIND | MS_REC, NULL);
}

static int mount_own(const struct lau_confine *c)
{
	size_t n = c->ntmp_keep < LAU_TMP_KEEP_MAX ? c->ntmp_keep : LAU_TMP_KEEP_MAX;
	int kept[LAU_TMP_KEEP_MAX], rc, sys = 0;
	mode_t mask = umask(0);

	for (size_t i = 0; i < n; i++)
		kept[i] = open_kept(c->tmp_keep[i]); /* gone meanwhile: then it is not there */
	rc = mount("tmp", TMP, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (kept[i] >= 0)
			rc = put_back(kept[i], c->tmp_keep[i]);
	if (rc < 0)
		sys = errno;
	for (size_t i = 0; i < n; i++)
		if (kept[i] >= 0)
			close(kept[i]);
	umask(mask);
	errno = sys;
	return rc;
}

static int enter_again(const char *cwd, const struct stat *before, struct b_err *err)
{
	struct stat now;

	if (chdir(cwd) == 0 && stat(".", &now) == 0 && now.st_dev == before->st_dev &&
	    now.st_ino == before->st_ino)
		return 0;
	return b_fail(err, B_FLOOR, 0,
		      "private " TMP
		      ": the working directory %s is not in it: --read it, or change "
		      "to another one",
		      cwd);
}

int lau_mount_tmp(const struct lau_confine *c, struct b_err *err)
{
	struct stat cwd;

	if (!(c->isolate & (LAU_ISOLATE_TMP | LAU_ISOLATE_OUTER_TMP)))
		return 0;
	if (c->tmp_cwd && stat(".", &cwd) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "private " TMP ": working directory");
	/* first: what is to stay of an outer run's /tmp is looked for in that */
	if (c->isolate & LAU_ISOLATE_OUTER_TMP &&
	    syscall(SYS_move_mount, c->tmp_tree, "", AT_FDCWD, TMP, LAU_MOVE_MOUNT_EMPTY_PATH) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "the outer run's " TMP);
	if (c->isolate & LAU_ISOLATE_TMP && mount_own(c) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "private " TMP);
	if (c->tmp_cwd && enter_again(c->tmp_cwd, &cwd, err) < 0)
		return -1;
	return lau_grant_again(c, TMP, err);
}

/* ---- of the run around this one ---- */

struct look {
	int userns, mntns, tree;
};

static bool is_own_userns(int fd)
{
	struct stat own, other;

	return stat("/proc/self/ns/user", &own) == 0 && fstat(fd, &other) == 0 &&
	       own.st_ino == other.st_ino && own.st_dev == other.st_dev;
}

/* In a process of its own, for nobody comes back from a user namespace; with our descriptors. */
static int look(void *ctx)
{
	struct look *l = ctx;

	if ((!is_own_userns(l->userns) && setns(l->userns, CLONE_NEWUSER) < 0) ||
	    setns(l->mntns, CLONE_NEWNS) < 0)
		return errno;
	l->tree = (int)syscall(SYS_open_tree, AT_FDCWD, TMP,
			       LAU_OPEN_TREE_CLONE | LAU_AT_RECURSIVE | O_CLOEXEC);
	return l->tree < 0 ? errno : 0;
}

int lau_tmp_of(int userns, int mntns)
{
	struct look l = {userns, mntns, -1};

	return lau_by_child(look, &l, CLONE_FILES) < 0 ? -1 : l.tree;
}
