/* SPDX-License-Identifier: Apache-2.0 */
/* told.c - reads what sbx-egress reports over the channel, and notices that it has ended. By the
 * main thread. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "core/event.h"
#include "core/ring.h"
#include "core/tally.h"
#include "egress/door.h"

/* sbx-egress has ended: stop waiting for it. */
static void net_over(struct br_broker *b)
{
	struct egr_page *page = b->plan->door.page;

	b->is_door_shut = true;
	for (unsigned i = 0; i < EGR_SLOTS; i++)
		(void)syscall(SYS_futex, &page->slot[i], FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Also a request that passes because its rules are only watched (`enforcement: audit`). */
static bool would_deny(const struct br_broker *b, const struct egr_tell *t)
{
	const struct sbx_image *img = b->plan->image;
	const struct sbx_image_rule *rules = (const void *)(img->base + img->hdr->rules);

	if (t->what != EGR_TOLD_REQUEST || !t->is_allowed)
		return t->is_allowed && t->would_deny;
	return !t->rule || (t->rule <= img->hdr->nrules && !rules[t->rule - 1].allow);
}

/* What sbx-egress itself refuses. Its process is not known: a query comes as a datagram, and a
 * connection may have passed to another process. */
static void tell_of(const struct br_broker *b, const struct egr_tell *t)
{
	struct sbx_event ev = {
		.time_ns = b_now_real_ns(),
		.kind = SBX_EV_CALL,
		.op = SBX_CONNECT,
		.call = t->what == EGR_TOLD_NAME ? SBX_CALL_resolve : SBX_CALL_connect,
		.flags = SBX_EVF_ENDPOINT | (t->is_allowed ? SBX_EVF_ALLOWED : 0) |
			 (would_deny(b, t) ? SBX_EVF_WATCHED : 0),
		.err = t->is_allowed		  ? 0
		       : t->what == EGR_TOLD_NAME ? ENOENT
						  : EACCES,
		.aux = t->why,
		.rule = t->rule,
	};
	size_t len = strnlen(t->text, sizeof t->text);
	const char *addr = memchr(t->text, ' ', len);

	if (t->what == EGR_TOLD_PROXIED)
		ev.pid = t->pid;
	ev.path_len = (uint16_t)(addr ? (size_t)(addr - t->text) : len);
	ev.path2_len = (uint16_t)(addr ? len - ev.path_len - 1 : 0);
	if (b->plan->tally)
		atomic_fetch_add_explicit(&b->plan->tally->asked, 1, memory_order_relaxed);
	(void)sbx_ring_write(b->plan->ring, b->plan->ring_size, &ev, t->text,
			     addr ? addr + 1 : NULL);
}

static bool is_told(const struct br_broker *b, const struct egr_tell *t)
{
	return t->what != EGR_TOLD_CLOSED &&
	       !(t->is_allowed && b->plan->level == SBX_AUDIT_DENIED && !would_deny(b, t));
}

static bool net_told(struct br_broker *b)
{
	bool is_wanted = b->plan->ring && b->plan->level != SBX_AUDIT_NONE;
	struct egr_tell t;
	ssize_t n;

	for (;;) {
		if (is_wanted && !br_get_place(b))
			return false;
		n = recv(b->plan->door.channel, &t, sizeof t, MSG_DONTWAIT);
		if (n == (ssize_t)sizeof t && t.what != EGR_TOLD_CLOSED)
			atomic_fetch_add(&b->plan->door.page->heard, 1);
		if (is_wanted && n == (ssize_t)sizeof t && is_told(b, &t))
			tell_of(b, &t);
		if (is_wanted)
			br_drop_place(b);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			net_over(b);
		if (n <= 0)
			return true;
	}
}

void br_net_poll(const struct br_broker *b, struct pollfd *p)
{
	bool is_there = b->plan->door.page && !b->is_door_shut && !b->is_full;

	*p = (struct pollfd){.fd = is_there ? b->plan->door.channel : -1, .events = POLLIN};
}

void br_net_take(struct br_broker *b, const struct pollfd *p)
{
	if (p->revents || b->is_full)
		b->is_full = !net_told(b);
}

/* It keeps its end open until it has reported everything that it began, and begins nothing that it
 * could not report. The supervisor finds late reports missing in the sums (struct egr_page). */
void br_net_finish(struct br_broker *b, uint64_t until_ms)
{
	uint64_t now;

	if (!b->plan->door.page)
		return;
	(void)shutdown(b->plan->door.channel, SHUT_WR);
	while (!b->is_door_shut && (now = b_now_ms()) < until_ms) {
		struct pollfd p = {.fd = b->plan->door.channel, .events = POLLIN};

		if (!net_told(b))
			(void)poll(NULL, 0, BR_ROOM_MS);
		else if (!b->is_door_shut)
			(void)poll(&p, 1, (int)(until_ms - now));
	}
}
