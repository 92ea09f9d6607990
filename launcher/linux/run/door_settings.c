/* SPDX-License-Identifier: Apache-2.0 */
/* door_settings.c - what a policy says of the network beside its rules: limits, published ports,
 * the proxy upstream. Written for sbx-egress before anything else runs. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/linux/run/start_egress.h"
#include "policy/engine.h"

#define BACKLOG 1024

/* ---- published ports ---- */

/* -1 with errno */
static int open_listener(const struct sockaddr *a, socklen_t len)
{
	const int on = 1;
	b_auto_fd int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
	    bind(fd, a, len) < 0 || listen(fd, BACKLOG) < 0)
		return -1;
	return b_take_fd(&fd);
}

static void take_listener(struct lau_door *d, int fd, uint16_t port)
{
	d->fd[EGR_SOCKETS + d->page->publish.n] = fd;
	d->page->publish.port[d->page->publish.n++] = port;
}

/* At both loopback addresses; where the host has no IPv6 at the one. */
static int publish(struct lau_door *d, uint16_t port, struct b_err *err)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
					.sin6_port = htons(port),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = open_listener((const struct sockaddr *)&v4, sizeof v4);

	if (fd < 0)
		return b_fail(err, B_SYSTEM, errno, "publish: port %u of 127.0.0.1: %s", port,
			      errno == EADDRINUSE ? "another program has it: end that, or publish "
						    "another port"
						  : strerror(errno));
	take_listener(d, fd, port);
	fd = open_listener((const struct sockaddr *)&v6, sizeof v6);
	if (fd >= 0)
		take_listener(d, fd, port);
	return 0;
}

/* ---- the proxy upstream ---- */

static size_t decode_percent(const char *s, size_t n, char *out, size_t room)
{
	size_t have = 0;

	for (size_t i = 0; i < n && have < room; i++) {
		unsigned byte;

		if (s[i] == '%' && i + 2 < n && sscanf(s + i + 1, "%2x", &byte) == 1) {
			out[have++] = (char)byte;
			i += 2;
		} else {
			out[have++] = s[i];
		}
	}
	return have;
}

/* RFC 7617; `out` has room for four bytes of three and the rest. */
static void encode_basic(const char *s, size_t n, char *out)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	out = stpcpy(out, "Basic ");
	for (size_t i = 0; i < n; i += 3) {
		unsigned long bits = (unsigned long)(unsigned char)s[i] << 16;

		bits |= i + 1 < n ? (unsigned long)(unsigned char)s[i + 1] << 8 : 0;
		bits |= i + 2 < n ? (unsigned char)s[i + 2] : 0;
		*out++ = letters[bits >> 18 & 63];
		*out++ = letters[bits >> 12 & 63];
		*out++ = i + 1 < n ? letters[bits >> 6 & 63] : '=';
		*out++ = i + 2 < n ? letters[bits & 63] : '=';
	}
	*out = '\0';
}

static int set_upstream(struct egr_upstream *to, const char *url, struct b_err *err)
{
	struct pol_upstream u;
	char login[256];
	size_t n;

	if (pol_upstream_parse(url, &u) < 0)
		return b_fail(err, B_USAGE, 0, "the proxy upstream: expected http://HOST:PORT");
	memcpy(to->host, u.host, u.host_len);
	to->host[u.host_len] = '\0';
	to->port = u.port;
	if (!u.userinfo)
		return 0;
	n = decode_percent(u.userinfo, u.userinfo_len, login, sizeof login);
	if (n == sizeof login)
		return b_fail(err, B_LIMIT, 0,
			      "the proxy upstream: a login of more than 255 bytes");
	encode_basic(login, n, to->auth);
	return 0;
}

int lau_door_settle(struct lau_door *d, const struct pol_effect *effect, struct b_err *err)
{
	d->page->limits = (struct egr_limits){.connections = effect->net_limits.connections,
					      .bytes = effect->net_limits.bytes,
					      .rate = effect->net_limits.rate};
	if (effect->upstream && set_upstream(&d->page->upstream, effect->upstream, err) < 0)
		return -1;
	for (size_t i = 0; i < effect->publish.n; i++)
		if (publish(d, effect->publish.v[i], err) < 0)
			return -1;
	return 0;
}
