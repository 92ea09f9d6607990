/* host.h - what this host can do, found out by doing it once (`sbx-launch --doctor`). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_str;

struct lau_host {
	int landlock_abi; /* 0 = none, */
	int landlock_errno; /* why not */
	bool seccomp_filter;
	bool seccomp_notify; /* a listener could be installed (for the broker) */
	bool user_ns, net_ns, pid_ns; /* could be created by us, as we are */
	int user_ns_errno, net_ns_errno;
	bool openat2;
	bool pidfd;
	bool is_root;
	char kernel[65];
};

/* Cheap questions only (no fork): Landlock ABI, openat2, uid. Enough for a run; namespaces are
 * tried by the run itself. */
void lau_host_quick(struct lau_host *);
/* Everything, in throw-away children. */
void lau_host_probe(struct lau_host *);
/* The doctor's table; `json` for programs. Says what each missing ability loses and the remedy,
 * and the known limits of the floor without the broker. */
void lau_host_show(const struct lau_host *, bool json, bool colour, struct b_str *out);
