/*
 * grantroots.c - the root of a grant, such as DIR of `--modify DIR`, keeps its place.
 *
 * A rule that covers all of a directory covers its name as well, so that the command may make it.
 * If the command could put a symlink there, programs outside, and the grant of the next run, would
 * be led to wherever the link says. The kernel alone would refuse it: a name is changed by writing
 * to its parent, which nobody has granted. Devices keep their names for the same reason
 * (nodes.c), and so does a file outside that the caller gave as standard output.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <string.h>

#include "core/path.h"

#define FRESH "\002" /* in no rule's name */

static bool allows_name(struct br_call *c, size_t parent, const char *before, const char *name,
			const char *after)
{
	char *end = c->text + parent;

	*end++ = '/';
	end = stpcpy(stpcpy(stpcpy(end, before), name), after);
	return br_allowed(c, SBX_MODIFY, c->text, (size_t)(end - c->text));
}

bool br_is_grant_root(struct br_call *c, const struct br_end *e)
{
	size_t parent = sbx_path_parent(e->path, e->len);
	const char *name;

	if (e->len + sizeof FRESH + 1 > sizeof c->text)
		return false;
	parent -= parent == 1; /* of "/name" */
	memcpy(c->text, e->path, parent);
	/* the usual case first; what a pattern allows is no root, either */
	if (allows_name(c, parent, FRESH, "", ""))
		return false;
	name = e->path + parent + 1;
	return br_allowed(c, SBX_MODIFY, e->path, e->len) &&
	       !allows_name(c, parent, FRESH, name, "") && !allows_name(c, parent, "", name, FRESH);
}

/* The caller opened it for its bytes, as it would have for a process that may not change more. */
bool br_is_stream(const struct br_call *c, const struct br_end *e)
{
	const struct lau_broker_plan *p = c->b->plan;

	for (size_t i = 0; i < p->nstreams; i++)
		if (strlen(p->streams[i]) == e->len && !memcmp(p->streams[i], e->path, e->len))
			return true;
	return false;
}

bool br_is_kept_name(const struct br_call *c, const struct br_end *e)
{
	return br_is_device_name(c, e) || br_is_stream(c, e);
}

struct br_answer br_deny_root(struct br_call *c, const struct br_end *e, int kernel_says)
{
	const struct br_told t = {
		.op = SBX_MODIFY,
		.err = EACCES,
		.flags = SBX_EVF_MOVE | SBX_EVF_ROOT,
		.aux = SBX_MODIFY,
		.path = e->path,
		.path2 = e->path,
		.len = e->len,
		.len2 = e->len,
	};

	if (kernel_says)
		return br_fail(kernel_says);
	br_tell(c, &t);
	return br_fail(EACCES);
}
