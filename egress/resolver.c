/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver.c - the run's own name server, at every address of its namespace. It never asks outside
 * for a name that no rule opens. For a name that a wildcard opens it asks only when a program
 * connects. Look-ups therefore cannot leak data.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "egress/egress_priv.h"

#define BATCH	    64	  /* datagrams before others have their turn */
#define HOLD_MS	    1500u /* for a name to be looked up; clients ask again after 2 to 5 s */
#define PENDING_MAX 512u
#define STREAMS_MAX 64u
#define STREAM_MS   30000u
#define QUERY_MAX   1024u
#define TOLD_MS	    1000u /* the same name again is one question: A and AAAA */

/* A client of TCP. */
struct egr_stream {
	struct egr_source source; /* first */
	struct egr_stream *next;
	uint64_t due_ms;
	bool is_dead;
	size_t have;
	uint8_t in[2 + QUERY_MAX];
};

/* Whom to answer: a stream, or where a datagram came from, and to which address. */
struct to {
	struct egr_stream *stream; /* NULL = a datagram's */
	int fd;
	socklen_t len, control_len;
	struct sockaddr_storage from;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

struct egr_pending {
	struct egr_pending *next;
	uint32_t name;
	uint64_t due_ms;
	struct egr_question q;
	struct to to;
};

/* ---- names ---- */

#define BUCKETS (2 * EGR_NAMES)
static uint32_t buckets[BUCKETS]; /* of names, by their texts; 0 = empty */

static uint32_t hash(const char *s, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)s[i]) * 16777619u;
	return h;
}

uint32_t egr_name_number(struct egr *e, const char *text, size_t len)
{
	uint32_t at = hash(text, len) % BUCKETS;
	struct egr_name *n;

	for (; buckets[at]; at = (at + 1) % BUCKETS) {
		n = &e->page->name[buckets[at]];
		if (n->len == len && memcmp(n->text, text, len) == 0)
			return buckets[at];
	}
	if (e->nnames == EGR_NAMES)
		return 0;
	n = &e->page->name[e->nnames];
	memcpy(n->text, text, len);
	atomic_store_explicit(&n->len, (uint32_t)len, memory_order_release);
	buckets[at] = e->nnames;
	return e->nnames++;
}

/* ---- answers ---- */

