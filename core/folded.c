/* SPDX-License-Identifier: Apache-2.0 */
/* folded.c - see fold.h. */
#include "core/fold.h"

#include "core/decide_priv.h"

/* Rules of one layer, counted from 1, 0 = none. */
struct met {
	uint32_t denies; /* the last that denies the path */
	uint32_t below;	 /* the last that may deny something below it */
};

static void raise(uint32_t *to, uint32_t rule)
{
	*to = rule > *to ? rule : *to;
}

/* Whether the name that just ended may stand for another. A name that is not UTF-8 is in another
 * character set, and may stand for any name in a rule that has more than ASCII. */
static bool may_stand(const struct sbx_image_layer *l, const struct sbx_fold *f, unsigned how)
{
	return (f->is_alias && how & SBX_FOLDS_ALIAS) || (f->is_wild && l->folded.wide);
}

/* ---- literal rules ---- */

static const struct sbx_image_name *find_name(const struct sbx_image *img,
					      const struct sbx_image_layer *l, uint64_t hash)
{
	static const struct sbx_image_name none;
	const struct sbx_image_name *v = (const void *)(img->base + l->folded.names);
	uint32_t slot = sbx_literal_slot(hash);

	for (uint32_t i = 0; i < l->folded.nnames; i++) {
		const struct sbx_image_name *n = &v[slot++ & (l->folded.nnames - 1)];

		if (n->reach == 0)
			break;
		if (n->hash == hash)
			return n;
	}
	return &none;
}

/* At the end of each name: adds what the directories above deny, and what the name may stand for.
 */
static void meet_names(const struct sbx_image *img, const struct sbx_image_layer *l,
		       struct sbx_fold f, unsigned how, struct met *m)
{
	uint64_t hash = sbx_literal_start(0);
	uint32_t beside = 0; /* what is denied in the directory of the name, and below */

	if (l->folded.nnames == 0)
		return;
	for (int c = 0; c >= 0; hash = sbx_literal_step(hash, (unsigned char)c)) {
		const struct sbx_image_name *n;

		c = sbx_fold_next(&f);
		if (c != '/' && c >= 0)
			continue;
		if (may_stand(l, &f, how))
			raise(&m->denies, beside);
		n = find_name(img, l, hash);
		raise(&m->denies, n->tree);
		beside = n->reach;
		if (c >= 0)
			continue;
		raise(&m->denies, n->exact);
		raise(&m->below, n->reach);
	}
}

/* ---- patterns ---- */

static void meet_group(const struct sbx_image *img, const struct sbx_image_layer *l,
		       const struct sbx_dfa *d, struct sbx_fold f, unsigned how, struct met *m)
{
	const uint32_t *labels = (const void *)(img->base + d->labels);
	const uint32_t *latches = (const void *)(img->base + d->latches);
	const uint32_t *reach = (const void *)(img->base + d->reach);
	uint32_t state = d->start, beside = 0;

	raise(&m->denies, latches[state]);
	for (;;) {
		int c = sbx_fold_next(&f);

		if ((c == '/' || c < 0) && may_stand(l, &f, how))
			raise(&m->denies, beside);
		if (c < 0)
			break;
		state = sbx_next_state(img, d, state, (unsigned char)c);
		if (state == SBX_NOWHERE)
			return;
		raise(&m->denies, latches[state]);
		if (c == '/')
			beside = reach[state];
	}
	raise(&m->denies, labels[state]);
	state = sbx_next_state(img, d, state, '/');
	if (state != SBX_NOWHERE)
		raise(&m->below, reach[state]);
}

/* ---- both ---- */

/* The foldings of a path that differ: bit n of the set is SBX_FOLD_* n. */
static unsigned readings(const char *path, size_t len)
{
	unsigned set = 1u;
	struct sbx_fold f;

	sbx_fold_start(&f, path, len, 0);
	while (sbx_fold_next(&f) >= 0)
		;
	if (f.has_tail)
		set |= 1u << SBX_FOLD_TRIMS;
	while (len > 0)
		if (path[--len] == ':')
			return set | 1u << SBX_FOLD_CUTS | 1u << (SBX_FOLD_CUTS | SBX_FOLD_TRIMS);
	return set;
}

static struct met meet(const struct sbx_image *img, const struct sbx_image_layer *l,
		       const char *path, size_t len, unsigned how)
{
	const struct sbx_dfa *groups = (const void *)(img->base + l->folded.groups);
	unsigned set = readings(path, len);
	struct met m = {0};

	for (unsigned flags = 0; set >> flags; flags++) {
		struct sbx_fold f;

		if (!(set >> flags & 1))
			continue;
		sbx_fold_start(&f, path, len, flags);
		meet_names(img, l, f, how, &m);
		for (uint32_t i = 0; i < l->folded.ngroups; i++)
			meet_group(img, l, &groups[i], f, how, &m);
	}
	return m;
}

