/* SPDX-License-Identifier: Apache-2.0 */
/* automaton.c - see automata.h. */
#include "policy/compile/automata.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define POOL_MAX (24u << 20) /* words of node lists: bounds the memory of a construction */

/*
 * How far a well-formed character is: which bytes may follow, and where they lead; 0 = done.
 * RFC 3629, table of section 4.
 */
enum { F_DONE, F_LAST, F_E0, F_TWO, F_ED, F_F0, F_THREE, F_F4 };
static const struct {
	uint8_t low, high, next;
} follow[] = {
	[F_LAST] = {0x80, 0xbf, F_DONE}, [F_E0] = {0xa0, 0xbf, F_LAST},
	[F_TWO] = {0x80, 0xbf, F_LAST},	 [F_ED] = {0x80, 0x9f, F_LAST},
	[F_F0] = {0x90, 0xbf, F_TWO},	 [F_THREE] = {0x80, 0xbf, F_TWO},
	[F_F4] = {0x80, 0x8f, F_TWO},
};

/* Bytes that no pattern names but that characters are made of; what lies between is symbol 0. */
static const struct {
	uint8_t low, high, lead;
} ranges[] = {
	{0x80, 0x8f, 0},    {0x90, 0x9f, 0},	   {0xa0, 0xbf, 0},    {0xc2, 0xdf, F_LAST},
	{0xe0, 0xe0, F_E0}, {0xe1, 0xec, F_TWO},   {0xed, 0xed, F_ED}, {0xee, 0xef, F_TWO},
	{0xf0, 0xf0, F_F0}, {0xf1, 0xf3, F_THREE}, {0xf4, 0xf4, F_F4},
};

/* How a symbol is read: as a token of its own, or as part of one that is complete later. */
enum reading { AS_TOKEN, AS_FIRST, AS_INNER, AS_LAST };

static void name_symbols(struct build *b)
{
	struct pol_automaton *a = b->out;
	uint8_t lead[256] = {0}, range_sym[sizeof ranges / sizeof *ranges] = {0};
	uint8_t range_of[256];

	memset(range_of, 0xff, sizeof range_of);
	for (uint8_t r = 0; b->nfa->has_any && r < sizeof ranges / sizeof *ranges; r++)
		for (unsigned c = ranges[r].low; c <= ranges[r].high; c++)
			range_of[c] = r, lead[c] = ranges[r].lead;
	a->nsyms = 1;
	for (unsigned c = 0; c < 256; c++) {
		bool is_literal = b->nfa->literal[c] || c == '/';
		uint8_t r = range_of[c];

		if (!is_literal && r == 0xff)
			continue;
		if (!is_literal && range_sym[r] != 0) {
			a->sym[c] = range_sym[r];
			continue;
		}
		a->sym[c] = (uint8_t)a->nsyms;
		b->sym[a->nsyms++] = (struct symbol){(uint8_t)c, is_literal, lead[c]};
		if (!is_literal)
			range_sym[r] = a->sym[c];
	}
	a->slash = a->sym['/'];
}

static bool key_same(const struct build *b, uint32_t id, const void *key)
{
	const struct key *x = &b->keys[id], *y = key;

	if (x->hash != y->hash || x->loops != y->loops || x->n != y->n || x->where != y->where)
		return false;
	if (x->where >= AT_PENDING)
		return x->first == y->first;
	return x->n == 0 || !memcmp(b->pool + x->first, b->pool + y->first, x->n * sizeof *b->pool);
}

struct named_key {
	struct key key;
	uint32_t label, latch;
};

static bool named_key_same(const struct build *b, uint32_t id, const void *key)
{
	const struct named_key *k = key;

	return b->out->states[id].label == k->label && b->out->states[id].latch == k->latch &&
	       key_same(b, id, &k->key);
}

static uint32_t key_hash(const struct build *b, uint32_t id)
{
	return b->keys[id].hash;
}

