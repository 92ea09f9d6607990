/* SPDX-License-Identifier: Apache-2.0 */
/*
 * public.h - the broker performs for a confined command the file calls that the kernel's rules
 * cannot decide alone.
 *
 * The command's Landlock domain grants nothing where the policy is complex; a seccomp filter
 * stops its calls there and hands them to the broker, a process outside of that domain. It finds
 * the object as the caller would, judges it on the compiled policy, acts through descriptors and
 * answers with the caller's errno. If it forgets a call, or leaves it to the kernel, the call is
 * refused.
 *
 *	in the broker's process, single-threaded:
 *	lau_broker_enter(&plan, &err);		Landlock domain of its own, capabilities
 *	fork: in the target: ... Landlock domain, then
 *		fd = lau_broker_trap(&filter, &err);	listener: handed to the broker
 *	lau_broker_serve(&plan, listener, &err);	until no caller is left
 *
 * When the broker dies, calls that it holds or would get fail with ENOSYS: nothing is allowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/event.h"
#include "policy/plan/seccomp.h"

struct b_err;
struct egr_page;
struct lau_movelock;
struct lau_movepage;
struct lau_wards;
struct sbx_image;
struct sbx_ring;
struct sbx_tally;
struct sock_filter;

/* By which network a socket is known not to be the run's own (socket(7), SO_NETNS_COOKIE). */
struct lau_broker_net {
	bool is_apart;	      /* the run's network is not the host's: the rest counts */
	uint64_t host, run;   /* the launcher's network, and the broker's */
	const uint64_t *kept; /* SO_COOKIE of what --keep-fd names: free to do as they can */
	size_t nkept;
};

/* The door of a run whose policy has rules on endpoints (egress/door.h). */
struct lau_broker_door {
	struct egr_page *page; /* NULL = none: the network is the namespace's affair alone */
	int channel;	       /* to sbx-egress */
	int sockets;	       /* to the supervisor, for what is made in the namespace */
	uint16_t port;	   /* of the relay, in the namespace: to be had, 0 = any; then the one */
	bool is_published; /* ports of the run are seen outside: egress/publish.c */
	bool is_proxy;	   /* and a proxy's, for programs that insist on one */
};

enum lau_broker_point {
	BR_POINT_SERVED,   /* a worker has an answer, and may still be interrupted */
	BR_POINT_SETTLED,  /* no more */
	BR_POINT_SIGNAL,   /* the watch is about to interrupt a worker */
	BR_POINT_JUDGED,   /* a call was judged, and is about to be done */
	BR_POINT_MADE,	   /* it has made something, and may look where that is */
	BR_POINT_MOVED,	   /* it was moved, and is looked at again */
	BR_POINT_GIVEN,	   /* a caller has its descriptor, and the broker still a copy */
	BR_POINT_UNLOCKED, /* what takes long is about to be done, without the lock */
};

/* Names that the launcher knows beside the rules. */
struct lau_names {
	const char *const *v;
	size_t n;
};

/* A pipe or memory file that the caller gave as standard input, output or errors. */
struct lau_given {
	dev_t dev;
	ino_t ino;
	bool reads, writes; /* what it was given for */
};
struct lau_givens {
	const struct lau_given *v;
	size_t n;
};
#define LAU_GIVEN_MAX 3

#define LAU_TERMINALS 65536 /* a terminal with a higher number counts as the host's */

/*
 * The members of a broker's plan, a row each: how a member of the outer run's plan reaches the plan
 * of a run inside it (launcher/linux/nested/inherit.c), its declaration, its name.
 *
 *	OWN		not at all: the inner run has its own, or both policies say it
 *	EITHER_NAMES	what either names; EITHER_MARKS: what either marks
 *	BOTH_NAMES	what both name; BOTH_BITS, BOTH: what both have
 *	LEAST		the smaller one; 0 = no limit
 *	SET		true, for being inside
 *	IMAGES, EITHER_GIVEN	the outer run's, in front of its own
 */
