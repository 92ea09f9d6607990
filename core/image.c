/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - see image.h. */
#include "core/image.h"

#include "core/host.h"
#include "core/text_glob.h"

struct word {
	uint64_t v;
} __attribute__((packed, may_alias));

_Static_assert(offsetof(struct sbx_image_header, checksum) % 8 == 0, "the checksum is a word");

#define STR_OK(img, s) ((uint64_t)(s).off + (s).len < (img)->size)

/* Does [off, off + n * size) lie in the image behind the header, aligned? */
static bool section_ok(const struct sbx_image *img, uint32_t off, uint64_t n, uint64_t size)
{
	return off % 8 == 0 && off >= sizeof(struct sbx_image_header) && off <= img->size &&
	       n <= (img->size - off) / size;
}

/* The table's 256 spare entries bound what a wrong class map can reach. */
static bool dfa_ok(const struct sbx_image *img, const struct sbx_dfa *d, bool is_verdict)
{
	if (d->nstates == 0 || d->start >= d->nstates || d->nsettled > d->nstates)
		return false;
	if ((d->width != 2 && d->width != 4) || d->shift > 8 || d->nclasses > 1u << d->shift ||
	    d->scaled > d->shift)
		return false;
	if (!section_ok(img, d->classes, 256, 1) ||
	    !section_ok(img, d->table, ((uint64_t)d->nstates << d->shift) + 256, d->width))
		return false;
	if (d->reach && !section_ok(img, d->reach, d->nstates, sizeof(uint32_t)))
		return false;
	return is_verdict ? section_ok(img, d->flags, d->nstates, 1)
			  : section_ok(img, d->labels, d->nstates, sizeof(uint32_t)) &&
				    section_ok(img, d->latches, d->nstates, sizeof(uint32_t));
}

static bool folded_ok(const struct sbx_image *img, const struct sbx_image_layer *l)
{
	const struct sbx_dfa *groups;

	if (!section_ok(img, l->folded.groups, l->folded.ngroups, sizeof(struct sbx_dfa)) ||
	    !section_ok(img, l->folded.names, l->folded.nnames, sizeof(struct sbx_image_name)) ||
	    (l->folded.nnames & (l->folded.nnames - 1)) != 0)
		return false;
	groups = (const void *)(img->base + l->folded.groups);
	for (uint32_t i = 0; i < l->folded.ngroups; i++)
		if (!dfa_ok(img, &groups[i], false) || !groups[i].reach)
			return false;
	return true;
}

/* Checks one list that has no folded rules. */
static bool list_ok(const struct sbx_image *img, const struct sbx_image_layer *l)
{
	const struct sbx_dfa *groups;

	if (!section_ok(img, l->groups, l->ngroups, sizeof(struct sbx_dfa)) ||
	    !section_ok(img, l->literals, l->nliterals, sizeof(struct sbx_image_literal)) ||
	    (l->nliterals & (l->nliterals - 1)) != 0)
		return false;
	groups = (const void *)(img->base + l->groups);
	for (uint32_t i = 0; i < l->ngroups; i++)
		if (!dfa_ok(img, &groups[i], false))
			return false;
	return true;
}

static bool layer_ok(const struct sbx_image *img, const struct sbx_image_op *op,
		     const struct sbx_image_layer *l)
{
	if ((uint64_t)l->first_rule + l->nrules > op->nrules || !list_ok(img, l))
		return false;
	return !img->hdr->folds || folded_ok(img, l);
}

static bool op_ok(const struct sbx_image *img, const struct sbx_image_op *op)
{
	if (!dfa_ok(img, &op->verdict, true) || op->nlayers > SBX_LAYERS_MAX ||
	    (uint64_t)op->first_rule + op->nrules > img->hdr->nrules)
		return false;
	for (uint32_t i = 0; i < op->nlayers; i++)
		if (!layer_ok(img, op, &op->layer[i]))
			return false;
	return true;
}

static bool requests_ok(const struct sbx_image *img, const struct sbx_image_requests *r)
{
	return section_ok(img, r->sets, r->nsets, sizeof(struct sbx_request_set)) &&
	       section_ok(img, r->rules, r->nrules, sizeof(struct sbx_request_rule)) &&
	       section_ok(img, r->params, r->nparams, sizeof(struct sbx_request_param)) &&
	       section_ok(img, r->globs, r->nglobs, sizeof(struct sbx_request_glob)) &&
	       section_ok(img, r->ranges, r->nranges, sizeof(struct sbx_glob_range)) &&
	       section_ok(img, r->ops, r->nops, sizeof(uint32_t)) &&
	       section_ok(img, r->text, r->ntext, 1);
}

