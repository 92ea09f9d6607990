/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - how many connections a run may begin, and how many bytes the relay carries for it: in
 * all, and in a second. */
#include <stdio.h>
#include <string.h>

#include "egress/egress_priv.h"

#define BURST_MIN (64u << 10) /* bytes that may go at once, whatever the rate */
#define BURST_MS  250u	      /* and the share of a second */

bool egr_limit_has_connection(const struct egr *e)
{
	return !e->limits.connections || e->nbegun < e->limits.connections;
}

bool egr_limit_begin(struct egr *e)
{
	if (!egr_limit_has_connection(e))
		return false;
	e->nbegun++;
	return true;
}

bool egr_limit_is_over(const struct egr *e)
{
	return e->limits.bytes && e->carried >= e->limits.bytes;
}

static void fill(struct egr *e)
{
	uint64_t burst = e->limits.rate / 1000 * BURST_MS, ms = e->now_ms - e->filled_ms, more;

	burst = burst > BURST_MIN ? burst : BURST_MIN;
	more = (ms < BURST_MS ? ms : BURST_MS) * e->limits.rate / 1000;
	if (!more)
		return;
	e->filled_ms = e->now_ms;
	e->tokens = e->tokens + more < burst ? e->tokens + more : burst;
}

size_t egr_limit_room(struct egr *e)
{
	uint64_t room = SIZE_MAX;

	if (e->limits.rate) {
		fill(e);
		room = e->tokens;
	}
	if (egr_limit_is_over(e))
		return 0;
	if (e->limits.bytes && e->limits.bytes - e->carried < room)
		room = e->limits.bytes - e->carried;
	return room;
}

void egr_limit_carried(struct egr *e, uint64_t n)
{
	e->carried += n;
	e->tokens -= n < e->tokens ? n : e->tokens;
}

int egr_limit_wait(struct egr *e)
{
	uint64_t ms;

	if (!e->limits.rate || egr_limit_room(e) || egr_limit_is_over(e))
		return 0;
	ms = 1000 * 4096 / e->limits.rate + 1;
	return ms < 1000 ? (int)ms : 1000;
}

void egr_limit_tell(struct egr *e, const struct egr_conn *c)
{
	struct egr_tell t = {.what = EGR_TOLD_ADDRESS, .why = SBX_CONNECT_LIMIT, .id = c->id};
	struct sbx_host host = {.kind = SBX_HOST_ADDRESS, .addr = c->addr[0]};
	char text[SBX_HOST_MAX + 16];

	if (c->name) {
		host.kind = SBX_HOST_NAME;
		host.len = egr_name_copy(e->page, c->name, host.name);
	}
	egr_endpoint_text(&host, c->port, text);
	snprintf(t.text, sizeof t.text, "%s", text);
	egr_tell_or_lose(e, &t);
}
