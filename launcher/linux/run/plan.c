/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - see plan.h. */
#include "launcher/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/connect.h"
#include "launcher/linux/process/process.h"
#include "launcher/options/options.h"
#include "launcher/plan/program.h"
#include "launcher/report/host.h"
#include "launcher/report/report.h"
#include "launcher/run/confine.h"
#include "launcher/run/dirs.h"
#include "launcher/run/run.h"
#include "policy/engine.h"
#include "policy/plan/mounts.h"
#include "policy/plan/seccomp.h"

#define SHM "/dev/shm"

const char lau_inside_text[] =
	"a run inside a run needs the outer run to make it, and this one cannot (it has no broker "
	"or no shim, or is the fourth inside another): with --best-effort --audit-level none the "
	"shim alone enforces the inner policy, inside the outer run";

void lau_plan_add(struct lau_plan *p, bool fatal, const char *text)
{
	b_grow(p->losses, p->nlosses, p->losses_cap);
	p->losses[p->nlosses++] = (struct lau_loss){.text = text, .fatal = fatal};
	p->nfatal += fatal;
}

void lau_plan_loss(struct lau_plan *p, const char *text)
{
	lau_plan_add(p, true, text);
}

void lau_plan_limit(struct lau_plan *p, const char *text)
{
	lau_plan_add(p, false, text);
}

/* In a build tree that is the workspace the next run would load what this one has written: a
 * deny inside a writable tree, the broker's work. How many rules. */
static size_t protect_own(const struct lau_host *host, const struct lau_dirs *dirs,
			  struct lau_plan *p, const char *own[LAU_OWN_MAX])
{
	size_t n = lau_own_files(&p->arena, dirs->workspaces, dirs->nworkspaces, own);

	if (!n || host->has_broker)
		return n;
	lau_plan_add(
		p, false,
		b_arena_printf(&p->arena,
			       "%s lies in the workspace: without the broker (Linux 5.19) the "
			       "command may replace it: use a copy that is installed elsewhere",
			       own[n - 1]));
	p->losses[p->nlosses - 1].is_note = true;
	return 0;
}

/* ---- what the run has for itself ---- */

/* An ordinary user needs a user namespace for it, in which files of other users belong to nobody
 * (ssh(1) refuses its own configuration there). So the default uses one only where the network
 * needs one anyway, or where the policy's own system always has one. A run inside a run cannot have
 * any.
 */
static unsigned isolate_auto(const struct lau_host *host, const struct lau_dirs *dirs)
{
	const struct pol_foreign *f = &dirs->layers.main.foreign;
	bool has_tmp = f->dialect == POL_DIALECT_caliban, is_calibans = has_tmp && !f->is_nested;

	if (host->is_inside ||
	    (!host->is_root && !is_calibans && dirs->layers.effect.network == POL_NET_HOST))
		return 0;
	return LAU_ISOLATE_PID | LAU_ISOLATE_SHM | (has_tmp ? LAU_ISOLATE_TMP : 0);
}

static bool is_in_shm(const char *path)
{
	return path && strncmp(path, SHM, sizeof SHM - 1) == 0 &&
	       (path[sizeof SHM - 1] == '/' || !path[sizeof SHM - 1]);
}

/* What the command works with lies in the host's /dev/shm, which a private one would hide. */
static const char *needed_in_shm(const struct lau_options *o, const struct lau_dirs *dirs)
{
	for (size_t i = 0; i < dirs->nworkspaces; i++)
		if (is_in_shm(dirs->workspaces[i]))
			return "the workspace";
	for (size_t i = 0; i < o->policy.nrules; i++)
		if (is_in_shm(o->policy.rules[i].text))
			return o->policy.rules[i].option;
	return is_in_shm(dirs->scratch.path) ? "the scratch directory" : NULL;
}

/* The channel may lie in /dev/shm: a deny inside what is allowed, which needs the broker. */
static const char *no_shm(const struct lau_options *o, const struct lau_host *host,
			  const struct lau_dirs *dirs, struct lau_plan *p)
{
	const char *what = needed_in_shm(o, dirs);

	if (!host->has_shm)
		return SHM " is not a directory here: use --isolate none or pid";
	if (what)
		return b_arena_printf(&p->arena,
				      "%s lies in the host's " SHM ": use --isolate none or pid",
				      what);
	if (p->shm_keep && !host->has_broker)
		return "the channel to the shim lies there, which needs the broker (Linux 5.19): "
		       "set "
		       "XDG_RUNTIME_DIR, or use --no-shim";
	return NULL;
}

