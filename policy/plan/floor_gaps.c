/* SPDX-License-Identifier: Apache-2.0 */
/* floor_gaps.c - what Landlock cannot give of a plan: the broker's part, what permissions hold
 * already, and the gaps. */
#include "policy/plan/floor_priv.h"

#include <stdlib.h>
#include <string.h>

#include "core/decide.h"
#include "policy/compile/ruleset.h"

/* What a floor plan cannot give, rule by rule, and what would help. */

static void add_gap(struct pol_floor *f, const struct pol_gap *gap)
{
	for (size_t i = 0; i < f->ngaps; i++)
		if (f->gaps[i].op == gap->op && f->gaps[i].why == gap->why &&
		    !strcmp(f->gaps[i].rule, gap->rule) && !strcmp(f->gaps[i].origin, gap->origin))
			return;
	b_grow(f->gaps, f->ngaps, f->gaps_cap);
	f->gaps[f->ngaps++] = *gap;
}

static const char why_modify_deny[] = "a deny inside a writable directory needs the broker";
static const char why_read_glob[] = "a deny pattern inside a readable directory needs the broker";
static const char why_exec_glob[] =
	"a deny pattern inside an executable directory needs the broker";
static const char why_allow_glob[] = "files allowed by a pattern alone need the broker";
static const char why_mixed[] = "its rules allow a part of it that only the broker can enforce";
static const char why_missing[] = "it does not exist yet, and its directory may not be written to";
static const char why_single[] =
	"a single file can be written, but not created, replaced or removed";
static const char why_new_files[] =
	"entries made later directly in this carved directory cannot be opened until the next run";
static const char why_new_static[] =
	"only programs with the shim can open entries made later directly in this carved directory";
static const char why_too_many[] =
	"too many entries to grant one by one: files directly in it cannot be opened";
static const char why_names[] =
	"names (never contents) below carved directories can be listed, also denied ones";

static const char why_movable[] = "it lies in a writable directory: the command cannot read it but "
				  "can rename it, and the next run judges it by its new name";

static const char remedy_movable[] = "deny modify as well, outside of writable directories";
static const char remedy_modify[] = "deny outside of writable directories, or --best-effort: the "
				    "shim still refuses programs that load it";
static const char remedy_glob[] = "name directories or files instead of a pattern, or "
				  "--best-effort: the shim still refuses programs that load it";
static const char remedy_allow[] = "allow a directory instead, or --best-effort: these files "
				   "stay closed";
static const char remedy_mixed[] = "simpler rules there, or --best-effort: it stays closed";
static const char remedy_missing[] = "create it first, or allow its directory";
static const char remedy_single[] = "allow its directory";
static const char remedy_carved[] = "allow or deny whole subdirectories";

/* Can this rule speak of anything at or below the directory? */
static bool touches(const struct pol_rule *rule, const char *path, size_t len)
{
	if (pol_plan_is_below(rule->base, path, len))
		return true;
	if (rule->shape == POL_EXACT)
		return false;
	/* base at or above the directory */
	return rule->base_len <= len && !strncmp(rule->base, path, rule->base_len) &&
	       (path[rule->base_len] == '/' || rule->base_len == len);
}

static bool covers_tree(const struct pol_rule *rule, const char *path, size_t len)
{
	if (rule->shape == POL_EXACT || (rule->shape == POL_GLOB && strcmp(rule->glob, "**") != 0))
		return false;
	return !pol_plan_is_below(rule->base, path, len) && touches(rule, path, len);
}

/* Index of the last rule that allows the whole subtree, or -1. */
static long last_cover(const struct pol_list *list, const char *path, size_t len)
{
	for (size_t i = list->n; i-- > 0;)
		if (list->v[i].allow && covers_tree(&list->v[i], path, len))
			return (long)i;
	return -1;
}

/* A literal deny that a later rule took back is no gap. */
static bool still_denies(const struct pol_plan *p, enum sbx_op op, const struct pol_rule *rule)
{
	return rule->shape == POL_GLOB || !pol_plan_allows(p, op, rule->base, rule->base_len);
}

static void gap_of_rule(struct pol_plan *p, enum sbx_op op, const struct pol_rule *rule,
			const char *why, const char *remedy)
{
	const struct pol_gap gap = {.op = op,
				    .rule = rule->matched,
				    .origin = rule->origin,
				    .why = why,
				    .remedy = remedy,
				    .fatal = true};

	/* A twin has the same gap for the same rule: add_gap() gets it once. */
	add_gap(p->out, &gap);
}

