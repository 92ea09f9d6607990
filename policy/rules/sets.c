/* SPDX-License-Identifier: Apache-2.0 */
/* sets.c - presets of paths, placed under homes, the root, workspaces and git directories; and
 * the git data of a linked worktree. */
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "core/path.h"
#include "policy/front/tree.h"
#include "policy/front/presets.h"
#include "policy/rules/build.h"

/* A directory of a workspace in which the run begins, or one between. */
struct here {
	struct here *up;
	const char *dir, *text; /* "/ws/a/b", "a/b/" */
	bool is_bare;		/* a git directory */
};

/* One preset being placed. */
struct set {
	struct pol_build *b;
	const char *name;
	const char *origin; /* NULL = the line of the preset */
	const char *by;	    /* who runs or obeys what the row names; NULL = not said */
	const struct here *here;
	bool is_new; /* counts there only if its first name is not there yet */
	enum pol_tier tier;
	unsigned ops; /* POL_OPS() that are denied */
	struct b_err *err;
};

/* Below which directories the entries of a section stand. */
struct places {
	const char *const *v;
	size_t n;
};

static const char *const root_dir[] = {"/"};

/* key of spec, where its entries are relative to, how a person writes that */
#define SECTIONS(X)                                                                                \
	X(home, HOMES, "~/")                                                                       \
	X(system, ROOT, "/")                                                                       \
	X(macosHome, MACOS_HOMES, "~/")                                                            \
	X(macosSystem, MACOS_ROOT, "/")                                                            \
	X(workspace, WORKSPACE, "")                                                                \
	X(noRepository, PLAIN, "")                                                                 \
	X(gitCommon, COMMON, ".git/")                                                              \
	X(gitInside, INSIDE, "")                                                                   \
	X(variables, VARIABLES, "$")                                                               \
	X(perUser, PER_USER, "/")

enum section {
#define X(key, name, text) IN_##name,
	SECTIONS(X)
#undef X
		SECTION_COUNT
};

static const char *const section_keys[] = {
#define X(key, name, text) [IN_##name] = #key,
	SECTIONS(X)
#undef X
};
static const char *const section_texts[] = {
#define X(key, name, text) [IN_##name] = text,
	SECTIONS(X)
#undef X
};

static struct places places_of(const struct pol_build *b, enum section section)
{
	struct places p = {root_dir, 1};

	switch (section) {
	case IN_HOMES:
		p = (struct places){b->homes, b->nhomes};
		break;
	case IN_MACOS_HOMES:
		p = (struct places){b->homes, b->rq->is_on_macos ? b->nhomes : 0};
		break;
	case IN_MACOS_ROOT:
		p.n = b->rq->is_on_macos;
		break;
	case IN_WORKSPACE:
		p = (struct places){b->rs->workspaces, b->rs->nworkspaces};
		break;
	case IN_COMMON:
		p = (struct places){b->common_dirs, b->rs->nworkspaces};
		break;
	case IN_PLAIN:
		p = (struct places){b->plain_dirs, b->plain_dirs ? b->rs->nworkspaces : 0};
		break;
	case IN_INSIDE:
		p = (struct places){b->inside_dirs, b->inside_dirs ? b->rs->nworkspaces : 0};
		break;
	case IN_VARIABLES:
	case IN_PER_USER:
		p.n = 0;
		break;
	case IN_ROOT:
	case SECTION_COUNT:
		break;
	}
	return p;
}

/* "a/name.*", "a/x.*.y": the directory and the pattern of the last name. False: no such text. */
static bool take_pattern(struct set *set, const char *dir, const char *head, const char *rest,
			 struct pol_rule *r)
{
	const char *name = strrchr(rest, '/'), *star = strchr(rest, '*');
	int above = name ? (int)(name - rest) : 0;

	if (!star || strchr(star + 1, '*') || (name && star < name))
		return false;
	r->shape = POL_GLOB;
	r->glob = name ? name + 1 : rest;
	r->base = b_arena_printf(&set->b->rs->arena, "%s%.*s", head, above, rest);
	r->base = *r->base ? pol_build_join(set->b, dir, r->base) : dir;
	return true;
}

