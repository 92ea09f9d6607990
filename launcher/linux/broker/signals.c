/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - signals to other processes, where Landlock does not scope them (below ABI 6).
 *
 * The broker sends them itself, by a pidfd that it has asked the process of: a number may pass to
 * a process outside between a look and the kernel's own. The kernel goes on with calls whose
 * number cannot pass on. */
#include "launcher/linux/broker/others.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define ALL_OF_RUN (-1) /* no group; 0 is one that a pid namespace has no number for */

#define PIDFD_SIGNAL_THREADS 3u /* PIDFD_SIGNAL_THREAD, _THREAD_GROUP: not a process group */

/* The kernel's rule for callers without CAP_KILL, also of those that have it; only where somebody
 * has changed its ids may two processes of a run differ. */
static bool is_of_same_user(const struct br_call *c, pid_t pid)
{
	struct br_ids me, it;

	if (!atomic_load(&c->b->mixed_creds))
		return true;
	if (br_ids_of(c, (pid_t)c->n.pid, &me) < 0 || br_ids_of(c, pid, &it) < 0)
		return false;
	return me.euid == it.ruid || me.euid == it.suid || me.ruid == it.ruid || me.ruid == it.suid;
}

static bool may_signal(const struct br_call *c, pid_t pid)
{
	return br_is_of_run(c, pid) && is_of_same_user(c, pid);
}

bool br_has_own_numbers(const struct br_call *c)
{
	char name[32], its[64], ours[64];
	ssize_t n, m;

	snprintf(name, sizeof name, "%d/ns/pid", (int)c->n.pid);
	n = readlinkat(c->b->proc, name, its, sizeof its);
	m = readlinkat(c->b->proc, "self/ns/pid", ours, sizeof ours);
	return n > 0 && m > 0 && (n != m || memcmp(its, ours, (size_t)n) != 0);
}

static struct br_answer proceed(const struct br_call *c)
{
	return br_is_alive(c) ? br_proceed(c, BR_PROCEED_SIGNAL) : br_fail(EINTR);
}

/* The process is checked after its pidfd was opened: if its number was reused meanwhile, the signal
 * reaches no process. */
static struct br_answer send_by(struct br_call *c, int pidfd, pid_t pid, int sig,
				const siginfo_t *info, unsigned flags)
{
	if (!may_signal(c, pid))
		return br_refuse_process(c, pid, "stat");
	if (!br_is_alive(c))
		return br_fail(EINTR);
	return br_result(syscall(SYS_pidfd_send_signal, pidfd, sig, info, flags));
}

static struct br_answer send_to(struct br_call *c, pid_t asked, int sig, const siginfo_t *info)
{
	pid_t pid = br_process_of(c, asked);
	b_auto_fd int pidfd = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	return pidfd < 0 ? br_fail(ESRCH) : send_by(c, pidfd, pid, sig, info, 0);
}

static bool is_in_group(struct br_call *c, pid_t pid, pid_t group)
{
	if (group == ALL_OF_RUN)
		return pid != br_tgid(c) && br_is_of_run(c, pid);
	return syscall(SYS_getpgid, pid) == group;
}

/* One at a time: a process that is made meanwhile may be missed. As the kernel does, those that
 * may not be signalled are left out, unless there is no other. */
static struct br_answer send_to_group(struct br_call *c, pid_t group)
{
	int dir = openat(c->b->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = dir < 0 ? NULL : fdopendir(dir);
	struct br_answer best = br_fail(ESRCH), a;
	unsigned long long pid;
	pid_t outside = 0;
	struct dirent *e;

	while (list && (e = readdir(list))) {
		if (b_parse_u64(e->d_name, INT_MAX, &pid) < 0 || !is_in_group(c, (pid_t)pid, group))
			continue;
		if (!may_signal(c, (pid_t)pid)) {
			outside = (pid_t)pid;
			continue;
		}
		a = send_to(c, (pid_t)pid, (int)br_arg(c, 1), NULL);
		if (best.kind == BR_KIND_ERROR)
			best = a;
	}
	if (list)
		closedir(list);
	else if (dir >= 0)
		close(dir);
	return best.kind == BR_KIND_ERROR && outside ? br_refuse_process(c, outside, "stat") : best;
}

struct br_answer br_kill(struct br_call *c)
{
	pid_t pid = (pid_t)br_arg(c, 0), group;