/* Back from the address that was asked, which is any. */
static void send_datagram(struct to *to, const uint8_t *msg, size_t n)
{
	struct iovec iov = {.iov_len = n};
	struct msghdr m = {.msg_name = &to->from,
			   .msg_namelen = to->len,
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = to->control,
			   .msg_controllen = to->control_len};

	memcpy(&iov.iov_base, &msg, sizeof msg); /* lacks a const; it is only read */
	(void)sendmsg(to->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void send_stream(struct egr_stream *s, const uint8_t *msg, size_t n)
{
	uint8_t out[2 + EGR_DNS_MAX] = {(uint8_t)(n >> 8), (uint8_t)n};

	memcpy(out + 2, msg, n);
	if (send(s->source.fd, out, n + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)n + 2)
		s->is_dead = true; /* it does not read */
}

static void answer(struct to *to, const struct egr_question *q, enum egr_dns_said said,
		   const void *data)
{
	uint8_t out[EGR_DNS_MAX];
	size_t n = egr_dns_answer(q, said, data, out);

	if (to->stream)
		send_stream(to->stream, out, n);
	else
		send_datagram(to, out, n);
}

static void answer_fake(struct to *to, const struct egr_question *q, uint32_t name)
{
	uint32_t addr = htonl(egr_fake(name));

	answer(to, q, q->type == EGR_DNS_A ? EGR_DNS_ADDRESS : EGR_DNS_NOTHING, &addr);
}

static void answer_found(struct to *to, const struct egr_question *q, uint32_t name,
			 enum egr_found state)
{
	if (state == EGR_FOUND_MISSING)
		answer(to, q, EGR_DNS_MISSING, NULL);
	else if (state == EGR_FOUND_FAILED)
		answer(to, q, EGR_DNS_FAILED, NULL);
	else
		answer_fake(to, q, name);
}

/* ---- questions ---- */

static bool is_localhost(const struct egr_question *q)
{
	static const char word[] = "localhost";
	const size_t n = sizeof word - 1;

	return q->len >= n && memcmp(q->name + q->len - n, word, n) == 0 &&
	       (q->len == n || q->name[q->len - n - 1] == '.');
}

static void answer_localhost(struct to *to, const struct egr_question *q)
{
	static const uint8_t v4[4] = {127, 0, 0, 1}, v6[16] = {[15] = 1};

	answer(to, q,
	       q->type == EGR_DNS_A || q->type == EGR_DNS_AAAA ? EGR_DNS_ADDRESS : EGR_DNS_NOTHING,
	       q->type == EGR_DNS_A ? v4 : v6);
}

/* An address of ours has the name that it stands for. No other address is looked up. */
static void answer_reverse(struct egr *e, struct to *to, const struct egr_question *q)
{
	char name[EGR_NAME_MAX + 1] = "";
	uint8_t b[16];
	size_t n = egr_dns_reverse(q->name, b);
	uint32_t addr = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];

	if (n == 4 && b[0] == 127)
		strcpy(name, "localhost");
	else if (n == 4 && egr_is_fake(addr))
		(void)egr_name_copy(e->page, egr_name_of(addr), name);
	answer(to, q, name[0] ? EGR_DNS_NAME : EGR_DNS_MISSING, name);
}

/* Of a name that is refused, or would be. No answer where it cannot be told: the client asks again.
 */
static bool tell_refused(struct egr *e, const struct egr_question *q,
			 const struct sbx_connect_answer *a)
{
	static char last[EGR_NAME_MAX + 1];
	static uint64_t last_ms;
	struct egr_tell t = {.what = EGR_TOLD_NAME,
			     .why = (uint8_t)a->why,
			     .rule = (uint32_t)(a->rule + 1),
			     .is_allowed = a->allowed,
			     .would_deny = a->would_deny,
			     .type = q->type};

	if (strcmp(last, q->name) == 0 && e->now_ms - last_ms < TOLD_MS)
		return true;
	memcpy(t.text, q->name, q->len + 1);
	if (!egr_tell(e, &t))
		return false;
	memcpy(last, q->name, q->len + 1);
	last_ms = e->now_ms;
	return true;
}

static void hold(struct egr *e, const struct egr_question *q, const struct to *to, uint32_t name)
{
	struct egr_pending *p = b_malloc(sizeof *p);

	*p = (struct egr_pending){e->pending, name, e->now_ms + HOLD_MS, *q, *to};
	e->pending = p;
	e->npending++;
}

static void answer_allowed(struct egr *e, struct to *to, const struct egr_question *q,
			   bool is_exact, const struct sbx_connect_answer *a)
{
	uint32_t name = egr_name_number(e, q->name, q->len);
	const struct egr_found_addrs *f;

	if (a->would_deny && !tell_refused(e, q, a))
		return;
	if (!name) {
		answer(to, q, EGR_DNS_FAILED, NULL);
		return;
	}
	f = is_exact ? egr_lookup(e, name) : NULL;
	if (f && f->state == EGR_FOUND_YET && e->npending < PENDING_MAX)
		hold(e, q, to, name);
	else
		answer_found(to, q, name, f ? f->state : EGR_FOUND_ALL);
}

static void asked(struct egr *e, struct to *to, const uint8_t *msg, size_t n)
{
	struct sbx_connect_answer a;
	struct egr_question q;
	bool is_exact = false;

	if (egr_dns_read(msg, n, &q) < 0)
		return;
	if (q.rcode)
		answer(to, &q, EGR_DNS_BAD, NULL);
	else if (is_localhost(&q))
		answer_localhost(to, &q);
	else if (q.type == EGR_DNS_PTR)
		answer_reverse(e, to, &q);
	else if (sbx_connect_may_resolve(&e->image, q.name, q.len, &is_exact, &a))
		answer_allowed(e, to, &q, is_exact, &a);
	else if (tell_refused(e, &q, &a))
		answer(to, &q, EGR_DNS_REFUSED, NULL);
}

/* ---- those that wait ---- */

static void answer_pending(struct egr *e, uint32_t name, const struct egr_stream *of_stream)
{
	struct egr_pending **p = &e->pending, *it;

	while ((it = *p)) {
		bool is_late = it->due_ms <= e->now_ms;

		if (of_stream ? it->to.stream != of_stream : it->name != name && !is_late) {
			p = &it->next;
			continue;
		}
		*p = it->next;
		e->npending--;
		if (!of_stream)
			answer_found(&it->to, &it->q, it->name,
				     it->name == name ? egr_lookup(e, name)->state : EGR_FOUND_ALL);
		free(it);
	}
}

void egr_resolver_looked_up(struct egr *e, uint32_t name)
{
	answer_pending(e, name, NULL);
}

/* ---- datagrams ---- */

/* The address that was asked is the one that answers. */
static void turn_around(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct in_pktinfo info;

		if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(c), sizeof info);
		info.ipi_spec_dst = info.ipi_addr;
		info.ipi_ifindex = 0;
		memcpy(CMSG_DATA(c), &info, sizeof info);
	}
}

