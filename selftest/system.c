/* SPDX-License-Identifier: Apache-2.0 */
/* system.c - attacks by namespaces, mounts, the terminal, other call tables, the kernel itself. */
#include "selftest/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int s_user_ns(void)
{
	return unshare(CLONE_NEWUSER);
}
static int s_mount_ns(void)
{
	return unshare(CLONE_NEWNS);
}
static int s_user_mount_ns(void)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNS);
}
static int reap(long pid)
{
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return -1;
	waitpid((pid_t)pid, NULL, __WALL);
	return 0;
}
static int s_clone_ns(void)
{
	return reap(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}
static int s_clone3_ns(void)
{
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};

	return reap(syscall(SYS_clone3, &args, sizeof args));
}
static int s_setns(void)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : setns(fd, 0);
}
static int s_mount(void)
{
	/* in a namespace of its own, so that the bare run leaves nothing behind */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return mount("none", st_at("ws"), "tmpfs", 0, NULL);
}
static int s_bind_mount(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -1;
	return mount(st_at("out"), st_at("ws"), NULL, MS_BIND, NULL);
}
static int s_fsopen(void)
{
	return syscall(SYS_fsopen, "tmpfs", 0) < 0 ? -1 : 0;
}
static int s_chroot(void)
{
	return chroot(st_at("ws"));
}

static int t_sti(void)
{
	return ioctl(0, TIOCSTI, "#");
}
static int t_sti_high_bits(void)
{
	return (int)syscall(SYS_ioctl, 0, UINT64_C(1) << 32 | TIOCSTI, "#");
}

static int a_x32(void)
{
#ifdef __x86_64__
	return syscall(0x40000000 | 39) < 0 ? -1 : 0; /* getpid */
#else
	errno = ENOSYS;
	return -1;
#endif
}
static int a_int80(void)
{
#ifdef __x86_64__
	long rc = 20; /* getpid in the table of i386 */

	__asm__ volatile("int $0x80" : "+a"(rc) : : "memory", "r8", "r9", "r10", "r11");
	return rc == getpid() ? 0 : -1;
#else
	errno = ENOSYS;
	return -1;
#endif
}

/* On tmpfs, as the run's ring is. */
static int r_punch_hole(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 8192) < 0)
		return -1;
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
}
/* The same by an ioctl that every file system has. */
static int r_punch_hole_ioctl(void)
{
	struct {
		short type, whence;
		long long start, len;
		int sysid;
		unsigned pid;
		int pad[4];
	} range = {.len = 4096};
	int fd = memfd_create("ring", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 8192) < 0)
		return -1;
	return ioctl(fd, _IOW('X', 43, range), &range); /* FS_IOC_UNRESVSP64 */
}
static int n_kind_of_namespace(void)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	return fd < 0 || ioctl(fd, _IO(0xb7, 3)) < 0 ? -1 : 0; /* NS_GET_NSTYPE */
}
/* By a descriptor of a process of its own, the namespace that it is in: one to be entered. */
static int n_namespace_of_process(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return fd < 0 || ioctl(fd, _IO(0xff, 9), 0) < 0 ? -1 : 0; /* PIDFD_GET_USER_NAMESPACE */
}
static int r_madv_remove(void)
{
	void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -1 : madvise(p, 8192, MADV_REMOVE);
}

