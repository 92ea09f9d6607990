/*
 * serving.h - may a broker serve here? Tried once as a run will use it: below the command a process
 * makes a call, the broker receives it, reads and writes the caller's memory, takes one of its
 * descriptors, opens by openat2(2), and answers with a descriptor of its own.
 *
 * That a broker can serve is remembered by what it depends on: the boot, the kernel, the user, the
 * number of filters around us, Yama. A filter has no name, so another one may stand there the next
 * time. Therefore what is remembered only spares the attempt: each command greets its broker before
 * its first step (lau_broker_greet()), and where that fails the run ends with the step that failed,
 * and nothing is remembered any longer. That a broker cannot serve is never believed without a new
 * attempt.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct b_err;
struct b_str;

/* Who the broker is to the command. */
enum lau_kinship {
	LAU_KIN_SIBLING, /* both are children of the supervisor */
	LAU_KIN_PARENT,	 /* the command is the broker's child: Yama asks for that */
	LAU_KIN_OWN_NS,	 /* siblings in a user namespace of their own: the broker has
			    CAP_SYS_PTRACE over it */
	LAU_KIN_COUNT
};

/* What failed first. X(name, what the person is told it was) */
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
/* As it is now, in throw-away processes. */
void lau_serving_try(struct lau_serving *out);
/* The same for a run that makes a user namespace or none (`own_ns`). That it can serve is
 * remembered in the directory `state`, which is the user's alone; NULL = nowhere. */
void lau_serving_find(const char *state, bool own_ns, struct lau_serving *out);
/* What is remembered there was wrong, or is to be tried anew. */
void lau_serving_forget(const char *state);
/* In a broker: can it look into and act for this caller, which passed lau_serving_words() to a call
 * (0: its memory is not looked at)? LAU_SERVE_DONE, PROC, OPENAT2, MEMORY, WRITING or ACTING. */
struct lau_served lau_serving_of(pid_t caller, uint64_t words);
/* The address of what a caller passes: the same in every fork of this program. */
uint64_t lau_serving_words(void);
/* "mkdirat(2) is refused": a call by which a broker acts. */
const char *lau_serving_act(int acting);
/* How the broker is to be related to the command: the first that works; `own_ns`: the run makes a
 * user namespace. False: *out is what failed of the nearest. */
bool lau_serving_choose(const struct lau_serving *, bool own_ns, enum lau_kinship *out);
/* One line each: why there is no broker, and what helps. */
void lau_serving_why(const struct lau_serving *, bool own_ns, struct b_str *cause,
		     struct b_str *remedy);
/* What failed, and what helps, as an error of the floor; -1. No memory is taken: it is called
 * after fork(2). */
int lau_serving_refused(const struct lau_served *, struct b_err *err);
