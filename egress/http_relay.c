/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_relay.c - connections whose requests are judged: the sockets of http_conn.h. Without rules
 * on requests relay.c splices the bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/request.h"
#include "egress/egress_priv.h"
#include "egress/http_conn.h"
#include "egress/tls.h"

#define TURN	   (1u << 20) /* bytes of one connection before the others have their turn */
#define LINGER_MS  2000u      /* for the caller to read why it was refused */
#define DRAIN	   (1u << 20)
#define METHOD_MAX 32 /* what is longer is cut: it is for the record */
#define PATH_SHOWN 220
#define CONNS_MAX  2048u /* at once: each may have touched all of its memory */

struct egr_http {
	struct egr_http_conn conn; /* first: the judge's callback finds the rest */
	struct egr *e;
	struct egr_conn *c;
	uint32_t pid;
	uint32_t rule; /* that lets the connection pass, + 1 */
	char endpoint[SBX_HOST_MAX + 16];
	enum { FIRST_BYTE, HANDSHAKE, OPEN } state;
	struct egr_tls *tls;	       /* NULL = not encrypted, or not known yet */
	struct egr_http *next, **link; /* in e->held: the broker cannot be told yet */
	bool is_draining;	       /* the last answer was sent; what comes is thrown away */
	bool is_shut[EGR_HTTP_ENDS];   /* for writing */
	char program[EGR_PROGRAM_MAX];
};

/* ---- what is told ---- */

static bool is_refused(const struct egr_http_told *t)
{
	return !t->target || t->is_for_another || !t->answer.passes;
}

/* In the image's table, + 1: the rule on requests, or where none says more the connection's. What
 * passes without a rule, because it is audited, has none. */
static uint32_t rule_of(const struct egr_http *h, const struct egr_http_told *t)
{
	if (t->answer.rule >= 0)
		return h->e->image.hdr->net.requests.first_rule + (uint32_t)t->answer.rule + 1;
	return is_refused(t) ? h->rule : 0;
}

/* Many requests at once fill the channel: they wait in turn until the broker has emptied it, and
 * the loop serves the others. */
static void hold(struct egr_http *h)
{
	struct egr *e = h->e;

	h->next = NULL;
	h->link = e->held_end;
	*h->link = h;
	e->held_end = &h->next;
	egr_dial_hold(e);
}

static void let_go(struct egr_http *h)
{
	if (!h->link)
		return;
	*h->link = h->next;
	if (h->next)
		h->next->link = h->link;
	else
		h->e->held_end = h->link;
	h->link = NULL;
}

void egr_http_go_on(struct egr *e)
{
	struct egr_http *h;

	while ((h = e->held)) {
		let_go(h);
		if (h->c->is_dead)
			continue;
		egr_http_again(&h->conn);
		egr_relay_again(e, h->c);
		if (h->link) /* the broker takes no more */
			return;
	}
}

static bool tell(struct egr_http_conn *conn, const struct egr_http_told *t)
{
	struct egr_http *h = (struct egr_http *)conn;
	struct egr_tell told = {
		.what = EGR_TOLD_REQUEST,
		.why = (uint8_t)(is_refused(t) ? SBX_CONNECT_RULE : SBX_CONNECT_NO_RULE),
		.is_allowed = !is_refused(t),
		.rule = rule_of(h, t),
		.id = h->c->id};

	if (t->target)
		snprintf(told.text, sizeof told.text, "%s %.*s %.*s", h->endpoint,
			 (int)(t->head->method.n < METHOD_MAX ? t->head->method.n : METHOD_MAX),
			 t->head->method.s, PATH_SHOWN, t->target->path);
	else
		snprintf(told.text, sizeof told.text, "%s - %s", h->endpoint,
			 t->head->wrong ? egr_http_wrong_text(t->head->wrong)
					: sbx_target_kind_text(t->target_kind));
	if (egr_tell(h->e, &told))
		return true;
	hold(h);
	return false;
}

