/* SPDX-License-Identifier: Apache-2.0 */
/* planlosses.c - what a plan cannot hold on this host, line by line. */
#include "launcher/plan/plan.h"

#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/report/host.h"
#include "launcher/report/report.h"
#include "launcher/run/confine.h"
#include "launcher/run/dirs.h"
#include "policy/engine.h"
#include "policy/plan/floor.h"
#include "policy/plan/seccomp.h"
#include "policy/rules/mountinfo.h"

enum { GAPS_SHOWN = 5 };

/* Gaps of the same operation, weight and remedy in [from, to). */
static size_t alike(const struct lau_plan *p, const struct pol_gap *g, size_t from, size_t to)
{
	size_t n = 0;

	for (; from < to; from++)
		n += p->floor.gaps[from].fatal == g->fatal && p->floor.gaps[from].op == g->op &&
		     strcmp(p->floor.gaps[from].remedy, g->remedy) == 0;
	return n;
}

/* One broad option can leave a gap for each rule of a set: the first few of an operation and a
 * remedy stand for all. */
void lau_plan_gaps(struct lau_plan *p)
{
	size_t i;

	for (i = 0; i < p->floor.ngaps; i++) {
		const struct pol_gap *g = &p->floor.gaps[i];
		size_t before = alike(p, g, 0, i), after;

		if (before == GAPS_SHOWN) {
			after = alike(p, g, i, p->floor.ngaps);
			lau_plan_add(p, g->fatal,
				     b_arena_printf(&p->arena, "and %zu more rules: %s", after,
						    g->remedy));
		}
		if (before >= GAPS_SHOWN)
			continue;
		const char *who = *g->origin
					  ? b_arena_printf(&p->arena, "%s rule `%s` (%s)",
							   sbx_op_name(g->op), g->rule, g->origin)
					  : b_arena_printf(&p->arena, "%s of %s",
							   sbx_op_name(g->op), g->rule);

		/* why there is none is the cause; the rule's own remedy comes second */
		const char *cause = p->no_broker && strstr(g->why, "the broker")
					    ? b_arena_printf(&p->arena, "%s; or ", p->no_broker)
					    : "";

		lau_plan_add(
			p, g->fatal,
			b_arena_printf(&p->arena, "%s: %s: %s%s", who, g->why, cause, g->remedy));
	}
}

const char *lau_document_lost(const struct pol_settings *s, size_t i)
{
	const struct pol_setting_value *v = &s->value[POL_SET_network];
	const struct pol_net_limits *l = &s->net_limits;
	bool is_host = v->said && v->v == POL_NET_HOST;
	const struct {
		bool is_lost;
		const char *text;
	} all[] = {
		{v->said && v->v == POL_NET_LOOPBACK, LAU_NO_LOOPBACK},
		{is_host && (l->connections || l->bytes || l->rate),
		 "limits of the network: the command uses the host's network directly"},
		{is_host && s->upstream.s,
		 "the proxy upstream: the command uses the host's network directly"},
	};

	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		if (all[k].is_lost && i-- == 0)
			return all[k].text;
	return NULL;
}

/* What stands beside Landlock in this run, POL_LL_BESIDE_*; without what it could not have. */
static unsigned beside(const struct lau_plan *p, int lost)
{
	unsigned mask = p->floor.uses_broker ? POL_LL_BESIDE_BROKER : 0;

	if (p->want_net_ns && !(lost & LAU_NET_FILTERED))
		mask |= POL_LL_BESIDE_NET;
	if (p->isolate & LAU_ISOLATE_PID && !(lost & LAU_NO_PID))
		mask |= POL_LL_BESIDE_PID;
	if (p->engine->effect.abstract_sockets)
		mask |= POL_LL_BESIDE_UNIX;
	return mask;
}

/* Reports workspaces on file systems that fold names. Under bwrap only the mounts enforce denials,
 * by the names that they cover. */
void lau_plan_names(struct lau_plan *p)
{
	const struct pol_ruleset *rules = &p->engine->rules;

	for (size_t i = 0; i < rules->nworkspaces; i++) {
		const char *ws = rules->workspaces[i], *type = pol_dir_unknown(ws);
		const char *inside = b_arena_printf(&p->arena, "%s/.", strcmp(ws, "/") ? ws : "");
		const char *why = "treats names that differ by case or form as the same";

		if (!pol_path_folds(inside, strlen(inside), false))
			continue;
		if (type)
			why = b_arena_printf(&p->arena,
					     "is on %s, which may treat names that differ by case "
					     "or form as the same",
					     type);
		lau_plan_add(p, p->is_wrapped,
			     b_arena_printf(
				     &p->arena,
				     "%s %s: a denial there covers every case and form%s", ws, why,
				     p->is_wrapped ? ", which bwrap cannot enforce: --backend "
						     "landlock"
						   : ""));
		p->losses[p->nlosses - 1].is_note = type && !p->is_wrapped;
	}
}

