/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decide.h"

#include "core/decide_priv.h"

/* Eight bytes at any address, of any type. */
struct word {
	uint64_t v;
} __attribute__((packed, may_alias));

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "images and slash_mask() are little-endian");

#define EVERY(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Bit 7 of each byte that equals `byte`; exact, no carries between bytes. */
static inline uint64_t equal_mask(uint64_t w, unsigned char byte)
{
	uint64_t x = w ^ EVERY(byte);

	return ~(((x & EVERY(0x7f)) + EVERY(0x7f)) | x | EVERY(0x7f));
}

/* Is what follows the slash at p[i] a component that a canonical path may have? */
static inline bool component_ok(const char *p, size_t len, size_t i)
{
	if (++i == len || p[i] == '/')
		return false;
	if (p[i] != '.')
		return true;
	if (++i == len || p[i] == '/')
		return false;
	return p[i] != '.' || (++i != len && p[i] != '/');
}

/* "/" or ("/" component)+, no "." or ".." among them, no NUL. Eight bytes a step: this runs
 * before every verdict and is what lets the walk stop in a settled state. */
static bool is_canonical(const char *p, size_t len)
{
	size_t i = 0;

	if (len == 0 || p[0] != '/')
		return false;
	if (len == 1)
		return true;
	for (; len - i >= 8; i += 8) {
		uint64_t w = ((const struct word *)(const void *)(p + i))->v;
		uint64_t slashes = equal_mask(w, '/');

		if (equal_mask(w, 0))
			return false;
		for (; slashes; slashes &= slashes - 1)
			if (!component_ok(p, len, i + (unsigned)__builtin_ctzll(slashes) / 8))
				return false;
	}
	for (; i < len; i++)
		if (p[i] == '\0' || (p[i] == '/' && !component_ok(p, len, i)))
			return false;
	return true;
}

/* Keeps the compiler from changing the order in which an address is added up. */
#define AS_IT_STANDS(x) __asm__("" : "+r"(x))

/*
 * The innermost loop. Each step is a load that depends on the one before, so that nothing else may
 * delay it; the class of the byte is looked up meanwhile. Ends early in a state below `settled`.
 * `at` is scaled throughout; a damaged entry that is no multiple of the scale ends up in the midst
 * of a row, not out of bounds.
 */
#define DEFINE_WALK(name, entry, rest)                                                             \
	static uint32_t name(const struct sbx_image *img, const struct sbx_dfa *d,                 \
			     uint32_t settled, const char *path, size_t len)                       \
	{                                                                                          \
		const entry *table = (const void *)(img->base + d->table), *column;                \
		const unsigned char *class = img->base + d->classes;                               \
		const uint64_t end = (uint64_t)d->nstates << d->scaled;                            \
		const uint64_t stop = (uint64_t)settled << d->scaled;                              \
		uint64_t at = (uint64_t)d->start << d->scaled;                                     \
		for (size_t i = 0; i < len && at >= stop; i++) {                                   \
			column = table + class[(unsigned char)path[i]];                            \
			AS_IT_STANDS(column);                                                      \
			at = SBX_ENTRY(column, at, rest, 0);                                       \
			if (at >= end)                                                             \
				return SBX_NOWHERE;                                                \
		}                                                                                  \
		return (uint32_t)(at >> d->scaled);                                                \
	}
DEFINE_WALK(walk16_0, uint16_t, 0)
DEFINE_WALK(walk16_1, uint16_t, 1)
DEFINE_WALK(walk16_2, uint16_t, 2)
DEFINE_WALK(walk16, uint16_t, d->shift - d->scaled)
DEFINE_WALK(walk32_0, uint32_t, 0)
DEFINE_WALK(walk32, uint32_t, d->shift - d->scaled)

static uint32_t walk(const struct sbx_image *img, const struct sbx_dfa *d, uint32_t settled,
		     const char *path, size_t len)
{
	uint32_t rest = d->shift - d->scaled;

	if (len == 1) /* the root is "" inside the automata */
		len = 0;
	if (d->width == 4)
		return (rest == 0 ? walk32_0 : walk32)(img, d, settled, path, len);
	return (rest == 0   ? walk16_0
		: rest == 1 ? walk16_1
		: rest == 2 ? walk16_2
			    : walk16)(img, d, settled, path, len);
}

