/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial.c - from the broker's announcement to two connected ends. Only addresses that were judged
 * here, too, are dialled, and none is looked up again between the judgement and connect(2).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "egress/egress_priv.h"

#define ADDRESS_MS 10000u  /* for one address, when there are others */
#define LAST_MS	   130000u /* for the last: as long as Linux tries (tcp_syn_retries) */
#define CALLER_MS  30000u  /* for the caller, once the other end is there */
#define ACCEPT_MAX 64	   /* before others have their turn */

/* ---- those that wait ---- */

void egr_dial_wait(struct egr *e, struct egr_conn *c, uint64_t ms)
{
	c->due_ms = e->now_ms + ms;
	if (c->link)
		return;
	c->next = e->dialing;
	c->link = &e->dialing;
	if (c->next)
		c->next->link = &c->next;
	e->dialing = c;
}

static struct egr_conn **bucket(struct egr *e, uint32_t id)
{
	return &e->by_id[id % (sizeof e->by_id / sizeof *e->by_id)];
}

static struct egr_conn *find(struct egr *e, uint32_t id)
{
	struct egr_conn *c = *bucket(e, id);

	while (c && c->id != id)
		c = c->next_by_id;
	return c;
}

/* Nobody comes by this id any more. */
static void forget_id(struct egr *e, struct egr_conn *c)
{
	struct egr_conn **p = bucket(e, c->id);

	while (*p && *p != c)
		p = &(*p)->next_by_id;
	if (*p)
		*p = c->next_by_id;
}

