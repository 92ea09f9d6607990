/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - from options, host and directories to everything that will confine the command.
 * Values: nothing is applied here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"
#include "policy/plan/floor.h"
#include "policy/plan/landlock.h"
#include "policy/plan/mounts.h"

struct b_arena;
struct b_err;
struct b_str;
struct lau_dirs;
struct lau_environment;
struct lau_host;
struct lau_options;
struct lau_plan;
struct pol_bwrap;
struct pol_engine;
struct pol_foreign;

/*
 * Limits on what the command may use: --memory, --cpu-time, --nproc, --fsize, --nofile.
 * Parses limits and decides whether a cgroup or setrlimit(2) enforces each. Pure.
 *
 * A cgroup limits the run as a whole, setrlimit(2) each process; RLIMIT_NPROC counts per user, in
 * a user namespace of the run per user of that namespace.
 */

enum lau_bound {
	LAU_BOUND_MEMORY, /* bytes */
	LAU_BOUND_CPU,	  /* seconds */
	LAU_BOUND_NPROC,  /* processes and threads */
	LAU_BOUND_FSIZE,  /* bytes, of each file */
	LAU_BOUND_NOFILE, /* descriptors */
	LAU_BOUND_COUNT
};

enum lau_holder { LAU_HELD_NOT, LAU_HELD_RLIMIT, LAU_HELD_CGROUP };

struct lau_bounds {
	uint64_t v[LAU_BOUND_COUNT]; /* 0 = none */
	enum lau_holder by[LAU_BOUND_COUNT];
};

bool lau_bounds_any(const struct lau_bounds *);
const char *lau_bound_name(enum lau_bound); /* "memory", as the option */
const char *lau_holder_name(enum lau_holder);
/* B_USAGE: the character where it goes wrong, and what is expected there. */
int lau_bound_parse(enum lau_bound, const char *text, uint64_t *out, struct b_err *err);
/* What a cgroup holds, process.h; bits of 1 << enum lau_bound. */
#define LAU_CGROUP_BOUNDS (1u << LAU_BOUND_MEMORY | 1u << LAU_BOUND_NPROC)
/* Who holds each, into the plan, and what is lost. `cgroup`: those that one can hold here. */
void lau_bounds_plan(const struct lau_options *, const struct lau_host *, unsigned cgroup,
		     struct lau_plan *);

/*
 * Whom the command runs as, when a policy names somebody (OpenShell's `process`;
 * where it is left out, the user `sandbox`) and the launcher is root. Found before the fork; the
 * child changes to it for good (confine.h).
 */

#define LAU_GROUPS_MAX 64

struct lau_identity {
	bool is_set;
	uid_t uid;
	gid_t gid;
	gid_t groups[LAU_GROUPS_MAX]; /* all, the first one too */
	int ngroups;
	const char *name, *home; /* NULL: a number that passwd does not know. Arena. */
};

/* Does the document say it? Where nobody is named, root alone is concerned. */
bool lau_identity_is_asked(const struct pol_foreign *);
/* Of the two that one is left out follows from the other: the user's own group; the user
 * `sandbox`, as with OpenShell. *out_loss (arena) says what is missing: we are not root, or there
 * is no such user, and the command runs as the launcher does; or no such group, and it has the
 * user's own; `is_refused`: for who is refused because of it. NULL: it is as asked, or nobody
 * asked. B_POLICY: the name is another one for root. */
int lau_identity_find(const struct pol_foreign *, bool is_refused, struct b_arena *,
		      struct lau_identity *out, const char **out_loss, struct b_err *err);
/* HOME, USER, LOGNAME: of a number that passwd does not know, "/" and the number. */
void lau_identity_export(const struct lau_identity *, struct lau_environment *);

/*
 * From options, host and directories to everything that will hold the command: the
 * compiled policy, the floor, what the floor cannot hold, the kernel's rules. A value: nothing
 * is applied here.
 *
 *	lau_plan_policy(&options, &host, &dirs, &plan, &err);	the rules; writes nothing
 *	lau_dirs_make(&dirs, &err);		what the floor grants must exist
 *	lau_plan_floor(&options, &host, &plan, &err);
 *	if (plan.nfatal && strict) refuse, naming plan.losses[0 .. nlosses) that are fatal
 *	pol_floor_grant(&plan.floor, ...);		files of the run itself
 *	lau_plan_kernel(&plan);
 */

