/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - the product of a few verdict automata, breadth first: what is met first is shortest.
 * See ruleset.h. */
#include "policy/compile/ruleset.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/decide.h"
#include "policy/compile/automata.h"

/* How far a component is, so that "//", "/./", "/../" and "x/" stay out. */
enum { CMP_ROOT, CMP_SLASH, CMP_DOT, CMP_DOTS, CMP_NAME };

struct node {
	uint32_t state[POL_MAX_SIDES];
	uint32_t parent;
	uint8_t where; /* AT_* */
	uint8_t byte;  /* that leads here from the parent */
};

struct product {
	const struct pol_side *sides;
	size_t nsides;
	uint16_t wanted;
	struct node *nodes;
	size_t n, cap;
	uint32_t *index; /* hash table of node numbers + 1 */
	size_t nindex;	 /* a power of two */
	uint8_t bytes[256];
	size_t nbytes; /* one byte of each class that some side tells apart, pleasant ones first */
};

static const struct sbx_dfa *dfa_of(const struct pol_side *s)
{
	return &s->image->hdr->op[s->op].verdict;
}

static bool same_class(const struct product *p, unsigned a, unsigned b)
{
	for (size_t i = 0; i < p->nsides; i++) {
		const unsigned char *class =
			p->sides[i].image->base + dfa_of(&p->sides[i])->classes;

		if (class[a] != class[b])
			return false;
	}
	return true;
}

static void add_byte(struct product *p, unsigned byte)
{
	/* The two bytes that matter in canonical paths have classes of their own. */
	for (size_t i = 0; byte != '/' && byte != '.' && i < p->nbytes; i++)
		if (p->bytes[i] != '/' && p->bytes[i] != '.' && same_class(p, byte, p->bytes[i]))
			return;
	for (size_t i = 0; i < p->nbytes; i++)
		if (p->bytes[i] == byte)
			return;
	p->bytes[p->nbytes++] = (uint8_t)byte;
}

static void choose_bytes(struct product *p)
{
	for (unsigned c = 'a'; c <= 'z'; c++)
		add_byte(p, c);
	for (unsigned c = '0'; c <= '9'; c++)
		add_byte(p, c);
	for (unsigned c = ' ' + 1; c < 127; c++)
		add_byte(p, c);
	for (unsigned c = 1; c < 256; c++) /* no path has a NUL */
		add_byte(p, c);
}

/* ---- states of the product ---- */