void lau_plan_abi(struct lau_plan *p, const struct lau_host *host)
{
	int abi = host->landlock_abi;
	bool fatal = abi < POL_LL_ABI_TRUNCATE && !p->floor.uses_broker;
	const char *text;

	if (host->is_inside) {
		lau_plan_add(p, true, lau_inside_text);
		return;
	}
	if (p->is_wrapped && abi == 0)
		return; /* the mounts do without */
	for (size_t i = 0; (text = pol_ll_lost(abi, beside(p, 0), i)); i++) {
		if (fatal && i == 0 && abi > 0 && !p->is_wrapped)
			text = b_arena_printf(&p->arena,
					      "%s, and there is no broker to check it: %s", text,
					      p->no_broker ? p->no_broker : "");
		if (i == 0 && abi == 0 && host->landlock_errno)
			text = b_arena_printf(&p->arena, "%s (%s): %s", text,
					      strerror(host->landlock_errno),
					      lau_host_landlock_remedy(host));
		lau_plan_add(p, fatal && i == 0, text);
	}
}

/* Reports what a namespace would have enforced that the run could not have. */
void lau_plan_abi_lost(struct lau_plan *p, int lost)
{
	const char *text, *said;

	for (size_t i = 0, k = 0; (text = pol_ll_lost(p->landlock_abi, beside(p, lost), i)); i++) {
		said = pol_ll_lost(p->landlock_abi, beside(p, 0), k);
		if (said && strcmp(said, text) == 0)
			k++;
		else
			lau_plan_add(p, false, text);
	}
}

/* Promises of the default policy that go without saying: the protected set, and what is closed
 * with it. */
static bool is_promise(const struct pol_gap *g)
{
	static const char *const origins[] = {
		"preset:protected:", "builtin:git:", "builtin:worktree:", "builtin:documents:"};

	for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
		if (strncmp(g->origin, origins[i], strlen(origins[i])) == 0)
			return true;
	return false;
}

/* Mounts enforce them for files that exist at the start. Without a broker they are enforced where
 * the directories around them may not be written. For the others the number is reported. */
void lau_plan_take_promises(struct lau_plan *p)
{
	struct pol_floor *f = &p->floor;
	size_t n = 0;

	for (size_t i = 0; i < f->ngaps; i++)
		if (is_promise(&f->gaps[i]))
			p->promises_open++;
		else
			f->gaps[n++] = f->gaps[i];
	f->ngaps = n;
}

void lau_plan_protected(struct lau_plan *p, const struct lau_host *host)
{
	if (!p->promises_open || host->is_inside)
		return;
	if (p->is_wrapped) {
		lau_plan_add(
			p, false,
			b_arena_printf(&p->arena,
				       "the protected set covers only existing files: the command "
				       "can create or move %u of its names, because a mount cannot "
				       "cover a missing file: use --backend landlock",
				       p->promises_open));
		p->losses[p->nlosses - 1].is_note = true;
	} else if (host->landlock_abi > 0) { /* else all is lost; reported elsewhere */
		lau_plan_add(
			p, true,
			b_arena_printf(&p->arena,
				       "the protected set (.git/hooks, .git/config ...): %u of its "
				       "rules need the broker: %s",
				       p->promises_open, p->no_broker));
	}
}

/* The broker serves here, but cannot have its callers' descriptors. */
bool lau_plan_takes_no_descriptor(const struct lau_host *host)
{
	return host->is_settled && host->serving.is_tried &&
	       host->serving.by[host->kinship].descriptor;
}

/* The run is stricter than the policy here, and a user could not find out why without this line. */
void lau_plan_sockets(struct lau_plan *p, const struct lau_host *host)
{
	bool opens_none = host->serving.pidfd_sys;

	if (!p->floor.uses_broker || !lau_plan_takes_no_descriptor(host))
		return;
	lau_plan_add(
		p, false,
		b_arena_printf(&p->arena,
			       "sockets can be neither bound nor connected: %s is refused (%s): in "
			       "a container, a seccomp profile that allows it%s",
			       opens_none ? "pidfd_open(2)" : "pidfd_getfd(2)",
			       strerror(host->serving.by[host->kinship].descriptor),
			       opens_none ? "" : ", which --cap-add SYS_PTRACE does"));
	p->losses[p->nlosses - 1].is_note = true;
}

/* Reports what --allow namespaces does not give by itself. */
void lau_plan_namespaces(const struct lau_options *o, const struct lau_host *host,
			 struct lau_plan *p)
{
	size_t before = p->nlosses;

