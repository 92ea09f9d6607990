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
struct pol_settings;

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
/* 0 with *out, or -1 with B_USAGE, which names the wrong character and what is expected there. */
int lau_bound_parse(enum lau_bound, const char *text, uint64_t *out, struct b_err *err);
/* The limits that a cgroup can enforce (process.h): bits of 1 << enum lau_bound. */
#define LAU_CGROUP_BOUNDS (1u << LAU_BOUND_MEMORY | 1u << LAU_BOUND_NPROC)
/* Puts into the plan what enforces each limit, and which limits are lost. `cgroup`: those that a
 * cgroup can enforce here. */
void lau_bounds_plan(const struct lau_options *, const struct lau_host *, unsigned cgroup,
		     struct lau_plan *);

/*
 * The user of the command, if a policy names one (OpenShell's `process`; without it the user
 * `sandbox`) and the launcher is root. Found before the fork. The child changes to it and cannot
 * change back (confine.h).
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

/* Whether the document names a user or group. Without one, only root's run changes its user. */
bool lau_identity_is_asked(const struct pol_foreign *);
/* Finds user and group. If the document names only a user, the group is the user's own; if it names
 * only a group, the user is `sandbox`, as with OpenShell. *out_loss (arena) says what is missing,
 * or is NULL: the launcher is not root or the user does not exist (the command then runs as the
 * launcher's user), or the group does not exist (it then gets the user's own). `is_refused`: the
 * text is for a run that is refused because of it. Fails with B_POLICY if the name is another name
 * of root. */
int lau_identity_find(const struct pol_foreign *, bool is_refused, struct b_arena *,
		      struct lau_identity *out, const char **out_loss, struct b_err *err);
/* Sets HOME, USER and LOGNAME. For a number that passwd does not know they are "/" and the number.
 */
void lau_identity_export(const struct lau_identity *, struct lau_environment *);

/*
 * Plans, from options, host and directories, everything that will confine the command: the
 * compiled policy, the floor, the rules that the floor cannot enforce, the kernel's rules. Values
 * only: nothing is applied here.
 *
 *	lau_plan_policy(&options, &host, &dirs, &plan, &err);	the rules; writes no file
 *	lau_dirs_make(&dirs, &err);		the floor grants only what exists
 *	lau_plan_floor(&options, &host, &plan, &err);
 *	if (plan.nfatal && strict) refuse, naming plan.losses[0 .. nlosses) that are fatal
 *	pol_floor_grant(&plan.floor, ...);		files of the run itself
 *	lau_plan_kernel(&plan);
 */

struct lau_loss {
	const char *text; /* "what: why: remedy", one line */
	bool fatal;	  /* refused under --strict; else a known limit */
	bool is_note;	  /* a limit of an option that was given: printed at the start */
	bool is_loss;	  /* printed at the start, too, and never refused */
};

#define LAU_NEST_DEPTH 4 /* runs inside runs */

struct lau_plan {
	struct b_arena arena;
	struct pol_engine *engine;
	struct pol_floor floor;
	struct pol_ll_plan landlock;
	struct pol_ll_plan broker_landlock; /* of the broker's own domain, if there is a broker */
	int landlock_abi;		    /* 0 = none */
	bool is_wrapped;		    /* --backend bwrap: the mounts, and Landlock inside */
	bool wrap_pid;			    /* a pid namespace, made by bubblewrap */
	unsigned promises_open;		    /* protected names that nothing here can enforce */
	const char *no_broker;		    /* "cause: remedy"; NULL = there is one */
	bool is_nested;			    /* it makes no user and no cgroup namespace */
	struct pol_mounts mounts;
	const char *wrap_self;	       /* this program, which is started once more inside */
	bool want_net_ns, filter_inet; /* network none */
	bool has_endpoints;	       /* there are rules on endpoints */
	bool ends_tls;		       /* and on requests that may come encrypted */
	unsigned isolate;	       /* LAU_ISOLATE_* wanted */
	unsigned isolate_must;	       /* of those, the ones that the run must have */
	const char *no_shm;	       /* why no private /dev/shm can be made; NULL = one can */
	const char *shm_keep;	       /* the channel's directory, if it is in /dev/shm */
	const char *no_tmp;	       /* why no private /tmp can be made; NULL = one can */
	const char **tmp_keep;	       /* of the host's /tmp; known when the channel is made */
	size_t ntmp_keep;
	const char *tmp_cwd; /* the working directory, if it is in a /tmp that is not the host's */
	int lost_above;	     /* LAU_NO_TMP: of the run around this one */
	/* Each document of the run alone: comparisons of two names ask these. lau_plan_apart() */
	const struct sbx_image **apart;
	size_t napart;
	size_t nclean;	      /* directories in which the kernel decides marked calls; 0 = none */
	const char **devices; /* device nodes outside of /dev that rules name */
	size_t ndevices;
	/* Places where /dev's file system is mounted a second time (root only) */
	const char **dev_again;
	size_t ndev_again;
	bool use_shim;
	unsigned seccomp_flags; /* POL_SC_* */
	uint64_t keep_caps;
	struct lau_identity identity; /* the command's user */
	const char *env_mode;	      /* "keep" ...; NULL = not judged */
	const char *const
		*removed_vars; /* the launcher's variables that the command does not get */
	size_t nremoved_vars;
	struct lau_bounds bounds; /* with what enforces them */
	const char *cgroup;	  /* where one is made for some of them; NULL = none is made */
	struct lau_loss *losses;
	size_t nlosses, losses_cap;
	size_t nfatal;
};

