/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tlsload.c - a server of HTTPS, and clients that measure: microseconds, or megabytes a second.
 *
 *	tlsload serve ADDRESS PORT CERTIFICATE KEY
 *	tlsload new|request|bulk|hold ADDRESS PORT N [PROXY-PORT]
 *
 * `new`: N connections with a request each. `request`: N requests on one. `bulk`: one answer of N
 * MiB. `hold`: N connections with a request each, that stay until the standard input ends. With a
 * PROXY-PORT by CONNECT to 127.0.0.1. Certificates are verified (SSL_CERT_FILE).
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 256 << 10 };

static SSL_CTX *ctx;
static const char *host;
static unsigned short port, proxy;

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "tlsload: %s\n", what);
	exit(1);
}

/* ---- the server: GET /N answers N bytes ---- */

static int answer(SSL *s, char *head)
{
	static const char block[BLOCK];
	long left = strncmp(head, "GET /", 5) == 0 ? atol(head + 5) : 0;
	char text[128];
	int n = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\n\r\n", left);

	if (SSL_write(s, text, n) != n)
		return -1;
	for (; left > 0; left -= n) {
		n = SSL_write(s, block, left < BLOCK ? (int)left : BLOCK);
		if (n <= 0)
			return -1;
	}
	return 0;
}

static void *serve_one(void *arg)
{
	int fd = (int)(long)arg, on = 1, n = 0, got;
	SSL *s = SSL_new(ctx);
	char head[4096];

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	SSL_set_fd(s, fd);
	if (SSL_accept(s) == 1)
		while ((got = SSL_read(s, head + n, (int)sizeof head - 1 - n)) > 0) {
			n += got;
			head[n] = '\0';
			if (!strstr(head, "\r\n\r\n"))
				continue;
			if (answer(s, head) < 0)
				break;
			n = 0;
		}
	SSL_free(s);
	close(fd);
	return NULL;
}

static void serve(const char *certificate, const char *key)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, c;
	pthread_attr_t attr;
	pthread_t t;

	ctx = SSL_CTX_new(TLS_server_method());
	if (SSL_CTX_use_certificate_chain_file(ctx, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		die("certificate");
	inet_pton(AF_INET, host, &a.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 4096) < 0)
		die("listen");
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 256 << 10);
	puts("ready");
	fflush(stdout);
	while ((c = accept(fd, NULL, NULL)) >= 0)
		if (pthread_create(&t, &attr, serve_one, (void *)(long)c) != 0)
			close(c);
}

/* ---- clients ---- */

static void ask_proxy(int fd)
{
	char text[512];
	int n = snprintf(text, sizeof text, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", host,
			 port, host, port);

	if (write(fd, text, (size_t)n) != n)
		die("proxy");
	for (n = 0; n < (int)sizeof text - 1; n++) {
		if (read(fd, text + n, 1) != 1)
			die("the proxy has closed");
		text[n + 1] = '\0';
		if (strstr(text, "\r\n\r\n"))
			break;
	}
	if (!strstr(text, " 200"))
		die(text);
}

static SSL *open_one(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(proxy ? proxy : port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	SSL *s = SSL_new(ctx);

	inet_pton(AF_INET, proxy ? "127.0.0.1" : host, &a.sin_addr);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
		die("connect");
	if (proxy)
		ask_proxy(fd);
	X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s), host);
	SSL_set_fd(s, fd);
	if (SSL_connect(s) != 1)
		die("no TLS, or a certificate that is not good");
	return s;
}

static void close_one(SSL *s)
{
	int fd = SSL_get_fd(s);

	(void)SSL_shutdown(s);
	SSL_free(s);
	close(fd);
}

static void request(SSL *s, long size)
{
	static char block[BLOCK];
	char text[256], *end;
	int n = snprintf(text, sizeof text, "GET /%ld HTTP/1.1\r\nHost: %s:%u\r\n\r\n", size, host,
			 port);

	if (SSL_write(s, text, n) != n)
		die("write");
	for (n = 0; n < BLOCK - 1;) {
		int got = SSL_read(s, block + n, BLOCK - 1 - n);

		if (got <= 0)
			die("the server has closed");
		n += got;
		block[n] = '\0';
		end = strstr(block, "\r\n\r\n");
		if (end) {
			size -= n - (end + 4 - block);
			break;
		}
	}
	if (!strstr(block, " 200 "))
		die(block);
	while (size > 0) {
		n = SSL_read(s, block, BLOCK);
		if (n <= 0)
			die("the answer breaks off");
		size -= n;
	}
}

static double measure(const char *what, long n)
{
	double start = now_us();
	SSL *s;

	if (strcmp(what, "new") == 0) {
		for (long i = 0; i < n; i++) {
			s = open_one();
			request(s, 100);
			close_one(s);
		}
		return (now_us() - start) / (double)n;
	}
	s = open_one();
	request(s, 100);
	start = now_us();
	if (strcmp(what, "bulk") == 0) {
		request(s, n << 20);
		return (double)(n << 20) / (now_us() - start);
	}
	for (long i = 0; i < n; i++)
		request(s, 100);
	return (now_us() - start) / (double)n;
}

static void hold(long n)
{
	for (long i = 0; i < n; i++)
		request(open_one(), 100);
	puts("held");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		die("usage: see its head");
	(void)signal(SIGPIPE, SIG_IGN);
	host = argv[2];
	port = (unsigned short)atoi(argv[3]);
	if (strcmp(argv[1], "serve") == 0 && argc > 5) {
		serve(argv[4], argv[5]);
		return 1;
	}
	proxy = argc > 5 ? (unsigned short)atoi(argv[5]) : 0;
	ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_default_verify_paths(ctx);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	if (strcmp(argv[1], "hold") == 0)
		hold(atol(argv[4]));
	else
		printf("%.2f\n", measure(argv[1], atol(argv[4])));
	return 0;
}
