/* SPDX-License-Identifier: Apache-2.0 */
/* floor.c - see floor_priv.h. */
#include "policy/plan/floor_priv.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/fold.h"
#include "policy/compile/ruleset.h"
#include "policy/rules/build.h"

/* A name nobody has: what the policy says of it is what it says of new names. */
#define NEW_NAME "/\001sbx"

/* The operations that Landlock carries, as bits of a `pending` set. */
static const struct {
	enum sbx_op op;
	unsigned right;
} planned[POL_PLANNED_OPS] = {
	{SBX_READ, POL_GRANT_READ},
	{SBX_MODIFY, POL_GRANT_WRITE},
	{SBX_EXEC, POL_GRANT_EXEC},
};
#define ALL_PENDING  ((1u << POL_PLANNED_OPS) - 1)
#define EXEC_PENDING (1u << 2)

/* One directory on its way to be carved. */
struct entries {
	struct b_arena arena;
	struct {
		const char *name;
		char type;
	} * v;
	size_t n, cap;
};

static void visit(struct pol_plan *, const char *path, size_t len, char type, unsigned pending);

static unsigned rights_of(const struct pol_plan *p, unsigned i)
{
	if (p->exec_is_read && planned[i].op == SBX_READ)
		return POL_GRANT_READ | POL_GRANT_EXEC;
	return planned[i].right;
}

static bool same_rule(const struct pol_rule *a, const struct pol_rule *b)
{
	if (a->allow != b->allow || a->shape != b->shape || a->layer != b->layer ||
	    (a->base != b->base && strcmp(a->base, b->base) != 0))
		return false;
	return a->shape != POL_GLOB ||
	       (a->base_is_root == b->base_is_root && !strcmp(a->glob, b->glob));
}

static bool same_list(const struct pol_list *a, const struct pol_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!same_rule(&a->v[i], &b->v[i]))
			return false;
	return true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void collect_bases(struct pol_plan *p, unsigned i)
{
	const struct pol_list *list = &p->rules->op[planned[i].op];
	struct pol_bases *bases = &p->bases[i];

	bases->v = b_arena_alloc(&p->out->arena, (list->n + 1) * sizeof *bases->v);
	for (size_t k = 0; k < list->n; k++)
		bases->v[bases->n++] = list->v[k].base;
	qsort(bases->v, bases->n, sizeof *bases->v, by_text);
}