static struct pol_gap gap_at(struct pol_plan *p, enum sbx_op op, const char *path, size_t len,
			     const char *why, const char *remedy)
{
	return (struct pol_gap){
		.op = op,
		.rule = len ? b_arena_strndup(&p->out->arena, path, len) : "/",
		.origin = "",
		.why = why,
		.remedy = remedy,
	};
}

static void gap_of_path(struct pol_plan *p, enum sbx_op op, const char *path, size_t len,
			const char *why, const char *remedy)
{
	const struct pol_gap gap = gap_at(p, op, path, len, why, remedy);

	add_gap(p->out, &gap);
}

/* Names every deny that pierces the allow `cover`; their number. */
static size_t gap_denies(struct pol_plan *p, enum sbx_op op, const char *path, size_t len,
			 long cover)
{
	const struct pol_list *list = &p->rules->op[op];
	const char *why = op == SBX_MODIFY ? why_modify_deny
			  : op == SBX_READ ? why_read_glob
					   : why_exec_glob;
	const char *remedy = op == SBX_MODIFY ? remedy_modify : remedy_glob;
	size_t named = 0;

	for (size_t i = (size_t)cover + 1; i < list->n; i++) {
		const struct pol_rule *rule = &list->v[i];

		/* What is readable in part was carved above down to the patterns. */
		if (op != SBX_MODIFY && rule->shape != POL_GLOB)
			continue;
		if (rule->allow || !touches(rule, path, len) || !still_denies(p, op, rule))
			continue;
		gap_of_rule(p, op, rule, why, remedy);
		named++;
	}
	return named;
}

static size_t gap_allows(struct pol_plan *p, enum sbx_op op, const char *path, size_t len)
{
	const struct pol_list *list = &p->rules->op[op];
	size_t named = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *rule = &list->v[i];

		if (!rule->allow || rule->shape != POL_GLOB || !touches(rule, path, len))
			continue;
		gap_of_rule(p, op, rule, why_allow_glob, remedy_allow);
		named++;
	}
	return named;
}

/* What carving a directory cannot give. */
void pol_gap_carved(struct pol_plan *p, const char *path, size_t len, unsigned pending,
		    bool crowded)
{
	bool readable = (pending & 1u) && pol_plan_new_names(p, SBX_READ, path, len);

	if (crowded && readable)
		gap_of_path(p, SBX_READ, path, len, why_too_many, remedy_carved);
	/* Elsewhere nobody inside makes entries, and the broker will open what others make. */
	if (readable && pol_plan_new_names(p, SBX_MODIFY, path, len))
		gap_of_path(p, SBX_READ, path, len, p->has_broker ? why_new_static : why_new_files,
			    remedy_carved);
}

/* Then the twin has the canonical spelling, which is the one that counts. */
static bool has_twin(const struct pol_list *list, size_t i)
{
	return i + 1 < list->n && list->v[i + 1].twin;
}

static size_t parent_of(const struct pol_rule *rule)
{
	size_t up = rule->base_len;

	while (up && rule->base[up] != '/')
		up--;
	return up;
}

/* Positive rules that name one thing: missing, or a file whose directory stays closed. */
void pol_gap_single_targets(struct pol_plan *p)
{
	const struct pol_list *list = &p->rules->op[SBX_MODIFY];

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *rule = &list->v[i];
		size_t up = parent_of(rule);
		char type;

		/* Of base and side rules the launcher knows what it wants. */
		if (!rule->allow || has_twin(list, i) || rule->shape == POL_GLOB ||
		    !rule->base_len || rule->tier == POL_TIER_BASE || rule->tier == POL_TIER_SIDE)
			continue;
		if (!pol_plan_allows(p, SBX_MODIFY, rule->base, rule->base_len) ||
		    pol_plan_new_names(p, SBX_MODIFY, rule->base, up))
			continue;
		type = p->fs->type(p->fs->ctx, rule->base);
		if (p->has_broker && (type != 'd' || rule->shape == POL_EXACT))
			pol_brokered_add(p, rule->base, up, POL_GRANT_WRITE);
		else if (!type)
			gap_of_path(p, SBX_MODIFY, rule->base, rule->base_len, why_missing,
				    remedy_missing);
		else if (type == 'f')
			gap_of_path(p, SBX_MODIFY, rule->base, rule->base_len, why_single,
				    remedy_single);
	}
}

