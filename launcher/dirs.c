/* dirs.c - see dirs.h. */
#include "launcher/dirs.h"

#include <stdlib.h>
#include <string.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/channel.h"
#include "launcher/options.h"
#include "policy/rules/workspace.h"

static int find_workspaces(const struct b_strlist *given, struct lau_dirs *d, struct b_err *err)
{
	size_t i, n = given->n ? given->n : 1;

	d->workspaces = b_arena_alloc(&d->arena, n * sizeof *d->workspaces);
	for (i = 0; i < given->n; i++)
		if (pol_workspace_given(&d->arena, given->v[i], &d->workspaces[i], err) < 0)
			return -1;
	if (!given->n && pol_workspace_default(&d->arena, &d->workspaces[0], err) < 0)
		return -1;
	d->nworkspaces = n;
	return 0;
}

static int load_documents(const struct lau_options *o, struct lau_dirs *d, struct b_err *err)
{
	struct pol_said said = o->policy.said;
	struct pol_request rq;

	if (o->strictness != LAU_STRICT_DEFAULT)
		said.v[POL_SET_strict] = o->strictness == LAU_STRICT;
	lau_policy_request(&o->policy, &rq);
	rq.said = &said;
	return pol_layers_load(&rq, d->workspaces, d->nworkspaces, &d->layers, err);
}

/* Logs of all runs and compiled policies: hidden also when this run keeps no log. */
static int find_state(const struct lau_options *o, struct lau_dirs *d, struct b_err *err)
{
	b_auto(b_str_release) struct b_str images = {0};
	char *state;

	d->runs = aud_runs_root(err);
	if (!d->runs)
		return o->audit_level == SBX_AUDIT_NONE ? 0 : -1;
	state = b_arena_strndup(&d->arena, d->runs, (size_t)(strrchr(d->runs, '/') - d->runs));
	d->hidden[d->nhidden++] = state;
	if (!o->dry_run) {
		b_str_addf(&images, "%s/images", state);
		d->images = b_str_take(&images);
	}
	return 0;
}

/* Without the shim a run has no channel, but its lock may lie where that would. */
static void find_locks(struct lau_dirs *d)
{
	b_auto_free char *other = NULL;
	struct b_err none;

	d->locks = lau_channel_locks(d->channels);
	if (!d->locks && !d->channels && lau_channel_base(&other, &none) == 0)
		d->locks = b_take_ptr(&other);
}

int lau_dirs_find(const struct lau_options *o, struct lau_dirs *d, struct b_err *err)
{
	*d = (struct lau_dirs){.scratch = {.base = -1, .lock = -1}};
	if (find_workspaces(&o->policy.workspaces, d, err) < 0 || load_documents(o, d, err) < 0)
		return -1;
	if (d->layers.effect.scratch && lau_scratch_take(!o->dry_run, &d->scratch, err) < 0)
		return -1;
	if (d->layers.effect.cache)
		d->cache = lau_cache_dir(d->workspaces[0]);
	if (!o->no_shim) {
		if (lau_channel_base(&d->channels, err) < 0)
			return -1;
		d->hidden[d->nhidden++] = d->channels;
	}
	find_locks(d);
	if (d->locks && (!d->channels || strcmp(d->locks, d->channels) != 0))
		d->hidden[d->nhidden++] = d->locks;
	return find_state(o, d, err);
}

static char *share(const char *path, bool is_wanted)
{
	return path && is_wanted ? b_strdup(path) : NULL;
}

int lau_dirs_find_inside(const struct lau_options *o, const struct lau_dirs *outer,
			 struct lau_dirs *d, struct b_err *err)
{
	*d = (struct lau_dirs){.scratch = {.base = -1, .lock = -1}};
	if (find_workspaces(&o->policy.workspaces, d, err) < 0 || load_documents(o, d, err) < 0)
		return -1;
	pol_effect_tighten(&d->layers.effect, &outer->layers.effect);
	d->scratch.path = share(outer->scratch.path, d->layers.effect.scratch);
	d->cache = share(outer->cache, d->layers.effect.cache);
	d->channels = share(outer->channels, !o->no_shim);
	d->runs = share(outer->runs, true);
	for (; d->nhidden < outer->nhidden; d->nhidden++)
		d->hidden[d->nhidden] = b_arena_strndup(&d->arena, outer->hidden[d->nhidden],
							strlen(outer->hidden[d->nhidden]));
	return 0;
}

int lau_dirs_make(struct lau_dirs *d, struct b_err *err)
{
	if (d->channels && lau_channel_make_base(d->channels, err) < 0)
		return -1;
	if (d->locks && lau_channel_make_base(d->locks, err) < 0) {
		if (!err->sys)
			return -1; /* somebody else's */
		/* lau_run_lock() says what is lost; a floor that does not hold is said before */
		free(d->locks);
		d->locks = NULL;
	}
	/* Builds go without it when it cannot be made (a home that is read-only). */
	if (d->cache && !lau_cache_make(d->cache)) {
		free(d->cache);
		d->cache = NULL;
	}
	return 0;
}

void lau_dirs_release(struct lau_dirs *d)
{
	lau_scratch_release(&d->scratch);
	free(d->cache);
	free(d->channels);
	free(d->locks);
	free(d->images);
	free(d->runs);
	pol_layers_release(&d->layers);
	b_arena_release(&d->arena);
	*d = (struct lau_dirs){.scratch = {.base = -1, .lock = -1}};
}
