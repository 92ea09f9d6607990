/* SPDX-License-Identifier: Apache-2.0 */
#include "core/decide.h"

#include "core/path.h"

#define FRESH 2 /* a name that no rule has */

/* Pairs of states already met, walked in the order they were met. */
struct pairs {
	struct {
		uint32_t a, b;
	} v[SBX_MOVE_BUDGET];
	size_t n;
};
_Static_assert(sizeof(struct pairs) <= SBX_MOVE_ROOM, "the room that is asked for");

/* false: no room. */
static bool meet(struct pairs *p, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].a == a && p->v[i].b == b)
			return true;
	if (p->n == SBX_MOVE_BUDGET)
		return false;
	p->v[p->n].a = a;
	p->v[p->n].b = b;
	p->n++;
	return true;
}

/* A byte of each class. */
static size_t class_bytes(const struct sbx_image *img, const struct sbx_dfa *d,
			  unsigned char bytes[256])
{
	bool met[256] = {false};
	size_t n = 0;

	for (unsigned c = 0; c < 256; c++) {
		unsigned char class = img->base[d->classes + c];

		if (c != 0 && !met[class]) {
			met[class] = true;
			bytes[n++] = (unsigned char)c;
		}
	}
	return n;
}

/* Nothing that was denied may be allowed at the new place. For reading and modifying the other way
 * round is refused, too: whoever has a descriptor of a file, or another name, would read there what
 * is written later; and a protected name could be planted. */
static bool is_both_ways(enum sbx_op op)
{
	return op == SBX_READ || op == SBX_MODIFY;
}

/* Whether an object with the first answer at the old place may have the second at the new one. */
static bool answer_ok(bool both_ways, bool was_allowed, bool is_allowed)
{
	return was_allowed == is_allowed || (was_allowed && !both_ways);
}

static bool name_ok(const struct sbx_image *img, enum sbx_op op, uint32_t from, uint32_t to,
		    bool both_ways)
{
	return answer_ok(both_ways, sbx_state_flags(img, op, from) & SBX_ST_ALLOW,
			 sbx_state_flags(img, op, to) & SBX_ST_ALLOW);
}

static bool pair_settled(bool both_ways, unsigned a, unsigned b)
{
	if (!both_ways && (a & SBX_ST_ALL_ALLOW || b & SBX_ST_ALL_DENY))
		return true;
	return a & b & (SBX_ST_ALL_ALLOW | SBX_ST_ALL_DENY);
}

/* Every continuation below the two directories, by pairs of states. */
static bool below_ok(const struct sbx_image *img, enum sbx_op op, uint32_t from, uint32_t to,
		     bool both_ways, struct pairs *pairs)
{
	unsigned char bytes[256];
	size_t nbytes = class_bytes(img, &img->hdr->op[op].verdict, bytes);

	pairs->n = 0;
	meet(pairs, from, to);
	for (size_t i = 0; i < pairs->n; i++) {
		uint32_t a = pairs->v[i].a, b = pairs->v[i].b;
		unsigned fa = sbx_state_flags(img, op, a), fb = sbx_state_flags(img, op, b);

		if (!((fa | fb) & SBX_ST_SLASH) &&
		    !answer_ok(both_ways, fa & SBX_ST_ALLOW, fb & SBX_ST_ALLOW))
			return false;
		if (a == b || pair_settled(both_ways, fa, fb))
			continue;
		for (size_t j = 0; j < nbytes; j++) {
			if (bytes[j] == '/' && (fa | fb) & SBX_ST_SLASH)
				continue;
			if (!meet(pairs, sbx_step(img, op, a, bytes[j]),
				  sbx_step(img, op, b, bytes[j])))
				return false;
		}
	}
	return true;
}

bool sbx_move_name(const struct sbx_image *img, enum sbx_op op, uint32_t from, uint32_t to)
{
	return name_ok(img, op, from, to, is_both_ways(op));
}

bool sbx_move_beneath(const struct sbx_image *img, enum sbx_op op, uint32_t from, uint32_t to)
{
	struct pairs pairs;

	return below_ok(img, op, from, to, is_both_ways(op), &pairs);
}

/* Judges the name itself. The caller checks the permission to remove the old name and to create the
 * new one. */
static bool top_ok(const struct sbx_image *img, enum sbx_op op, uint32_t from, uint32_t to,
		   unsigned what)
{
	if (op == SBX_CONNECT && !(what & SBX_MOVES_SOCKET))
		return true;
	return name_ok(img, op, from, to,
		       op == SBX_READ && what & (SBX_MOVES_DIR | SBX_MOVES_KEPT));
}

