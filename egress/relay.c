/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c - bytes from one end of a connection to the other, by splice(2), each direction to its
 * own end. A connection on whose way nothing is has no pipe, so that ten thousand idle ones cost
 * two descriptors and a small struct each.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "egress/egress_priv.h"

#define ROOM (256u << 10) /* bytes on the way in one direction */
#define TURN (1u << 20)	  /* bytes of one connection before the others have their turn */

/* ---- pipes ---- */

static bool take_pipe(struct egr *e, struct egr_half *h)
{
	if (h->pipe.fd[0] >= 0)
		return true;
	if (e->npipes) {
		h->pipe = e->pipes[--e->npipes];
		return true;
	}
	if (pipe2(h->pipe.fd, O_NONBLOCK | O_CLOEXEC) < 0) {
		h->pipe.fd[0] = h->pipe.fd[1] = -1;
		return false;
	}
	/* refused beyond a user's share (pipe(7)): then it is smaller */
	(void)fcntl(h->pipe.fd[1], F_SETPIPE_SZ, ROOM);
	return true;
}

static void give_pipe(struct egr *e, struct egr_half *h)
{
	if (h->pipe.fd[0] < 0)
		return;
	if (!h->held && e->npipes < sizeof e->pipes / sizeof *e->pipes) {
		e->pipes[e->npipes++] = h->pipe;
	} else {
		close(h->pipe.fd[0]);
		close(h->pipe.fd[1]);
	}
	h->pipe.fd[0] = h->pipe.fd[1] = -1;
}

/* ---- one direction ---- */

enum moved { MOVED_NOTHING, MOVED_SOME, MOVED_NO_PIPE, MOVED_FAILED };

/* A full pipe and an empty socket answer alike; what empties the pipe is progress, after which both
 * are tried again. */
static enum moved take_in(struct egr *e, struct egr_half *h)
{
	size_t room = egr_limit_room(e);
	ssize_t n;

	if (h->has_ended || h->held >= ROOM)
		return MOVED_NOTHING;
	if (!room || !take_pipe(e, h))
		return MOVED_NO_PIPE;
	n = splice(h->from->fd, NULL, h->pipe.fd[1], NULL,
		   room < ROOM - h->held ? room : ROOM - h->held,
		   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? MOVED_NOTHING : MOVED_FAILED;
	h->has_ended = n == 0;
	h->held += (size_t)n;
	egr_limit_carried(e, (uint64_t)n);
	return MOVED_SOME;
}

static enum moved give_out(struct egr_half *h)
{
	ssize_t n;

	if (!h->held)
		return MOVED_NOTHING;
	n = splice(h->pipe.fd[0], NULL, h->to->fd, NULL, h->held,
		   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? MOVED_NOTHING : MOVED_FAILED;
	h->held -= (size_t)n;
	h->total += (uint64_t)n;
	return n ? MOVED_SOME : MOVED_NOTHING;
}

/* What a proxy's caller said before there was another end. */
static enum moved give_early(struct egr_half *h)
{
	while (h->nearly) {
		ssize_t n = send(h->to->fd, h->early, h->nearly, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? MOVED_NOTHING : MOVED_FAILED;
		h->early += n;
		h->nearly -= (size_t)n;
		h->total += (uint64_t)n;
	}
	return MOVED_SOME;
}

/* Until nothing moves: MOVED_NOTHING; or TURN bytes have: MOVED_SOME. */
static enum moved move_half(struct egr *e, struct egr_half *h)
{
	uint64_t until = h->total + TURN;
	enum moved in, out = give_early(h);

