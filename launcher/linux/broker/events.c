/* events.c - asking the policy, and telling what came of it. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "core/ring.h"

static bool is_in_shm(const char *path, size_t len)
{
	static const char shm[] = "/dev/shm";
	const size_t n = sizeof shm - 1;

	return len >= n && !memcmp(path, shm, n) && (len == n || path[n] == '/');
}

bool br_allowed(const struct br_call *c, enum sbx_op op, const char *path, size_t len)
{
	if (c->b->plan->no_shm && is_in_shm(path, len))
		return false;
	return sbx_decide(c->b->plan->image, op, path, len) &&
	       !br_fold_denies(c, op, path, len);
}

/* Reads that are allowed are not told: the shim tells them, and a log of every read of every
 * unwitnessed program would be of use to nobody. */
static bool is_wanted(const struct br_broker *b, const struct br_told *t)
{
	if (!b->plan->ring || b->plan->level == SBX_AUDIT_NONE)
		return false;
	return !t->allowed || (t->op == SBX_MODIFY && b->plan->level != SBX_AUDIT_DENIED);
}

void br_tell(struct br_call *c, const struct br_told *t)
{
	struct sbx_event ev = {
		.time_ns = b_now_real_ns(),
		.kind = SBX_EV_CALL,
		.op = (uint16_t)t->op,
		.call = c->row->call,
		.flags = (uint16_t)(t->flags | (t->allowed ? SBX_EVF_ALLOWED : 0)),
		.err = t->err,
		.aux = t->aux,
		.path_len = (uint16_t)t->len,
		.path2_len = (uint16_t)t->len2,
	};

	if (!is_wanted(c->b, t))
		return;
	ev.pid = (uint32_t)br_tgid(c);
	if (t->len >= PATH_MAX || t->len2 >= PATH_MAX)
		ev.rule = sbx_deep_rule(c->b->plan->image, &ev, t->path, t->len, t->path2, t->len2);
	(void)sbx_ring_write(c->b->plan->ring, c->b->plan->ring_size, &ev, t->path, t->path2);
}

struct br_answer br_told_result(struct br_call *c, enum sbx_op op, struct br_answer a)
{
	const struct br_end *e = &c->end[0];
	const struct br_told t = {
		.op = op,
		.allowed = true,
		.err = a.kind == BR_KIND_ERROR ? a.err : 0,
		.path = e->path,
		.len = e->len,
	};

	br_tell(c, &t);
	return a;
}

/* The kernel's own answer, where there is one, comes before ours: then nothing was denied. */
struct br_answer br_deny(struct br_call *c, enum sbx_op op, const struct br_end *e, int kernel_says)
{
	const struct br_told t = {
		.op = op,
		.err = EACCES,
		.path = e->path,
		.len = e->len,
	};

	if (kernel_says)
		return br_fail(kernel_says);
	/* no rule refuses it, but the lack of a descriptor */
	if (e->is_nameless && br_allowed(c, op, e->path, e->len))
		return br_fail(EACCES);
	br_tell(c, &t);
	return br_fail(EACCES);
}