static int add_placed(struct set *set, struct pol_rule *r, const struct pol_pos *pos)
{
	struct pol_build *b = set->b;

	r->origin = set->origin ? set->origin
				: b_arena_printf(&b->rs->arena, "preset:%s:%u:%u", set->name,
						 pos->line, pos->col);
	pol_build_add(b, set->ops, r, POL_TWIN_ALWAYS);
	if (set->ops & POL_OPS(SBX_READ))
		pol_build_set_links(b, set->ops, r);
	else
		pol_build_set_leads(b, set->ops, r);
	return 0;
}

/* That file, whatever characters its name has. */
static int place_file(struct set *set, const char *path, const char *text,
		      const struct pol_pos *pos)
{
	struct pol_rule r = {.tier = set->tier,
			     .obeyed_by = set->by,
			     .shape = POL_EXACT,
			     .base = path,
			     .matched = text};

	return add_placed(set, &r, pos);
}

/* At one place: head is a name as it is, what follows has no wildcards but at its end. */
static int place_at(struct set *set, const char *dir, const char *head, const char *rest,
		    const char *text, const struct pol_pos *pos)
{
	struct pol_build *b = set->b;
	struct b_arena *a = &b->rs->arena;
	struct pol_rule r = {.tier = set->tier, .obeyed_by = set->by};
	size_t len;
	bool below;

	if (pol_rule_is_subtree(rest, &len, &below) && (len > 0 || below)) {
		r.shape = below ? POL_TREE : POL_EXACT;
		r.base = b_arena_printf(a, "%s%.*s", head, (int)len, rest);
		r.base = *r.base ? pol_build_join(b, dir, r.base) : dir;
	} else if (!take_pattern(set, dir, head, rest, &r)) {
		return pol_pos_fail(set->err, pos,
				    "`%s` has wildcards, expected `path`, `path/**`, `a*b` or `*` "
				    "for the name of a directory",
				    rest);
	}
	r.matched = b_arena_printf(a, "%s%s%s", text, head, rest);
	return add_placed(set, &r, pos);
}

#define LISTED_MAX 1000

/* "a/" + star + "/b": for each directory in a. What is in its name means only itself. */
static int place_listed(struct set *set, const char *dir, const char *head, const char *rest,
			const char *text, const struct pol_pos *pos)
{
	const char *star = strstr(rest, "*/");
	struct b_arena *a = &set->b->rs->arena;
	const struct dirent *entry;
	const char *above;
	size_t n = 0;
	int rc = 0;
	DIR *list;

	if (!star || star[1] != '/' || (star > rest && star[-1] != '/'))
		return place_at(set, dir, head, rest, text, pos);
	head = b_arena_printf(a, "%s%.*s", head, (int)(star - rest), rest);
	above = pol_build_join(set->b, dir, head);
	list = pol_build_is_missing(set->b, above) ? NULL : opendir(above);
	while (list && rc == 0 && (entry = readdir(list))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || entry->d_type == DT_REG)
			continue;
		if (++n > LISTED_MAX)
			rc = pol_pos_fail(set->err, pos,
					  "%s/%s: more than %d entries: remove what is no longer "
					  "in use (git worktree prune)",
					  dir, head, LISTED_MAX);
		else
			rc = place_listed(set, dir, b_arena_printf(a, "%s%s", head, name), star + 1,
					  text, pos);
	}
	if (list)
		closedir(list);
	return rc;
}

static bool counts_here(enum section section)
{
	return section == IN_WORKSPACE || section == IN_PLAIN;
}

/* `.git/hooks` where there is a `.git`? */
static bool has_first_name(const struct set *set, const char *dir, const char *entry)
{
	const char *first = b_arena_strndup(&set->b->rs->arena, entry, strcspn(entry, "/"));

	return !pol_build_is_missing(set->b, pol_build_join(set->b, dir, first));
}

