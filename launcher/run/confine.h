/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h - what the child does to itself between fork and exec, in this order:
 *
 *  1. lau_confine_namespaces  network, mount and pid namespaces (user namespace first when not
 *			       root), /dev/shm and /proc in them: a Landlock domain would forbid
 *			       it later
 *  2. lau_confine_fds         descriptors above 2
 *  3. lau_confine_caps        bounding set, securebits, the user, capability sets, no_new_privs
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
 *	lau_seccomp_prepare(&arena, flags, &c.bpf, &c.bpf_len, &err);
 *	lau_seccomp_prepare(&arena, flags | POL_SC_NO_INET, &c.bpf_no_inet, &n, &err);
 *	in the child: rc = lau_confine_apply(&c, &err);
 *	if (rc & LAU_NET_FILTERED)	(report to the parent: recorded in run.json)
 *
 * Without bpf_no_inet a refused namespace is an error (B_FLOOR, naming the remedy).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct b_arena;
struct lau_identity;
struct pol_ll_plan;

/* What is private to the run besides the network. */
#define LAU_ISOLATE_SHM 1u /* /dev/shm: an empty tmpfs, gone with the run */
#define LAU_ISOLATE_PID 2u /* pid namespace and its /proc; with the supervisor all of it dies */
#define LAU_ISOLATE_TMP 4u /* /tmp: likewise, but for what of the host's is to stay in it */
/* /tmp: that of the run around this one. No option's word. */
#define LAU_ISOLATE_OUTER_TMP 8u

#define LAU_TMP_KEEP_MAX 64

#define LAU_DEVICES_MAX 16

/* Pipes above 2 that the launcher inherited. */
struct lau_pipes {
	int *v;
	size_t n, cap;
	bool known; /* false: there is no /proc that shows them */
};
/* Called while few descriptors are open: asking /proc for one costs microseconds. */
void lau_pipes_find(struct lau_pipes *);
void lau_pipes_release(struct lau_pipes *);

struct lau_confine {
	/* 1 */
	bool want_net_ns;
	bool has_endpoints;    /* rules on endpoints, which need the namespace */
	unsigned isolate;      /* LAU_ISOLATE_* */
	unsigned isolate_must; /* the run fails without these; others are reported (LAU_NO_*) */
	int lost;	       /* LAU_NO_* of an attempt before */
	int no_userns; /* errno: maps of a user namespace were refused (LAU_SPOILED); 0 = no */
	const char *shm_keep;	     /* this directory of the host's /dev/shm stays, NULL = none */
	const char *const *tmp_keep; /* these of the host's /tmp stay, at their places */
	size_t ntmp_keep;	     /* at most LAU_TMP_KEEP_MAX */
	const char *tmp_cwd;	     /* the working directory lies in /tmp; NULL = elsewhere */
	int tmp_tree;		     /* LAU_ISOLATE_OUTER_TMP: its mounts, as lau_tmp_of() gives */
	/* Device nodes outside of /dev that rules name: in the run's mounts no others are opened.
	 */
	const char *const *devices;
	size_t ndevices; /* at most LAU_DEVICES_MAX */
	/* Other mounts of /dev's file system: read-only, so that no name in it goes. */
	const char *const *dev_again;
	size_t ndev_again;
	/* What was granted below a directory that a mount hides is granted in the mount as well:
	 * the plan of landlock_fd, and the broker's with its ruleset. NULL = none. */
	const struct pol_ll_plan *plan, *broker_plan;
	int broker_landlock_fd;
	/* 2: kept besides 0, 1, 2 and pipes. landlock_fd need not be named. */
	const int *keep_fds;
	size_t nkeep_fds;
	/* 2: the pipes that were inherited, NULL = look for them; the rest goes with the exec */
	const struct lau_pipes *pipes;
	/* 3: whom the command runs as, NULL = as we do */
	const struct lau_identity *identity;
	/* 3: capability mask kept (root only); 0 = none */
	uint64_t keep_caps;
	/* 4: ruleset descriptor prepared before the fork by lau_landlock_prepare(), -1 = none */
	int landlock_fd;
	/* 4: a pipe; its rules are complete when a 0 can be read from [0]. NULL = they are */
	const int *landlock_ready;
	/* 5: the broker's filter, NULL = none, and the socket to send its listener to */
	const void *trap;
	size_t trap_len;
	const char *ring; /* what the broker lends to callers, opened here; NULL = none */
	int listener_to;
	/* 6: prepared BPF program */
	const void *bpf;
	size_t bpf_len; /* number of struct sock_filter */
	/* 6, when the network namespace of 1 is refused: the same filter with POL_SC_NO_INET.
	 * NULL = a refused namespace is an error. */
	const void *bpf_no_inet;
	size_t bpf_no_inet_len;
	/* 6, when no namespace of 1 could be had: the same filter with POL_SC_NO_IPC. NULL = `bpf`,
	 * which refuses IPC itself where none is wanted. */
	const void *bpf_no_ipc;
	size_t bpf_no_ipc_len;
};

/* No namespace: sockets of the network are refused by the filter and, from ABI 4, by an own
 * Landlock layer. There is no loopback either. Stricter than the namespace, never laxer. */
#define LAU_NET_FILTERED 1
/* LAU_ISOLATE_* that was wanted and could not be had: the host's /proc and pid numbers; /dev/shm
 * stays closed. */
#define LAU_NO_SHM 2
#define LAU_NO_PID 4
/* No mounts of its own, or their flags cannot be changed: the kernel opens device nodes wherever
 * they lie. */