static bool op_allows_move(const struct sbx_image *img, enum sbx_op op,
			   const struct sbx_move_ends *e, unsigned what, struct pairs *pairs)
{
	uint32_t from = sbx_walk(img, op, e->from, e->from_len);
	uint32_t to = sbx_walk(img, op, e->to, e->to_len);

	if (from == to)
		return true;
	return top_ok(img, op, from, to, what) &&
	       (!(what & SBX_MOVES_DIR) ||
		below_ok(img, op, sbx_step(img, op, from, '/'), sbx_step(img, op, to, '/'),
			 is_both_ways(op), pairs));
}

bool sbx_move_allowed_in(void *room, const struct sbx_image *img, const struct sbx_move_ends *ends,
			 unsigned what, enum sbx_op *out_op)
{
	for (int op = 0; op < SBX_OP_COUNT; op++)
		if (!op_allows_move(img, (enum sbx_op)op, ends, what, room)) {
			if (out_op)
				*out_op = (enum sbx_op)op;
			return false;
		}
	return true;
}

bool sbx_move_allowed(const struct sbx_image *img, const char *from, size_t from_len,
		      const char *to, size_t to_len, unsigned what, enum sbx_op *out_op)
{
	struct sbx_move_ends ends = {from, from_len, to, to_len};
	struct pairs pairs;

	return sbx_move_allowed_in(&pairs, img, &ends, what, out_op);
}

bool sbx_move_free(const struct sbx_image *img, const char *from, size_t from_len, const char *to,
		   size_t to_len)
{
	for (int i = 0; i < SBX_OP_COUNT; i++) {
		enum sbx_op op = (enum sbx_op)i;
		uint32_t a = sbx_walk(img, op, from, from_len), b = sbx_walk(img, op, to, to_len);
		bool both_ways = is_both_ways(op);

		if (!name_ok(img, op, a, b, both_ways))
			return false;
		a = sbx_step(img, op, a, '/');
		b = sbx_step(img, op, b, '/');
		if (a != b && !pair_settled(both_ways, sbx_state_flags(img, op, a),
					    sbx_state_flags(img, op, b)))
			return false;
	}
	return true;
}

/* ---- symlinks ---- */

static uint32_t below_state(const struct sbx_image *img, enum sbx_op op, const char *path,
			    size_t len)
{
	return sbx_step(img, op, sbx_walk(img, op, path, len), '/');
}

static bool is_all_allowed_below(const struct sbx_image *img, enum sbx_op op, const char *path,
				 size_t len)
{
	return sbx_state_flags(img, op, below_state(img, op, path, len)) & SBX_ST_ALL_ALLOW;
}

bool sbx_link_free(const struct sbx_image *img, const char *link, size_t len)
{
	return is_all_allowed_below(img, SBX_MODIFY, link, len) &&
	       is_all_allowed_below(img, SBX_READ, link, len) &&
	       sbx_decide(img, SBX_READ, link, len);
}

/* Is nothing denied below the name that is allowed below other names beside it? */
static bool is_like_others(const struct sbx_image *img, enum sbx_op op, const char *link,
			   size_t len, struct pairs *pairs)
{
	size_t parent = sbx_path_parent(link, len);
	uint32_t beside = sbx_walk(img, op, link, parent - (parent == 1)); /* of "/name" */

	beside = sbx_step(img, op, sbx_step(img, op, beside, '/'), FRESH);
	return below_ok(img, op, below_state(img, op, link, len), sbx_step(img, op, beside, '/'),
			false, pairs);
}

bool sbx_link_reads(const struct sbx_image *img, const char *link, size_t link_len,
		    const char *target, size_t target_len)
{
	return sbx_decide(img, SBX_READ, link, link_len) ||
	       !sbx_decide(img, SBX_READ, target, target_len);
}

bool sbx_link_allowed(const struct sbx_image *img, const char *link, size_t link_len,
		      const char *target, size_t target_len)
{
	uint32_t at = below_state(img, SBX_MODIFY, target, target_len);
	struct pairs pairs;

	if (!sbx_link_reads(img, link, link_len, target, target_len))
		return false;
	/* Where the command can make nothing, others may: the command of another run. */
	if (sbx_state_flags(img, SBX_MODIFY, at) & SBX_ST_ALL_DENY) {
		if (!is_like_others(img, SBX_MODIFY, link, link_len, &pairs))
			return false;
		if (is_like_others(img, SBX_READ, link, link_len, &pairs))
			return true;
	}
	return below_ok(img, SBX_MODIFY, below_state(img, SBX_MODIFY, link, link_len), at, false,
			&pairs) &&
	       below_ok(img, SBX_READ, below_state(img, SBX_READ, link, link_len),
			below_state(img, SBX_READ, target, target_len), false, &pairs);
}