/* srt's word for a host where nobody may mount a /proc: it stays, and so do the processes. */
static bool keeps_proc(const struct lau_dirs *dirs)
{
	const struct pol_foreign *f = &dirs->layers.main.foreign;

	return f->is_nested && f->dialect == POL_DIALECT_srt;
}

static void plan_isolation(const struct lau_options *o, struct lau_host *host,
			   const struct lau_dirs *dirs, struct lau_plan *p)
{
	p->isolate_must = (o->require >> LAU_NEED_PID & 1 ? LAU_ISOLATE_PID : 0) |
			  (o->require >> LAU_NEED_SHM & 1 ? LAU_ISOLATE_SHM : 0) |
			  (o->require >> LAU_NEED_TMP & 1 ? LAU_ISOLATE_TMP : 0);
	p->isolate = p->isolate_must | (o->isolate_given ? o->isolate : isolate_auto(host, dirs));
	/* caliban's documents rely on it: the other parts are an upgrade, this one is a promise */
	if (p->isolate & LAU_ISOLATE_TMP && !dirs->layers.effect.lax &&
	    o->strictness != LAU_BEST_EFFORT)
		p->isolate_must |= LAU_ISOLATE_TMP;
	p->shm_keep = is_in_shm(dirs->channels) ? dirs->channels : NULL;
#ifdef __linux__
	p->is_wrapped = o->backend == LAU_BACKEND_BWRAP;
#endif
	lau_plan_serving(host, dirs, !o->isolate_given, p);
	p->no_shm = no_shm(o, host, dirs, p);
	if (p->no_shm)
		p->isolate &= ~LAU_ISOLATE_SHM;
	/* bubblewrap makes the namespaces, and a /dev of its own */
	if (p->is_wrapped) {
		p->wrap_pid = o->isolate_given ? o->isolate & LAU_ISOLATE_PID : !keeps_proc(dirs);
		p->is_nested = dirs->layers.main.foreign.is_nested;
		p->isolate = p->isolate_must = p->isolate & LAU_ISOLATE_TMP; /* which it cannot */
		p->no_shm = NULL;
	}
}

static void add_told(struct lau_plan *p, bool fatal, const char *text)
{
	lau_plan_add(p, fatal, text);
	p->losses[p->nlosses - 1].is_loss = true;
}

/* Who is root has something to lose: where strictness is asked for, that is a refusal. By mounts
 * another program starts the command, as us. */
static int plan_identity(const struct lau_options *o, const struct lau_dirs *dirs,
			 struct lau_plan *p, struct b_err *err)
{
	const struct pol_setting_value *said = &dirs->layers.main.settings.value[POL_SET_strict];
	bool is_strict = o->strictness == LAU_STRICT_DEFAULT ? said->said && said->v
							     : o->strictness == LAU_STRICT;
	bool fatal = is_strict && geteuid() == 0;
	const char *loss;

	if (lau_identity_find(&dirs->layers.main.foreign, fatal, &p->arena, &p->identity, &loss,
			      err) < 0)
		return -1;
	if (loss)
		add_told(p, fatal, loss);
	if (!p->identity.is_set || !p->is_wrapped)
		return 0;
	return b_fail(err, B_FLOOR, 0,
		      "--backend bwrap cannot change the user as the policy asks: "
		      "use --backend landlock");
}

int lau_plan_policy(const struct lau_options *o, struct lau_host *host, struct lau_dirs *dirs,
		    struct lau_plan *p, struct b_err *err)
{
	const char *own[LAU_OWN_MAX];
	struct lau_request q;