/* Into the slot, if the turn is still the one that was asked for. */
static void answer(struct egr *e, struct egr_conn *c, int err)
{
	uint32_t asked = (uint32_t)c->turn << 16;
	_Atomic uint32_t *slot = &e->page->slot[c->slot % EGR_SLOTS];

	if (!c->wants_answer)
		return;
	c->wants_answer = false;
	if (atomic_compare_exchange_strong(slot, &asked, asked | EGR_SLOT_DONE | (uint32_t)err))
		(void)syscall(SYS_futex, slot, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void fail(struct egr *e, struct egr_conn *c, int err)
{
	answer(e, c, err);
	forget_id(e, c);
	if (c->proxied && c->caller.fd >= 0)
		egr_proxy_failed(e, c, err);
	else
		egr_relay_end(e, c, true);
}

void egr_dial_refuse(struct egr *e, struct egr_conn *c)
{
	if (c->is_up) {
		forget_id(e, c);
		egr_relay_end(e, c, true);
	} else {
		fail(e, c, EACCES);
	}
}

/* ---- the other end ---- */

static socklen_t to_sockaddr(const struct sbx_addr *a, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof *out);
	if (a->is_v6) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		memcpy(&v6->sin6_addr, a->b, 16);
		return sizeof *v6;
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	memcpy(&v4->sin_addr, a->b, 4);
	return sizeof *v4;
}

static void connected(struct egr *e, struct egr_conn *c)
{
	c->is_up = true;
	answer(e, c, 0);
	if (c->proxied)
		egr_proxy_connected(e, c);
	else if (c->caller.fd >= 0)
		egr_relay_start(e, c);
	else
		egr_dial_wait(e, c, CALLER_MS);
}

static void try_next(struct egr *e, struct egr_conn *c);

static void peer_connected(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct egr_conn *c = (struct egr_conn *)((char *)s - offsetof(struct egr_conn, peer));
	socklen_t len = sizeof c->err;

	if (c->is_dead || c->is_up || !(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return; /* it sent something before the caller came: it stays there */
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &c->err, &len) < 0)
		c->err = errno;
	if (c->err == 0 && c->is_via)
		egr_upstream_ask(e, c);
	else
		egr_dial_connected(e, c, c->err);
}

void egr_dial_connected(struct egr *e, struct egr_conn *c, int err)
{
	c->err = err;
	if (err)
		try_next(e, c);
	else
		connected(e, c);
}

/* 0: begun, and maybe done; -1: not this one. */
static int begin(struct egr *e, struct egr_conn *c, const struct sbx_addr *a)
{
	uint16_t port = c->port;
	const struct sbx_addr *by = egr_upstream_of(e, a, &port);
	struct sockaddr_storage to;
	socklen_t len = to_sockaddr(by, port, &to);

	c->is_via = by != a;
	c->peer.ready = peer_connected;
	c->peer.fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->peer.fd < 0)
		return -1;
	if (connect(c->peer.fd, (struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS)
		return -1;
	if (egr_source_add(e, &c->peer, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0)
		return -1;
	egr_dial_wait(e, c, c->at < c->naddrs ? ADDRESS_MS : LAST_MS);
	return 0;
}

static void try_next(struct egr *e, struct egr_conn *c)
{
	while (c->at < c->naddrs) {
		if (c->peer.fd >= 0)
			close(c->peer.fd);
		c->peer.fd = -1;
		if (begin(e, c, &c->addr[c->at++]) == 0)
			return;
		c->err = errno;
	}
	fail(e, c, c->err ? c->err : EHOSTUNREACH);
}

/* ---- by name ---- */

static void tell_address(struct egr *e, const struct egr_conn *c, const char *name,
			 const struct sbx_connect_answer *a)
{
	struct egr_tell t = {.what = EGR_TOLD_ADDRESS,
			     .why = (uint8_t)a->why,
			     .rule = (uint32_t)(a->rule + 1),
			     .is_allowed = a->allowed,
			     .would_deny = a->would_deny,
			     .id = c->id};
	char addr[SBX_ADDR_TEXT] = "";

	(void)sbx_addr_text(&a->addr, addr);
	snprintf(t.text, sizeof t.text, "%s:%u %s", name, c->port, addr);
	egr_tell_or_lose(e, &t);
}

/* One address that is refused refuses all: who answers so plays with names. */
static void use_found(struct egr *e, struct egr_conn *c, const struct egr_found_addrs *f)
{
	char name[EGR_NAME_MAX + 1];
	size_t len = egr_name_copy(e->page, c->name, name);
	struct sbx_connect_answer a;

	if (f->state != EGR_FOUND_ALL || !len) {
		fail(e, c, f->state == EGR_FOUND_FAILED ? ETIMEDOUT : EHOSTUNREACH);
		return;
	}
	if (!sbx_connect_resolved(&e->image, name, len, f->addr, f->n, c->port, &c->by, &a)) {
		tell_address(e, c, name, &a);
		fail(e, c, EACCES);
		return;
	}
	/* of the name the broker has told */
	if (a.would_deny && sbx_addr_class(&a.addr) != SBX_ADDR_UNSPECIFIED)
		tell_address(e, c, name, &a);
	memcpy(c->addr, f->addr, f->n * sizeof *f->addr);
	c->naddrs = f->n;
	try_next(e, c);
}

static void look_up(struct egr *e, struct egr_conn *c)
{
	const struct egr_found_addrs *f = egr_lookup(e, c->name);

	if (f->state == EGR_FOUND_YET)
		egr_dial_wait(e, c, LAST_MS);
	else
		use_found(e, c, f);
}

void egr_dial_looked_up(struct egr *e, uint32_t name)
{
	struct egr_conn *c, *next;

	for (c = e->dialing; c; c = next) {
		next = c->next;
		if (c->name == name && !c->naddrs)
			look_up(e, c);
	}
}

void egr_dial(struct egr *e, struct egr_conn *c, const struct sbx_addr *a)
{
	if (!a) {
		look_up(e, c);
		return;
	}
	c->naddrs = 1;
	c->addr[0] = *a;
	try_next(e, c);
}

/* ---- what the broker says ---- */

void egr_dial_hold(struct egr *e)
{
	(void)egr_source_change(e, &e->channel, EPOLLIN | EPOLLOUT);
}

/* It takes more again: from those that wait for it, until it takes no more. */
static void tell_held(struct egr *e)
{
	struct egr_conn *c, *next;

	(void)egr_source_change(e, &e->channel, EPOLLIN);
	if (!egr_late_go_on(e))
		return;
	for (c = e->dialing; c; c = next) {
		next = c->next;
		if (c->proxied && !egr_proxy_go_on(e, c))
			return;
	}
	egr_http_go_on(e);
}

static void use_literal(struct egr *e, struct egr_conn *c, const struct egr_ask *ask)
{
	struct sbx_connect_answer a;

	c->naddrs = 1;
	c->addr[0].is_v6 = ask->family == AF_INET6;
	memcpy(c->addr[0].b, ask->addr, c->addr[0].is_v6 ? 16 : 4);
	if (sbx_connect_addr(&e->image, &c->addr[0], c->port, &c->by, &a))
		try_next(e, c);
	else
		fail(e, c, EACCES);
}

struct egr_conn *egr_conn_new(struct egr *e)
{
	struct egr_conn *c = b_calloc(1, sizeof *c);

	c->caller.fd = c->peer.fd = -1;
	for (int i = 0; i < 2; i++)
		c->half[i].pipe.fd[0] = c->half[i].pipe.fd[1] = -1;
	c->begun_ms = e->now_ms;
	c->next_of_all = e->all;
	c->link_of_all = &e->all;
	if (c->next_of_all)
		c->next_of_all->link_of_all = &c->next_of_all;
	e->all = c;
	e->nconns++;
	return c;
}

/* Of one that is too many nothing is dialled; its address is for the record. */
static void refuse_for_limit(struct egr *e, struct egr_conn *c, const struct egr_ask *ask)
{
	c->addr[0].is_v6 = ask->family == AF_INET6;
	memcpy(c->addr[0].b, ask->addr, c->addr[0].is_v6 ? 16 : 4);
	egr_limit_tell(e, c);
	fail(e, c, EACCES);
}

static void announced(struct egr *e, const struct egr_ask *ask)
{
	struct egr_conn *c = egr_conn_new(e);

	c->id = ask->id & EGR_IDS;
	c->port = ask->port;
	c->slot = ask->slot;
	c->turn = ask->turn;
	c->by = ask->by;
	c->name = ask->family ? 0 : ask->name;
	c->wants_answer = ask->what == EGR_ASK_DIAL;
	c->next_by_id = *bucket(e, c->id);
	*bucket(e, c->id) = c;
	if (e->nconns > e->conns_max ||
	    (ask->what == EGR_ASK_PROXY && !egr_proxy_announced(e, c, ask)))
		fail(e, c, ENOBUFS);
	else if (ask->what == EGR_ASK_PROXY)
		egr_dial_wait(e, c, CALLER_MS);
	else if (!egr_limit_begin(e))
		refuse_for_limit(e, c, ask);
	else if (ask->family)
		use_literal(e, c, ask);
	else
		look_up(e, c);
}

void egr_channel_ready(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct egr_ask ask;
	ssize_t n;

	if (events & EPOLLOUT)
		tell_held(e);
	while ((n = recv(s->fd, &ask, sizeof ask, MSG_DONTWAIT)) == (ssize_t)sizeof ask) {
		struct egr_conn *c = find(e, ask.id & EGR_IDS);

		if (ask.what == EGR_ASK_DROP && c)
			fail(e, c, ECONNABORTED);
		else if (ask.what != EGR_ASK_DROP && !c && (ask.id & EGR_IDS))
			announced(e, &ask);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		e->is_over = true;
}

/* ---- the callers' end ---- */

/* The id that a connection came by; 0 = a stranger's. */
static uint32_t id_of(int fd)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof a;

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return 0;
	if (a.ss_family == AF_INET)
		return egr_id_of4(ntohl(((struct sockaddr_in *)&a)->sin_addr.s_addr));
	return egr_id_of6(&((struct sockaddr_in6 *)&a)->sin6_addr);
}

static void arrived(struct egr *e, int fd)
{
	uint32_t id = id_of(fd);
	struct egr_conn *c = id ? find(e, id) : NULL;

	/* it was announced before it came, but maybe after the channel was read */
	if (id && !c) {
		egr_channel_ready(e, &e->channel, EPOLLIN);
		c = find(e, id);
	}
	if (!c) {
		egr_close_reset(fd);
		return;
	}
	forget_id(e, c);
	c->caller.fd = fd;
	if (c->proxied)
		egr_proxy_arrived(e, c);
	else if (c->is_up)
		egr_relay_start(e, c);
}

void egr_relay_ready(struct egr *e, struct egr_source *s, uint32_t events)
{
	/* what it was announced by came first */
	(void)events;
	egr_channel_ready(e, &e->channel, EPOLLIN);
	for (int i = 0; i < ACCEPT_MAX && !e->is_over; i++) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		arrived(e, fd);
	}
}

/* ---- time ---- */

int egr_dial_due(struct egr *e)
{
	struct egr_conn *c, *next;
	uint64_t first = UINT64_MAX;

	for (c = e->dialing; c; c = next) {
		next = c->next;
		if (c->due_ms > e->now_ms) {
			first = c->due_ms < first ? c->due_ms : first;
		} else if (c->is_up || !c->naddrs) {
			fail(e, c, ETIMEDOUT); /* nobody came, or nobody knew the name */
		} else {
			c->err = ETIMEDOUT;
			try_next(e, c);
		}
		/* another may have gone with it */
	}
	return first == UINT64_MAX ? -1 : (int)(first - e->now_ms);
}
