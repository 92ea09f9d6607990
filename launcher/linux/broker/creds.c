/* SPDX-License-Identifier: Apache-2.0 */
/* creds.c - the caller's umask and credentials: what they are, and this thread under them. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"

/* ---- with the caller's credentials, and with the broker's again ---- */

/* Uses the system calls directly: the C library would change all threads. */
static int put_on(struct br_worker *w, const struct br_credentials *cr)
{
	if (syscall(SYS_setgroups, (long)cr->ngroups, cr->groups) < 0 && w->b->uid == 0)
		return -EACCES;
	w->is_other = true;
	syscall(SYS_setfsgid, (long)cr->gid);
	syscall(SYS_setfsuid, (long)cr->uid);
	/* setfsuid(2) reports no failure, only the old value: a second call returns what is set */
	if ((uid_t)syscall(SYS_setfsuid, -1L) != cr->uid ||
	    (gid_t)syscall(SYS_setfsgid, -1L) != cr->gid)
		return -EACCES;
	return br_set_effective((cr->caps & w->b->caps) | br_own_caps()) < 0 ? -EACCES : 0;
}

void br_become_self(struct br_worker *w)
{
	const struct br_credentials own = {.uid = w->b->uid, .gid = w->b->gid, .caps = w->b->caps};

	if (!w->is_other)
		return;
	/* The groups of the last caller stay set: each caller sets its own. */
	syscall(SYS_setfsuid, (long)own.uid);
	syscall(SYS_setfsgid, (long)own.gid);
	(void)br_set_effective(own.caps | br_own_caps());
	w->is_other = false;
}

/* A process that has changed its user is "undumpable": for other processes, its descriptors in
 * /proc belong to root. What the caller may do there, the broker does with its own credentials. */
int br_openat_as_self(struct br_call *c, int dir, const char *name, int flags)
{
	struct br_worker *w = c->w;
	const struct br_credentials caller = w->caller_creds;
	int fd, err;

	if (!w->is_other) {
		errno = EACCES;
		return -1;
	}
	br_become_self(w);
	fd = openat(dir, name, flags | O_CLOEXEC);
	err = fd < 0 ? errno : 0;
	if (put_on(w, &caller) < 0) {
		if (fd >= 0)
			close(fd);
		err = EACCES;
	}
	errno = err;
	return err ? -1 : fd;
}

/* Are these the descriptors of the caller, "/proc/1/fd", "/proc/1/task/2/fd", or of fdinfo? */
bool br_is_own_numbers(struct br_call *c, const char *path)
{
	int pid = 0, tid = 0, end = 0;

	if (sscanf(path, "/proc/%d/task/%d/fd%n", &pid, &tid, &end) != 2 || !end) {
		end = 0;
		if (sscanf(path, "/proc/%d/fd%n", &pid, &end) != 1 || !end)
			return false;
	}
	return pid == br_tgid(c) && (!path[end] || !strcmp(path + end, "info"));
}

/* ---- its umask and credentials ---- */

/* proc_pid_status(5), read in one go: one moment, and the kernel hands out as much as fits. */
static int read_status(struct br_call *c, char *buf, size_t size)
{
	int fd = br_open_at_task(c, "status", O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return fd;
	do
		n = read(fd, buf, size - 1);
	while (n < 0 && errno == EINTR);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	buf[n] = '\0';
	return 0;
}

static const char *field(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? at + strlen(name) : NULL;
}

static int note_status(struct br_call *c, const char *status)
{
	const char *tgid = field(status, "\nTgid:\t"), *umask_text = field(status, "\nUmask:\t");

	if (!tgid || !umask_text)
		return -ESRCH;
	c->task->tgid = (pid_t)strtol(tgid, NULL, 10);
	c->task->umask = (mode_t)strtol(umask_text, NULL, 8);
	return 0;
}

static int ask_status(struct br_call *c, char *status, size_t size)
{
	int rc = read_status(c, status, size);

	return rc < 0 ? rc : note_status(c, status);
}

pid_t br_tgid(struct br_call *c)
{
	char status[4096];

	if (br_task_find(c) < 0)
		return (pid_t)c->n.pid;
	if (!c->task->tgid && ask_status(c, status, sizeof status) < 0)
		return (pid_t)c->n.pid;
	return c->task->tgid;
}

static int parse_credentials(const char *status, struct br_credentials *out)
{
	const char *uid = field(status, "\nUid:\t"), *gid = field(status, "\nGid:\t"),
		   *groups = field(status, "\nGroups:\t"), *caps = field(status, "\nCapEff:\t");
	unsigned v[4];

	if (!uid || !gid || !groups || !caps ||
	    sscanf(uid, "%u %u %u %u", &v[0], &v[1], &v[2], &v[3]) != 4)
		return -EACCES;
	out->uid = v[3];
	if (sscanf(gid, "%u %u %u %u", &v[0], &v[1], &v[2], &v[3]) != 4)
		return -EACCES;
	out->gid = v[3];
	out->caps = strtoull(caps, NULL, 16);
	for (out->ngroups = 0; *groups && *groups != '\n';) {
		char *end;
		unsigned long g = strtoul(groups, &end, 10);

		if (end == groups)
			break;
		if (out->ngroups == (int)(sizeof out->groups / sizeof *out->groups))
			return -EACCES; /* not read completely: refuse the caller */
		out->groups[out->ngroups++] = (gid_t)g;
		groups = end + strspn(end, " ");
	}
	return 0;
}

/*
 * Credentials that are asked for at each call, and groups that are remembered.
 *
 * To read status is the dearest part of a call. Ids and capabilities are asked of the kernel at
 * each call all the same, in two system calls: execve(2) changes them, and no trap tells of that.
 * Groups have no such call. They change by setgroups(2) alone, which traps and counts creds_age.
 * What is left is that another thread takes the number over by execve(2): when the groups were read
 * the process had one thread, so that every later one has them, too, until a setgroups(2) is
 * counted.
 */

/* include/uapi/linux/pidfd.h of Linux 6.13, the first version of the struct. */
struct pidfd_creds {
	uint64_t mask, cgroupid;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define GET_PIDFD_CREDS _IOWR(0xff, 11, struct pidfd_creds)
#define HAS_CREDS	UINT64_C(2)

static void note_groups(struct br_task *t, const char *status, const struct br_credentials *cr,
			unsigned age)
{
	const char *threads = field(status, "\nThreads:\t");

	t->groups_age = threads && strtol(threads, NULL, 10) == 1 ? age : 0;
	t->ngroups = cr->ngroups;
	memcpy(t->groups, cr->groups, (size_t)cr->ngroups * sizeof *cr->groups);
}

static bool ask_kernel(const struct br_call *c, struct br_credentials *out)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3,
						.pid = (int)c->n.pid};
	struct pidfd_creds info = {.mask = HAS_CREDS};
	struct __user_cap_data_struct data[2];
	const struct br_task *t = c->task;

	if (t->groups_age != c->b->creds_age || t->pidfd < 0 ||
	    ioctl(t->pidfd, GET_PIDFD_CREDS, &info) < 0 || !(info.mask & HAS_CREDS) ||
	    syscall(SYS_capget, &head, data) < 0)
		return false;
	out->uid = info.fsuid;
	out->gid = info.fsgid;
	out->caps = data[0].effective | (uint64_t)data[1].effective << 32;
	out->ngroups = t->ngroups;
	memcpy(out->groups, t->groups, (size_t)t->ngroups * sizeof *t->groups);
	return true;
}

