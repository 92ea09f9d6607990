/* callnames.h - calls an event may name; the number is the position. Append only: logs and
 * rings of a run carry numbers. The shim's table (shim/calls.h) refers to these by name. */
#pragma once

/* clang-format off */
#define SBX_CALL_NAMES(X) \
	X(unknown) X(open) X(openat) X(openat2) X(creat) X(fopen) X(freopen) X(opendir) X(scandir) \
	X(rename) X(renameat) X(renameat2) X(unlink) X(unlinkat) X(rmdir) X(remove) \
	X(link) X(linkat) X(symlink) X(symlinkat) X(mkdir) X(mkdirat) X(mknod) X(mknodat) \
	X(mkfifo) X(mkfifoat) X(truncate) X(chmod) X(fchmodat) X(lchmod) X(chown) X(lchown) \
	X(fchownat) X(utime) X(utimes) X(utimensat) X(access) X(faccessat) \
	X(mkstemp) X(mkdtemp) X(tmpfile) X(setxattr) X(removexattr) X(bind) X(connect) \
	X(execve) X(execv) X(execvp) X(execvpe) X(execl) X(execle) X(execlp) X(execveat) X(fexecve) \
	X(posix_spawn) X(posix_spawnp) X(system) X(popen) X(chdir) X(fchdir) X(chroot) X(dlopen) X(dlmopen) \
	X(start) X(lutimes) X(futimesat) X(scandirat) X(ptrace) X(getxattr) X(listxattr) \
	X(stat) X(lstat) X(fstatat) X(statx) X(readlink) X(readlinkat) X(realpath) X(statfs) X(statvfs) \
	X(name_to_handle_at) X(inotify_add_watch) X(euidaccess) \
	X(shm_open) X(shm_unlink) X(sem_open) X(sem_unlink) X(mq_open) X(mq_unlink) \
	X(glob) X(ftw) X(fts_open) X(spawn_addopen) X(wordexp) X(clone) X(unshare) \
	X(openbyid_np) X(clonefile) X(copyfile) X(exchangedata) X(chflags) X(setattrlist) \
	X(acl_set_file) X(undelete) X(fs_snapshot_create) X(execvP) X(connectx) X(listen)
/* clang-format on */

enum sbx_call {
#define X(name) SBX_CALL_##name,
	SBX_CALL_NAMES(X)
#undef X
	SBX_CALL_COUNT
};