/* Index of the first base below directory `path` ("" = root), or n. */
static size_t first_below(const struct pol_bases *bases, const char *path, size_t len)
{
	size_t lo = 0, hi = bases->n;

	/* Bases below are those that start with path + '/'; they are neighbours once sorted. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int cmp = strncmp(bases->v[mid], path, len);

		if (cmp < 0 || (cmp == 0 && (unsigned char)bases->v[mid][len] < '/'))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool pol_plan_is_below(const char *base, const char *path, size_t len)
{
	return !strncmp(base, path, len) && base[len] == '/';
}

static bool lies_above_a_rule(const struct pol_plan *p, unsigned i, const char *path, size_t len)
{
	size_t at = first_below(&p->bases[i], path, len);

	return at < p->bases[i].n && pol_plan_is_below(p->bases[i].v[at], path, len);
}

/* The automata call the root directory "", people and the kernel "/". */
bool pol_plan_allows(const struct pol_plan *p, enum sbx_op op, const char *path, size_t len)
{
	return len ? sbx_decide(p->img, op, path, len) : sbx_decide(p->img, op, "/", 1);
}

/* Is the directory where names are not told apart, and perhaps, by another spelling of its own,
 * what a rule denies, or something below it? It gets no right, and is the broker's. */
static bool is_folded(const struct pol_plan *p, enum sbx_op op, const char *path, size_t len)
{
	return p->fs->folds && sbx_folded_near(p->img, op, len ? path : "/", len ? len : 1) >= 0 &&
	       p->fs->folds(p->fs->ctx, path);
}

/* The same of a file, below which nothing lies. */
static bool is_folded_file(const struct pol_plan *p, enum sbx_op op, const char *path, size_t len)
{
	const unsigned anyhow = SBX_FOLDS_CASE | SBX_FOLDS_ALIAS;

	return p->fs->folds && sbx_folded_rule(p->img, op, path, len, anyhow) >= 0 &&
	       p->fs->folds(p->fs->ctx, path);
}

/* What the policy says of everything beneath a directory, whatever it says of itself. */
enum sbx_subtree pol_plan_beneath(const struct pol_plan *p, enum sbx_op op, const char *path,
				  size_t len)
{
	uint32_t state = sbx_step(p->img, op, sbx_walk(p->img, op, path, len), '/');
	unsigned flags = sbx_state_flags(p->img, op, state);

	if (flags & SBX_ST_ALL_ALLOW)
		return is_folded(p, op, path, len) ? SBX_SUBTREE_MIXED : SBX_SUBTREE_ALLOW;
	return flags & SBX_ST_ALL_DENY ? SBX_SUBTREE_DENY : SBX_SUBTREE_MIXED;
}

/*
 * The verdict that Landlock can carry. Rights on a directory to modify or execute are rights on
 * what lies beneath: the directory itself (its removal, its name) is its parent's affair. To
 * read one is to list it, so there its own verdict counts. Nothing is beneath a file.
 */
static enum sbx_subtree subtree(const struct pol_plan *p, enum sbx_op op, const char *path,
				size_t len, bool is_dir)
{
	enum sbx_subtree s;

	if (!is_dir)
		return pol_plan_allows(p, op, path, len) && !is_folded_file(p, op, path, len)
			       ? SBX_SUBTREE_ALLOW
			       : SBX_SUBTREE_DENY;
	if (op != SBX_READ)
		return pol_plan_beneath(p, op, path, len);
	s = len ? sbx_subtree(p->img, op, path, len) : sbx_subtree(p->img, op, "/", 1);
	return s == SBX_SUBTREE_ALLOW && is_folded(p, op, path, len) ? SBX_SUBTREE_MIXED : s;
}

bool pol_plan_new_names(const struct pol_plan *p, enum sbx_op op, const char *path, size_t len)
{
	char probe[PATH_MAX + sizeof NEW_NAME];

	memcpy(probe, path, len);
	memcpy(probe + len, NEW_NAME, sizeof NEW_NAME);
	return sbx_decide(p->img, op, probe, len + sizeof NEW_NAME - 1);
}

static void add_grant(struct pol_floor *f, const char *path, size_t len, unsigned rights,
		      bool is_dir, bool lax)
{
	b_grow(f->grants, f->ngrants, f->grants_cap);
	f->grants[f->ngrants++] = (struct pol_grant){
		.path = len ? b_arena_strndup(&f->arena, path, len) : "/",
		.rights = rights,
		.is_dir = is_dir,
		.lax = lax,
	};
}

/* Landlock's right to list goes for all that lies beneath as well: the broker lists exactly. */
static void make_listable(struct pol_plan *p, const char *path, size_t len)
{
	if (p->has_broker) {
		pol_brokered_add(p, path, len, POL_GRANT_READ);
		pol_brokered_read(p, POL_READ_DIRECTORY);
		return;
	}
	add_grant(p->out, path, len, POL_GRANT_LIST, true, false);
	p->listed_beneath = true;
}

/* To be read in part, all of it is opened by the broker, and Landlock lets all of it be read:
 * it knows no execution of what may not be read. */
static void leave_to_broker(struct pol_plan *p, unsigned i, const char *path, size_t len)
{
	unsigned rights = rights_of(p, i);

	pol_brokered_add(p, path, len, rights);
	if (rights & POL_GRANT_READ)
		pol_brokered_read(p, POL_READ_ALL);
	/* also for reading alone: where Landlock grants it, a denied file could be executed */
	if (rights & (POL_GRANT_READ | POL_GRANT_EXEC))
		p->out->traps |= POL_TRAP_EXEC;
	if (planned[i].op != SBX_MODIFY)
		add_grant(p->out, path, len, rights, true, false);
}

/* A directory that neither is clean nor can be carved for the operation. */
static void complex_dir(struct pol_plan *p, unsigned i, const char *path, size_t len)
{
	enum sbx_op op = planned[i].op;

	if (pol_plan_beneath(p, op, path, len) == SBX_SUBTREE_DENY) {
		/* Reading it, but nothing in it: that is listing. */
		make_listable(p, path, len);
		return;
	}
	if (p->has_broker)
		leave_to_broker(p, i, path, len);
	else if (pol_gap_complex(p, op, path, len))
		add_grant(p->out, path, len, rights_of(p, i), true, true);
}

static int collect_entry(void *arg, const char *name, char type)
{
	struct entries *e = arg;

	b_grow(e->v, e->n, e->cap);
	e->v[e->n].name = b_arena_strndup(&e->arena, name, strlen(name));
	e->v[e->n++].type = type;
	return 0;
}

static void visit_child(struct pol_plan *p, const char *dir, size_t len, const char *name,
			size_t name_len, char type, unsigned pending)
{
	char child[PATH_MAX];

	if (len + 1 + name_len >= sizeof child)
		return; /* nothing can be opened by such a path either */
	memcpy(child, dir, len);
	child[len] = '/';
	memcpy(child + len + 1, name, name_len);
	child[len + 1 + name_len] = '\0';
	/* Rules are judged on canonical paths: what a symlink leads to is judged there. */
	if (!type)
		type = p->fs->type(p->fs->ctx, child);
	if (type == 'd' || type == 'f')
		visit(p, child, len + 1 + name_len, type, pending);
}

/* Does a rule of the operation speak of `path` itself or of something below it? */
static bool is_named(const struct pol_plan *p, unsigned i, const char *path, size_t len)
{
	const struct pol_bases *bases = &p->bases[i];

	return lies_above_a_rule(p, i, path, len) ||
	       (bases->n && bsearch(&path, bases->v, bases->n, sizeof *bases->v, by_text));
}

/* The child of operation `i`, unless it was visited for one before. */
static void visit_once(struct pol_plan *p, const char *dir, size_t len, const char *base,
		       unsigned pending, unsigned i)
{
	size_t end = len + 1 + strcspn(base + len + 1, "/");
	char child[PATH_MAX];

	if (end >= sizeof child)
		return;
	memcpy(child, base, end);
	child[end] = '\0';
	while (i-- > 0)
		if (pending & 1u << i && is_named(p, i, child, end))
			return;
	visit_child(p, dir, len, child + len + 1, end - len - 1, 0, pending);
}

/* What the rules name directly in or below a directory. */
static void visit_named(struct pol_plan *p, const char *path, size_t len, unsigned pending)
{
	for (unsigned i = 0; i < POL_PLANNED_OPS; i++) {
		const struct pol_bases *bases = &p->bases[i];
		const char *last = NULL;

		if (!(pending & 1u << i))
			continue;
		for (size_t at = first_below(bases, path, len);
		     at < bases->n && pol_plan_is_below(bases->v[at], path, len); at++) {
			const char *base = bases->v[at];
			size_t end = len + 1 + strcspn(base + len + 1, "/");

			if (last && !strncmp(base, last, end) && (!last[end] || last[end] == '/'))
				continue;
			visit_once(p, path, len, base, pending, i);
			last = base;
		}
	}
}

/* Does a pattern, of those that allow or of all, tell names in this directory apart that nobody
 * may have yet? Its base is there or above. */
static bool has_pattern(const struct pol_plan *p, enum sbx_op op, const char *path, size_t len,
			bool allow_only)
{
	const struct pol_list *list = &p->rules->op[op];

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		if (r->shape == POL_GLOB && (r->allow || !allow_only) && r->base_len <= len &&
		    !strncmp(r->base, path, r->base_len) &&
		    (r->base_len == len || path[r->base_len] == '/'))
			return true;
	}
	return false;
}

