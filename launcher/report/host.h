/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - what this host can do, found out by doing it once, and the verdict on it (sbx-
 * launch --doctor). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lau_options;
struct b_err;
struct b_str;

/*
 * May a broker serve here? Tried once as a run will use it: below the command a process
 * makes a call, the broker receives it, reads and writes the caller's memory, takes one of its
 * descriptors, opens by openat2(2), and answers with a descriptor of its own.
 *
 * The answer that a broker can serve is stored with everything that it depends on: the boot, the
 * kernel, the user, the number of filters on this process, Yama. A filter has no name, so that
 * another one may be there the next time. The stored answer therefore only saves the attempt: each
 * command greets its broker before its first step (lau_broker_greet()). If that fails, the run ends
 * with the step that failed, and the answer is removed. The answer that a broker cannot serve is
 * never stored.
 */

/* How the broker is related to the command. */
enum lau_kinship {
	LAU_KIN_SIBLING, /* both are children of the supervisor */
	LAU_KIN_PARENT,	 /* the command is the broker's child: Yama asks for that */
	LAU_KIN_OWN_NS,	 /* siblings in the run's user namespace: the broker has
			    CAP_SYS_PTRACE over it */
	LAU_KIN_COUNT
};

/* The step that failed first. X(name, its text for the user) */
#define LAU_SERVING_STEPS(X)                                                                       \
	X(DONE, "nothing")                                                                         \
	X(NAMESPACE, "no user namespace can be made")                                              \
	X(PROCESS, "no process can be made")                                                       \
	X(LISTENER, "no listener for system calls")                                                \
	X(HANDING, "sendmsg(2) or recvmsg(2) is refused")                                          \
	X(RECEIVE, "no call reaches a listener")                                                   \
	X(PROC, "no /proc that shows this process")                                                \
	X(OPENAT2, "openat2(2) is refused")                                                        \
	X(MEMORY, "process_vm_readv(2) is refused")                                                \
	X(WRITING, "process_vm_writev(2) is refused")                                              \
	X(ACTING, "a call that finds or changes names is refused")                                 \
	X(ANSWER, "a call cannot be answered with a descriptor")

enum lau_serving_step {
#define X(name, text) LAU_SERVE_##name,
	LAU_SERVING_STEPS(X)
#undef X
		LAU_SERVE_COUNT
};

struct lau_served {
	enum lau_serving_step step; /* LAU_SERVE_DONE: it can */
	int sys;		    /* errno of the step */
	int acting;		    /* of LAU_SERVE_ACTING: lau_serving_act() */
	int descriptor;		    /* errno of taking a descriptor, which sockets need; 0 = can */
};

struct lau_serving {
	bool is_tried;
	struct lau_served by[LAU_KIN_COUNT];
	int yama;	  /* kernel.yama.ptrace_scope, -1 = none */
	bool is_filtered; /* a seccomp filter is around us */
	int self_sys;	  /* errno of reading our own memory: a filter's word, not Yama's */
	/* Likewise of writing it, of pidfd_open(2) and pidfd_getfd(2) on ourselves; and which act
	 * of a broker is refused, -1 = none. */
	int writing_sys, pidfd_sys, getfd_sys, acting;
};

/* What costs no process: Yama, the filter around us. */
void lau_serving_look(struct lau_serving *out);
/* Tries it now, in short-lived processes. */
void lau_serving_try(struct lau_serving *out);
/* The same for a run that makes a user namespace (`own_ns`) or none. Stores the answer that a
 * broker can serve in the directory `state`, which is private to the user; NULL = stores nothing.
 */
void lau_serving_find(const char *state, bool own_ns, struct lau_serving *out);
/* Removes the stored answer: it was wrong, or is to be tried anew. */
void lau_serving_forget(const char *state);
/* In a broker: tries to inspect and act for this caller, which passed lau_serving_words() to a call
 * (0: its memory is not read). LAU_SERVE_DONE, PROC, OPENAT2, MEMORY, WRITING or ACTING. */
