/*
 * confine.h - what the child does to itself between fork and exec, in this order:
 *
 *  1. lau_confine_namespaces  network namespace (user namespace first when not root): a Landlock
 *			       domain would forbid it later
 *  2. lau_confine_fds         descriptors above 2
 *  3. lau_confine_caps        bounding set, securebits, capability sets, no_new_privs
 *  4. lau_confine_landlock    deny by default, grants of the plan
 *  5. lau_confine_trap	       the broker's filter: its listener goes out by a socket
 *  6. lau_confine_seccomp     static filter, last: it refuses what the steps before need
 *
 * Plans are made before the fork; the child only applies: no allocation after fork.
 *
 * Network: whether a namespace can be had is known only by trying, and trying costs the
 * launch half a millisecond, so the child tries and both filters are prepared:
 *
 *	struct lau_confine c = { .want_net_ns = true, .landlock_fd = ll };
 *	lau_seccomp_prepare(flags, &c.bpf, &c.bpf_len, &err);
 *	lau_seccomp_prepare(flags | POL_SC_NO_INET, &c.bpf_no_inet, &c.bpf_no_inet_len, &err);
 *	in the child:
 *	rc = lau_confine_apply(&c, &err);
 *	if (rc == LAU_NET_FILTERED)   (tell the parent: recorded in run.json)
 *
 * Without bpf_no_inet a refused namespace is an error (B_FLOOR, naming the remedy).
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
	/* 2: kept besides 0, 1, 2 and pipes. landlock_fd need not be named. */
	const int *keep_fds;
	size_t nkeep_fds;
	/* 3: capability mask kept (root only); 0 = none */
	uint64_t keep_caps;
	/* 4: ruleset descriptor prepared before the fork by lau_landlock_prepare(), -1 = none */
	int landlock_fd;
	/* 5: the broker's filter, NULL = none, and the socket to send its listener to */
	const void *trap;
	size_t trap_len;
	int listener_to;
	/* 6: prepared BPF program */
	const void *bpf;
	size_t bpf_len; /* number of struct sock_filter */
	/* 6, when the network namespace of 1 is refused: the same filter with POL_SC_NO_INET.
	 * NULL = a refused namespace is an error. */
	const void *bpf_no_inet;
	size_t bpf_no_inet_len;
};

/* No namespace: sockets of the network are refused by the filter and, from ABI 4, by an own
 * Landlock layer. There is no loopback either. Stricter than the namespace, never laxer. */
#define LAU_NET_FILTERED 1

/* Opens every granted path O_PATH and adds it to a new ruleset. A path that vanished since the
 * plan, or became a symlink, is skipped: nothing is granted. *out_fd is CLOEXEC. */
int lau_landlock_prepare(const struct pol_ll_plan *, int *out_fd, struct b_err *err);
/* ABI of this kernel, or 0 with errno: ENOSYS (not built in), EOPNOTSUPP (switched off). */
int lau_landlock_abi(void);
/* The compiled static filter for POL_SC_* flags; points to memory of static duration. */
int lau_seccomp_prepare(unsigned flags, const void **out_bpf, size_t *out_len, struct b_err *err);

/* CAP names "chown,fowner" or "none" -> mask; "cap_" in front and capitals are taken too. */
int lau_caps_parse(const char *list, uint64_t *out_mask, struct b_err *err);
#define LAU_CAP_SETFCAP (UINT64_C(1) << 31) /* capabilities(7): CAP_SETFCAP */
#define LAU_CAPS_DEFAULT_LIST "chown,dac_override,fowner,fsetid"

/* 0, LAU_NET_FILTERED, or -1. [AS-safe] */
int lau_confine_namespaces(const struct lau_confine *, struct b_err *err);
/* 0 or -1. [AS-safe] */
int lau_confine_fds(const struct lau_confine *, struct b_err *err);
int lau_confine_caps(const struct lau_confine *, struct b_err *err);
/* `net_rc` is what lau_confine_namespaces() gave. */
int lau_confine_landlock(const struct lau_confine *, int net_rc, struct b_err *err);
int lau_confine_trap(const struct lau_confine *, struct b_err *err);
int lau_confine_seccomp(const struct lau_confine *, int net_rc, struct b_err *err);
/* All, in order: 0, LAU_NET_FILTERED, or -1. [no-alloc] */
int lau_confine_apply(const struct lau_confine *, struct b_err *err);
/* All but the namespaces, which the broker has made for both. */
int lau_confine_apply_in(const struct lau_confine *, int net_rc, struct b_err *err);
