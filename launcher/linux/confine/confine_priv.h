/* SPDX-License-Identifier: Apache-2.0 */
/* confine_priv.h - what the steps of confinement share: namespaces, mounts, descriptors.
 * Private to launcher/linux. */
#pragma once

#include <linux/landlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_err;
struct lau_confine;

/* User namespaces as launcher/linux needs them. Private to launcher/linux. */

/* `act` in a child that shares our memory, with the flags of clone(2) besides: it returns an errno,
 * 0 = done. 0 or -1 with errno. [AS-safe] [no-alloc] */
int lau_by_child(int (*act)(void *), void *ctx, int flags);
/* Can we make a user namespace and map ourselves in it? Tried by a throw-away child. 0 or -1
 * with errno. [AS-safe] [no-alloc] */
int lau_userns_try(void);
/* In a new user namespace: the caller's own ids, mapped to themselves. 0 or -1 with errno.
 * The ids are those from before the namespace. */
int lau_userns_map(unsigned uid, unsigned gid);

/* The mounts of a run of its own. Private to launcher/linux. */

/* In a new mount namespace: nothing mounted in it is seen outside; device nodes are opened in /dev
 * alone, and where a rule names one; the private /dev/shm, when it is wanted, with what was granted
 * in it. 0, LAU_NO_NODEV, or -1 with B_FLOOR. [no-alloc] */
int lau_isolate_mounts(const struct lau_confine *, struct b_err *err);
/* Rules of the kernel are of objects: those of paths in `dir`, once more, for what is mounted there
 * now. 0 or -1. [no-alloc] */
int lau_grant_again(const struct lau_confine *, const char *dir, struct b_err *err);

/* private_tmp.c: the run's own /tmp, or that of the run around it, in a new mount namespace. 0, or
 * -1 with B_FLOOR. [no-alloc] */
int lau_mount_tmp(const struct lau_confine *, struct b_err *err);
/* What is mounted at and below /tmp in other namespaces, given by descriptors: a descriptor of a
 * copy for one lau_mount_tmp() with LAU_ISOLATE_OUTER_TMP, or -1 with errno. */
int lau_tmp_of(int userns, int mntns);

/* Closing descriptors by the range. Private to launcher/linux. */

/* close_range(2), or one after the other where there is none: before Linux 5.9, or a container's
 * filter answers ENOSYS or EPERM. What is held open by a process that lives on keeps others
 * waiting for its end. [AS-safe] [no-alloc] */
void lau_fdclose_range(unsigned first, unsigned last);

/* One descriptor over a Unix socket. Private to launcher/linux. */

/* 0 or -1 with errno. [AS-safe] [no-alloc] */
int lau_fd_send(int sock, int fd);
/* A descriptor, CLOEXEC, or -1 with errno; ECONNRESET: the other side closed without sending. */
int lau_fd_receive(int sock);

/*
 * What a descriptor that came from the caller can still do. A Landlock domain and the
 * rules judge what is opened; what is open already they judge no more, so that its kind decides:
 * what can only carry bytes stays, the rest would lead out. Private to launcher/linux.
 */

/* X(kind, what it is, what it can still do, as the command's stdio)
 * Above 2 pipes alone are passed on; --keep-fd passes on whatever it names. */
/* clang-format off */
#define LAU_FD_KINDS(X)                                                                            \
	X(FILE, "a file", "carries the bytes it was opened for", PASSES)                           \
	X(PIPE, "a pipe", "carries bytes to its other end", PASSES)                                \
	X(FIFO, "a named pipe", "carries bytes to any program that opens it", PASSES)              \
	X(TERMINAL, "a terminal", "carries bytes; TIOCSTI is refused", PASSES)                     \
	X(MASTER, "the master of a terminal",                                                      \
	  "its other side reads what is written to it as if a user typed it", REFUSED)             \
	X(MEMORY, "a device without state", "/dev/null and the like", PASSES)                      \
	X(COUNTER, "a counter", "an event, timer or signal descriptor carries numbers", PASSES)    \
	X(UNIX, "a connected Unix socket", "carries bytes, and descriptors from its peer", PASSES) \
	X(TCP, "a connected socket of the network",                                                \
	  "connect(AF_UNSPEC) frees it for another peer of the host's network", GUARDED)           \
	X(UNIX_OPEN, "a Unix socket that is not connected, or of datagrams",                       \
	  "it reaches other sockets of the host", UNIX_HOST)                                       \
	X(INET_OPEN, "a socket of the network that is not connected, or of another kind than TCP", \
	  "it reaches the host's network", NET_HOST)                                               \
	X(RAW, "a raw socket of the network",                                                      \
	  "it sees and forges packets of others, as no program inside can", REFUSED)               \
	X(SOCKET, "a socket of a special family", "it reaches the host's kernel", REFUSED)         \
	X(DIRECTORY, "a directory", "its names can be listed against the rules", REFUSED)          \
	X(PATH, "an O_PATH descriptor", "it leads to files below closed directories", REFUSED)     \
	X(DEVICE, "a device", "its driver can be steered", REFUSED)                                \
	X(DISK, "a block device", "all files on it can be read", REFUSED)                          \
	X(KERNEL_FILE, "a kernel file that acts when written, or that only its owner may read",    \
	  "it reads or changes memory of processes or settings of the host", REFUSED)              \
	X(NAMESPACE, "a namespace", "it leads to the host's", REFUSED)                             \
	X(PIDFD, "a process descriptor", "its process can be signalled", REFUSED)                  \
	X(KERNEL, "a kernel object", "it acts by itself (io_uring, perf, bpf, epoll, inotify)", REFUSED)
