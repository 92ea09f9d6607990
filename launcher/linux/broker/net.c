/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c - connect(2) to an endpoint of the network, where the policy has rules on them.
 *
 * The broker copies the address once, decides, has sbx-egress connect to the same endpoint, and
 * connects the caller's own socket to the relay inside of the run's namespace, at an address that
 * says which connection it is (egress/door.h). So neither memory nor descriptors of the caller are
 * read again after the decision, and options, epoll(7) and all else of the socket stay as they are.
 *
 * No lock is held while anything waits: not for the network, and not for a relay that does not
 * accept.
 */
#include "launcher/linux/broker/broker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "core/connect.h"
#include "core/event.h"
#include "core/ring.h"
#include "egress/door.h"
#include "launcher/linux/broker/lineage.h"

#define SIN6_LEN	24 /* without sin6_scope_id: SIN6_LEN_RFC2133 of include/net/ipv6.h */
#define TCP_STATE_CLOSE 7  /* of enum in include/net/tcp_states.h */
#define WAIT_MS		1000
#define DNS_PORT	53

/* The endpoint to which the caller connects. */
struct target {
	bool is_v4; /* as the socket sees it: not by a v4-mapped address */
	struct sbx_addr addr;
	uint16_t port;
	uint32_t name; /* that a fake address stands for; 0 = none */
	struct sbx_host host;
};

/* ---- answers of sbx-egress ---- */

/* Which slots are taken. A turn that is over is never answered late: the slot's value is the turn.
 */
static struct {
	pthread_mutex_t lock;
	uint16_t turn[EGR_SLOTS];
	bool is_taken[EGR_SLOTS];
	unsigned next;
} slots = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic uint32_t last_id;

static int take_slot(const struct br_broker *b)
{
	int at = -1;

	pthread_mutex_lock(&slots.lock);
	for (unsigned i = 0; i < EGR_SLOTS && at < 0; i++) {
		unsigned k = (slots.next + i) % EGR_SLOTS;

		if (!slots.is_taken[k])
			at = (int)k;
	}
	if (at >= 0) {
		slots.is_taken[at] = true;
		slots.turn[at]++;
		slots.next = (unsigned)at + 1;
		atomic_store(&b->plan->door.page->slot[at], (uint32_t)slots.turn[at] << 16);
	}
	pthread_mutex_unlock(&slots.lock);
	return at;
}

static void give_slot(int at)
{
	pthread_mutex_lock(&slots.lock);
	slots.is_taken[at] = false;
	pthread_mutex_unlock(&slots.lock);
}

/* 0, or the errno with which it was not connected; EINTR: interrupted. */
static int wait_for(struct br_call *c, int at, uint64_t until_ms)
{
	_Atomic uint32_t *slot = &c->b->plan->door.page->slot[at];
	uint32_t asked = (uint32_t)slots.turn[at] << 16, said;

	while ((said = atomic_load(slot)) == asked) {
		const struct timespec limit = {.tv_sec = WAIT_MS / 1000};

		if (c->b->is_door_shut)
			return ECONNREFUSED;
		if (until_ms && br_now_ns() / 1000000 >= until_ms)
			return EINPROGRESS;
		if (syscall(SYS_futex, slot, FUTEX_WAIT, asked, &limit, NULL, 0) < 0 &&
		    errno == EINTR)
			return EINTR;
	}
	return (int)(said & (EGR_SLOT_DONE - 1));
}

/* ---- what was asked for ---- */

static bool is_inet(const struct br_address *a)
{
	return (a->any.sa_family == AF_INET && a->len >= sizeof(struct sockaddr_in)) ||
	       (a->any.sa_family == AF_INET6 && a->len >= SIN6_LEN);
}

static void read_target(const struct br_address *a, struct target *t)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a->any;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a->any;

	*t = (struct target){.is_v4 = a->any.sa_family == AF_INET};
	if (t->is_v4) {
		memcpy(t->addr.b, &v4->sin_addr, 4);
		t->port = ntohs(v4->sin_port);
		return;
	}
	t->port = ntohs(v6->sin6_port);
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		memcpy(t->addr.b, v6->sin6_addr.s6_addr + 12, 4);
		return;
	}
	t->addr.is_v6 = 1;
	memcpy(t->addr.b, &v6->sin6_addr, 16);
}

