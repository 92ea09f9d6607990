/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.c - what holds sbx-egress itself, for it reads bytes of the command and of the world.
 * If a right cannot be given up, or still works afterwards, that is an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <nss.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "egress/egress_priv.h"

/* ---- files ---- */

/* Read by getaddrinfo(3). One that is replaced while the run lasts is not found any more. */
static const char *const readable[] = {
	"/etc/resolv.conf", "/etc/hosts",    "/etc/nsswitch.conf",
	"/etc/host.conf",   "/etc/gai.conf", "/etc/services",
};

/* include/uapi/linux/landlock.h: all that each ABI knows; newer than the headers of Debian 12. */
static const uint64_t fs_of_abi[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
#define FS_ABIS	   (sizeof fs_of_abi / sizeof *fs_of_abi)
#define ABI_SCOPES 6
#define SCOPES	   3u /* abstract Unix sockets, signals */

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

static int allow_reading(int ruleset, const char *path)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE};
	b_auto_fd int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return 0; /* there is none, and getaddrinfo(3) does without */
	rule.parent_fd = fd;
	return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int close_files(struct b_err *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset_attr attr = {0};
	b_auto_fd int ruleset = -1;

	if (abi < 1)
		return b_fail(err, B_FLOOR, errno, "landlock: %s: rules on endpoints need it",
			      strerror(errno));
	attr.fs = fs_of_abi[(size_t)abi < FS_ABIS ? (size_t)abi : FS_ABIS - 1];
	attr.scoped = abi >= ABI_SCOPES ? SCOPES : 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr,
			       attr.scoped ? sizeof attr : sizeof attr.fs, 0);
	if (ruleset < 0)
		return b_fail(err, B_FLOOR, errno, "landlock: %s", strerror(errno));
	for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
		if (allow_reading(ruleset, readable[i]) < 0)
			return b_fail(err, B_FLOOR, errno, "landlock: %s: %s", readable[i],
				      strerror(errno));
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return b_fail(err, B_FLOOR, errno, "landlock: %s", strerror(errno));
	return 0;
}

/* ---- calls ---- */

static const int permitted[] = {
	/* the loop */
	SYS_read,
	SYS_write,
	SYS_close,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_splice,
	SYS_pipe2,
	SYS_fcntl,
	SYS_accept4,
	SYS_connect,
	SYS_shutdown,
	SYS_getsockname,
	SYS_getpeername,
	SYS_getsockopt,
	SYS_setsockopt,
	SYS_sendto,
	SYS_sendmsg,
	SYS_sendmmsg,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_bind,
	SYS_ioctl,
	SYS_eventfd2,
	/* threads, memory, time */
	SYS_futex,
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_madvise,
	SYS_mremap,
	SYS_brk,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_getrandom,
	SYS_gettid,
	SYS_getpid,
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_sched_yield,
	SYS_exit,
	SYS_exit_group,
	SYS_ppoll,
	SYS_uname,
	SYS_writev,
	/* files of names: Landlock says which */
	SYS_openat,
	SYS_fstat,
	SYS_newfstatat,
	SYS_lseek,
#ifdef SYS_open
	SYS_epoll_wait,
	SYS_poll,
	SYS_stat,
	SYS_open,
#endif
};
#define NPERMITTED (sizeof permitted / sizeof *permitted)

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no filter for this machine yet"
#endif

#define STMT(code, k)	      ((struct sock_filter)BPF_STMT((code), (k)))
#define JUMP(code, k, jt, jf) ((struct sock_filter)BPF_JUMP((code), (k), (jt), (jf)))
#define LOAD(field)	      STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define THREAD_FLAGS	      (CLONE_VM | CLONE_THREAD)

/* x32's numbers are none of the list. Threads by clone(2), whose flags can be seen, no process. */
static size_t make_filter(struct sock_filter *p)
{
	size_t n = 0;

	p[n++] = LOAD(arch);
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
	p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	p[n++] = LOAD(nr);
	for (size_t i = 0; i < NPERMITTED; i++) {
		p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)permitted[i], 0, 1);
		p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	/* Unix sockets would lead to services of the host (nscd(8)) */
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4);
	p[n++] = LOAD(args[0]);
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1);
	p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES);
	p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
	p[n++] = LOAD(args[0]);
	p[n++] = STMT(BPF_ALU | BPF_AND | BPF_K, THREAD_FLAGS);
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, THREAD_FLAGS, 0, 1);
	p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	return n;
}

static int close_calls(struct b_err *err)
{
	struct sock_filter insn[2 * NPERMITTED + 20];
	struct sock_fprog prog = {.filter = insn};

	prog.len = (unsigned short)make_filter(insn);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return b_fail(err, B_FLOOR, errno, "seccomp: %s", strerror(errno));
	return 0;
}

/* ---- the rest ---- */

static int drop_caps(struct b_err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {0};

	if (syscall(SYS_capset, &head, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return b_fail(err, B_FLOOR, errno, "capabilities: %s", strerror(errno));
	return 0;
}

/* Each of these must fail now. */
static int try_all(struct b_err *err)
{
	char *const argv[] = {NULL};
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 || errno != EACCES)
		return b_fail(err, B_FLOOR, 0, "landlock: files can still be opened");
	execve("/", argv, argv);
	if (errno != ENOSYS || syscall(SYS_ptrace, 0, 0, 0, 0) == 0 || errno != ENOSYS)
		return b_fail(err, B_FLOOR, 0, "seccomp: calls are not refused");
	return 0;
}

/* What is looked up is what /etc/hosts and name servers say: other services of nsswitch.conf(5) are
 * libraries and sockets, which are out of reach from here on. */
int egr_confine(struct b_err *err)
{
	const struct rlimit no_core = {0, 0};

	(void)__nss_configure_lookup("hosts", "files dns");
	(void)setrlimit(RLIMIT_CORE, &no_core);
	if (drop_caps(err) < 0 || close_files(err) < 0 || close_calls(err) < 0)
		return -1;
	return try_all(err);
}
