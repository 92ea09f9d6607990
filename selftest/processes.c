/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - attacks on a process outside, of the same user, and on its sockets. */
#include "selftest/probes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- signals, tracing -- */

static int p_kill(void)
{
	return kill(st_outside()->pid, SIGUSR1);
}
static int p_tgkill(void)
{
	return (int)syscall(SYS_tgkill, st_outside()->pid, st_outside()->pid, SIGUSR1);
}
static int p_sigqueue(void)
{
	return sigqueue(st_outside()->pid, SIGUSR1, (union sigval){0});
}
static int p_pidfd_signal(void)
{
	int fd = (int)syscall(SYS_pidfd_open, st_outside()->pid, 0);

	return fd < 0 ? -1 : (int)syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0);
}
static int p_owner(void)
{
	int fds[2];

	/* SIGIO by the kernel on our behalf */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
	    fcntl(fds[0], F_SETOWN, st_outside()->pid) < 0 ||
	    fcntl(fds[0], F_SETSIG, SIGUSR2) < 0 ||
	    fcntl(fds[0], F_SETFL, O_ASYNC | O_NONBLOCK) < 0 || write(fds[1], "x", 1) != 1)
		return -1;
	/* No error tells whether it arrived: the outside process says so in a file. */
	for (int i = 0; i < 30; i++) {
		if (access(st_at("run/sigusr2"), F_OK) == 0)
			return 0;
		usleep(2000);
	}
	errno = EPERM;
	return -1;
}
static int p_attach(void)
{
	pid_t pid = st_outside()->pid;

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
		return -1;
	waitpid(pid, NULL, __WALL);
	return (int)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}
static int p_seize(void)
{
	if (ptrace(PTRACE_SEIZE, st_outside()->pid, NULL, NULL) < 0)
		return -1;
	return 0; /* our exit detaches */
}
static int p_vm_read(void)
{
	char buf[sizeof ST_SECRET];
	struct iovec mine = {buf, sizeof buf}, theirs = {(void *)st_outside()->marker, sizeof buf};

	if (process_vm_readv(st_outside()->pid, &mine, 1, &theirs, 1, 0) < 0)
		return -1;
	return memcmp(buf, ST_SECRET, sizeof buf) ? -1 : 0;
}
static int p_steal_fd(void)
{
	int pid = (int)syscall(SYS_pidfd_open, st_outside()->pid, 0);

	if (pid < 0)
		return -1;
	return st_reads_secret((int)syscall(SYS_pidfd_getfd, pid, st_outside()->secret_fd, 0));
}

/* -- /proc of the outside process -- */

static const char *proc(const char *name)
{
	static char path[700];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)st_outside()->pid, name);
	return path;
}
static int open_proc(const char *name, int flags)
{
	return open(proc(name), flags | O_CLOEXEC);
}
static int p_environ(void)
{
	return st_reads_secret(open_proc("environ", O_RDONLY));
}
static int p_maps(void)
{
	char c;
	int fd = open_proc("maps", O_RDONLY);

	return fd < 0 || read(fd, &c, 1) < 0 ? -1 : 0;
}
static int p_mem(void)
{
	char buf[sizeof ST_SECRET] = "";
	int fd = open_proc("mem", O_RDONLY);

	if (fd < 0 || pread(fd, buf, sizeof buf, (off_t)st_outside()->marker) < 0)
		return -1;
	return memcmp(buf, ST_SECRET, sizeof buf) ? -1 : 0;
}
static int p_auxv(void)
{
	char c;
	int fd = open_proc("auxv", O_RDONLY);

	return fd < 0 || read(fd, &c, 1) < 0 ? -1 : 0;
}
static int p_root(void)
{
	char name[600];

	snprintf(name, sizeof name, "root%s", st_at("home/.ssh/id"));
	return st_reads_secret(open_proc(name, O_RDONLY));
}
static int p_cwd(void) /* the outside process stands in DIR/home/.ssh */
{
	return st_reads_secret(open_proc("cwd/id", O_RDONLY));
}
static int p_fd(void)
{
	char name[32];

	snprintf(name, sizeof name, "fd/%d", st_outside()->secret_fd);
	return st_reads_secret(open_proc(name, O_RDONLY));
}
static int p_oom(void)
{
	return open_proc("oom_score_adj", O_WRONLY) < 0 ? -1 : 0;
}

