/*
 * samemount.c - what a rule denies lies under a second name where its file system is mounted twice:
 * a bind mount of a home, the top of a btrfs whose subvolume is the home. Each such name is closed
 * by a rule of its own, behind the one that it repeats, so that what opens names later opens these
 * as well.
 */
#include <string.h>

#include "policy/build.h"
#include "policy/mountinfo.h"

static bool is_same(const struct pol_mounted *a, const struct pol_mounted *b)
{
	return a->major == b->major && a->minor == b->minor &&
	       (pol_mounted_behind(a->root, b->root) || pol_mounted_behind(b->root, a->root));
}

/* Nearly no host has such mounts: then no rule is looked at. */
static bool find_mounts(struct pol_build *b)
{
	if (b->has_mounts)
		return b->mounts_meet;
	b->has_mounts = true;
	b->nmounts = pol_mountinfo(&b->rs->arena, &b->mounts);
	for (size_t i = 0; i < b->nmounts; i++)
		for (size_t k = 0; k < i && !b->mounts_meet; k++)
			b->mounts_meet = is_same(&b->mounts[i], &b->mounts[k]) &&
					 strcmp(b->mounts[i].at, b->mounts[k].at) != 0;
	return b->mounts_meet;
}

static const char *join(struct pol_build *b, const char *dir, const char *behind)
{
	return b_arena_printf(&b->rs->arena, "%s%s", *behind && !dir[1] ? "" : dir, behind);
}

void pol_build_add_mounted(struct pol_build *b, unsigned ops, const struct pol_rule *r)
{
	const struct pol_mounted *own;
	const char *inside;

	/* the base says what is so before any rule speaks; all of it again would be the root */
	if (r->allow || !r->base_len || (r->tier == POL_TIER_BASE && !b->hides) || !find_mounts(b))
		return;
	own = pol_mounted_at(b->mounts, b->nmounts, r->base);
	if (!own)
		return;
	inside = join(b, own->root, pol_mounted_behind(r->base, own->at));
	for (size_t i = 0; i < b->nmounts; i++) {
		const struct pol_mounted *m = &b->mounts[i];
		const char *behind;
		struct pol_rule t = *r;

		if (m == own || !is_same(m, own))
			continue;
		behind = pol_mounted_behind(inside, m->root);
		if (!behind && r->shape == POL_TREE && pol_mounted_behind(m->root, inside))
			behind = ""; /* the mount shows a part of the denied tree */
		if (!behind)
			continue;
		pol_build_at(&t, join(b, m->at, behind));
		t.twin = true;
		if (t.base_len && strcmp(t.base, r->base) != 0)
			pol_ruleset_add_to(b->rs, ops, &t);
	}
}
