/* floor_broker.c - the part of a floor plan that the broker performs. */
#include "policy/back/floor_priv.h"

#include <stdlib.h>
#include <string.h>

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
		const struct pol_grant *g = &f->grants[i];

		if ((!g->lax || f->gaps_accepted) && !is_covered(f, g))
			pol_floor_grant(out, g->path, g->rights, g->is_dir);
	}
	for (size_t i = 0; i < f->nbrokered; i++)
		pol_floor_grant(out, f->brokered[i].path, union_rights(&f->brokered[i]), true);
	/* it looks into its callers there */
	pol_floor_grant(out, "/proc", POL_GRANT_READ, true);
}