/* clang-format on */

enum lau_fd_kind {
#define X(kind, what, can, stdio) LAU_FD_##kind,
	LAU_FD_KINDS(X)
#undef X
		LAU_FD_KINDS_COUNT
};

enum lau_fd_kind lau_fd_kind(int fd);
/* "a directory" */
const char *lau_fd_kind_name(enum lau_fd_kind);

struct lau_inherited {
	const int *keep_fds; /* passed on as they are */
	size_t nkeep_fds;
	const int *replaced; /* three; the command gets others where >= 0. NULL = none */
	bool net_host;	     /* the command may use the host's network anyway */
	bool unix_host;	     /* and its Unix sockets */
	bool is_guarded;     /* connect(2) is the broker's, which knows sockets by their origin */
};
/* Descriptors 0 to 2: 0, or -1 with B_FLOOR, which names one, what it could do, and remedies. */
int lau_inherited_check(const struct lau_inherited *, struct b_err *err);

/* The number by which the kernel knows the network namespace of this process, or 0. */
uint64_t lau_net_cookie(void);
/* The number by which the kernel knows a socket, or 0: not one. */
uint64_t lau_socket_cookie(int fd);

/* The door of a run's network namespace (door_sockets.c, egress/door.h). */

/* In the namespace, by who made it, before it gives up anything: makes routes and sockets, and
 * sends these over `sock`. *port: the relay's, 0 = any, and then the one it has. 0 or -1 with
 * B_FLOOR. [no-alloc] */
int lau_door_open(int sock, uint16_t *port, bool is_published, struct b_err *err);

/* Kernel interface newer than the headers we build with (Debian 12: Linux 6.1).
 * Each with the kernel that brought it; https://docs.kernel.org/userspace-api/landlock.html and
 * include/uapi of the kernel tree. */

/* struct landlock_ruleset_attr as of ABI 6 (6.12); older kernels take a shorter one. */
struct lau_ll_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4, 6.7 */
	uint64_t scoped;	     /* ABI 6, 6.12 */
};

#define LAU_LL_NET_BIND_TCP    (1ull << 0) /* ABI 4 */
#define LAU_LL_NET_CONNECT_TCP (1ull << 1) /* ABI 4 */

/* Mounts by descriptor; include/uapi/linux/mount.h, which some C libraries' <sys/mount.h> collides
 * with. open_tree and move_mount are of Linux 5.2, mount_setattr of 5.12. */
#define LAU_OPEN_TREE_CLONE	  1u
#define LAU_AT_RECURSIVE	  0x8000u
#define LAU_MOVE_MOUNT_EMPTY_PATH 4u /* the source is a descriptor */
#define LAU_MOUNT_ATTR_RDONLY	  1u
#define LAU_MOUNT_ATTR_NODEV	  4u
struct lau_mount_attr {
	uint64_t attr_set, attr_clr, propagation, userns_fd;
};

/* File system of process descriptors, 6.9; include/uapi/linux/magic.h */
#define LAU_PIDFS_MAGIC 0x50494446

/* File systems of the kernel whose numbers no public header has: fs/configfs/mount.c,
 * fs/fuse/control.c, ipc/mqueue.c, fs/nfsd/nfsctl.c, net/sunrpc/rpc_pipe.c */
#define LAU_CONFIGFS_MAGIC   0x62656570
#define LAU_FUSECTL_MAGIC    0x65735543
#define LAU_MQUEUE_MAGIC     0x19800202
#define LAU_NFSD_MAGIC	     0x6e667364
#define LAU_RPC_PIPEFS_MAGIC 0x67596969
