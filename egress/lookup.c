/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - asks the system for the addresses of names, by threads, because getaddrinfo(3) waits.
 * A thread gets a name and gives back addresses; the loop alone knows what they are for.
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "egress/egress_priv.h"

enum { THREADS = 4 };

#define ALL_MS	   30000u
#define MISSING_MS 5000u
#define FAILED_MS  1000u

struct known {
	struct egr_found_addrs found;
	uint64_t until_ms;
	bool is_asked;
};

struct job {
	struct job *next;
	uint32_t name;
	struct egr_found_addrs found;
	char text[EGR_NAME_MAX + 1];
};

struct egr_lookup {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *asked, **asked_end; /* with lock */
	struct job *done;		/* with lock */
	struct known *known[EGR_NAMES]; /* the loop's */
};

/* ---- threads ---- */

static void add(struct egr_found_addrs *f, const struct addrinfo *a)
{
	struct sbx_addr *to = &f->addr[f->n];

	if (f->n == EGR_ADDRS || (a->ai_family != AF_INET && a->ai_family != AF_INET6))
		return;
	memset(to, 0, sizeof *to);
	to->is_v6 = a->ai_family == AF_INET6;
	if (to->is_v6)
		memcpy(to->b, &((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr,
		       16);
	else
		memcpy(to->b, &((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr, 4);
	f->n++;
}

static void find(struct job *j)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	int rc = getaddrinfo(j->text, NULL, &hints, &list);

	for (struct addrinfo *a = list; rc == 0 && a; a = a->ai_next)
		add(&j->found, a);
	if (list)
		freeaddrinfo(list);
	if (rc == EAI_NONAME || rc == EAI_NODATA)
		j->found.state = EGR_FOUND_MISSING;
	else
		j->found.state = rc == 0 && j->found.n ? EGR_FOUND_ALL : EGR_FOUND_FAILED;
}

static struct job *take_asked(struct egr_lookup *l)
{
	struct job *j;

	pthread_mutex_lock(&l->lock);
	while (!l->asked)
		pthread_cond_wait(&l->more, &l->lock);
	j = l->asked;
	l->asked = j->next;
	if (!l->asked)
		l->asked_end = &l->asked;
	pthread_mutex_unlock(&l->lock);
	return j;
}

struct thread {
	struct egr_lookup *l;
	int answers;
};

static void *work(void *arg)
{
	const struct thread *t = arg;

	for (;;) {
		struct job *j = take_asked(t->l);
		const uint64_t one = 1;

		find(j);
		pthread_mutex_lock(&t->l->lock);
		j->next = t->l->done;
		t->l->done = j;
		pthread_mutex_unlock(&t->l->lock);
		(void)!write(t->answers, &one, sizeof one);
	}
	return NULL;
}

/* ---- the loop's side ---- */

static uint64_t lasts(enum egr_found state)
{
	return state == EGR_FOUND_ALL	    ? ALL_MS
	       : state == EGR_FOUND_MISSING ? MISSING_MS
					    : FAILED_MS;
}

static void answers_ready(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct egr_lookup *l = e->lookup;
	struct job *j, *next;
	uint64_t count;

	(void)events;
	(void)!read(s->fd, &count, sizeof count);
	pthread_mutex_lock(&l->lock);
	j = l->done;
	l->done = NULL;
	pthread_mutex_unlock(&l->lock);
	for (; j; j = next) {
		struct known *k = l->known[j->name];

		next = j->next;
		k->found = j->found;
		k->until_ms = e->now_ms + lasts(j->found.state);
		k->is_asked = false;
		egr_resolver_looked_up(e, j->name);
		egr_dial_looked_up(e, j->name);
		free(j);
	}
}

static void ask(struct egr *e, struct known *k, uint32_t name)
{
	struct egr_lookup *l = e->lookup;
	struct job *j = b_calloc(1, sizeof *j);

	j->name = name;
	(void)egr_name_copy(e->page, name, j->text);
	k->is_asked = true;
	k->found = (struct egr_found_addrs){.state = EGR_FOUND_YET};
	pthread_mutex_lock(&l->lock);
	*l->asked_end = j;
	l->asked_end = &j->next;
	pthread_cond_signal(&l->more);
	pthread_mutex_unlock(&l->lock);
}

const struct egr_found_addrs *egr_lookup(struct egr *e, uint32_t name)
{
	static const struct egr_found_addrs none = {.state = EGR_FOUND_MISSING};
	struct known **k = &e->lookup->known[name % EGR_NAMES];

	if (!name || name >= EGR_NAMES)
		return &none;
	if (!*k)
		*k = b_calloc(1, sizeof **k);
	if (!(*k)->is_asked && (*k)->until_ms <= e->now_ms)
		ask(e, *k, name);
	return &(*k)->found;
}

int egr_lookup_start(struct egr *e, struct b_err *err)
{
	struct egr_lookup *l = b_calloc(1, sizeof *l);
	struct thread *t = b_calloc(1, sizeof *t);
	pthread_attr_t attr;
	int rc = 0;

	e->lookup = l;
	l->asked_end = &l->asked;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->more, NULL);
	e->answers = (struct egr_source){eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), answers_ready};
	if (e->answers.fd < 0 || egr_source_add(e, &e->answers, EPOLLIN) < 0)
		return b_fail(err, B_SYSTEM, errno, "eventfd: %s", strerror(errno));
	*t = (struct thread){l, e->answers.fd};
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 256u << 10);
	for (int i = 0; i < THREADS && rc == 0; i++) {
		pthread_t thread;

		rc = pthread_create(&thread, &attr, work, t);
	}
	pthread_attr_destroy(&attr);
	return rc ? b_fail(err, B_SYSTEM, rc, "no thread: %s", strerror(rc)) : 0;
}
