/*
 * confine.h - what the child does to itself between fork and exec, in this order:
 *
 *  1. lau_confine_namespaces  network namespace (user namespace first when not root): a Landlock
 *			       domain would forbid it later
 *  2. lau_confine_fds         descriptors above 2
 *  3. lau_confine_caps        bounding set, securebits, capability sets, no_new_privs
 *  4. lau_confine_landlock    deny by default, grants of the plan
 *  5. lau_confine_seccomp     static filter, last: it refuses what the steps before need
 *
 * Plans are made before the fork; the child only applies: no allocation after fork.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_err;
struct pol_ll_plan;

struct lau_confine {
	/* 1 */
	bool want_net_ns;
	/* 2 */
	const int *keep_fds;
	size_t nkeep_fds;
	/* 3: capability mask kept (root only); 0 = none */
	uint64_t keep_caps;
	/* 4: ruleset descriptor prepared before the fork by lau_landlock_prepare(), -1 = none */
	int landlock_fd;
	/* 5: prepared BPF program */
	const void *bpf;
	size_t bpf_len; /* number of struct sock_filter */
};

/* Opens every granted path O_PATH and adds it to a new ruleset. A path that vanished since the
 * plan is skipped (nothing was granted). *out_fd is CLOEXEC. */
int lau_landlock_prepare(const struct pol_ll_plan *, int *out_fd, struct b_err *err);
/* The compiled static filter for POL_SC_* flags; points to memory of static duration. */
int lau_seccomp_prepare(unsigned flags, const void **out_bpf, size_t *out_len, struct b_err *err);

/* CAP names "chown,fowner" or "none" -> mask. */
int lau_caps_parse(const char *list, uint64_t *out_mask, struct b_err *err);
#define LAU_CAPS_DEFAULT_LIST "chown,dac_override,fowner,fsetid"

int lau_confine_namespaces(const struct lau_confine *, struct b_err *err);
int lau_confine_fds(const struct lau_confine *, struct b_err *err);
int lau_confine_caps(const struct lau_confine *, struct b_err *err);
int lau_confine_landlock(const struct lau_confine *, struct b_err *err);
int lau_confine_seccomp(const struct lau_confine *, struct b_err *err);
/* All, in order. [no-alloc] */
int lau_confine_apply(const struct lau_confine *, struct b_err *err);
