/* SPDX-License-Identifier: Apache-2.0 */
/* confine.c - capabilities, descriptors and system calls, and the order of all steps. */
#include "launcher/run/confine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/filters/filters.h"
#include "launcher/plan/plan.h"
#include "launcher/report/host.h"

int lau_confine_apply_in(const struct lau_confine *c, int lost, struct b_err *err)
{
	if (lau_confine_fds(c, err) < 0 || lau_confine_caps(c, err) < 0 ||
	    lau_confine_landlock(c, lost, err) < 0 || lau_confine_trap(c, err) < 0)
		return -1;
	return lau_confine_seccomp(c, lost, err);
}

/* The order is the one confine.h argues for. */
int lau_confine_apply(const struct lau_confine *c, struct b_err *err)
{
	int lost = lau_confine_namespaces(c, err);

	return lost < 0 || lau_confine_apply_in(c, lost, err) < 0 ? -1 : lost;
}

/* ---- system calls ---- */

int lau_seccomp_prepare(struct b_arena *a, unsigned flags, const void **out_bpf, size_t *out_len,
			struct b_err *err)
{
	struct sock_filter *room = b_arena_alloc(a, LAU_FILTER_MAX * sizeof *room);
	struct lau_filter f = lau_filter_unpack(flags, room);

	if (f.len == 0)
		return b_fail(err, B_FLOOR, 0, "seccomp: no filter for flags %#x", flags);
	*out_bpf = f.prog;
	*out_len = f.len;
	return 0;
}

/* Needs no_new_privs (step 3). Last, because the filter refuses unshare, socket and, once
 * installed, nothing of it can be taken back. */
int lau_confine_seccomp(const struct lau_confine *c, int lost, struct b_err *err)
{
	const void *bpf = c->bpf;
	size_t len = c->bpf_len;
	struct sock_fprog prog;

	if (lost & LAU_NET_FILTERED)
		bpf = c->bpf_no_inet, len = c->bpf_no_inet_len;
	else if (lost & LAU_NO_IPC)
		bpf = c->bpf_no_ipc, len = c->bpf_no_ipc_len;
	if (!bpf)
		return 0;
	prog = (struct sock_fprog){.len = (unsigned short)len};
	/* The kernel's struct lacks a const; it only copies. */
	memcpy(&prog.filter, &bpf, sizeof bpf);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return b_fail(err, B_FLOOR, errno,
			      "seccomp: %s: the kernel needs CONFIG_SECCOMP_FILTER",
			      strerror(errno));
	return 0;
}

/* ---- capabilities ---- */

static const char *const cap_names[] = {
	[CAP_CHOWN] = "chown",
	[CAP_DAC_OVERRIDE] = "dac_override",
	[CAP_DAC_READ_SEARCH] = "dac_read_search",
	[CAP_FOWNER] = "fowner",
	[CAP_FSETID] = "fsetid",
	[CAP_KILL] = "kill",
	[CAP_SETGID] = "setgid",
	[CAP_SETUID] = "setuid",
	[CAP_SETPCAP] = "setpcap",
	[CAP_LINUX_IMMUTABLE] = "linux_immutable",
	[CAP_NET_BIND_SERVICE] = "net_bind_service",
	[CAP_NET_BROADCAST] = "net_broadcast",
	[CAP_NET_ADMIN] = "net_admin",
	[CAP_NET_RAW] = "net_raw",
	[CAP_IPC_LOCK] = "ipc_lock",
	[CAP_IPC_OWNER] = "ipc_owner",
	[CAP_SYS_MODULE] = "sys_module",
	[CAP_SYS_RAWIO] = "sys_rawio",
	[CAP_SYS_CHROOT] = "sys_chroot",
	[CAP_SYS_PTRACE] = "sys_ptrace",
	[CAP_SYS_PACCT] = "sys_pacct",
	[CAP_SYS_ADMIN] = "sys_admin",
	[CAP_SYS_BOOT] = "sys_boot",
	[CAP_SYS_NICE] = "sys_nice",
	[CAP_SYS_RESOURCE] = "sys_resource",
	[CAP_SYS_TIME] = "sys_time",
	[CAP_SYS_TTY_CONFIG] = "sys_tty_config",
	[CAP_MKNOD] = "mknod",
	[CAP_LEASE] = "lease",
	[CAP_AUDIT_WRITE] = "audit_write",
	[CAP_AUDIT_CONTROL] = "audit_control",
	[CAP_SETFCAP] = "setfcap",
	[CAP_MAC_OVERRIDE] = "mac_override",
	[CAP_MAC_ADMIN] = "mac_admin",
	[CAP_SYSLOG] = "syslog",
	[CAP_WAKE_ALARM] = "wake_alarm",
	[CAP_BLOCK_SUSPEND] = "block_suspend",
	[CAP_AUDIT_READ] = "audit_read",
	[CAP_PERFMON] = "perfmon",
	[CAP_BPF] = "bpf",
	[CAP_CHECKPOINT_RESTORE] = "checkpoint_restore",
};
#define CAP_NAMES (sizeof cap_names / sizeof *cap_names)