/* The state of this key; the rest of a new one must be the last thing in the pool. */
static uint32_t intern(struct build *b, const struct named_key *k)
{
	struct pol_automaton *a = b->out;
	size_t slot;
	uint32_t id = index_find(b, &b->state_index, k->key.hash, named_key_same, k, &slot);

	if (id != POL_NONE)
		return id;
	id = (uint32_t)a->nstates;
	if (a->nstates == a->states_cap) {
		a->states_cap = a->states_cap ? a->states_cap * 2 : 256;
		a->states = b_realloc(a->states, a->states_cap, sizeof *a->states);
		b->keys = b_realloc(b->keys, a->states_cap, sizeof *b->keys);
	}
	b->keys[id] = k->key;
	a->states[a->nstates++] = (struct pol_state){
		.label = k->label,
		.latch = k->latch,
		.base = POL_NONE,
		.dflt = POL_NONE,
		.is_slash = k->key.where == AT_SLASH,
		.is_part = k->key.where == AT_PART,
	};
	index_put(b, &b->state_index, slot, id, key_hash);
	return id;
}

static void push(uint32_t **v, size_t *n, size_t *cap, uint32_t x)
{
	if (*n == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		*v = b_realloc(*v, *cap, sizeof **v);
	}
	(*v)[(*n)++] = x;
}

static void step_begin(struct build *b)
{
	b->step.nrest = b->step.nloop = 0;
	b->step.accept = b->step.latch = 0;
}

/* The node is reached, and with it what lies behind loops that may be empty. */
static void enter(struct build *b, uint32_t id)
{
	struct step *s = &b->step;
	const struct pol_node *n = &b->nfa->v[id];
	uint32_t group = n->group + 1;

	b->work++;
	for (; pol_node_is_loop(n); id = n->next, n = &b->nfa->v[id])
		push(&s->loop, &s->nloop, &s->loop_cap, id);
	if (n->kind == POL_N_LATCH) {
		s->latch = group > s->latch ? group : s->latch;
		return;
	}
	if ((n->kind == POL_N_END || n->kind == POL_N_TAIL) && group > s->accept)
		s->accept = group;
	if (n->kind != POL_N_END)
		push(&s->rest, &s->nrest, &s->rest_cap, id);
}

/* Keeps what lies in groups >= `group`. */
static void drop_below(const struct build *b, uint32_t *v, size_t *n, uint32_t group)
{
	size_t m = 0;

	for (size_t i = 0; i < *n; i++)
		if (b->nfa->v[v[i]].group >= group)
			v[m++] = v[i];
	*n = m;
}

/*
 * Drops groups that cannot change the answer: those with the default answer before which no group
 * has another answer.
 */
static uint32_t prune(struct build *b, uint32_t loops)
{
	struct step *s = &b->step;
	uint32_t dflt = b->loops[loops].dflt, opposed = b->loops[loops].opposed;

	for (size_t i = 0; i < s->nrest; i++) {
		uint32_t group = b->nfa->v[s->rest[i]].group;

		if (group < opposed && b->nfa->label[group] != dflt)
			opposed = group;
	}
	drop_below(b, s->rest, &s->nrest, opposed);
	return loops_from_group(b, loops, opposed, dflt);
}

/* The state of what the step has reached, among the loops that stay. */
static uint32_t step_end(struct build *b, uint32_t loops, uint32_t where)
{
	struct step *s = &b->step;
	const struct emission *em;
	struct named_key k;
	uint32_t accept = s->accept, *rest;
	size_t n = 0;

	k.latch = 0;
	if (s->latch > 0 && !b->is_verdict) {
		k.latch = b->nfa->label[s->latch - 1];
	} else if (s->latch > 0) {
		drop_below(b, s->rest, &s->nrest, s->latch);
		drop_below(b, s->loop, &s->nloop, s->latch);
		accept = accept > s->latch ? accept : 0;
		loops = loops_from_group(b, loops, s->latch, b->nfa->label[s->latch - 1]);
	}
	if (s->nloop > 0)
		loops = loops_with(b, loops, s->loop, s->nloop);
	s->nrest = sort_unique(s->rest, s->nrest);
	accept = accept > b->loops[loops].accept ? accept : b->loops[loops].accept;
	loops = prune(b, loops);
	em = loops_emission(b, loops, where == AT_SLASH);
	build_pool_reserve(b, s->nrest);
	rest = b->pool + b->npool;
	for (size_t i = 0; i < s->nrest; i++)
		if (!emission_has(b, em, s->rest[i]))
			rest[n++] = s->rest[i];
	b->work += n + 4;
	k.label = where != AT_MIDDLE ? 0
		  : accept > 0	     ? b->nfa->label[accept - 1]
				     : b->loops[loops].dflt;
	k.key = (struct key){loops, (uint32_t)b->npool, (uint32_t)n, where,
			     build_hash(rest, n, loops * 8 + where) + k.label * 5 + k.latch};
	accept = (uint32_t)b->out->nstates;
	loops = intern(b, &k);
	if (loops == accept) /* a new one: it keeps its list */
		b->npool += n;
	return loops;
}