static uint32_t v4_of(const struct target *t)
{
	return (uint32_t)t->addr.b[0] << 24 | (uint32_t)t->addr.b[1] << 16 |
	       (uint32_t)t->addr.b[2] << 8 | t->addr.b[3];
}

/* The run's own loopback interface, but for ports that a rule opens of the host's: what listens
 * there was started inside. */
static bool is_loopback(const struct target *t)
{
	enum sbx_addr_class class = sbx_addr_class(&t->addr);

	if (!t->addr.is_v6)
		return t->addr.b[0] == 127 || v4_of(t) == 0;
	return class == SBX_ADDR_LOOPBACK || class == SBX_ADDR_UNSPECIFIED;
}

static void name_target(const struct br_call *c, struct target *t)
{
	t->host.kind = SBX_HOST_ADDRESS;
	t->host.addr = t->addr;
	if (t->addr.is_v6 || !egr_is_fake(v4_of(t)))
		return;
	t->name = egr_name_of(v4_of(t));
	t->host.len = egr_name_copy(c->b->plan->door.page, t->name, t->host.name);
	if (t->host.len)
		t->host.kind = SBX_HOST_NAME;
	else
		t->name = 0; /* of a name that no program has looked up */
}

/* ---- who asks ---- */

struct who {
	struct sbx_programs by;
	char path[PATH_MAX]; /* of the caller, "" = it cannot be told */
};

/* 0, or -EAGAIN. */
static int look_at_caller(struct br_call *c, struct who *who)
{
	who->by = (struct sbx_programs){0};
	if (sbx_connect_asks_programs(c->b->plan->image))
		return br_lineage_of(c, who->path, &who->by);
	br_program_name(c, br_tgid(c), who->path);
	return 0;
}

/* ---- telling ---- */

static size_t endpoint_text(const struct target *t, char out[SBX_HOST_MAX + 16])
{
	char addr[SBX_ADDR_TEXT];
	int n;

	if (t->host.kind == SBX_HOST_NAME) {
		n = snprintf(out, SBX_HOST_MAX + 16, "%s:%u", t->host.name, t->port);
	} else {
		(void)sbx_addr_text(&t->addr, addr);
		n = snprintf(out, SBX_HOST_MAX + 16, t->addr.is_v6 ? "[%s]:%u" : "%s:%u", addr,
			     t->port);
	}
	return n > 0 ? (size_t)n : 0;
}

static void tell(struct br_call *c, const struct target *t, const struct who *who,
		 const struct sbx_connect_answer *a, int err)
{
	char text[SBX_HOST_MAX + 16];
	const struct br_told told = {
		.op = SBX_CONNECT,
		.allowed = a->allowed,
		.err = err,
		.flags = SBX_EVF_ENDPOINT | (a->would_deny ? SBX_EVF_WATCHED : 0),
		.aux = a->why,
		.rule = (uint32_t)(a->rule + 1),
		.path = text,
		.len = endpoint_text(t, text),
		.path2 = who->path,
		.len2 = strlen(who->path),
	};

	br_tell(c, &told);
}

/* The host's name server may be at a loopback address, where nothing listens inside. An empty
 * datagram shows this, because the kernel answers it at once. */
static bool is_unheard(int fd)
{
	int type = 0, err = 0;
	socklen_t type_len = sizeof type, err_len = sizeof err;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 && type == SOCK_DGRAM &&
	       send(fd, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &err_len) == 0 && err == ECONNREFUSED;
}

static bool is_away(int err)
{
	return err == ENETUNREACH || err == EHOSTUNREACH || err == ENETDOWN || err == EADDRNOTAVAIL;
}

void br_net_tell_none(struct br_call *c, const struct br_address *a, int fd, int err)
{
	static const struct sbx_connect_answer none = {.rule = -1, .why = SBX_CONNECT_NO_RULE};
	struct target t;
	struct who who;

	if (!c->b->plan->net.is_apart || !is_inet(a))
		return;
	read_target(a, &t);
	if (is_loopback(&t) ? err || t.port != DNS_PORT || !is_unheard(fd) : !is_away(err))
		return;
	err = err ? err : ECONNREFUSED;
	t.host.kind = SBX_HOST_ADDRESS;
	t.host.addr = t.addr;
	br_program_name(c, br_tgid(c), who.path);
	tell(c, &t, &who, &none, err);
}

