/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoints.c - connections to the servers outside (servers.c): addresses in all their forms,
 * sockets of all kinds, the programs that rules name and those that they do not, in any order of
 * fork(2) and execve(2), names that are asked for, and the proxy of a run that has one.
 */
#include "composites.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARG(i) ak_argument(t, op, (i))
#define LEN(a) (sizeof(a) / sizeof *(a))
#define OWN_FD 128 /* of a program that is named: no other has it (ak_op_steal_fd) */

/* ---- addresses ---- */

static uint16_t a_port(uint32_t v)
{
	const int odd[] = {ak.host_port, 53, 3128, 80, 0};

	if (v & 1)
		return (uint16_t)odd[(v >> 1) % LEN(odd)];
	return (uint16_t)(ak.port[0] ? ak.port[(v >> 1) % AK_PORTS] : ak.host_port);
}

static socklen_t as_v6(struct sockaddr_storage *room, uint16_t port, uint32_t form, uint32_t v4)
{
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)room;

	in->sin6_family = AF_INET6;
	in->sin6_port = htons(port);
	if (form % 4 == 0) {
		in->sin6_addr.s6_addr[15] = form % 8 ? 1 : 0;
	} else {
		v4 = htonl(v4);
		in->sin6_addr.s6_addr[10] = in->sin6_addr.s6_addr[11] = 0xff;
		memcpy(in->sin6_addr.s6_addr + 12, &v4, 4);
	}
	return form % 3 ? sizeof *in : 24;
}

/* Mostly of the loopback interface; of the relay's own, of a name's, of nobody's (RFC 5737). */
socklen_t ak_net_address(uint32_t v, struct sockaddr_storage *room)
{
	static const uint32_t at[] = {0x7f000001, 0x7f000001, 0x7f000001, 0x7f000001,
				      0x7f000002, 0,	      0xc6120001, 0xc6120002,
				      0x7f800001, 0xc0000222, 0xc6336409, 0xcb007104};
	struct sockaddr_in *in = (struct sockaddr_in *)room;
	uint32_t v4 = at[(v >> 4 & 15) % LEN(at)];

	if ((v >> 8 & 31) % 3 == 0)
		return as_v6(room, a_port(v & 15), v >> 9 & 15, v4);
	in->sin_family = AF_INET;
	in->sin_port = htons(a_port(v & 15));
	in->sin_addr.s_addr = htonl(v4);
	return sizeof *in;
}

static struct sockaddr_in server(unsigned k)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)ak.port[k]),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- sockets ---- */

/* A new one, as programs make them, and with what could lead its bytes elsewhere. */
long ak_op_net_socket(struct ak_thread *t, const struct ak_op *op)
{
	static const int types[] = {SOCK_STREAM, SOCK_STREAM | SOCK_NONBLOCK,
				    SOCK_STREAM | SOCK_NONBLOCK, SOCK_DGRAM | SOCK_NONBLOCK};
	static const int options[][2] = {{IPPROTO_TCP, TCP_FASTOPEN_CONNECT},
					 {IPPROTO_IP, 4 /* IP_OPTIONS */},
					 {SOL_SOCKET, SO_SNDTIMEO},
					 {IPPROTO_IPV6, 26 /* IPV6_V6ONLY */}};
	const struct timeval soon = {0, 20000};
	int fd = socket(op->v[0] % 3 ? AF_INET : AF_INET6, types[op->v[1] % 4],
			op->v[1] % 29 ? 0 : 262 /* MPTCP */);
	const int *o = options[op->v[3] % 4], on = 1;

	if (fd < 0)
		return -1;
	if (op->v[1] % 4 == 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
	if (op->v[2] % 3 == 0)
		(void)setsockopt(fd, o[0], o[1], o[1] == SO_SNDTIMEO ? (const void *)&soon : &on,
				 o[1] == SO_SNDTIMEO ? sizeof soon : sizeof on);
	ak_take_fd(t, fd, op->v[4] % 3 ? 14 : op->v[4]);
	return 0;
}

long ak_op_net_talk(struct ak_thread *t, const struct ak_op *op)
{
	struct sockaddr_storage to = {0};
	socklen_t n = ak_net_address(op->v[1], &to);
	int fd = (int)ARG(0);
	/* the word alone, or to somewhere at once */
	ssize_t rc =
		op->v[2] % 3
			? send(fd, AK_WORD_ATTACK, AK_WORD, MSG_DONTWAIT | MSG_NOSIGNAL)
			: sendto(fd, AK_WORD_ATTACK, AK_WORD,
				 MSG_DONTWAIT | MSG_NOSIGNAL | (op->v[3] % 2 ? MSG_FASTOPEN : 0),
				 (const void *)&to, n);

	if (recv(fd, t->room, 64, MSG_DONTWAIT) > 0)
		ak_scan(t->room, 64, t->op, "a socket");
	return rc;
}

/* ---- the program `reach`: which servers let it in? ---- */

static void come_to(int port, const char *word, bool waits)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (waits ? 0 : SOCK_NONBLOCK), 0),
	    fd = fcntl(made, F_DUPFD_CLOEXEC, OWN_FD);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char room[16];

	close(made);
	if (connect(fd, (const void *)&at, sizeof at) == 0 || errno == EINPROGRESS) {
		(void)!send(fd, word, AK_WORD, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (poll(&p, 1, 20) > 0)
			(void)!recv(fd, room, sizeof room, MSG_DONTWAIT);
	}
	close(fd);
}

