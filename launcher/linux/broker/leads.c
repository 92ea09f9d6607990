/* leads.c - where symlinks may lead: one that stands for a directory with protected names must not
 * lead to where those names are free, and one that may not be read, or stands for a directory with
 * such names, must not lead to where the host's words would be read. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/fold.h"
#include "core/path.h"

/* What the text leads to now; nothing, or nothing with a path: the text alone counts. */
static bool allows_object(struct br_call *c, const struct br_end *e, const char *target, char *room)
{
	b_auto_fd int fd = openat(e->at, target, O_PATH | O_CLOEXEC);
	size_t len;

	if (fd < 0 || br_text_of(c->b, fd, room, &len) < 0)
		return true;
	return sbx_link_allowed(c->b->plan->image, e->path, e->len, room, len) &&
	       br_fold_leads(c, e->path, e->len, room, len);
}

/* Wherever it leads. */
static bool is_free(const struct br_call *c, const char *link, size_t len)
{
	const struct sbx_image *img = c->b->plan->image;

	return sbx_link_free(img, link, len) && sbx_folded_near(img, SBX_MODIFY, link, len) < 0 &&
	       sbx_folded_near(img, SBX_READ, link, len) < 0;
}

/* SBX_DEEP_ROOM bytes of room, at least BR_TEXT_MAX. */
static bool allows_text(struct br_call *c, const char *link, size_t link_len, const char *target,
			char *room)
{
	unsigned flags;
	size_t len = sbx_path_join(room, SBX_DEEP_ROOM, link, sbx_path_parent(link, link_len),
				   target, &flags);

	return len && sbx_link_allowed(c->b->plan->image, link, link_len, room, len) &&
	       br_fold_leads(c, link, link_len, room, len);
}

bool br_text_may_lead(struct br_call *c, const char *link, size_t len, const char *target)
{
	b_auto_free char *room = NULL;

	if (is_free(c, link, len))
		return true;
	room = b_malloc(SBX_DEEP_ROOM);
	return allows_text(c, link, len, target, room);
}

bool br_may_lead(struct br_call *c, const struct br_end *e, const char *target)
{
	b_auto_free char *room = NULL;

	if (is_free(c, e->path, e->len))
		return true;
	room = b_malloc(SBX_DEEP_ROOM);
	return allows_text(c, e->path, e->len, target, room) && allows_object(c, e, target, room);
}

bool br_may_lead_from(struct br_call *c, const struct br_end *from, const struct br_end *to)
{
	char name[NAME_MAX + 1], target[PATH_MAX];
	size_t n = strcspn(from->name, "/");
	ssize_t len;

	if (is_free(c, to->path, to->len))
		return true;
	memcpy(name, from->name, n);
	name[n] = '\0';
	len = readlinkat(from->at, name, target, sizeof target - 1);
	if (len < 0)
		return errno == EINVAL || errno == ENOENT; /* no symlink, or nothing */
	target[len] = '\0';
	return br_may_lead(c, to, target);
}