static int place_here(struct set *set, const char *entry, enum section section,
		      const struct pol_pos *pos)
{
	for (const struct here *h = set->here; h; h = h->up)
		if (!(section == IN_PLAIN && h->is_bare) &&
		    !(set->is_new && has_first_name(set, h->dir, entry)) &&
		    place_listed(set, h->dir, "", entry, h->text, pos) < 0)
			return -1;
	return 0;
}

/* ---- where the environment has it ---- */

struct moving {
	struct set *set;
	const struct pol_pos *pos;
};

/* Closing what holds a home or a workspace would close all. */
static bool holds_all(const struct pol_build *b, const char *dir)
{
	for (size_t i = 0; i < b->nhomes + b->rs->nworkspaces; i++) {
		const char *in = i < b->nhomes ? b->homes[i] : b->rs->workspaces[i - b->nhomes];

		if (sbx_path_under(in, strlen(in), dir, strlen(dir)))
			return true;
	}
	return false;
}

static int place_moved(void *ctx, const struct pol_moved *at)
{
	struct set *set = ((struct moving *)ctx)->set;
	const struct pol_pos *pos = ((struct moving *)ctx)->pos;
	struct b_arena *a = &set->b->rs->arena;
	struct stat st;
	const char *text;

	if (*at->rest && strcmp(at->rest, "**") != 0) {
		text = b_arena_strndup(a, at->text, strlen(at->text) - strlen(at->rest));
		return place_listed(set, at->dir, "", at->rest, text, pos);
	}
	if (holds_all(set->b, at->dir)) {
		pol_build_notice(set->b,
				 "%s is %s, which holds a home or a workspace: not closed there",
				 at->text, at->dir);
		return 0;
	}
	text = *at->rest ? b_arena_strndup(a, at->text, strlen(at->text) - 2)
			 : b_arena_printf(a, "%s/", at->text);
	if (*at->rest || (stat(at->dir, &st) == 0 && S_ISDIR(st.st_mode)))
		return place_at(set, at->dir, "", "**", text, pos);
	return place_file(set, at->dir, at->text, pos);
}

/* What lies in a place that has the number of its user in its name, where it is there. */
static void place_of_user(struct set *set, const struct pol_ynode *entry, uid_t uid)
{
	const char *mark = strstr(entry->s, "UID");
	const char *path = b_arena_printf(&set->b->rs->arena, "%.*s%u%s", (int)(mark - entry->s),
					  entry->s, (unsigned)uid, mark + strlen("UID"));
	struct stat st;

	if (lstat(path, &st) == 0)
		(void)place_file(set, path, entry->s, &entry->pos);
}

static void place_per_user(struct set *set, const struct pol_ynode *entry)
{
	const struct pol_build *b = set->b;
	struct stat st;

	if (!strstr(entry->s, "UID"))
		return;
	place_of_user(set, entry, geteuid());
	for (size_t i = 0; i < b->nhomes && geteuid() == 0; i++)
		if (stat(b->homes[i], &st) == 0 && st.st_uid != 0)
			place_of_user(set, entry, st.st_uid);
}

static int place_by_environment(struct set *set, const struct pol_ynode *entry,
				enum section section)
{
	struct moving m = {set, &entry->pos};

	if (section == IN_PER_USER)
		place_per_user(set, entry);
	if (section == IN_VARIABLES)
		return pol_moves_named(set->b, entry->s, place_moved, &m);
	return section == IN_HOMES ? pol_moves_each(set->b, entry->s, place_moved, &m) : 0;
}

static int place(struct set *set, const struct pol_ynode *entry, enum section section)
{
	struct places places = places_of(set->b, section);
	const char *path;

	if (pol_yaml_expect(entry, POL_Y_STR, section_keys[section], set->err) < 0)
		return -1;
	path = entry->s + ((section == IN_ROOT || section == IN_MACOS_ROOT) && entry->s[0] == '/');
	for (size_t i = 0; i < places.n; i++)
		if (places.v[i] && place_listed(set, places.v[i], "", path, section_texts[section],
						&entry->pos) < 0)
			return -1;
	if (place_by_environment(set, entry, section) < 0)
		return -1;
	return counts_here(section) ? place_here(set, path, section, &entry->pos) : 0;
}

