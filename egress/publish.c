/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish.c - servers inside that are seen at the host's loopback interface (`publish`). A
 * connection to it from outside goes to the same port of the run's own loopback interface. It uses
 * one of the sockets that were made in the run's namespace: this process makes none there. A socket
 * that is free again is disconnected (connect(2), AF_UNSPEC) and lent anew. While none is free the
 * host's queue waits.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "egress/egress_priv.h"

#define INSIDE_MS 10000u

struct listener {
	struct egr_source source; /* first */
	uint16_t port;
};

struct egr_publish {
	struct listener v[EGR_LISTENERS_MAX];
	unsigned n;
	int free4[EGR_INSIDE4], free6[EGR_INSIDE6];
	unsigned nfree4, nfree6;
	bool is_full; /* nobody is accepted */
};

static void watch_all(struct egr *e, bool full)
{
	struct egr_publish *p = e->publish;

	if (p->is_full == full)
		return;
	p->is_full = full;
	for (unsigned i = 0; i < p->n; i++)
		(void)egr_source_change(e, &p->v[i].source, full ? 0 : EPOLLIN);
}

void egr_publish_give_back(struct egr *e, struct egr_conn *c)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	struct egr_publish *p = e->publish;
	int fd = c->peer.fd;

	c->peer.fd = -1;
	(void)epoll_ctl(e->ep, EPOLL_CTL_DEL, fd, NULL);
	if (connect(fd, &none, sizeof none) < 0) {
		close(fd); /* one less */
		return;
	}
	if (c->is_inside6)
		p->free6[p->nfree6++] = fd;
	else
		p->free4[p->nfree4++] = fd;
	watch_all(e, false);
}

static int begin(struct egr *e, struct egr_conn *c)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET,
				 .sin_port = htons(c->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
				  .sin6_port = htons(c->port),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct egr_publish *p = e->publish;
	int rc;

	if (c->is_inside6 ? !p->nfree6 : !p->nfree4)
		return -1;
	c->peer.fd = c->is_inside6 ? p->free6[--p->nfree6] : p->free4[--p->nfree4];
	rc = c->is_inside6 ? connect(c->peer.fd, (struct sockaddr *)&v6, sizeof v6)
			   : connect(c->peer.fd, (struct sockaddr *)&v4, sizeof v4);
	if (rc < 0 && errno != EINPROGRESS)
		return -1;
	if (egr_source_add(e, &c->peer, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0)
		return -1;
	egr_dial_wait(e, c, INSIDE_MS);
	return 0;
}

/* A server may listen at ::1 alone. */
static void try_inside(struct egr *e, struct egr_conn *c)
{
	if (begin(e, c) == 0)
		return;
	if (c->peer.fd >= 0)
		egr_publish_give_back(e, c);
	if (!c->is_inside6) {
		c->is_inside6 = true;
		try_inside(e, c);
		return;
	}
	egr_relay_end(e, c, true);
}

static void inside_connected(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct egr_conn *c = (struct egr_conn *)((char *)s - offsetof(struct egr_conn, peer));
	socklen_t len = sizeof c->err;

	if (c->is_dead || c->is_up || !(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &c->err, &len) < 0)
		c->err = errno;
	if (c->err == 0) {
		c->is_up = true;
		egr_relay_start(e, c);
		return;
	}
	if (c->is_inside6) {
		egr_relay_end(e, c, true);
		return;
	}
	egr_publish_give_back(e, c);
	c->is_inside6 = true;
	try_inside(e, c);
}

static void came(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct egr_publish *p = e->publish;

	(void)events;
	while (p->nfree4) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct egr_conn *c;

		if (fd < 0)
			return;
		c = egr_conn_new(e);
		c->caller.fd = fd;
		c->peer.ready = inside_connected;
		c->is_inside = true;
		c->port = ((struct listener *)s)->port;
		try_inside(e, c);
	}
	watch_all(e, true);
}

int egr_publish_start(struct egr *e, const int *fds, struct b_err *err)
{
	const struct egr_published *said = &e->page->publish;
	uint32_t n = said->n;
	struct egr_publish *p;

	if (!n)
		return 0;
	if (n > EGR_LISTENERS_MAX)
		return b_fail(err, B_FORMAT, 0, "more than %u ports are published",
			      EGR_LISTENERS_MAX);
	p = e->publish = b_calloc(1, sizeof *p);
	for (; p->n < n; p->n++) {
		struct listener *l = &p->v[p->n];

		*l = (struct listener){{fds[p->n], came}, said->port[p->n]};
		if (fcntl(l->source.fd, F_SETFL, O_NONBLOCK) < 0 ||
		    egr_source_add(e, &l->source, EPOLLIN) < 0)
			return b_fail(err, B_SYSTEM, errno, "a published port: %s",
				      strerror(errno));
	}
	fds += n;
	for (unsigned i = 0; i < EGR_INSIDE4; i++)
		if (fcntl(fds[i], F_SETFL, O_NONBLOCK) == 0)
			p->free4[p->nfree4++] = fds[i];
	/* /dev/null where there is no IPv6 */
	for (unsigned i = EGR_INSIDE4; i < EGR_INSIDE; i++)
		if (fcntl(fds[i], F_SETFL, O_NONBLOCK) == 0)
			p->free6[p->nfree6++] = fds[i];
	return 0;
}
