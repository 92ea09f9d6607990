/* SPDX-License-Identifier: Apache-2.0 */
/* mounts.c - pure: the file system is asked through the view. */
#include "policy/plan/mounts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/decide.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"

/* A name nobody has: what the policy says of it is what it says of new names. */
#define NEW_NAME "/\001sbx"

struct plan {
	const struct pol_ruleset *rules;
	const struct sbx_image *img;
	const struct pol_fsview *fs;
	struct pol_floor *floor;
	struct pol_mounts *out;
	size_t ncovers_from; /* covers stand in out->v from here */
};

const char *pol_mount_kind_name(enum pol_mount_kind kind)
{
	static const char *const names[] = {
#define X(name, text) [POL_MOUNT_##name] = text,
		POL_MOUNT_KINDS(X)
#undef X
	};

	return names[kind];
}

static void add(struct plan *p, enum pol_mount_kind kind, const char *path, bool is_cover)
{
	struct pol_mounts *m = p->out;

	b_grow(m->v, m->n, m->cap);
	m->v[m->n++] = (struct pol_mount){
		.kind = kind,
		.path = b_arena_strndup(&m->arena, path, strlen(path)),
		.is_cover = is_cover,
	};
}

static bool is_in(const char *path, const char *dir)
{
	return strcmp(dir, "/") == 0 || sbx_path_under(path, strlen(path), dir, strlen(dir));
}

/* ---- what is granted ---- */

/* /dev and /proc are made anew; what else of them is granted is bound into them. */
static bool is_made_anew(const char *path)
{
	static const char *const nodes[] = {
		"/dev",	    "/dev/null",    "/dev/zero",   "/dev/full",	 "/dev/random",
		"/dev/tty", "/dev/urandom", "/dev/pts",	   "/dev/ptmx",	 "/dev/shm",
		"/dev/fd",  "/dev/stdin",   "/dev/stdout", "/dev/stderr"};

	if (is_in(path, "/proc") || is_in(path, "/dev/pts"))
		return true;
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		if (strcmp(path, nodes[i]) == 0)
			return true;
	return false;
}

static enum pol_mount_kind kind_of(const struct pol_grant *g)
{
	/* of a private /dev/shm nothing is a device */
	if (is_in(g->path, "/dev") && !is_in(g->path, "/dev/shm"))
		return POL_MOUNT_DEVICE;
	return g->rights & (POL_GRANT_WRITE | POL_GRANT_PUT | POL_GRANT_RING) ? POL_MOUNT_RW
									      : POL_MOUNT_RO;
}

/* What is bound at `path` or above already says as much. */
static bool is_bound(const struct pol_mounts *m, const char *path, enum pol_mount_kind kind)
{
	for (size_t i = m->n; i-- > 0;)
		if (is_in(path, m->v[i].path))
			return m->v[i].kind == kind || m->v[i].kind == POL_MOUNT_RW;
	return false;
}

/* A mount cannot tell reading from executing. */
static void check_exec(struct plan *p, const struct pol_grant *g)
{
	struct pol_gap gap = {.op = SBX_EXEC,
			      .rule = g->path,
			      .origin = "",
			      .why = "a mount cannot deny execution of a readable file",
			      .remedy = "--backend landlock",
			      .fatal = true};
	struct pol_floor *f = p->floor;

	if (!(g->rights & POL_GRANT_READ) || g->rights & POL_GRANT_EXEC ||
	    kind_of(g) == POL_MOUNT_DEVICE)
		return;
	b_grow(f->gaps, f->ngaps, f->gaps_cap);
	f->gaps[f->ngaps++] = gap;
}

static int by_path(const void *a, const void *b)
{
	const struct pol_grant *x = a, *y = b;
	int cmp = strcmp(x->path, y->path);

	return cmp ? cmp : (int)x->lax - (int)y->lax;
}

static void bind_grants(struct plan *p)
{
	const struct pol_floor *f = p->floor;

	/* By path: what lies below another comes behind it. The lax grant of a path is beside the
	 * exact one. */
	for (size_t i = 0; i < f->ngrants; i++) {
		struct pol_grant g = f->grants[i];

		if (i + 1 < f->ngrants && strcmp(g.path, f->grants[i + 1].path) == 0)
			g.rights |= f->grants[++i].rights;
		if (!(g.rights & ~POL_GRANT_LIST) || is_made_anew(g.path))
			continue;
		check_exec(p, &g);
		if (!is_bound(p->out, g.path, kind_of(&g)))
			add(p, kind_of(&g), g.path, false);
	}
}

/* ---- symlinks of directories that were carved ---- */

