/*
 * plan.h - from options, host and directories to everything that will hold the command: the
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
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "policy/plan/floor.h"
#include "launcher/bounds.h"
#include "launcher/identity.h"
#include "policy/plan/landlock.h"
#include "policy/plan/mounts.h"

struct b_err;
struct b_str;
struct lau_dirs;
struct lau_host;
struct lau_options;
struct pol_bwrap;
struct pol_engine;

struct lau_loss {
	const char *text; /* "what: why: remedy", one line */
	bool fatal;	  /* refused under --strict; else a known limit */
	bool is_note;	  /* a limit of an option that was given: told at the start */
	bool is_loss;	  /* told at the start, too, and never refused: who can be had is had */
};

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
	unsigned isolate;	       /* LAU_ISOLATE_* wanted */
	unsigned isolate_must;	       /* of those, what the run may not go without */
	const char *no_shm;	       /* why no private /dev/shm can be made, NULL = it can */
	const char *shm_keep;	       /* the channel's directory, when it lies in /dev/shm */
	/* Device nodes outside of /dev that rules name */
	const char **devices;
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
/* Of lau_plan_policy(), with `isolate` known: settles the host, and no_broker. */
void lau_plan_serving(struct lau_host *, const struct lau_dirs *, struct lau_plan *);
/* The command could not be confined: what is remembered of the broker may be wrong, and is dropped.
 */
void lau_plan_serving_failed(const struct lau_dirs *, struct lau_plan *);
/* The kernel's rules, once the run's own files were granted by pol_floor_grant(). */
void lau_plan_kernel(struct lau_plan *);
/* With --backend bwrap: what bubblewrap is told beside the mounts. `cwd` is borrowed. */
void lau_plan_wrap(const struct lau_plan *, bool is_root, const char *cwd, struct pol_bwrap *out);
/* What the spawn could not have (LAU_NET_FILTERED, LAU_NO_*) becomes losses, none of them fatal. */
void lau_plan_lost(struct lau_plan *, int lost);
/* "landlock abi 7", "seccomp" ...: what holds; arena strings. `lost`: what the
 * spawn could not have (LAU_NET_FILTERED, LAU_NO_*). */
const char **lau_plan_mechanisms(struct lau_plan *, int lost, size_t *out_n);
void lau_plan_release(struct lau_plan *);