/* Where whole subtrees decide and the one that reaches here denies, all that no rule names is
 * denied: a workspace in /tmp does not depend on how much else lies there. */
static bool names_suffice(const struct pol_plan *p, const char *path, size_t len, unsigned pending)
{
	for (unsigned i = 0; i < POL_PLANNED_OPS; i++)
		if (pending & 1u << i && (pol_plan_new_names(p, planned[i].op, path, len) ||
					  has_pattern(p, planned[i].op, path, len, false)))
			return false;
	return true;
}

static void carve(struct pol_plan *p, const char *path, size_t len, unsigned pending)
{
	struct entries e = {0};
	struct pol_floor *f = p->out;
	bool is_listed = !names_suffice(p, path, len, pending) &&
			 p->fs->list(p->fs->ctx, len ? path : "/", collect_entry, &e) == 0;
	bool crowded = e.n > POL_CARVE_MAX;

	if (crowded && p->has_broker) {
		for (unsigned i = 0; i < POL_PLANNED_OPS; i++)
			if (pending & 1u << i)
				leave_to_broker(p, i, path, len);
		free(e.v);
		b_arena_release(&e.arena);
		return;
	}
	b_grow(f->carved, f->ncarved, f->carved_cap);
	f->carved[f->ncarved++] = len ? b_arena_strndup(&f->arena, path, len) : "/";
	if ((pending & 1u) && pol_plan_allows(p, SBX_READ, path, len))
		make_listable(p, path, len);
	pol_gap_carved(p, path, len, pending, crowded);
	/* A directory that cannot be listed may still be passed through to what rules name. */
	if (!is_listed)
		visit_named(p, path, len, pending);
	for (size_t i = 0; i < e.n; i++)
		if (e.v[i].type == 'd' || (e.v[i].type == 'f' && !crowded))
			visit_child(p, path, len, e.v[i].name, strlen(e.v[i].name), e.v[i].type,
				    pending);
	free(e.v);
	b_arena_release(&e.arena);
}

