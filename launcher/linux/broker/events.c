/*
 * events.c - asking the policy, and telling what came of it.
 *
 * Nothing is done that could not be told: a call has a place for its event before it is served,
 * and waits for one where the ring is full. The broker alone writes to its ring. So it is enough to
 * count the places: they are as long as the longest event, and with all that is not read yet they
 * never come to more than the ring. No call tells more than one event.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/io.h"
#include "core/event.h"
#include "core/ring.h"

enum { PLACE_MS = 1 }; /* how often a call looks whether the ring has room again */

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

static bool get_place(struct br_broker *b)
{
	uint64_t others = atomic_fetch_add(&b->places, SBX_RING_FRAME_MAX);

	if (sbx_ring_has_room(b->plan->ring, b->plan->ring_size, others + SBX_RING_FRAME_MAX))
		return true;
	atomic_fetch_sub(&b->places, SBX_RING_FRAME_MAX);
	return false;
}

/* The supervisor reads more slowly than the command makes calls, or not at all. */
static int wait_for_place(struct br_call *c)
{
	bool waits = br_may_block(c);

	do {
		(void)poll(NULL, 0, PLACE_MS);
		if (!br_is_alive(c))
			return -EINTR;
		if (c->w->signal == BR_SIGNAL_OWN)
			return -BR_RESTART;
	} while (!get_place(c->b));
	c->has_place = true;
	if (waits)
		br_end_block(c);
	return 0;
}

int br_take_place(struct br_call *c)
{
	if (!c->b->plan->ring || c->b->plan->level == SBX_AUDIT_NONE ||
	    c->row->call == SBX_CALL_unknown) /* of which nothing is told */
		return 0;
	c->has_place = get_place(c->b);
	return c->has_place ? 0 : wait_for_place(c);
}

void br_give_place(struct br_call *c)
{
	if (c->has_place)
		atomic_fetch_sub(&c->b->places, SBX_RING_FRAME_MAX);
	c->has_place = false;
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
	/* it has its place; what could be lost all the same is counted, and ends a run that must be
	 * recorded */
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

/* What has lost the name that led to it may have others: it is told by that one. */
struct br_answer br_told_of_object(struct br_call *c, struct br_answer a)
{
	const struct br_end *e = &c->end[0];

	return e->is_pathless && !e->is_nameless ? a : br_told_result(c, SBX_MODIFY, a);
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