static unsigned flags_of(const struct sbx_image *img, const struct sbx_dfa *d, uint32_t state)
{
	return state < d->nstates ? img->base[d->flags + state] : SBX_ST_ALL_DENY;
}

bool sbx_decide(const struct sbx_image *img, enum sbx_op op, const char *path, size_t len)
{
	const struct sbx_dfa *d;
	uint32_t state;

	if ((unsigned)op >= SBX_OP_COUNT || !is_canonical(path, len))
		return false;
	d = &img->hdr->op[op].verdict;
	state = walk(img, d, d->nsettled, path, len);
	return flags_of(img, d, state) & (state < d->nsettled ? SBX_ST_ALL_ALLOW : SBX_ST_ALLOW);
}

/* The largest rule index + 1 that the walk meets, 0 = none. A settled state adds nothing. */
static uint32_t last_label(const struct sbx_image *img, const struct sbx_dfa *d, const char *path,
			   size_t len)
{
	const uint32_t *labels = (const void *)(img->base + d->labels);
	const uint32_t *latches = (const void *)(img->base + d->latches);
	uint32_t state = d->start, last = latches[state];

	if (len == 1) /* the root is "" inside the automata */
		len = 0;
	for (size_t i = 0; i < len && state >= d->nsettled; i++) {
		state = sbx_next_state(img, d, state, (unsigned char)path[i]);
		if (state == SBX_NOWHERE)
			return last;
		if (latches[state] > last)
			last = latches[state];
	}
	return labels[state] > last ? labels[state] : last;
}

static bool bytes_equal(const unsigned char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != (unsigned char)b[i])
			return false;
	return true;
}

const struct sbx_image_literal *sbx_find_literal(const struct sbx_image *img,
						 const struct sbx_image_layer *op, uint64_t hash,
						 const char *path, size_t len)
{
	const struct sbx_image_literal *v = (const void *)(img->base + op->literals);
	uint32_t slot = sbx_literal_slot(hash);

	for (uint32_t i = 0; i < SBX_LITERAL_PROBES; i++) {
		const struct sbx_image_literal *l = &v[slot++ & (op->nliterals - 1)];

		if (l->exact == 0 && l->tree == 0)
			return NULL;
		if (l->path.len == len && (uint64_t)l->path.off + len < img->size &&
		    bytes_equal(img->base + l->path.off, path, len))
			return l;
	}
	return NULL;
}

/* The last literal rule that matches, + 1: the path itself unless what lies below is meant, and
 * trees at each parent. */
static uint32_t last_literal(const struct sbx_image *img, const struct sbx_image_layer *op,
			     const char *path, size_t len, bool below)
{
	uint64_t hash = sbx_literal_start(op->seed);
	const struct sbx_image_literal *l;
	uint32_t last = 0;

	if (op->nliterals == 0)
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (path[i] == '/') {
			l = sbx_find_literal(img, op, hash, path, i);
			last = l && l->tree > last ? l->tree : last;
		}
		hash = sbx_literal_step(hash, (unsigned char)path[i]);
	}
	l = len == 1 ? sbx_find_literal(img, op, sbx_literal_start(op->seed), path, 0)
		     : sbx_find_literal(img, op, hash, path, len);
	if (l && l->tree > last)
		last = l->tree;
	return l && !below && l->exact > last ? l->exact : last;
}

uint32_t sbx_last_pattern(const struct sbx_image *img, const struct sbx_image_layer *l,
			  const char *path, size_t len, uint32_t last)
{
	const struct sbx_dfa *groups = (const void *)(img->base + l->groups);

	for (uint32_t i = 0; i < l->ngroups && groups[i].last > last; i++) {
		uint32_t label = last_label(img, &groups[i], path, len);

		if (label > last)
			last = label;
	}
	return last <= l->nrules ? last : 0;
}

uint32_t sbx_last_rule(const struct sbx_image *img, const struct sbx_image_layer *l,
		       const char *path, size_t len)
{
	return sbx_last_pattern(img, l, path, len, last_literal(img, l, path, len, false));
}

