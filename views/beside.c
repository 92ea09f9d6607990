/* SPDX-License-Identifier: Apache-2.0 */
/* beside.c - see beside.h. */
#include "views/beside.h"

#include "views/views.h"

static void *run(void *ctx)
{
	struct view_beside *b = ctx;

	b->result = b->fn(b->ctx);
	return NULL;
}

void view_beside_start(struct view_beside *b, int (*fn)(void *), void *ctx)
{
	*b = (struct view_beside){.fn = fn, .ctx = ctx};
	b->is_thread = pthread_create(&b->thread, NULL, run, b) == 0;
	if (!b->is_thread)
		(void)run(b);
}

int view_beside_join(struct view_beside *b)
{
	if (b->is_thread)
		(void)pthread_join(b->thread, NULL);
	return b->result;
}

void view_take_bad(struct view *v, const struct view *copy)
{
	if (!v->bad) {
		v->first_bad = copy->first_bad;
		v->why = copy->why;
	}
	v->bad += copy->bad;
}
