/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In one ordered list where the last match wins, deeper marks are said behind shallower ones. A
 * pattern has no depth before it meets a path: it is said first, and behind each literal mark once
 * more what of it lies below that mark. A rule with wildcards that opens follows the rules with
 * wildcards that close. The parts of such a closing rule that lie below the opening follow it.
 */
#include "policy/rules/build.h"

#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/document/layers.h"
#include "policy/document/settings.h"
#include "policy/front/tree.h"

struct nest {
	struct pol_build *b;
	struct pol_marks literals, patterns;
	/* Of the patterns: where those that open for reading begin, and what closes below them. */
	size_t opens, below;
};

static unsigned ops_of(const struct pol_mark *m)
{
	unsigned ops = POL_OPS(SBX_READ);

	return m->kind == POL_MARK_OPENS_READ ? ops : ops | POL_OPS(SBX_MODIFY);
}

/* `glob` below `base`, or without it base and all below. */
static void say(struct nest *n, const struct pol_mark *m, unsigned ops, const char *base,
		const char *glob)
{
	const struct pol_rule r = {
		.allow = m->kind != POL_MARK_CLOSES,
		.tier = m->kind == POL_MARK_CLOSES ? POL_TIER_DENY : POL_TIER_PROFILE,
		.shape = glob	       ? POL_GLOB
			 : m->is_exact ? POL_EXACT
				       : POL_TREE,
		.base = base,
		.glob = glob,
		.matched =
			b_arena_printf(&n->b->rs->arena, "%s%s", m->text, m->is_exact ? "" : "/**"),
		.origin = m->origin,
	};

	pol_build_add(n->b, ops, &r, POL_TWIN_NONE);
}

static void say_pattern(struct nest *n, const struct pol_mark *m, const char *base,
			const char *glob)
{
	struct b_arena *a = &n->b->rs->arena;

	if (!glob || m->is_exact)
		say(n, m, ops_of(m), base, glob);
	else if (pol_glob_is_literal(glob))
		say(n, m, ops_of(m), pol_build_join(n->b, base, glob), NULL);
	else
		say(n, m, ops_of(m), base, b_arena_printf(a, "%s/**", glob));
}

/* What of a pattern lies strictly below the place. */
static void say_below(struct nest *n, const struct pol_mark *m, const char *place)
{
	size_t skip = m->place[1] ? strlen(m->place) : 0;
	struct pol_residuals left;

	if (pol_is_at_or_below(m->place, place)) {
		say_pattern(n, m, m->place, m->glob);
		return;
	}
	if (!pol_is_at_or_below(place, m->place))
		return;
	n->b->exception_work += (strlen(m->glob) + 1) * (strlen(place) + 1);
	pol_residuals(m->glob, place + skip + 1, &left);
	for (size_t i = 0; m->glob[i]; i++)
		if (left.at[i])
			say_pattern(n, m, place, m->glob + i);
}

static void say_patterns_below(struct nest *n, size_t from, const char *place)
{
	for (size_t i = from; i < n->patterns.n; i++)
		if (n->patterns.v[i].kind != POL_MARK_OPENS_MODIFY)
			say_below(n, &n->patterns.v[i], place);
}

