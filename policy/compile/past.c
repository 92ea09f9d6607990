/* SPDX-License-Identifier: Apache-2.0 */
/* past.c - see past.h. */
#include "policy/compile/past.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "policy/compile/endpoints.h"
#include "policy/compile/requests.h"

/* ---- programs ---- */

int pol_past_program(const struct pol_past *p, const struct pol_program *one)
{
	for (size_t i = 0; i < p->nprograms; i++)
		if (strcmp(p->program[i]->text, one->text) == 0)
			return (int)i;
	return -1;
}

static int note_programs(struct pol_past *p, const struct pol_endpoint *e, struct b_err *err)
{
	for (size_t i = 0; i < e->by.n; i++) {
		if (pol_past_program(p, &e->by.v[i]) >= 0)
			continue;
		if (p->nprograms == SBX_PROGRAMS_MAX)
			return b_fail(err, B_LIMIT, 0,
				      "%s: more than %d programs are named in `by`", e->origin,
				      SBX_PROGRAMS_MAX);
		p->program[p->nprograms++] = &e->by.v[i];
	}
	return 0;
}

static int check_programs(const struct pol_past *p, const struct pol_endpoint *e, struct b_err *err)
{
	for (size_t i = 0; i < e->by.n; i++)
		if (pol_past_program(p, &e->by.v[i]) < 0)
			return b_fail(
				err, B_POLICY, 0,
				"%s: the program `%s` was not in the rules when the run began, and "
				"reloading cannot add programs: start the run again",
				e->origin, e->by.v[i].text);
	return 0;
}

/* ---- rules ---- */

static void put(struct pol_past *p, const char *matched, const char *origin, bool allow)
{
	b_grow(p->v, p->n, p->cap);
	p->v[p->n++] = (struct pol_past_rule){matched ? matched : "", origin ? origin : "", allow};
}

/* Appended, in the order of an image's table; borrowed. */
static void put_all(struct pol_past *p, const struct pol_endpoints *net)
{
	for (size_t i = 0; i < net->n; i++)
		put(p, net->v[i].matched, net->v[i].origin, net->v[i].allow);
	for (size_t i = 0; i < net->n; i++) {
		const struct pol_http_rules *http = net->v[i].requests;

		for (size_t k = 0; http && k < http->n; k++)
			put(p, http->v[k].matched, http->v[k].origin, http->v[k].allow);
	}
}

static bool is_same(const struct pol_past_rule *a, const struct pol_past_rule *b)
{
	return a->allow == b->allow && strcmp(a->matched, b->matched) == 0 &&
	       strcmp(a->origin, b->origin) == 0;
}

static bool are_same(const struct pol_past *p, const struct pol_past_set *a, size_t at, size_t n)
{
	if (a->n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_same(&p->v[a->at + i], &p->v[at + i]))
			return false;
	return true;
}

static void keep(struct pol_past *p, size_t at)
{
	b_grow(p->sets, p->nsets, p->sets_cap);
	p->sets[p->nsets++] = (struct pol_past_set){(uint32_t)at, (uint32_t)(p->n - at)};
}

static const char *copy(struct pol_past *p, const char *s)
{
	return b_arena_strndup(&p->arena, s, strlen(s));
}

int pol_past_begin(struct pol_past *p, const struct pol_endpoints *net, struct b_err *err)
{
	for (size_t i = 0; i < net->n; i++)
		if (note_programs(p, &net->v[i], err) < 0)
			return -1;
	put_all(p, net);
	keep(p, 0);
	return 0;
}

int pol_past_add(struct pol_past *p, const struct pol_endpoints *net, uint32_t *out_at,
		 struct b_err *err)
{
	size_t at = p->n;

	for (size_t i = 0; i < net->n; i++)
		if (check_programs(p, &net->v[i], err) < 0)
			return -1;
	put_all(p, net);
	for (size_t i = 0; i < p->nsets; i++)
		if (are_same(p, &p->sets[i], at, p->n - at)) {
			p->n = at;
			*out_at = p->sets[i].at;
			return 0;
		}
	if (p->n > POL_PAST_MAX) {
		p->n = at;
		return b_fail(err, B_LIMIT, 0,
			      "more than %u rules on endpoints since the run began: start it again",
			      POL_PAST_MAX);
	}
	for (size_t i = at; i < p->n; i++) {
		p->v[i].matched = copy(p, p->v[i].matched);
		p->v[i].origin = copy(p, p->v[i].origin);
	}
	keep(p, at);
	*out_at = (uint32_t)at;
	return 0;
}

void pol_past_release(struct pol_past *p)
{
	free(p->v);
	free(p->sets);
	b_arena_release(&p->arena);
	*p = (struct pol_past){0};
}