struct linking {
	struct plan *p;
	const char *dir;
};

static int link_entry(void *arg, const char *name, char type)
{
	const struct linking *l = arg;
	const struct pol_fsview *fs = l->p->fs;
	char path[PATH_MAX], target[PATH_MAX];

	if (type != 'l' || strlen(l->dir) + strlen(name) + 2 > sizeof path)
		return 0;
	strcpy(path, strcmp(l->dir, "/") == 0 ? "" : l->dir);
	strcat(path, "/");
	strcat(path, name);
	/* what lies in a directory that is bound is there with it */
	if (is_made_anew(path) || is_bound(l->p->out, path, POL_MOUNT_RO) ||
	    fs->link(fs->ctx, path, target, sizeof target) < 0)
		return 0;
	add(l->p, POL_MOUNT_LINK, path, false);
	l->p->out->v[l->p->out->n - 1].target =
		b_arena_strndup(&l->p->out->arena, target, strlen(target));
	return 0;
}

static void add_links(struct plan *p)
{
	for (size_t i = 0; i < p->floor->ncarved; i++) {
		struct linking l = {p, p->floor->carved[i]};

		if (is_in(l.dir, "/proc") || is_in(l.dir, "/dev"))
			continue;
		(void)p->fs->list(p->fs->ctx, l.dir, link_entry, &l);
	}
}

/* ---- covers ---- */

static bool allows(const struct plan *p, enum sbx_op op, const char *path)
{
	return sbx_decide(p->img, op, path, strlen(path));
}

/* Of what is made in the directory; of a file itself. */
static bool allows_in(const struct plan *p, enum sbx_op op, const char *path, char type)
{
	char probe[PATH_MAX + sizeof NEW_NAME];

	if (type != 'd' || strlen(path) >= PATH_MAX)
		return allows(p, op, path);
	strcpy(probe, path);
	strcat(probe, NEW_NAME);
	return allows(p, op, probe);
}

static enum pol_mount_kind cover_of(const struct plan *p, const char *path, char type)
{
	if (!allows_in(p, SBX_READ, path, type))
		return type == 'd' ? POL_MOUNT_HIDE_DIR : POL_MOUNT_HIDE_FILE;
	return allows_in(p, SBX_MODIFY, path, type) ? POL_MOUNT_RW : POL_MOUNT_RO;
}

/* How the place is bound so far: by the last cover or bind at or above it. */
static enum pol_mount_kind bound_as(const struct plan *p, const char *path)
{
	for (size_t i = p->out->n; i-- > 0;)
		if (p->out->v[i].kind != POL_MOUNT_PIN && p->out->v[i].kind != POL_MOUNT_LINK &&
		    is_in(path, p->out->v[i].path))
			return p->out->v[i].kind;
	return POL_MOUNT_RO;
}

static bool is_mount(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->out->n; i++)
		if (strcmp(p->out->v[i].path, path) == 0)
			return true;
	return false;
}

/* The directories between the writable one and what is covered in it. */
static void pin_above(struct plan *p, const char *dir, const char *path)
{
	char above[PATH_MAX];

	if (strlen(path) >= sizeof above)
		return;
	strcpy(above, path);
	for (size_t i = strlen(dir) + 1; above[i]; i++) {
		if (above[i] != '/')
			continue;
		above[i] = '\0';
		if (!is_mount(p, above) && bound_as(p, above) == POL_MOUNT_RW)
			add(p, POL_MOUNT_PIN, above, true);
		above[i] = '/';
	}
}

