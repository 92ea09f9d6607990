/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netload.c - a server, and clients that measure: microseconds, or megabytes a second.
 *
 *	netload serve ADDRESS PORT
 *	netload new|request|bulk|denied|hold ADDRESS PORT N
 *
 * The server sends back what comes; to a B it sends 64 MiB.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BULK = 64 << 20 };

static struct sockaddr_in to = {.sin_family = AF_INET};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void *serve_one(void *arg)
{
	static char block[256 << 10];
	int fd = (int)(long)arg, on = 1;
	char in[4096];
	ssize_t n;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	while ((n = read(fd, in, sizeof in)) > 0) {
		if (in[0] != 'B') {
			if (write(fd, in, (size_t)n) < 0)
				break;
			continue;
		}
		for (long left = BULK; left > 0; left -= n) {
			n = write(fd, block, sizeof block);
			if (n <= 0)
				break;
		}
	}
	close(fd);
	return NULL;
}

static int serve(void)
{
	int l = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	(void)setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(l, (struct sockaddr *)&to, sizeof to) < 0 || listen(l, 4096) < 0)
		return perror("netload"), 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		int fd = accept(l, NULL, NULL);
		pthread_t t;

		if (fd >= 0 && pthread_create(&t, &small, serve_one, (void *)(long)fd) != 0)
			close(fd);
	}
}

/* A socket that is connected; -1 with errno. */
static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	close(fd);
	return -1;
}

static void one_new(void)
{
	struct linger reset = {1, 0};
	char c = 'x';
	int fd = dial();

	if (fd < 0 || write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1)
		exit(2);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	close(fd);
}

static double bulk(void)
{
	static char block[256 << 10];
	int fd = dial();
	double begun = now_us();
	long got = 0;
	ssize_t n;

	if (fd < 0 || write(fd, "B", 1) != 1)
		exit(2);
	while (got < BULK && (n = read(fd, block, sizeof block)) > 0)
		got += n;
	close(fd);
	return (double)got / (now_us() - begun); /* MB/s */
}

static void hold(long n)
{
	struct rlimit lim;
	long up = 0;
	char c = 'x';

	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	for (long i = 0; i < n; i++) {
		int fd = dial();

		up += fd >= 0 && write(fd, &c, 1) == 1 && read(fd, &c, 1) == 1;
	}
	printf("held %ld\n", up);
	fflush(stdout);
	sleep(3);
}

static double each(const char *what, long n)
{
	int fd = strcmp(what, "request") == 0 ? dial() : -1;
	double begun = now_us();
	char c = 'x';

	for (long i = 0; i < n; i++) {
		if (fd >= 0) {
			if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1)
				exit(2);
		} else if (strcmp(what, "denied") == 0) {
			if (dial() >= 0 || (errno != EACCES && errno != ECONNREFUSED))
				exit(2);
		} else {
			one_new();
		}
	}
	return (now_us() - begun) / (double)n;
}

int main(int argc, char **argv)
{
	if (argc < 4 || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons((uint16_t)atoi(argv[3]));
	if (strcmp(argv[1], "serve") == 0)
		return serve();
	if (strcmp(argv[1], "hold") == 0)
		return hold(atol(argv[4])), 0;
	if (strcmp(argv[1], "bulk") == 0)
		printf("%.0f\n", bulk());
	else
		printf("%.2f\n", each(argv[1], atol(argv[4])));
	return 0;
}
