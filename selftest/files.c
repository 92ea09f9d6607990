/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - attacks on files: writing outside the workspace, reading a denied file. */
#include "selftest/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- a denied file without its name -- */

static int reads_through(int fd)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return fd < 0 || unlink(st_at("ws/hidden/id")) < 0
		       ? -1
		       : st_reads_secret(open(path, O_RDONLY | O_CLOEXEC));
}
static int n_read_path(void)
{
	return reads_through(open(st_at("ws/hidden/id"), O_PATH | O_CLOEXEC));
}
static int n_read_writer(void)
{
	return reads_through(open(st_at("ws/hidden/id"), O_WRONLY | O_CLOEXEC));
}
static int n_read_moved(void)
{
	int fd = open(st_at("ws/hidden/id"), O_PATH | O_CLOEXEC);
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0 || unlink(st_at("ws/hidden/id")) < 0)
		return -1;
	(void)rename(st_at("ws/hidden"), st_at("ws/shown")); /* what it was called by */
	return st_reads_secret(open(path, O_RDONLY | O_CLOEXEC));
}

/* -- writing outside -- */

static int w_open(void)
{
	return st_writes(open(st_at("out/f"), O_WRONLY | O_CLOEXEC));
}
static int w_append(void)
{
	return st_writes(open(st_at("out/f"), O_WRONLY | O_APPEND | O_CLOEXEC));
}
static int w_create(void)
{
	return st_writes(open(st_at("out/new"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}
static int w_tmpfile(void)
{
	return st_writes(open(st_at("out"), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644));
}
static int w_truncate(void)
{
	return truncate(st_at("out/f"), 0);
}
static int w_truncating_open(void)
{
	return open(st_at("out/f"), O_RDONLY | O_TRUNC | O_CLOEXEC) < 0 ? -1 : 0;
}
static int w_rename_out(void)
{
	return rename(st_at("ws/f"), st_at("out/moved"));
}
static int w_rename_in(void)
{
	return rename(st_at("out/f"), st_at("ws/moved"));
}
static int w_rename_over(void)
{
	return rename(st_at("ws/f"), st_at("out/f"));
}
static int w_exchange(void)
{
	return renameat2(AT_FDCWD, st_at("ws/f"), AT_FDCWD, st_at("out/f"), RENAME_EXCHANGE);
}
static int w_link_in(void)
{
	if (link(st_at("out/f"), st_at("ws/hard")) < 0)
		return -1;
	return st_writes(open(st_at("ws/hard"), O_WRONLY | O_CLOEXEC));
}
static int w_link_out(void)
{
	return link(st_at("ws/f"), st_at("out/hard"));
}
static int w_unlink(void)
{
	return unlink(st_at("out/f"));
}
static int w_rmdir(void)
{
	return rmdir(st_at("out/empty"));
}
static int w_mkdir(void)
{
	return mkdir(st_at("out/dir"), 0755);
}
static int w_symlink(void)
{
	return symlink("/etc", st_at("out/sym"));
}
static int w_fifo(void)
{
	return mkfifo(st_at("out/fifo"), 0644);
}
static int w_dotdot(void)
{
	return st_writes(open("../out/f", O_WRONLY | O_CLOEXEC));
}
static int w_through_symlink(void)
{
	if (symlink("../out", st_at("ws/s")) < 0)
		return -1;
	return st_writes(open(st_at("ws/s/f"), O_WRONLY | O_CLOEXEC));
}
static int w_dangling_symlink(void)
{
	if (symlink(st_at("out/planted"), st_at("ws/d")) < 0)
		return -1;
	return st_writes(open(st_at("ws/d"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}
static int w_proc_root(void)
{
	char path[600];

	snprintf(path, sizeof path, "/proc/self/root%s", st_at("out/f"));
	return st_writes(open(path, O_WRONLY | O_CLOEXEC));
}
static int w_proc_cwd(void)
{
	if (chdir(st_at("out")) < 0)
		return -1;
	return st_writes(open("/proc/self/cwd/f", O_WRONLY | O_CLOEXEC));
}
static int w_dirfd(void)
{
	int dir = open(st_at("out"), O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -1 : st_writes(openat(dir, "f", O_WRONLY | O_CLOEXEC));
}
static int w_reopen(void)
{
	int fd = open(st_at("out/f"), O_RDONLY | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return st_writes(open(path, O_WRONLY | O_CLOEXEC));
}
static int w_openat2(void)
{
	const struct open_how how = {.flags = O_WRONLY | O_CLOEXEC};

	return st_writes((int)syscall(SYS_openat2, AT_FDCWD, st_at("out/f"), &how, sizeof how));
}

/* Nothing but a right to read is asked for, and the flags lie in memory. */
static int w_truncating_openat2(void)
{
	const struct open_how how = {.flags = O_RDONLY | O_TRUNC | O_CLOEXEC};

	return syscall(SYS_openat2, AT_FDCWD, st_at("out/f"), &how, sizeof how) < 0 ? -1 : 0;
}
/* The size that says "I only ask". */
static int w_truncating_quickly(void)
{
	const struct {
		struct open_how how;
		uint64_t zero;
	} padded = {{.flags = O_RDONLY | O_TRUNC | O_CLOEXEC}, 0};

	return syscall(SYS_openat2, AT_FDCWD, st_at("out/f"), &padded, sizeof padded) < 0 ? -1 : 0;
}
/* The same size, and the access mode that asks for ioctl(2) alone: no wall of the kernel's refuses
 * it, and what it gives must lead nowhere. */
static int open_for_ioctl(const char *rel)
{
	const struct {
		struct open_how how;
		uint64_t zero;
	} padded = {{.flags = O_ACCMODE | O_CLOEXEC}, 0};

	return (int)syscall(SYS_openat2, AT_FDCWD, st_at(rel), &padded, sizeof padded);
}
static int reopen_from_ioctl(const char *rel, int flags)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", open_for_ioctl(rel));
	return open(path, flags | O_CLOEXEC);
}
static int w_ioctl_mode(void)
{
	int fd = open_for_ioctl("out/f");

	return fd < 0 ? -1 : fchmod(fd, 0600);
}
static int w_ioctl_reopen(void)
{
	return st_writes(reopen_from_ioctl("out/f", O_WRONLY));
}
static int r_ioctl_reopen(void)
{
	return st_reads_secret(reopen_from_ioctl("home/.ssh/id", O_RDONLY));
}
static int w_truncating_reopen(void)
{
	int fd = open(st_at("out/f"), O_RDONLY | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	return open(path, O_RDONLY | O_TRUNC | O_CLOEXEC) < 0 ? -1 : 0;
}

/* No library at all between us and the kernel. */
static int w_raw(void)
{
	const char *path = st_at("out/f");
	long rc = SYS_openat;
#if defined(__x86_64__)
	register long mode __asm__("r10") = 0;

	__asm__ volatile("syscall"
			 : "+a"(rc)
			 : "D"((long)AT_FDCWD), "S"(path), "d"((long)O_WRONLY), "r"(mode)
			 : "rcx", "r11", "memory");
#else
	rc = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY);
	if (rc < 0)
		return -1;
#endif
	if (rc < 0) {
		errno = (int)-rc;
		return -1;
	}
	return st_writes((int)rc);
}

static int run_shell(const char *command)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		close(2);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	errno = EACCES;
	return status == 0 ? 0 : -1;
}

static int w_shell(void)
{
	char command[600];

	snprintf(command, sizeof command, "echo x >> '%s'", st_at("out/f"));
	return run_shell(command);
}

/* Passed down: 8 = DIR/out/f for writing, 9 = DIR/out. */
static int w_inherited_file(void)
{
	return write(8, "x", 1) == 1 ? 0 : -1;
}
static int w_inherited_dir(void)
{
	return fcntl(9, F_GETFD) < 0 ? -1 : 0;
}

/* -- reading what is denied -- */

static int r_open(void)
{
	return st_reads_secret(open(st_at("home/.ssh/id"), O_RDONLY | O_CLOEXEC));
}
static int r_dotdot(void)
{
	return st_reads_secret(open("../out/../home/.ssh/./id", O_RDONLY | O_CLOEXEC));
}
static int r_file_symlink(void)
{
	if (symlink(st_at("home/.ssh/id"), st_at("ws/s")) < 0)
		return -1;
	return st_reads_secret(open(st_at("ws/s"), O_RDONLY | O_CLOEXEC));
}
static int r_dir_symlink(void)
{
	if (symlink("../home", st_at("ws/h")) < 0)
		return -1;
	return st_reads_secret(open("h/.ssh/id", O_RDONLY | O_CLOEXEC));
}
static int r_proc_root(void)
{
	char path[600];

	snprintf(path, sizeof path, "/proc/self/root%s", st_at("home/.ssh/id"));
	return st_reads_secret(open(path, O_RDONLY | O_CLOEXEC));
}
static int r_proc_cwd(void)
{
	if (chdir(st_at("home/.ssh")) < 0)
		return -1;
	return st_reads_secret(open("/proc/self/cwd/id", O_RDONLY | O_CLOEXEC));
}
static int r_dirfd(void)
{
	int dir = open(st_at("home/.ssh"), O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -1 : st_reads_secret(openat(dir, "id", O_RDONLY | O_CLOEXEC));
}
static int r_fchdir(void)
{
	int dir = open(st_at("home/.ssh"), O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || fchdir(dir) < 0)
		return -1;
	return st_reads_secret(open("id", O_RDONLY | O_CLOEXEC));
}
static int r_path_fd(void)
{
	int fd = open(st_at("home/.ssh/id"), O_PATH | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return st_reads_secret(open(path, O_RDONLY | O_CLOEXEC));
}
static int r_empty_path(void)
{
	int fd = open(st_at("home/.ssh/id"), O_PATH | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	return st_reads_secret(open(path, O_RDONLY | O_CLOEXEC));
}
static int r_hard_link(void)
{
	if (link(st_at("home/.ssh/id"), st_at("ws/hard")) < 0)
		return -1;
	return st_reads_secret(open(st_at("ws/hard"), O_RDONLY | O_CLOEXEC));
}
static int r_move_file(void)
{
	if (rename(st_at("home/.ssh/id"), st_at("ws/id")) < 0)
		return -1;
	return st_reads_secret(open(st_at("ws/id"), O_RDONLY | O_CLOEXEC));
}
static int r_move_dir(void)
{
	if (rename(st_at("home/.ssh"), st_at("ws/ssh")) < 0)
		return -1;
	return st_reads_secret(open(st_at("ws/ssh/id"), O_RDONLY | O_CLOEXEC));
}
static int r_move_parent(void)
{
	if (rename(st_at("home"), st_at("ws/home")) < 0)
		return -1;
	return st_reads_secret(open(st_at("ws/home/.ssh/id"), O_RDONLY | O_CLOEXEC));
}
static int r_openat2(void)
{
	const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};

	return st_reads_secret(
		(int)syscall(SYS_openat2, AT_FDCWD, st_at("home/.ssh/id"), &how, sizeof how));
}
static int r_shell(void)
{
	char command[600];

	snprintf(command, sizeof command, "grep -q " ST_SECRET " < '%s'", st_at("home/.ssh/id"));
	return run_shell(command);
}
static int r_thread_root(void)
{
	char path[600];

	snprintf(path, sizeof path, "/proc/thread-self/root%s", st_at("home/.ssh/id"));
	return st_reads_secret(open(path, O_RDONLY | O_CLOEXEC));
}

/* -- a directory of the writable workspace that may not be read: moving it must not help -- */

static int read_at(const char *rel)
{
	return st_reads_secret(open(st_at(rel), O_RDONLY | O_CLOEXEC));
}
static int m_direct(void)
{
	return read_at("ws/hidden/id");
}
static int m_move_file(void)
{
	return rename(st_at("ws/hidden/id"), st_at("ws/src/id")) < 0 ? -1 : read_at("ws/src/id");
}
static int m_move_dir(void)
{
	return rename(st_at("ws/hidden"), st_at("ws/src/h")) < 0 ? -1 : read_at("ws/src/h/id");
}
static int m_rename_dir(void)
{
	return rename(st_at("ws/hidden"), st_at("ws/seen")) < 0 ? -1 : read_at("ws/seen/id");
}
static int m_swap(void)
{
	if (rename(st_at("ws/src"), st_at("ws/old")) < 0 ||
	    rename(st_at("ws/hidden"), st_at("ws/src")) < 0)
		return -1;
	return read_at("ws/src/id");
}
static int m_exchange(void)
{
	if (renameat2(AT_FDCWD, st_at("ws/hidden"), AT_FDCWD, st_at("ws/src"), RENAME_EXCHANGE) < 0)
		return -1;
	return read_at("ws/src/id");
}
static int m_link(void)
{
	return link(st_at("ws/hidden/id"), st_at("ws/src/id")) < 0 ? -1 : read_at("ws/src/id");
}
static int m_new_parent(void)
{
	if (mkdir(st_at("ws/new"), 0755) < 0 || rename(st_at("ws/hidden"), st_at("ws/new/h")) < 0)
		return -1;
	return read_at("ws/new/h/id");
}

/* -- past the path checks -- */

static int h_handle(void)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h.handle_bytes = MAX_HANDLE_SZ};
	int mount_id, mount = open(st_at("ws"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (mount < 0 || name_to_handle_at(AT_FDCWD, st_at("home/.ssh/id"), &u.h, &mount_id, 0) < 0)
		return -1;
	return st_reads_secret(open_by_handle_at(mount, &u.h, O_RDONLY | O_CLOEXEC));
}

static int i_set_id_chmod(void)
{
	return chmod(st_at("ws/f"), 04755);
}
static int i_set_id_fchmodat(void)
{
	return fchmodat(AT_FDCWD, st_at("ws/f"), 02755, 0);
}
static int i_set_id_create(void)
{
	return open(st_at("ws/sid"), O_WRONLY | O_CREAT | O_CLOEXEC, 04755) < 0 ? -1 : 0;
}
static int i_device(void)
{
	return mknod(st_at("ws/null"), S_IFCHR | 0666, 1 << 8 | 3);
}

const struct st_probe st_file_probes[] = {
	{"write-open", w_open, 0},
	{"write-append", w_append, 0},
	{"write-create", w_create, 0},
	{"write-tmpfile", w_tmpfile, ST_NEEDS_HOST},
	{"write-truncate", w_truncate, 0},
	{"write-truncating-open", w_truncating_open, 0},
	{"write-rename-out", w_rename_out, 0},
	{"write-rename-in", w_rename_in, 0},
	{"write-rename-over", w_rename_over, 0},
	{"write-exchange", w_exchange, ST_NEEDS_HOST},
	{"write-link-in", w_link_in, 0},
	{"write-link-out", w_link_out, 0},
	{"write-unlink", w_unlink, 0},
	{"write-rmdir", w_rmdir, 0},
	{"write-mkdir", w_mkdir, 0},
	{"write-symlink", w_symlink, 0},
	{"write-fifo", w_fifo, 0},
	{"write-dotdot", w_dotdot, 0},
	{"write-through-symlink", w_through_symlink, 0},
	{"write-dangling-symlink", w_dangling_symlink, 0},
	{"write-proc-root", w_proc_root, 0},
	{"write-proc-cwd", w_proc_cwd, 0},
	{"write-dirfd", w_dirfd, 0},
	{"write-reopen", w_reopen, 0},
	{"write-openat2", w_openat2, ST_NEEDS_HOST},
	{"write-truncating-openat2", w_truncating_openat2, ST_NEEDS_HOST},
	{"write-truncating-quickly", w_truncating_quickly, ST_NEEDS_HOST},
	{"write-ioctl-mode", w_ioctl_mode, ST_NEEDS_HOST},
	{"write-ioctl-reopen", w_ioctl_reopen, ST_NEEDS_HOST},
	{"write-truncating-reopen", w_truncating_reopen, 0},
	{"write-raw-syscall", w_raw, 0},
	{"write-shell", w_shell, 0},
	{"write-inherited-file", w_inherited_file, 0},
	{"write-inherited-directory", w_inherited_dir, 0},
	{"read-open", r_open, 0},
	{"read-dotdot", r_dotdot, 0},
	{"read-file-symlink", r_file_symlink, 0},
	{"read-directory-symlink", r_dir_symlink, 0},
	{"read-proc-root", r_proc_root, 0},
	{"read-proc-thread-root", r_thread_root, 0},
	{"read-proc-cwd", r_proc_cwd, 0},
	{"read-dirfd", r_dirfd, 0},
	{"read-fchdir", r_fchdir, 0},
	{"read-path-descriptor", r_path_fd, 0},
	{"read-dev-fd", r_empty_path, 0},
	{"read-hard-link", r_hard_link, 0},
	{"read-move-file", r_move_file, 0},
	{"read-move-directory", r_move_dir, 0},
	{"read-move-parent", r_move_parent, 0},
	{"read-openat2", r_openat2, ST_NEEDS_HOST},
	{"read-ioctl-reopen", r_ioctl_reopen, ST_NEEDS_HOST},
	{"read-shell", r_shell, 0},
	{"hidden-open", m_direct, ST_NEEDS_DENY},
	{"hidden-move-file", m_move_file, ST_NEEDS_DENY},
	{"hidden-move-directory", m_move_dir, ST_NEEDS_DENY},
	{"hidden-rename", m_rename_dir, ST_NEEDS_DENY},
	{"hidden-swap", m_swap, ST_NEEDS_DENY},
	{"hidden-exchange", m_exchange, ST_NEEDS_DENY | ST_NEEDS_HOST},
	{"hidden-link", m_link, ST_NEEDS_DENY},
	{"hidden-new-parent", m_new_parent, ST_NEEDS_DENY},
	{"hidden-nameless", n_read_path, ST_NEEDS_DENY},
	{"hidden-nameless-writer", n_read_writer, ST_NEEDS_DENY},
	{"hidden-nameless-moved", n_read_moved, ST_NEEDS_DENY},
	{"read-file-handle", h_handle, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"set-id-chmod", i_set_id_chmod, 0},
	{"set-id-fchmodat", i_set_id_fchmodat, 0},
	{"set-id-create", i_set_id_create, 0},
	{"device-node", i_device, ST_NEEDS_ROOT},
	{NULL, NULL, 0},
};
