/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - the loop of sbx-egress. It begins with what it was given, and ends with the broker. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "egress/egress.h"
#include "egress/egress_priv.h"
#include "egress/tls_world.h"

#define EVENTS	    256
#define OTHER_FILES 256u /* descriptors that are no connection's */

int egr_source_add(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	return epoll_ctl(e->ep, EPOLL_CTL_ADD, s->fd, &ev);
}

int egr_source_change(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	return epoll_ctl(e->ep, EPOLL_CTL_MOD, s->fd, &ev);
}

bool egr_tell(struct egr *e, const struct egr_tell *t)
{
	bool counts = t->what != EGR_TOLD_CLOSED;

	/* before: what was heard is never more */
	if (counts)
		atomic_fetch_add(&e->page->told, 1);
	if (send(e->channel.fd, t, sizeof *t, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *t)
		return true;
	if (counts)
		atomic_fetch_sub(&e->page->told, 1);
	return false;
}

void egr_tell_or_lose(struct egr *e, const struct egr_tell *t)
{
	if (!egr_tell(e, t))
		atomic_fetch_add(&e->page->told, 1);
}

/* ---- what it was given ---- */

static int map_page(struct egr *e, struct b_err *err)
{
	void *p = mmap(NULL, sizeof *e->page, PROT_READ | PROT_WRITE, MAP_SHARED, EGR_FD_PAGE, 0);

	if (p == MAP_FAILED)
		return b_fail(err, B_SYSTEM, errno, "page: %s", strerror(errno));
	e->page = p;
	close(EGR_FD_PAGE);
	return 0;
}

int egr_policy_map(int fd, struct sbx_image *out, struct sbx_requests *out_requests)
{
	struct sbx_requests requests;
	struct sbx_image image;
	struct stat st;
	void *p;
	int err;

	p = fstat(fd, &st) == 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
				: MAP_FAILED;
	err = errno;
	close(fd);
	if (p == MAP_FAILED)
		return err;
	if (sbx_image_open(&image, p, (size_t)st.st_size, false) == SBX_IMAGE_OK) {
		sbx_requests_of(&image, &requests);
		if (sbx_requests_check(&requests)) {
			*out = image;
			*out_requests = requests;
			return 0;
		}
	}
	(void)munmap(p, (size_t)st.st_size);
	return EBADMSG;
}

static int map_policy(struct egr *e, struct b_err *err)
{
	int sys = egr_policy_map(EGR_FD_POLICY, &e->image, &e->requests);

	if (!sys)
		return 0;
	return b_fail(err, sys == EBADMSG ? B_FORMAT : B_SYSTEM, sys, "policy: %s", strerror(sys));
}

/* Two descriptors a connection, and four while bytes are on both ways: those that find none wait
 * (relay.c). */
static void limit_conns(struct egr *e)
{
	struct rlimit lim = {0, 0};

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &lim);
	}
	e->conns_max = lim.rlim_max > OTHER_FILES + 3
			       ? (unsigned)((lim.rlim_max < 1u << 20 ? lim.rlim_max : 1u << 20) -
					    OTHER_FILES) /
					 3
			       : 1;
}

/* Of a run whose namespace was not there yet when we were started: waits for it. 1: it never was.
 */
static int take_sockets(struct egr *e, int fds[EGR_DOOR_MAX], struct b_err *err)
{
	size_t n = egr_door_fds(e->page);

	for (size_t i = 0; i < n; i++)
		fds[i] = (int)(EGR_FD_SOCKETS + i);
	if (!e->tls)
		return 0;
	if (egr_sockets_receive(EGR_FD_LATER, 0, fds, n) < 0)
		return errno == EPIPE
			       ? 1
			       : b_fail(err, B_SYSTEM, errno, "sockets: %s", strerror(errno));
	close(EGR_FD_LATER);
	return 0;
}

