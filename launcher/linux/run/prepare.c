/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - steps: what the kernel and the broker are given is made ready, before the first fork.
 */
#include "launcher/linux/run/run_priv.h"

#include <stdatomic.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/ring.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/process/process.h"
#include "launcher/plan/environment.h"
#include "launcher/plan/plan.h"
#include "launcher/report/report.h"
#include "policy/engine.h"
#include "policy/plan/seccomp.h"
#include "policy/rules/fsview.h"

/* Sockets that --keep-fd names count as made by the run. */
static void note_network(struct run *r, struct lau_broker_net *net)
{
	uint64_t *kept;

	net->is_apart = r->plan.want_net_ns;
	if (!net->is_apart)
		return;
	net->host = lau_net_cookie();
	kept = b_arena_alloc(&r->plan.arena, (r->o->nkeep_fds + 1) * sizeof *kept);
	for (size_t i = 0; i < r->o->nkeep_fds; i++) {
		kept[net->nkept] = lau_socket_cookie(r->o->keep_fds[i]);
		net->nkept += kept[net->nkept] != 0;
	}
	net->kept = kept;
}

/* Files that only the rule for standard input and output opens for writing. */
static void note_streams(struct run *r)
{
	static const char by[] = "builtin:stdio:";
	const struct pol_list *list = &r->plan.engine->rules.op[SBX_MODIFY];
	const char **v = NULL;
	size_t n = 0;

	for (size_t i = 0; i < list->n && n < POL_STDIO_MAX; i++) {
		const struct pol_rule *rule = &list->v[i];
		struct sbx_verdict said;

		if (strncmp(rule->origin, by, sizeof by - 1) != 0)
			continue;
		sbx_explain(&r->plan.engine->image, SBX_MODIFY, rule->base, rule->base_len, &said);
		if (!said.allowed || strncmp(said.origin, by, sizeof by - 1) != 0)
			continue;
		if (!v)
			v = b_arena_alloc(&r->plan.arena, POL_STDIO_MAX * sizeof *v);
		v[n++] = rule->base;
	}
	r->broker.streams = (struct lau_names){v, n};
}

/* The caller's shell stays where it is when its directory moves: in the repository, say, that the
 * command has put around it. An agent or an editor stands in the workspace. */
static void note_stands(struct run *r)
{
	struct b_arena *a = &r->plan.arena;
	const char **v = b_arena_alloc(a, (r->dirs.nworkspaces + 2) * sizeof *v);
	b_auto_free char *here = getcwd(NULL, 0);
	size_t n = 0;

	for (; n < r->dirs.nworkspaces; n++)
		v[n] = r->dirs.workspaces[n];
	if (here)
		v[n++] = b_arena_strndup(a, here, strlen(here));
	if (r->o->left)
		v[n++] = r->o->left;
	r->broker.stands = (struct lau_names){v, n};
}

/* What is refused in words is refused in those of the document's system. */
static void set_shape(struct run *r)
{
	static const enum egr_shape shapes[POL_DIALECT_COUNT] = {
		[POL_DIALECT_srt] = EGR_SHAPE_SRT, [POL_DIALECT_openshell] = EGR_SHAPE_OPENSHELL};

	atomic_store(&r->door.page->shape, shapes[r->dirs.layers.main.foreign.dialect]);
}

/* The relay's port is a proxy, too, and these are the names by which programs look for one. Who set
 * one by --setenv means it. */
static void add_proxy(struct run *r)
{
	static const struct {
		const char *name, *value;
	} vars[] = {
#define PROXY_AT "127.0.0.1:3128"
		{"HTTP_PROXY", "http://" PROXY_AT},
		{"http_proxy", "http://" PROXY_AT},
		{"HTTPS_PROXY", "http://" PROXY_AT},
		{"https_proxy", "http://" PROXY_AT},
		{"ALL_PROXY", "socks5h://" PROXY_AT},
		{"all_proxy", "socks5h://" PROXY_AT},
		{"NO_PROXY", "localhost,127.0.0.1,::1"},
		{"no_proxy", "localhost,127.0.0.1,::1"},
		{"NODE_USE_ENV_PROXY", "1"},
#undef PROXY_AT
	};

	r->broker.door.is_proxy = true;
	r->broker.door.port = EGR_PROXY_PORT;
	for (size_t i = 0; i < sizeof vars / sizeof *vars; i++)
		lau_environment_offer(&r->env, vars[i].name, vars[i].value);
}

/* For a run whose policy has rules on endpoints. */
static int prepare_door(struct run *r, struct b_err *err)
{
	const struct lau_plan *p = &r->plan;

	/* the run's resolver knows only whole names: no search list (resolv.conf(5)) */
	lau_environment_set(&r->env, "LOCALDOMAIN", ".");
	if (lau_door_prepare(&r->door, &r->broker.door, err) < 0 ||
	    lau_door_settle(&r->door, &p->engine->effect, err) < 0)
		return -1;
	set_shape(r);
	r->broker.door.is_published = p->engine->effect.publish.n;
	if (r->o->proxy_env)
		add_proxy(r);
	return 0;
}