/* Of what the ends did not come to terms about: as of a request that was refused unread. */
static void tell_why(struct egr_http *h)
{
	struct egr_tell told = {
		.what = EGR_TOLD_REQUEST, .why = SBX_CONNECT_RULE, .rule = h->rule, .id = h->c->id};

	snprintf(told.text, sizeof told.text, "%s - %s", h->endpoint, egr_tls_why(h->tls));
	egr_tell_or_lose(h->e, &told);
}

/* ---- beginning ---- */

/* The host that was asked for: a name, or else the address that is dialled. */
bool egr_conn_host(const struct egr *e, const struct egr_conn *c, struct sbx_host *out)
{
	*out = (struct sbx_host){.kind = SBX_HOST_ADDRESS, .addr = c->addr[0]};
	if (!c->name)
		return c->naddrs > 0;
	out->kind = SBX_HOST_NAME;
	out->len = egr_name_copy(e->page, c->name, out->name);
	return out->len > 0;
}

int egr_http_inspect(struct egr *e, struct egr_conn *c)
{
	struct sbx_host host;
	uint32_t set[SBX_LAYERS_MAX];
	struct sbx_connect_answer a;
	struct egr_http *h;
	size_t n;

	if (!e->requests.nsets)
		return 0;
	if (!egr_conn_host(e, c, &host))
		return -1;
	n = sbx_connect_sets(&e->image, &host, c->port, &c->by, set);
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (set[i] >= e->requests.nsets)
			return -1;
	if (e->nhttp >= CONNS_MAX || !sbx_connect_host(&e->image, &host, c->port, &c->by, &a))
		return -1;
	h = b_malloc(sizeof *h);
	memset(h, 0, offsetof(struct egr_http, conn.side));
	memset(&h->e, 0, sizeof *h - offsetof(struct egr_http, e));
	h->e = e;
	h->c = c;
	h->rule = (uint32_t)(a.rule + 1);
	egr_endpoint_text(&host, c->port, h->endpoint);
	h->conn.rules = &e->requests;
	memcpy(h->conn.set, set, n * sizeof *set);
	h->conn.nsets = n;
	h->conn.host = host;
	h->conn.port = c->port;
	h->conn.shape = (enum egr_shape)atomic_load(&e->page->shape);
	h->conn.tell = tell;
	egr_proxy_caller(c, &h->pid, h->program);
	h->conn.program = *h->program ? h->program : NULL;
	egr_http_begin(&h->conn);
	c->http = h;
	e->nhttp++;
	return 1;
}

static bool may_end_tls(const struct egr_http *h)
{
	for (size_t i = 0; i < h->conn.nsets; i++)
		if (h->conn.rules->set[h->conn.set[i]].flags & SBX_REQUEST_NO_TLS)
			return false;
	return h->e->tls != NULL;
}

bool egr_http_change(struct egr *e, struct egr_conn *c, const struct sbx_connect_answer *a)
{
	uint32_t set[SBX_LAYERS_MAX];
	struct sbx_host host;
	size_t n = egr_conn_host(e, c, &host)
			   ? sbx_connect_sets(&e->image, &host, c->port, &c->by, set)
			   : 0;

	if ((n > 0) != (c->http != NULL))
		return false;
	if (!c->http)
		return true;
	for (size_t i = 0; i < n; i++)
		if (set[i] >= e->requests.nsets)
			return false;
	memcpy(c->http->conn.set, set, n * sizeof *set);
	c->http->conn.nsets = n;
	c->http->rule = (uint32_t)(a->rule + 1);
	return !c->http->tls || may_end_tls(c->http);
}

void egr_http_release(struct egr *e, struct egr_conn *c)
{
	if (!c->http)
		return;
	e->nhttp--;
	let_go(c->http);
	egr_tls_free(c->http->tls);
	free(c->http);
	c->http = NULL;
}

/* ---- bytes ---- */

enum moved { MOVED_NOTHING, MOVED_SOME, MOVED_FAILED };

