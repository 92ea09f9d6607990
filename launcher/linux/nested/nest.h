/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest.h - a run inside a run. The inner sbx-launch cannot confine anybody: the broker of the outer
 * run answers for the command, and a domain of the command's would not bind it. So it asks the
 * outer supervisor, by the socket `ctl` in the channel's directory, and that makes the run: a fork
 * of the supervisor, outside of the sandbox, whose policy is what both policies allow.
 *
 *	outside, the supervisor		    inside, sbx-launch
 *	lau_nest_listen(&server, ...)
 *	loop: a guest forks		<-  lau_nest_ask(): request, descriptors
 *	guest: peer, request, lau_run_guest()
 *					->  started / stopped / outcome
 *
 * The request is hostile. What the guest takes from it: words, variables, rules and documents as
 * text, numbers that say less than the outer run's, and descriptors that the requester has. What
 * it does not: places of files to be read or written (directories, logs, documents' names), how
 * the run is recorded, capabilities, exceptions of the filter, limits. See docs/adr/009.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/linux/broker/public.h"
#include "launcher/plan/plan.h"
#include "launcher/run/confine.h"
#include "launcher/run/run.h"
#include "launcher/supervise/supervise.h"

struct b_err;
struct lau_dirs;
struct lau_host;
struct lau_options;
struct lau_outcome;
struct lau_plan;

#define LAU_NEST_GUESTS 32 /* of one supervisor at once; who comes later waits */

/* ---- the outer run, and what an inner one gets of it ---- */

struct lau_nest_outer {
	const struct lau_options *options;
	const struct lau_dirs *dirs;
	struct lau_plan *plan;
	const struct lau_broker_plan *broker;
	struct lau_record_outer record;	 /* NULLs = not recorded */
	unsigned depth;			 /* of the outer run: 0 = in none */
	int lost;			 /* LAU_NO_*, what it could not have */
	const struct lau_movelock *lock; /* of moves */
	int cgroup;			 /* who writes "0" to it is in that of the run; -1 = none */
};

/* A request, taken apart; strings live in the arena of `lau_nest_request`. */
struct lau_nest_guest {
	const struct lau_nest_outer *outer;
	const char *program;		    /* as found in the requester's PATH */
	struct lau_pipes pipes;		    /* the requester's, at their numbers */
	struct rlimit limits[RLIM_NLIMITS]; /* the requester's */
	struct lau_movelock lock;	    /* a slot in the outer run's; released by the run */
	int tmp_tree;			    /* its /tmp, if that is not the host's; -1 = it is */
};

/* ---- outside ---- */

struct lau_nest_server {
	struct lau_watch watch; /* first */
	struct lau_nest_outer outer;
	pid_t supervisor;
	struct {
		uint64_t dev, ino;
	} ns[5]; /* of the command, by kind; and all must be had */
	pid_t guests[LAU_NEST_GUESTS];
	size_t n;
	int listener; /* -1 = none */
	struct b_str path;
};

/* In the channel's directory; none (false) where the path is too long for a socket. */
bool lau_nest_listen(const char *dir, struct lau_nest_server *out);
/* Once the command runs: from here requests are served. `like`: a process in the namespaces that
 * the command began in. False: which those are cannot be told. */
bool lau_nest_serve(struct lau_nest_server *, const struct lau_nest_outer *, pid_t like);
/* Is this a process of the run, as it was when it began? B_FLOOR. */
int lau_nest_check(const struct lau_nest_server *, pid_t, struct b_err *err);
/* Of such a process: a copy of the mounts of its /tmp. A descriptor, or -1 with B_FLOOR. */
int lau_nest_take_tmp(const struct lau_nest_server *, pid_t, struct b_err *err);
void lau_nest_close(struct lau_nest_server *);
void lau_nest_release(struct lau_nest_server *);

/* May this run have runs inside? `guest`: what it is itself, NULL = a run of its own. */
bool lau_nest_may(const struct lau_nest_guest *guest, const struct lau_plan *);
/* As lau_dirs_find() and lau_plan_policy(), and after lau_plan_floor(). */
int lau_nest_plan(const struct lau_nest_guest *, const struct lau_options *, struct lau_host *,
		  struct lau_dirs *, struct lau_plan *, struct b_err *err);
void lau_nest_limit(const struct lau_nest_guest *, struct lau_plan *);
/* inherit.c: what the outer broker knows beside the rules goes into the plan of the inner one. The
 * lists are of the arena, their texts the outer run's. */
void lau_nest_inherit(struct b_arena *, const struct lau_broker_plan *outer,
		      struct lau_broker_plan *inner);
/* inherit.c: of *inner the names that are in `outer` as well. */
void lau_names_meet(struct b_arena *, const struct lau_names *outer, struct lau_names *inner);

/* What launcher/linux/run/run.c does for a guest: as lau_run(), but *out is the answer. `watch` is
 * the connection. */
int lau_run_guest(const struct lau_options *, const struct lau_nest_guest *, struct lau_watch *,
		  struct lau_outcome *out);

/* ---- inside ---- */

/* 1: the outer supervisor has made the run, *out is how it ended, and what was wrong was said.
 * 0: nobody is there to be asked. -1: the request cannot be made. */
int lau_nest_ask(const struct lau_options *, struct lau_outcome *out, struct b_err *err);

/* Is somebody there? */
bool lau_nest_is_served(void);
/* Is this sbx-shell in a run that sbx-shell has started, with the same rules? Then it is sh itself:
 * a run for each line of a recursive make would come to the end of what is allowed. */
bool lau_nest_is_shells(const struct lau_options *);

/* ---- what goes over the socket ---- */

#define LAU_NEST_MAX   (16u << 20) /* bytes of a request */
#define LAU_NEST_PIPES 12	   /* pipes passed on */
#define LAU_NEST_FDS   (4 + LAU_NEST_PIPES)
#define LAU_NEST_TOP   64 /* no pipe with a higher number */

/* In front of the request, which is packed (base/pack.h), and with the descriptors. */
struct lau_nest_head {
	char version[32]; /* of the program; both ends must be the same */
	uint64_t outcome; /* sizeof(struct lau_outcome) */
	uint64_t size;	  /* bytes behind the head */
};

struct lau_nest_request {
	struct b_arena arena;
	uint64_t ignored; /* signals, 1 << n */
	unsigned umask;
	bool is_shell;
	int pipes[LAU_NEST_PIPES]; /* their numbers */
	size_t npipes;
	const char *program;
	char **args, **env, **workspaces, **presets, **options; /* NULL-terminated */
	const void *bundle;
	size_t bundle_size;
	int fds[LAU_NEST_FDS]; /* stdio, directory, pipes */
};

/* The other way round: borrows `data`, and wants an arena that is empty or its own. B_FORMAT. */
void lau_nest_pack(const struct lau_nest_request *, struct b_str *out);
int lau_nest_parse(const void *data, size_t n, struct lau_nest_request *out, struct b_err *err);

enum lau_nest_kind {
	LAU_NEST_STARTED, /* value: 1 = the guest is in a session of its own */
	LAU_NEST_STOPPED, /* value: signal */
	LAU_NEST_DONE,	  /* a struct lau_outcome follows */
	LAU_NEST_SIGNAL	  /* to the guest */
};

struct lau_nest_news {
	uint32_t kind;
	int32_t value;
};

int lau_nest_send(int sock, const void *data, size_t n);
/* All of it, or -1; also where more is to come at b_now_ms() = `until_ms` (0: for ever), so that
 * who sends byte by byte holds nobody up. */
int lau_nest_receive(int sock, void *data, size_t n, uint64_t until_ms);

/* The fork of the supervisor that makes one inner run. */

struct lau_guest {
	struct lau_nest_server *server;
	int sock;
};

/* Reads the request, makes the run, tells how it ended: the status to exit with. */
int lau_guest_run(struct lau_guest *);
