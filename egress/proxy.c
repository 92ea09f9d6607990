/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy.c - for programs that insist on a proxy: CONNECT, requests with a whole URL, and SOCKS 5 by
 * name, at the relay's own port. The broker announces the connection with the programs that it is
 * of, as it does any other; where it goes is said in it, and judged here. A head is no longer than
 * EGR_PROXY_MAX, comes within HEAD_MS, and no more than HEADS_MAX are under way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/decide.h"
#include "egress/egress_priv.h"
#include "egress/proxy_head.h"

#define HEADS_MAX 1024u
#define HEAD_MS	  30000u
#define LINGER_MS 2000u	     /* for the caller to read why it was refused */
#define DRAIN	  (1u << 20) /* bytes at once of what nobody reads any more */

enum state { READING, HELD, DIALING, REFUSED }; /* HELD: the broker cannot be told yet */

struct egr_proxied {
	enum state state;
	bool greeted;
	size_t have;
	struct egr_proxy_ask ask;
	uint32_t pid; /* of who connected */
	char program[EGR_PROGRAM_MAX];
	uint8_t in[EGR_PROXY_MAX];
	uint8_t early[EGR_PROXY_ROOM + EGR_PROXY_MAX]; /* for the other end */
};

static struct egr_conn *of_caller(struct egr_source *s)
{
	return (struct egr_conn *)((char *)s - offsetof(struct egr_conn, caller));
}

/* ---- answers ---- */