static int prepare_broker(struct run *r, struct b_err *err)
{
	struct lau_plan *p = &r->plan;
	unsigned char *terminals = b_arena_alloc(&r->plan.arena, LAU_TERMINALS / 8);
	struct lau_given *given = b_arena_alloc(&r->plan.arena, LAU_GIVEN_MAX * sizeof *given);
	struct lau_own_dirs own;

	lau_terminals_find(terminals);
	if (lau_plan_apart(p, r->dirs.images, err) < 0)
		return -1;
	r->broker = (struct lau_broker_plan){
		.image = &p->engine->image,
		.read_level = p->floor.read_level,
		.traps = p->floor.traps,
		.filter_flags = p->seccomp_flags,
		.landlock_fd = -1,
		.keep_caps = p->keep_caps,
		.is_parent = r->host.kinship == LAU_KIN_PARENT,
		.is_other = p->identity.is_set,
		.ring_path = r->channel.ring_path,
		.image_path = r->channel.image_path,
		.shim_path = r->plan.use_shim ? r->shim : NULL,
		.control_path = r->nest.listener >= 0 ? r->nest.path.s : NULL,
		.foreign_roots = p->seccomp_flags & POL_SC_ALLOW_NAMESPACES,
		.allows_setid = r->o->allow & POL_SC_ALLOW_SETID,
		.ring = r->record.broker_ring,
		.tally = r->record.tally,
		.lock = &r->lock,
		.moves = r->channel.ring ? &r->channel.ring->moves : NULL,
		.ring_size = r->record.broker_ring_data,
		.level = (enum sbx_audit_level)r->o->audit_level,
		.no_scopes =
			p->landlock_abi < POL_LL_ABI_SCOPES && !p->engine->effect.abstract_sockets,
		.shares_net = !p->want_net_ns,
		.unix_host = p->seccomp_flags & POL_SC_UNIX_HOST,
		.max_size = p->bounds.v[LAU_BOUND_FSIZE],
		.terminals = terminals,
		.given = {given, lau_given_find(given)},
		.devices = {p->devices, p->ndevices},
		.tmp_kept = {p->tmp_keep, p->ntmp_keep},
		.apart = {p->apart, p->napart},
		.grants_clean = p->nclean,
		.passes_marks = p->nclean && p->use_shim,
	};
	note_network(r, &r->broker.net);
	if (p->has_endpoints && prepare_door(r, err) < 0)
		return -1;
	if (p->ends_tls && lau_run_tls(r, err) < 0)
		return -1;
	note_streams(r);
	note_stands(r);
	if (r->guest)
		lau_nest_inherit(&r->plan.arena, r->guest->outer->broker, &r->broker);
	lau_plan_own_dirs(p, &own);
	return lau_landlock_prepare_in(&p->broker_landlock, &own, &r->broker.landlock_fd, err);
}

/* What the planner knows of, and the channel, which was made since. */
static void keep_in_tmp(struct run *r)
{
	const struct pol_ruleset *rules = &r->plan.engine->rules;
	const char **v = b_arena_alloc(&r->plan.arena, (rules->ntmp_kept + 1) * sizeof *v);
	size_t n = 0;

	for (; n < rules->ntmp_kept; n++)
		v[n] = rules->tmp_kept[n];
	if (pol_is_in_tmp(r->channel.dir))
		v[n++] = r->channel.dir;
	r->plan.tmp_keep = v;
	r->plan.ntmp_keep = n;
}

/* After the last grant, and before what needs no rules. */
int lau_run_landlock(struct run *r, struct b_err *err)
{
	lau_plan_kernel(&r->plan);
	if (r->plan.engine->rules.own_tmp)
		keep_in_tmp(r);
	if (r->plan.is_wrapped)
		return 0; /* the second stage's affair */
	r->landlock.plan = &r->plan.landlock;
	lau_plan_own_dirs(&r->plan, &r->landlock.own);
	return r->plan.landlock_abi > 0 ? lau_landlock_begin(&r->landlock, err) : 0;
}

int lau_run_kernel(struct run *r, struct b_err *err)
{
	struct lau_confine *c = &r->confine;
	struct b_arena *a = &r->plan.arena;
	unsigned flags = r->plan.seccomp_flags;

	*c = (struct lau_confine){.want_net_ns = r->plan.want_net_ns,
				  .has_endpoints = r->plan.has_endpoints,
				  .isolate = r->plan.isolate,
				  .isolate_must = r->plan.isolate_must,
				  .lost = r->plan.lost_above,
				  .shm_keep = r->plan.shm_keep ? r->channel.dir : NULL,
				  .tmp_keep = r->plan.tmp_keep,
				  .ntmp_keep = r->plan.ntmp_keep,
				  .tmp_cwd = r->plan.tmp_cwd,
				  .tmp_tree = r->guest ? r->guest->tmp_tree : -1,
				  .devices = r->plan.devices,
				  .ndevices = r->plan.ndevices,
				  .dev_again = r->plan.dev_again,
				  .ndev_again = r->plan.ndev_again,
				  .plan = &r->plan.landlock,
				  .broker_plan = &r->plan.broker_landlock,
				  .pipes = &r->pipes,
				  .keep_fds = r->o->keep_fds,
				  .nkeep_fds = r->o->nkeep_fds,
				  .identity = r->plan.identity.is_set ? &r->plan.identity : NULL,
				  .keep_caps = r->plan.keep_caps,
				  .landlock_fd = r->landlock.ruleset,
				  .landlock_ready = r->landlock.ready};
	if (r->plan.floor.uses_broker && prepare_broker(r, err) < 0)
		return -1;
	c->broker_landlock_fd = r->broker.landlock_fd;
	if (lau_seccomp_prepare(a, flags, &c->bpf, &c->bpf_len, err) < 0 ||
	    lau_seccomp_prepare(a, flags | POL_SC_NO_IPC, &c->bpf_no_ipc, &c->bpf_no_ipc_len, err))
		return -1;
	/* without it a namespace that cannot be had is an error */
	if (r->o->require >> LAU_NEED_NET & 1 ||
	    (r->plan.has_endpoints && r->o->strictness != LAU_BEST_EFFORT))
		return 0;
	return lau_seccomp_prepare(a, flags | POL_SC_NO_INET, &c->bpf_no_inet, &c->bpf_no_inet_len,
				   err);
}