/* ---- connecting ---- */

static struct egr_ask announcement(const struct target *t, const struct who *who)
{
	struct egr_ask ask = {.port = t->port, .name = t->name, .by = who->by};

	if (!t->name) {
		ask.family = t->addr.is_v6 ? AF_INET6 : AF_INET;
		memcpy(ask.addr, t->addr.b, sizeof ask.addr);
	}
	do
		ask.id = ++last_id & EGR_IDS;
	while (!ask.id);
	return ask;
}

/* Connects the caller's socket to the relay. An IPv6 socket uses IPv4 if it can. */
static int to_relay(const struct br_call *c, const struct target *t, uint32_t id, int fd)
{
	uint32_t v4 = htonl(egr_id4(id));
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6,
				   .sin6_port = htons(c->b->plan->door.port)};
	struct sockaddr_in to4 = {.sin_family = AF_INET,
				  .sin_port = htons(c->b->plan->door.port),
				  .sin_addr.s_addr = v4};

	if (t->is_v4)
		return connect(fd, (const struct sockaddr *)&to4, sizeof to4);
	if (t->addr.is_v6) {
		to6.sin6_addr = egr_id6(id);
	} else {
		to6.sin6_addr.s6_addr[10] = to6.sin6_addr.s6_addr[11] = 0xff;
		memcpy(to6.sin6_addr.s6_addr + 12, &v4, sizeof v4);
	}
	return connect(fd, (const struct sockaddr *)&to6, sizeof to6);
}

static void drop(const struct br_call *c, struct egr_ask *ask)
{
	ask->what = EGR_ASK_DROP;
	(void)send(c->b->plan->door.channel, ask, sizeof *ask, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* When the caller's own limit on connect(2) is over; 0 = never. */
static uint64_t limit_ms(int fd)
{
	struct timeval tv = {0};
	socklen_t len = sizeof tv;

	if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &len) < 0 || (!tv.tv_sec && !tv.tv_usec))
		return 0;
	return br_now_ns() / 1000000 + (uint64_t)tv.tv_sec * 1000 + (uint64_t)tv.tv_usec / 1000 + 1;
}

/* 0, or the errno. A caller that does not wait for the network may still wait here for sbx-egress,
 * which serves other callers first. */
static int announce(struct br_call *c, const struct egr_ask *ask)
{
	int fd = c->b->plan->door.channel;
	ssize_t n = send(fd, ask, sizeof *ask, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN) {
		if (!c->w->waits && !br_may_block(c))
			return EAGAIN;
		n = send(fd, ask, sizeof *ask, MSG_NOSIGNAL);
	}
	return n == (ssize_t)sizeof *ask ? 0 : n < 0 && errno == EINTR ? EINTR : ECONNREFUSED;
}

/* A caller that waits: the connection outside is made first, and its errno is the caller's.
 * *out_is_asked: sbx-egress got the request, and may have begun, whatever happens to the caller. */
static int connect_waiting(struct br_call *c, const struct target *t, struct egr_ask *ask, int fd,
			   bool *out_is_asked)
{
	int at = take_slot(c->b), err;

	*out_is_asked = false;
	if (at < 0)
		return EAGAIN;
	ask->what = EGR_ASK_DIAL;
	ask->slot = (uint16_t)at;
	ask->turn = slots.turn[at];
	err = announce(c, ask);
	*out_is_asked = !err;
	if (!err)
		err = wait_for(c, at, limit_ms(fd));
	give_slot(at);
	if (err == 0 && to_relay(c, t, ask->id, fd) < 0)
		err = errno;
	if (err)
		drop(c, ask);
	return err;
}

/* One that does not: EINPROGRESS, and the other end is connected meanwhile. */
static int connect_at_once(struct br_call *c, const struct target *t, struct egr_ask *ask, int fd,
			   bool *out_is_asked)
{
	int err;

	ask->what = EGR_ASK_CARRY;
	err = announce(c, ask);
	*out_is_asked = !err;
	if (err)
		return err;
	err = to_relay(c, t, ask->id, fd) < 0 ? errno : 0;
	if (err && err != EINPROGRESS)
		drop(c, ask);
	return err;
}

