/* SPDX-License-Identifier: Apache-2.0 */
/*
 * servers.c - what listens outside on the host's loopback interface, where the policy has rules on
 * endpoints (session.c), and who may come to it. Whoever comes says who it is: ATTACK, or NAMED
 * where it goes back to the program that rules name (endpoints.c).
 *
 *	open	for all programs of the run: both
 *	named	for the program `named`, and what it starts: NAMED
 *	shut	for all, but not for `named`: ATTACK
 *	other	for a program that nobody executes: nobody, not even a silent connection
 */
#include "attack.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LISTENERS (2 * AK_PORTS)
#define GUESTS	  96
#define SILENT_MS 2000

static const char *const names[AK_PORTS] = {"open", "named", "shut", "other"};

struct guest {
	int fd;
	unsigned port;
	uint64_t until_ms;
};

struct ak_servers {
	int listener[LISTENERS]; /* of a port the one of IPv4, the one of IPv6 or -1 */
	struct guest guest[GUESTS];
	unsigned nguests;
	_Atomic bool is_over;
	pthread_t thread;
	pthread_mutex_t lock;
	/* with the lock */
	struct {
		unsigned port;
		char word[8];
	} wrong[AK_FINDINGS];
	unsigned nwrong;
	uint64_t reached[AK_PORTS];
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int listen_at(const void *a, socklen_t n)
{
	const struct sockaddr *any = a;
	int fd = socket(any->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -1;
	if (any->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, any, n) == 0 && listen(fd, 512) == 0)
		return fd;
	close(fd);
	return -1;
}

static int open_port(struct ak_servers *s, unsigned k)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t n = sizeof v4;

	s->listener[2 * k] = listen_at(&v4, sizeof v4);
	if (s->listener[2 * k] < 0 || getsockname(s->listener[2 * k], (void *)&v4, &n) < 0)
		return -1;
	v6.sin6_port = v4.sin_port;
	s->listener[2 * k + 1] = listen_at(&v6, sizeof v6);
	return ntohs(v4.sin_port);
}

/* ---- who comes ---- */

static bool may_come(unsigned port, const char *word)
{
	bool is_named = !strncmp(word, AK_WORD_NAMED, AK_WORD);

	switch (port) {
	case AK_P_OPEN:
		return true;
	case AK_P_NAMED:
		return is_named;
	case AK_P_SHUT:
		return !is_named;
	}
	return false;
}

static void judge(struct ak_servers *s, unsigned port, const char *word)
{
	if (may_come(port, word))
		return;
	pthread_mutex_lock(&s->lock);
	if (s->nwrong < AK_FINDINGS) {
		s->wrong[s->nwrong].port = port;
		snprintf(s->wrong[s->nwrong++].word, 8, "%.7s", word);
	}
	pthread_mutex_unlock(&s->lock);
}

static void welcome(struct ak_servers *s, unsigned at)
{
	int fd;

	while (s->nguests < GUESTS &&
	       (fd = accept4(s->listener[at], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		s->guest[s->nguests++] =
			(struct guest){.fd = fd, .port = at / 2, .until_ms = now_ms() + SILENT_MS};
		pthread_mutex_lock(&s->lock);
		s->reached[at / 2]++;
		pthread_mutex_unlock(&s->lock);
		if (at / 2 == AK_P_OTHER)
			judge(s, at / 2, "nobody");
	}
}

/* Has it said who it is, or gone? */
static bool hears(struct ak_servers *s, struct guest *g)
{
	char word[AK_WORD + 1] = "";
	ssize_t n = recv(g->fd, word, AK_WORD, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR) && now_ms() < g->until_ms)
		return false;
	if (n > 0) {
		judge(s, g->port, word);
		(void)!send(g->fd, "heard", 5, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	return true;
}

static void *serve(void *arg)
{
	struct ak_servers *s = arg;

	while (!s->is_over) {
		struct pollfd p[LISTENERS + GUESTS];
		unsigned n = 0;

		for (; n < LISTENERS; n++)
			p[n] = (struct pollfd){.fd = s->nguests < GUESTS ? s->listener[n] : -1,
					       .events = POLLIN};
		for (unsigned i = 0; i < s->nguests; i++)
			p[n++] = (struct pollfd){.fd = s->guest[i].fd, .events = POLLIN};
		if (poll(p, n, 20) < 0)
			continue;
		for (unsigned i = s->nguests; i-- > 0;)
			if (hears(s, &s->guest[i])) {
				close(s->guest[i].fd);
				s->guest[i] = s->guest[--s->nguests];
			}
		for (unsigned i = 0; i < LISTENERS; i++)
			if (p[i].fd >= 0 && p[i].revents)
				welcome(s, i);
	}
	return NULL;
}

/* ---- for the session ---- */

struct ak_servers *ak_servers_start(int out_port[AK_PORTS])
{
	struct ak_servers *s = calloc(1, sizeof *s);

	if (!s)
		abort();
	pthread_mutex_init(&s->lock, NULL);
	for (unsigned i = 0; i < AK_PORTS; i++)
		if ((out_port[i] = open_port(s, i)) < 0)
			abort();
	if (pthread_create(&s->thread, NULL, serve, s) != 0)
		abort();
	return s;
}

void ak_servers_check(struct ak_servers *s, struct ak_outcome *out)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->nwrong; i++)
		ak_world_note(out, AK_F_NETWORK, "%s reached the port `%s`", s->wrong[i].word,
			      names[s->wrong[i].port]);
	s->nwrong = 0;
	pthread_mutex_unlock(&s->lock);
}

void ak_servers_stop(struct ak_servers *s, uint64_t out_reached[AK_PORTS])
{
	if (!s)
		return;
	s->is_over = true;
	pthread_join(s->thread, NULL);
	memcpy(out_reached, s->reached, sizeof s->reached);
	for (unsigned i = 0; i < s->nguests; i++)
		close(s->guest[i].fd);
	for (unsigned i = 0; i < LISTENERS; i++)
		if (s->listener[i] >= 0)
			close(s->listener[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Each connection that came to a server was one that an event says was let through; and no event
 * says so of a port that is open to nobody. */
void ak_servers_check_record(const struct ak_log *log, const int port[AK_PORTS],
			     const uint64_t reached[AK_PORTS], struct ak_outcome *out)
{
	for (unsigned k = 0; k < AK_PORTS; k++) {
		uint64_t told = 0;
		char end[16];

		snprintf(end, sizeof end, ":%d", port[k]);
		for (size_t i = 0; i < log->n; i++) {
			const struct ak_event *e = &log->v[i];
			size_t n = strlen(e->path), m = strlen(end);

			if (!strcmp(e->op, "connect") && !e->is_denied && n > m &&
			    !strcmp(e->path + n - m, end))
				told += e->count;
		}
		if (told < reached[k])
			ak_world_note(out, AK_F_UNRECORDED,
				      "%u connections to `%s`, and events say so of %u",
				      (unsigned)reached[k], names[k], (unsigned)told);
		if (k == AK_P_OTHER && told)
			ak_world_note(out, AK_F_UNTRUE,
				      "an event says that `other` was let through");
	}
}
