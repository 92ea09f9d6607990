/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean.c - directories in which the kernel decides marked calls (docs/adr/016).
 *
 * There a command makes, moves and removes files and directories without the broker, even while a
 * worker has the lock of moves; symlinks, sockets and FIFOs are not, for Landlock grants no right
 * to make one. Landlock keeps its grants with the directory, which takes them along wherever it
 * moves. Hence three rules for the rest of this room, where names can be clean:
 *
 * - An object below a clean directory changes no verdict as long as it stays below clean
 * directories. It comes to another name only by the broker, and this file says when it may not
 * (br_stays()).
 * - A path in a clean directory is resolved once. The broker keeps the object that it found open,
 * and acts on its descriptor, or on its name in the parent, which is open, too.
 * - A name in a clean parent may lead to another file or directory when it is used again. Nothing
 * may depend on which.
 */
#include "core/decide.h"
#include "core/path.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/compare.h"
#include "launcher/linux/broker/names.h"

/* Asked of each document alone, as are all comparisons of two names. */
static bool is_clean_below(struct br_call *c, const char *path, size_t len)
{
	for (size_t n = 0; n < br_image_count(c); n++)
		if (!sbx_clean_below(br_image_at(c, n).img, path, len))
			return false;
	return !br_is_gits_name(c, path, len);
}

bool br_changes_alone(struct br_call *c, const struct br_end *e)
{
	size_t parent = sbx_path_parent(e->path, e->len);

	return c->b->plan->grants_clean && parent > 1 && is_clean_below(c, e->path, parent);
}

static bool may_all(struct br_image i, const char *path, size_t len)
{
	return br_image_allows(i, SBX_MODIFY, path, len) &&
	       br_image_allows(i, SBX_READ, path, len) && br_image_allows(i, SBX_EXEC, path, len) &&
	       !sbx_decide(i.img, SBX_CONNECT, path, len);
}

/* Whether any object, file or directory, may have the name. */
static bool is_clean_name(struct br_call *c, const struct br_end *e)
{
	for (size_t n = 0; n < br_image_count(c); n++)
		if (!may_all(br_image_at(c, n), e->path, e->len))
			return false;
	return is_clean_below(c, e->path, e->len);
}

bool br_stays(struct br_call *c, const struct br_end *from, const struct br_end *to, bool is_dir)
{
	if (!c->b->plan->grants_clean || is_clean_name(c, to))
		return false;
	return is_dir || br_changes_alone(c, from);
}