/* A path, or a row of them that says who obeys. */
static int place_row(struct set *set, const struct pol_ynode *row, enum section section)
{
	const struct pol_ynode *paths = row->kind == POL_Y_MAP ? pol_yaml_get(row, "paths") : NULL,
			       *by = paths ? pol_yaml_get(row, "by") : NULL;

	if (!by)
		return place(set, row, section);
	set->by = by->s;
	set->is_new = pol_yaml_get(row, "here") != NULL;
	for (size_t i = 0; i < paths->n; i++)
		if (place(set, paths->v[i], section) < 0)
			return -1;
	set->by = NULL;
	set->is_new = false;
	return 0;
}

static int take_section(struct set *set, const struct pol_ynode *key, const struct pol_ynode *value)
{
	for (int s = 0; s < SECTION_COUNT; s++) {
		if (strcmp(section_keys[s], key->s) != 0)
			continue;
		if (pol_yaml_expect(value, POL_Y_SEQ, key->s, set->err) < 0)
			return -1;
		for (size_t i = 0; i < value->n; i++)
			if (place_row(set, value->v[i], (enum section)s) < 0)
				return -1;
		return 0;
	}
	/* `reached`, `reachedSystem`: obeyed.c */
	if (strcmp(key->s, "deny") == 0 || strcmp(key->s, "description") == 0 ||
	    strcmp(key->s, "reached") == 0 || strcmp(key->s, "reachedSystem") == 0)
		return 0;
	return pol_pos_fail(set->err, &key->pos, "unknown field `%s` in spec", key->s);
}

static int take_deny(struct set *set, const struct pol_ynode *spec)
{
	const struct pol_ynode *deny = pol_yaml_get(spec, "deny");

	if (!deny)
		return pol_pos_fail(set->err, &spec->pos, "missing field `deny` in spec");
	if (pol_yaml_expect(deny, POL_Y_SEQ, "deny", set->err) < 0)
		return -1;
	for (size_t i = 0; i < deny->n; i++) {
		if (pol_yaml_expect(deny->v[i], POL_Y_STR, "deny", set->err) < 0)
			return -1;
		for (int op = SBX_READ; op <= SBX_MODIFY; op++)
			if (strcmp(deny->v[i]->s, sbx_op_name((enum sbx_op)op)) == 0)
				set->ops |= POL_OPS(op);
	}
	return 0;
}

static int take_document(struct set *set, const struct pol_ynode *root)
{
	const struct pol_ynode *kind = pol_yaml_get(root, "kind");
	const struct pol_ynode *spec = pol_yaml_get(root, "spec");

	if (!kind || strcmp(kind->s ? kind->s : "", "PathSet") != 0)
		return pol_pos_fail(set->err, &root->pos, "expected kind PathSet");
	if (!spec)
		return pol_pos_fail(set->err, &root->pos, "missing field `spec`");
	if (pol_yaml_expect(spec, POL_Y_MAP, "spec", set->err) < 0 || take_deny(set, spec) < 0)
		return -1;
	for (size_t i = 0; i < spec->n; i++)
		if (take_section(set, spec->v[2 * i], spec->v[2 * i + 1]) < 0)
			return -1;
	return 0;
}

/*
 * An agent, an editor or a git that is started in a directory of the workspace obeys what lies
 * there, and above it: the rows of a workspace count in the current directory, and in each between
 * it and the workspace.
 */
static const struct here *find_here(const struct pol_build *b)
{
	struct b_arena *a = &b->rs->arena;
	struct here *first = NULL, **last = &first;
	char here[PATH_MAX];

	if (!getcwd(here, sizeof here) || here[0] != '/')
		return NULL;
	for (size_t w = 0; w < b->rs->nworkspaces; w++) {
		const char *ws = b->rs->workspaces[w];
		size_t n = strlen(ws), len = strlen(here);

		while (len > n && sbx_path_under(here, len, ws, n)) {
			const char *dir = b_arena_strndup(a, here, len),
				   *git = pol_git_inside(a, dir);

			*last = b_arena_alloc(a, sizeof **last);
			**last = (struct here){.dir = dir,
					       .is_bare = git && strcmp(git, dir) == 0,
					       .text = b_arena_printf(a, "%s/", dir + n + (n > 1))};
			last = &(*last)->up;
			while (here[--len] != '/')
				continue;
		}
	}
	return first;
}

