/* SPDX-License-Identifier: Apache-2.0 */
/* inherited.c - see confine_priv.h. */
#include "launcher/linux/confine/confine_priv.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define OLD_MASTER_MAJOR 2 /* PTY_MASTER_MAJOR of include/uapi/linux/major.h */

/* When the command may have it as its standard input, output or errors. */
enum fate { PASSES, GUARDED, UNIX_HOST, NET_HOST, REFUSED };

static const struct {
	const char *what, *can;
	enum fate fate;
} kinds[] = {
#define X(kind, what_, can_, fate_) [LAU_FD_##kind] = {(what_), (can_), (fate_)},
	LAU_FD_KINDS(X)
#undef X
};

const char *lau_fd_kind_name(enum lau_fd_kind kind)
{
	return kinds[kind].what;
}

static int option(int fd, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? -1 : value;
}

static enum lau_fd_kind socket_kind(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	bool has_peer = getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
	int domain = option(fd, SO_DOMAIN), type = option(fd, SO_TYPE);

	if (domain == AF_UNIX)
		return has_peer && type != SOCK_DGRAM ? LAU_FD_UNIX : LAU_FD_UNIX_OPEN;
	if (domain != AF_INET && domain != AF_INET6)
		return LAU_FD_SOCKET;
	if (type == SOCK_RAW)
		return LAU_FD_RAW;
	return has_peer && type == SOCK_STREAM && option(fd, SO_PROTOCOL) == IPPROTO_TCP
		       ? LAU_FD_TCP
		       : LAU_FD_INET_OPEN;
}

/* Of devpts, or of the older pairs (pty(7)). To isatty(3) a master is a terminal as well. */
static bool is_master(int fd, dev_t dev)
{
	unsigned number;

	return ioctl(fd, TIOCGPTN, &number) == 0 || major(dev) == OLD_MASTER_MAJOR;
}

/* mem(4): null, zero, full, random, urandom. */
static enum lau_fd_kind device_kind(int fd, dev_t dev)
{
	static const unsigned char harmless[] = {3, 5, 7, 8, 9};

	if (is_master(fd, dev))
		return LAU_FD_MASTER;
	if (isatty(fd))
		return LAU_FD_TERMINAL;
	for (size_t i = 0; major(dev) == 1 && i < sizeof harmless; i++)
		if (minor(dev) == harmless[i])
			return LAU_FD_MEMORY;
	return LAU_FD_DEVICE;
}

/* What has no file system of its own is told apart by its name alone. */
static enum lau_fd_kind nameless_kind(int fd)
{
	static const char *const counters[] = {"[eventfd]", "[timerfd]", "[signalfd]"};
	char link[32], text[64] = "";
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, text, sizeof text - 1);
	if (n <= 0 || strncmp(text, "anon_inode:", 11) != 0)
		return LAU_FD_KERNEL;
	if (!strcmp(text + 11, "[pidfd]")) /* before Linux 6.9 */
		return LAU_FD_PIDFD;
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		if (!strcmp(text + 11, counters[i]))
			return LAU_FD_COUNTER;
	return LAU_FD_KERNEL;
}

/* File systems whose files are no files: what is written there acts. */
static bool is_of_kernel(const struct statfs *fs)
{
	static const uint32_t magic[] = {
		PROC_SUPER_MAGIC,    SYSFS_MAGIC,	   CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,	   TRACEFS_MAGIC,
		SECURITYFS_MAGIC,    SELINUX_MAGIC,	   SMACK_MAGIC,
		AAFS_MAGIC,	     BPF_FS_MAGIC,	   EFIVARFS_MAGIC,
		PSTOREFS_MAGIC,	     BINFMTFS_MAGIC,	   RDTGROUP_SUPER_MAGIC,
		XENFS_SUPER_MAGIC,   BINDERFS_SUPER_MAGIC, OPENPROM_SUPER_MAGIC,
		LAU_CONFIGFS_MAGIC,  LAU_FUSECTL_MAGIC,	   LAU_MQUEUE_MAGIC,
		LAU_NFSD_MAGIC,	     LAU_RPC_PIPEFS_MAGIC,
	};

	for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
		if ((uint32_t)fs->f_type == magic[i])
			return true;
	return false;
}