/* The largest rule index + 1 that all below the path meets. */
static uint32_t latched(const struct sbx_image *img, const struct sbx_dfa *d, const char *path,
			size_t len)
{
	const uint32_t *labels = (const void *)(img->base + d->labels);
	const uint32_t *latches = (const void *)(img->base + d->latches);
	uint32_t state = d->start, last = latches[state];

	if (len == 1) /* the root is "" inside the automata */
		len = 0;
	for (size_t i = 0; i <= len && state >= d->nsettled; i++) {
		state = sbx_next_state(img, d, state, i < len ? (unsigned char)path[i] : '/');
		if (state == SBX_NOWHERE)
			return last;
		if (latches[state] > last)
			last = latches[state];
	}
	return state < d->nsettled && labels[state] > last ? labels[state] : last;
}

uint32_t sbx_last_rule_below(const struct sbx_image *img, const struct sbx_image_layer *l,
			     const char *path, size_t len)
{
	const struct sbx_dfa *groups = (const void *)(img->base + l->groups);
	uint32_t last = last_literal(img, l, path, len, true);

	for (uint32_t i = 0; i < l->ngroups && groups[i].last > last; i++) {
		uint32_t label = latched(img, &groups[i], path, len);

		if (label > last)
			last = label;
	}
	return last <= l->nrules ? last : 0;
}

int sbx_attribute(const struct sbx_image *img, enum sbx_op op, const char *path, size_t len)
{
	const struct sbx_image_rule *rules;
	const struct sbx_image_op *o;
	int found = -1;

	if ((unsigned)op >= SBX_OP_COUNT || !is_canonical(path, len))
		return -1;
	o = &img->hdr->op[op];
	rules = (const void *)(img->base + img->hdr->rules);
	for (uint32_t i = 0; i < o->nlayers; i++) {
		const struct sbx_image_layer *l = &o->layer[i];
		uint32_t last = sbx_last_rule(img, l, path, len), rule;

		if (last == 0) /* the layer says nothing, which denies */
			return -1;
		rule = o->first_rule + l->first_rule + last - 1;
		if (!rules[rule].allow)
			return (int)rule;
		if (found < 0 || l->is_main)
			found = (int)rule;
	}
	return found;
}

void sbx_explain_rule(const struct sbx_image *img, enum sbx_op op, int rule,
		      struct sbx_verdict *out)
{
	out->rule = rule;
	if (rule >= 0) {
		const struct sbx_image_rule *r =
			(const struct sbx_image_rule *)(const void *)(img->base + img->hdr->rules) +
			rule;

		out->matched = sbx_image_text(img, r->matched);
		out->origin = sbx_image_text(img, r->origin);
		if (out->origin[0] == '\0') /* a damaged image */
			out->origin = "builtin:unknown";
		return;
	}
	out->matched = (unsigned)op < SBX_OP_COUNT && img->hdr->op[op].has_positive
			       ? "<no matching rule>"
			       : "[]";
	out->origin = "builtin:default";
}

void sbx_explain(const struct sbx_image *img, enum sbx_op op, const char *path, size_t len,
		 struct sbx_verdict *out)
{
	out->allowed = sbx_decide(img, op, path, len);
	sbx_explain_rule(img, op, sbx_attribute(img, op, path, len), out);
}

enum sbx_subtree sbx_subtree(const struct sbx_image *img, enum sbx_op op, const char *path,
			     size_t len)
{
	bool allowed = sbx_decide(img, op, path, len);
	unsigned below;

	if (!is_canonical(path, len))
		return SBX_SUBTREE_DENY;
	below = sbx_state_flags(img, op, sbx_step(img, op, sbx_walk(img, op, path, len), '/'));
	if (allowed && below & SBX_ST_ALL_ALLOW)
		return SBX_SUBTREE_ALLOW;
	return !allowed && below & SBX_ST_ALL_DENY ? SBX_SUBTREE_DENY : SBX_SUBTREE_MIXED;
}

uint32_t sbx_walk(const struct sbx_image *img, enum sbx_op op, const char *path, size_t len)
{
	return walk(img, &img->hdr->op[op].verdict, 0, path, len);
}

uint32_t sbx_step(const struct sbx_image *img, enum sbx_op op, uint32_t state, unsigned char byte)
{
	const struct sbx_dfa *d = &img->hdr->op[op].verdict;

	return state < d->nstates ? sbx_next_state(img, d, state, byte) : SBX_NOWHERE;
}

unsigned sbx_state_flags(const struct sbx_image *img, enum sbx_op op, uint32_t state)
{
	return flags_of(img, &img->hdr->op[op].verdict, state);
}