/* The rule of the image, -1 where the layer has none of this number. */
static int rule_of(const struct sbx_image_op *o, const struct sbx_image_layer *l, uint32_t number)
{
	return number <= l->nrules ? (int)(o->first_rule + l->first_rule + number - 1) : -1;
}

int sbx_folded_rule(const struct sbx_image *img, enum sbx_op op, const char *path, size_t len,
		    unsigned how)
{
	const struct sbx_image_op *o;

	if ((unsigned)op >= SBX_OP_COUNT || !img->hdr->folds || !how)
		return -1;
	o = &img->hdr->op[op];
	for (uint32_t i = 0; i < o->nlayers; i++) {
		struct met m = meet(img, &o->layer[i], path, len, how);

		if (m.denies > 0 && m.denies > sbx_last_rule(img, &o->layer[i], path, len))
			return rule_of(o, &o->layer[i], m.denies);
	}
	return -1;
}

int sbx_folded_near(const struct sbx_image *img, enum sbx_op op, const char *path, size_t len)
{
	const struct sbx_image_op *o;

	if ((unsigned)op >= SBX_OP_COUNT || !img->hdr->folds)
		return -1;
	o = &img->hdr->op[op];
	for (uint32_t i = 0; i < o->nlayers; i++) {
		struct met m = meet(img, &o->layer[i], path, len, SBX_FOLDS_CASE | SBX_FOLDS_ALIAS);

		raise(&m.denies, m.below);
		if (m.denies > 0 && m.denies > sbx_last_rule_below(img, &o->layer[i], path, len))
			return rule_of(o, &o->layer[i], m.denies);
	}
	return -1;
}

/* ---- two directories ---- */

/* The state after the slash of a directory; `folds`: for its folded text. */
static uint32_t state_below(const struct sbx_image *img, const struct sbx_dfa *d, const char *path,
			    size_t len, bool folds)
{
	uint32_t state = d->start;
	struct sbx_fold f;
	int c;

	len = len == 1 ? 0 : len; /* the root is "" inside the automata */
	sbx_fold_start(&f, path, len, 0);
	for (size_t i = 0; state != SBX_NOWHERE; i++) {
		c = folds ? sbx_fold_next(&f) : i < len ? (unsigned char)path[i] : -1;
		if (c < 0)
			return sbx_next_state(img, d, state, '/');
		state = sbx_next_state(img, d, state, (unsigned char)c);
	}
	return state;
}

static bool same_states(const struct sbx_image *img, uint32_t at, uint32_t n, bool folds,
			const char *a, size_t a_len, const char *b, size_t b_len)
{
	const struct sbx_dfa *groups = (const void *)(img->base + at);

	for (uint32_t i = 0; i < n; i++)
		if (state_below(img, &groups[i], a, a_len, folds) !=
		    state_below(img, &groups[i], b, b_len, folds))
			return false;
	return true;
}

/* Is something below the directory denied by its path? */
static bool has_names(const struct sbx_image *img, const struct sbx_image_layer *l,
		      const char *path, size_t len)
{
	struct met m = {0};
	struct sbx_fold f;

	sbx_fold_start(&f, path, len, 0);
	meet_names(img, l, f, SBX_FOLDS_CASE | SBX_FOLDS_ALIAS, &m);
	return m.below > sbx_last_rule_below(img, l, path, len) || readings(path, len) != 1;
}

bool sbx_folded_same(const struct sbx_image *img, enum sbx_op op, const char *a, size_t a_len,
		     const char *b, size_t b_len)
{
	const unsigned how = SBX_FOLDS_CASE | SBX_FOLDS_ALIAS;
	const struct sbx_image_op *o = &img->hdr->op[op];

	for (uint32_t i = 0; img->hdr->folds && i < o->nlayers; i++) {
		const struct sbx_image_layer *l = &o->layer[i];

		if (has_names(img, l, a, a_len) || has_names(img, l, b, b_len) ||
		    meet(img, l, a, a_len, how).denies != meet(img, l, b, b_len, how).denies ||
		    sbx_last_rule_below(img, l, a, a_len) !=
			    sbx_last_rule_below(img, l, b, b_len) ||
		    !same_states(img, l->groups, l->ngroups, false, a, a_len, b, b_len) ||
		    !same_states(img, l->folded.groups, l->folded.ngroups, true, a, a_len, b,
				 b_len))
			return false;
	}
	return true;
}