static bool net_sections_ok(const struct sbx_image *img, const struct sbx_image_net *n)
{
	return (uint64_t)n->first_rule + n->nrules <= img->hdr->nrules &&
	       n->nlayers <= SBX_LAYERS_MAX && n->nprograms <= SBX_PROGRAMS_MAX &&
	       section_ok(img, n->facts, n->nrules, sizeof(struct sbx_image_net_rule)) &&
	       section_ok(img, n->parts, n->nparts, sizeof(struct sbx_image_net_part)) &&
	       section_ok(img, n->programs, n->nprograms, sizeof(struct sbx_image_program)) &&
	       section_ok(img, n->bys, n->nbys, sizeof(struct sbx_image_by)) &&
	       section_ok(img, n->places, n->nplaces, sizeof(struct sbx_cidr)) &&
	       section_ok(img, n->trusted, n->ntrusted, sizeof(struct sbx_cidr)) &&
	       section_ok(img, n->ports, n->nports, sizeof(uint16_t)) &&
	       requests_ok(img, &n->requests);
}

static bool net_ok(const struct sbx_image *img, const struct sbx_image_net *n)
{
	const struct sbx_image_net_part *parts = (const void *)(img->base + n->parts);
	const struct sbx_image_program *programs = (const void *)(img->base + n->programs);

	if (!net_sections_ok(img, n))
		return false;
	for (uint32_t i = 0; i < n->nlayers; i++)
		if ((uint64_t)n->layer[i].first_part + n->layer[i].nparts > n->nparts)
			return false;
	for (uint32_t i = 0; i < n->nparts; i++)
		if (!list_ok(img, &parts[i].rules) ||
		    !section_ok(img, parts[i].map, parts[i].rules.nrules, sizeof(uint32_t)))
			return false;
	for (uint32_t i = 0; i < n->nprograms; i++)
		if (!list_ok(img, &programs[i].rules))
			return false;
	return true;
}

static bool bounds_ok(const struct sbx_image *img)
{
	const struct sbx_image_header *h = img->hdr;

	for (int op = 0; op < SBX_OP_COUNT; op++)
		if (!op_ok(img, &h->op[op]))
			return false;
	return net_ok(img, &h->net) &&
	       section_ok(img, h->rules, h->nrules, sizeof(struct sbx_image_rule)) &&
	       section_ok(img, h->aliases, h->naliases, sizeof(struct sbx_image_alias)) &&
	       STR_OK(img, h->profile);
}

static bool table_ok(const struct sbx_image *img, const struct sbx_dfa *d)
{
	uint64_t n = (uint64_t)d->nstates << d->shift;

	for (unsigned i = 0; i < 256; i++)
		if (img->base[d->classes + i] >= d->nclasses)
			return false;
	for (uint64_t i = 0; i < n; i++) {
		const unsigned char *entry = img->base + d->table + i * d->width;
		uint32_t next = d->width == 2 ? *(const uint16_t *)(const void *)entry
					      : *(const uint32_t *)(const void *)entry;
		if (next >> d->scaled >= d->nstates || next & ((1u << d->scaled) - 1))
			return false;
	}
	return true;
}

static bool labels_ok(const struct sbx_image *img, const struct sbx_dfa *d, uint32_t nrules)
{
	const uint32_t *labels = (const void *)(img->base + d->labels);
	const uint32_t *latches = (const void *)(img->base + d->latches);
	const uint32_t *reach = d->reach ? (const void *)(img->base + d->reach) : NULL;

	for (uint32_t i = 0; i < d->nstates; i++)
		if (labels[i] > nrules || latches[i] > nrules || (reach && reach[i] > nrules))
			return false;
	return true;
}

static bool text_ok(const struct sbx_image *img, struct sbx_image_str s)
{
	return STR_OK(img, s) && img->base[s.off + s.len] == '\0';
}

static bool literals_ok(const struct sbx_image *img, const struct sbx_image_layer *l)
{
	const struct sbx_image_literal *v = (const void *)(img->base + l->literals);

	for (uint32_t i = 0; i < l->nliterals; i++)
		if (v[i].exact > l->nrules || v[i].tree > l->nrules || !text_ok(img, v[i].path))
			return false;
	return true;
}

static bool groups_ok(const struct sbx_image *img, uint32_t at, uint32_t n, uint32_t nrules)
{
	const struct sbx_dfa *groups = (const void *)(img->base + at);

	for (uint32_t g = 0; g < n; g++)
		if (!table_ok(img, &groups[g]) || !labels_ok(img, &groups[g], nrules))
			return false;
	return true;
}

static bool folded_names_ok(const struct sbx_image *img, const struct sbx_image_layer *l)
{
	const struct sbx_image_name *v = (const void *)(img->base + l->folded.names);

	for (uint32_t i = 0; i < l->folded.nnames; i++)
		if (v[i].exact > l->nrules || v[i].tree > l->nrules || v[i].reach > l->nrules)
			return false;
	return l->folded.wide <= l->nrules;
}

static bool list_tables_ok(const struct sbx_image *img, const struct sbx_image_layer *l)
{
	return groups_ok(img, l->groups, l->ngroups, l->nrules) && literals_ok(img, l);
}

static bool names_ok(const struct sbx_image *img, const struct sbx_image_layer *l)
{
	return list_tables_ok(img, l) &&
	       (!img->hdr->folds ||
		(groups_ok(img, l->folded.groups, l->folded.ngroups, l->nrules) &&
		 folded_names_ok(img, l)));
}

