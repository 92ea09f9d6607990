/* roots.c - rules of `spec.sandbox` on absolute paths: what the host must keep open beside the
 * workspace, and what it must keep closed. */
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "policy/absolute.h"
#include "policy/glob.h"
#include "policy/layers.h"
#include "policy/nested.h"
#include "policy/vars.h"

/* In this order: a deny of the document is not opened by a root of it. */
static const struct {
	enum pol_root_list list;
	enum sbx_op op;
	bool allow, folds;
	bool is_final; /* once more those that are */
} lists[] = {
	{POL_ROOTS_openRead, SBX_READ, true, false, false},
	{POL_ROOTS_openModify, SBX_MODIFY, true, false, false},
	{POL_ROOTS_readRoots, SBX_READ, true, false, false},
	{POL_ROOTS_sideRoots, SBX_MODIFY, true, false, false},
	{POL_ROOTS_denyRead, SBX_READ, false, false, false},
	{POL_ROOTS_allowRead, SBX_READ, true, false, false},
	{POL_ROOTS_denyRead, SBX_READ, false, false, true},
	{POL_ROOTS_denyModify, SBX_MODIFY, false, false, false},
	{POL_ROOTS_denyModifyAnyCase, SBX_MODIFY, false, true, false},
	{POL_ROOTS_sockets, SBX_CONNECT, true, false, false},
};

/* A layer's sockets count where the main document opens some; `--unix none` takes them back. */
static bool are_left_out(const struct pol_build *b, enum pol_root_list list)
{
	const struct pol_said *said = b->rq->said;

	if (list != POL_ROOTS_sockets)
		return false;
	/* srt's are for macOS: its filter on Linux cannot tell one from another */
	if (!b->at && !b->rq->is_on_macos && b->layers->main.foreign.dialect == POL_DIALECT_srt)
		return true;
	return b->at ? !b->has_sockets : said && said->v[POL_SET_unixSockets] == POL_UNIX_NONE;
}

/* The directories that lead to it, while they are missing: or it could not be made. */
static void open_way(struct pol_build *b, const struct pol_absolute *t)
{
	const char *full = *t->path ? pol_build_join(b, t->dir, t->path) : t->dir;
	size_t prefix = pol_glob_literal_prefix(t->path);
	size_t n = strlen(t->dir) + prefix + (prefix > 0);
	struct pol_absolute way = *t;

	if (n >= strlen(full)) /* no wildcard: the tree itself is open */
		n = (size_t)(strrchr(full, '/') - full);
	way.is_exact = true;
	way.path = "";
	for (; n > 1; n = (size_t)(strrchr(way.dir, '/') - way.dir)) {
		way.dir = way.lead = b_arena_strndup(&b->rs->arena, full, n);
		if (!pol_build_is_missing(b, way.dir))
			return;
		pol_build_absolute(b, &way);
	}
}

static void add_at(struct pol_build *b, struct pol_absolute *t, const char *text, unsigned up,
		   size_t w)
{
	t->dir = pol_root_dir(b, text, w);
	if (t->dir && up)
		t->dir = pol_build_up(b, t->dir, up);
	if (t->dir) {
		pol_build_absolute(b, t);
		if (t->allow && t->op == SBX_MODIFY && t->tier == POL_TIER_SIDE && !t->only_closed)
			open_way(b, t);
		/* The name as written once more: where links lead is asked of that one. */
		if (t->folds && !strpbrk(t->path, "*?")) {
			t->folds = false;
			pol_build_absolute(b, t);
			t->folds = true;
		}
	} else if (!b_has_prefix(t->origin, "preset:")) { /* those speak of any host */
		pol_build_notice(b, "%s: %.*s names nothing here: the rule is left out", t->what,
				 (int)pol_root_head(text), text);
	}
}

