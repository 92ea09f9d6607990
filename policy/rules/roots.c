/* SPDX-License-Identifier: Apache-2.0 */
/* roots.c - what the host must keep open for any command, and the roots of spec.sandbox. */
#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "policy/document/layers.h"
#include "policy/document/settings.h"
#include "policy/rules/build.h"

/* Rules of `spec.sandbox` on absolute paths: what the host must keep open beside the
 * workspace, and what it must keep closed. */

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

/* What a grant begins with is the caller's, and an earlier run may have put a link there. */
static bool is_led_away(struct pol_build *b, const char *what, const char *text)
{
	const char *spelled = pol_root_spelled(b, text);

	return spelled && pol_build_is_led_away(b, what, text, pol_root_head(text), spelled);
}

static void add_at(struct pol_build *b, struct pol_absolute *t, const char *text, unsigned up,
		   size_t w)
{
	t->dir = pol_root_dir(b, text, w);
	if (t->dir && t->allow && is_led_away(b, t->what, text))
		return;
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
		pol_build_notice(b, "%s: %.*s has no value here: the rule is left out", t->what,
				 (int)pol_root_head(text), text);
	}
}

void pol_build_root(struct pol_build *b, struct pol_absolute *t, const struct pol_text *text)
{
	struct b_arena *a = &b->rs->arena;
	size_t head = pol_root_head(text->s);
	size_t end =
		t->allow || !pol_build_is_at_top(b) ? pol_build_end(b) : pol_build_end_denied(b);

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
	for (size_t w = pol_build_first(b); pol_root_is_local(text->s) && w < end; w++)
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

			pol_build_root(b, &t, &texts->v[k]);
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
			pol_build_root(b, &t, &texts->v[k]);
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
			pol_build_root(b, &t, &texts->v[k]);
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

/*
 * What every command may need of the system, whatever its policy: origins
 * `builtin:base:N`, N counting the rows below.
 *
 * Row 1 says what is true before any rule speaks, so that a path outside every workspace is
 * reported as that; the workspace row says the same inside, where only the profile speaks.
 */

#define R POL_OPS(SBX_READ)
#define M POL_OPS(SBX_MODIFY)

enum where { AT_PATH, AT_WORKSPACES, AT_SCRATCH, AT_CACHE, AT_HIDDEN, AT_SHM };
enum mode { ANY, BROAD, SYSTEM, LISTED }; /* --reads; no row is of LISTED alone */

struct row {
	const char *path;    /* AT_PATH */
	const char *matched; /* instead of the path */
	unsigned ops;
	enum pol_shape shape;
	enum mode mode;
	enum pol_twin twin;
	enum where where;
	bool allow;
};

#define OUTSIDE "<outside workspace>"

/* Directories of /dev hold devices by the dozen; these are the harmless ones. /dev/stdin and its
 * like are links into /proc, followed by no twin: they mean another file in every process. */
#define ROW(p, m, o, s, md, t, w, a)                                                               \
	{                                                                                          \
		.path = p, .matched = m, .ops = o, .shape = s, .mode = md, .twin = t, .where = w,  \
		.allow = a                                                                         \
	}
#define DEV(ops, shape, path) ROW(path, NULL, ops, shape, ANY, POL_TWIN_NONE, AT_PATH, true)
/* A system directory when only those are readable. */
#define SYS(shape, path)	  ROW(path, NULL, R, shape, SYSTEM, POL_TWIN_ALWAYS, AT_PATH, true)
#define NOT(shape, path, mode)	  ROW(path, NULL, R, shape, mode, POL_TWIN_NONE, AT_PATH, false)
#define DYN(ops, allow, at, text) ROW(NULL, text, ops, POL_TREE, ANY, POL_TWIN_ALWAYS, at, allow)
/* A directory that the launcher has found and made without links: a link there now is a run's. */
#define OWN(at) ROW(NULL, NULL, R | M, POL_TREE, ANY, POL_TWIN_NONE, at, true)

static const struct row rows[] = {
	ROW("/", OUTSIDE, R | M, POL_TREE, ANY, POL_TWIN_NONE, AT_PATH, false),
	ROW("/", NULL, R, POL_TREE, BROAD, POL_TWIN_NONE, AT_PATH, true),
	NOT(POL_TREE, "/dev", BROAD),
	DEV(R, POL_EXACT, "/dev"), /* its names may be listed */
	DEV(R | M, POL_EXACT, "/dev/null"),
	DEV(R | M, POL_EXACT, "/dev/zero"),
	DEV(R | M, POL_EXACT, "/dev/full"),
	DEV(R | M, POL_EXACT, "/dev/random"),
	DEV(R | M, POL_EXACT, "/dev/urandom"),
	DEV(R | M, POL_EXACT, "/dev/tty"),
	DEV(R | M, POL_EXACT, "/dev/ptmx"),
	DEV(R | M, POL_TREE, "/dev/pts"),
	DEV(R | M, POL_TREE, "/dev/fd"),
	DEV(R | M, POL_EXACT, "/dev/stdin"),
	DEV(R | M, POL_EXACT, "/dev/stdout"),
	DEV(R | M, POL_EXACT, "/dev/stderr"),
	SYS(POL_TREE, "/usr"),
	SYS(POL_TREE, "/bin"),
	SYS(POL_TREE, "/sbin"),
	SYS(POL_TREE, "/lib"),
	SYS(POL_TREE, "/lib32"),
	SYS(POL_TREE, "/lib64"),
	SYS(POL_TREE, "/libx32"),
	SYS(POL_TREE, "/opt"), /* software that brings its own tree; data seldom */
	SYS(POL_TREE, "/nix/store"),
	SYS(POL_TREE, "/gnu/store"),
	SYS(POL_TREE, "/etc"),
	SYS(POL_TREE, "/proc"),
	SYS(POL_TREE, "/sys"),
	SYS(POL_TREE, "/run/systemd/resolve"), /* what /etc/resolv.conf leads to */
	SYS(POL_TREE, "/run/resolvconf"),
	NOT(POL_EXACT, "/etc/shadow", SYSTEM),
	NOT(POL_EXACT, "/etc/shadow-", SYSTEM),
	NOT(POL_EXACT, "/etc/gshadow", SYSTEM),
	NOT(POL_EXACT, "/etc/gshadow-", SYSTEM),
	NOT(POL_EXACT, "/etc/sudoers", SYSTEM),
	NOT(POL_TREE, "/etc/sudoers.d", SYSTEM),
	NOT(POL_EXACT, "/etc/ssh/ssh_host_rsa_key", SYSTEM),
	NOT(POL_EXACT, "/etc/ssh/ssh_host_dsa_key", SYSTEM),
	NOT(POL_EXACT, "/etc/ssh/ssh_host_ecdsa_key", SYSTEM),
	NOT(POL_EXACT, "/etc/ssh/ssh_host_ed25519_key", SYSTEM),
	NOT(POL_TREE, "/sys/kernel/debug", ANY),
	NOT(POL_TREE, "/sys/kernel/tracing", ANY),
	DYN(R | M, false, AT_WORKSPACES, ""), /* the sentinel of the profile's list */
	OWN(AT_SCRATCH),
	OWN(AT_CACHE),
	DYN(R | M, false, AT_HIDDEN, NULL),
	ROW("/dev/shm", NULL, R | M, POL_TREE, ANY, POL_TWIN_NONE, AT_SHM, true),
};

static bool has_positive(const struct pol_effective *eff, enum sbx_op op)
{
	for (size_t i = 0; i < eff->n[op]; i++)
		if (!eff->v[op][i].negated && !eff->v[op][i].is_exception)
			return true;
	return false;
}

static const char *matched_text(struct pol_build *b, const struct row *row, const char *path,
				const struct pol_effective *eff, enum sbx_op op)
{
	if (row->where == AT_WORKSPACES)
		return has_positive(eff, op) ? "<no matching rule>" : "[]";
	if (row->matched)
		return row->matched;
	return row->shape == POL_TREE ? pol_build_join(b, path, "**") : path;
}

static void base_add(struct pol_build *b, const struct row *row, const char *path,
		     const struct pol_effective *eff)
{
	struct pol_rule r = {
		.allow = row->allow,
		.shape = row->shape,
		.tier = POL_TIER_BASE,
		.base = path,
		.origin =
			b_arena_printf(&b->rs->arena, "builtin:base:%zu", (size_t)(row - rows) + 1),
	};

	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		if (!(row->ops & POL_OPS(op)))
			continue;
		r.matched = matched_text(b, row, path, eff, (enum sbx_op)op);
		pol_build_add(b, POL_OPS(op), &r, row->twin);
	}
}

