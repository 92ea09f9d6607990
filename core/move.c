#include "core/decide.h"

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

/* May what is answered so at the old place be answered so at the new one? */
static bool answer_ok(bool both_ways, bool was_allowed, bool is_allowed)
{
	return was_allowed == is_allowed || (was_allowed && !both_ways);
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
	return answer_ok(op == SBX_MODIFY, sbx_state_flags(img, op, from) & SBX_ST_ALLOW,
			 sbx_state_flags(img, op, to) & SBX_ST_ALLOW);
}

bool sbx_move_beneath(const struct sbx_image *img, enum sbx_op op, uint32_t from, uint32_t to)
{
	struct pairs pairs;

	return below_ok(img, op, from, to, op == SBX_MODIFY, &pairs);
}

static bool op_allows_move(const struct sbx_image *img, enum sbx_op op,
			   const struct sbx_move_ends *e, bool is_dir, struct pairs *pairs)
{
	/* Leave to remove the one and to create the other is asked elsewhere. */
	if (!sbx_decide(img, op, e->from, e->from_len) && sbx_decide(img, op, e->to, e->to_len))
		return false;
	return !is_dir ||
	       below_ok(img, op, sbx_step(img, op, sbx_walk(img, op, e->from, e->from_len), '/'),
			sbx_step(img, op, sbx_walk(img, op, e->to, e->to_len), '/'),
			op == SBX_MODIFY, pairs);
}

bool sbx_move_allowed_in(void *room, const struct sbx_image *img, const struct sbx_move_ends *ends,
			 bool is_dir, enum sbx_op *out_op)
{
	static const enum sbx_op ops[] = {SBX_READ, SBX_MODIFY};

	for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++)
		if (!op_allows_move(img, ops[i], ends, is_dir, room)) {
			if (out_op)
				*out_op = ops[i];
			return false;
		}
	return true;
}

bool sbx_move_allowed(const struct sbx_image *img, const char *from, size_t from_len,
		      const char *to, size_t to_len, bool is_dir, enum sbx_op *out_op)
{
	struct sbx_move_ends ends = {from, from_len, to, to_len};
	struct pairs pairs;

	return sbx_move_allowed_in(&pairs, img, &ends, is_dir, out_op);
}

bool sbx_move_free(const struct sbx_image *img, const char *from, size_t from_len, const char *to,
		   size_t to_len)
{
	static const enum sbx_op ops[] = {SBX_READ, SBX_MODIFY};

	for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++) {
		enum sbx_op op = ops[i];
		uint32_t a = sbx_walk(img, op, from, from_len), b = sbx_walk(img, op, to, to_len);

		if (!answer_ok(op == SBX_MODIFY, sbx_state_flags(img, op, a) & SBX_ST_ALLOW,
			       sbx_state_flags(img, op, b) & SBX_ST_ALLOW))
			return false;
		a = sbx_step(img, op, a, '/');
		b = sbx_step(img, op, b, '/');
		if (a != b && !pair_settled(op == SBX_MODIFY, sbx_state_flags(img, op, a),
					    sbx_state_flags(img, op, b)))
			return false;
	}
	return true;
}

static uint32_t below_state(const struct sbx_image *img, const char *path, size_t len)
{
	return sbx_step(img, SBX_MODIFY, sbx_walk(img, SBX_MODIFY, path, len), '/');
}

bool sbx_link_free(const struct sbx_image *img, const char *link, size_t len)
{
	return sbx_state_flags(img, SBX_MODIFY, below_state(img, link, len)) & SBX_ST_ALL_ALLOW;
}

bool sbx_link_allowed(const struct sbx_image *img, const char *link, size_t link_len,
		      const char *target, size_t target_len)
{
	struct pairs pairs;

	return below_ok(img, SBX_MODIFY, below_state(img, link, link_len),
			below_state(img, target, target_len), false, &pairs);
}
