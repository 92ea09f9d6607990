/* callnames.h - calls an event may name; the number is the position. Append only: logs and
 * rings of a run carry numbers. The shim's table (shim/calls.h) refers to these by name. */
#pragma once

#define SBX_CALL_NAMES(X) \
	X(unknown) X(open) X(openat) X(openat2) X(creat) X(fopen) X(freopen) X(opendir) X(scandir) \
	X(rename) X(renameat) X(renameat2) X(unlink) X(unlinkat) X(rmdir) X(remove) \
	X(link) X(linkat) X(symlink) X(symlinkat) X(mkdir) X(mkdirat) X(mknod) X(mknodat) \
	X(mkfifo) X(mkfifoat) X(truncate) X(chmod) X(fchmodat) X(lchmod) X(chown) X(lchown) \
	X(fchownat) X(utime) X(utimes) X(utimensat) X(access) X(faccessat) \
	X(mkstemp) X(mkdtemp) X(tmpfile) X(setxattr) X(removexattr) X(bind) X(connect) \
	X(execve) X(execv) X(execvp) X(execvpe) X(execl) X(execle) X(execlp) X(execveat) X(fexecve) \
	X(posix_spawn) X(posix_spawnp) X(system) X(popen) X(chdir) X(fchdir) X(chroot) X(dlopen) X(dlmopen) \
	X(start) X(lutimes) X(futimesat) X(scandirat) X(ptrace) X(getxattr) X(listxattr)

enum sbx_call {
#define X(name) SBX_CALL_##name,
	SBX_CALL_NAMES(X)
#undef X
	SBX_CALL_COUNT
};