static bool is_for_later(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* What a proxy's caller said before there was another end comes first. */
static size_t take_early(struct egr_conn *c, char *room, size_t n)
{
	struct egr_half *h = &c->half[EGR_HTTP_CALLER];

	n = n < h->nearly ? n : h->nearly;
	if (n)
		memcpy(room, h->early, n);
	h->early += n;
	h->nearly -= n;
	return n;
}

/* An answer that lasts as long as its connection is whole only where TLS says that it ends. */
static bool is_cut(const struct egr_http *h)
{
	return h->tls && h->conn.down == EGR_RESPONSE_BODY &&
	       egr_body_may_end(&h->conn.body[EGR_HTTP_SERVER]);
}

/* A server may say only behind the handshake that it does not want us (RFC 8446, 4.4.2.4): whoever
 * asks next is answered so. */
static bool is_unwanted(struct egr_http *h)
{
	if (!h->tls || !*egr_tls_why(h->tls) || h->conn.down == EGR_RESPONSE_BODY)
		return false;
	h->conn.no_server = egr_tls_why(h->tls);
	tell_why(h);
	return h->conn.down == EGR_RESPONSE_NONE;
}

static enum moved receive(struct egr_conn *c, enum egr_http_end end, int fd)
{
	struct egr_http_conn *conn = &c->http->conn;
	char *room;
	size_t n = egr_http_room(conn, end, &room);
	ssize_t got;

	if (!n || (end == EGR_HTTP_SERVER && conn->no_server))
		return MOVED_NOTHING;
	if (end == EGR_HTTP_CALLER && c->half[end].nearly && !c->http->tls) {
		egr_http_received(conn, end, take_early(c, room, n));
		return MOVED_SOME;
	}
	got = c->http->tls ? egr_tls_recv(c->http->tls, end, room, n)
			   : recv(fd, room, n, MSG_DONTWAIT);
	if (is_for_later(got))
		return MOVED_NOTHING;
	if (got < 0 && (end == EGR_HTTP_CALLER || is_cut(c->http)))
		return MOVED_FAILED;
	if (got < 0 && is_unwanted(c->http))
		return MOVED_NOTHING;
	/* of a server that has reset the connection as much is known as of one that has closed it
	 */
	egr_http_received(conn, end, got < 0 ? 0 : (size_t)got);
	return MOVED_SOME;
}

static enum moved give(struct egr_conn *c, enum egr_http_end end, int fd)
{
	struct egr_http_conn *conn = &c->http->conn;
	const char *p;
	size_t n = egr_http_pending(conn, end, &p);
	ssize_t sent;

	if (!n)
		return MOVED_NOTHING;
	sent = c->http->tls ? egr_tls_send(c->http->tls, end, p, n)
			    : send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0)
		return is_for_later(sent) ? MOVED_NOTHING : MOVED_FAILED;
	c->half[!end].total += (uint64_t)sent;
	egr_http_sent(conn, end, (size_t)sent);
	return MOVED_SOME;
}

/* ---- ends ---- */

static int fd_of(const struct egr_conn *c, enum egr_http_end end)
{
	return end == EGR_HTTP_CALLER ? c->caller.fd : c->peer.fd;
}

static int shut(struct egr_conn *c, enum egr_http_end end)
{
	if (c->http->tls)
		egr_tls_shut(c->http->tls, end);
	return shutdown(fd_of(c, end), SHUT_WR);
}

/* Behind an upgrade each direction ends by itself. */
static void shut_ends(struct egr_conn *c)
{
	struct egr_http *h = c->http;

	for (int i = 0; i < EGR_HTTP_ENDS; i++)
		if (!h->is_shut[i] && egr_http_is_shut(&h->conn, (enum egr_http_end)i)) {
			h->is_shut[i] = true;
			(void)shut(c, (enum egr_http_end)i);
		}
}

/* The caller reads the answer before the connection ends: a reset would take it away. */
static void drain(struct egr *e, struct egr_conn *c)
{
	ssize_t n;

	if (!c->http->is_draining) {
		c->http->is_draining = true;
		close(c->peer.fd); /* nothing more is for the server */
		c->peer.fd = -1;
		if (shut(c, EGR_HTTP_CALLER) < 0) {
			egr_relay_end(e, c, true);
			return;
		}
	}
	if (!c->link)
		egr_dial_wait(e, c, LINGER_MS);
	do
		n = recv(c->caller.fd, NULL, DRAIN, MSG_TRUNC | MSG_DONTWAIT);
	while (n > 0);
	if (!is_for_later(n))
		egr_relay_end(e, c, n < 0);
}

