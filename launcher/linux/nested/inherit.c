/* SPDX-License-Identifier: Apache-2.0 */
/* inherit.c - what the broker of a run inside a run takes from the outer run's plan: the kinds of
 * the rows of LAU_BROKER_PLAN. Values to values. */
#include <string.h>

#include "base/mem.h"
#include "launcher/linux/nested/nest.h"

static bool has_name(const struct lau_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->v[i], name))
			return true;
	return false;
}

static void join_names(struct b_arena *a, const struct lau_names *outer, struct lau_names *inner)
{
	const char **v = b_arena_alloc(a, (outer->n + inner->n + 1) * sizeof *v);
	size_t n = 0;

	for (size_t i = 0; i < outer->n; i++)
		v[n++] = outer->v[i];
	for (size_t i = 0; i < inner->n; i++)
		if (!has_name(outer, inner->v[i]))
			v[n++] = inner->v[i];
	*inner = (struct lau_names){v, n};
}

void lau_names_meet(struct b_arena *a, const struct lau_names *outer, struct lau_names *inner)
{
	const char **v = b_arena_alloc(a, (inner->n + 1) * sizeof *v);
	size_t n = 0;

	for (size_t i = 0; i < inner->n; i++)
		if (has_name(outer, inner->v[i]))
			v[n++] = inner->v[i];
	*inner = (struct lau_names){v, n};
}

static void join_given(struct b_arena *a, const struct lau_givens *outer, struct lau_givens *inner)
{
	struct lau_given *v = b_arena_alloc(a, (outer->n + inner->n + 1) * sizeof *v);

	for (size_t i = 0; i < outer->n; i++)
		v[i] = outer->v[i];
	for (size_t i = 0; i < inner->n; i++)
		v[outer->n + i] = inner->v[i];
	*inner = (struct lau_givens){v, outer->n + inner->n};
}

/* Both may be NULL: nothing is marked. */
static void join_marks(struct b_arena *a, const unsigned char *const *outer,
		       const unsigned char **inner)
{
	unsigned char *marks;

	if (!*outer || !*inner) {
		*inner = *inner ? *inner : *outer;
		return;
	}
	marks = b_arena_alloc(a, LAU_TERMINALS / 8);
	for (size_t i = 0; i < LAU_TERMINALS / 8; i++)
		marks[i] = (*outer)[i] | (*inner)[i];
	*inner = marks;
}

/* A plan without images has one for everything. */
static size_t put_images(const struct lau_broker_plan *p, const struct sbx_image **out)
{
	for (size_t i = 0; i < p->apart.n; i++)
		out[i] = p->apart.v[i];
	if (p->apart.n == 0)
		out[0] = p->image;
	return p->apart.n ? p->apart.n : 1;
}

static void join_images(struct b_arena *a, const struct lau_broker_plan *outer,
			struct lau_broker_plan *inner)
{
	const struct sbx_image **v =
		b_arena_alloc(a, (outer->apart.n + inner->apart.n + 2) * sizeof *v);
	size_t n = put_images(outer, v);

	n += put_images(inner, v + n);
	inner->apart = (struct lau_images){v, n};
}

#define TAKE_OWN(name)
#define TAKE_SET(name)		inner->name = true;
#define TAKE_EITHER_NAMES(name) join_names(a, &outer->name, &inner->name);
#define TAKE_EITHER_GIVEN(name) join_given(a, &outer->name, &inner->name);
#define TAKE_EITHER_MARKS(name) join_marks(a, &outer->name, &inner->name);
#define TAKE_BOTH_NAMES(name)	lau_names_meet(a, &outer->name, &inner->name);
#define TAKE_IMAGES(name)	join_images(a, outer, inner);
#define TAKE_BOTH_BITS(name)	inner->name &= outer->name;
#define TAKE_BOTH(name)		inner->name = inner->name && outer->name;
#define TAKE_LEAST(name)                                                                           \
	if (outer->name && (!inner->name || outer->name < inner->name))                            \
		inner->name = outer->name;
#define TAKE(how, declaration, name) TAKE_##how(name)

void lau_nest_inherit(struct b_arena *a, const struct lau_broker_plan *outer,
		      struct lau_broker_plan *inner)
{
	LAU_BROKER_PLAN(TAKE)
}