static bool is_matched(const struct nest *n, enum pol_mark_kind kind, const char *place)
{
	for (size_t i = 0; i < n->below; i++)
		if (n->patterns.v[i].kind == kind && n->patterns.v[i].glob &&
		    pol_mark_matches(&n->patterns.v[i], place))
			return true;
	return false;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* A file that is named closed: to open it for modifying does not open it. */
static bool is_closed_file(const struct nest *n, const struct pol_mark *m)
{
	if (m->kind != POL_MARK_OPENS_MODIFY || !is_file(m->place))
		return false;
	for (size_t i = 0; i < n->literals.n; i++)
		if (n->literals.v[i].kind == POL_MARK_CLOSES &&
		    strcmp(n->literals.v[i].place, m->place) == 0)
			return true;
	return is_matched(n, POL_MARK_CLOSES, m->place);
}

/* A file that allowRead names as well: denyRead says nothing of it then. */
static bool is_lifted_file(const struct nest *n, const struct pol_mark *m)
{
	if (m->kind != POL_MARK_CLOSES || !is_file(m->place))
		return false;
	for (size_t i = 0; i < n->literals.n; i++)
		if (n->literals.v[i].kind == POL_MARK_OPENS_READ &&
		    strcmp(n->literals.v[i].place, m->place) == 0)
			return true;
	return is_matched(n, POL_MARK_OPENS_READ, m->place);
}

static bool is_marked(const struct nest *n, enum pol_mark_kind kind, const char *place)
{
	for (size_t i = 0; i < n->literals.n; i++)
		if (n->literals.v[i].kind == kind && strcmp(n->literals.v[i].place, place) == 0)
			return true;
	return kind != POL_MARK_OPENS_MODIFY && is_matched(n, kind, place);
}

/* Within a closed directory srt mounts what may be written first, and what may be read over it, but
 * for what lies in something that may be written. */
static bool is_mounted_over(const struct nest *n, const struct pol_mark *m)
{
	b_auto_free char *place = b_strdup(m->place);
	bool is_over = false;

	if (m->kind != POL_MARK_OPENS_MODIFY || is_marked(n, POL_MARK_CLOSES, place))
		return false;
	while (place[1]) {
		place[sbx_path_parent(place, strlen(place))] = '\0';
		if (is_marked(n, POL_MARK_OPENS_MODIFY, place))
			is_over = false;
		else if (is_marked(n, POL_MARK_OPENS_READ, place))
			is_over = true;
		if (is_marked(n, POL_MARK_CLOSES, place))
			return is_over;
	}
	return false;
}

static void note_covered(struct nest *n)
{
	for (size_t i = 0; i < n->literals.n; i++)
		n->literals.v[i].is_covered = is_mounted_over(n, &n->literals.v[i]);
}

static void say_literal(struct nest *n, const struct pol_mark *m)
{
	unsigned ops = ops_of(m);

	if (m->only_named || is_closed_file(n, m) || is_lifted_file(n, m) || m->is_covered)
		return;
	if (m->kind == POL_MARK_CLOSES && is_matched(n, POL_MARK_OPENS_READ, m->place))
		ops = POL_OPS(SBX_MODIFY);
	say(n, m, ops, m->place, NULL);
	say_patterns_below(n, m->kind == POL_MARK_CLOSES ? n->opens : 0, m->place);
}

/* ---- what closes below a pattern that opens ---- */

/*
 * Where a closing pattern goes on behind a match of an opening one depends on the path. What could
 * go on there is said for every path: too much is closed at most.
 */
static void add_below(struct nest *n, const struct pol_mark *opens, const struct pol_mark *closes)
{
	struct b_arena *a = &n->b->rs->arena;
	const char *far = strcmp(opens->place, closes->place) == 0 ? "" : "**/";

	for (size_t i = 0; closes->glob[i]; i++) {
		const char *rest = closes->glob + i;
		struct pol_mark m = *closes;

		if (i > 0 && rest[-1] != '/' && strncmp(rest, "**", 2) != 0)
			continue;
		m.place = opens->place;
		m.glob = b_arena_printf(a, "%s/%s%s", opens->glob, far, rest);
		m.depth = 0;
		pol_marks_add(n->b, &n->patterns, m);
	}
}

static int find_below(struct nest *n, struct b_err *err)
{
	n->below = n->patterns.n;
	for (size_t i = n->opens; i < n->below; i++) {
		const struct pol_mark o = n->patterns.v[i];

		for (size_t k = 0; k < n->opens && o.kind == POL_MARK_OPENS_READ && o.glob; k++) {
			const struct pol_mark c = n->patterns.v[k];

			if (strlen(o.glob) + strlen(c.glob) + 4 > POL_MAX_RULE_LEN ||
			    n->patterns.n > POL_MAX_RULES)
				return b_fail(err, B_LIMIT, 0,
					      "%s and the denials with wildcards make too many "
					      "rules: expected fewer of either",
					      o.what);
			if (pol_is_at_or_below(o.place, c.place) ||
			    pol_is_at_or_below(c.place, o.place))
				add_below(n, &o, &c);
		}
	}
	return 0;
}

/* ---- the sets ---- */

static bool opens(const struct nest *n, enum sbx_op op, const struct pol_rule *r)
{
	const char *base = r->base_len ? r->base : "/";

	for (size_t i = 0; i < n->literals.n + n->below; i++) {
		const struct pol_mark *m =
			i < n->literals.n ? &n->literals.v[i] : &n->patterns.v[i - n->literals.n];

		if (m->kind == POL_MARK_CLOSES || m->only_named || !(ops_of(m) & POL_OPS(op)))
			continue;
		if (pol_is_at_or_below(base, m->place) ||
		    (m->glob && pol_is_at_or_below(m->place, base)))
			return true;
	}
	return false;
}

/* What was closed before any of this by a set is closed once more, and what a set leaves open in
 * that is open. */
static void close_sets(struct nest *n, enum sbx_op op, size_t end)
{
	const struct pol_list *list = &n->b->rs->op[op];

	for (size_t i = 0; i < end; i++) {
		struct pol_rule r = list->v[i];

		if ((r.allow && r.tier != POL_TIER_SET) ||
		    r.layer != pol_build_layer_number(n->b) ||
		    (r.tier != POL_TIER_SET && r.tier != POL_TIER_SIDE) || !opens(n, op, &r))
			continue;
		r.tier = r.allow ? POL_TIER_PROFILE : POL_TIER_DENY;
		r.twin = false;
		pol_ruleset_add_to(n->b->rs, POL_OPS(op), &r);
	}
}

/* Do the marks leave it open? Asked before the sets close again. */
static void judge_named(struct nest *n)
{
	const struct pol_list *list = &n->b->rs->op[SBX_MODIFY];

	for (size_t i = 0; i < n->literals.n; i++) {
		struct pol_mark *m = &n->literals.v[i];
		int last = m->only_named
				   ? pol_list_last_match(list, list->n, m->place, strlen(m->place))
				   : -1;

		m->is_left_out = m->only_named && (last < 0 || !list->v[last].allow);
	}
}

/* An opening that names what a set closes opens it, and what is below it is said again. */
static void open_named(struct nest *n, const struct pol_mark *m)
{
	enum sbx_op op = m->kind == POL_MARK_OPENS_MODIFY ? SBX_MODIFY : SBX_READ;
	const struct pol_absolute t = {
		.op = op,
		.allow = true,
		.is_literal = true,
		.only_closed = true,
		.tier = POL_TIER_SIDE,
		.what = m->what,
		.origin = m->origin,
		.lead = b_arena_printf(&n->b->rs->arena, "%s/", m->text),
		.dir = m->place,
		.path = "",
		.twin = POL_TWIN_NONE,
	};
	size_t before = n->b->rs->op[op].n;

	if (m->kind == POL_MARK_CLOSES || m->is_left_out || is_closed_file(n, m) || m->is_covered)
		return;
	pol_build_absolute(n->b, &t);
	if (n->b->rs->op[op].n == before)
		return;
	say_patterns_below(n, 0, m->place);
	for (size_t i = 0; i < n->literals.n; i++) {
		const struct pol_mark *l = &n->literals.v[i];

		if (l->depth > m->depth && pol_is_at_or_below(l->place, m->place))
			say_literal(n, l);
	}
}

/* ---- all of it ---- */

static void start(struct nest *n, struct pol_build *b, const struct pol_settings *s, bool tells)
{
	*n = (struct nest){.b = b};
	pol_marks_find(b, s, tells, &n->literals, &n->patterns);
	while (n->opens < n->patterns.n && n->patterns.v[n->opens].kind == POL_MARK_CLOSES)
		n->opens++;
	n->below = n->patterns.n;
}

void pol_build_nested_allows(struct pol_build *b, const struct pol_settings *s)
{
	struct nest n;

	start(&n, b, s, false);
	for (size_t i = 0; i < n.patterns.n; i++)
		if (n.patterns.v[i].kind == POL_MARK_OPENS_MODIFY)
			say_pattern(&n, &n.patterns.v[i], n.patterns.v[i].place,
				    n.patterns.v[i].glob);
	for (size_t i = 0; i < n.literals.n; i++)
		if (n.literals.v[i].kind == POL_MARK_OPENS_MODIFY && !n.literals.v[i].only_named)
			say(&n, &n.literals.v[i], ops_of(&n.literals.v[i]), n.literals.v[i].place,
			    NULL);
}

static bool is_too_much(const struct pol_build *b)
{
	return b->exception_work > POL_MAX_EXCEPTION_WORK ||
	       b->rs->op[SBX_MODIFY].n > POL_MAX_LOWERED || b->rs->op[SBX_READ].n > POL_MAX_LOWERED;
}

static void say_final(struct nest *n)
{
	for (size_t i = 0; i < n->opens; i++)
		if (n->patterns.v[i].is_final)
			say_pattern(n, &n->patterns.v[i], n->patterns.v[i].place,
				    n->patterns.v[i].glob);
	for (size_t i = 0; i < n->literals.n; i++)
		if (n->literals.v[i].is_final)
			say(n, &n->literals.v[i], ops_of(&n->literals.v[i]), n->literals.v[i].place,
			    NULL);
}

int pol_build_nested(struct pol_build *b, const struct pol_settings *s, struct b_err *err)
{
	size_t end_read = b->rs->op[SBX_READ].n, end_modify = b->rs->op[SBX_MODIFY].n;
	struct nest n;

	start(&n, b, s, true);
	if (find_below(&n, err) < 0)
		return -1;
	note_covered(&n);
	for (size_t i = 0; i < n.patterns.n; i++)
		if (n.patterns.v[i].kind != POL_MARK_OPENS_MODIFY)
			say_pattern(&n, &n.patterns.v[i], n.patterns.v[i].place,
				    n.patterns.v[i].glob);
	for (size_t i = 0; i < n.literals.n && !is_too_much(b); i++)
		say_literal(&n, &n.literals.v[i]);
	judge_named(&n);
	close_sets(&n, SBX_READ, end_read);
	close_sets(&n, SBX_MODIFY, end_modify);
	for (size_t i = 0; i < n.literals.n && !is_too_much(b); i++)
		open_named(&n, &n.literals.v[i]);
	say_final(&n);
	if (is_too_much(b))
		return b_fail(err, B_LIMIT, 0,
			      "%s: nested entries and entries with wildcards together make too "
			      "many rules: expected fewer of either",
			      n.literals.v[0].what);
	return 0;
}

/*
 * Denials that spare what is below directories of some names.
 *
 * To take a denial back would be to allow, and nothing but the document may do that. So these
 * denials are a layer of their own, which allows all else: every layer must allow. The name that
 * stands first in a path decides, whether it is denied or spared; where the last match wins, what
 * can stand deeper is said before.
 */

static void add_all(struct pol_build *b, const char *origin)
{
	const struct pol_rule all = {.allow = true,
				     .shape = POL_TREE,
				     .tier = POL_TIER_BASE,
				     .base = "/",
				     .matched = "/**",
				     .origin = origin};

	pol_build_add(b, POL_OPS(SBX_MODIFY), &all, POL_TWIN_NONE);
}

/* Below a directory of the name, `level` directories down. */
static void spare(struct pol_build *b, const struct pol_text *name, size_t level)
{
	struct b_arena *a = &b->rs->arena;
	struct b_str up = {0};

	for (size_t i = 0; i < level; i++)
		b_str_add(&up, "*/");
	for (size_t w = pol_build_first(b); w < pol_build_end(b); w++) {
		const char *glob = b_arena_printf(a, "%s%s/**", b_str_c(&up), name->s);
		const struct pol_rule r = {.allow = true,
					   .shape = POL_GLOB,
					   .tier = POL_TIER_SIDE,
					   .base = pol_build_local(b, w),
					   .glob = glob,
					   .matched = glob,
					   .origin = pol_build_origin(b, &name->pos)};

		pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_NONE);
	}
	b_str_release(&up);
}