static uint32_t base_state(struct build *b, uint32_t loops, uint32_t where)
{
	uint32_t id = loops_emission(b, loops, where == AT_SLASH)->state;

	if (id != POL_NONE)
		return id;
	step_begin(b);
	id = step_end(b, loops, where);
	b->loops[loops].em[where == AT_SLASH].state = id;
	return id;
}

/* The state that answers 0 for ever. */
static uint32_t nothing(struct build *b)
{
	return base_state(b, 0, AT_MIDDLE);
}

static void advance(struct build *b, uint32_t id, uint32_t sym, enum reading how)
{
	const struct pol_node *n = &b->nfa->v[id];

	switch ((enum pol_node_kind)n->kind) {
	case POL_N_BYTE:
		if (b->sym[sym].is_literal && b->sym[sym].byte == n->byte)
			enter(b, n->next);
		break;
	case POL_N_FOLD:
		if (b->sym[sym].is_literal && (b->sym[sym].byte | 0x20) == n->byte)
			enter(b, n->next);
		break;
	case POL_N_TAIL:
		if (sym == b->out->slash && n->group + 1 > b->step.latch)
			b->step.latch = n->group + 1;
		break;
	case POL_N_ANY:
		if (how == AS_TOKEN && sym != b->out->slash)
			enter(b, n->next);
		else if (how == AS_FIRST)
			enter(b, id + 1);
		break;
	case POL_N_PEND:
		if (how == AS_INNER)
			enter(b, id);
		else if (how == AS_LAST)
			enter(b, b->nfa->v[n->next].next);
		break;
	case POL_N_END:
	case POL_N_LATCH:
	case POL_N_STAR:
	case POL_N_DSTAR:
	case POL_N_DIRS:
		b_bug(__FILE__, __LINE__, "a node that no rest holds");
	}
}

static uint32_t step(struct build *b, uint32_t state, uint32_t sym, enum reading how,
		     uint32_t where)
{
	struct key k = b->keys[state];
	bool is_slash = sym == b->out->slash;
	const struct emission *em = loops_emission(b, k.loops, k.where == AT_SLASH);
	const struct run *run = emission_run(b, em, sym);
	b->work += 4 + (k.n + em->nanys) / 4;
	step_begin(b);
	for (uint32_t i = 0; i < k.n; i++)
		advance(b, b->pool[k.first + i], sym, how);
	for (uint32_t i = 0; run && i < run->n; i++)
		advance(b, b->pool[run->first + i], sym, how);
	for (uint32_t i = 0; i < em->nanys; i++)
		advance(b, b->pool[em->anys + i], sym, how);
	return step_end(b, is_slash ? loops_after_slash(b, k.loops) : k.loops, where);
}

static bool is_near_any(struct build *b, const struct key *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		if (b->nfa->v[b->pool[k->first + i]].to_any < POL_FAR)
			return true;
	return loops_emission(b, k->loops, k->where == AT_SLASH)->is_near_any;
}

/*
 * Inside a character an ANY cannot tell yet what one token is. The state then is a pair: where
 * we are if the character breaks off, each of its bytes a token of its own, and where if it
 * is completed.
 */
