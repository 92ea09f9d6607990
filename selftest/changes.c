/* SPDX-License-Identifier: Apache-2.0 */
/* changes.c - attacks on what is not content: metadata outside, the protected set inside. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "selftest/probes.h"

/* -- metadata -- */

static int file_outside(void)
{
	return open(st_at("out/f"), O_RDONLY | O_CLOEXEC);
}
static int m_chmod(void)
{
	return chmod(st_at("out/f"), 0600);
}
static int m_fchmod(void)
{
	return fchmod(file_outside(), 0600);
}
static int m_fchmodat2(void)
{
	return (int)syscall(452 /* fchmodat2 */, AT_FDCWD, st_at("out/f"), 0600, 0);
}
static int m_proc_fd(void)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", open(st_at("out/f"), O_PATH | O_CLOEXEC));
	return chmod(path, 0600);
}
static int m_chown(void)
{
	return chown(st_at("out/f"), geteuid(), getegid());
}
static int m_fchown(void)
{
	return fchown(file_outside(), geteuid(), getegid());
}
static int m_fchownat(void)
{
	return fchownat(open(st_at("out/f"), O_PATH | O_CLOEXEC), "", geteuid(), getegid(),
			AT_EMPTY_PATH);
}
static int m_utimes(void)
{
	return utimes(st_at("out/f"), NULL);
}
static int m_futimens(void)
{
	return futimens(file_outside(), NULL);
}
static int m_setxattr(void)
{
	return setxattr(st_at("out/f"), "user.sbx", "x", 1, 0);
}
static int m_fsetxattr(void)
{
	return fsetxattr(file_outside(), "user.sbx", "x", 1, 0);
}
static int m_dir_chmod(void)
{
	return chmod(st_at("out"), 0700);
}
static int m_denied_chmod(void)
{
	return chmod(st_at("home/.ssh/id"), 0666);
}
static int m_flags(void)
{
	int fd = file_outside(), flags;

	/* FS_IOC_GETFLAGS, and the same back */
	return ioctl(fd, _IOR('f', 1, long), &flags) < 0 ? -1
							 : ioctl(fd, _IOW('f', 2, long), &flags);
}

/* -- the protected set -- */

static int put(const char *rel)
{
	return st_writes(open(st_at(rel), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
}
static int p_hook(void)
{
	return put("ws/.git/hooks/pre-commit");
}
static int p_config(void)
{
	return put("ws/.git/config");
}
static int p_config_rename(void)
{
	return put("ws/new") < 0 ? -1 : rename(st_at("ws/new"), st_at("ws/.git/config"));
}
static int p_config_link(void)
{
	if (link(st_at("ws/.git/config"), st_at("ws/alias")) < 0)
		return -1;
	return put("ws/alias");
}
static int p_config_symlink(void)
{
	if (symlink(".git/config", st_at("ws/alias")) < 0)
		return -1;
	return put("ws/alias");
}
static int p_hooks_move(void)
{
	if (rename(st_at("ws/.git/hooks"), st_at("ws/old")) < 0 ||
	    mkdir(st_at("ws/.git/hooks"), 0755) < 0)
		return -1;
	return put("ws/.git/hooks/pre-commit");
}
static int p_plant(void)
{
	if (rename(st_at("ws/.git"), st_at("ws/old")) < 0 || mkdir(st_at("ws/evil"), 0755) < 0 ||
	    mkdir(st_at("ws/evil/hooks"), 0755) < 0 || put("ws/evil/hooks/pre-commit") < 0)
		return -1;
	return rename(st_at("ws/evil"), st_at("ws/.git"));
}
static int p_hooks_symlink(void)
{
	if (mkdir(st_at("ws/evil"), 0755) < 0 || put("ws/evil/pre-commit") < 0 ||
	    rename(st_at("ws/.git/hooks"), st_at("ws/old")) < 0)
		return -1;
	return symlink("../evil", st_at("ws/.git/hooks"));
}
/* names that are not there when the run starts */
static int p_new_file(void)
{
	return put("ws/.mcp.json");
}
static int p_new_by_rename(void)
{
	return put("ws/new") < 0 ? -1 : rename(st_at("ws/new"), st_at("ws/.mcp.json"));
}
static int p_new_by_symlink(void)
{
	return symlink("f", st_at("ws/.mcp.json"));
}
static int p_new_by_link(void)
{
	return link(st_at("ws/f"), st_at("ws/.mcp.json"));
}
static int p_new_settings(void)
{
	if (mkdir(st_at("ws/evil"), 0755) < 0 || put("ws/evil/settings.json") < 0)
		return -1;
	return rename(st_at("ws/evil"), st_at("ws/.claude"));
}

/* What points git at another repository. */
static int p_commondir(void)
{
	return put("ws/.git/commondir");
}
static int p_gitfile(void)
{
	if (rename(st_at("ws/.git"), st_at("ws/old")) < 0)
		return -1;
	return put("ws/.git");
}
static int p_bare(void)
{
	return put("ws/HEAD");
}

const struct st_probe st_change_probes[] = {
	{"metadata-chmod", m_chmod, 0},
	{"metadata-fchmod", m_fchmod, 0},
	{"metadata-fchmodat2", m_fchmodat2, ST_NEEDS_HOST},
	{"metadata-chmod-by-descriptor", m_proc_fd, 0},
	{"metadata-chown", m_chown, 0},
	{"metadata-fchown", m_fchown, 0},
	{"metadata-fchownat-empty", m_fchownat, 0},
	{"metadata-utimes", m_utimes, 0},
	{"metadata-futimens", m_futimens, 0},
	{"metadata-setxattr", m_setxattr, ST_NEEDS_HOST},
	{"metadata-fsetxattr", m_fsetxattr, ST_NEEDS_HOST},
	{"metadata-directory", m_dir_chmod, 0},
	{"metadata-denied-file", m_denied_chmod, 0},
	{"metadata-flags", m_flags, ST_NEEDS_HOST},
	{"protected-hook", p_hook, 0},
	{"protected-config", p_config, 0},
	{"protected-config-rename", p_config_rename, 0},
	{"protected-config-link", p_config_link, 0},
	{"protected-config-symlink", p_config_symlink, 0},
	{"protected-hooks-move", p_hooks_move, 0},
	{"protected-hooks-symlink", p_hooks_symlink, 0},
	{"protected-plant", p_plant, 0},
	{"protected-new-file", p_new_file, 0},
	{"protected-new-by-rename", p_new_by_rename, 0},
	{"protected-new-by-symlink", p_new_by_symlink, 0},
	{"protected-new-by-link", p_new_by_link, 0},
	{"protected-new-settings", p_new_settings, 0},
	{"protected-commondir", p_commondir, 0},
	{"protected-gitfile", p_gitfile, 0},
	{"protected-bare", p_bare, 0},
	{NULL, NULL, 0},
};