static int open_sources(struct egr *e, const int fds[EGR_SOCKETS], struct b_err *err)
{
	static void (*const ready[EGR_SOCKETS])(struct egr *, struct egr_source *, uint32_t) = {
		[EGR_DNS4] = egr_datagram_ready,   [EGR_DNS6] = egr_datagram_ready,
		[EGR_DNS4_TCP] = egr_stream_ready, [EGR_DNS6_TCP] = egr_stream_ready,
		[EGR_RELAY4] = egr_relay_ready,	   [EGR_RELAY6] = egr_relay_ready,
	};

	e->ep = epoll_create1(EPOLL_CLOEXEC);
	if (e->ep < 0)
		return b_fail(err, B_SYSTEM, errno, "epoll: %s", strerror(errno));
	e->channel = (struct egr_source){EGR_FD_CHANNEL, egr_channel_ready};
	e->control = (struct egr_source){EGR_FD_CONTROL, egr_control_ready};
	if (egr_source_add(e, &e->channel, EPOLLIN) < 0 ||
	    egr_source_add(e, &e->control, EPOLLIN) < 0)
		return b_fail(err, B_SYSTEM, errno, "channel: %s", strerror(errno));
	for (int i = 0; i < EGR_SOCKETS; i++) {
		int fd = fds[i];

		e->socket[i] = (struct egr_source){fd, ready[i]};
		/* those of IPv6 are not there where the kernel has none: /dev/null */
		if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
		    egr_source_add(e, &e->socket[i], EPOLLIN) < 0)
			e->socket[i].fd = -1;
	}
	if (e->socket[EGR_DNS4].fd < 0 || e->socket[EGR_RELAY4].fd < 0)
		return b_fail(err, B_SYSTEM, 0,
			      "the launcher passed no sockets of the run's network");
	return 0;
}

/* 1: there is nothing to serve. */
static int begin(struct egr *e, struct b_err *err)
{
	int fds[EGR_DOOR_MAX], rc;

	if (map_page(e, err) < 0 || map_policy(e, err) < 0)
		return -1;
	/* before there is a key */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (atomic_load(&e->page->ends_tls) && !(e->tls = egr_tls_begin(err)))
		return -1;
	rc = take_sockets(e, fds, err);
	if (rc != 0)
		return rc;
	limit_conns(e);
	e->limits = e->page->limits;
	e->filled_ms = b_now_ms();
	if (open_sources(e, fds, err) < 0 || egr_publish_start(e, fds + EGR_SOCKETS, err) < 0 ||
	    egr_resolver_start(e, err) < 0 || egr_upstream_start(e, err) < 0 ||
	    egr_confine(err) < 0)
		return -1;
	e->now_ms = b_now_ms();
	return egr_lookup_start(e, err);
}

/* ---- the loop ---- */

static int sooner(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void loop(struct egr *e)
{
	struct epoll_event ev[EVENTS];

	while (!e->is_over) {
		int wait, n;

		e->now_ms = b_now_ms();
		wait = sooner(egr_dial_due(e), egr_resolver_due(e));
		egr_relay_bury(e);
		/* what could not go on for want of a pipe does not spin, nor what waits for its
		 * share of the rate */
		n = epoll_wait(e->ep, ev, EVENTS, e->busy ? egr_limit_wait(e) : wait);
		e->now_ms = b_now_ms();
		for (int i = 0; i < n && !e->is_over; i++) {
			struct egr_source *s = ev[i].data.ptr;

			s->ready(e, s, ev[i].events);
		}
		if (!e->is_over)
			egr_relay_turn(e);
		egr_relay_bury(e);
	}
}

int egr_serve(struct b_err *err)
{
	/* never freed: threads look at it until the process ends */
	struct egr *e = b_calloc(1, sizeof *e);
	int rc;

	e->held_end = &e->held;
	e->late_end = &e->late;
	(void)signal(SIGPIPE, SIG_IGN);
	rc = begin(e, err);
	if (rc == 0)
		loop(e);
	return rc < 0 ? -1 : 0;
}