static bool is_tree(const struct pol_rule *r)
{
	return r->shape == POL_TREE || (r->shape == POL_GLOB && strcmp(r->glob, "**") == 0);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Bases below the directory of all rules that say something of single things or trees. */
static const char **bases_below(struct plan *p, const char *dir, size_t *out_n)
{
	size_t n = 0, cap = 0;
	const char **v = NULL;

	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		for (size_t i = 0; i < p->rules->op[op].n; i++) {
			const struct pol_rule *r = &p->rules->op[op].v[i];

			if ((r->shape != POL_EXACT && !is_tree(r)) || r->base_len == 0 ||
			    strcmp(r->base, dir) == 0 || !is_in(r->base, dir))
				continue;
			b_grow(v, n, cap);
			v[n++] = r->base;
		}
	if (n > 0)
		qsort(v, n, sizeof *v, by_text);
	*out_n = n;
	return v;
}

/* A name in a mount's path that is a symlink would be followed. */
static bool is_plain(const struct plan *p, const char *path)
{
	char type = p->fs->type(p->fs->ctx, path);

	return type == 'd' || type == 'f';
}

static void cover(struct plan *p, const char *dir)
{
	size_t n;
	const char **bases = bases_below(p, dir, &n);

	for (size_t i = 0; i < n; i++) {
		enum pol_mount_kind want;

		if ((i > 0 && strcmp(bases[i], bases[i - 1]) == 0) || !is_plain(p, bases[i]))
			continue;
		want = cover_of(p, bases[i], p->fs->type(p->fs->ctx, bases[i]));
		if (want == bound_as(p, bases[i]))
			continue;
		pin_above(p, dir, bases[i]);
		add(p, want, bases[i], true);
	}
	free(bases);
}

/* ---- gaps that are closed so ---- */

/* What is left. */
static void explain(const struct plan *p, struct pol_gap *g)
{
	static const struct {
		const char *why, *remedy;
	} texts[] = {
		{"a mount cannot cover a file that does not exist, or a directory without its "
		 "contents",
		 "create it first, use --backend landlock, or --best-effort: the shim still "
		 "refuses programs that load it"},
		{"a mount cannot cover a pattern", "--backend landlock, or --best-effort: the shim "
						   "still refuses programs that load it"},
		{"a mount covers one spelling of an existing name",
		 "use --backend landlock, or --best-effort: the shim still refuses other spellings "
		 "and new names"}};
	const struct pol_list *list = &p->rules->op[g->op];
	bool is_glob = false, is_name = false;

	if (!g->fatal || !*g->origin)
		return;
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];
		bool has_pattern = r->shape == POL_GLOB && !is_tree(r);

		if (strcmp(r->origin, g->origin) != 0 || strcmp(r->matched, g->rule) != 0)
			continue;
		is_glob |= has_pattern;
		is_name |= !has_pattern;
	}
	g->why = texts[is_glob + (is_glob && is_name)].why;
	g->remedy = texts[is_glob + (is_glob && is_name)].remedy;
}

static bool is_lax_dir_above(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->floor->ngrants; i++)
		if (p->floor->grants[i].lax && is_in(path, p->floor->grants[i].path))
			return true;
	return false;
}

/* Does a cover say all that the rule says? Of a directory alone it says too much. */
static bool is_covered(const struct plan *p, const struct pol_rule *r)
{
	char type = p->fs->type(p->fs->ctx, r->base_len ? r->base : "/");

	if (r->shape == POL_GLOB && !is_tree(r))
		return false;
	return r->shape == POL_EXACT ? type == 'f' : type == 'f' || type == 'd';
}

/* Every rule that the gap speaks of: a twin's first spelling leads to the second. */
static bool is_closed(const struct plan *p, const struct pol_gap *g)
{
	const struct pol_list *list = &p->rules->op[g->op];
	size_t found = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		if (r->allow || strcmp(r->origin, g->origin) != 0 ||
		    strcmp(r->matched, g->rule) != 0 || (i + 1 < list->n && list->v[i + 1].twin) ||
		    !is_lax_dir_above(p, r->base))
			continue;
		if (!is_covered(p, r))
			return false;
		found++;
	}
	return found > 0;
}

/* That a directory which is bound whole was to be granted by its entries. */
static bool is_of_carving(const struct plan *p, const struct pol_gap *g)
{
	return !g->fatal && !*g->origin && g->rule[0] == '/' && is_lax_dir_above(p, g->rule);
}

static void close_gaps(struct plan *p)
{
	struct pol_floor *f = p->floor;
	size_t n = 0;

	for (size_t i = 0; i < f->ngaps; i++) {
		if (is_closed(p, &f->gaps[i]) || is_of_carving(p, &f->gaps[i]))
			continue;
		explain(p, &f->gaps[i]);
		f->gaps[n++] = f->gaps[i];
	}
	f->ngaps = n;
}

void pol_mounts_plan(const struct pol_ruleset *rules, const struct sbx_image *img,
		     const struct pol_fsview *fs, struct pol_floor *floor, struct pol_mounts *out)
{
	struct plan p = {.rules = rules, .img = img, .fs = fs, .floor = floor, .out = out};

	*out = (struct pol_mounts){0};
	/* what was granted since the planning stands behind */
	if (floor->ngrants > 0)
		qsort(floor->grants, floor->ngrants, sizeof *floor->grants, by_path);
	close_gaps(&p);
	bind_grants(&p);
	add_links(&p);
	for (size_t i = 0; i < floor->ngrants; i++)
		if (floor->grants[i].lax)
			cover(&p, floor->grants[i].path);
}

void pol_mounts_release(struct pol_mounts *m)
{
	free(m->v);
	b_arena_release(&m->arena);
	*m = (struct pol_mounts){0};
}