/* Does somebody deny something below? What the launcher keeps to itself in /dev/shm, where nobody
 * executes anything, is not worth performing every open of a run. */
static bool has_deny_below(const struct pol_plan *p, enum sbx_op op, const char *path, size_t len)
{
	const struct pol_list *list = &p->rules->op[op];

	for (size_t i = 0; i < list->n; i++)
		if (!list->v[i].allow && list->v[i].tier != POL_TIER_BASE &&
		    pol_plan_is_below(list->v[i].base, path, len))
			return true;
	return false;
}

static bool can_carve(const struct pol_plan *p, unsigned i, const char *path, size_t len)
{
	enum sbx_op op = planned[i].op;

	/* Granting entries one by one would take away the making of new ones, which is what a
	 * writable directory is for. */
	if (op == SBX_MODIFY && pol_plan_new_names(p, op, path, len))
		return false;
	/* The broker makes and finds by name what is not there yet: what a pattern allows, and what
	 * the command itself makes, to be executed soon, which nobody can do for it. */
	if (p->has_broker &&
	    (has_pattern(p, op, path, len, true) ||
	     (pol_plan_new_names(p, SBX_MODIFY, path, len) && has_deny_below(p, op, path, len))))
		return false;
	return lies_above_a_rule(p, i, path, len) ||
	       pol_plan_beneath(p, op, path, len) == SBX_SUBTREE_ALLOW;
}

/* Which of the mixed operations can be carved here; the others are dealt with. */
static unsigned carvable(struct pol_plan *p, const char *path, size_t len, unsigned mixed)
{
	unsigned carved = 0;

	for (unsigned i = 0; i < POL_PLANNED_OPS; i++) {
		if (!(mixed & 1u << i))
			continue;
		if (can_carve(p, i, path, len))
			carved |= 1u << i;
		else
			complex_dir(p, i, path, len);
	}
	return carved;
}