#define LAU_NO_NODEV 16
#define LAU_NO_TMP   32 /* /tmp stays closed, but for what is to stay in a private one */
/* No namespace at all, so that System V IPC would be the host's: the filter refuses it. */
#define LAU_NO_IPC 8

/* Opens every granted path O_PATH and adds it to a new ruleset. A path that vanished since the
 * plan, or became a symlink, is skipped: nothing is granted. *out_fd is CLOEXEC. */
int lau_landlock_prepare(const struct pol_ll_plan *, int *out_fd, struct b_err *err);
/* The same; nothing of what lies in a directory that is to be the run's own, but what of the host's
 * is to stay in it: the rules are meant of that one, and nothing of the host's is granted for it.
 */
struct lau_own_dirs {
	bool shm, tmp;
	const char *shm_keep; /* NULL = nothing */
	const char *const *tmp_keep;
	size_t ntmp_keep;
};
int lau_landlock_prepare_in(const struct pol_ll_plan *, const struct lau_own_dirs *, int *out_fd,
			    struct b_err *err);
/* Rules of the plan at and below `dir`, once more: of what is there now. [no-alloc] */
int lau_landlock_add_in(int ruleset, const struct pol_ll_plan *, const char *dir,
			struct b_err *err);
/*
 * The same by a thread, beside the caller: some hundred rules take as long as making the run's
 * files, a network namespace and a process, and only the last step before the exec needs them.
 *
 *	struct lau_landlock_job job = LAU_LANDLOCK_JOB_INIT;
 *	job.plan = &plan;
 *	if (lau_landlock_begin(&job, &err) < 0) ...
 *	c.landlock_fd = job.ruleset, c.landlock_ready = job.ready
 *	fork; the child waits in lau_confine_landlock()
 *	rc = lau_landlock_finish(&job, &err);	(always; the plan must live until then)
 *
 * A child that is told of none, or whose launcher is gone, ends. Where there can be no thread,
 * begin does it all.
 */
struct lau_landlock_job {
	const struct pol_ll_plan *plan;
	struct lau_own_dirs own;
	int ruleset; /* -1 = no Landlock; closed by whoever applies it */
	int ready[2];
	pthread_t thread;
	bool has_thread;
	int rc;
	struct b_err err;
};
#define LAU_LANDLOCK_JOB_INIT                                                                      \
	{                                                                                          \
		.ruleset = -1, .ready = { -1, -1 }                                                 \
	}
/* `job` has its first two fields, the rest is as LAU_LANDLOCK_JOB_INIT makes it. */
int lau_landlock_begin(struct lau_landlock_job *, struct b_err *err);
int lau_landlock_finish(struct lau_landlock_job *, struct b_err *err);
/* ABI of this kernel, or 0 with errno: ENOSYS (not built in), EOPNOTSUPP (switched off). */
int lau_landlock_abi(void);
/* The compiled static filter for POL_SC_* flags, in the arena. */
int lau_seccomp_prepare(struct b_arena *, unsigned flags, const void **out_bpf, size_t *out_len,
			struct b_err *err);

/* CAP names "chown,fowner" or "none" -> mask; "cap_" in front and capitals are taken too. */
int lau_caps_parse(const char *list, uint64_t *out_mask, struct b_err *err);
/* Of these, what a program of root has that is executed after lau_confine_caps(): what is permitted
 * here and in the bounding set. What is elsewhere alone (inheritable) is lost then. */
uint64_t lau_caps_after_exec(uint64_t keep);
#define LAU_CAP_SETPCAP	      (UINT64_C(1) << 8)  /* and this */
#define LAU_CAP_SETFCAP	      (UINT64_C(1) << 31) /* capabilities(7): CAP_SETFCAP */
#define LAU_CAP_FSETID	      (UINT64_C(1) << 4)  /* CAP_FSETID */
#define LAU_CAPS_DEFAULT_LIST "chown,dac_override,fowner,fsetid"

/* A mask of LAU_NET_FILTERED and LAU_NO_*, -1, or LAU_SPOILED. With LAU_ISOLATE_PID the next child
 * of the caller, and only that, must become the namespace's first process by lau_confine_init(). */
#define LAU_SPOILED (-2) /* of no use any more: another process may do it with `no_userns` */
int lau_confine_namespaces(const struct lau_confine *, struct b_err *err);
/* Forks it as a child of our parent `supervisor`, with whom it dies, and all of the namespace with
 * it; it mounts /proc, reaps orphans, and after a SIGTERM ends as soon as it is alone, which it
 * says before by a byte to `alone` (-1: to nobody). *out_pid also on failure: a process to be
 * killed, or 0. B_FLOOR: cannot be had here. */
int lau_confine_init(const struct lau_confine *, pid_t supervisor, int alone, pid_t *out_pid,
		     struct b_err *err);
/* 0 or -1. [AS-safe] */
int lau_confine_fds(const struct lau_confine *, struct b_err *err);
int lau_confine_caps(const struct lau_confine *, struct b_err *err);
/* `lost` is what lau_confine_namespaces() gave. */
int lau_confine_landlock(const struct lau_confine *, int lost, struct b_err *err);
int lau_confine_trap(const struct lau_confine *, struct b_err *err);
int lau_confine_seccomp(const struct lau_confine *, int lost, struct b_err *err);
/* All, in order, without LAU_ISOLATE_PID: as lau_confine_namespaces(). [no-alloc] */
int lau_confine_apply(const struct lau_confine *, struct b_err *err);
/* All but the namespaces, which the broker has made for both. */
int lau_confine_apply_in(const struct lau_confine *, int lost, struct b_err *err);