/* The paths a row stands for in this request. */
static size_t paths_of(const struct pol_build *b, const struct row *row, const char *const **out,
		       const char *const *one)
{
	*out = one;
	switch (row->where) {
	case AT_WORKSPACES:
		*out = b->rs->workspaces;
		return b->rs->nworkspaces;
	case AT_HIDDEN:
		*out = b->rq->hidden;
		return b->rq->nhidden;
	case AT_SHM:
		return b->rq->with_shm ? 1 : 0;
	case AT_PATH:
	case AT_SCRATCH:
	case AT_CACHE:
		break;
	}
	return *one ? 1 : 0;
}

/* What the caller knows of this system. */
static void add_system(struct pol_build *b)
{
	for (int op = SBX_READ; b->rq->system && op <= SBX_MODIFY; op++)
		for (size_t i = 0; i < b->rq->system->op[op].n; i++)
			pol_build_add(b, POL_OPS(op), &b->rq->system->op[op].v[i], POL_TWIN_NONE);
}

static void add_rows(struct pol_build *b, const struct pol_effective *eff, bool hidden)
{
	static const enum mode modes[] = {[POL_READS_BROAD] = BROAD,
					  [POL_READS_SYSTEM] = SYSTEM,
					  [POL_READS_LISTED] = LISTED};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *row = &rows[i];
		const char *one = row->where == AT_SCRATCH ? b->rq->scratch
				  : row->where == AT_CACHE ? b->rq->cache
							   : row->path;
		const char *const *paths;
		size_t n = paths_of(b, row, &paths, &one);
		enum mode mode = modes[b->layers->effect.reads];

		if (row->where == AT_WORKSPACES && !hidden) {
			add_system(b);
			pol_build_tmp(b);
		}
		if ((row->where == AT_HIDDEN) != hidden || (row->mode != ANY && row->mode != mode))
			continue;
		for (size_t k = 0; k < n; k++)
			if (!hidden || !pol_build_is_not_in_tmp(b, paths[k]))
				base_add(b, row, paths[k], eff);
	}
}

