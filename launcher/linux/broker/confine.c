/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.c - the broker confines itself.
 *
 * Landlock before the target is forked: the target's domain is then inside the broker's, so that
 * the broker may inspect it. Capabilities and the filter after: the target must not inherit them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/remedy.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/names.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/report/host.h"
#include "launcher/run/confine.h"

#define CAP(c) (UINT64_C(1) << (c))

/* Of the capabilities a caller may have, those that matter for what is done in its name. */
uint64_t br_file_caps(void)
{
	return CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_DAC_READ_SEARCH) | CAP(CAP_FOWNER) |
	       CAP(CAP_FSETID) | CAP(CAP_SETFCAP) | CAP(CAP_NET_BIND_SERVICE) |
	       CAP(CAP_SYS_RESOURCE);
}

/* To inspect callers with other credentials, and to assume those. */
uint64_t br_own_caps(void)
{
	return CAP(CAP_SYS_PTRACE) | CAP(CAP_SETUID) | CAP(CAP_SETGID);
}

static int set_caps(uint64_t effective, uint64_t permitted)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(permitted >> 32 * i);
		data[i].effective = data[i].permitted & (uint32_t)(effective >> 32 * i);
		data[i].inheritable = 0;
	}
	return (int)syscall(SYS_capset, &head, data);
}

int br_set_effective(uint64_t caps)
{
	return set_caps(caps, UINT64_MAX);
}

int br_set_trace(bool on)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	const uint32_t bit = (uint32_t)CAP(CAP_SYS_PTRACE);

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	data[0].effective = (data[0].effective & ~bit) | (on ? data[0].permitted & bit : 0);
	return (int)syscall(SYS_capset, &head, data);
}

int lau_broker_enter(const struct lau_broker_plan *plan, struct b_err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "broker: no_new_privs");
	br_find_terminals(plan); /* opened before the domain, which may deny them */
	if (plan->landlock_fd >= 0 && syscall(SYS_landlock_restrict_self, plan->landlock_fd, 0) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "broker: landlock");
	return 0;
}

/* ---- the filter: the broker cannot be made to call what it never calls ---- */

static const int permitted[] = {
	/* the loop */
	SYS_ioctl,
	SYS_read,
	SYS_pread64,
	SYS_write,
	SYS_close,
	SYS_futex,
	SYS_ppoll,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_getpid,
	SYS_gettid,
	SYS_tgkill,
	SYS_exit,
	SYS_exit_group,
	SYS_waitid,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_restart_syscall,
	SYS_clock_gettime,
	SYS_sched_yield,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_madvise,
	SYS_mremap,
	SYS_brk,
	SYS_getrandom,
	/* looking */
	SYS_openat,
	SYS_openat2,
	SYS_readlinkat,
	SYS_fstat,
	SYS_newfstatat,
	SYS_faccessat2,
	SYS_fstatfs,
	SYS_fcntl,
	SYS_getdents64,
	SYS_lseek,
	SYS_statx,
	/* acting */
	SYS_mkdirat,
	SYS_mknodat,
	SYS_unlinkat,
	SYS_renameat2,
	SYS_linkat,
	SYS_symlinkat,
	SYS_truncate,
	SYS_ftruncate,
	SYS_fchmodat,
	SYS_fchmodat2_nr,
	SYS_fchownat,
	SYS_utimensat,
	SYS_setxattr,
	SYS_getxattr,
	SYS_listxattr,
	SYS_removexattr,
	SYS_pidfd_open,
	SYS_pidfd_getfd,
	SYS_pidfd_send_signal,
	SYS_getpgid,
	SYS_prlimit64,
	SYS_sched_setaffinity,
	SYS_bind,
	SYS_connect,
	SYS_listen,
	SYS_getsockopt,
	SYS_socketpair,
	SYS_sendto, /* to sbx-egress, from it, and the end of writing to it */
	SYS_recvfrom,
	SYS_shutdown,
	SYS_chdir,
	/* as the caller */
	SYS_umask,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_setgroups,
	SYS_capget,
	SYS_capset,
#ifdef SYS_open
	SYS_open,
	SYS_poll,
	SYS_readlink,
	SYS_lstat,
	SYS_chmod,
#endif
};
#define NPERMITTED (sizeof permitted / sizeof *permitted)

#define STMT(code, k)	      ((struct sock_filter)BPF_STMT((code), (k)))
#define JUMP(code, k, jt, jf) ((struct sock_filter)BPF_JUMP((code), (k), (jt), (jf)))
#define THREAD_FLAGS	      (CLONE_VM | CLONE_THREAD)

/* Allows threads by clone(2), whose flags the filter sees, but no processes; unshare(2) only of the
 * working directory; and requests of ptrace(2) that neither read nor write memory (limits.c). */
static size_t special(struct sock_filter *p)
{
	size_t n = 0;

	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 3);
	p[n++] = STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, PTRACE_SEIZE, 0, 10);
	p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
	p[n++] = STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
	p[n++] = STMT(BPF_ALU | BPF_AND | BPF_K, THREAD_FLAGS);
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, THREAD_FLAGS, 0, 4);
	p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 3);
	p[n++] = STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
	p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLONE_FS, 0, 1);
	p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	return n;
}