static struct br_answer go_through(struct br_call *c, const struct target *t, const struct who *who,
				   const struct sbx_connect_answer *a, int fd)
{
	struct egr_ask ask = announcement(t, who);
	bool waits = !(fcntl(fd, F_GETFL) & O_NONBLOCK), is_asked;
	int err;

	if (waits && !br_may_block(c))
		return br_fail(EAGAIN);
	err = waits ? connect_waiting(c, t, &ask, fd, &is_asked)
		    : connect_at_once(c, t, &ask, fd, &is_asked);
	/* a caller that was interrupted before makes the call again, or is gone */
	if (err != EINTR || is_asked)
		tell(c, t, who, a, err);
	return err ? br_fail(err) : br_value(0);
}

/* The request itself names the destination; sbx-egress judges it. */
static struct br_answer enter_proxy(struct br_call *c, const struct target *t,
				    const struct who *who, int fd)
{
	struct egr_ask ask = announcement(t, who);
	int err;

	ask.what = EGR_ASK_PROXY;
	ask.pid = (uint32_t)br_tgid(c);
	memcpy(ask.program, who->path, strnlen(who->path, sizeof ask.program - 1));
	if (!(fcntl(fd, F_GETFL) & O_NONBLOCK) && !br_may_block(c))
		return br_fail(EAGAIN);
	err = announce(c, &ask);
	if (err)
		return br_fail(err);
	err = to_relay(c, t, ask.id, fd) < 0 ? errno : 0;
	if (err && err != EINPROGRESS)
		drop(c, &ask);
	return err ? br_fail(err) : br_value(0);
}

/* ---- the call ---- */

static int number(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof value;

	return getsockopt(fd, level, name, &value, &len) < 0 ? -1 : value;
}

/* Only a TCP stream that is neither connected nor connecting is judged. For all other sockets the
 * kernel returns the error; for datagrams, that nothing listens in the namespace. */
static bool is_to_be_judged(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof info;

	if (number(fd, SOL_SOCKET, SO_PROTOCOL) != IPPROTO_TCP)
		return false;
	memset(&info, 0, sizeof info);
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       info.tcpi_state == TCP_STATE_CLOSE;
}

static struct br_answer plainly(struct br_call *c, const struct br_address *a, int fd)
{
	struct target t;

	/* The relay's port accepts only the announced connection, whatever the socket has become
	 * until it is connected. */
	read_target(a, &t);
	if (t.port == c->b->plan->door.port)
		return br_fail(ECONNREFUSED);
	if (!(fcntl(fd, F_GETFL) & O_NONBLOCK) && !br_may_block(c))
		return br_fail(EAGAIN);
	return br_result(connect(fd, &a->any, a->len));
}

bool br_net_is_ours(const struct br_call *c, const struct br_address *a)
{
	return c->b->plan->door.page && is_inet(a);
}

struct br_answer br_net_connect(struct br_call *c, const struct br_address *a, int fd)
{
	struct sbx_connect_answer said = {0};
	struct target t;
	struct who who;
	int rc;

	read_target(a, &t);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	if (!is_to_be_judged(fd))
		return plainly(c, a, fd);
	rc = look_at_caller(c, &who);
	if (rc < 0)
		return br_fail(-rc);
	if (!br_is_alive(c)) /* or it was another's program that we saw */
		return br_fail(EINTR);
	if (is_loopback(&t) && c->b->plan->door.is_proxy && t.port == c->b->plan->door.port)
		return enter_proxy(c, &t, &who, fd);
	if (is_loopback(&t) &&
	    !sbx_connect_is_hosts(c->b->plan->image, &t.addr, t.port, &who.by, &said) &&
	    said.why != SBX_CONNECT_REPLACED)
		return plainly(c, a, fd);
	name_target(c, &t);
	if (sbx_connect_host(c->b->plan->image, &t.host, t.port, &who.by, &said) &&
	    !(said.would_deny && t.port == DNS_PORT))
		return go_through(c, &t, &who, &said, fd);
	/* every name server address leads to the run's own resolver */
	if (t.port == DNS_PORT)
		return plainly(c, a, fd);
	tell(c, &t, &who, &said, EACCES);
	return br_fail(EACCES);
}
