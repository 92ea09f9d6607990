/* floor_gaps.c - what a floor plan cannot give, rule by rule, and what would help. */
#include "policy/back/floor_priv.h"

#include <string.h>

#include "core/decide.h"
#include "policy/ruleset.h"

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
static const char why_mixed[] = "its rules allow some of it in a way that only the broker can keep";
static const char why_missing[] = "it does not exist yet, and its directory may not be written to";
static const char why_single[] =
	"a single file can be written, but not created, replaced or removed";
static const char why_new_files[] =
	"entries made later directly in this carved directory cannot be opened until the next run";
static const char why_new_static[] = "entries made later directly in this carved directory can be "
				     "opened by witnessed programs only";
static const char why_too_many[] =
	"too many entries to grant one by one: files directly in it cannot be opened";
static const char why_names[] =
	"names, never content, beneath carved directories can be listed, denied ones included";

static const char why_movable[] = "it lies in a writable directory: it cannot be read, but "
				  "renamed, and the next run judges it "
				  "by its new name";

static const char remedy_movable[] = "deny modify as well, outside of writable directories";
static const char remedy_modify[] = "deny outside of writable directories, or --best-effort: "
				    "witnessed programs are still refused by the shim";
static const char remedy_glob[] = "name directories or files instead of a pattern, or "
				  "--best-effort: witnessed programs are still refused by the shim";
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

	/* A twin says the same of the same rule: add_gap() hears it once. */
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