#define LAU_BROKER_PLAN(X)                                                                         \
	X(OWN, const struct sbx_image *image, image)                                               \
	X(OWN, enum pol_read_level read_level, read_level)                                         \
	X(OWN, unsigned traps, traps) /* POL_TRAP_* */                                             \
	/* POL_SC_* of the static filter beside; set by the spawn where that depends on it */      \
	X(OWN, unsigned filter_flags, filter_flags)                                                \
	/* Landlock ruleset of the broker's own domain, -1 = none: everything the target is        \
	 * granted and everything the policy can allow. */                                         \
	X(OWN, int landlock_fd, landlock_fd)                                                       \
	X(BOTH_BITS, uint64_t keep_caps, keep_caps) /* of the target (root only) */                \
	/* of the target: Yama lets only ancestors look into a process */                          \
	X(OWN, bool is_parent, is_parent)                                                          \
	/* then: what it waits for, NULL = nothing; set by the spawn */                            \
	X(OWN, struct lau_wards *wards, wards)                                                     \
	X(OWN, bool is_other, is_other) /* the target runs as somebody else than we do */          \
	X(BOTH, bool foreign_roots, foreign_roots) /* it may enter namespaces and chroot */        \
	X(BOTH, bool allows_setid, allows_setid)   /* files, it may make set-id */                 \
	/* Files of the run itself, which the kernel's rules grant exactly and the policy hides,   \
	 * NULL = none: one that callers write to, and two that they read. */                      \
	X(OWN, const char *ring_path, ring_path)                                                   \
	X(OWN, const char *image_path, image_path)                                                 \
	X(OWN, const char *shim_path, shim_path)                                                   \
	/* ring_path, opened by the target under its own domain, -1 = it may not be written to.    \
	 * Set by who starts the broker. */                                                        \
	X(OWN, int ring_fd, ring_fd)                                                               \
	/* Files outside that the target has as standard input, output or errors, opened for       \
	 * writing, and that no other rule opens: their bytes may change, not their name, mode,    \
	 * owner, times and attributes. */                                                         \
	X(EITHER_NAMES, struct lau_names streams, streams)                                         \
	/* Directories that somebody outside stands in: neither they nor what they lie in moves.   \
	 */                                                                                        \
	X(EITHER_NAMES, struct lau_names stands, stands)                                           \
	/* Opened anew, by /proc, for no more than they were given for. */                         \
	X(EITHER_GIVEN, struct lau_givens given, given)                                            \
	/* LAU_TERMINALS bits: those that were there before the command; NULL = none is known */   \
	X(EITHER_MARKS, const unsigned char *terminals, terminals)                                 \
	/* Device nodes outside of /dev that rules name: no others are opened. */                  \
	X(BOTH_NAMES, struct lau_names devices, devices)                                           \
	/* What compares the verdicts at two names (moves, links) asks each of these, not `image`, \
	 * the product of all: each document of the run, and of those that it is inside of. None:  \
	 * `image` is the only one. */                                                             \
	X(IMAGES, struct lau_images apart, apart)                                                  \
	/* its socket, open to callers likewise; NULL = none */                                    \
	X(OWN, const char *control_path, control_path)                                             \
	/* connect(2) and bind(2) of the network are refused; set by the spawn */                  \
	X(OWN, bool no_inet, no_inet)                                                              \
	/* Abstract sockets of processes outside are closed, and not kept away by a scope of       \
	 * Landlock's, nor by a network namespace: none is connected to when both are true. */     \
	X(OWN, bool no_scopes, no_scopes)                                                          \
	X(OWN, bool shares_net, shares_net)                                                        \
	X(OWN, struct lau_broker_net net, net) /* no --keep-fd inside: nothing of it is open */    \
	/* Rules on endpoints: the way to sbx-egress. Inside: another, by the product of both. */  \
	X(OWN, struct lau_broker_door door, door)                                                  \
	/* by some program of the run that it is inside of */                                      \
	X(SET, bool is_started_inside, is_started_inside)                                          \
	/* no rule speaks of socket paths: all are open */                                         \
	X(BOTH, bool unix_host, unix_host)                                                         \
	X(OWN, struct sbx_ring *ring,                                                              \
	  ring) /* shared with the supervisor alone; NULL = no events */                           \
	X(OWN, uint64_t ring_size, ring_size) /* its data size */                                  \
	/* shared likewise; NULL = not counted */                                                  \
	X(OWN, struct sbx_tally *tally, tally)                                                     \
	/* no process outside has a number in its PID namespace; set by the spawn */               \
	X(OWN, bool own_pids, own_pids)                                                            \
	/* NULL: no other broker is in the same directories. Inside: a slot in the outer run's. */ \
	X(OWN, const struct lau_movelock *lock, lock)                                              \
	/* of the ring of the shims (core/ring.h), NULL = none */                                  \
	X(OWN, _Atomic uint64_t *moves, moves)                                                     \
	X(OWN, enum sbx_audit_level level,                                                         \
	  level) /* the options of the inner run have the outer's */                               \
	/* names looked through when a directory moves; 0 = 50,000 */                              \
	X(LEAST, unsigned tree_budget, tree_budget)                                                \
	/* files are not made larger by name (--fsize); 0 = no limit */                            \
	X(LEAST, uint64_t max_size, max_size)                                                      \
	/* the policy speaks of a private /dev/shm, and it is the host's; set by the spawn */      \
	X(OWN, bool no_shm, no_shm)                                                                \
	/* and of a private /tmp, in which these of the host's stay; of a run around it, too */    \
	X(OWN, bool no_tmp, no_tmp)                                                                \
	X(OWN, struct lau_names tmp_kept, tmp_kept)                                                \
	/* counts by enum br_proceed, shared; NULL = not counted */                                \
	X(OWN, _Atomic uint64_t *proceeded, proceeded)                                             \
	X(OWN, bool lies, lies) /* judges nothing where Landlock stands behind (tests) */          \
	X(OWN, void (*test_point)(enum lau_broker_point), test_point) /* NULL but in tests */      \
	/* Landlock grants the command directories that are clean by the image (docs/adr/016):     \
	 * there files and directories change without the broker. */                               \
	X(OWN, bool grants_clean, grants_clean)                                                    \
	/* and marked calls pass the trap filter */                                                \
	X(OWN, bool passes_marks, passes_marks)                                                    \
	/* leave out its own seccomp filter (tests under a sanitizer) */                           \
	X(OWN, bool no_filter, no_filter)

