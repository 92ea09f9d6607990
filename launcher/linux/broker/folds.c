/*
 * folds.c - file systems that do not tell names apart (core/fold.h). They are asked only when a
 * rule that denies matches a path by its folded text and not by its bytes: for hardly any call.
 *
 * The path is canonical and the lock of moves is held: what it leads through is what was judged.
 */
#include "launcher/linux/broker/broker.h"

#include <fcntl.h>
#include <string.h>

#include "core/fold.h"
#include "policy/plan/floor.h"

#define ANYHOW (SBX_FOLDS_CASE | SBX_FOLDS_ALIAS)

bool br_fold_denies(const struct br_call *c, enum sbx_op op, const char *path, size_t len)
{
	const struct sbx_image *img = c->b->plan->image;

	return sbx_folded_rule(img, op, path, len, ANYHOW) >= 0 &&
	       sbx_folded_rule(img, op, path, len, pol_path_folds(path, len, false)) >= 0;
}

/* All that may be below the one may be below the other, for all that any rule says of names. */
static bool tree_may_move(const struct sbx_image *img, enum sbx_op op, const struct br_end *from,
			  const struct br_end *to)
{
	if (sbx_folded_near(img, op, from->path, from->len) < 0 &&
	    sbx_folded_near(img, op, to->path, to->len) < 0)
		return true;
	return sbx_folded_same(img, op, from->path, from->len, to->path, to->len) ||
	       !(pol_path_folds(from->path, from->len, true) |
		 pol_path_folds(to->path, to->len, true));
}

bool br_fold_moves(const struct br_call *c, const struct br_end *from, const struct br_end *to,
		   bool is_dir, enum sbx_op *out_op)
{
	const struct sbx_image *img = c->b->plan->image;

	if (!img->hdr->folds)
		return true;
	*out_op = SBX_READ;
	if (br_fold_denies(c, SBX_READ, from->path, from->len) &&
	    br_allowed(c, SBX_READ, to->path, to->len))
		return false;
	if (!is_dir)
		return true;
	if (!tree_may_move(img, SBX_READ, from, to))
		return false;
	*out_op = SBX_MODIFY;
	return tree_may_move(img, SBX_MODIFY, from, to);
}

bool br_fold_leads(const struct br_call *c, const char *link, size_t link_len, const char *target,
		   size_t target_len)
{
	const struct sbx_image *img = c->b->plan->image;

	if (br_fold_denies(c, SBX_READ, link, link_len) &&
	    br_allowed(c, SBX_READ, target, target_len))
		return false;
	return sbx_folded_near(img, SBX_MODIFY, link, link_len) < 0 ||
	       sbx_folded_same(img, SBX_MODIFY, link, link_len, target, target_len) ||
	       !pol_path_folds(link, link_len, false);
}