static uint32_t pending(struct build *b, uint8_t how_far, uint32_t broken, uint32_t completed)
{
	uint32_t v[2] = {broken, completed};
	/* A latch never depends on how the character ends: see pol_nfa_add(). */
	struct named_key k = {.label = b->out->states[broken].label,
			      .latch = b->out->states[broken].latch};

	k.key = (struct key){broken, completed, 0, AT_PENDING + how_far,
			     build_hash(v, 2, how_far * 8 + 7u) + k.label * 5 + k.latch};
	return intern(b, &k);
}

static uint32_t target(struct build *b, uint32_t state, uint32_t sym, bool may_pend)
{
	uint32_t broken, where = sym == b->out->slash ? AT_SLASH : AT_MIDDLE;

	if (where == AT_SLASH && b->keys[state].where == AT_SLASH)
		return nothing(b);
	broken = step(b, state, sym, AS_TOKEN, where);
	if (!may_pend || b->sym[sym].lead == 0)
		return broken;
	return pending(b, b->sym[sym].lead, broken, step(b, state, sym, AS_FIRST, AT_PART));
}

/* Symbols as a set of 256 bits. */
static void sym_add(uint64_t set[4], uint32_t sym)
{
	set[sym / 64] |= UINT64_C(1) << sym % 64;
}

static void add_edge(struct build *b, uint32_t state, uint32_t sym, uint32_t to)
{
	struct pol_automaton *a = b->out;

	b_grow(a->edges, a->nedges, a->edges_cap);
	a->edges[a->nedges++] = (struct pol_edge){sym, to};
	a->states[state].nedges++;
}

static void add_edges(struct build *b, uint32_t state, const uint64_t set[4], bool may_pend)
{
	b->out->states[state].first = (uint32_t)b->out->nedges;
	for (uint32_t w = 0; w < 4; w++)
		for (uint64_t bits = set[w]; bits; bits &= bits - 1) {
			uint32_t sym = w * 64 + (uint32_t)__builtin_ctzll(bits);

			add_edge(b, state, sym, target(b, state, sym, may_pend));
		}
}

static void expand(struct build *b, uint32_t state)
{
	struct key k = b->keys[state];
	uint64_t set[4] = {0};
	bool has_any = false, may_pend = b->nfa->has_any && is_near_any(b, &k);
	uint32_t base = base_state(b, k.loops, k.where);

	for (uint32_t i = 0; i < k.n; i++) {
		const struct pol_node *n = &b->nfa->v[b->pool[k.first + i]];

		uint8_t bytes[2];

		has_any |= n->kind == POL_N_ANY;
		for (unsigned c = pol_node_bytes(n, bytes); c-- > 0;)
			sym_add(set, b->out->sym[bytes[c]]);
	}
	if (base != state && !has_any) {
		/* A second slash is the base's business as much as ours. */
		if (k.where == AT_SLASH)
			set[b->out->slash / 64] &= ~(UINT64_C(1) << b->out->slash % 64);
		b->out->states[state].base = base;
	} else {
		const struct emission *em = loops_emission(b, k.loops, k.where == AT_SLASH);

		for (uint32_t i = 0; i < em->nruns; i++)
			sym_add(set, b->runs[em->runs + i].sym);
		for (uint32_t s = 1; may_pend && s < b->out->nsyms; s++)
			if (b->sym[s].lead != 0)
				sym_add(set, s);
		sym_add(set, b->out->slash);
		set[0] &= ~UINT64_C(1);
		base = target(b, state, 0, false);
		b->out->states[state].dflt = base;
	}
	add_edges(b, state, set, may_pend);
}

uint32_t pol_automaton_next(const struct pol_automaton *a, uint32_t state, uint32_t sym)
{
	for (;;) {
		const struct pol_state *s = &a->states[state];
		const struct pol_edge *e = a->edges + s->first;
		uint32_t low = 0, high = s->nedges;

		while (low < high) {
			uint32_t middle = (low + high) / 2;

			if (e[middle].sym < sym)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < s->nedges && e[low].sym == sym)
			return e[low].to;
		if (s->base == POL_NONE)
			return s->dflt;
		state = s->base;
	}
}