	*p = (struct lau_plan){0};
	plan_isolation(o, host, dirs, p);
	lau_parts_request(o, dirs, &q);
	q.rq.own_files = own;
	q.rq.nown_files = protect_own(host, dirs, p, own);
	q.rq.with_shm = p->isolate & LAU_ISOLATE_SHM;
	p->no_tmp = lau_plan_tmp(o, host, p, &q.rq);
	q.rq.is_on_macos = host->is_asked_as_macos;
	/* Denies inside a writable tree: the broker's work, or by covers that of mounts, for what
	 * is there. Without either they are refused, or the shim's alone. */
	q.rq.with_protected = true;
	/* In preload-only mode (--print-env) endpoints are not checked. */
	q.rq.with_endpoints =
		host->has_broker && !p->is_wrapped && !host->is_asked_as_macos && !o->print_env;
	q.rq.with_id_maps = host->has_broker && o->allow & POL_SC_ALLOW_NAMESPACES;
	if (plan_identity(o, dirs, p, err) < 0)
		return -1;
	if (pol_engine_new(&q.rq, &p->engine, err) < 0)
		return -1;
	return lau_plan_tmp_kept(p, err);
}

/* ---- parts of the floor ---- */

static void note_program(void *ctx, const struct pol_endpoint *r, const struct pol_program *program)
{
	struct lau_plan *p = ctx;

	lau_plan_add(p, false,
		     b_arena_printf(&p->arena,
				    "network: rule `%s` is for the program %s, but the command may "
				    "change that file",
				    r->matched, program->text));
	p->losses[p->nlosses - 1].is_note = true;
}

/* The broker and a network namespace enforce the rules, each by itself, and sbx-egress is the only
 * way out. Without one of them the engine has reported the loss, and the command has no network. */
static void plan_endpoints(struct lau_plan *p)
{
	p->has_endpoints = p->engine->effect.by_endpoint && p->engine->has_endpoints;
	if (!p->has_endpoints)
		return;
	pol_engine_changeable(p->engine, note_program, p);
	p->ends_tls = sbx_connect_ends_tls(&p->engine->image);
	if (p->ends_tls && !p->engine->effect.scratch) {
		p->ends_tls = false;
		lau_plan_loss(p,
			      "network: rules on requests: encrypted requests are refused, because "
			      "the run has no directory for its certificates: set scratch: true");
	}
	p->want_net_ns = p->filter_inet = true;
	p->floor.uses_broker = true;
}

static void plan_network(struct lau_plan *p)
{
	plan_endpoints(p);
	if (p->engine->effect.network == POL_NET_HOST)
		return;
	p->want_net_ns = !p->is_wrapped;
	p->filter_inet = !p->is_wrapped;
	if (p->engine->effect.network == POL_NET_LOOPBACK)
		lau_plan_add(p, true, LAU_NO_LOOPBACK);
}

/* What is asked for by name and would do nothing is not passed over. */
static void plan_proxy(const struct lau_options *o, struct lau_plan *p)
{
	if (o->proxy_env && !p->has_endpoints)
		lau_plan_loss(p, "--proxy-env: without rules on endpoints the run has no proxy: "
				 "add --connect HOST:PORT");
}

/* Reports settings of the relay that have no effect, because connections do not pass through it. */
static void plan_relayed(struct lau_plan *p)
{
	const struct pol_effect *e = &p->engine->effect;
	bool is_limited = e->net_limits.connections || e->net_limits.bytes || e->net_limits.rate;
	const char *why = e->network == POL_NET_HOST
				  ? "the command uses the host's network directly"
				  : "this host cannot relay connections";

	if (p->has_endpoints || (e->network != POL_NET_HOST && !e->by_endpoint))
		return;
	if (is_limited)
		lau_plan_loss(p, b_arena_printf(&p->arena, "limits of the network: %s", why));
	if (e->upstream)
		lau_plan_loss(p, b_arena_printf(&p->arena, "the proxy upstream: %s", why));
	if (e->publish.n && e->network != POL_NET_HOST)
		lau_plan_loss(p, b_arena_printf(&p->arena, "a published port: %s", why));
}

static bool judges_sockets(const struct lau_plan *p)
{
	return p->engine->rules.op[SBX_CONNECT].n && p->engine->effect.unix_ != POL_UNIX_HOST;
}