struct lau_served lau_serving_of(pid_t caller, uint64_t words);
/* The address of the words that a caller passes: the same in every fork of this program. */
uint64_t lau_serving_words(void);
/* "mkdirat(2) is refused": a call by which a broker acts. */
const char *lau_serving_act(int acting);
/* Chooses the first relation that works. `own_ns`: the run makes a user namespace. False: none
 * works, and *out is the one that came closest. */
bool lau_serving_choose(const struct lau_serving *, bool own_ns, enum lau_kinship *out);
/* Appends one line each: why there is no broker, and a remedy. */
void lau_serving_why(const struct lau_serving *, bool own_ns, struct b_str *cause,
		     struct b_str *remedy);
/* Sets an error of the floor with the step that failed and a remedy. Returns -1. Allocates no
 * memory: it is called after fork(2). */
int lau_serving_refused(const struct lau_served *, struct b_err *err);

/*
 * Whether a strict run starts here, in this directory, under these options. The answer comes from
 * starting one, so that it has tried everything that a run tries.
 */

struct lau_verdict {
	const char *options; /* as they are written, "" = none */
	bool runs;
	char notes[1024]; /* the notes that such a run prints, a line each */
	char why[512];	  /* the refusal, as the run words it: "E_FLOOR: cause: remedy" */
};
#define LAU_VERDICTS 6

/* A file that the default policy denies here and that has more names. */
struct lau_linked {
	const char *path, *rule; /* borrowed */
	unsigned long others;
};

/* Asks without options, with a pattern that denies reading, and with each --network. The program of
 * each run is this one, which prints its version. The runs make no log, but look for a place for
 * one. */
void lau_verdicts_ask(struct lau_verdict out[LAU_VERDICTS]);

/* The abilities of this host, found by trying each once (`sbx-launch --doctor`). */

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
	bool has_shm;		  /* /dev/shm is a directory that a tmpfs can be mounted on */
	bool is_inside;		  /* of a run, whose broker refuses every new Landlock domain */
	bool is_asked_as_macos;	  /* a question is about that system, not about this host */
	struct lau_verdict verdicts[LAU_VERDICTS]; /* of the whole probe; has_verdicts */
	bool has_verdicts;
	const struct lau_linked *linked; /* borrowed; the caller that has the policy finds them */
	size_t nlinked;
	bool is_served; /* and whose supervisor makes runs inside it; set by the whole probe */
};

/* Asks only cheap questions (no fork): Landlock ABI, uid, kernel. This is enough for a run, which
 * tries namespaces itself. */
void lau_host_quick(struct lau_host *);
/* Can a run have a network namespace? Tries it, in a child. Never on macOS. */
bool lau_host_has_net_ns(void);
/* Finds out whether a broker can serve a run that makes a user namespace (`own_ns`), or none: tries
 * it, or reads the stored answer in `state`. Does nothing if a broker is impossible anyway, and the
 * second time. */
void lau_host_settle(struct lau_host *, const char *state, bool own_ns);
/* If the answer was no, for a run that makes no user namespace: tries whether a broker can serve it
 * in one, and then settles on that (Yama 2). */
bool lau_host_settle_apart(struct lau_host *);
/* The text of B_FLOOR for a run without /proc. */
extern const char lau_no_proc_text[];
/* The remedy for a host without Landlock. Static, or owned by the host. */
const char *lau_host_landlock_remedy(const struct lau_host *);
/* Appends "cause: remedy": why there is no broker. */
void lau_host_no_broker(const struct lau_host *, struct b_str *out);
/* Tries everything, in short-lived children. */
void lau_host_probe(struct lau_host *);
/* Appends the doctor's table, or `json` for programs: what each missing ability loses, the remedy,
 * and the known limits of the floor without the broker. */
void lau_host_show(const struct lau_host *, bool json, bool colour, struct b_str *out);

/* `--selftest`: becomes sbx-selftest, which lies beside this program or where `make install` puts
 * it, and which runs this program with the options of this command line. Returns only when that
 * cannot be: 125, and the error is printed. */
int lau_selftest(int argc, char **argv, const struct lau_options *);