/* Who may write to the directory may rename what is in it. Landlock lets no right be gained by
 * that in this run; the broker will refuse it. */
void pol_gap_movable(struct pol_plan *p)
{
	const struct pol_list *list = &p->rules->op[SBX_READ];

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *rule = &list->v[i];
		struct pol_gap gap = {.op = SBX_READ,
				      .rule = rule->matched,
				      .origin = rule->origin,
				      .why = why_movable,
				      .remedy = remedy_movable};

		if (rule->allow || rule->shape == POL_GLOB || !rule->base_len)
			continue;
		if (pol_plan_new_names(p, SBX_MODIFY, rule->base, parent_of(rule)) &&
		    still_denies(p, SBX_READ, rule))
			add_gap(p->out, &gap);
	}
}

bool pol_gap_complex(struct pol_plan *p, enum sbx_op op, const char *path, size_t len)
{
	long cover = last_cover(&p->rules->op[op], path, len);
	size_t named =
		cover < 0 ? gap_allows(p, op, path, len) : gap_denies(p, op, path, len, cover);
	struct pol_gap gap;

	if (named)
		return cover >= 0;
	/* Nothing is left out in silence: what no single rule explains is named by its path. */
	gap = gap_at(p, op, path, len, why_mixed, remedy_mixed);
	gap.fatal = true;
	add_gap(p->out, &gap);
	return false;
}

void pol_gap_names(struct pol_plan *p)
{
	const struct pol_gap gap = {
		.op = SBX_READ,
		.rule = "<carved directories>",
		.origin = "",
		.why = why_names,
		.remedy = "none before the broker",
	};

	add_gap(p->out, &gap);
}

/* The part of a floor plan that the broker performs. */

static void add(struct pol_floor *f, const char *path, size_t len, unsigned rights)
{
	b_grow(f->brokered, f->nbrokered, f->brokered_cap);
	f->brokered[f->nbrokered++] = (struct pol_grant){
		.path = len ? b_arena_strndup(&f->arena, path, len) : "/",
		.rights = rights,
		.is_dir = true,
	};
}

/* What does not exist yet is made in what does: there the broker needs its right. */
void pol_brokered_add(struct pol_plan *p, const char *path, size_t len, unsigned rights)
{
	while (len) {
		const char *at = b_arena_strndup(&p->out->arena, path, len);

		if (p->fs->type(p->fs->ctx, at) == 'd')
			break;
		while (len && path[--len] != '/')
			;
	}
	add(p->out, path, len, rights);
}

void pol_brokered_read(struct pol_plan *p, enum pol_read_level level)
{
	if (level > p->out->read_level)
		p->out->read_level = level;
}