/* Only the broker judges sockets by path. */
static void plan_sockets(const struct lau_host *host, struct lau_plan *p)
{
	if (judges_sockets(p) && !host->has_broker)
		lau_plan_add(p, true,
			     p->engine->effect.all_sockets
				     ? "a denied Unix socket: it needs the broker (Linux 5.19): "
				       "--unix none closes all of them"
				     : "rules on single Unix sockets need the broker (Linux 5.19): "
				       "use --unix host");
	if (p->engine->effect.unix_ == POL_UNIX_HOST)
		lau_plan_add(p, false,
			     "connect: --unix host opens all Unix sockets of the host, also in "
			     "denied directories: --unix PATH opens a single one");
}

static void plan_filter(const struct lau_options *o, int abi, struct lau_plan *p)
{
	p->seccomp_flags = o->allow & (POL_SC_FLAGS - 1);
	if (p->engine->effect.unix_ == POL_UNIX_HOST)
		p->seccomp_flags |= POL_SC_UNIX_HOST;
	if (pol_floor_opens_devices(&p->floor))
		p->seccomp_flags |= POL_SC_DEVICES;
	/* any namespace has an IPC namespace beside it */
	if (!p->want_net_ns && !p->isolate && !p->is_wrapped)
		p->seccomp_flags |= POL_SC_NO_IPC;
	if (!p->floor.uses_broker) {
		if (abi < POL_LL_ABI_TRUNCATE)
			p->seccomp_flags |= POL_SC_NO_TRUNCATE;
		return;
	}
	p->seccomp_flags |= POL_SC_BROKER;
	if (p->engine->effect.unix_ != POL_UNIX_HOST || p->has_endpoints)
		p->floor.traps |= POL_TRAP_SOCKETS;
	if (p->has_endpoints)
		p->floor.traps |= POL_TRAP_ENDPOINTS;
	if (p->has_endpoints && sbx_connect_asks_programs(&p->engine->image))
		p->floor.traps |= POL_TRAP_PROGRAMS;
	if (!(o->allow & POL_SC_ALLOW_DEBUG))
		p->floor.traps |= POL_TRAP_TRACE;
	if (!(o->allow & POL_SC_ALLOW_NAMESPACES))
		p->floor.traps |= POL_TRAP_NAMESPACE;
}

/* Below ABI 3 the right to write to the ring is the right to empty it, unless the broker looks at
 * each ftruncate(2): SIGBUS in every process that has it mapped. */
static void plan_shim(const struct lau_options *o, const struct lau_host *host, struct lau_plan *p)
{
	int abi = host->landlock_abi;

	p->use_shim = !o->no_shim;
	if (p->use_shim && p->identity.is_set) {
		p->use_shim = false;
		lau_plan_add(
			p, false,
			"events: the command runs as another user and cannot use the run's files, "
			"which belong to root: only what the broker refuses is recorded");
	}
	if (!p->use_shim || abi >= POL_LL_ABI_TRUNCATE || abi == 0)
		return;
	if (p->floor.uses_broker && !lau_plan_takes_no_descriptor(host)) {
		p->floor.traps |= POL_TRAP_RING;
		return;
	}
	p->use_shim = false;
	lau_plan_add(
		p, false,
		"events: recording needs Landlock ABI 3 (Linux 6.2), or a broker that may take "
		"descriptors (pidfd_getfd(2)): nothing is recorded");
}

/* Once for the gaps that they close, and once more when the run's own files are granted. */
static void plan_mounts(struct lau_plan *p)
{
	pol_mounts_release(&p->mounts);
	pol_mounts_plan(&p->engine->rules, &p->engine->image, pol_fsview_host(), &p->floor,
			&p->mounts);
}

/* No path stands for an abstract socket, so that no rule speaks of it: `--unix host` alone opens
 * them, those of this network namespace. */
static void plan_landlock(const struct lau_plan *p, const struct pol_floor *floor,
			  struct pol_ll_plan *out)
{
	pol_ll_plan(floor, p->landlock_abi, out);
	if (p->engine->effect.abstract_sockets)
		out->scoped &= ~(uint64_t)POL_LL_SCOPE_UNIX;
}

/* Inside the mounts: what is bound there, and the covers keep the rest. */
static void plan_inside(struct lau_plan *p)
{
	struct pol_floor inside = {0};

	for (size_t i = 0; i < p->floor.ngrants; i++) {
		const struct pol_grant *g = &p->floor.grants[i];
		unsigned all = POL_GRANT_READ | POL_GRANT_EXEC | POL_GRANT_WRITE;

		pol_floor_grant(&inside, g->path, g->lax ? g->rights | all : g->rights, g->is_dir);
	}
	pol_floor_grant(&inside, "/", POL_GRANT_LIST, true);
	plan_landlock(p, &inside, &p->landlock);
	pol_floor_release(&inside);
}

