/* SPDX-License-Identifier: Apache-2.0 */
/* presets.c - see presets.h. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policy/front/presets.h"

const struct pol_preset *pol_preset_find(const char *name)
{
	for (unsigned i = 0; i < pol_presets_n; i++)
		if (strcmp(pol_presets[i].name, name) == 0)
			return &pol_presets[i];
	return NULL;
}

/* ---- trees, as gen-presets.c packs them: a node, its text or its parts ---- */

struct unpack {
	const struct pol_preset *preset;
	const unsigned char *at;
	struct pol_ynode *node;		/* the next one */
	const struct pol_ynode **parts; /* room for the next list of parts */
};

static unsigned take(struct unpack *u)
{
	unsigned v = u->at[0] | (unsigned)u->at[1] << 8;

	u->at += 2;
	return v;
}

static const struct pol_ynode *unpack(struct unpack *u)
{
	struct pol_ynode *self = u->node++;
	size_t nparts;

	self->kind = (enum pol_ykind) * u->at++;
	self->pos = (struct pol_pos){u->preset->file, take(u), take(u)};
	self->n = take(u);
	self->weight = 1;
	if (self->kind != POL_Y_MAP && self->kind != POL_Y_SEQ) {
		self->len = self->n;
		self->n = 0;
		self->s = (const char *)u->at;
		u->at += self->len + 1;
		return self;
	}
	nparts = self->kind == POL_Y_MAP ? 2 * self->n : self->n;
	if (nparts)
		self->v = u->parts;
	u->parts += nparts;
	for (size_t i = 0; i < nparts; i++) {
		const struct pol_ynode *part = unpack(u);

		((const struct pol_ynode **)(uintptr_t)self->v)[i] = part;
		self->weight += part->weight;
		if (part->height + 1 > self->height)
			self->height = part->height + 1;
	}
	return self;
}

/* Every node but the root is a part of one other. */
static const struct pol_ynode *unpack_all(const struct pol_preset *p)
{
	struct pol_ynode *nodes = b_calloc(p->nodes, sizeof *nodes + sizeof(void *));
	struct unpack u = {p, p->tree, nodes, (const struct pol_ynode **)(nodes + p->nodes)};

	return unpack(&u);
}

const struct pol_ynode *pol_preset_root(const struct pol_preset *p)
{
	/* written once, never changed: who comes second takes what the first has made */
	static _Atomic(const struct pol_ynode *) roots[POL_PRESETS_MAX];
	const struct pol_ynode *none = NULL, *made;
	size_t i = (size_t)(p - pol_presets);

	B_ASSERT(i < POL_PRESETS_MAX);
	made = atomic_load(&roots[i]);
	if (made)
		return made;
	made = unpack_all(p);
	if (atomic_compare_exchange_strong(&roots[i], &none, made))
		return made;
	free((void *)(uintptr_t)made);
	return none;
}