/* All of it, or the connection is over: nothing was sent to this caller before. */
static bool say(const struct egr_conn *c, const void *p, size_t n)
{
	return send(c->caller.fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n;
}

/* The caller reads it before the connection ends: a reset would take it away. */
static void refuse_with(struct egr *e, struct egr_conn *c, const void *p, size_t n)
{
	c->proxied->state = REFUSED;
	if (!say(c, p, n) || shutdown(c->caller.fd, SHUT_WR) < 0)
		egr_relay_end(e, c, true);
	else
		egr_dial_wait(e, c, LINGER_MS);
}

static void refuse_http(struct egr *e, struct egr_conn *c, const char *status, const char *field,
			const struct b_str *body)
{
	b_auto(b_str_release) struct b_str out = {0};

	b_str_addf(&out,
		   "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\nConnection: close\r\n"
		   "Proxy-Connection: close\r\n\r\n",
		   status, field, body->len);
	b_str_addn(&out, body->s, body->len);
	refuse_with(e, c, out.s, out.len);
}

static void refuse_socks(struct egr *e, struct egr_conn *c, uint8_t code)
{
	const uint8_t out[10] = {5, code, 0, 1};

	refuse_with(e, c, out, sizeof out);
}

static void refuse_text(struct egr *e, struct egr_conn *c, const char *status, const char *text)
{
	b_auto(b_str_release) struct b_str body = {0};

	b_str_addf(&body, "sbx-launch: %s\n", text);
	refuse_http(e, c, status, "Content-Type: text/plain\r\n", &body);
}

/* RFC 1928, 6 */
static uint8_t socks_code(int err)
{
	switch (err) {
	case EACCES:
		return 2;
	case ENETUNREACH:
		return 3;
	case EHOSTUNREACH:
		return 4;
	case ECONNREFUSED:
		return 5;
	case ETIMEDOUT:
		return 6;
	default:
		return 1;
	}
}

static void write_denial(const struct egr *e, const struct egr_conn *c,
			 const struct sbx_connect_answer *a, const char *endpoint,
			 struct b_str *out)
{
	struct b_json j = {.out = out};
	struct sbx_verdict v;

	b_json_open(&j, '{');
	b_json_key(&j, "error");
	b_json_str(&j, "denied by the policy");
	b_json_key(&j, "endpoint");
	b_json_str(&j, endpoint);
	b_json_key(&j, "why");
	b_json_str(&j, sbx_connect_why_text(a->why));
	if (a->rule >= 0) {
		sbx_explain_rule(&e->image, SBX_CONNECT, a->rule, &v);
		b_json_key(&j, "rule");
		b_json_str(&j, v.matched);
		b_json_key(&j, "place");
		b_json_str(&j, v.origin);
	}
	b_json_key(&j, "program");
	b_json_str(&j, c->proxied->program);
	if (a->why ==
	    SBX_CONNECT_NO_RULE) { /* what a rule or a class of addresses closes stays so */
		b_json_key(&j, "remedy");
		b_str_addf(out, "\"--connect %s\"", endpoint); /* a host: no character of JSON's */
	}
	b_json_close(&j, '}');
	b_str_add(out, "\n");
}

/* In the shape of the system whose document it is. */
static void deny(struct egr *e, struct egr_conn *c, const struct sbx_connect_answer *a,
		 const char *endpoint)
{
	b_auto(b_str_release) struct b_str body = {0};

	if (c->proxied->ask.kind == EGR_PROXY_SOCKS) {
		refuse_socks(e, c, socks_code(EACCES));
		return;
	}
	if (atomic_load(&e->page->shape) == EGR_SHAPE_SRT) {
		b_str_add(&body, "Connection blocked by network allowlist");
		refuse_http(e, c, "403 Forbidden",
			    "Content-Type: text/plain\r\n"
			    "X-Proxy-Error: blocked-by-allowlist\r\n",
			    &body);
		return;
	}
	write_denial(e, c, a, endpoint, &body);
	refuse_http(e, c, "403 Forbidden",
		    "Content-Type: application/json\r\nX-Sbx-Denied: policy\r\n", &body);
}

/* ---- what was asked for ---- */

void egr_endpoint_text(const struct sbx_host *h, uint16_t port, char out[SBX_HOST_MAX + 16])
{
	char addr[SBX_ADDR_TEXT] = "";

	if (h->kind == SBX_HOST_NAME) {
		snprintf(out, SBX_HOST_MAX + 16, "%s:%u", h->name, port);
		return;
	}
	if (h->kind == SBX_HOST_ADDRESS)
		(void)sbx_addr_text(&h->addr, addr);
	snprintf(out, SBX_HOST_MAX + 16, h->addr.is_v6 ? "[%s]:%u" : "%s:%u", addr, port);
}

static bool tell(struct egr *e, const struct egr_conn *c, const struct sbx_connect_answer *a,
		 const char *endpoint)
{
	struct egr_tell t = {.what = EGR_TOLD_PROXIED,
			     .why = (uint8_t)a->why,
			     .is_allowed = a->allowed,
			     .would_deny = a->would_deny,
			     .rule = (uint32_t)(a->rule + 1),
			     .pid = c->proxied->pid,
			     .id = c->id};

	snprintf(t.text, sizeof t.text, "%s %s", endpoint, c->proxied->program);
	return egr_tell(e, &t);
}

/* A program that has looked a name up itself, by the run's resolver, means the name. */
static uint32_t name_of(struct egr *e, struct sbx_host *h)
{
	uint32_t addr = (uint32_t)h->addr.b[0] << 24 | (uint32_t)h->addr.b[1] << 16 |
			(uint32_t)h->addr.b[2] << 8 | h->addr.b[3];
	uint32_t name = egr_name_of(addr);

	if (h->kind != SBX_HOST_ADDRESS || h->addr.is_v6 || !egr_is_fake(addr))
		return 0;
	h->len = egr_name_copy(e->page, name, h->name);
	if (!h->len)
		return 0;
	h->kind = SBX_HOST_NAME;
	return name;
}

/* As the broker decides on connect(2): the loopback interface is the host's only where a rule says
 * a port of it. The run's own is no affair of the relay's. */
static bool judge(const struct egr *e, const struct egr_conn *c, const struct sbx_host *h,
		  uint16_t port, struct sbx_connect_answer *a)
{
	enum sbx_addr_class class = sbx_addr_class(&h->addr);

	if (!sbx_connect_host(&e->image, h, port, &c->by, a))
		return false;
	if (h->kind != SBX_HOST_ADDRESS ||
	    (class != SBX_ADDR_LOOPBACK && class != SBX_ADDR_UNSPECIFIED) ||
	    sbx_connect_is_hosts(&e->image, &h->addr, port, &c->by, a))
		return true;
	a->allowed = false;
	a->why = SBX_CONNECT_CLASS;
	return false;
}

/* Nothing is begun that the broker was not told of. */
static void go(struct egr *e, struct egr_conn *c)
{
	struct egr_proxied *p = c->proxied;
	struct sbx_host *h = &p->ask.host;
	char endpoint[SBX_HOST_MAX + 16];
	struct sbx_connect_answer a;
	uint32_t name = name_of(e, h);

	egr_endpoint_text(h, p->ask.port, endpoint);
	if (judge(e, c, h, p->ask.port, &a) && !egr_limit_has_connection(e))
		a = (struct sbx_connect_answer){.rule = -1, .why = SBX_CONNECT_LIMIT};
	if (a.allowed && h->kind == SBX_HOST_NAME && !name)
		name = egr_name_number(e, h->name, h->len);
	if (a.allowed && h->kind == SBX_HOST_NAME && !name) {
		egr_relay_end(e, c, true); /* too many names */
		return;
	}
	if (!tell(e, c, &a, endpoint)) {
		p->state = HELD;
		egr_dial_hold(e);
		return;
	}
	if (!a.allowed) {
		deny(e, c, &a, endpoint);
		return;
	}
	(void)egr_limit_begin(e);
	p->state = DIALING;
	c->port = p->ask.port;
	c->name = name;
	egr_dial(e, c, name ? NULL : &h->addr);
}

bool egr_proxy_go_on(struct egr *e, struct egr_conn *c)
{
	if (c->proxied->state != HELD || c->is_dead)
		return true;
	go(e, c);
	return c->is_dead || !c->proxied || c->proxied->state != HELD;
}

static void refuse_head(struct egr *e, struct egr_conn *c, enum egr_proxy_said said)
{
	static const uint8_t no_method[2] = {5, 0xff};

	if (said == EGR_PROXY_METHODS)
		refuse_with(e, c, no_method, sizeof no_method);
	else if (c->proxied->ask.kind == EGR_PROXY_SOCKS)
		refuse_socks(e, c,
			     said == EGR_PROXY_COMMAND	 ? 7
			     : said == EGR_PROXY_ADDRESS ? 8
							 : 1);
	else if (said == EGR_PROXY_MORE)
		refuse_text(e, c, "431 Request Header Fields Too Large",
			    "a request to the proxy has a head of at most 8192 bytes");
	else
		refuse_text(
			e, c, "400 Bad Request",
			"expected CONNECT HOST:PORT, a URL that begins with http://, or SOCKS 5");
}

static void take(struct egr *e, struct egr_conn *c)
{
	static const uint8_t greeting[2] = {5, 0};
	struct egr_proxied *p = c->proxied;
	enum egr_proxy_said said = egr_proxy_read(p->in, p->have, p->greeted, &p->ask);

	if (said == EGR_PROXY_GREETING) {
		if (!say(c, greeting, sizeof greeting)) {
			egr_relay_end(e, c, true);
			return;
		}
		p->greeted = true;
		p->have -= p->ask.used;
		memmove(p->in, p->in + p->ask.used, p->have);
		said = egr_proxy_read(p->in, p->have, true, &p->ask);
	}
	if (said == EGR_PROXY_GO)
		go(e, c);
	else if (said != EGR_PROXY_MORE || p->have == sizeof p->in)
		refuse_head(e, c, said);
}

/* ---- the caller's end ---- */

static void read_head(struct egr *e, struct egr_conn *c)
{
	struct egr_proxied *p = c->proxied;

	while (!c->is_dead && p->state == READING) {
		ssize_t n =
			recv(c->caller.fd, p->in + p->have, sizeof p->in - p->have, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			egr_relay_end(e, c, n < 0);
			return;
		}
		p->have += (size_t)n;
		take(e, c);
	}
}

/* What still comes from one that was refused is read and thrown away, so that nothing is reset. */
static void drain(struct egr *e, struct egr_conn *c)
{
	ssize_t n;

	for (int i = 0; i < 16; i++) {
		n = recv(c->caller.fd, NULL, DRAIN, MSG_TRUNC | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			break;
	}
	egr_relay_end(e, c, n != 0);
}

static void caller_said(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct egr_conn *c = of_caller(s);

	if (c->is_dead)
		return;
	if (c->proxied->state == READING)
		read_head(e, c);
	if (!c->is_dead && c->proxied->state == REFUSED)
		drain(e, c);
	else if (!c->is_dead && events & (EPOLLERR | EPOLLHUP))
		egr_relay_end(e, c, true);
}

/* ---- for http_relay.c and dial.c ---- */

void egr_proxy_caller(const struct egr_conn *c, uint32_t *pid, char program[EGR_PROGRAM_MAX])
{
	if (!c->proxied)
		return;
	*pid = c->proxied->pid;
	memcpy(program, c->proxied->program, EGR_PROGRAM_MAX);
}

bool egr_proxy_is_judged(const struct egr_conn *c)
{
	return !c->proxied || c->proxied->state == DIALING;
}

bool egr_proxy_announced(struct egr *e, struct egr_conn *c, const struct egr_ask *ask)
{
	struct egr_proxied *p;

	if (e->nproxied >= HEADS_MAX)
		return false;
	p = b_calloc(1, sizeof *p);
	p->pid = ask->pid;
	memcpy(p->program, ask->program, sizeof p->program - 1);
	c->proxied = p;
	e->nproxied++;
	return true;
}

void egr_proxy_release(struct egr *e, struct egr_conn *c)
{
	if (!c->proxied)
		return;
	free(c->proxied);
	c->proxied = NULL;
	e->nproxied--;
}

void egr_proxy_arrived(struct egr *e, struct egr_conn *c)
{
	c->caller.ready = caller_said;
	egr_dial_wait(e, c, HEAD_MS);
	if (egr_source_add(e, &c->caller, EPOLLIN | EPOLLRDHUP | EPOLLET) < 0)
		egr_relay_end(e, c, true);
}

void egr_proxy_connected(struct egr *e, struct egr_conn *c)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	static const uint8_t granted[10] = {5, 0, 0, 1};
	struct egr_proxied *p = c->proxied;
	size_t rest = p->have - p->ask.used, len = p->ask.len;
	bool is_said =
		p->ask.kind == EGR_PROXY_URL ||
		(p->ask.kind == EGR_PROXY_CONNECT ? say(c, established, sizeof established - 1)
						  : say(c, granted, sizeof granted));

	if (!is_said) {
		egr_relay_end(e, c, true);
		return;
	}
	memcpy(p->early, p->ask.head, len);
	memcpy(p->early + len, p->in + p->ask.used, rest);
	c->half[0].early = p->early;
	c->half[0].nearly = len + rest;
	egr_relay_start(e, c);
}

void egr_proxy_failed(struct egr *e, struct egr_conn *c, int err)
{
	struct egr_proxied *p = c->proxied;
	char text[128];

	if (p->state != DIALING) {
		egr_relay_end(e, c, p->state != REFUSED);
		return;
	}
	if (c->peer.fd >= 0)
		egr_close_reset(c->peer.fd);
	c->peer.fd = -1;
	if (p->ask.kind == EGR_PROXY_SOCKS) {
		refuse_socks(e, c, socks_code(err));
		return;
	}
	snprintf(text, sizeof text, "no connection to the other end: %s", strerror(err));
	if (err == EACCES)
		refuse_text(e, c, "403 Forbidden",
			    "an address of this name is not open by the policy");
	else
		refuse_text(e, c, err == ETIMEDOUT ? "504 Gateway Timeout" : "502 Bad Gateway",
			    text);
}
