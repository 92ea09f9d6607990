/* SPDX-License-Identifier: Apache-2.0 */
/*
 * door_sockets.c - in a run's network namespace, before anything is given up: every address is a
 * local one, and there are the sockets of the resolver and the relay, which sbx-egress gets
 * outside.
 *
 * All addresses are local (a route of the kernel's, "AnyIP"), so that questions to whatever name
 * server resolv.conf(5) names reach the resolver, and what nobody listens for is refused at once.
 * No packet leaves the namespace, which has no other interface.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "egress/door.h"
#include "launcher/linux/confine/confine_priv.h"

#define DNS_PORT 53
#define BACKLOG	 4096
#define LO	 1 /* the index of the first interface of a namespace */

/* ---- routes ---- */

struct route {
	struct nlmsghdr head;
	struct rtmsg rtm;
	struct rtattr attr;
	uint32_t oif;
};

struct ack {
	struct nlmsghdr head;
	struct nlmsgerr err;
	char rest[sizeof(struct route)];
};

/* `ip route add local default dev lo table local`: 0 or -1 with errno. */
static int make_local(int netlink, unsigned char family)
{
	struct route q = {
		.head = {.nlmsg_len = sizeof q,
			 .nlmsg_type = RTM_NEWROUTE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK,
			 .nlmsg_seq = family},
		.rtm = {.rtm_family = family,
			.rtm_table = RT_TABLE_LOCAL,
			.rtm_protocol = RTPROT_BOOT,
			.rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
			.rtm_type = RTN_LOCAL},
		.attr = {.rta_len = sizeof(struct rtattr) + sizeof(uint32_t), .rta_type = RTA_OIF},
		.oif = LO,
	};
	struct ack a;
	ssize_t n;

	if (send(netlink, &q, sizeof q, 0) < 0)
		return -1;
	n = recv(netlink, &a, sizeof a, 0);
	if (n < (ssize_t)(sizeof a.head + sizeof a.err.error) || a.head.nlmsg_type != NLMSG_ERROR)
		return errno = EPROTO, -1;
	errno = -a.err.error;
	return errno ? -1 : 0;
}

static int make_routes(struct b_err *err)
{
	b_auto_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || make_local(fd, AF_INET) < 0)
		return b_fail_sys(err, B_FLOOR, errno, "the run's network: a local route");
	/* where the kernel has no IPv6 nobody asks for it */
	(void)make_local(fd, AF_INET6);
	return 0;
}

/* ---- sockets ---- */

static int bind_any(int fd, int family, uint16_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const int on = 1;

	if (family == AF_INET)
		return bind(fd, (const struct sockaddr *)&v4, sizeof v4);
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
		return -1;
	return bind(fd, (const struct sockaddr *)&v6, sizeof v6);
}

/* -1 with errno */
static int open_socket(int family, int type, uint16_t port)
{
	b_auto_fd int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind_any(fd, family, port) < 0)
		return -1;
	if (type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		return -1;
	return b_take_fd(&fd);
}

static int port_of(int fd, uint16_t *out)
{
	struct sockaddr_in a;
	socklen_t len = sizeof a;

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return -1;
	*out = ntohs(a.sin_port);
	return 0;
}

/* Where there is no IPv6, /dev/null stands for its sockets. */
static int open_sockets(int fds[EGR_SOCKETS], uint16_t *port, struct b_err *err)
{
	static const struct {
		int family, type;
		bool is_dns;
	} rows[EGR_SOCKETS] = {
		[EGR_DNS4] = {AF_INET, SOCK_DGRAM, true},
		[EGR_DNS6] = {AF_INET6, SOCK_DGRAM, true},
		[EGR_DNS4_TCP] = {AF_INET, SOCK_STREAM, true},
		[EGR_DNS6_TCP] = {AF_INET6, SOCK_STREAM, true},
		[EGR_RELAY4] = {AF_INET, SOCK_STREAM, false},
		[EGR_RELAY6] = {AF_INET6, SOCK_STREAM, false},
	};

	for (int i = 0; i < EGR_SOCKETS; i++) {
		fds[i] = open_socket(rows[i].family, rows[i].type,
				     rows[i].is_dns ? DNS_PORT : *port);
		if (fds[i] < 0 && rows[i].family == AF_INET6)
			fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fds[i] < 0 || (i == EGR_RELAY4 && port_of(fds[i], port) < 0))
			return b_fail_sys(err, B_FLOOR, errno, "the run's network: sockets");
	}
	return 0;
}

/* Sockets by which sbx-egress reaches the run's own servers: it makes none in the namespace. */
static int open_inside(int fds[EGR_INSIDE], struct b_err *err)
{
	for (unsigned i = 0; i < EGR_INSIDE; i++) {
		fds[i] =
			socket(i < EGR_INSIDE4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fds[i] < 0 && i >= EGR_INSIDE4)
			fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fds[i] < 0)
			return b_fail_sys(err, B_FLOOR, errno, "the run's network: sockets");
	}
	return 0;
}

int lau_door_open(int sock, uint16_t *port, bool is_published, struct b_err *err)
{
	enum { MADE = EGR_SOCKETS + EGR_INSIDE };
	int fds[MADE], n = EGR_SOCKETS, rc;

	memset(fds, -1, sizeof fds);
	rc = make_routes(err);
	if (rc == 0)
		rc = open_sockets(fds, port, err);
	if (rc == 0 && is_published) {
		rc = open_inside(fds + EGR_SOCKETS, err);
		n = MADE;
	}
	if (rc == 0 && egr_sockets_send(sock, fds, (size_t)n) < 0)
		rc = b_fail_sys(err, B_SYSTEM, errno, "the run's network");
	for (int i = 0; i < MADE; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return rc;
}