	if (pid == 0) {
		group = (pid_t)syscall(SYS_getpgid, (pid_t)c->n.pid);
		return group < 0 ? br_fail(ESRCH) : send_to_group(c, group);
	}
	if (br_has_own_numbers(c))
		return proceed(c);
	if (pid == -1)
		return send_to_group(c, ALL_OF_RUN);
	if (pid < 0)
		return pid == INT_MIN ? br_fail(ESRCH) : send_to_group(c, -pid);
	return send_to(c, pid, (int)br_arg(c, 1), NULL);
}

/* One thread of another process: only where a pidfd can be of a thread (Linux 6.9). */
static struct br_answer send_to_thread(struct br_call *c, pid_t pid, pid_t tid, int sig,
				       const siginfo_t *info)
{
	b_auto_fd int pidfd = (int)syscall(SYS_pidfd_open, tid, BR_PIDFD_OF_THREAD);

	if (!pid || br_process_of(c, tid) != pid)
		return br_fail(ESRCH);
	return pidfd < 0 ? br_refuse_process(c, pid, "stat") : send_by(c, pidfd, pid, sig, info, 0);
}

struct br_answer br_tgkill(struct br_call *c)
{
	pid_t pid = (pid_t)br_arg(c, 0);

	if (pid <= 0 || (pid_t)br_arg(c, 1) <= 0)
		return br_fail(EINVAL);
	/* the number of a process that lives */
	if (pid == br_tgid(c) || br_has_own_numbers(c))
		return proceed(c);
	return send_to_thread(c, pid, (pid_t)br_arg(c, 1), (int)br_arg(c, 2), NULL);
}

/* The broker names the process, too, which tkill(2) does not. */
struct br_answer br_tkill(struct br_call *c)
{
	pid_t tid = (pid_t)br_arg(c, 0);

	if (tid <= 0)
		return br_fail(EINVAL);
	if (br_has_own_numbers(c))
		return proceed(c);
	if (br_process_of(c, tid) != br_tgid(c))
		return send_to_thread(c, br_process_of(c, tid), tid, (int)br_arg(c, 1), NULL);
	return br_is_alive(c) ? br_result(syscall(SYS_tgkill, br_tgid(c), tid, (int)br_arg(c, 1)))
			      : br_fail(EINTR);
}

/* Copies from the caller's memory what the kernel would copy: 0 or an errno. */
static int read_info(struct br_call *c, uint64_t addr, siginfo_t *info)
{
	int rc = br_read(c, addr, info, sizeof *info);

	return rc == BR_UNREADABLE ? EPERM : -rc;
}

struct br_answer br_sigqueue(struct br_call *c)
{
	bool is_of_thread = c->row->nr == SYS_rt_tgsigqueueinfo;
	pid_t pid = (pid_t)br_arg(c, 0);
	int sig = (int)br_arg(c, is_of_thread ? 2 : 1), err;
	siginfo_t info;

	if (pid <= 0)
		return br_fail(is_of_thread ? EINVAL : ESRCH);
	if (pid == br_tgid(c) || br_has_own_numbers(c))
		return proceed(c);
	err = read_info(c, br_arg(c, is_of_thread ? 3 : 2), &info);
	if (err)
		return br_fail(err);
	info.si_signo = sig; /* as the kernel does */
	return is_of_thread ? send_to_thread(c, pid, (pid_t)br_arg(c, 1), sig, &info)
			    : send_to(c, pid, sig, &info);
}

/* The process of a pidfd; 0: it is not a pidfd, or its process was reaped. */
static pid_t pid_of(const struct br_call *c, int pidfd)
{
	char name[48], text[1024];
	const char *at;

	snprintf(name, sizeof name, "self/fdinfo/%d", pidfd);
	if (br_read_proc(c, name, text, sizeof text) < 0)
		return 0;
	at = strstr(text, "\nPid:\t");
	return at && at[6] != '-' ? (pid_t)strtol(at + 6, NULL, 10) : 0;
}

struct br_answer br_pidfd_signal(struct br_call *c)
{
	b_auto_fd int pidfd = br_take_fd(c, (pid_t)c->n.pid, (int)br_arg(c, 0));
	unsigned flags = (unsigned)br_arg(c, 3);
	int sig = (int)br_arg(c, 1), err;
	pid_t pid = pidfd < 0 ? 0 : pid_of(c, pidfd);
	siginfo_t info;

	if (flags & ~PIDFD_SIGNAL_THREADS)
		return br_fail(EINVAL);
	if (pidfd < 0)
		return br_fail(pidfd == -EACCES ? EPERM : -pidfd);
	if (!pid)
		return br_fail(ESRCH);
	if (!br_arg(c, 2))
		return send_by(c, pidfd, pid, sig, NULL, flags);
	err = read_info(c, br_arg(c, 2), &info);
	return err ? br_fail(err) : send_by(c, pidfd, pid, sig, &info, flags);
}