struct lau_loss {
	const char *text; /* "what: why: remedy", one line */
	bool fatal;	  /* refused under --strict; else a known limit */
	bool is_note;	  /* a limit of an option that was given: told at the start */
	bool is_loss;	  /* told at the start, too, and never refused: who can be had is had */
};

#define LAU_NEST_DEPTH 4 /* runs inside runs */

struct lau_plan {
	struct b_arena arena;
	struct pol_engine *engine;
	struct pol_floor floor;
	struct pol_ll_plan landlock;
	struct pol_ll_plan broker_landlock; /* of the broker's own domain, when there is one */
	int landlock_abi;		    /* 0 = none */
	bool is_wrapped;		    /* --backend bwrap: the mounts, and Landlock inside */
	bool wrap_pid;			    /* a pid namespace, made by bubblewrap */
	unsigned promises_open;		    /* protected names that nothing here can hold */
	const char *no_broker;		    /* "cause: remedy"; NULL = there is one */
	bool is_nested;			    /* it makes no user and no cgroup namespace */
	struct pol_mounts mounts;
	const char *wrap_self;	       /* this program, which is started once more inside */
	bool want_net_ns, filter_inet; /* network none */
	bool has_endpoints;	       /* rules say what of the network is open */
	bool ends_tls;		       /* and what is in requests that may come encrypted */
	unsigned isolate;	       /* LAU_ISOLATE_* wanted */
	unsigned isolate_must;	       /* of those, what the run may not go without */
	const char *no_shm;	       /* why no private /dev/shm can be made, NULL = it can */
	const char *shm_keep;	       /* the channel's directory, when it lies in /dev/shm */
	/* Each document of the run alone: what compares two names asks these. lau_plan_apart() */
	const struct sbx_image **apart;
	size_t napart;
	size_t nclean;	      /* directories in which the kernel decides marked calls; 0 = none */
	const char **devices; /* device nodes outside of /dev that rules name */
	size_t ndevices;
	/* Where /dev's file system is mounted a second time (root: who else may change it?) */
	const char **dev_again;
	size_t ndev_again;
	bool use_shim;
	unsigned seccomp_flags; /* POL_SC_* */
	uint64_t keep_caps;
	struct lau_identity identity;	 /* whom the command runs as */
	const char *env_mode;		 /* "keep" ...; NULL = not looked at */
	const char *const *removed_vars; /* names of ours that the command lacks */
	size_t nremoved_vars;
	struct lau_bounds bounds; /* with who holds them */
	const char *cgroup;	  /* where one is made that holds some of them; NULL = nowhere */
	struct lau_loss *losses;
	size_t nlosses, losses_cap;
	size_t nfatal;
};

/* Why a run inside a run is refused under --strict, and what to do. */
extern const char lau_inside_text[];

/* Settles the host: whether a broker can serve depends on the namespaces of the run. */
int lau_plan_policy(const struct lau_options *, struct lau_host *, struct lau_dirs *,
		    struct lau_plan *out, struct b_err *err);
int lau_plan_floor(const struct lau_options *, const struct lau_host *, struct lau_plan *,
		   struct b_err *err);
/* One line more, kept as it is: what is lost, a reason not to run under --strict; or a limit. */
void lau_plan_loss(struct lau_plan *, const char *text);
void lau_plan_limit(struct lau_plan *, const char *text);
/* Of lau_plan_policy(), with `isolate` known: settles the host, and no_broker. may_isolate: where
 * the broker needs a user namespace of the run, `isolate` grows. */
void lau_plan_serving(struct lau_host *, const struct lau_dirs *, bool may_isolate,
		      struct lau_plan *);
/* The command could not be confined: what is remembered of the broker may be wrong, and is dropped.
 */