static void visit(struct pol_plan *p, const char *path, size_t len, char type, unsigned pending)
{
	bool is_dir = type == 'd';
	unsigned rights = 0, mixed = 0;

	for (unsigned i = 0; i < POL_PLANNED_OPS; i++) {
		enum sbx_op op = planned[i].op;
		enum sbx_subtree s;

		if (!(pending & 1u << i))
			continue;
		s = subtree(p, op, path, len, is_dir);
		if (s == SBX_SUBTREE_ALLOW ||
		    (s == SBX_SUBTREE_MIXED && pol_plan_held(p, op, path, len)))
			rights |= rights_of(p, i);
		else if (s == SBX_SUBTREE_MIXED)
			mixed |= 1u << i;
	}
	if (rights)
		add_grant(p->out, path, len, rights, is_dir, false);
	mixed = carvable(p, path, len, mixed);
	if (mixed)
		carve(p, path, len, mixed);
}

static bool in_dev(const char *path)
{
	return !strncmp(path, "/dev/", 5);
}

static int by_path(const void *a, const void *b)
{
	const struct pol_grant *x = a, *y = b;
	int cmp = strcmp(x->path, y->path);

	return cmp ? cmp : (int)x->lax - (int)y->lax;
}

/* One grant per path; device nodes that may be written may be controlled. */
static void settle_grants(struct pol_floor *f)
{
	size_t n = 0;

	if (f->ngrants)
		qsort(f->grants, f->ngrants, sizeof *f->grants, by_path);
	for (size_t i = 0; i < f->ngrants; i++) {
		struct pol_grant *g = &f->grants[i];

		if ((g->rights & POL_GRANT_WRITE) && in_dev(g->path))
			g->rights |= POL_GRANT_DEV;
		if (n && by_path(&f->grants[n - 1], g) == 0)
			f->grants[n - 1].rights |= g->rights;
		else
			f->grants[n++] = *g;
	}
	f->ngrants = n;
}

bool pol_floor_opens_devices(const struct pol_floor *f)
{
	for (size_t i = 0; i < f->ngrants; i++)
		if (f->grants[i].rights & POL_GRANT_DEV && !pol_base_has_device(f->grants[i].path))
			return true;
	return false;
}

static int make_plan(struct pol_plan *p, struct b_err *err)
{
	struct pol_floor *f = p->out;

	*f = (struct pol_floor){.traps = p->host_traps};
	p->exec_is_read = same_list(&p->rules->op[SBX_READ], &p->rules->op[SBX_EXEC]);
	for (unsigned i = 0; i < POL_PLANNED_OPS; i++)
		if (!p->exec_is_read || planned[i].op != SBX_EXEC)
			collect_bases(p, i);
	visit(p, "", 0, 'd', p->exec_is_read ? ALL_PENDING & ~EXEC_PENDING : ALL_PENDING);
	pol_gap_single_targets(p);
	if (p->has_broker)
		pol_brokered_settle(p);
	else
		pol_gap_movable(p);
	settle_grants(f);
	if (p->listed_beneath)
		pol_gap_names(p);
	if (!f->ngrants) {
		pol_floor_release(f);
		return b_fail(err, B_FLOOR, 0,
			      "the policy allows nothing that exists: no command could start");
	}
	return 0;
}

int pol_floor_plan(const struct pol_ruleset *rules, const struct sbx_image *img,
		   const struct pol_fsview *fs, struct pol_floor *out, struct b_err *err)
{
	struct pol_plan p = {.rules = rules, .img = img, .fs = fs, .out = out};

	return make_plan(&p, err);
}

int pol_floor_plan_broker(const struct pol_ruleset *rules, const struct sbx_image *img,
			  const struct pol_fsview *fs, unsigned traps, struct pol_floor *out,
			  struct b_err *err)
{
	struct pol_plan p = {.rules = rules,
			     .img = img,
			     .fs = fs,
			     .out = out,
			     .has_broker = true,
			     .host_traps = traps};

	return make_plan(&p, err);
}
