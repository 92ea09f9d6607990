/* SPDX-License-Identifier: Apache-2.0 */
/* inherit_sockets.c - see inherit.h: sockets of the network, and the ways by which one of the
 * host's could reach another peer. */
#include "inherit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "selftest/probes.h"

static struct sockaddr_in service(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static int to_inet(int fd, int port)
{
	struct sockaddr_in sa = service(port);

	return connect(fd, (struct sockaddr *)&sa, sizeof sa);
}
int g_tcp(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}
int g_tcp_connected(void)
{
	int fd = g_tcp();

	return fd < 0 || to_inet(fd, st_outside()->tcp) < 0 ? -1 : fd;
}
/* Connected without waiting, as event loops do: to the kernel it stays one that connects, and is
 * free again once its peer has gone, which it does when it hears something. */
static int connected_at_once(int protocol)
{
	struct sockaddr_in sa = service(0);
	const struct linger at_once = {1, 0};
	struct pollfd p = {.events = POLLOUT};
	socklen_t n = sizeof sa;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol), peer;
	char c;

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, protocol);
	if (listener < 0 || p.fd < 0 || bind(listener, (struct sockaddr *)&sa, n) < 0 ||
	    listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&sa, &n) < 0 ||
	    to_inet(p.fd, ntohs(sa.sin_port)) == 0 || errno != EINPROGRESS || poll(&p, 1, 1000) < 1)
		return -1;
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (peer < 0 || setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) < 0)
		return -1;
	if (fork() == 0) {
		close(p.fd);
		close(listener);
		alarm(20);
		(void)!read(peer, &c, 1);
		_exit(0);
	}
	close(peer);
	return fcntl(p.fd, F_SETFL, 0) < 0 ? -1 : p.fd;
}
int g_tcp_nonblocking(void)
{
	return connected_at_once(0);
}
int g_mptcp(void)
{
	return connected_at_once(262);
}
int g_raw(void)
{
	return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}
int g_sctp(void)
{
	return socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
}
int g_vsock(void)
{
	return socket(AF_VSOCK, SOCK_STREAM, 0);
}
int g_udp(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}
int g_udp_connected(void)
{
	int fd = g_udp();

	return fd < 0 || to_inet(fd, 9) < 0 ? -1 : fd;
}
/* Free for another peer: the host's service. */
int u_reconnect(int fd)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	if (connect(fd, &none, sizeof none) < 0)
		return -1;
	return to_inet(fd, st_outside()->tcp);
}
int u_relisten(int fd)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	(void)connect(fd, &none, sizeof none);
	return listen(fd, 1);
}
int u_rebind(int fd)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	struct sockaddr_in any = service(0);

	(void)connect(fd, &none, sizeof none);
	return bind(fd, (struct sockaddr *)&any, sizeof any);
}
int u_connect(int fd)
{
	return to_inet(fd, st_outside()->tcp);
}
int u_listen(int fd)
{
	return listen(fd, 1);
}
int u_sendto(int fd)
{
	struct sockaddr_in sa = service(st_outside()->udp);

	return sendto(fd, "x", 1, 0, (struct sockaddr *)&sa, sizeof sa) == 1 ? 0 : -1;
}
/* By data in place of connect(2) (ip-sysctl.rst, tcp_fastopen), once the peer has gone; by the
 * three calls that take its flag. */
static int fast_open(int fd, unsigned how)
{
	struct sockaddr_in sa = service(st_outside()->tcp);
	char x[] = "x";
	struct iovec iov = {x, 1};
	struct mmsghdr m = {.msg_hdr = {.msg_name = &sa,
					.msg_namelen = sizeof sa,
					.msg_iov = &iov,
					.msg_iovlen = 1}};
	const int flags = MSG_FASTOPEN | MSG_NOSIGNAL;

	if (how == 0)
		return sendto(fd, x, 1, flags, (struct sockaddr *)&sa, sizeof sa) == 1 ? 0 : -1;
	if (how == 1)
		return sendmsg(fd, &m.msg_hdr, flags) == 1 ? 0 : -1;
	return sendmmsg(fd, &m, 1, flags) == 1 ? 0 : -1;
}
static int after_its_peer(int fd, unsigned how)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int rc = -1;

	if (send(fd, "x", 1, MSG_NOSIGNAL) == 1)
		(void)poll(&p, 1, 2000);
	for (unsigned i = 0; i < 3 && rc < 0; i++)
		rc = fast_open(fd, how);
	return rc;
}
int u_sendto_again(int fd)
{
	return after_its_peer(fd, 0);
}
int u_sendmsg_again(int fd)
{
	return after_its_peer(fd, 1);
}
int u_sendmmsg_again(int fd)
{
	return after_its_peer(fd, 2);
}
/* Any packet, as if another had sent it: here one whose checksum is wrong. */
int u_packet(int fd)
{
	struct sockaddr_in sa = service(0);

	return sendto(fd, "\10\0\0\0\0\0\0\0", 8, 0, (struct sockaddr *)&sa, sizeof sa) == 8 ? 0
											     : -1;
}