void egr_datagram_ready(struct egr *e, struct egr_source *s, uint32_t events)
{
	(void)events;
	for (int i = 0; i < BATCH; i++) {
		uint8_t in[QUERY_MAX];
		struct to to = {.fd = s->fd};
		struct iovec iov = {in, sizeof in};
		struct msghdr m = {.msg_name = &to.from,
				   .msg_namelen = sizeof to.from,
				   .msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = to.control,
				   .msg_controllen = sizeof to.control};
		ssize_t n = recvmsg(s->fd, &m, MSG_DONTWAIT);

		if (n < 0)
			return;
		turn_around(&m);
		to.len = m.msg_namelen;
		to.control_len = (socklen_t)m.msg_controllen;
		asked(e, &to, in, (size_t)n);
	}
}

/* ---- streams ---- */

static void end_stream(struct egr *e, struct egr_stream *s)
{
	struct egr_stream **p = &e->streams;

	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	e->nstreams--;
	answer_pending(e, 0, s);
	close(s->source.fd);
	free(s);
}

/* Whole messages at the front of what was read. */
static void take_messages(struct egr *e, struct egr_stream *s)
{
	while (s->have >= 2 && !s->is_dead) {
		size_t n = (size_t)s->in[0] << 8 | s->in[1];
		struct to to = {.stream = s};

		if (n > QUERY_MAX)
			s->is_dead = true;
		if (s->is_dead || s->have < n + 2)
			return;
		asked(e, &to, s->in + 2, n);
		s->have -= n + 2;
		memmove(s->in, s->in + n + 2, s->have);
	}
}

static void client_ready(struct egr *e, struct egr_source *source, uint32_t events)
{
	struct egr_stream *s = (struct egr_stream *)source;
	ssize_t n = recv(source->fd, s->in + s->have, sizeof s->in - s->have, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		s->due_ms = e->now_ms + STREAM_MS;
		s->have += (size_t)n;
		take_messages(e, s);
	}
	if (n <= 0 || s->is_dead)
		end_stream(e, s);
}

void egr_stream_ready(struct egr *e, struct egr_source *source, uint32_t events)
{
	int fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct egr_stream *s;

	(void)events;
	if (fd < 0)
		return;
	if (e->nstreams == STREAMS_MAX) {
		egr_close_reset(fd);
		return;
	}
	s = b_calloc(1, sizeof *s);
	s->source = (struct egr_source){fd, client_ready};
	s->due_ms = e->now_ms + STREAM_MS;
	s->next = e->streams;
	e->streams = s;
	e->nstreams++;
	if (egr_source_add(e, &s->source, EPOLLIN) < 0)
		end_stream(e, s);
}

/* ---- time ---- */

int egr_resolver_due(struct egr *e)
{
	uint64_t first = UINT64_MAX;
	struct egr_stream *s, *next;

	answer_pending(e, 0, NULL);
	for (const struct egr_pending *p = e->pending; p; p = p->next)
		first = p->due_ms < first ? p->due_ms : first;
	for (s = e->streams; s; s = next) {
		next = s->next;
		if (s->due_ms <= e->now_ms || s->is_dead)
			end_stream(e, s);
		else
			first = s->due_ms < first ? s->due_ms : first;
	}
	return first == UINT64_MAX ? -1 : (int)(first - e->now_ms);
}

int egr_resolver_start(struct egr *e, struct b_err *err)
{
	const int on = 1;

	e->nnames = 1;
	if (setsockopt(e->socket[EGR_DNS4].fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) < 0 ||
	    (e->socket[EGR_DNS6].fd >= 0 && setsockopt(e->socket[EGR_DNS6].fd, IPPROTO_IPV6,
						       IPV6_RECVPKTINFO, &on, sizeof on) < 0))
		return b_fail(err, B_SYSTEM, errno, "resolver: %s", strerror(errno));
	return 0;
}