/* Looked for only where it is of use. */
static void plan_bounds(const struct lau_options *o, const struct lau_host *host,
			struct lau_plan *p)
{
	b_auto(b_str_release) struct b_str parent = {0};
	unsigned can = 0;

	if (o->bounds.v[LAU_BOUND_MEMORY] || o->bounds.v[LAU_BOUND_NPROC])
		can = lau_cgroup_parent(&parent);
	if (can)
		p->cgroup = b_arena_strndup(&p->arena, parent.s, parent.len);
	lau_bounds_plan(o, host, can, p);
}

/* The broker performs the calls that Landlock does not see on this kernel, under every policy. */
static int make_floor(const struct lau_options *o, const struct lau_host *host, struct lau_plan *p,
		      struct b_err *err)
{
	const struct pol_ruleset *rules = &p->engine->rules;
	const struct pol_fsview fs = pol_fsview_of(&p->engine->rules);
	unsigned traps = pol_ll_traps(host->landlock_abi);

	/* nor who may connect, nor modes */
	if (judges_sockets(p))
		traps |= POL_TRAP_SOCKETS;
	if (o->allow & POL_SC_ALLOW_SETID)
		traps |= POL_TRAP_FILES;
	if (!host->has_broker)
		return pol_floor_plan(rules, &p->engine->image, &fs, &p->floor, err);
	return pol_floor_plan_broker(rules, &p->engine->image, &fs, traps, &p->floor, err);
}

int lau_plan_floor(const struct lau_options *o, const struct lau_host *host, struct lau_plan *p,
		   struct b_err *err)
{
	const char *caps = o->caps ? o->caps : LAU_CAPS_DEFAULT_LIST;

	if (lau_caps_parse(caps, &p->keep_caps, err) < 0)
		return b_wrap(err, "--caps");
	if (!host->is_root || p->identity.is_set)
		p->keep_caps = 0;
	/* the broker acts with these, too */
	p->keep_caps = lau_caps_after_exec(p->keep_caps);
	if (make_floor(o, host, p, err) < 0)
		return -1;
	/* the broker takes set-id bits from what is opened to write; else the kernel does, when it
	 * is written */
	if (!o->caps && !p->floor.uses_broker)
		p->keep_caps &= ~LAU_CAP_FSETID;
	if (p->is_wrapped)
		plan_mounts(p);
	if (p->is_wrapped || !host->has_broker)
		lau_plan_take_promises(p);
	if (p->engine->effect.lax)
		pol_floor_accept_gaps(&p->floor);
	for (size_t i = 0; i < p->engine->nlosses; i++)
		lau_plan_add(p, true, p->engine->losses[i]);
	lau_plan_gaps(p);
	plan_network(p);
	plan_proxy(o, p);
	plan_relayed(p);
	plan_sockets(host, p);
	lau_plan_names(p);
	lau_plan_abi(p, host);
	lau_plan_protected(p, host);
	lau_plan_namespaces(o, host, p);
	lau_plan_sockets(p, host);
	lau_plan_devices(host, p);
	plan_filter(o, host->landlock_abi, p);
	plan_shim(o, host, p);
	lau_plan_marks(o, host, p);
	plan_bounds(o, host, p);
	p->landlock_abi = host->landlock_abi;
	return lau_require_check(o, host, p, err);
}