	if (out != MOVED_SOME)
		return out;
	do {
		in = take_in(e, h);
		out = in == MOVED_FAILED ? MOVED_FAILED : give_out(h);
		if (in == MOVED_NO_PIPE || out == MOVED_FAILED)
			return in == MOVED_NO_PIPE ? in : out;
	} while ((in == MOVED_SOME || out == MOVED_SOME) && h->total < until);
	if (!h->held)
		give_pipe(e, h);
	if (h->has_ended && !h->held && !h->is_shut) {
		h->is_shut = true;
		if (shutdown(h->to->fd, SHUT_WR) < 0 && errno != ENOTCONN)
			return MOVED_FAILED;
	}
	return h->total < until ? MOVED_NOTHING : MOVED_SOME;
}

/* ---- a connection ---- */

static void unlink_conn(struct egr_conn *c)
{
	if (!c->link)
		return;
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->link = NULL;
	c->is_busy = false;
}

void egr_relay_again(struct egr *e, struct egr_conn *c)
{
	if (c->is_busy)
		return;
	c->is_busy = true;
	c->next = e->busy;
	c->link = &e->busy;
	if (c->next)
		c->next->link = &c->next;
	e->busy = c;
}

/* About a mebibyte more than there is room for. */
static void turn_http(struct egr *e, struct egr_conn *c)
{
	uint64_t before = c->half[0].total + c->half[1].total;

	if (!egr_limit_room(e) || egr_http_turn(e, c))
		egr_relay_again(e, c);
	egr_limit_carried(e, c->half[0].total + c->half[1].total - before);
}

static void turn(struct egr *e, struct egr_conn *c)
{
	if (c->is_dead) /* by an event before this one */
		return;
	if (egr_limit_is_over(e)) {
		egr_limit_tell(e, c);
		egr_relay_end(e, c, true);
		return;
	}
	if (c->http) {
		turn_http(e, c);
		return;
	}
	for (int i = 0; i < 2; i++) {
		enum moved m = move_half(e, &c->half[i]);

		if (m == MOVED_FAILED) {
			egr_relay_end(e, c, true);
			return;
		}
		if (m != MOVED_NOTHING)
			egr_relay_again(e, c);
	}
	if (!c->half[0].nearly)
		egr_proxy_release(e, c);
	if (c->half[0].is_shut && c->half[1].is_shut)
		egr_relay_end(e, c, false);
}

static void caller_ready(struct egr *e, struct egr_source *s, uint32_t events)
{
	(void)events;
	turn(e, (struct egr_conn *)((char *)s - offsetof(struct egr_conn, caller)));
}

static void peer_ready(struct egr *e, struct egr_source *s, uint32_t events)
{
	(void)events;
	turn(e, (struct egr_conn *)((char *)s - offsetof(struct egr_conn, peer)));
}

static void no_delay(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void egr_relay_start(struct egr *e, struct egr_conn *c)
{
	unlink_conn(c);
	c->caller.ready = caller_ready;
	c->peer.ready = peer_ready;
	c->half[0].from = c->half[1].to = &c->caller;
	c->half[0].to = c->half[1].from = &c->peer;
	no_delay(c->caller.fd);
	no_delay(c->peer.fd);
	if (!c->is_inside && egr_http_inspect(e, c) < 0) {
		egr_relay_end(e, c, true);
		return;
	}
	/* a proxy's caller was looked at before; EPOLL_CTL_MOD says anew what is there */
	if ((c->proxied ? egr_source_change : egr_source_add)(
		    e, &c->caller, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0) {
		egr_relay_end(e, c, true);
		return;
	}
	turn(e, c);
}

/* The other side sees a reset, not an end. */
void egr_close_reset(int fd)
{
	const struct linger now = {.l_onoff = 1};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(fd);
}

static void close_end(struct egr_source *s, bool reset)
{
	if (s->fd >= 0 && reset)
		egr_close_reset(s->fd);
	else if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void egr_relay_end(struct egr *e, struct egr_conn *c, bool reset)
{
	struct egr_tell t = {.what = EGR_TOLD_CLOSED,
			     .id = c->id,
			     .sent = c->half[0].total,
			     .got = c->half[1].total,
			     .ms = (uint32_t)(e->now_ms - c->begun_ms)};

	if (c->is_dead)
		return;
	unlink_conn(c);
	c->is_dead = true;
	for (int i = 0; i < 2; i++)
		give_pipe(e, &c->half[i]);
	if (c->is_up && c->caller.fd >= 0)
		(void)egr_tell(e, &t);
	close_end(&c->caller, reset);
	if (c->is_inside && c->peer.fd >= 0)
		egr_publish_give_back(e, c);
	close_end(&c->peer, reset);
	c->next = e->dead;
	e->dead = c;
}

void egr_relay_turn(struct egr *e)
{
	struct egr_conn *list = e->busy;

	/* those that are busy again go to a new list */
	e->busy = NULL;
	if (list)
		list->link = &list;
	while (list) {
		struct egr_conn *c = list;

		unlink_conn(c);
		turn(e, c);
	}
}

void egr_relay_bury(struct egr *e)
{
	while (e->dead) {
		struct egr_conn *c = e->dead;

		e->dead = c->next;
		e->nconns--;
		*c->link_of_all = c->next_of_all;
		if (c->next_of_all)
			c->next_of_all->link_of_all = c->link_of_all;
		egr_proxy_release(e, c);
		egr_http_release(e, c);
		free(c);
	}
}