static int cap_by_name(const char *name, size_t len)
{
	if (len > 4 && !strncasecmp(name, "cap_", 4)) {
		name += 4;
		len -= 4;
	}
	for (size_t i = 0; i < CAP_NAMES; i++)
		if (strlen(cap_names[i]) == len && !strncasecmp(cap_names[i], name, len))
			return (int)i;
	return -1;
}

int lau_caps_parse(const char *list, uint64_t *out_mask, struct b_err *err)
{
	uint64_t mask = 0;

	if (!strcmp(list, "none")) {
		*out_mask = 0;
		return 0;
	}
	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		int cap = cap_by_name(p, len);

		if (cap < 0)
			return b_fail(err, B_USAGE, 0,
				      "capability `%.*s' is unknown: names as in capabilities(7), "
				      "separated by commas, or none",
				      (int)len, p);
		mask |= UINT64_C(1) << cap;
		p += len;
		if (!*p)
			break;
	}
	*out_mask = mask;
	return 0;
}

/* Does an exec by root give what is in the bounding set, once lock_securebits() was called? */
static bool root_is_root(uint64_t permitted)
{
	int bits = prctl(PR_GET_SECUREBITS);

	if (bits < 0 || !(bits & SECBIT_NOROOT))
		return true;
	return !(bits & SECBIT_NOROOT_LOCKED) && permitted >> CAP_SETPCAP & 1;
}

uint64_t lau_caps_after_exec(uint64_t keep)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	uint64_t permitted;

	if (syscall(SYS_capget, &head, data) < 0)
		return 0;
	permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	if (!root_is_root(permitted))
		return 0;
	keep &= permitted;
	for (int cap = 0; cap < 64; cap++)
		if (keep >> cap & 1 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 1)
			keep &= ~(UINT64_C(1) << cap);
	return keep;
}

/*
 * The bounding set is what decides: without SECBIT_NOROOT an exec by uid 0 gives permitted =
 * bounding (capabilities(7)), so a bounding set cut to `keep` gives exactly `keep`, in every
 * later image. NOROOT plus ambient capabilities would give the same to the first image, but
 * would hand them on through setuid(2) to weaker users. It needs CAP_SETPCAP; without it (a
 * container's root) no_new_privs does the same work: an exec then gains nothing beyond the
 * permitted set, which is cut below.
 */
static int drop_bounding(uint64_t keep, struct b_err *err)
{
	/* Dropping what is not there is no error: asking first would be a call more for each. */
	for (int cap = 0; cap < 64; cap++) {
		if ((keep >> cap & 1) || prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EPERM || errno == EINVAL) /* EINVAL: beyond the kernel's last one */
			break;
		return b_fail_sys(err, B_FLOOR, errno, "capabilities: bounding set");
	}
	return 0;
}

/* Locked as they are by default, so that nothing inside keeps capabilities over setuid(2),
 * and no ambient set. EPERM without CAP_SETPCAP: then nothing inside can change them either. */
static int lock_securebits(struct b_err *err)
{
	const unsigned long bits = SECBIT_NO_CAP_AMBIENT_RAISE |
				   SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NOROOT_LOCKED;

	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0 && errno != EPERM)
		return b_fail_sys(err, B_FLOOR, errno, "capabilities: securebits");
	return 0;
}

static int set_caps(uint64_t keep, struct b_err *err)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "capabilities: capget");
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "capabilities: capset");
	return 0;
}

/* For good: the last call must fail. Groups first, while we may; then nothing is left to undo the
 * user with. */
static int become(const struct lau_identity *id, struct b_err *err)
{
	uid_t u[3];
	gid_t g[3];

	/* Not by libc: it tells each thread that it knows of, and waits. This process was cloned
	 * past it from one that had another thread, which is not here. */
	if (syscall(SYS_setgroups, (size_t)id->ngroups, id->groups) < 0 ||
	    syscall(SYS_setresgid, id->gid, id->gid, id->gid) < 0 ||
	    syscall(SYS_setresuid, id->uid, id->uid, id->uid) < 0)
		return b_fail(err, B_FLOOR, errno, "run as %u:%u: %s", id->uid, id->gid,
			      strerror(errno));
	if (getresuid(&u[0], &u[1], &u[2]) < 0 || getresgid(&g[0], &g[1], &g[2]) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "getresuid");
	for (int i = 0; i < 3; i++)
		if (u[i] != id->uid || g[i] != id->gid)
			return b_fail(
				err, B_FLOOR, 0,
				"run as %u:%u: the kernel did not change all user and group ids",
				id->uid, id->gid);
	if (syscall(SYS_setuid, 0) == 0 || syscall(SYS_setgid, 0) == 0)
		return b_fail(err, B_FLOOR, 0, "run as %u:%u: the process could become root again",
			      id->uid, id->gid);
	return 0;
}

