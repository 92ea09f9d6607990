/* host.h - what this host can do, found out by doing it once (`sbx-launch --doctor`). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_str;

struct lau_ability {
	bool has;
	int sys; /* errno of the attempt when it failed */
};

struct lau_host {
	int landlock_abi;   /* 0 = none, */
	int landlock_errno; /* why not: ENOSYS not built in, EOPNOTSUPP switched off */
	unsigned landlock_errata;
	bool is_root;
	bool apparmor_userns; /* kernel.apparmor_restrict_unprivileged_userns is 1 */
	char kernel[65];
	/* Could be made by us, as we are. */
	struct lau_ability seccomp_filter;
	struct lau_ability seccomp_notify; /* a listener (for the broker) */
	struct lau_ability user_ns, net_ns;
	struct lau_ability pid_ns, mount_ns; /* as --isolate pid, shm */
	struct lau_ability openat2, pidfd;
	struct lau_ability cgroup; /* of a run, for its memory and processes */
	/* The kernel has what the broker needs. That nobody listens already (EBUSY) is seen only
	 * by trying, which the run does. */
	bool has_broker;
	bool has_shm;	/* /dev/shm is a directory that a tmpfs can be mounted on */
	bool is_inside; /* of a run, whose broker lets nobody take a Landlock domain of its own */
	bool is_asked_as_macos; /* a question is about that system, not about this host */
	bool is_served; /* and whose supervisor makes runs inside it; told by the whole probe */
};

/* Cheap questions only (no fork): Landlock ABI, uid, kernel. Enough for a run; namespaces are
 * tried by the run itself. */
void lau_host_quick(struct lau_host *);
/* Everything, in throw-away children. */
void lau_host_probe(struct lau_host *);
/* The doctor's table; `json` for programs. Says what each missing ability loses and the remedy,
 * and the known limits of the floor without the broker. */
void lau_host_show(const struct lau_host *, bool json, bool colour, struct b_str *out);