/* -- limits and priorities -- */

static int p_prlimit(void)
{
	struct rlimit lim;

	if (prlimit(st_outside()->pid, RLIMIT_NOFILE, NULL, &lim) < 0)
		return -1;
	lim.rlim_cur--;
	return prlimit(st_outside()->pid, RLIMIT_NOFILE, &lim, NULL);
}
static int p_nice(void)
{
	int now = getpriority(PRIO_PROCESS, (id_t)st_outside()->pid);

	return setpriority(PRIO_PROCESS, (id_t)st_outside()->pid, now < 19 ? now + 1 : 19);
}
/* root's too is refused what an ordinary user is: to raise a priority. */
static int drop_nice(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &head, caps) < 0)
		return -1;
	caps[CAP_TO_INDEX(CAP_SYS_NICE)].effective &= ~CAP_TO_MASK(CAP_SYS_NICE);
	return (int)syscall(SYS_capset, &head, caps);
}
/* All processes of our own user (0), which is the outside's, get the highest priority that one of
 * them has. No lower one: they would keep it for good. Those that have it stay as they are; the
 * kernel's EACCES says of the first of the others that the call had reached it. */
static int p_nice_user(void)
{
	if (drop_nice() < 0)
		return -1;
	return setpriority(PRIO_USER, 0, getpriority(PRIO_USER, 0)) < 0 && errno != EACCES ? -1 : 0;
}
static int p_affinity(void)
{
	cpu_set_t set;

	if (sched_getaffinity(st_outside()->pid, sizeof set, &set) < 0)
		return -1;
	return sched_setaffinity(st_outside()->pid, sizeof set, &set);
}
static int p_scheduler(void)
{
	const struct sched_param param = {0};

	return sched_setscheduler(st_outside()->pid, SCHED_BATCH, &param);
}
static int p_ioprio(void)
{
	return (int)syscall(SYS_ioprio_set, 1, st_outside()->pid, 2 << 13 | 7);
}

/* -- Unix sockets -- */

static socklen_t unix_address(struct sockaddr_un *sa, const char *path)
{
	*sa = (struct sockaddr_un){.sun_family = AF_UNIX};
	strncpy(sa->sun_path, path, sizeof sa->sun_path - 1);
	return sizeof *sa;
}

/* The service greets whoever connects. */
static int greeted(int fd, const struct sockaddr *sa, socklen_t len)
{
	const struct timeval wait = {.tv_usec = 400000};
	char c;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	if (connect(fd, sa, len) < 0)
		return -1;
	/* A datagram service has to be spoken to first; a stream may have closed by now. */
	(void)send(fd, "?", 1, MSG_NOSIGNAL);
	return read(fd, &c, 1) == 1 ? 0 : -1;
}
static int connect_unix(const char *path, int type)
{
	struct sockaddr_un sa;
	socklen_t len = unix_address(&sa, path);

	return greeted(socket(AF_UNIX, type | SOCK_CLOEXEC, 0), (struct sockaddr *)&sa, len);
}
static int u_container(void)
{
	return connect_unix(st_at("run/container.sock"), SOCK_STREAM);
}
static int u_agent(void)
{
	return connect_unix(st_at("home/.ssh/agent.sock"), SOCK_STREAM);
}
static int u_symlink(void)
{
	if (symlink(st_at("run/container.sock"), st_at("ws/sock")) < 0)
		return -1;
	return connect_unix(st_at("ws/sock"), SOCK_STREAM);
}
static int u_abstract(void)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int n = snprintf(sa.sun_path + 1, sizeof sa.sun_path - 1, "sbx-escape-%d",
			 (int)st_outside()->pid);

	return greeted(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&sa,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));
}
static int send_to(int fd)
{
	struct sockaddr_un sa;
	socklen_t len = unix_address(&sa, st_at("run/datagram.sock"));

	if (fd < 0)
		return -1;
	return sendto(fd, "x", 1, 0, (struct sockaddr *)&sa, len) == 1 ? 0 : -1;
}
static int u_datagram(void)
{
	return send_to(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}
/* What has come to the other end of the pair has not gone to the service. */
static int u_pair(int type, int (*send)(int fd))
{
	int fds[2];
	char c;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) < 0 || send(fds[0]) < 0)
		return -1;
	if (recv(fds[1], &c, 1, MSG_DONTWAIT) < 0)
		return 0;
	errno = EACCES;
	return -1;
}
static int send_message(int fd)
{
	struct sockaddr_un sa;
	struct iovec iov = {(char[]){'x'}, 1};
	struct msghdr msg = {.msg_name = &sa,
			     .msg_namelen = unix_address(&sa, st_at("run/datagram.sock")),
			     .msg_iov = &iov,
			     .msg_iovlen = 1};

	return sendmsg(fd, &msg, 0) == 1 ? 0 : -1;
}
static int send_connected(int fd)
{
	struct sockaddr_un sa;
	socklen_t len = unix_address(&sa, st_at("run/datagram.sock"));

	return connect(fd, (struct sockaddr *)&sa, len) < 0 ? -1
	       : send(fd, "x", 1, 0) == 1		    ? 0
							    : -1;
}
static int u_datagram_pair(void)
{
	return u_pair(SOCK_DGRAM, send_to);
}
static int u_datagram_pair_message(void)
{
	return u_pair(SOCK_DGRAM, send_message);
}
static int u_datagram_pair_connected(void)
{
	return u_pair(SOCK_DGRAM, send_connected);
}
static int u_raw_pair(void)
{
	return u_pair(SOCK_RAW, send_to);
}
static int u_bind(void)
{
	struct sockaddr_un sa;
	socklen_t len = unix_address(&sa, st_at("out/s"));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -1 : bind(fd, (struct sockaddr *)&sa, len);
}

