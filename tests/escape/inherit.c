/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherit.c - descriptors of every kind that a caller could pass on, and what each can still do
 * (launcher/linux/confine/confine_priv.h). Static, as probe.c is; run by run-inherited.sh.
 *
 *	inherit list			name, kind, fate and needs, a line each; fails when a kind
 *					has no row
 *	inherit DIR give NAME N CMD...	makes one as descriptor N, becomes CMD
 *	inherit DIR use NAME N		0: it does what it can; 1: refused; 77: not on this host
 *
 * DIR has the fixture and the process outside of probes.h.
 */
#include "inherit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/perf_event.h>
#include <linux/rtnetlink.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "launcher/linux/confine/confine_priv.h"
#include "selftest/probes.h"

#define SKIP 77

/* ---- makers: what the caller of the launcher does ---- */

static struct sockaddr_un at_path(const char *rel)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	strncpy(un.sun_path, st_at(rel), sizeof un.sun_path - 1);
	return un;
}
static int to_unix(int fd, const char *rel)
{
	struct sockaddr_un sa = at_path(rel);

	return connect(fd, (struct sockaddr *)&sa, sizeof sa);
}

static int g_file(void)
{
	return open(st_at("ws/f"), O_RDWR);
}
static int g_memfd(void)
{
	return memfd_create("inherited", 0);
}
static int g_pipe(void)
{
	int p[2];

	/* the other end stays with the process that this one becomes, as ends of pipes do */
	if (pipe(p) < 0)
		return -1;
	return write(p[1], "x", 1) == 1 ? p[0] : -1;
}
static int g_fifo(void)
{
	const char *path = st_at("ws/fifo");

	(void)mkfifo(path, 0600);
	return open(path, O_RDWR);
}
static int g_terminal(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	return fd < 0 || unlockpt(fd) < 0 ? -1 : ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY);
}
static int g_master(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	return fd < 0 || unlockpt(fd) < 0 ? -1 : fd;
}
static int g_null(void)
{
	return open("/dev/zero", O_RDWR);
}
static int g_event(void)
{
	return eventfd(1, 0);
}
static int g_timer(void)
{
	return timerfd_create(CLOCK_MONOTONIC, 0);
}
static int g_pair(void)
{
	int p[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, p) < 0 ? -1 : p[0];
}
static int g_stream(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}
static int g_unix_connected(void)
{
	int fd = g_stream();

	return fd < 0 || to_unix(fd, "run/container.sock") < 0 ? -1 : fd;
}
static int g_unix_datagrams(void)
{
	return socket(AF_UNIX, SOCK_DGRAM, 0);
}
static int g_datagram_pair(void)
{
	int p[2];

	return socketpair(AF_UNIX, SOCK_DGRAM, 0, p) < 0 ? -1 : p[0];
}
static int g_netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
}
static int g_directory(void)
{
	return open(st_at("home/.ssh"), O_RDONLY | O_DIRECTORY);
}
static int g_directory_path(void)
{
	return open(st_at("home/.ssh"), O_PATH);
}
static int g_path(void)
{
	return open(st_at("home/.ssh/id"), O_PATH);
}
static int g_device(void)
{
	static const char *const names[] = {"/dev/kmsg", "/dev/fuse", "/dev/net/tun",
					    "/dev/kvm",	 "/dev/rtc0", "/dev/hpet"};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof names / sizeof *names; i++)
		fd = open(names[i], O_RDONLY | O_NONBLOCK);
	return fd;
}
static int g_disk(void)
{
	char path[300];
	DIR *dir = opendir("/sys/block");
	const struct dirent *e;
	int fd = -1;

	while (dir && fd < 0 && (e = readdir(dir))) {
		snprintf(path, sizeof path, "/dev/%s", e->d_name);
		fd = e->d_name[0] == '.' ? -1 : open(path, O_RDONLY);
	}
	if (dir)
		closedir(dir);
	return fd;
}
/* Memory of the process that asked for us, at a place that is there as long as it is. */
static int to_memory(int flags)
{
	char path[64], line[64];
	unsigned long at = 0;
	FILE *maps;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/maps", getppid());
	maps = fopen(path, "re");
	if (maps && fgets(line, sizeof line, maps))
		at = strtoul(line, NULL, 16);
	if (maps)
		(void)fclose(maps);
	snprintf(path, sizeof path, "/proc/%d/mem", getppid());
	fd = at ? open(path, flags) : -1;
	return fd < 0 || lseek(fd, (off_t)at, SEEK_SET) < 0 ? -1 : fd;
}
static int g_memory(void)
{
	return to_memory(O_RDONLY);
}
static int g_memory_to_write(void)
{
	return to_memory(O_RDWR);
}
static int g_about(void)
{
	return open("/proc/cpuinfo", O_RDONLY);
}
static int g_setting(void)
{
	return open("/proc/self/coredump_filter", O_RDWR);
}
static int g_of_the_host(void)
{
	return open("/proc/sys/kernel/hostname", O_WRONLY); /* root's */
}
static int g_of_sysfs(void)
{
	return open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDWR);
}
static int g_namespace(void)
{
	return open("/proc/self/ns/net", O_RDONLY);
}
static int g_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, st_outside()->pid, 0);

	/* it is made to go with an exec */
	return fd < 0 || fcntl(fd, F_SETFD, 0) < 0 ? -1 : fd;
}
static int g_epoll(void)
{
	return epoll_create1(0);
}
static int g_inotify(void)
{
	return inotify_init1(0);
}
static int g_ring(void)
{
	struct io_uring_params params = {0};

	return (int)syscall(SYS_io_uring_setup, 4, &params);
}
static int g_faults(void)
{
	return (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY);
}
static int g_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof attr,
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .exclude_kernel = 1};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* ---- users: what the command would do with it ---- */

