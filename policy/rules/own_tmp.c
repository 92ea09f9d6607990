/* SPDX-License-Identifier: Apache-2.0 */
/* own_tmp.c - the rules of a /tmp of the run's own, what of the host's stays in it, and the
 * planner's view of it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/document/layers.h"
#include "policy/rules/build.h"
#include "policy/rules/fsview.h"

#define TMP	POL_OWN_TMP
#define TMP_LEN (sizeof TMP - 1)

static bool is_in(const char *path, const char *dir)
{
	return sbx_path_under(path, strlen(path), dir, strlen(dir));
}

static bool is_below(const char *path, const char *dir)
{
	return is_in(path, dir) && strcmp(path, dir) != 0;
}

bool pol_is_in_tmp(const char *path)
{
	return path && is_in(path, TMP);
}

/* ---- the rules ---- */

void pol_build_tmp(struct pol_build *b)
{
	const struct pol_rule all = {.allow = true,
				     .shape = POL_TREE,
				     .tier = POL_TIER_BASE,
				     .base = TMP,
				     .matched = TMP "/**",
				     .origin = "builtin:tmp:1"};

	if (!b->rq->with_tmp)
		return;
	pol_build_add(b, POL_OPS(SBX_READ) | POL_OPS(SBX_MODIFY), &all, POL_TWIN_NONE);
	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		b->tmp_at[op] = b->rs->op[op].n;
}

/* What a symlink leads to would get a second name, which no rule speaks of. */
static bool is_plain(const char *path)
{
	char real[PATH_MAX];

	return realpath(path, real) && strcmp(real, path) == 0;
}

static void keep(struct pol_build *b, const char *path)
{
	struct pol_ruleset *rs = b->rs;
	const char **more;

	if (!path || !is_below(path, TMP) || !is_plain(path))
		return;
	for (size_t i = 0; i < rs->ntmp_kept; i++)
		if (strcmp(rs->tmp_kept[i], path) == 0)
			return;
	more = b_arena_alloc(&rs->arena, (rs->ntmp_kept + 1) * sizeof *more);
	if (rs->ntmp_kept)
		memcpy(more, rs->tmp_kept, rs->ntmp_kept * sizeof *more);
	more[rs->ntmp_kept++] = b_arena_strndup(&rs->arena, path, strlen(path));
	rs->tmp_kept = more;
}

static bool is_kept(const struct pol_ruleset *rs, const char *path)
{
	for (size_t i = 0; i < rs->ntmp_kept; i++)
		if (is_in(path, rs->tmp_kept[i]))
			return true;
	return false;
}

static void keep_granted(struct pol_build *b)
{
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < b->rs->op[op].n; i++) {
			const struct pol_rule *r = &b->rs->op[op].v[i];

			if (r->allow && r->base_len > TMP_LEN)
				keep(b, r->base);
		}
}

/* The command would write it, and it would be gone. */
static void note_missing(struct pol_build *b)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		if (!r->allow || r->tier == POL_TIER_BASE || r->shape == POL_GLOB || r->twin ||
		    !is_below(r->base, TMP) || is_kept(b->rs, r->base))
			continue;
		if (r->tier == POL_TIER_CLI)
			pol_build_loss(
				b,
				"modify rule `%s` (%s): it is not there, and what is made at "
				"it goes with the run's own " TMP ": make it first, or leave "
				"out --isolate tmp",
				r->matched, r->origin);
		else if (strncmp(r->origin, "preset:", 7) != 0)
			pol_build_notice(b,
					 "%s: `%s` is not there: what is made at it goes with the "
					 "run's own " TMP,
					 r->origin, r->matched);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What lies in another is there with it. */
static void drop_inner(struct pol_ruleset *rs)
{
	size_t n = 0;

	if (rs->ntmp_kept)
		qsort(rs->tmp_kept, rs->ntmp_kept, sizeof *rs->tmp_kept, by_text);
	for (size_t i = 0; i < rs->ntmp_kept; i++) {
		bool is_inner = false;

		for (size_t k = 0; k < n; k++)
			is_inner |= is_below(rs->tmp_kept[i], rs->tmp_kept[k]);
		if (!is_inner)
			rs->tmp_kept[n++] = rs->tmp_kept[i];
	}
	rs->ntmp_kept = n;
}

/* The rules from `from` on come to stand at `to`. */
static void rotate(struct pol_list *list, size_t to, size_t from)
{
	size_t n = list->n - from;
	struct pol_rule *moved;

	if (n == 0 || from == to)
		return;
	moved = b_malloc(n * sizeof *moved);
	memcpy(moved, list->v + from, n * sizeof *moved);
	memmove(list->v + to + n, list->v + to, (from - to) * sizeof *moved);
	memcpy(list->v + to, moved, n * sizeof *moved);
	free(moved);
}