void lau_plan_lost(struct lau_plan *p, int lost)
{
	static const struct {
		int bit;
		enum lau_need need;
	} rows[] = {{LAU_NET_FILTERED, LAU_NEED_NET},
		    {LAU_NO_PID, LAU_NEED_PID},
		    {LAU_NO_SHM, LAU_NEED_SHM},
		    {LAU_NO_TMP, LAU_NEED_TMP}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (lost & rows[i].bit)
			lau_plan_add(p, false,
				     b_arena_printf(&p->arena, "no %s: %s: %s",
						    lau_needs[rows[i].need].name,
						    lau_needs[rows[i].need].lost,
						    lau_needs[rows[i].need].remedy));
	if (lost & LAU_NO_IPC)
		lau_plan_add(p, false,
			     "no IPC namespace: System V IPC and POSIX message queues are "
			     "refused: " LAU_NAMESPACES_REMEDY);
	if (lost & LAU_NO_NODEV)
		lau_plan_devices_lost(p);
	lau_plan_abi_lost(p, lost);
}

void lau_plan_kernel(struct lau_plan *p)
{
	struct pol_floor both;

	if (p->is_wrapped) {
		plan_mounts(p);
		if (p->landlock_abi > 0)
			plan_inside(p);
		return;
	}
	if (p->landlock_abi > 0)
		plan_landlock(p, &p->floor, &p->landlock);
	if (!p->floor.uses_broker || p->landlock_abi < POL_LL_ABI_REFER)
		return;
	pol_floor_union(&p->floor, &both);
	plan_landlock(p, &both, &p->broker_landlock);
	pol_floor_release(&both);
}

void lau_plan_wrap(const struct lau_plan *p, bool is_root, const char *cwd, struct pol_bwrap *out)
{
	*out = (struct pol_bwrap){
		.network = p->engine->effect.network == POL_NET_HOST,
		.user = !is_root && !p->is_nested,
		.pid = p->wrap_pid,
		.cgroup = !p->is_nested,
		/* the second stage takes the others from the bounding set */
		.keep_caps = p->keep_caps ? p->keep_caps | LAU_CAP_SETPCAP : 0,
		.cwd = cwd,
	};
}

int lau_plan_apart(struct lau_plan *p, const char *cache, struct b_err *err)
{
	struct pol_engine *e = p->engine;

	if (pol_engine_part(e, cache, err) < 0)
		return -1;
	p->apart = b_arena_alloc(&p->arena, (e->nparts + 1) * sizeof *p->apart);
	for (size_t i = 0; i < e->nparts; i++)
		p->apart[p->napart++] = &e->part[i]->image;
	if (e->nparts == 0)
		p->apart[p->napart++] = &e->image;
	return 0;
}

const char **lau_plan_mechanisms(struct lau_plan *p, int lost, size_t *out_n)
{
	const char **list = b_arena_alloc(&p->arena, 15 * sizeof *list);
	size_t n = 0;

	if (p->is_wrapped)
		list[n++] = "mounts by bubblewrap";
	if (p->landlock_abi > 0)
		list[n++] = b_arena_printf(&p->arena, "landlock abi %d", p->landlock_abi);
	if (p->floor.uses_broker)
		list[n++] = p->floor.read_level == POL_READ_ALL ? "broker, all opens" : "broker";
	if (p->nclean && p->use_shim)
		list[n++] = b_arena_printf(&p->arena, "marked calls in %zu directories", p->nclean);
	list[n++] = "seccomp filter";
	list[n++] = p->keep_caps ? "capabilities reduced" : "no capabilities";
	if (p->is_wrapped && p->engine->effect.network != POL_NET_HOST)
		list[n++] = "network namespace";
	if (p->is_wrapped && p->wrap_pid)
		list[n++] = "pid namespace";
	if (p->want_net_ns)
		list[n++] = lost & LAU_NET_FILTERED ? "network filter" : "network namespace";
	if (p->isolate & LAU_ISOLATE_PID && !(lost & LAU_NO_PID))
		list[n++] = "pid namespace";
	if (p->isolate & LAU_ISOLATE_SHM && !(lost & LAU_NO_SHM))
		list[n++] = "private " SHM;
	if (p->isolate & LAU_ISOLATE_TMP && !(lost & LAU_NO_TMP))
		list[n++] = "private /tmp";
	else if (p->isolate & LAU_ISOLATE_OUTER_TMP)
		list[n++] = "the outer run's /tmp";
	*out_n = n;
	return list;
}

void lau_plan_release(struct lau_plan *p)
{
	if (p->engine)
		pol_engine_free(p->engine);
	pol_floor_release(&p->floor);
	pol_mounts_release(&p->mounts);
	pol_ll_plan_release(&p->landlock);
	pol_ll_plan_release(&p->broker_landlock);
	free(p->losses);
	b_arena_release(&p->arena);
	*p = (struct lau_plan){0};
}
