/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - see compare.h. */
#include "launcher/linux/broker/compare.h"

#include "core/decide.h"
#include "core/fold.h"
#include "launcher/linux/broker/broker.h"
#include "policy/plan/floor.h"

/* ---- the images ---- */

size_t br_image_count(const struct br_call *c)
{
	const struct lau_broker_plan *p = c->b->plan;

	return p->apart.n ? p->apart.n : 1;
}

struct br_image br_image_at(const struct br_call *c, size_t number)
{
	const struct lau_broker_plan *p = c->b->plan;

	return (struct br_image){p->apart.n ? p->apart.v[number] : p->image, number};
}

bool br_each_image(const struct br_call *c, br_compare *holds, struct br_pair *p)
{
	for (size_t i = 0; i < br_image_count(c); i++)
		if (!holds(br_image_at(c, i), p))
			return false;
	return true;
}

bool br_any_folds(const struct br_call *c)
{
	for (size_t i = 0; i < br_image_count(c); i++)
		if (br_image_at(c, i).img->hdr->folds)
			return true;
	return false;
}

struct br_pair br_pair_of(const struct br_end *from, const struct br_end *to)
{
	return (struct br_pair){
		.from = from->path, .from_len = from->len, .to = to->path, .to_len = to->len};
}

/* ---- names that a file system folds ----
 *
 * File systems that do not tell names apart (core/fold.h). They are asked only when a rule that
 * denies matches a path by its folded text and not by its bytes: for hardly any call.
 *
 * The path is canonical and the lock of moves is held: what it leads through is what was judged.
 */

#define ANYHOW (SBX_FOLDS_CASE | SBX_FOLDS_ALIAS)

static bool folded_denies(const struct sbx_image *img, enum sbx_op op, const char *path, size_t len)
{
	return sbx_folded_rule(img, op, path, len, ANYHOW) >= 0 &&
	       sbx_folded_rule(img, op, path, len, pol_path_folds(path, len, false)) >= 0;
}

bool br_fold_denies(const struct br_call *c, enum sbx_op op, const char *path, size_t len)
{
	return folded_denies(c->b->plan->image, op, path, len);
}

bool br_image_allows(struct br_image i, enum sbx_op op, const char *path, size_t len)
{
	return sbx_decide(i.img, op, path, len) && !folded_denies(i.img, op, path, len);
}

/* Whether every name that may be below one directory may be below the other. */
static bool tree_may_move(const struct sbx_image *img, enum sbx_op op, const struct br_pair *p)
{
	if (sbx_folded_near(img, op, p->from, p->from_len) < 0 &&
	    sbx_folded_near(img, op, p->to, p->to_len) < 0)
		return true;
	return sbx_folded_same(img, op, p->from, p->from_len, p->to, p->to_len) ||
	       !(pol_path_folds(p->from, p->from_len, true) |
		 pol_path_folds(p->to, p->to_len, true));
}

bool br_fold_moves(struct br_image i, struct br_pair *p)
{
	if (!i.img->hdr->folds)
		return true;
	p->against = SBX_READ;
	if (folded_denies(i.img, SBX_READ, p->from, p->from_len) &&
	    br_image_allows(i, SBX_READ, p->to, p->to_len))
		return false;
	if (!(p->what & SBX_MOVES_DIR))
		return true;
	if (!tree_may_move(i.img, SBX_READ, p))
		return false;
	p->against = SBX_MODIFY;
	return tree_may_move(i.img, SBX_MODIFY, p);
}

static bool fold_leads(struct br_image i, const struct br_pair *p)
{
	if (folded_denies(i.img, SBX_READ, p->from, p->from_len) &&
	    br_image_allows(i, SBX_READ, p->to, p->to_len))
		return false;
	return p->is_file || sbx_folded_near(i.img, SBX_MODIFY, p->from, p->from_len) < 0 ||
	       sbx_folded_same(i.img, SBX_MODIFY, p->from, p->from_len, p->to, p->to_len) ||
	       !pol_path_folds(p->from, p->from_len, false);
}

/* ---- moves ---- */

bool br_moves_freely(struct br_image i, struct br_pair *p)
{
	return sbx_move_free(i.img, p->from, p->from_len, p->to, p->to_len);
}

bool br_moves(struct br_image i, struct br_pair *p)
{
	return sbx_move_allowed(i.img, p->from, p->from_len, p->to, p->to_len, p->what,
				&p->against) &&
	       br_fold_moves(i, p);
}

bool br_stays_read(struct br_image i, struct br_pair *p)
{
	return !br_image_allows(i, SBX_READ, p->from, p->from_len) ||
	       br_image_allows(i, SBX_READ, p->to, p->to_len);
}

/* ---- symlinks ---- */

bool br_leads(struct br_image i, struct br_pair *p)
{
	bool leads = p->is_file ? sbx_link_reads(i.img, p->from, p->from_len, p->to, p->to_len)
				: sbx_link_allowed(i.img, p->from, p->from_len, p->to, p->to_len);

	return leads && fold_leads(i, p);
}

bool br_leads_anywhere(struct br_image i, struct br_pair *p)
{
	return sbx_link_free(i.img, p->from, p->from_len) &&
	       sbx_folded_near(i.img, SBX_MODIFY, p->from, p->from_len) < 0 &&
	       sbx_folded_near(i.img, SBX_READ, p->from, p->from_len) < 0;
}