/* The moves of a pending state. All states to which it refers are expanded. */
static uint32_t pending_target(struct build *b, const struct key *k, uint32_t sym)
{
	uint8_t far = (uint8_t)(k->where - AT_PENDING), byte = b->sym[sym].byte, next;
	uint32_t broken = pol_automaton_next(b->out, k->loops, sym);

	/* Symbol 0 holds no byte that continues a character. */
	if (sym == 0 || byte < follow[far].low || byte > follow[far].high)
		return broken;
	next = follow[far].next;
	if (next == F_DONE)
		return step(b, k->first, sym, AS_LAST, AT_MIDDLE);
	return pending(b, next, broken, step(b, k->first, sym, AS_INNER, AT_PART));
}

static void expand_pending(struct build *b, uint32_t state)
{
	struct key k = b->keys[state];
	uint32_t dflt = pending_target(b, &k, 0);

	b->work += b->out->nsyms;
	b->out->states[state].dflt = dflt;
	b->out->states[state].first = (uint32_t)b->out->nedges;
	for (uint32_t sym = 1; sym < b->out->nsyms; sym++) {
		uint32_t to = pending_target(b, &k, sym);

		if (to != dflt)
			add_edge(b, state, sym, to);
	}
}

/* Pending states look at the rows of others: they come second in each round. */
static bool expand_all(struct build *b)
{
	size_t plain = 0, late = 0;

	while (plain < b->out->nstates || late < b->out->nstates) {
		if (b->out->nstates > b->limits.states || b->work > b->limits.work ||
		    b->npool > POOL_MAX)
			return false;
		if (plain < b->out->nstates) {
			if (b->keys[plain].where < AT_PART)
				expand(b, (uint32_t)plain);
			plain++;
		} else {
			if (b->keys[late].where >= AT_PENDING)
				expand_pending(b, (uint32_t)late);
			late++;
		}
	}
	return true;
}

/* The rule whose nodes occur most often in what was built. */
static uint32_t greediest(const struct build *b)
{
	uint32_t *count, best = 0, max = 0;

	for (size_t i = 0; i < b->nfa->n; i++)
		max = b->nfa->v[i].rule > max ? b->nfa->v[i].rule : max;
	count = b_calloc(max + 1u, sizeof *count);
	for (size_t i = 0; i < b->npool; i++)
		count[b->nfa->v[b->pool[i]].rule]++;
	for (uint32_t r = 0; r <= max; r++)
		best = count[r] > count[best] ? r : best;
	free(count);
	return best;
}

static void build_release(struct build *b)
{
	free(b->pool);
	free(b->keys);
	free(b->loops);
	free(b->runs);
	free(b->step.rest);
	free(b->step.loop);
	index_release(&b->state_index);
	index_release(&b->loop_index);
}

int pol_automaton_build(struct pol_automaton *out, const struct pol_nfa *nfa,
			const struct pol_limits *limits, struct pol_cost *out_cost)
{
	struct build b = {.nfa = nfa, .out = out, .limits = *limits, .is_verdict = nfa->is_verdict};
	bool is_done;

	*out = (struct pol_automaton){0};
	index_init(&b.state_index);
	index_init(&b.loop_index);
	build_pool_reserve(&b, 1024);
	name_symbols(&b);
	loops_intern(&b, NULL, 0, 0); /* number 0: see nothing() */
	nothing(&b);
	step_begin(&b);
	for (size_t i = 0; i < nfa->nstarts; i++)
		enter(&b, nfa->starts[i]);
	out->start = step_end(&b, 0, AT_MIDDLE);
	is_done = expand_all(&b);
	*out_cost = (struct pol_cost){b.work, is_done ? 0 : greediest(&b)};
	build_release(&b);
	if (!is_done)
		pol_automaton_release(out);
	return is_done ? 0 : -1;
}

void pol_automaton_release(struct pol_automaton *a)
{
	free(a->states);
	free(a->edges);
	*a = (struct pol_automaton){0};
}
