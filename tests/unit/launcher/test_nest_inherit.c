/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/linux/nested/nest.h"

/*
 * Each member of a broker's plan has a line here: a new one fails until it has, and its author
 * says how it reaches the runs inside.
 */

static const char *const outer_names[] = {"/outer", "/both"}, *const inner_names[] = {"/both",
										      "/inner"};
static unsigned char outer_marks[LAU_TERMINALS / 8], inner_marks[LAU_TERMINALS / 8];
static const struct sbx_image *const outermost[] = {(const void *)"outermost"};
static struct b_arena arena;

/* Two plans that differ in all bytes of the rows that are not taken, and what follows of them. */
struct plans {
	struct lau_broker_plan outer, before, inner;
};

static void make(struct plans *p)
{
	memset(&p->outer, 0x11, sizeof p->outer);
	memset(&p->inner, 0x22, sizeof p->inner);
	outer_marks[0] = 1, inner_marks[1] = 2;
	p->outer.image = (const void *)"outer";
	p->outer.streams = p->outer.stands = p->outer.devices = (struct lau_names){outer_names, 2};
	p->inner.streams = p->inner.stands = p->inner.devices = (struct lau_names){inner_names, 2};
	p->outer.terminals = outer_marks;
	p->inner.terminals = inner_marks;
	p->outer.given = p->inner.given = (struct lau_givens){0};
	p->outer.apart = (struct lau_images){outermost, 1};
	p->inner.apart = (struct lau_images){0};
	p->outer.foreign_roots = false;
	p->inner.foreign_roots = true;
	p->outer.unix_host = false;
	p->inner.unix_host = true;
	p->outer.allows_setid = false;
	p->inner.allows_setid = true;
	p->outer.keep_caps = 6;
	p->inner.keep_caps = 3;
	p->before = p->inner;
	lau_nest_inherit(&arena, &p->outer, &p->inner);
}

static bool is_of_both(const struct plans *p)
{
	return p->inner.devices.n == 1 && !strcmp(p->inner.devices.v[0], "/both");
}

static bool are_of_either(const struct lau_names *names)
{
	return names->n == 3 && !strcmp(names->v[0], "/outer") && !strcmp(names->v[1], "/both") &&
	       !strcmp(names->v[2], "/inner");
}

static bool is_of_either(const struct plans *p)
{
	return are_of_either(&p->inner.streams) && are_of_either(&p->inner.stands);
}

static bool marks_of_either(const struct plans *p)
{
	struct lau_broker_plan none = {0}, outer = {.terminals = outer_marks};

	lau_nest_inherit(&arena, &outer, &none);
	return p->inner.terminals[0] == 1 && p->inner.terminals[1] == 2 && none.terminals[0] == 1;
}

static bool given_to_either(const struct plans *p)
{
	static const struct lau_given one[] = {{.ino = 1}}, two[] = {{.ino = 2}};
	struct lau_broker_plan outer = {.given = {one, 1}}, inner = {.given = {two, 1}};

	(void)p;
	lau_nest_inherit(&arena, &outer, &inner);
	return inner.given.n == 2 && inner.given.v[0].ino == 1 && inner.given.v[1].ino == 2;
}

static bool has_images(const struct plans *p)
{
	struct lau_broker_plan outer = {.image = (const void *)"one"}, inner = outer;

	inner.apart = (struct lau_images){outermost, 1};
	lau_nest_inherit(&arena, &outer, &inner);
	return p->inner.apart.n == 2 && p->inner.apart.v[0] == outermost[0] &&
	       p->inner.apart.v[1] == p->inner.image && inner.apart.n == 2 &&
	       inner.apart.v[0] == outer.image && inner.apart.v[1] == outermost[0];
}

static bool has_bits_of_both(const struct plans *p)
{
	return p->inner.keep_caps == 2;
}

static bool roots_of_both(const struct plans *p)
{
	return !p->inner.foreign_roots;
}

static bool unix_of_both(const struct plans *p)
{
	return !p->inner.unix_host;
}

static bool setid_of_both(const struct plans *p)
{
	return !p->inner.allows_setid;
}

static bool least_size(const struct plans *p)
{
	struct lau_broker_plan none = {0}, outer = {.max_size = 5};

	lau_nest_inherit(&arena, &outer, &none);
	return p->inner.max_size == p->outer.max_size && none.max_size == 5;
}

static bool least_budget(const struct plans *p)
{
	struct lau_broker_plan inner = {.tree_budget = 5}, outer = {0};

	lau_nest_inherit(&arena, &outer, &inner);
	return p->inner.tree_budget == p->outer.tree_budget && inner.tree_budget == 5;
}