/* Order: bounding set and securebits while CAP_SETPCAP is still there; no_new_privs before any
 * exec and before Landlock and seccomp, which demand it. */
int lau_confine_caps(const struct lau_confine *c, struct b_err *err)
{
	/* For anyone but root the user namespace of step 1 has just given a full set. */
	uint64_t keep = geteuid() == 0 && !c->identity ? c->keep_caps : 0;

	if (drop_bounding(keep, err) < 0 || lock_securebits(err) < 0)
		return -1;
	/* EINVAL before 4.3, where there is no ambient set. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return b_fail_sys(err, B_FLOOR, errno, "capabilities: ambient set");
	if (c->identity && become(c->identity, err) < 0)
		return -1;
	if (set_caps(keep, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "no_new_privs");
	return 0;
}

/* ---- descriptors ---- */

/* Only pipes pass unasked: they carry the make jobserver and process substitution, and lead
 * nowhere but to their other end. A directory would be a way out (openat), a socket a service,
 * a file a right that Landlock never judged, a named pipe leads to whoever opens its name. */
static bool stays(const struct lau_confine *c, int fd)
{
	if (fd <= 2 || fd == c->landlock_fd || (c->trap && fd == c->listener_to))
		return true;
	for (size_t i = 0; i < c->nkeep_fds; i++)
		if (c->keep_fds[i] == fd)
			return true;
	return lau_fd_kind(fd) == LAU_FD_PIPE;
}

static int fd_number(const char *name)
{
	int fd = 0;

	if (!*name)
		return -1;
	for (; *name; name++) {
		if (*name < '0' || *name > '9')
			return -1;
		fd = fd * 10 + (*name - '0');
	}
	return fd;
}

static bool is_inherited_pipe(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return fd > 2 && flags >= 0 && !(flags & FD_CLOEXEC) && lau_fd_kind(fd) == LAU_FD_PIPE;
}

void lau_pipes_find(struct lau_pipes *pipes)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;

	*pipes = (struct lau_pipes){.known = dir != NULL};
	while (dir && (e = readdir(dir))) {
		int fd = fd_number(e->d_name);

		if (!is_inherited_pipe(fd))
			continue;
		b_grow(pipes->v, pipes->n, pipes->cap);
		pipes->v[pipes->n++] = fd;
	}
	if (dir)
		closedir(dir);
}

void lau_pipes_release(struct lau_pipes *pipes)
{
	free(pipes->v);
	*pipes = (struct lau_pipes){0};
}

/* All but these go with the exec. False: before Linux 5.11. */
static bool mark_all(const struct lau_confine *c)
{
	if (syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return false;
	for (size_t i = 0; i < c->pipes->n; i++)
		(void)fcntl(c->pipes->v[i], F_SETFD, 0);
	for (size_t i = 0; i < c->nkeep_fds; i++)
		(void)fcntl(c->keep_fds[i], F_SETFD, 0);
	return true;
}

/* Closing while listing is safe: procfs goes on from the number it last gave. */
static int close_listed(const struct lau_confine *c, int dir)
{
	_Alignas(struct dirent64) char buf[4096];
	ssize_t n;

	/* getdents64 itself: opendir(3) allocates. */
	while ((n = syscall(SYS_getdents64, dir, buf, sizeof buf)) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(buf + at);
			int fd = fd_number(entry->d_name);

			at += entry->d_reclen;
			if (fd >= 0 && fd != dir && !stays(c, fd))
				close(fd);
		}
	}
	return (int)n;
}

/* One more than the highest number there could be. */
static int top_fd(void)
{
	struct rlimit lim;
	int top = 1 << 20;

	/* The hard limit: a descriptor may be older than a lowered soft one. */
	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_max < (rlim_t)top)
		top = (int)lim.rlim_max;
	return top;
}

void lau_fdclose_range(unsigned first, unsigned last)
{
	unsigned top;

	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	top = (unsigned)top_fd();
	for (unsigned fd = first; fd <= last && fd < top; fd++)
		close((int)fd);
}

/* No /proc: every number there could be. */
static void close_counted(const struct lau_confine *c)
{
	int top = top_fd();

	for (int fd = 3; fd < top; fd++)
		if (!stays(c, fd))
			close(fd);
}

int lau_confine_fds(const struct lau_confine *c, struct b_err *err)
{
	int dir, rc;

	if (c->pipes && c->pipes->known && mark_all(c))
		return 0;
	dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		close_counted(c);
		return 0;
	}
	rc = close_listed(c, dir);
	if (rc < 0)
		b_fail(err, B_FLOOR, errno, "descriptors: /proc/self/fd: %s", strerror(errno));
	close(dir);
	return rc;
}
