/* SPDX-License-Identifier: Apache-2.0 */
/* programs.c - programs: made at random, mutated, printed, parsed. */
#include "attack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool ak_world_folds, ak_world_has_rules, ak_world_has_numbers;

uint32_t ak_rnd(struct ak_rng *r, uint32_t below)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)(z ^ z >> 31) % below;
}

static uint32_t number(struct ak_rng *r)
{
	return ak_rnd(r, 0xffffffffu);
}

/* A call by its weight; `flip`: one of those that swap something. */
static uint8_t pick_call(struct ak_rng *r, bool flip)
{
	unsigned sum = 0, at;

	for (unsigned i = 0; i < ak_ncalls; i++)
		if (!strncmp(ak_calls[i].name, "flip_", 5) == flip)
			sum += ak_calls[i].weight;
	at = ak_rnd(r, sum);
	for (unsigned i = 0; i < ak_ncalls; i++) {
		if (!strncmp(ak_calls[i].name, "flip_", 5) != flip)
			continue;
		if (at < ak_calls[i].weight)
			return (uint8_t)i;
		at -= ak_calls[i].weight;
	}
	return 0;
}

/* Shared buffers (bit 15) are for races: elsewhere they say one thing only. */
static void use_own(struct ak_op *op, struct ak_rng *r)
{
	const char *args = ak_calls[op->call].args;

	for (unsigned i = 0; args[i] && i < AK_ARGS; i++)
		if (strchr("psah", args[i]) && ak_rnd(r, 12))
			op->v[i] &= ~(1u << 15);
}

static struct ak_op make_op(struct ak_rng *r, unsigned thread, bool flip)
{
	struct ak_op op = {.thread = (uint8_t)thread, .call = pick_call(r, flip)};

	for (unsigned i = 0; i < AK_ARGS; i++)
		op.v[i] = number(r);
	use_own(&op, r);
	return op;
}

/* Has the paths of an operation come out of buffer `k`, which another thread swaps. */
static void use_buffer(struct ak_op *op, unsigned k)
{
	const char *args = ak_calls[op->call].args;

	for (unsigned i = 0; args[i] && i < AK_ARGS; i++)
		if (strchr("psah", args[i]))
			op->v[i] = (op->v[i] & ~(3u << 13)) | 1u << 15 | k << 13;
}

static void make_sequence(struct ak_prog *p, struct ak_rng *r)
{
	unsigned n = 3 + ak_rnd(r, 14);

	while (p->n < n)
		p->op[p->n++] = make_op(r, 0, false);
}

/* One or two calls again and again, beside threads that swap what they mean. */
static void make_race(struct ak_prog *p, struct ak_rng *r)
{
	unsigned calls = 1 + ak_rnd(r, 3), flips = 1 + ak_rnd(r, 3);
	unsigned buffer = ak_rnd(r, AK_BUFFERS);

	p->flags |= AK_RACE;
	for (unsigned i = 0; i < calls; i++) {
		p->op[p->n] = make_op(r, 0, false);
		if (ak_rnd(r, 3))
			use_buffer(&p->op[p->n], buffer);
		p->n++;
	}
	for (unsigned i = 0; i < flips; i++) {
		p->op[p->n] = make_op(r, 1 + i, true);
		/* what is swapped should be what is used */
		p->op[p->n].v[0] = (p->op[p->n].v[0] & ~3u) | buffer;
		p->n++;
	}
}

static void make_mix(struct ak_prog *p, struct ak_rng *r)
{
	unsigned threads = 2 + ak_rnd(r, 3), n = 4 + ak_rnd(r, 10);

	p->flags |= AK_RACE;
	while (p->n < n)
		p->op[p->n++] = make_op(r, ak_rnd(r, threads), !ak_rnd(r, 5));
	p->op[0].thread = 0;
}

void ak_generate(struct ak_prog *p, uint64_t seed)
{
	struct ak_rng r = {seed};
	unsigned kind = ak_rnd(&r, 10);

	memset(p, 0, sizeof *p);
	p->seed = seed;
	/* such a world is slow, so most of what is done there is what it is for */
	if (ak_world_folds && ak_rnd(&r, 3)) {
		ak_try_spellings(p, &r);
		return;
	}
	if (ak_world_has_rules && ak_rnd(&r, 3)) {
		ak_try_endpoints(p, &r);
		return;
	}
	if (ak_world_has_numbers && !ak_rnd(&r, 5)) {
		ak_try_signals(p, &r);
		return;
	}
	switch (kind) {
	case 0:
	case 1:
		make_sequence(p, &r);
		break;
	case 2:
		make_race(p, &r);
		break;
	case 3:
		make_mix(p, &r);
		break;
	case 4:
	case 5:
	case 6:
		ak_try_plainly(p, &r);
		break;
	default:
		ak_make_scene(p, &r);
	}
	if (!ak_rnd(&r, 6))
		p->flags |= AK_DROP;
	if (!ak_rnd(&r, 5))
		p->flags |= AK_FORK;
	if (!ak_rnd(&r, 4))
		p->flags |= AK_HOST;
	if (!ak_rnd(&r, 30))
		p->flags |= AK_FREEZE;
}