static void add(struct pol_build *b, struct pol_absolute *t, const struct pol_text *text)
{
	struct b_arena *a = &b->rs->arena;
	size_t head = pol_root_head(text->s);

	t->what = b_arena_printf(a, "%s:%u:%u: `%s`", text->pos.file, text->pos.line, text->pos.col,
				 text->s);
	t->origin = pol_build_origin(b, &text->pos);
	t->lead = *text->s == '/' ? "/" : b_arena_printf(a, "%.*s/", (int)head, text->s);
	/* checked by the front-end: no ".." */
	t->path = pol_components(a, text->s + head);
	/* Links are followed as for all of a document: what a run can change, it can also replace
	 * by a link, and the next run must not be led by it. */
	t->twin = POL_TWIN_WORKSPACE;
	t->is_literal = text->is_literal;
	t->is_exact = text->is_exact;
	if (!pol_root_is_local(text->s))
		add_at(b, t, text->s, text->up, 0);
	for (size_t w = pol_build_first(b); pol_root_is_local(text->s) && w < pol_build_end(b); w++)
		add_at(b, t, text->s, text->up, w);
}

/* Is it one of the lists that open paths before the sets speak? */
static bool is_profile(size_t i)
{
	return lists[i].list == POL_ROOTS_openRead || lists[i].list == POL_ROOTS_openModify;
}

/* Is it one of the lists of which the deepest entry counts? */
static bool is_nested(const struct pol_settings *s, size_t i)
{
	enum pol_root_list list = lists[i].list;

	return s->value[POL_SET_nested].said && s->value[POL_SET_nested].v &&
	       (list == POL_ROOTS_openModify || list == POL_ROOTS_denyRead ||
		list == POL_ROOTS_allowRead);
}

void pol_build_allows(struct pol_build *b, const struct pol_settings *s)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		const struct pol_texts *texts = &s->roots[lists[i].list];

		if (is_profile(i) && is_nested(s, i)) {
			pol_build_nested_allows(b, s);
			continue;
		}
		for (size_t k = 0; is_profile(i) && k < texts->n; k++) {
			struct pol_absolute t = {
				.op = lists[i].op, .allow = true, .tier = POL_TIER_PROFILE};

			add(b, &t, &texts->v[k]);
		}
	}
}

static bool is_presets(enum pol_root_list list, const struct pol_text *text)
{
	return list == POL_ROOTS_sideRoots && b_has_prefix(text->pos.file, "preset:");
}

void pol_build_preset_roots(struct pol_build *b, const struct pol_settings *s)
{
	const struct pol_texts *texts = &s->roots[POL_ROOTS_sideRoots];

	for (size_t k = 0; k < texts->n; k++) {
		struct pol_absolute t = {.op = SBX_MODIFY, .allow = true, .tier = POL_TIER_SIDE};

		if (is_presets(POL_ROOTS_sideRoots, &texts->v[k]))
			add(b, &t, &texts->v[k]);
	}
}

#define ANY_LEVEL SIZE_MAX

/* Is it a layer of its own? */
static bool is_spared(const struct pol_build *b, enum pol_root_list list)
{
	return list == POL_ROOTS_denyModifyAnyCase && !b->at && b->layers->main.settings.spares.n;
}

static void build_list(struct pol_build *b, const struct pol_texts *texts, size_t i, size_t level)
{
	for (size_t k = 0; k < texts->n && !are_left_out(b, lists[i].list); k++) {
		struct pol_absolute t = {
			.op = lists[i].op,
			.allow = lists[i].allow,
			.tier = lists[i].allow ? POL_TIER_SIDE : POL_TIER_DENY,
			.folds = lists[i].folds,
			.only_closed = is_profile(i),
		};

		if ((!lists[i].is_final || texts->v[k].is_final) &&
		    !is_presets(lists[i].list, &texts->v[k]) &&
		    (level == ANY_LEVEL || pol_build_level(&texts->v[k]) == level))
			add(b, &t, &texts->v[k]);
	}
}

int pol_build_roots(struct pol_build *b, const struct pol_settings *s, struct b_err *err)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (!is_nested(s, i) && !is_spared(b, lists[i].list))
			build_list(b, &s->roots[lists[i].list], i, ANY_LEVEL);
		else if (lists[i].list == POL_ROOTS_allowRead && pol_build_nested(b, s, err) < 0)
			return -1;
	}
	return 0;
}

void pol_build_any_case(struct pol_build *b, const struct pol_settings *s, size_t level)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (lists[i].list == POL_ROOTS_denyModifyAnyCase)
			build_list(b, &s->roots[lists[i].list], i, level);
}
