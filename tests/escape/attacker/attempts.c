/* SPDX-License-Identifier: Apache-2.0 */
/* attempts.c - programs for worlds with a part of their own: rules on endpoints, and signals that
 * the broker sends. */
#include "attack.h"

#include <string.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

static struct ak_op *add(struct ak_prog *p, struct ak_rng *r, unsigned thread, const char *name)
{
	struct ak_op *op = &p->op[p->n < AK_OPS ? p->n++ : AK_OPS - 1];

	op->thread = (uint8_t)thread;
	op->call = ak_call_number(name);
	for (unsigned i = 0; i < AK_ARGS; i++)
		op->v[i] = ak_rnd(r, 0xffffffffu);
	return op;
}

/* Of the network, and out of no buffer. */
static uint32_t address(struct ak_rng *r)
{
	uint32_t v = ak_rnd(r, 0xfffff) & ~(7u << 13);

	return v | ak_rnd(r, 2) << 20;
}

/* To the very server. */
static uint32_t server(struct ak_rng *r, unsigned port)
{
	return port * 2 | ak_rnd(r, 4) << 4 | 1u << 8;
}

#define NET_SLOT (14u | 1u << 8)

/* While one thread connects, another swaps the address, the socket, or what it is connected to. */
static void race(struct ak_prog *p, struct ak_rng *r)
{
	unsigned k = ak_rnd(r, 2);
	struct ak_op *op;

	p->flags |= AK_RACE;
	add(p, r, 0, "net_socket")->v[4] = 1;
	op = add(p, r, 0, ak_rnd(r, 2) ? "connect" : "stream_to");
	if (!strcmp(ak_calls[op->call].name, "connect")) {
		op->v[0] = NET_SLOT;
		op->v[1] = 1u << 15 | k << 13;
		op->v[2] = 1;
	} else {
		op->v[0] = 1u << 15 | k << 13;
	}
	add(p, r, 0, "net_talk")->v[0] = NET_SLOT;
	op = add(p, r, 1, "flip_addr");
	op->v[0] = k;
	op->v[1] = server(r, ak_rnd(r, 2) ? AK_P_OPEN : AK_P_SHUT);
	op->v[2] = ak_rnd(r, 3) ? server(r, ak_rnd(r, 2) ? AK_P_NAMED : AK_P_OTHER) : address(r);
	if (ak_rnd(r, 2)) {
		op = add(p, r, 2, "flip_fd");
		op->v[0] = 14;
		op->v[1] = 14u | 1u << 8;
		op->v[2] = (ak_rnd(r, 2) ? 13u : 9u) | 1u << 8;
	}
	if (ak_rnd(r, 2)) {
		op = add(p, r, 2, "connect");
		op->v[0] = NET_SLOT;
		op->v[1] = ak_rnd(r, 2) ? 2u << 20 : server(r, AK_P_OPEN);
	}
	if (!ak_rnd(r, 3))
		add(p, r, 3, "named");
}

void ak_try_endpoints(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const calls[] = {"connect",	 "connect",  "connect",	    "stream_to",
					    "stream_to", "net_talk", "named",	    "become_named",
					    "ask_name",	 "by_proxy", "send_fd",	    "receive_fd",
					    "dup_to",	 "serve_at", "datagram_to", "pair"};

	if (ak_rnd(r, 3) == 0) {
		race(p, r);
		return;
	}
	for (unsigned i = 0; i < 14; i++) {
		const char *name = calls[ak_rnd(r, LEN(calls))];
		struct ak_op *op;

		if (!strcmp(name, "connect"))
			add(p, r, 0, "net_socket");
		op = add(p, r, 0, name);
		for (unsigned k = 0; ak_calls[op->call].args[k]; k++)
			if (ak_calls[op->call].args[k] == 'a')
				op->v[k] =
					ak_rnd(r, 2) ? address(r) : server(r, ak_rnd(r, AK_PORTS));
			else if (ak_calls[op->call].args[k] == 'f' && ak_rnd(r, 4))
				op->v[k] = NET_SLOT;
	}
	if (!ak_rnd(r, 5))
		p->flags |= AK_FORK;
	if (!ak_rnd(r, 8))
		p->flags |= AK_DROP;
}

void ak_try_signals(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const calls[] = {
		"signal",      "signal",    "signal", "signal_group", "signal_owner", "limit_other",
		"limit_other", "stream_to", "kill",   "tgkill",	      "doomed"};

	for (unsigned i = 0; i < 12; i++)
		add(p, r, 0, calls[ak_rnd(r, LEN(calls))]);
	if (!ak_rnd(r, 3)) {
		p->flags |= AK_RACE;
		add(p, r, 1, "flip_signal");
	}
	if (!ak_rnd(r, 4))
		p->flags |= AK_DROP;
}