static size_t hash(const struct product *p, const struct node *n)
{
	uint64_t h = n->where;

	for (size_t i = 0; i < p->nsides; i++)
		h = (h ^ n->state[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(h ^ h >> 29);
}

static void pairs_put(struct product *p, uint32_t id)
{
	size_t slot = hash(p, &p->nodes[id]) & (p->nindex - 1);

	while (p->index[slot])
		slot = (slot + 1) & (p->nindex - 1);
	p->index[slot] = id + 1;
}

static void index_grow(struct product *p)
{
	free(p->index);
	p->nindex = p->nindex ? p->nindex * 2 : 1024;
	p->index = b_calloc(p->nindex, sizeof *p->index);
	for (size_t i = 0; i < p->n; i++)
		pairs_put(p, (uint32_t)i);
}

static bool is_known(const struct product *p, const struct node *n)
{
	size_t slot = hash(p, n) & (p->nindex - 1);

	for (; p->index[slot]; slot = (slot + 1) & (p->nindex - 1)) {
		const struct node *m = &p->nodes[p->index[slot] - 1];

		if (m->where == n->where &&
		    memcmp(m->state, n->state, p->nsides * sizeof *n->state) == 0)
			return true;
	}
	return false;
}

static void add(struct product *p, const struct node *n)
{
	if (p->n * 2 >= p->nindex)
		index_grow(p);
	if (is_known(p, n))
		return;
	b_grow(p->nodes, p->n, p->cap);
	p->nodes[p->n] = *n;
	pairs_put(p, (uint32_t)p->n++);
}

/* Is what a path ending here is judged among the verdicts wanted? */
static bool is_wanted(const struct product *p, const struct node *n)
{
	unsigned verdicts = 0;

	if (n->where != CMP_ROOT && n->where != CMP_NAME)
		return false;
	for (size_t i = 0; i < p->nsides; i++) {
		const struct pol_side *s = &p->sides[i];
		unsigned flag = n->state[i] < dfa_of(s)->nsettled ? SBX_ST_ALL_ALLOW : SBX_ST_ALLOW;

		if (sbx_state_flags(s->image, s->op, n->state[i]) & flag)
			verdicts |= 1u << i;
	}
	return p->wanted >> verdicts & 1;
}

/* Whether a path that continues from here can differ. A settled side has a fixed verdict. */
static bool is_hopeful(const struct product *p, const struct node *n)
{
	unsigned known = 0, verdicts = 0;

	for (size_t i = 0; i < p->nsides; i++) {
		const struct pol_side *s = &p->sides[i];
		unsigned flags = sbx_state_flags(s->image, s->op, n->state[i]);

		if (flags & (SBX_ST_ALL_ALLOW | SBX_ST_ALL_DENY))
			known |= 1u << i;
		if (flags & SBX_ST_ALL_ALLOW)
			verdicts |= 1u << i;
	}
	for (unsigned v = 0; v < 1u << p->nsides; v++)
		if ((p->wanted >> v & 1) && (v & known) == (verdicts & known))
			return true;
	return false;
}

/* Where the byte leads in the spelling of a canonical path; false: nowhere. */
static bool step_where(uint8_t from, uint8_t byte, uint8_t *out)
{
	if (from == CMP_ROOT && byte != '/')
		return false;
	if (byte == '/') {
		*out = CMP_SLASH;
		return from == CMP_ROOT || from == CMP_NAME;
	}
	*out = CMP_NAME;
	if (byte == '.' && (from == CMP_SLASH || from == CMP_DOT))
		*out = from == CMP_SLASH ? CMP_DOT : CMP_DOTS;
	return true;
}

static void expand(struct product *p, uint32_t id)
{
	for (size_t b = 0; b < p->nbytes; b++) {
		const struct node *from = &p->nodes[id];
		struct node to = {.parent = id, .byte = p->bytes[b]};

		if (!step_where(from->where, to.byte, &to.where))
			continue;
		for (size_t i = 0; i < p->nsides; i++)
			to.state[i] = sbx_step(p->sides[i].image, p->sides[i].op, from->state[i],
					       to.byte);
		add(p, &to);
	}
}

static void spell(const struct product *p, uint32_t id, struct b_str *out)
{
	size_t len = 0;
	char *end;

	for (uint32_t i = id; i != 0; i = p->nodes[i].parent)
		len++;
	if (len == 0) /* the root is "" inside the automata */
		b_str_addc(out, '/');
	end = b_str_room(out, len) + len;
	for (uint32_t i = id; i != 0; i = p->nodes[i].parent)
		*--end = (char)p->nodes[i].byte;
	b_str_advance(out, len);
}

static int search(struct product *p, pol_each_path *each, void *arg, struct b_err *err)
{
	struct node start = {.where = CMP_ROOT};

	for (size_t i = 0; i < p->nsides; i++)
		start.state[i] = dfa_of(&p->sides[i])->start;
	choose_bytes(p);
	add(p, &start);
	for (uint32_t id = 0; id < p->n; id++) {
		if (is_wanted(p, &p->nodes[id])) {
			b_auto(b_str_release) struct b_str path = {0};
			int rc;

			spell(p, id, &path);
			rc = each(arg, b_str_c(&path), path.len);
			if (rc != 0)
				return rc;
		}
		if (!is_hopeful(p, &p->nodes[id]))
			continue;
		if (p->n > POL_MAX_PRODUCTS)
			return b_fail(err, B_LIMIT, 0,
				      "the policies are too large to be compared: more than %u "
				      "states",
				      POL_MAX_PRODUCTS);
		expand(p, id);
	}
	return 0;
}

int pol_each_state(const struct pol_side *sides, size_t n, uint16_t where, pol_each_path *each,
		   void *arg, struct b_err *err)
{
	struct product p = {.sides = sides, .nsides = n, .wanted = where};
	int rc;

	B_ASSERT(n > 0 && n <= POL_MAX_SIDES);
	rc = search(&p, each, arg, err);
	free(p.nodes);
	free(p.index);
	return rc;
}

static int take_first(void *arg, const char *path, size_t len)
{
	struct b_str *out = arg;

	b_str_addn(out, path, len);
	return 1;
}

int pol_find_path(const struct pol_side *sides, size_t n, uint16_t where, struct b_str *out_path,
		  struct b_err *err)
{
	return pol_each_state(sides, n, where, take_first, out_path, err);
}

/* ---- automata without an image ---- */

int pol_verdicts_of(const struct pol_list *list, struct pol_verdicts *out, struct b_err *err)
{
	struct pol_writer w = {0};
	struct sbx_image_header hdr = {.magic = SBX_IMAGE_MAGIC, .version = SBX_IMAGE_VERSION};

	pol_writer_append(&w, NULL, sizeof hdr);
	if (pol_write_verdict(&w, list, &hdr.op[SBX_READ].verdict, err) < 0) {
		b_str_release(&w.out);
		return -1;
	}
	memcpy(w.out.s, &hdr, sizeof hdr);
	out->image.size = w.out.len;
	out->data = b_str_take(&w.out);
	out->image.base = out->data;
	out->image.hdr = out->data;
	return 0;
}

int pol_verdicts_decided(const struct pol_list *list, size_t i, struct pol_verdicts *out,
			 struct b_err *err)
{
	size_t n = pol_layer_end(list, i) - i;
	b_auto_free struct pol_rule *v = b_calloc(n, sizeof *v);
	struct pol_list part = {v, n, n};

	memcpy(v, list->v + i, n * sizeof *v);
	for (size_t k = 0; k < n; k++)
		v[k].allow = k == 0;
	return pol_verdicts_of(&part, out, err);
}

int pol_verdicts_matched(const struct pol_rule *rule, struct pol_verdicts *out, struct b_err *err)
{
	struct pol_rule r = *rule;
	struct pol_list one = {&r, 1, 1};

	r.allow = true;
	return pol_verdicts_of(&one, out, err);
}

void pol_verdicts_release(struct pol_verdicts *v)
{
	free(v->data);
	*v = (struct pol_verdicts){0};
}
