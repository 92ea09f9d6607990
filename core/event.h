/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - an FsCallEvent as it lies in the ring, and the names of calls and of its
 * enumerations. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/image.h"

/* Calls an event may name; the number is the position. Append only: logs and
 * rings of a run carry numbers. The shim's table (shim/calls.h) refers to these by name. */

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
	X(acl_set_file) X(undelete) X(fs_snapshot_create) X(execvP) X(connectx) X(listen) \
	X(setpriority) X(ioprio_set) X(sched_setaffinity) X(sched_setparam) X(sched_setscheduler) \
	X(sched_setattr) X(prlimit) X(move_pages) X(migrate_pages) X(resolve) \
	X(mount) X(umount2) X(pivot_root) X(setns) X(process_vm_readv) X(process_vm_writev) \
	X(process_madvise) X(pidfd_getfd) X(kcmp) X(personality) X(prlimit64) X(setrlimit) X(seccomp) \
	X(open_by_handle_at) X(fanotify_init) X(fanotify_mark) X(fcntl) X(ioctl) X(socket) X(shmget) \
	X(shmat) X(shmctl) X(semget) X(semop) X(semtimedop) X(semctl) X(msgget) X(msgsnd) X(msgrcv) \
	X(msgctl) X(bpf) X(perf_event_open) X(userfaultfd) X(modify_ldt) X(iopl) X(ioperm) X(vhangup) \
	X(keyctl) X(add_key) X(request_key) X(init_module) X(finit_module) X(delete_module) \
	X(kexec_load) X(kexec_file_load) X(reboot) X(swapon) X(swapoff) X(acct) X(quotactl) \
	X(quotactl_fd) X(syslog) X(sethostname) X(setdomainname) X(settimeofday) X(clock_settime) \
	X(adjtimex) X(clock_adjtime) X(sendto) X(sendmsg) X(sendmmsg) X(setsockopt)
/* clang-format on */

enum sbx_call {
#define X(name) SBX_CALL_##name,
	SBX_CALL_NAMES(X)
#undef X
		SBX_CALL_COUNT
};

/*
 * The shim's report of one call, in the form in which it is in the ring.
 *
 * The reader trusts nothing in it: every length is checked against the frame, every enum
 * against its count.
 */

enum sbx_event_kind {
	SBX_EV_CALL,   /* a file call: result or denial */
	SBX_EV_EXEC,   /* a call that is about to replace the image: path = program, aux =
			  sbx_exec_class */
	SBX_EV_HELLO,  /* a new image has mapped the policy: path = its executable */
	SBX_EV_EXIT,   /* the image ends: aux = its status */
	SBX_EV_REPEAT, /* `count` more of an equal earlier event (folding) */
	SBX_EV_LOSS,   /* calls may bypass the shim from here on; path = the cause, aux = reason */
	SBX_EV_KIND_COUNT
};

/* The kind of image that an exec starts, which decides whether the shim will load. */
#define SBX_EXEC_CLASSES(X)                                                                        \
	X(DYNAMIC, "dynamic")	    /* the shim will load */                                       \
	X(STATIC, "static")	    /* no program interpreter */                                   \
	X(FOREIGN, "foreign-abi")   /* other word size or machine */                               \
	X(OTHER_LIBC, "other-libc") /* interpreter of another C library */                         \
	X(SECURE, "set-id")	    /* set-id, not void by no_new_privs */                         \
	X(UNREADABLE, "unreadable")                                                                \
	X(MISSING, "missing")		/* does not exist: the call will fail */                   \
	X(CAPS, "file-capability")	/* file capabilities: the loader heeds no preload */       \
	X(HARDENED, "hardened-runtime") /* macOS: its signature keeps libraries out */             \
	X(UNANNOUNCED, "unannounced")	/* no shim reported its exec: the broker met it */

enum sbx_exec_class {
#define X(name, text) SBX_EXEC_##name,
	SBX_EXEC_CLASSES(X)
#undef X
		SBX_EXEC_CLASS_COUNT
};
const char *sbx_exec_class_name(enum sbx_exec_class);

#define SBX_EVF_ALLOWED	     0x01u
#define SBX_EVF_TRUNCATED    0x02u /* a path did not fit and was cut */
#define SBX_EVF_MOVE	     0x04u /* denied because the move would launder, aux = op that objects */
#define SBX_EVF_PATH2_DENIED 0x08u /* the second path is the denied one */
#define SBX_EVF_UNSEEN	     0x10u /* with SBX_EVF_MOVE: what lies below could not be looked through */
#define SBX_EVF_ROOT                                                                               \
	0x40u /* with SBX_EVF_MOVE: a rule grants the name for itself, in its place                \
	       */
#define SBX_EVF_SUPERVISOR 0x80u   /* denied whatever the rules say: it is the broker's own */
#define SBX_EVF_GIT_LINK   0x100u  /* with SBX_EVF_MOVE: a symlink in a git directory */
#define SBX_EVF_STOOD_IN   0x8000u /* with SBX_EVF_MOVE: a directory that somebody outside is in */
/* with SBX_CONNECT: `path` is host:port, `path2` the program, `rule` the deciding one + 1, aux an
 * enum sbx_connect_why (connect.h) */