void pol_build_base(struct pol_build *b, const struct pol_effective *eff)
{
	add_rows(b, eff, false);
}

void pol_build_own_dev(struct pol_build *b, const char *origin)
{
	/* the directory itself stays: who names it does not name what is in it */
	struct pol_rule r = {.shape = POL_GLOB,
			     .tier = POL_TIER_SET,
			     .base = "/dev",
			     .glob = "**",
			     .matched = "/dev/**",
			     .origin = origin};

	pol_build_add(b, R | M, &r, POL_TWIN_NONE);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *row = &rows[i];

		if (!row->path || strncmp(row->path, "/dev/", 5) != 0 || !row->allow ||
		    (row->where == AT_SHM && !b->rq->with_shm))
			continue;
		r = (struct pol_rule){.allow = true,
				      .shape = row->shape,
				      .tier = POL_TIER_SET,
				      .base = row->path,
				      .matched = row->shape == POL_TREE
							 ? pol_build_join(b, row->path, "**")
							 : row->path,
				      .origin = origin};
		pol_build_add(b, row->ops, &r, POL_TWIN_NONE);
	}
}

bool pol_base_has_device(const char *path)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t n = rows[i].path ? strlen(rows[i].path) : 0;

		if (n > 5 && rows[i].allow && rows[i].ops & M && !strncmp(path, rows[i].path, n) &&
		    (!path[n] || (rows[i].shape == POL_TREE && path[n] == '/')))
			return true;
	}
	return false;
}

void pol_build_hidden(struct pol_build *b)
{
	static const struct pol_effective none;

	b->hides = true;
	add_rows(b, &none, true);
	b->hides = false;
}

/* Whose namespace may be mapped, and how, the kernel asks itself (user_namespaces(7)); that the
 * process is one of the run's, the broker. */
void pol_build_id_maps(struct pol_build *b)
{
	static const char *const names[] = {"uid_map", "gid_map", "setgroups"};
	struct pol_rule r = {
		.allow = true,
		.shape = POL_GLOB,
		.tier = POL_TIER_BASE,
		.base = "/proc",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		r.glob = b_arena_printf(&b->rs->arena, "*/%s", names[i]);
		r.matched = pol_build_join(b, "/proc", r.glob);
		r.origin = b_arena_printf(&b->rs->arena, "builtin:namespaces:%zu", i + 1);
		pol_build_add(b, M, &r, POL_TWIN_NONE);
	}
}

void pol_build_stdio(struct pol_build *b)
{
	for (size_t i = 0; i < b->rq->nstdio; i++) {
		const struct pol_stdio *f = &b->rq->stdio[i];
		const struct pol_rule r = {
			.allow = true,
			.shape = POL_EXACT,
			.tier = POL_TIER_BASE,
			.base = f->path,
			.matched = f->path,
			.origin = b_arena_printf(&b->rs->arena, "builtin:stdio:%d", f->fd),
		};

		pol_build_add(b, (f->reads ? R : 0) | (f->modifies ? M : 0), &r, POL_TWIN_NONE);
	}
}
