/*
 * inherited.h - what a descriptor that came from the caller can still do. A Landlock domain and the
 * rules judge what is opened; what is open already they judge no more, so that its kind decides:
 * what can only carry bytes stays, the rest would lead out. Private to launcher/linux.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_err;

/* X(kind, what it is, what it can still do, as the command's stdio)
 * Above 2 pipes alone are passed on; --keep-fd passes on whatever it names. */
/* clang-format off */
#define LAU_FD_KINDS(X)                                                                            \
	X(FILE, "a file", "carries the bytes it was opened for", PASSES)                           \
	X(PIPE, "a pipe", "carries bytes to its other end", PASSES)                                \
	X(FIFO, "a named pipe", "carries bytes to whoever opens it", PASSES)                       \
	X(TERMINAL, "a terminal", "carries bytes; TIOCSTI is refused", PASSES)                     \
	X(MEMORY, "a device without state", "/dev/null and the like", PASSES)                      \
	X(COUNTER, "a counter", "an event, timer or signal descriptor carries numbers", PASSES)    \
	X(UNIX, "a connected Unix socket", "carries bytes, and descriptors from its peer", PASSES) \
	X(TCP, "a connected socket of the network",                                                \
	  "connect(AF_UNSPEC) frees it for another peer of the host's network", GUARDED)           \
	X(UNIX_OPEN, "a Unix socket that is not connected, or of datagrams",                       \
	  "it reaches other sockets of the host", UNIX_HOST)                                       \
	X(INET_OPEN, "a socket of the network that is not connected, or of datagrams",             \
	  "it reaches the host's network", NET_HOST)                                               \
	X(SOCKET, "a socket of a special family", "it reaches the host's kernel", REFUSED)         \
	X(DIRECTORY, "a directory", "its names can be listed whatever the rules say", REFUSED)     \
	X(PATH, "an O_PATH descriptor", "it leads past directories that are closed", REFUSED)      \
	X(DEVICE, "a device", "its driver can be steered", REFUSED)                                \
	X(DISK, "a block device", "all files on it can be read", REFUSED)                          \
	X(KERNEL_FILE, "a file of the kernel that acts, or that its owner alone may read",          \
	  "memory of processes and settings of the host are read or changed by it", REFUSED)       \
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