static int by_path(const void *a, const void *b)
{
	const struct pol_grant *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static void merge(struct pol_floor *f)
{
	size_t n = 0;

	if (f->nbrokered)
		qsort(f->brokered, f->nbrokered, sizeof *f->brokered, by_path);
	for (size_t i = 0; i < f->nbrokered; i++) {
		if (n && !strcmp(f->brokered[n - 1].path, f->brokered[i].path))
			f->brokered[n - 1].rights |= f->brokered[i].rights;
		else
			f->brokered[n++] = f->brokered[i];
	}
	f->nbrokered = n;
}

/* Terminals are opened by their users: the controlling one becomes so only that way. */
static bool stays_with_kernel(const struct pol_grant *g)
{
	return !g->is_dir || (!strncmp(g->path, "/dev/", 5) && strcmp(g->path, "/dev/shm") != 0);
}

static void add_parent(struct pol_floor *f, const char *path)
{
	size_t len = strlen(path);

	while (len && path[--len] != '/')
		;
	add(f, path, len, POL_GRANT_WRITE);
}

/* What may be removed, renamed or replaced itself: that is done in its parent. */
static void add_parents(struct pol_plan *p)
{
	struct pol_floor *f = p->out;
	size_t n = f->nbrokered;

	for (size_t i = 0; i < n; i++) {
		const char *path = f->brokered[i].path;

		if (path[1] && f->brokered[i].rights & POL_GRANT_WRITE &&
		    pol_plan_allows(p, SBX_MODIFY, path, strlen(path)))
			add_parent(f, path);
	}
}

/* A file that Landlock lets be written to, but not replaced. */
static void add_files(struct pol_floor *f)
{
	for (size_t i = 0; i < f->ngrants; i++) {
		const struct pol_grant *g = &f->grants[i];

		if (g->rights & POL_GRANT_WRITE && !g->is_dir && strncmp(g->path, "/dev/", 5) != 0)
			add_parent(f, g->path);
	}
}

void pol_brokered_settle(struct pol_plan *p)
{
	struct pol_floor *f = p->out;
	size_t n = f->ngrants;

	add_files(f);
	f->uses_broker = f->nbrokered > 0 || p->host_traps;
	if (!f->uses_broker)
		return;
	f->traps |= POL_TRAP_FILES;
	for (size_t i = 0; i < n; i++) {
		struct pol_grant *g = &f->grants[i];

		if (!(g->rights & POL_GRANT_WRITE) || stays_with_kernel(g))
			continue;
		add(f, g->path, strlen(g->path), POL_GRANT_WRITE);
		g->rights &= ~POL_GRANT_WRITE;
		/* devices below it stay writable for the kernel, by which they are opened */
		if (!strcmp(g->path, "/") || !strcmp(g->path, "/dev"))
			pol_floor_grant(f, "/dev", POL_GRANT_PUT | POL_GRANT_DEV, true);
	}
	add_parents(p);
	merge(f);
}

/* Alike wherever it writes: Landlock lets nothing be moved to where it has more rights; and what
 * may be read, run or moved there is the policy's to say, not this domain's. */
static unsigned union_rights(const struct pol_grant *g)
{
	return g->rights | POL_GRANT_READ | POL_GRANT_EXEC;
}

static bool lies_in(const char *path, const char *dir)
{
	size_t n = dir[1] ? strlen(dir) : 0;

	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

/* Carved directories have hundreds of entries, all within what the broker may read anyway. */
static bool is_covered(const struct pol_floor *f, const struct pol_grant *g)
{
	for (size_t i = 0; i < f->nbrokered; i++) {
		const struct pol_grant *b = &f->brokered[i];

		if (!(g->rights & ~(union_rights(b) | POL_GRANT_LIST)) && lies_in(g->path, b->path))
			return true;
	}
	return false;
}

void pol_floor_union(const struct pol_floor *f, struct pol_floor *out)
{
	*out = (struct pol_floor){.gaps_accepted = f->gaps_accepted};
	for (size_t i = 0; i < f->ngrants; i++) {
		struct pol_grant g = f->grants[i];

		g.rights &= ~POL_GRANT_CLEAN;
		if (g.rights && (!g.lax || f->gaps_accepted) && !is_covered(f, &g))
			pol_floor_grant(out, g.path, g.rights, g.is_dir);
	}
	for (size_t i = 0; i < f->nbrokered; i++)
		pol_floor_grant(out, f->brokered[i].path, union_rights(&f->brokered[i]), true);
	/* it looks into its callers there */
	pol_floor_grant(out, "/proc", POL_GRANT_READ, true);
}

/* Denied reads that file permissions refuse already, so that nothing is carved. */

/* Written again by each directory above it that is looked at; shown once. */
static void note(struct pol_floor *f, const struct pol_rule *r)
{
	for (size_t i = 0; i < f->nheld; i++)
		if (!strcmp(f->held[i], r->base))
			return;
	b_grow(f->held, f->nheld, f->held_cap);
	f->held[f->nheld++] = b_arena_strndup(&f->arena, r->base, r->base_len);
}

/* A denied literal below the directory that the file system keeps closed. */
static bool is_held(const struct pol_plan *p, const struct pol_rule *r)
{
	return !r->allow && r->shape != POL_GLOB && p->fs->is_closed(p->fs->ctx, r->base);
}

bool pol_plan_held(struct pol_plan *p, enum sbx_op op, const char *path, size_t len)
{
	const struct pol_list *list = &p->rules->op[op];

	if (op == SBX_MODIFY || !p->fs->is_closed || !pol_plan_allows(p, op, path, len) ||
	    !pol_plan_new_names(p, op, path, len))
		return false;
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		if (r->shape == POL_GLOB &&
		    (pol_plan_is_below(path, r->base, r->base_len) || !strcmp(path, r->base)))
			return false;
		if (pol_plan_is_below(r->base, path, len) && !is_held(p, r))
			return false;
	}
	for (size_t i = 0; i < list->n; i++)
		if (pol_plan_is_below(list->v[i].base, path, len))
			note(p->out, &list->v[i]);
	return true;
}
