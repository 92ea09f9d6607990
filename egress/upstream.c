/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream.c - the world by a proxy of the host's network (`--upstream-proxy`). What is asked of it
 * is the address that was judged, not the name: it looks nothing up that could lead elsewhere.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "egress/egress_priv.h"

#define ANSWER_MAX 4096u
#define ANSWER_MS  60000u

struct egr_via {
	struct egr_upstream to; /* a copy */
	struct sbx_addr addr;
	bool is_known; /* the address */
};

/* The first address that the host knows. A proxy without one refuses everything, later. */
static void find(struct egr_via *v)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *list = NULL;

	if (sbx_addr_parse(v->to.host, strlen(v->to.host), &v->addr)) {
		v->is_known = true;
		return;
	}
	if (getaddrinfo(v->to.host, NULL, &hints, &list) != 0)
		return;
	v->addr.is_v6 = list->ai_family == AF_INET6;
	if (v->addr.is_v6)
		memcpy(v->addr.b, &((struct sockaddr_in6 *)(void *)list->ai_addr)->sin6_addr, 16);
	else
		memcpy(v->addr.b, &((struct sockaddr_in *)(void *)list->ai_addr)->sin_addr, 4);
	v->is_known = true;
	freeaddrinfo(list);
}

int egr_upstream_start(struct egr *e, struct b_err *err)
{
	struct egr_via *v;

	if (!e->page->upstream.host[0])
		return 0;
	v = b_calloc(1, sizeof *v);
	v->to = e->page->upstream;
	v->to.host[sizeof v->to.host - 1] = v->to.auth[sizeof v->to.auth - 1] = '\0';
	find(v);
	e->via = v;
	if (v->is_known)
		return 0;
	return b_fail(err, B_SYSTEM, 0, "%s: the proxy upstream: its name has no address",
		      v->to.host);
}

const struct sbx_addr *egr_upstream_of(const struct egr *e, const struct sbx_addr *a,
				       uint16_t *port)
{
	/* a service of this host is no affair of the proxy's */
	if (!e->via || sbx_addr_class(a) == SBX_ADDR_LOOPBACK)
		return a;
	*port = e->via->to.port;
	return &e->via->addr;
}

static int errno_of(unsigned status)
{
	switch (status) {
	case 403:
	case 407:
		return EACCES;
	case 504:
		return ETIMEDOUT;
	default:
		return ECONNREFUSED;
	}
}

/* The head alone: what comes behind it is the other end's. */
static void answered(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct egr_conn *c = (struct egr_conn *)((char *)s - offsetof(struct egr_conn, peer));
	char in[ANSWER_MAX + 1];
	unsigned status = 0;
	ssize_t n;
	char *end;

	(void)events;
	if (c->is_dead)
		return;
	n = recv(s->fd, in, ANSWER_MAX, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		egr_dial_connected(e, c, n ? errno : ECONNREFUSED);
		return;
	}
	in[n] = '\0';
	end = strstr(in, "\r\n\r\n");
	if (!end && n < (ssize_t)ANSWER_MAX)
		return;
	if (!end || sscanf(in, "HTTP/1.%*1[01] %3u", &status) != 1) {
		egr_dial_connected(e, c, EPROTO);
		return;
	}
	(void)recv(s->fd, in, (size_t)(end - in) + 4, MSG_DONTWAIT);
	egr_dial_connected(e, c, status / 100 == 2 ? 0 : errno_of(status));
}

void egr_upstream_ask(struct egr *e, struct egr_conn *c)
{
	struct sbx_host to = {.kind = SBX_HOST_ADDRESS, .addr = c->addr[c->at - 1]};
	char endpoint[SBX_HOST_MAX + 16], out[sizeof endpoint * 2 + sizeof e->via->to.auth + 128];
	const char *auth = e->via->to.auth;
	int n;

	egr_endpoint_text(&to, c->port, endpoint);
	n = snprintf(out, sizeof out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", endpoint,
		     endpoint, *auth ? "Proxy-Authorization: " : "", auth, *auth ? "\r\n" : "");
	c->peer.ready = answered;
	if (n < 0 || (size_t)n >= sizeof out ||
	    send(c->peer.fd, out, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) != n) {
		egr_dial_connected(e, c, ECONNREFUSED);
		return;
	}
	egr_dial_wait(e, c, ANSWER_MS);
}