	if (o->allow & POL_SC_ALLOW_SETID && !host->has_broker)
		lau_plan_add(p, true, "--allow setid needs the broker (Linux 5.19): leave it out");
	if (!(o->allow & POL_SC_ALLOW_NAMESPACES))
		return;
	if (!host->has_broker)
		lau_plan_add(p, false,
			     "the command can make user namespaces, but cannot write their maps "
			     "(/proc/PID/uid_map): that needs the broker (Linux 5.19)");
	else if (host->is_root && !(p->keep_caps & LAU_CAP_SETFCAP))
		lau_plan_add(p, false,
			     "root cannot map itself in a user namespace without CAP_SETFCAP: "
			     "add setfcap to --caps, or run as an ordinary user");
	if (p->nlosses > before)
		p->losses[before].is_note = true;
}

/* What a plan knows of the broker on this host: whether it can serve, and what it
 * then cannot do. See launcher/report/host.h. */

/* The state directory, which holds the runs. */
static const char *state_of(const struct lau_dirs *dirs, struct lau_plan *p)
{
	const char *end = dirs->runs ? strrchr(dirs->runs, '/') : NULL;

	return end ? b_arena_strndup(&p->arena, dirs->runs, (size_t)(end - dirs->runs)) : NULL;
}

void lau_plan_serving(struct lau_host *host, const struct lau_dirs *dirs, bool may_isolate,
		      struct lau_plan *p)
{
	b_auto(b_str_release) struct b_str why = {0};

	lau_host_settle(host, state_of(dirs, p),
			p->isolate || dirs->layers.effect.network != POL_NET_HOST);
	if (may_isolate && !p->is_wrapped && lau_host_settle_apart(host)) {
		p->isolate |= LAU_ISOLATE_PID | LAU_ISOLATE_SHM;
		lau_plan_add(p, false,
			     "on this host the broker works only in a user namespace of the run, "
			     "where files of other users appear as owned by nobody");
		p->losses[p->nlosses - 1].is_note = true;
	}
	if (host->has_broker || p->is_wrapped)
		return;
	lau_host_no_broker(host, &why);
	p->no_broker = b_arena_strndup(&p->arena, b_str_c(&why), why.len);
}

void lau_plan_serving_failed(const struct lau_dirs *dirs, struct lau_plan *p)
{
	lau_serving_forget(state_of(dirs, p));
}

/*
 * Device nodes outside of /dev: the ones that rules name, and what is told where
 * others can be opened.
 */

static const char others[] =
	"device nodes outside /dev open like other files, if there are any (the root of a "
	"container, /dev mounted elsewhere): for root that can be a whole disk";

static bool is_known(const struct lau_plan *p, const char *path)
{
	for (size_t i = 0; i < p->ndevices; i++)
		if (!strcmp(p->devices[i], path))
			return true;
	return false;
}

/* A rule that covers more than the node does not open devices. */
static bool names_device(const struct pol_rule *r)
{
	struct stat st;

	return r->allow && r->tier != POL_TIER_BASE && r->shape != POL_GLOB && r->base_len &&
	       strncmp(r->base, "/dev/", 5) != 0 && lstat(r->base, &st) == 0 &&
	       (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode));
}

static void find(struct lau_plan *p, enum sbx_op op)
{
	const struct pol_list *list = &p->engine->rules.op[op];

	for (size_t i = 0; i < list->n && p->ndevices < LAU_DEVICES_MAX; i++) {
		const struct pol_rule *r = &list->v[i];

		if (!names_device(r) || is_known(p, r->base))
			continue;
		if (!p->devices)
			p->devices = b_arena_alloc(&p->arena, LAU_DEVICES_MAX * sizeof *p->devices);
		p->devices[p->ndevices++] = r->base;
	}
}

static void find_again(struct lau_plan *p)
{
	const struct pol_engine *e = p->engine;
	const struct pol_mounted *dev = pol_mounted_at(e->mounts, e->nmounts, "/dev");

	if (!dev || strcmp(dev->at, "/dev") != 0)
		return;
	p->dev_again = b_arena_alloc(&p->arena, e->nmounts * sizeof *p->dev_again);
	for (size_t i = 0; i < e->nmounts; i++) {
		const struct pol_mounted *m = &e->mounts[i];

		if (m->major == dev->major && m->minor == dev->minor &&
		    !pol_mounted_behind(m->at, "/dev"))
			p->dev_again[p->ndev_again++] = m->at;
	}
}

void lau_plan_devices(const struct lau_host *host, struct lau_plan *p)
{
	/* the command of the outer run writes the rules of one inside */
	if (!p->engine->image.hdr->inside) {
		find(p, SBX_READ);
		find(p, SBX_MODIFY);
	}
	if (host->is_root)
		find_again(p);
	/* bubblewrap's own mounts have no devices */
	if (!p->isolate && !p->is_wrapped && host->is_root && !host->is_inside)
		lau_plan_add(p, false,
			     b_arena_printf(&p->arena, "%s: --isolate auto closes them", others));
}

void lau_plan_devices_lost(struct lau_plan *p)
{
	lau_plan_add(p, false, b_arena_printf(&p->arena, "%s: %s", others, LAU_NAMESPACES_REMEDY));
}