#define SBX_EVF_ENDPOINT 0x200u
/* with SBX_EVF_ENDPOINT and SBX_EVF_ALLOWED: the rules deny it (rule and aux say why), and it
 * passes, because the network is only watched */
#define SBX_EVF_WATCHED 0x4000u
#define SBX_EVF_QUERY	0x20u /* a question about the path: no rule decides it, no op */
/* without SBX_EVF_ENDPOINT: refused by a row of the system-call filter, aux; `path` is the process
 */
#define SBX_EVF_FILTER	 SBX_EVF_WATCHED
#define SBX_EVF_SETID	 0x1000u /* with SBX_EVF_MOVE: set-id bits of a file */
#define SBX_EVF_ARGV	 0x400u	 /* the second path is the words of a command, see SBX_ARGV_* */
#define SBX_EVF_ARGV_CUT 0x800u	 /* and their end is missing */

/* The broker's facts about a change that it made: aux of an allowed SBX_MODIFY with neither an
 * error nor SBX_EVF_MOVE. */
#define SBX_DID_CREATE	 1u /* the open made the file */
#define SBX_DID_EXCHANGE 2u /* the rename exchanged the two objects */
#define SBX_DID_REPLACE	 4u /* the second name had another object before */

/* The second text is not a path, but the path that the program asked for, see sbx_path_is_led().
 * For a call with two paths it is the second path, then the path asked for the first, then for the
 * second (asked.h). */
#define SBX_EVF_ASKED 0x2000u

/* The words in order, with an END after each. In a word, ESCAPE and a letter encode the two bytes.
 */
#define SBX_ARGV_END	'\x1f'
#define SBX_ARGV_ESCAPE '\x1e'
#define SBX_ARGV_MAX	2048 /* bytes, of all */

/* Why the shim may miss calls: aux of SBX_EV_LOSS. */
#define SBX_LOSSES(X)                                                                              \
	X(DEEPBIND, "deepbind") /* a library bound to the C library past every preload */          \
	X(HANDLE,                                                                                  \
	  "libc-handle")	/* the C library itself opened: its symbols, past every preload */ \
	X(DLMOPEN, "namespace") /* a library in a link-map namespace of its own */                 \
	X(BEFORE,                                                                                  \
	  "preloaded-before") /* a library before the shim takes its calls, hands none on */       \
	X(NO_SHIM,                                                                                 \
	  "no-shim") /* a program was refused that would run without the shim; a shell runs so */  \
	X(NO_FLOOR, "no-floor") /* preload-only mode: only shims enforce the policy */

enum sbx_loss {
#define X(name, text) SBX_LOSS_##name,
	SBX_LOSSES(X)
#undef X
		SBX_LOSS_COUNT
};
const char *sbx_loss_name(unsigned loss); /* "?" when out of range */

/* Fixed part; path then path2 follow, not NUL-terminated. 8-aligned. */
struct sbx_event {
	uint64_t time_ns; /* CLOCK_REALTIME at completion */
	uint32_t pid;
	uint32_t ppid;
	uint32_t image_pid; /* of the process that began the image; another in a fork; 0 = unknown
			     */
	uint16_t kind;	    /* enum sbx_event_kind */
	uint16_t op;	    /* enum sbx_op */
	uint16_t call;	    /* row of shim/calls.h, see sbx_call_name() */
	uint16_t flags;	    /* SBX_EVF_* */
	int32_t err;	    /* errno of the call, 0 = succeeded */
	uint32_t aux;
	/* SBX_EV_REPEAT: how many. SBX_EV_CALL with SBX_EVF_ASKED and two paths: the length of the
	 * second path, and from bit 16 on that of what was asked for the first. With SBX_EVF_ARGV:
	 * from bit 16 on the length of the current directory, which follows the words */
	uint32_t count;
	uint32_t rule; /* with a path that is cut: deciding rule + 1, sbx_deep_rule(); 0 = none */
	uint16_t path_len, path2_len;
};

/* The bytes at the end of the second text that are the current directory of a command; 0: it is not
 * said. The event may lie: no more than there are. */
static inline size_t sbx_event_cwd_len(const struct sbx_event *ev)
{
	size_t len = ev->count >> 16;

	return ev->flags & SBX_EVF_ARGV && len <= ev->path2_len ? len : 0;
}

/* Names of the calls that events mention, one list for shim and readers: core/event.c
 * expands core/event.h. Out of range gives "?". */
const char *sbx_call_name(unsigned call);

/* Which events are wanted (--audit-level); decided in the shim, before any work is done. */
enum sbx_audit_level {
	SBX_AUDIT_FOLDED, /* each modify and exec; a read once per process and path; denials folded
			   */
	SBX_AUDIT_ALL,
	SBX_AUDIT_MODIFY, /* modify, exec, denials */
	SBX_AUDIT_DENIED,
	SBX_AUDIT_NONE, /* coverage events only */
	SBX_AUDIT_LEVEL_COUNT
};