void lau_plan_serving_failed(const struct lau_dirs *, struct lau_plan *);
/* The kernel's rules, once the run's own files were granted by pol_floor_grant(). */
void lau_plan_kernel(struct lau_plan *);
/* Fills `apart`, for a run with a broker. `cache`: of compiled policies, NULL = none. */
int lau_plan_apart(struct lau_plan *, const char *cache, struct b_err *err);
/* With --backend bwrap: what bubblewrap is told beside the mounts. `cwd` is borrowed. */
void lau_plan_wrap(const struct lau_plan *, bool is_root, const char *cwd, struct pol_bwrap *out);
/* What the spawn could not have (LAU_NET_FILTERED, LAU_NO_*) becomes losses, none of them fatal. */
void lau_plan_lost(struct lau_plan *, int lost);
/* "landlock abi 7", "seccomp" ...: what holds; arena strings. `lost`: what the
 * spawn could not have (LAU_NET_FILTERED, LAU_NO_*). */
const char **lau_plan_mechanisms(struct lau_plan *, int lost, size_t *out_n);
void lau_plan_release(struct lau_plan *);

/*
 * The plan's inside, shared by plan.c (what holds the command) and planlosses.c (what
 * cannot be held on this host).
 */

/* One line, borrowed: what is lost, which strict refuses when it is fatal; else a limit. */
void lau_plan_add(struct lau_plan *, bool fatal, const char *text);

/* ---- planlosses.c ---- */

/* The floor's gaps. */
void lau_plan_gaps(struct lau_plan *);
/* What is known of the names in the workspaces. */
void lau_plan_names(struct lau_plan *);
/* What this kernel's Landlock does not keep, nor what stands beside it; and what a namespace would
 * have kept that the spawn could not have (LAU_NET_FILTERED, LAU_NO_PID). */
void lau_plan_abi(struct lau_plan *, const struct lau_host *);
void lau_plan_abi_lost(struct lau_plan *, int lost);
/* The protected set is taken from the gaps, and told as one. */
void lau_plan_take_promises(struct lau_plan *);
void lau_plan_protected(struct lau_plan *, const struct lau_host *);
/* The broker serves here, but cannot have its callers' descriptors. */
bool lau_plan_takes_no_descriptor(const struct lau_host *);
void lau_plan_sockets(struct lau_plan *, const struct lau_host *);
void lau_plan_namespaces(const struct lau_options *, const struct lau_host *, struct lau_plan *);

/* ---- planlosses.c ---- */

/* plan->devices; and where the run has no mounts of its own, that others can be opened. */
void lau_plan_devices(const struct lau_host *, struct lau_plan *);
/* --marked-calls: grants of the floor, and nclean; or a note why there are none. */
void lau_plan_marks(const struct lau_options *, const struct lau_host *, struct lau_plan *);
/* The spawn could not have such mounts (LAU_NO_NODEV). */
void lau_plan_devices_lost(struct lau_plan *);

/*
 * An agent's directory, of which the run has a copy of its own. Its preset opens what
 * outlives a run and nobody runs or obeys; the agent also writes settings, caches and the like,
 * and the host's agent obeys them. A variable leads it to a directory in the scratch directory
 * instead: there lie copies of the files, links to what is read, links to what the preset opens.
 * What is written beside those links goes with the run.
 *
 *	lau_agents_export(&dirs, &env);
 *	lau_agents_make(&dirs, engine, &err);		before the command
 *	lau_agents_return(&dirs, engine);		when all of it has ended
 */

/* The variables, and those of the directory for temporary files; nothing where no agent's preset is
 * in use, or no scratch directory. */
void lau_agents_export(const struct lau_dirs *, struct lau_environment *);
/* Copies what the policy lets the command read. B_SYSTEM. */
int lau_agents_make(const struct lau_dirs *, struct pol_engine *, struct b_err *err);
/* A file that the preset opens, and that the agent has replaced in the copy (a login that was
 * renewed), takes the place of the original, where the policy lets the command write that one. */
void lau_agents_return(const struct lau_dirs *, struct pol_engine *);
