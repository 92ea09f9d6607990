/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netask.c - asks a run's network about each line "HOST PORT" of standard input, and prints 1 where
 * it may be connected to, else 0.
 *
 *	netask direct	connect(2), which the broker decides
 *	netask proxy	CONNECT at 127.0.0.1:3128, which the relay decides
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NAMES_MAX = 512 };

struct to {
	char host[128];
	struct sockaddr_storage addr;
	socklen_t len; /* 0: there is no such name */
};

static struct to known[NAMES_MAX];
static size_t have;

static void set_port(struct to *t, unsigned port)
{
	if (t->addr.ss_family == AF_INET)
		((struct sockaddr_in *)&t->addr)->sin_port = htons((uint16_t)port);
	else
		((struct sockaddr_in6 *)&t->addr)->sin6_port = htons((uint16_t)port);
}

/* A name is asked for once. */
static struct to *find(const char *host)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *a = NULL;
	struct to *t;

	for (size_t i = 0; i < have; i++)
		if (strcmp(known[i].host, host) == 0)
			return &known[i];
	if (have == NAMES_MAX)
		exit(3);
	t = &known[have++];
	snprintf(t->host, sizeof t->host, "%s", host);
	if (getaddrinfo(host, NULL, &hints, &a) == 0) {
		memcpy(&t->addr, a->ai_addr, a->ai_addrlen);
		t->len = a->ai_addrlen;
		freeaddrinfo(a);
	}
	return t;
}

static bool ask_broker(const char *host, unsigned port)
{
	struct to *t = find(host);
	int fd, rc;

	if (!t->len)
		return false;
	set_port(t, port);
	fd = socket(t->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		exit(4);
	rc = connect(fd, (struct sockaddr *)&t->addr, t->len) < 0 ? errno : 0;
	close(fd);
	if (rc && rc != EINPROGRESS && rc != EACCES) {
		fprintf(stderr, "%s %u: %s\n", host, port, strerror(rc));
		exit(5);
	}
	return rc != EACCES;
}

static bool ask_relay(const char *host, unsigned port)
{
	const struct sockaddr_in proxy = {.sin_family = AF_INET,
					  .sin_port = htons(3128),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_v6 = strchr(host, ':');
	char text[512] = "";
	ssize_t n;

	snprintf(text, sizeof text, "CONNECT %s%s%s:%u HTTP/1.1\r\n\r\n", is_v6 ? "[" : "", host,
		 is_v6 ? "]" : "", port);
	if (connect(fd, (const struct sockaddr *)&proxy, sizeof proxy) < 0 ||
	    write(fd, text, strlen(text)) < 0)
		exit(6);
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n < 12 || strncmp(text, "HTTP/1.1 ", 9) != 0) {
		fprintf(stderr, "%s %u: the proxy said nothing\n", host, port);
		exit(7);
	}
	return strncmp(text + 9, "403", 3) != 0;
}

int main(int argc, char **argv)
{
	bool by_proxy = argc > 1 && strcmp(argv[1], "proxy") == 0;
	char host[128];
	unsigned port;

	while (scanf("%127s %u", host, &port) == 2)
		puts((by_proxy ? ask_relay(host, port) : ask_broker(host, port)) ? "1" : "0");
	return 0;
}