static int u_bytes(int fd)
{
	char c;

	(void)lseek(fd, 0, SEEK_SET);
	return read(fd, &c, 1) < 0 && errno != EAGAIN ? -1 : 0;
}
static int u_writes(int fd)
{
	return write(fd, "x", 1) == 1 ? 0 : -1;
}
static int u_memory(int fd)
{
	char c;

	return read(fd, &c, 1) == 1 ? 0 : -1;
}
static int u_setting(int fd)
{
	return write(fd, "0x33", 4) == 4 ? 0 : -1;
}
static int u_terminal(int fd)
{
	return isatty(fd) ? 0 : -1;
}
/* Types at the terminal on its other side, which it opens in place of the shell that is there. */
static int u_types(int fd)
{
	int slave = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	char line[8];

	return slave >= 0 && write(fd, "id\n", 3) == 3 && read(slave, line, sizeof line) == 3 ? 0
											      : -1;
}
static int u_status(int fd)
{
	struct stat st;

	return fstat(fd, &st);
}
static int u_unix_connect(int fd)
{
	return to_unix(fd, "run/container.sock");
}
static int u_unix_sendto(int fd)
{
	struct sockaddr_un sa = at_path("run/datagram.sock");

	return sendto(fd, "x", 1, 0, (struct sockaddr *)&sa, sizeof sa) == 1 ? 0 : -1;
}
static int u_netlink(int fd)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} ask = {{sizeof ask, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0}, {0}};
	char answer[8192];

	return send(fd, &ask, sizeof ask, 0) > 0 && recv(fd, answer, sizeof answer, 0) > 64 ? 0
											    : -1;
}
static int u_list(int fd)
{
	char entries[4096];

	return syscall(SYS_getdents64, fd, entries, sizeof entries) > 0 ? 0 : -1;
}
static int u_namespace(int fd)
{
	return ioctl(fd, NS_GET_NSTYPE) > 0 ? 0 : -1;
}
static int u_signal(int fd)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0);
}
static int u_epoll(int fd)
{
	struct epoll_event ev;

	return epoll_wait(fd, &ev, 1, 0) < 0 ? -1 : 0;
}
static int u_watch(int fd)
{
	return inotify_add_watch(fd, "/etc", IN_MODIFY) < 0 ? -1 : 0;
}
/* With a thread of the kernel's that polls, memory is all it takes. */
static int u_ring(int fd)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}
static int u_faults(int fd)
{
	struct uffdio_api api = {.api = UFFD_API};

	return ioctl(fd, UFFDIO_API, &api);
}
static int u_counter(int fd)
{
	unsigned long long n;

	return read(fd, &n, sizeof n) == (ssize_t)sizeof n ? 0 : -1;
}

/* ---- the rows ---- */