/* ---- mutations ---- */

static void drop_op(struct ak_prog *p, unsigned at)
{
	memmove(&p->op[at], &p->op[at + 1], (p->n - at - 1) * sizeof p->op[0]);
	p->n--;
}

static void insert_op(struct ak_prog *p, unsigned at, struct ak_op op)
{
	if (p->n == AK_OPS)
		return;
	memmove(&p->op[at + 1], &p->op[at], (p->n - at) * sizeof p->op[0]);
	p->op[at] = op;
	p->n++;
}

static void mutate_once(struct ak_prog *p, const struct ak_prog *other, struct ak_rng *r)
{
	struct ak_op *op = &p->op[ak_rnd(r, p->n)];
	unsigned thread = op->thread;

	switch (ak_rnd(r, 10)) {
	case 0:
	case 1:
	case 2:
		op->v[ak_rnd(r, AK_ARGS)] = number(r);
		break;
	case 3:
		op->v[ak_rnd(r, AK_ARGS)] ^= 1u << ak_rnd(r, 32);
		break;
	case 4:
		op->call = pick_call(r, false);
		break;
	case 5:
	case 6:
		insert_op(p, ak_rnd(r, p->n + 1), make_op(r, thread, thread && ak_rnd(r, 2)));
		break;
	case 7:
		if (p->n > 1)
			drop_op(p, ak_rnd(r, p->n));
		break;
	case 8:
		p->flags ^= 1u << ak_rnd(r, 4 + !ak_rnd(r, 8));
		break;
	case 9:
		for (unsigned i = 0; other && i < 3; i++)
			insert_op(p, ak_rnd(r, p->n + 1), other->op[ak_rnd(r, other->n)]);
		break;
	}
}

void ak_mutate(struct ak_prog *p, const struct ak_prog *other, uint64_t seed)
{
	struct ak_rng r = {seed};

	p->seed = seed;
	for (unsigned n = 1 + ak_rnd(&r, 4); n > 0; n--)
		mutate_once(p, other, &r);
}

/* ---- text ---- */

void ak_print(FILE *f, const struct ak_prog *p)
{
	fprintf(f, "program seed=%#" PRIx64 " flags=%s%s%s%s%s. ops=%u\n", p->seed,
		p->flags & AK_RACE ? "race," : "", p->flags & AK_DROP ? "drop," : "",
		p->flags & AK_FORK ? "fork," : "", p->flags & AK_HOST ? "host," : "",
		p->flags & AK_FREEZE ? "freeze," : "", p->n);
	for (unsigned i = 0; i < p->n; i++) {
		const struct ak_op *op = &p->op[i];
		const struct ak_call *c = &ak_calls[op->call];

		fprintf(f, "%u %s %x %x %x %x %x %x #", op->thread, c->name, op->v[0], op->v[1],
			op->v[2], op->v[3], op->v[4], op->v[5]);
		for (unsigned k = 0; c->args[k] && k < AK_ARGS; k++) {
			fputc(' ', f);
			ak_describe(f, op, k);
		}
		fputc('\n', f);
	}
}

uint8_t ak_call_number(const char *name)
{
	for (unsigned i = 0; i < ak_ncalls; i++)
		if (!strcmp(ak_calls[i].name, name))
			return (uint8_t)i;
	abort();
}

static bool find_call(const char *name, uint8_t *out)
{
	for (unsigned i = 0; i < ak_ncalls; i++)
		if (!strcmp(ak_calls[i].name, name)) {
			*out = (uint8_t)i;
			return true;
		}
	return false;
}

static bool parse_op(const char *line, struct ak_op *op)
{
	unsigned thread, v[AK_ARGS];
	char name[32];

	if (sscanf(line, "%u %31s %x %x %x %x %x %x", &thread, name, &v[0], &v[1], &v[2], &v[3],
		   &v[4], &v[5]) != 8 ||
	    thread >= AK_THREADS || !find_call(name, &op->call))
		return false;
	op->thread = (uint8_t)thread;
	memcpy(op->v, v, sizeof v);
	return true;
}

bool ak_parse(FILE *f, struct ak_prog *p)
{
	char line[8192], flags[64];
	unsigned n = 0;

	memset(p, 0, sizeof *p);
	do /* comments may stand in front */
		if (!fgets(line, sizeof line, f))
			return false;
	while (strncmp(line, "program ", 8) != 0);
	if (sscanf(line, "program seed=%" SCNx64 " flags=%63s ops=%u", &p->seed, flags, &n) != 3 ||
	    n == 0 || n > AK_OPS)
		return false;
	p->flags = (strstr(flags, "race") ? AK_RACE : 0) | (strstr(flags, "drop") ? AK_DROP : 0) |
		   (strstr(flags, "fork") ? AK_FORK : 0) | (strstr(flags, "host") ? AK_HOST : 0) |
		   (strstr(flags, "freeze") ? AK_FREEZE : 0);
	while (p->n < n) {
		if (!fgets(line, sizeof line, f))
			return false;
		if (line[0] != '#' && !parse_op(line, &p->op[p->n++]))
			return false;
	}
	return true;
}