static void end_both(struct egr *e, struct egr_conn *c)
{
	for (int i = 0; c->http->tls && i < EGR_HTTP_ENDS; i++)
		egr_tls_shut(c->http->tls, (enum egr_http_end)i);
	egr_relay_end(e, c, false);
}

/* True: it has ended, or will. */
static bool settle(struct egr *e, struct egr_conn *c)
{
	const struct egr_http *h = c->http;
	const char *p;

	if (h->conn.fate == EGR_HTTP_IS_BROKEN)
		egr_relay_end(e, c, true);
	else if (h->conn.fate == EGR_HTTP_GOES_ON)
		return false;
	else if (egr_http_pending(&h->conn, EGR_HTTP_CALLER, &p))
		return false;
	else if (h->conn.fate == EGR_HTTP_IS_OVER)
		end_both(e, c);
	else
		drain(e, c);
	egr_proxy_release(e, c);
	return true;
}

/* ---- who is there ---- */

/* -1: nothing was said yet. */
static int first_byte(const struct egr_conn *c)
{
	const struct egr_half *h = &c->half[EGR_HTTP_CALLER];
	uint8_t byte = 0;

	if (h->nearly)
		return *h->early;
	/* of one that has left, or failed, reading says so again */
	return is_for_later(recv(c->caller.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT)) ? -1 : byte;
}

static void look(struct egr_conn *c)
{
	struct egr_http *h = c->http;
	const struct egr_half *early = &c->half[EGR_HTTP_CALLER];
	int byte = first_byte(c);

	if (byte < 0)
		return;
	h->state = OPEN;
	if (!egr_tls_is_begun((uint8_t)byte) || !may_end_tls(h))
		return;
	h->tls = egr_tls_new(h->e->tls, &h->conn.host, c->caller.fd, c->peer.fd);
	if (!h->tls) {
		h->conn.fate = EGR_HTTP_IS_BROKEN;
		return;
	}
	egr_tls_early(h->tls, early->early, early->nearly);
	h->conn.is_encrypted = true;
	h->state = HANDSHAKE;
}

/* A client that does not come to terms reads the alert that says why; one that does is told in
 * HTTP that the server does not. */
static void shake(struct egr_http *h)
{
	enum egr_tls_said said = egr_tls_shake(h->tls);

	if (said == EGR_TLS_WAITS)
		return;
	h->state = OPEN;
	if (said == EGR_TLS_IS_UP)
		return;
	tell_why(h);
	if (said == EGR_TLS_NO_CALLER)
		h->conn.fate = EGR_HTTP_ENDS_CALLER;
	else
		h->conn.no_server = egr_tls_why(h->tls);
}

/* Requests may come. */
static bool is_open(struct egr_conn *c)
{
	struct egr_http *h = c->http;

	if (h->state == FIRST_BYTE)
		look(c);
	if (h->state == HANDSHAKE)
		shake(h);
	return h->state == OPEN;
}

bool egr_http_turn(struct egr *e, struct egr_conn *c)
{
	uint64_t until = c->half[0].total + c->half[1].total + TURN;
	bool moved = is_open(c);

	while (moved) {
		moved = false;
		for (int i = 0; i < EGR_HTTP_ENDS; i++) {
			enum egr_http_end end = (enum egr_http_end)i;
			enum moved in = MOVED_NOTHING, out;

			if (c->http->conn.fate == EGR_HTTP_GOES_ON)
				in = receive(c, end, fd_of(c, end));
			out = give(c, end, fd_of(c, end));
			/* a server that does not read may have answered */
			if (in == MOVED_FAILED || (out == MOVED_FAILED && end == EGR_HTTP_CALLER)) {
				egr_relay_end(e, c, true);
				return false;
			}
			moved |= in == MOVED_SOME || out == MOVED_SOME;
		}
		if (settle(e, c))
			return false;
		if (!c->half[EGR_HTTP_CALLER].nearly)
			egr_proxy_release(e, c);
		if (c->half[0].total + c->half[1].total >= until)
			return true;
	}
	shut_ends(c);
	return false;
}