/* What the command line opens is open in every list of the document. */
static void open_for_cli(struct pol_build *b, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		struct pol_rule r = b->rs->op[SBX_MODIFY].v[i];

		if (!r.allow || r.tier != POL_TIER_CLI || r.layer != POL_LAYER_MAIN)
			continue;
		r.layer = pol_build_layer_number(b);
		pol_ruleset_add_to(b->rs, POL_OPS(SBX_MODIFY), &r);
	}
}

size_t pol_build_level(const struct pol_text *t)
{
	const char *p = t->s + pol_root_head(t->s);
	size_t n = 0;

	for (p += *p == '/'; strncmp(p, "*/", 2) == 0; p += 2)
		n++;
	return n;
}

int pol_build_spared(struct pol_build *b, struct b_err *err)
{
	const struct pol_settings *s = &b->layers->main.settings;
	const struct pol_texts *denied = &s->roots[POL_ROOTS_denyModifyAnyCase];
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];
	struct pol_layer layer = {
		.label = "", .doc = b->layers->main, .end_ws = b->rs->nworkspaces};
	size_t deepest = 0, end = list->n;

	if (!s->spares.n || !denied->n)
		return 0;
	layer.number = list->v[list->n - 1].layer + 1u;
	if (layer.number >= POL_LAYERS_MAX)
		return pol_pos_fail(err, &s->spares.v[0].pos, "too many documents with this one");
	for (size_t i = 0; i < denied->n; i++)
		if (pol_build_level(&denied->v[i]) > deepest)
			deepest = pol_build_level(&denied->v[i]);
	b->at = &layer;
	add_all(b, pol_build_origin(b, &s->spares.v[0].pos));
	for (size_t level = deepest + 1; level-- > 0;) {
		for (size_t i = 0; level < deepest && i < s->spares.n; i++)
			spare(b, &s->spares.v[i], level);
		pol_build_any_case(b, s, level);
	}
	open_for_cli(b, end);
	b->at = NULL;
	return 0;
}