int pol_build_set(struct pol_build *b, const char *name, struct b_err *err)
{
	const struct pol_preset *preset = pol_preset_find(name);
	struct set set = {
		.b = b, .name = name, .tier = POL_TIER_SET, .here = find_here(b), .err = err};

	if (!preset)
		return b_fail(err, B_POLICY, 0, "no preset `%s`", name);
	return take_document(&set, pol_preset_root(preset)) < 0 ? b_wrap(err, "preset") : 0;
}

/* In a build tree that is the workspace, the next run would load what this one has written. */
void pol_build_own(struct pol_build *b)
{
	struct pol_rule r = {.tier = POL_TIER_SET, .shape = POL_EXACT};

	for (size_t i = 0; i < b->rq->nown_files; i++) {
		r.base = r.matched = b->rq->own_files[i];
		r.origin = b_arena_printf(&b->rs->arena, "builtin:self:%zu", i + 1);
		pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_NONE);
	}
}

/* What a git directory runs and obeys, behind the rule that opens it. */
int pol_build_git_closed(struct pol_build *b, const char *dir, enum pol_tier tier,
			 struct b_err *err)
{
	const struct pol_preset *preset = pol_preset_find("protected");
	const struct pol_ynode *rows = pol_yaml_get(pol_yaml_get(pol_preset_root(preset), "spec"),
						    section_keys[IN_INSIDE]);
	struct set set = {
		.b = b, .name = preset->name, .tier = tier, .ops = POL_OPS(SBX_MODIFY), .err = err};
	const char *text = pol_build_join(b, dir, "");

	for (size_t r = 0; r < rows->n; r++) {
		const struct pol_ynode *paths = pol_yaml_get(rows->v[r], "paths");

		set.by = pol_yaml_get(rows->v[r], "by")->s;
		for (size_t i = 0; i < paths->n; i++)
			if (place_listed(&set, dir, "", paths->v[i]->s, text, &paths->v[i]->pos) <
			    0)
				return -1;
	}
	pol_build_git_granted(b, dir, tier);
	return 0;
}

/*
 * What git writes of the common directory when it commits, branches, fetches or rebases in a
 * linked worktree, and the worktree's own directory. Hooks and config stay closed: they act in
 * the main worktree, outside the sandbox. The files beside the directories are replaced by
 * rename, which takes rights on the common directory itself: what the kernel cannot grant by
 * name, the broker will.
 */
int pol_build_sides(struct pol_build *b, struct b_err *err)
{
	static const char *const trees[] = {"objects", "refs", "logs"};
	static const char *const files[] = {"packed-refs", "packed-refs.lock", "packed-refs.new"};
	struct pol_rule r = {.allow = true, .tier = POL_TIER_SIDE};

	for (size_t w = 0; w < b->rs->nworkspaces; w++) {
		const char *own = b->own_dirs[w], *common = b->common_dirs[w];

		if (!own)
			continue;
		r.origin = b_arena_printf(&b->rs->arena, "builtin:worktree:%zu", w + 1);
		r.shape = POL_TREE;
		r.base = common;
		r.matched = pol_build_join(b, common, "**");
		pol_build_add(b, POL_OPS(SBX_READ), &r, POL_TWIN_NONE);
		r.base = own;
		r.matched = pol_build_join(b, own, "**");
		pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_NONE);
		for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
			r.base = pol_build_join(b, common, trees[i]);
			r.matched = pol_build_join(b, r.base, "**");
			pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_NONE);
		}
		r.shape = POL_EXACT;
		for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
			r.base = r.matched = pol_build_join(b, common, files[i]);
			pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_NONE);
		}
		/* denies in a writable directory: the broker's work */
		if (b->rq->with_protected && pol_build_git_closed(b, own, POL_TIER_SIDE, err) < 0)
			return -1;
	}
	return 0;
}