/* The capabilities of a namespace of its own are none over the host's files. */
static bool is_in_our_userns(struct br_call *c)
{
	char its[64], ours[64];
	ssize_t n = readlinkat(c->task->dir, "ns/user", its, sizeof its);

	return n > 0 && n == readlinkat(c->b->self_fd, "../ns/user", ours, sizeof ours) &&
	       memcmp(its, ours, (size_t)n) == 0;
}

/* Reads the credentials if they may differ from the broker's, and the umask into c->task if it is
 * needed. */
static int ask_caller(struct br_call *c, bool is_mixed, bool wants_umask,
		      struct br_credentials *out)
{
	bool is_known = !is_mixed || ask_kernel(c, out);
	unsigned age = c->b->creds_age; /* first: a call announced later makes this value stale */
	char status[8192];
	int rc;

	if (is_known && !wants_umask)
		return 0;
	rc = ask_status(c, status, sizeof status);
	if (rc < 0 || is_known)
		return rc;
	rc = parse_credentials(status, out);
	if (rc == 0)
		note_groups(c->task, status, out, age);
	return rc;
}

static int become(struct br_call *c, bool wants_umask)
{
	struct br_worker *w = c->w;
	struct br_credentials cr;
	bool is_mixed = c->b->mixed_creds;
	int rc = br_task_find(c);

	if (rc < 0)
		return rc;
	br_lock_fs(c);
	rc = ask_caller(c, is_mixed, wants_umask, &cr);
	if (rc < 0)
		return rc;
	if (wants_umask && (c->b->shares_fs || w->umask != c->task->umask)) {
		umask(c->task->umask);
		w->umask = c->task->umask;
	}
	if (!is_mixed)
		return 0;
	if (c->b->plan->foreign_roots && !is_in_our_userns(c))
		cr.caps = 0;
	w->caller_creds = cr;
	return put_on(w, &cr);
}

int br_become(struct br_call *c)
{
	return become(c, false);
}

/*
 * The umask is asked for at each call that makes something. What was read before proves nothing:
 * umask(2) takes effect at any time after it was announced, for whoever shares it (CLONE_FS), and a
 * thread with a umask of its own takes the number over by execve(2).
 */
int br_become_maker(struct br_call *c)
{
	return become(c, true);
}

/* The argument is in a register: nothing can be swapped, and the answer is the kernel's. */
struct br_answer br_umask(struct br_call *c)
{
	return br_proceed(c, BR_PROCEED_UMASK);
}

/* The ids that a call sets, as far as they are in registers; -1 leaves one as it is. */
static unsigned ids_of(int nr)
{
	switch (nr) {
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setfsuid:
	case SYS_setfsgid:
		return 1;
	case SYS_setreuid:
	case SYS_setregid:
		return 2;
	case SYS_setresuid:
	case SYS_setresgid:
		return 3;
	}
	return 0;
}

/* Whether the call changes nothing for a caller with the broker's credentials. make(1) lets each
 * child drop privileges that it never had. */
static bool changes_nothing(const struct br_call *c)
{
	unsigned n = ids_of(c->n.data.nr);

	/* in a user namespace the numbers are others */
	if (c->b->plan->foreign_roots || c->b->gid != c->b->uid)
		return false;
	for (unsigned i = 0; i < n; i++)
		if ((uid_t)br_arg(c, i) != (uid_t)-1 && (uid_t)br_arg(c, i) != c->b->uid)
			return false;
	return n > 0;
}

/* If callers of the run can only drop credentials, these are read only after the first caller has
 * done so. */
struct br_answer br_credentials(struct br_call *c)
{
	if (!changes_nothing(c))
		c->b->creds_age++;
	/* processes of an ordinary user cannot change their ids */
	if (c->b->uid == 0 && !changes_nothing(c))
		c->b->mixed_creds = true;
	return br_proceed(c, BR_PROCEED_CREDENTIALS);
}