/* -- network -- */

static int inet_service(int type, int port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};

	return greeted(socket(AF_INET, type | SOCK_CLOEXEC, 0), (struct sockaddr *)&sa, sizeof sa);
}
static int n_tcp(void)
{
	return inet_service(SOCK_STREAM, st_outside()->tcp);
}
static int n_udp(void)
{
	return inet_service(SOCK_DGRAM, st_outside()->udp);
}
static int n_mptcp(void)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)st_outside()->tcp),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};

	return greeted(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 262), (struct sockaddr *)&sa,
		       sizeof sa);
}

const struct st_probe st_process_probes[] = {
	{"signal-kill", p_kill, 0},
	{"signal-tgkill", p_tgkill, 0},
	{"signal-sigqueue", p_sigqueue, 0},
	{"signal-pidfd", p_pidfd_signal, 0},
	{"signal-fowner", p_owner, 0},
	{"trace-attach", p_attach, ST_NEEDS_HOST},
	{"trace-seize", p_seize, ST_NEEDS_HOST},
	{"trace-vm-read", p_vm_read, ST_NEEDS_HOST},
	{"trace-steal-descriptor", p_steal_fd, ST_NEEDS_HOST},
	{"proc-environ", p_environ, 0},
	{"proc-maps", p_maps, 0},
	{"proc-mem", p_mem, ST_NEEDS_HOST},
	{"proc-auxv", p_auxv, 0},
	{"proc-root", p_root, 0},
	{"proc-cwd", p_cwd, 0},
	{"proc-descriptor", p_fd, 0},
	{"proc-oom-score", p_oom, 0},
	{"limit-prlimit", p_prlimit, 0},
	{"limit-nice", p_nice, 0},
	{"limit-nice-user", p_nice_user, 0},
	{"limit-affinity", p_affinity, 0},
	{"limit-scheduler", p_scheduler, 0},
	{"limit-io-priority", p_ioprio, 0},
	{"unix-container-socket", u_container, 0},
	{"unix-agent-socket", u_agent, 0},
	{"unix-symlinked-socket", u_symlink, 0},
	{"unix-abstract", u_abstract, 0},
	{"unix-datagram", u_datagram, 0},
	{"unix-datagram-pair", u_datagram_pair, 0},
	{"unix-datagram-pair-message", u_datagram_pair_message, 0},
	{"unix-datagram-pair-connected", u_datagram_pair_connected, 0},
	{"unix-raw-pair", u_raw_pair, 0},
	{"unix-bind-outside", u_bind, 0},
	{"net-tcp", n_tcp, 0},
	{"net-udp", n_udp, 0},
	{"net-mptcp", n_mptcp, ST_NEEDS_HOST},
	{NULL, NULL, 0},
};
