/* host.h - what this host can do, found out by doing it once (`sbx-launch --doctor`). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/serving.h"
#include "launcher/verdict.h"

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
	/* The kernel has what the broker needs, as far as its version says; after
	 * lau_host_settle(): it can serve here. */
	bool has_broker;
	bool is_settled;
	bool own_ns; /* the run makes a user namespace */
	struct lau_serving serving;
	enum lau_kinship kinship; /* of broker and command */
	bool has_shm;	/* /dev/shm is a directory that a tmpfs can be mounted on */
	bool is_inside; /* of a run, whose broker lets nobody take a Landlock domain of its own */
	bool is_asked_as_macos; /* a question is about that system, not about this host */
	struct lau_verdict verdicts[LAU_VERDICTS]; /* of the whole probe; has_verdicts */
	bool has_verdicts;
	bool is_served; /* and whose supervisor makes runs inside it; told by the whole probe */
};

/* Cheap questions only (no fork): Landlock ABI, uid, kernel. Enough for a run; namespaces are
 * tried by the run itself. */
void lau_host_quick(struct lau_host *);
/* Can a broker serve a run here that makes a user namespace, or none? Tried, or remembered in the
 * directory `state` (serving.h). Nothing is done where there is none anyway, and the second time.
 */
void lau_host_settle(struct lau_host *, const char *state, bool own_ns);
/* Of a run, where there is none: B_FLOOR. */
extern const char lau_no_proc_text[];
/* What helps where there is no Landlock. */
const char *lau_host_landlock_remedy(const struct lau_host *);
/* "cause: remedy": why there is no broker. */
void lau_host_no_broker(const struct lau_host *, struct b_str *out);
/* Everything, in throw-away children. */
void lau_host_probe(struct lau_host *);
/* The doctor's table; `json` for programs. Says what each missing ability loses and the remedy,
 * and the known limits of the floor without the broker. */
void lau_host_show(const struct lau_host *, bool json, bool colour, struct b_str *out);