static int k_io_uring(void)
{
	struct io_uring_params params = {0};

	return syscall(SYS_io_uring_setup, 4, &params) < 0 ? -1 : 0;
}
static int k_add_key(void)
{
	return syscall(SYS_add_key, "user", "sbx-escape", "x", 1, -2 /* process keyring */) < 0 ? -1
												: 0;
}
static int k_session_keyring(void)
{
	return syscall(SYS_keyctl, 0, -3, 1) < 0 ? -1 : 0; /* GET_KEYRING_ID of the session */
}
static int k_bpf(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr) < 0 ? -1 : 0;
}
static int k_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof attr,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .exclude_kernel = 1};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0 ? -1 : 0;
}
static int k_userfaultfd(void)
{
	return syscall(SYS_userfaultfd, 1 /* user mode only */) < 0 ? -1 : 0;
}
static int k_no_randomize(void)
{
	return personality(ADDR_NO_RANDOMIZE) < 0 ? -1 : 0;
}
static int k_sysctl(void)
{
	return open("/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC) < 0 ? -1 : 0;
}
static int k_cgroup(void)
{
	int fd = open("/sys/fs/cgroup/cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		fd = open("/sys/fs/cgroup/unified/cgroup.procs", O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -1 : 0;
}
static int k_raw_disk(void)
{
	static const char *const disks[] = {"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/xvda",
					    "/dev/loop0"};
	char c;

	for (size_t i = 0; i < sizeof disks / sizeof *disks; i++) {
		int fd = open(disks[i], O_RDONLY | O_CLOEXEC);

		if (fd >= 0)
			return read(fd, &c, 1) < 0 ? -1 : 0;
		if (errno != ENOENT && errno != ENXIO)
			return -1;
	}
	return -1;
}
static int k_kernel_log(void)
{
	return (int)syscall(SYS_syslog, 10 /* size of the buffer */, NULL, 0) < 0 ? -1 : 0;
}
static int k_hostname(void)
{
	char name[256];

	if (gethostname(name, sizeof name) < 0)
		return -1;
	return sethostname(name, strlen(name));
}
static int k_packet_socket(void)
{
	return syscall(SYS_socket, 17 /* AF_PACKET */, 3, 0) < 0 ? -1 : 0;
}
static int k_vsock(void)
{
	return syscall(SYS_socket, 40 /* AF_VSOCK */, 1, 0) < 0 ? -1 : 0;
}
static int k_netlink_audit(void)
{
	return syscall(SYS_socket, 16 /* AF_NETLINK */, 3, 9) < 0 ? -1 : 0;
}
static int k_new_privs(void)
{
	errno = EPERM;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : -1;
}
static int k_shared_memory(void) /* made by the outside process */
{
	int id = shmget((key_t)(0x5b780000 | (st_outside()->pid & 0xffff)), 0, 0);

	return id < 0 || shmat(id, NULL, 0) == (void *)-1 ? -1 : 0;
}

const struct st_probe st_system_probes[] = {
	{"namespace-user", s_user_ns, ST_NEEDS_HOST},
	{"namespace-user-mount", s_user_mount_ns, ST_NEEDS_HOST},
	{"namespace-clone", s_clone_ns, ST_NEEDS_HOST},
	{"namespace-clone3", s_clone3_ns, ST_NEEDS_HOST},
	{"namespace-mount", s_mount_ns, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"namespace-setns", s_setns, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"mount-tmpfs", s_mount, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"mount-bind", s_bind_mount, ST_NEEDS_HOST},
	{"mount-fsopen", s_fsopen, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"mount-chroot", s_chroot, ST_NEEDS_ROOT},
	{"terminal-sti", t_sti, ST_NEEDS_TTY | ST_NEEDS_HOST},
	{"terminal-sti-high-bits", t_sti_high_bits, ST_NEEDS_TTY | ST_NEEDS_HOST},
	{"abi-x32", a_x32, ST_NEEDS_HOST},
	{"abi-int80", a_int80, ST_NEEDS_HOST},
	{"ring-punch-hole", r_punch_hole, 0},
	{"ring-punch-hole-ioctl", r_punch_hole_ioctl, 0},
	{"ring-madv-remove", r_madv_remove, 0},
	{"ioctl-namespace-kind", n_kind_of_namespace, ST_NEEDS_HOST},
	{"ioctl-namespace-of-process", n_namespace_of_process, ST_NEEDS_HOST},
	{"kernel-io-uring", k_io_uring, ST_NEEDS_HOST},
	{"kernel-add-key", k_add_key, ST_NEEDS_HOST},
	{"kernel-session-keyring", k_session_keyring, ST_NEEDS_HOST},
	{"kernel-bpf", k_bpf, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"kernel-perf", k_perf, ST_NEEDS_HOST},
	{"kernel-userfaultfd", k_userfaultfd, ST_NEEDS_HOST},
	{"kernel-no-randomize", k_no_randomize, ST_NEEDS_HOST},
	{"kernel-sysctl", k_sysctl, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"kernel-cgroup", k_cgroup, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"kernel-raw-disk", k_raw_disk, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"kernel-log", k_kernel_log, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"kernel-hostname", k_hostname, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"socket-packet", k_packet_socket, ST_NEEDS_ROOT | ST_NEEDS_HOST},
	{"socket-vsock", k_vsock, ST_NEEDS_HOST},
	{"socket-netlink-audit", k_netlink_audit, ST_NEEDS_HOST},
	{"privileges-gainable", k_new_privs, 0},
	{"shared-memory-sysv", k_shared_memory, 0},
	{NULL, NULL, 0},
};