#define K(kind) LAU_FD_##kind
static const struct row {
	const char *name;
	enum lau_fd_kind kind;
	int (*give)(void);
	int (*use)(int fd);
} rows[] = {
	{"file", K(FILE), g_file, u_bytes},
	{"memfd", K(FILE), g_memfd, u_bytes},
	{"pipe", K(PIPE), g_pipe, u_bytes},
	{"fifo", K(FIFO), g_fifo, u_writes},
	{"terminal", K(TERMINAL), g_terminal, u_terminal},
	{"terminal-master", K(MASTER), g_master, u_types},
	{"zero", K(MEMORY), g_null, u_bytes},
	{"eventfd", K(COUNTER), g_event, u_counter},
	{"timerfd", K(COUNTER), g_timer, u_status},
	{"unix-pair", K(UNIX), g_pair, u_writes},
	{"unix-connected", K(UNIX), g_unix_connected, u_bytes},
	{"tcp-connected", K(TCP), g_tcp_connected, u_reconnect},
	{"tcp-connected-listen", K(TCP), g_tcp_connected, u_relisten},
	{"tcp-connected-bind", K(TCP), g_tcp_connected, u_rebind},
	{"tcp-nonblocking", K(TCP), g_tcp_nonblocking, u_sendto_again},
	{"tcp-nonblocking-msg", K(TCP), g_tcp_nonblocking, u_sendmsg_again},
	{"tcp-nonblocking-mmsg", K(TCP), g_tcp_nonblocking, u_sendmmsg_again},
	{"mptcp-nonblocking", K(INET_OPEN), g_mptcp, u_sendto_again},
	{"sctp", K(INET_OPEN), g_sctp, u_status},
	{"vsock", K(SOCKET), g_vsock, u_status},
	{"raw", K(RAW), g_raw, u_packet},
	{"unix-unconnected", K(UNIX_OPEN), g_stream, u_unix_connect},
	{"unix-datagrams", K(UNIX_OPEN), g_unix_datagrams, u_unix_sendto},
	{"unix-datagram-pair", K(UNIX_OPEN), g_datagram_pair, u_unix_sendto},
	{"tcp-unconnected", K(INET_OPEN), g_tcp, u_connect},
	{"tcp-listens", K(INET_OPEN), g_tcp, u_listen},
	{"udp", K(INET_OPEN), g_udp, u_sendto},
	{"udp-connected", K(INET_OPEN), g_udp_connected, u_sendto},
	{"netlink", K(SOCKET), g_netlink, u_netlink},
	{"directory", K(DIRECTORY), g_directory, u_list},
	{"directory-path", K(DIRECTORY), g_directory_path, u_status},
	{"path", K(PATH), g_path, u_status},
	{"device", K(DEVICE), g_device, u_status},
	{"disk", K(DISK), g_disk, u_bytes},
	{"about", K(FILE), g_about, u_memory},
	{"memory", K(KERNEL_FILE), g_memory, u_memory},
	{"memory-to-write", K(KERNEL_FILE), g_memory_to_write, u_memory},
	{"setting", K(KERNEL_FILE), g_setting, u_setting},
	{"setting-of-the-host", K(KERNEL_FILE), g_of_the_host, u_status},
	{"setting-of-sysfs", K(KERNEL_FILE), g_of_sysfs, u_status},
	{"namespace", K(NAMESPACE), g_namespace, u_namespace},
	{"pidfd", K(PIDFD), g_pidfd, u_signal},
	{"epoll", K(KERNEL), g_epoll, u_epoll},
	{"inotify", K(KERNEL), g_inotify, u_watch},
	{"io-uring", K(KERNEL), g_ring, u_ring},
	{"userfaultfd", K(KERNEL), g_faults, u_faults},
	{"perf", K(KERNEL), g_perf, u_counter},
};
#define NROWS (sizeof rows / sizeof *rows)

static int list(void)
{
	static const char *const fates[] = {
#define X(kind, what, can, fate) #fate,
		LAU_FD_KINDS(X)
#undef X
	};
	bool has[LAU_FD_KINDS_COUNT] = {false};

	for (size_t i = 0; i < NROWS; i++) {
		has[rows[i].kind] = true;
		printf("%s %s\n", rows[i].name, fates[rows[i].kind]);
	}
	for (size_t k = 0; k < LAU_FD_KINDS_COUNT; k++)
		if (!has[k])
			return fprintf(stderr, "no row of kind %zu\n", k), 2;
	return 0;
}

static int give(const struct row *row, int number, char **command)
{
	int fd = row->give();

	if (fd < 0)
		return perror(row->name), SKIP;
	if (fd != number && (dup2(fd, number) < 0 || close(fd) < 0))
		return perror("dup2"), 2;
	if (lau_fd_kind(number) != row->kind) {
		fprintf(stderr, "%s: taken for %s\n", row->name,
			lau_fd_kind_name(lau_fd_kind(number)));
		return 2;
	}
	execv(command[0], command);
	return perror(command[0]), 2;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc < 5)
		return 2;
	st_base(argv[1]);
	for (size_t i = 0; i < NROWS; i++) {
		if (strcmp(rows[i].name, argv[3]) != 0)
			continue;
		if (!strcmp(argv[2], "give") && argc > 5)
			return give(&rows[i], atoi(argv[4]), argv + 5);
		if (rows[i].use(atoi(argv[4])) == 0)
			return 0;
		perror(rows[i].name);
		return 1;
	}
	return 2;
}