/* reach WORD MANNER DEPTH NAMED SHUT OTHER: by itself, and by what it starts. */
int ak_reach(char **argv)
{
	unsigned manner = (unsigned)atoi(argv[1]), depth = (unsigned)atoi(argv[2]);
	char less[16], self[256], *again[] = {argv[-1], argv[-1], argv[0], argv[1], less,
					      argv[3],	argv[4],  argv[5], NULL};
	char *envp[] = {NULL}, *end;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 20);
	pid_t pid, parent = getpid();

	alarm(1);
	for (unsigned i = 0; i < 3; i++)
		come_to(atoi(argv[3 + (manner + i) % 3]), argv[0], manner % 2);
	self[n > 0 ? n : 0] = '\0';
	end = strrchr(self, '/');
	if (!depth || !end)
		return 0;
	strcpy(end, "/attacker"); /* another program, which nobody names */
	snprintf(less, sizeof less, "%u", depth - 1);
	if (manner % 5 == 0) { /* becomes it */
		(void)execve(self, again, envp);
		return 1;
	}
	pid = fork();
	if (pid == 0) {
		struct timespec ts = {0, 100000};

		alarm(1);
		for (unsigned i = 0; manner % 5 == 1 && getppid() == parent && i < 500; i++)
			nanosleep(&ts, NULL); /* until it is an orphan */
		if (manner % 5 == 2)
			ak_reach(again + 2);
		else
			(void)execve(self, again, envp);
		_exit(0);
	}
	if (pid > 0 && manner % 5 != 1)
		waitpid(pid, NULL, 0);
	return 0;
}

/* ---- programs that are named, and not ---- */

static _Noreturn void become(const char *name, const char *word, uint32_t manner, unsigned depth)
{
	char file[128], text[5][16], verb[] = "reach", say[AK_WORD + 1];
	char *argv[] = {verb, verb, say, text[0], text[1], text[2], text[3], text[4], NULL},
	     *envp[] = {NULL};

	snprintf(file, sizeof file, "%s/bin/%s", ak.base, name);
	snprintf(say, sizeof say, "%s", word);
	snprintf(text[0], 16, "%u", manner % 1000);
	snprintf(text[1], 16, "%u", depth);
	for (unsigned i = 0; i < 3; i++)
		snprintf(text[2 + i], 16, "%d", ak.port[AK_P_NAMED + i]);
	alarm(1);
	syscall(SYS_execve, file, argv, envp);
	_exit(9);
}

long ak_op_named(struct ak_thread *t, const struct ak_op *op)
{
	bool is_named = op->v[0] % 3;
	pid_t pid = fork();
	int status;

	(void)t;
	if (pid == 0)
		become(is_named ? "named" : "attacker", is_named ? AK_WORD_NAMED : AK_WORD_ATTACK,
		       op->v[1], op->v[2] % 4);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return pid;
}

struct racer {
	int fd;
	unsigned port;
};

static void *connect_on(void *arg)
{
	const struct racer *r = arg;
	const struct sockaddr_in to = server(r->port);
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	for (;;) {
		(void)syscall(SYS_connect, r->fd, &to, sizeof to);
		(void)send(r->fd, AK_WORD_ATTACK, AK_WORD, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)syscall(SYS_connect, r->fd, &none, sizeof none);
	}
	return NULL;
}