/* Why a run inside a run is refused under --strict, and what to do. */
extern const char lau_inside_text[];

/* Completes the host, too: whether a broker can serve depends on the run's namespaces. 0, or -1
 * with the error of the policy. lau_plan_release() also after a failure. */
int lau_plan_policy(const struct lau_options *, struct lau_host *, struct lau_dirs *,
		    struct lau_plan *out, struct b_err *err);
int lau_plan_floor(const struct lau_options *, const struct lau_host *, struct lau_plan *,
		   struct b_err *err);
#define LAU_NO_LOOPBACK                                                                            \
	"network loopback: this version cannot open only the host's loopback: use --network "      \
	"none (which has a private loopback) or --network host"
/* Line `i` of what this system cannot enforce of a document, whatever the host and the options,
 * NULL = no more. */
const char *lau_document_lost(const struct pol_settings *, size_t i);
/* Add a line ("what: why: remedy"), which must outlive the plan: a loss, which strict refuses; a
 * known limit. */
void lau_plan_loss(struct lau_plan *, const char *text);
void lau_plan_limit(struct lau_plan *, const char *text);
/* A step of lau_plan_policy(), after `isolate` is known: completes the host, and no_broker.
 * may_isolate: `isolate` may grow, if the broker needs a user namespace of the run. */
void lau_plan_serving(struct lau_host *, const struct lau_dirs *, bool may_isolate,
		      struct lau_plan *);
/* The command could not be confined: forgets the stored answer about the broker, which may be
 * wrong. */
void lau_plan_serving_failed(const struct lau_dirs *, struct lau_plan *);
/* plan_tmp.c: what the launcher itself needs of the host's /tmp, for the request; NULL or why the
 * run can have none of its own. */
struct pol_request;
const char *lau_plan_tmp(const struct lau_options *, const struct lau_host *, struct lau_plan *,
			 struct pol_request *);
/* After the rules are known. B_FLOOR: more is to stay in it than can. */
int lau_plan_tmp_kept(struct lau_plan *, struct b_err *err);
bool lau_is_in_tmp(const char *path);
struct lau_own_dirs;
void lau_plan_own_dirs(const struct lau_plan *, struct lau_own_dirs *out);
/* Plans the kernel's rules, after pol_floor_grant() has granted the run's own files. */
void lau_plan_kernel(struct lau_plan *);
/* Fills `apart`, for a run with a broker. `cache`: of compiled policies, NULL = none. */
int lau_plan_apart(struct lau_plan *, const char *cache, struct b_err *err);
/* With --backend bwrap: bubblewrap's arguments except the mounts. `cwd` is borrowed. */
void lau_plan_wrap(const struct lau_plan *, bool is_root, const char *cwd, struct pol_bwrap *out);
/* Adds what the spawn could not get (LAU_NET_FILTERED, LAU_NO_*) as losses that are not fatal. */
void lau_plan_lost(struct lau_plan *, int lost);
/* The mechanisms that confine the run: "landlock abi 7", "seccomp" ... The plan owns the strings.
 * `lost`: what the spawn could not get (LAU_NET_FILTERED, LAU_NO_*). */
const char **lau_plan_mechanisms(struct lau_plan *, int lost, size_t *out_n);
void lau_plan_release(struct lau_plan *);

/*
 * Shared by plan.c (what confines the command) and planlosses.c (what cannot be enforced on this
 * host).
 */

/* One line, borrowed: fatal = a loss, which strict refuses; otherwise a limit. */
void lau_plan_add(struct lau_plan *, bool fatal, const char *text);

/* ---- planlosses.c ---- */

/* Adds the floor's gaps. */
void lau_plan_gaps(struct lau_plan *);
/* Adds what is known of the names in the workspaces. */
void lau_plan_names(struct lau_plan *);
/* Adds what neither this kernel's Landlock nor another part enforces; and what a namespace would
 * have enforced that the spawn could not get (LAU_NET_FILTERED, LAU_NO_PID). */
void lau_plan_abi(struct lau_plan *, const struct lau_host *);
void lau_plan_abi_lost(struct lau_plan *, int lost);
/* Takes the protected set out of the gaps, to be reported as one. */
void lau_plan_take_promises(struct lau_plan *);
void lau_plan_protected(struct lau_plan *, const struct lau_host *);
/* True if the broker serves here, but cannot take over its callers' descriptors. */
bool lau_plan_takes_no_descriptor(const struct lau_host *);
void lau_plan_sockets(struct lau_plan *, const struct lau_host *);
void lau_plan_namespaces(const struct lau_options *, const struct lau_host *, struct lau_plan *);

/* ---- planlosses.c ---- */

/* Fills plan->devices. If the run has no mounts of its own, adds that other nodes can be opened. */
void lau_plan_devices(const struct lau_host *, struct lau_plan *);
/* --marked-calls: adds the floor's grants, and nclean; or a note why there are none. */
void lau_plan_marks(const struct lau_options *, const struct lau_host *, struct lau_plan *);
/* The spawn could not get such mounts (LAU_NO_NODEV). */
void lau_plan_devices_lost(struct lau_plan *);

/*
 * An agent's directory, of which the run gets a copy. The agent's preset opens only files that
 * outlive a run and that no program obeys. But the agent also writes settings and caches, which
 * the host's agent obeys. A variable therefore leads it to a directory in the scratch directory,
 * which has copies of the files, links to files that it only reads, and links to the places that
 * the preset opens. Files that it writes beside those links are removed with the run.
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