static bool is_told_to_be_inside(const struct plans *p)
{
	struct lau_broker_plan outer = {0}, inner = {0};

	lau_nest_inherit(&arena, &outer, &inner);
	return p->inner.is_started_inside && inner.is_started_inside;
}

static bool own(const struct plans *p)
{
	(void)p;
	return true; /* its bytes are compared below */
}

enum member {
#define MEMBER(how, declaration, name) M_##name,
	LAU_BROKER_PLAN(MEMBER)
#undef MEMBER
		MEMBERS
};

static const struct line {
	bool (*holds)(const struct plans *);
	const char *why; /* it is the inner run's own */
} lines[MEMBERS] = {
	[M_image] = {own, "the product of both policies"},
	[M_read_level] = {own, "planned from the product"},
	[M_traps] = {own, "planned from the product"},
	[M_filter_flags] = {own, "settings of the product"},
	[M_landlock_fd] = {own, "planned from the product"},
	[M_keep_caps] = {has_bits_of_both, NULL},
	[M_is_parent] = {own, "of the host"},
	[M_wards] = {own, "its processes"},
	[M_is_started_inside] = {is_told_to_be_inside, NULL},
	[M_is_other] = {own, "a policy that names a user is refused inside"},
	[M_foreign_roots] = {roots_of_both, NULL},
	[M_allows_setid] = {setid_of_both, NULL},
	[M_ring_path] = {own, "its channel; those of others are hidden"},
	[M_image_path] = {own, "its channel"},
	[M_shim_path] = {own, "its channel"},
	[M_ring_fd] = {own, "its channel"},
	[M_streams] = {is_of_either, NULL},
	[M_stands] = {is_of_either, NULL},
	[M_given] = {given_to_either, NULL},
	[M_terminals] = {marks_of_either, NULL},
	[M_devices] = {is_of_both, NULL},
	[M_apart] = {has_images, NULL},
	[M_control_path] = {own, "its channel"},
	[M_no_inet] = {own, "settings of the product"},
	[M_no_scopes] = {own, "of the host"},
	[M_shares_net] = {own, "settings of the product"},
	[M_net] = {own, "its network; --keep-fd is refused inside"},
	[M_door] = {own, "its network; the image is the product of both policies"},
	[M_unix_host] = {unix_of_both, NULL},
	[M_ring] = {own, "its record"},
	[M_ring_size] = {own, "its record"},
	[M_tally] = {own, "its record"},
	[M_lock] = {own, "a slot in the outer run's, taken by the guest"},
	[M_moves] = {own, "its channel"},
	[M_level] = {own, "the options of the inner run have the outer's"},
	[M_tree_budget] = {least_budget, NULL},
	[M_max_size] = {least_size, NULL},
	[M_no_shm] = {own, "its mounts"},
	[M_no_tmp] = {own, "its mounts, and what the outer run could not have"},
	[M_tmp_kept] = {own, "of the outer run's, where that has a /tmp of its own"},
	[M_own_pids] = {own, "its namespace"},
	[M_proceeded] = {own, "tests"},
	[M_lies] = {own, "tests"},
	[M_grants_clean] = {own, "no run is inside one with marks"},
	[M_passes_marks] = {own, "likewise"},
	[M_test_point] = {own, "tests"},
	[M_no_filter] = {own, "tests"},
};

static const struct {
	const char *name, *how;
	size_t at, size;
} members[] = {
#define MEMBER(how, declaration, name)                                                             \
	{#name, #how, offsetof(struct lau_broker_plan, name),                                      \
	 sizeof(((struct lau_broker_plan *)0)->name)},
	LAU_BROKER_PLAN(MEMBER)
#undef MEMBER
};

Test(launcher_nest_inherit, each_member_of_the_brokers_plan_reaches_runs_inside_as_its_line_says)
{
	struct plans p;

	make(&p);
	for (int m = 0; m < MEMBERS; m++) {
		const char *name = members[m].name;
		bool is_own = !strcmp(members[m].how, "OWN");

		cr_assert(lines[m].holds, "%s: a member without a line here", name);
		cr_expect(lines[m].holds(&p), "%s", name);
		cr_expect_eq(lines[m].why != NULL, is_own, "%s: why is it the run's own?", name);
		if (is_own)
			cr_expect_eq(memcmp((char *)&p.inner + members[m].at,
					    (char *)&p.before + members[m].at, members[m].size),
				     0, "%s", name);
	}
	b_arena_release(&arena);
}