static size_t make_filter(struct sock_filter *p)
{
	size_t n = 0;

	p[n++] = STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NPERMITTED; i++) {
		p[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)permitted[i], 0, 1);
		p[n++] = STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	return n + special(p + n);
}

/* Before any thread is made, so that all threads get it. */
int br_confine_threads(const struct lau_broker_plan *plan, struct b_err *err)
{
	uint64_t keep = plan->keep_caps & br_file_caps();
	struct sock_filter insn[2 * NPERMITTED + 16];
	struct sock_fprog prog = {.filter = insn};

	/* For anyone but root a user namespace may have given a full set. */
	if (geteuid() != 0)
		keep = 0;
	keep |= br_own_caps();
	if (set_caps(keep, keep) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "broker: capabilities");
	if (plan->no_filter)
		return 0;
	prog.len = (unsigned short)make_filter(insn);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "broker: seccomp");
	return 0;
}

/*
 * The command's first call: before it becomes its program, the broker shows that it can
 * look into it, act for it and answer it with a descriptor. What is remembered of this host may
 * have been tried under another filter (launcher/report/host.h), and a broker that cannot start
 * leaves the command with ENOSYS.
 */

/* What failed, as the value of the call: no number of a descriptor. */
#define REFUSED	     (1l << 30)
#define STEP_SHIFT   16
#define ACTING_SHIFT 12
#define ERRNO_MASK   0xfffl
#define ACTING_MASK  0xfl
#define STEP_MASK    0xffl

static struct br_answer refused(const struct lau_served *f)
{
	return br_value(REFUSED | (long)f->step << STEP_SHIFT | (long)f->acting << ACTING_SHIFT |
			(f->sys & ERRNO_MASK));
}

/* Answered once. Later callers are programs, and for them the kernel has no such option. The
 * descriptor may therefore be one of the broker's own: the command closes it at once. */
struct br_answer br_greet(struct br_call *c)
{
	struct seccomp_notif_addfd add = {
		.id = c->n.id, .srcfd = (unsigned)c->b->wake[0], .newfd_flags = O_CLOEXEC};
	struct lau_served f;
	int fd;

	if (atomic_exchange(&c->b->is_greeted, true))
		return br_fail(EINVAL);
	f = lau_serving_of((pid_t)c->n.pid, br_arg(c, 1));
	if (f.step != LAU_SERVE_DONE)
		return refused(&f);
	do
		fd = ioctl(c->b->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	while (fd < 0 && errno == EINTR);
	f = (struct lau_served){.step = LAU_SERVE_ANSWER, .sys = errno};
	return fd < 0 ? refused(&f) : br_value(fd);
}

/* execve(2) makes a process that forbade inspection (prctl(2), PR_SET_DUMPABLE) inspectable again.
 */
int lau_broker_greet(struct b_err *err)
{
	uint64_t words = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 ? lau_serving_words() : 0;
	long v = syscall(SYS_prctl, (long)LAU_GREETING, words, 0, 0, 0);
	struct lau_served f;

	if (v < 0 && errno == ENOSYS)
		return b_fail(err, B_FLOOR, errno, "the broker ended before the command began");
	if (v < 0)
		return b_fail(err, B_FLOOR, errno, "calls do not reach the broker: prctl(2): %s",
			      strerror(errno));
	if (!(v & REFUSED))
		return close((int)v) == 0
			       ? 0
			       : b_fail(err, B_FLOOR, errno, "the broker returned no descriptor");
	f = (struct lau_served){.step = (enum lau_serving_step)(v >> STEP_SHIFT & STEP_MASK),
				.acting = (int)(v >> ACTING_SHIFT & ACTING_MASK),
				.sys = (int)(v & ERRNO_MASK)};
	return lau_serving_refused(&f, err);
}

/* ---- in the target: a step of launcher/run/confine.h ---- */

/* The listener must not stay open in the processes that it serves, which could answer their own
 * calls. The ring is opened under the command's domain, without the right to truncate it. */
int lau_confine_trap(const struct lau_confine *c, struct b_err *err)
{
	int listener, rc, saved, ring;

	if (!c->trap)
		return 0;
	ring = c->ring ? open(c->ring, O_RDWR | O_CLOEXEC) : -1;
	listener = lau_broker_trap(c->trap, c->trap_len, err);
	if (listener < 0)
		return -1;
	rc = lau_fd_send(c->listener_to, listener);
	if (rc == 0 && ring >= 0)
		rc = lau_fd_send(c->listener_to, ring);
	saved = errno;
	close(listener);
	if (ring >= 0)
		close(ring);
	close(c->listener_to);
	if (rc < 0)
		return lau_serving_refused(
			&(struct lau_served){.step = LAU_SERVE_HANDING, .sys = saved}, err);
	return lau_broker_greet(err);
}