/*
 * What of the host's stays is no part of the run's own: as everywhere outside of the workspaces,
 * nothing of it may be changed but by a rule. These stand right behind the rule that opens /tmp,
 * and before all others.
 */
static void close_kept(struct pol_build *b)
{
	unsigned ops = POL_OPS(SBX_MODIFY);
	size_t from[SBX_OP_COUNT];

	if (b->layers->effect.reads != POL_READS_BROAD)
		ops |= POL_OPS(SBX_READ);
	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		from[op] = b->rs->op[op].n;
	for (size_t i = 0; i < b->rs->ntmp_kept; i++) {
		const struct pol_rule r = {.shape = POL_TREE,
					   .tier = POL_TIER_BASE,
					   .base = b->rs->tmp_kept[i],
					   .matched = "<outside workspace>",
					   .origin = "builtin:tmp:2"};

		pol_build_add(b, ops, &r, POL_TWIN_NONE);
	}
	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		rotate(&b->rs->op[op], b->tmp_at[op], from[op]);
}

void pol_build_tmp_kept(struct pol_build *b)
{
	if (!b->rq->with_tmp)
		return;
	b->rs->own_tmp = true;
	for (size_t i = 0; i < b->rs->nworkspaces; i++)
		keep(b, b->rs->workspaces[i]);
	for (size_t i = 0; i < b->rq->ntmp_keep; i++)
		keep(b, b->rq->tmp_keep[i]);
	keep(b, b->rq->scratch);
	keep(b, b->rq->cache);
	keep_granted(b);
	note_missing(b);
	drop_inner(b->rs);
	close_kept(b);
}

bool pol_build_is_not_in_tmp(const struct pol_build *b, const char *path)
{
	return b->rs->own_tmp && pol_is_in_tmp(path) && !is_kept(b->rs, path);
}

/* ---- the planner's view ---- */

/* Of /tmp the host's view sees what stays alone. */
static const struct pol_fsview *host_of(const struct pol_ruleset *rs, const char *path)
{
	return !pol_is_in_tmp(path) || is_kept(rs, path) ? pol_fsview_host() : NULL;
}

static bool leads_to_kept(const struct pol_ruleset *rs, const char *path)
{
	if (strcmp(path, TMP) == 0)
		return true;
	for (size_t i = 0; i < rs->ntmp_kept; i++)
		if (is_below(rs->tmp_kept[i], path))
			return true;
	return false;
}

static char own_type(void *ctx, const char *path)
{
	const struct pol_fsview *host = host_of(ctx, path);

	if (host)
		return host->type(host->ctx, path);
	return leads_to_kept(ctx, path) ? 'd' : 0;
}

static int own_list(void *ctx, const char *dir, int (*each)(void *arg, const char *name, char type),
		    void *arg)
{
	const struct pol_ruleset *rs = ctx;
	const struct pol_fsview *host = host_of(rs, dir);
	char path[PATH_MAX], before[NAME_MAX + 1] = "", *name;

	if (host)
		return host->list(host->ctx, dir, each, arg);
	if (!leads_to_kept(rs, dir))
		return -1;
	for (size_t i = 0; i < rs->ntmp_kept; i++) { /* sorted: equal names are neighbours */
		size_t from = strlen(dir) + 1, n;

		if (!is_below(rs->tmp_kept[i], dir))
			continue;
		n = strcspn(rs->tmp_kept[i] + from, "/");
		if (n > NAME_MAX || from + n >= sizeof path)
			continue;
		memcpy(path, rs->tmp_kept[i], from + n);
		path[from + n] = '\0';
		name = path + from;
		if (strcmp(name, before) == 0)
			continue;
		strcpy(before, name);
		if (each(arg, name, own_type(ctx, path)))
			return 0;
	}
	return 0;
}

static int own_link(void *ctx, const char *path, char *out, size_t size)
{
	const struct pol_fsview *host = host_of(ctx, path);

	return host ? host->link(host->ctx, path, out, size) : -1;
}

static bool own_is_closed(void *ctx, const char *path)
{
	const struct pol_fsview *host = host_of(ctx, path);

	return host && host->is_closed && host->is_closed(host->ctx, path);
}

static bool own_folds(void *ctx, const char *path)
{
	const struct pol_fsview *host = host_of(ctx, path);

	return host && host->folds && host->folds(host->ctx, path);
}

struct pol_fsview pol_fsview_of(struct pol_ruleset *rs)
{
	const struct pol_fsview *host = pol_fsview_host();

	if (!rs->own_tmp)
		return *host;
	return (struct pol_fsview){.ctx = rs,
				   .list = own_list,
				   .type = own_type,
				   .link = own_link,
				   .is_closed = host->is_closed ? own_is_closed : NULL,
				   .folds = host->folds ? own_folds : NULL};
}