static bool net_tables_ok(const struct sbx_image *img, const struct sbx_image_net *n)
{
	const struct sbx_image_net_part *parts = (const void *)(img->base + n->parts);
	const struct sbx_image_program *programs = (const void *)(img->base + n->programs);

	for (uint32_t i = 0; i < n->nparts; i++) {
		const uint32_t *map = (const void *)(img->base + parts[i].map);

		if (parts[i].by > n->nbys || !list_tables_ok(img, &parts[i].rules))
			return false;
		for (uint32_t k = 0; k < parts[i].rules.nrules; k++)
			if (map[k] >= n->nrules)
				return false;
	}
	for (uint32_t i = 0; i < n->nprograms; i++)
		if (!list_tables_ok(img, &programs[i].rules))
			return false;
	return true;
}

static bool tables_ok(const struct sbx_image *img)
{
	for (int i = 0; i < SBX_OP_COUNT; i++) {
		const struct sbx_image_op *op = &img->hdr->op[i];

		if (!table_ok(img, &op->verdict))
			return false;
		for (uint32_t k = 0; k < op->nlayers; k++)
			if (!names_ok(img, &op->layer[k]))
				return false;
	}
	return net_tables_ok(img, &img->hdr->net);
}

static bool texts_ok(const struct sbx_image *img)
{
	const struct sbx_image_header *h = img->hdr;
	const struct sbx_image_rule *rules = (const void *)(img->base + h->rules);
	const struct sbx_image_alias *aliases = (const void *)(img->base + h->aliases);

	for (uint32_t i = 0; i < h->nrules; i++)
		if (!text_ok(img, rules[i].matched) || !text_ok(img, rules[i].origin))
			return false;
	for (uint32_t i = 0; i < h->naliases; i++)
		if (!text_ok(img, aliases[i].from) || !text_ok(img, aliases[i].to))
			return false;
	return text_ok(img, h->profile);
}

enum sbx_image_status sbx_image_open(struct sbx_image *out, const void *data, size_t size,
				     bool whole)
{
	struct sbx_image img = {.base = data, .size = size, .hdr = data};

	/* Entries are read in place: a mapping or malloc() gives this alignment. */
	if (size < sizeof(struct sbx_image_header) || (uintptr_t)data % 8 != 0)
		return SBX_IMAGE_SHORT;
	if (img.hdr->magic != SBX_IMAGE_MAGIC)
		return SBX_IMAGE_BAD_MAGIC;
	if (img.hdr->version != SBX_IMAGE_VERSION)
		return SBX_IMAGE_BAD_VERSION;
	if (img.hdr->size != size)
		return SBX_IMAGE_SHORT;
	if (!bounds_ok(&img))
		return SBX_IMAGE_BAD_BOUNDS;
	if (whole && sbx_image_checksum(data, size) != img.hdr->checksum)
		return SBX_IMAGE_BAD_CHECKSUM;
	if (whole && (!tables_ok(&img) || !texts_ok(&img)))
		return SBX_IMAGE_BAD_BOUNDS;
	*out = img;
	return SBX_IMAGE_OK;
}

const char *sbx_image_status_text(enum sbx_image_status status)
{
	static const char *const texts[] = {
		[SBX_IMAGE_OK] = "fine",
		[SBX_IMAGE_SHORT] = "shorter or longer than its header says",
		[SBX_IMAGE_BAD_MAGIC] = "not a policy image",
		[SBX_IMAGE_BAD_VERSION] = "a policy image of another version",
		[SBX_IMAGE_BAD_BOUNDS] = "damaged: a section leads outside of it",
		[SBX_IMAGE_BAD_CHECKSUM] = "damaged: the checksum is wrong",
	};

	return (unsigned)status < sizeof texts / sizeof *texts ? texts[status] : "?";
}

const char *sbx_image_text(const struct sbx_image *img, struct sbx_image_str s)
{
	return text_ok(img, s) ? (const char *)img->base + s.off : "";
}

uint64_t sbx_image_checksum(const void *data, size_t size)
{
	const size_t at = offsetof(struct sbx_image_header, checksum);
	const unsigned char *p = data;
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i + 8 <= size; i += 8) {
		h ^= i == at ? 0 : ((const struct word *)(const void *)(p + i))->v;
		h *= UINT64_C(0x100000001b3);
		h ^= h >> 32; /* words, unlike bytes, have high bits that a product loses */
	}
	return h;
}

/* ---- names of operations ---- */

/* By value, as a pointer each would be a relocation in the shim. */
const char *sbx_op_name(enum sbx_op op)
{
	static const char names[SBX_OP_COUNT][8] = {
		[SBX_READ] = "read",
		[SBX_MODIFY] = "modify",
		[SBX_EXEC] = "exec",
		[SBX_CONNECT] = "connect",
	};

	return (unsigned)op < SBX_OP_COUNT ? names[op] : "?";
}