/* A process connects while it becomes the program that may: who holds the socket besides it has it
 * then. The other way round a program that may not becomes one of which nothing is said. */
long ak_op_become_named(struct ak_thread *t, const struct ak_op *op)
{
	struct racer r = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
			  .port = op->v[0] % 4 ? AK_P_NAMED : AK_P_OTHER};
	struct timespec ts = {0, (long)(op->v[1] % 900) * 1000};
	pid_t pid = fork();
	pthread_t thread;
	int status = 0;

	(void)t;
	if (pid == 0) {
		pthread_create(&thread, NULL, connect_on, &r);
		nanosleep(&ts, NULL);
		become("named", AK_WORD_NAMED, op->v[2], op->v[3] % 2);
	}
	for (unsigned i = 0; pid > 0 && i < 200 && waitpid(pid, &status, WNOHANG) == 0; i++) {
		struct timespec bit = {0, 200000};

		(void)send(r.fd, AK_WORD_ATTACK, AK_WORD, MSG_DONTWAIT | MSG_NOSIGNAL);
		nanosleep(&bit, NULL);
	}
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	close(r.fd);
	return pid;
}

/* ---- names ---- */

/* A question for an A record of one of these; what comes back is where the name is connected to. */
long ak_op_ask_name(struct ak_thread *t, const struct ak_op *op)
{
	static const char *const asked[] = {"\2aa\6attack\4test", "\4none\4test",
					    "\2bb\6attack\4test", "\11localhost",
					    "\3127\1\060\1\060\1\061"};
	const char *name = asked[op->v[0] % LEN(asked)];
	const struct sockaddr_in dns = {.sin_family = AF_INET,
					.sin_port = htons(53),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in to = server(op->v[1] % AK_PORTS);
	unsigned char q[128] = {0x12, 0x34, 1, 0, 0, 1};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), out;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t n = 12 + strlen(name) + 1;
	ssize_t got;

	memcpy(q + 12, name, strlen(name));
	memcpy(q + n, (const unsigned char[]){0, op->v[2] % 5 ? 1 : 28, 0, 1}, 4);
	if (fd < 0)
		return -1;
	got = sendto(fd, q, n + 4, MSG_NOSIGNAL, (const void *)&dns, sizeof dns);
	if (got > 0 && poll(&p, 1, 30) > 0)
		got = recv(fd, t->room, 512, MSG_DONTWAIT);
	else
		got = -1;
	close(fd);
	if (got < (ssize_t)n + 20 || t->room[7] == 0)
		return got > 0 ? 0 : -1;
	memcpy(&to.sin_addr, t->room + got - 4, 4);
	out = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	(void)syscall(SYS_connect, out, &to, sizeof to);
	(void)send(out, AK_WORD_ATTACK, AK_WORD, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(out);
	return 0;
}

/* ---- the proxy ---- */

long ak_op_by_proxy(struct ak_thread *t, const struct ak_op *op)
{
	static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]", "aa.attack.test",
					    "none.test"};
	const struct sockaddr_in proxy = {.sin_family = AF_INET,
					  .sin_port = htons(3128),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (op->v[3] % 2 ? SOCK_NONBLOCK : 0), 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	const char *host = hosts[op->v[0] % LEN(hosts)];
	int port = ak.port[op->v[1] % AK_PORTS], n;
	char text[300];
	long rc;

	if (op->v[2] % 3)
		n = snprintf(text, sizeof text, "CONNECT %s:%d HTTP/1.1\r\n\r\n" AK_WORD_ATTACK,
			     host, port);
	else
		n = snprintf(text, sizeof text,
			     "GET http://%s:%d/x HTTP/1.1\r\nHost: %s:%d\r\n\r\n", host, port, host,
			     op->v[4] % 2 ? port : ak.port[AK_P_OTHER]);
	rc = syscall(SYS_connect, fd, &proxy, sizeof proxy);
	if (rc == 0 || errno == EINPROGRESS) {
		rc = send(fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (poll(&p, 1, 10) > 0 && recv(fd, t->room, 512, MSG_DONTWAIT) > 0)
			ak_scan(t->room, 512, t->op, "a proxy");
	}
	if (fd >= 0)
		close(fd);
	return rc;
}