/* What anybody may read carries bytes (/proc/cpuinfo). What its owner alone may is memory
 * (/proc/PID/mem, kcore), or as good as a secret; by its mode, because a name can be another's. */
static bool acts(int flags, const struct stat *st)
{
	return (flags & O_ACCMODE) != O_RDONLY || !(st->st_mode & S_IROTH);
}

static enum lau_fd_kind file_kind(int fd, int flags, const struct stat *st, const struct statfs *fs)
{
	if (is_of_kernel(fs) && acts(flags, st))
		return LAU_FD_KERNEL_FILE;
	switch (fs->f_type) {
	case NSFS_MAGIC:
		return LAU_FD_NAMESPACE;
	case LAU_PIDFS_MAGIC:
		return LAU_FD_PIDFD;
	case ANON_INODE_FS_MAGIC:
		return nameless_kind(fd);
	}
	return LAU_FD_FILE;
}

enum lau_fd_kind lau_fd_kind(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct statfs fs;
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return LAU_FD_KERNEL;
	if (S_ISDIR(st.st_mode))
		return LAU_FD_DIRECTORY;
	if (flags & O_PATH)
		return LAU_FD_PATH;
	if (S_ISFIFO(st.st_mode))
		return fs.f_type == PIPEFS_MAGIC ? LAU_FD_PIPE : LAU_FD_FIFO;
	if (S_ISSOCK(st.st_mode))
		return socket_kind(fd);
	if (S_ISCHR(st.st_mode))
		return device_kind(fd, st.st_rdev);
	if (S_ISBLK(st.st_mode))
		return LAU_FD_DISK;
	if (S_ISREG(st.st_mode))
		return file_kind(fd, flags, &st, &fs);
	return nameless_kind(fd);
}

/* ---- the check ---- */

static bool passes(const struct lau_inherited *in, enum fate fate)
{
	switch (fate) {
	case PASSES:
		return true;
	case GUARDED:
		return in->net_host || in->is_guarded;
	case NET_HOST:
		return in->net_host;
	case UNIX_HOST:
		return in->unix_host;
	case REFUSED:
		return false;
	}
	return false;
}

static bool is_kept(const struct lau_inherited *in, int fd)
{
	for (size_t i = 0; i < in->nkeep_fds; i++)
		if (in->keep_fds[i] == fd)
			return true;
	return in->replaced && in->replaced[fd] >= 0;
}

int lau_inherited_check(const struct lau_inherited *in, struct b_err *err)
{
	static const char *const names[] = {"standard input", "standard output", "standard error"};
	static const char *const instead[] = {"</dev/null", ">/dev/null", "2>/dev/null"};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		enum lau_fd_kind kind;

		if (is_kept(in, fd))
			continue;
		kind = lau_fd_kind(fd);
		if (!passes(in, kinds[kind].fate))
			return b_fail(err, B_FLOOR, 0,
				      "%s (descriptor %d) is %s: %s: start the run with %s, or "
				      "pass it unchanged with --keep-fd %d",
				      names[fd], fd, kinds[kind].what, kinds[kind].can, instead[fd],
				      fd);
	}
	return 0;
}

/* ---- sockets ---- */

static uint64_t number(int fd, int name)
{
	uint64_t value = 0;
	socklen_t len = sizeof value;

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? 0 : value;
}

uint64_t lau_net_cookie(void)
{
	b_auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? 0 : number(fd, SO_NETNS_COOKIE);
}

uint64_t lau_socket_cookie(int fd)
{
	return number(fd, SO_COOKIE);
}