struct lau_images {
	const struct sbx_image *const *v;
	size_t n;
};

struct lau_broker_plan {
#define LAU_MEMBER(how, declaration, name) declaration;
	LAU_BROKER_PLAN(LAU_MEMBER)
#undef LAU_MEMBER
};

/* Of descriptors 0 to 2 of this process, into LAU_GIVEN_MAX: how many. */
size_t lau_given_find(struct lau_given *out);

/* Marks the terminals that are there now, in LAU_TERMINALS / 8 bytes; all where that cannot be
 * known. */
void lau_terminals_find(unsigned char *out);

/* Of seccomp(2): a listener; and from Linux 5.19 a signal does not tear a call out of the broker's
 * hands after it was done, so that the program makes it again: EEXIST for a directory that it has
 * made itself (docs/adr/011). */
#define LAU_TRAP_FLAGS ((1ul << 3) | (1ul << 5)) /* NEW_LISTENER, WAIT_KILLABLE_RECV */

#define LAU_TRAP_MAX 400 /* more than the longest trap filter */

/* The filter that traps, for this machine, into LAU_TRAP_MAX instructions. Pure. Its length. */
size_t lau_broker_filter(const struct lau_broker_plan *, struct sock_filter *out);

/* In the target, after no_new_privs and before the static filter, which refuses a listener: the
 * listener's descriptor, or -1 with B_FLOOR. [AS-safe] */
int lau_broker_trap(const struct sock_filter *, size_t len, struct b_err *err);

/* prctl(2): an option that Linux does not know and the trap filter stops. */
#define LAU_GREETING 0x53425847

/* In the target, when the broker has its listener, before any filter that knows the options of
 * prctl(2): 0 when the broker can serve; -1 with B_FLOOR, which says what it cannot. [AS-safe] */
int lau_broker_greet(struct b_err *err);

/* In the broker, before it forks the target, so that the target's domain is a part of its own
 * and it may look into it. 0 or -1 with B_FLOOR. */
int lau_broker_enter(const struct lau_broker_plan *, struct b_err *err);

/* Serves until the last process behind the listener is gone: 0; -1 when it cannot start. */
int lau_broker_serve(const struct lau_broker_plan *, int listener, struct b_err *err);

/*
 * The lock of moves: while a directory changes its place no broker of this user acts
 * on a name, for what it has judged is the text of a parent it holds (docs/adr/013).
 *
 * The lock lies in a page that all brokers of a user share: one file in a directory that no
 * command may touch. Each broker has a slot of its own there, and a lock on that byte of the file
 * says that it lives: what a dead one held is taken from it.
 *
 *	in the launcher:	lau_movelock_open(dir, &l, &err);	then the broker is forked
 *	in the broker:		rc = lau_movelock_share(&l, &who);	0, -EINTR, -EBUSY
 *				... look up the parent, judge, act ...
 *				lau_movelock_share_end(&l);
 */

struct lau_movelock {
	struct lau_movepage *page; /* NULL = none */
	int fd;			   /* of the file, and of no other broker; -1 = of no file */
	unsigned slot;
	unsigned family;   /* the outermost run's slot; runs inside it are bounded together */
	unsigned limit_ms; /* how long a call waits at most; 0 = 10 s */
};
#define LAU_MOVELOCK_INIT                                                                          \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* In `dir`, which must be there and private; NULL: nobody is to share it but runs inside this one.
 * 0 or -1 with B_FLOOR. To be released. */
int lau_movelock_open(const char *dir, struct lau_movelock *out, struct b_err *err);
/* That of a run around this one. B_LIMIT as well: as many are inside of the outermost run, at all
 * depths, as may have places, so that some are left to the other runs of the user. */
#define LAU_MOVELOCK_INSIDE 128
int lau_movelock_join(const struct lau_movelock *outer, struct lau_movelock *out,
		      struct b_err *err);
/* Of one process alone: 0 or -1 with B_FLOOR. */
int lau_movelock_alone(struct lau_movelock *out, struct b_err *err);
void lau_movelock_release(struct lau_movelock *);

/* Together with others that do not move; none locks twice. 0; -EINTR: a signal came first; -EBUSY:
 * *out_who, a supervisor, or its broker, stands still with the lock. [MT-safe] */
int lau_movelock_share(const struct lau_movelock *, pid_t *out_who);
void lau_movelock_share_end(const struct lau_movelock *);
/* With nobody else, likewise. */
int lau_movelock_move(const struct lau_movelock *, pid_t *out_who);
void lau_movelock_move_end(const struct lau_movelock *);
/* Does somebody move, or wait for those who share it? */
bool lau_movelock_is_wanted(const struct lau_movelock *);
