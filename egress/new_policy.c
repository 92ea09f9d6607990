/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_policy.c - another policy while sbx-egress runs. It takes the place of the one before between
 * two events; connections are judged by it at once, those that it does not allow are ended, and
 * only then the supervisor hears that it holds. A policy that is damaged changes nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "egress/egress_priv.h"

/* ---- what the broker is told later ---- */

/* Many connections end at once, and what ended them is to have its line. */
struct egr_late {
	struct egr_tell told;
	struct egr_late *next;
};

/* It counts as told from now on: it is lost when the run ends before. */
static void tell_later(struct egr *e, const struct egr_tell *t)
{
	struct egr_late *l = b_calloc(1, sizeof *l);

	l->told = *t;
	*e->late_end = l;
	e->late_end = &l->next;
	atomic_fetch_add(&e->page->told, 1);
	egr_dial_hold(e);
}

bool egr_late_go_on(struct egr *e)
{
	struct egr_late *l;

	while ((l = e->late)) {
		if (!egr_tell(e, &l->told)) {
			egr_dial_hold(e);
			return false;
		}
		atomic_fetch_sub(&e->page->told, 1); /* it was counted before */
		e->late = l->next;
		free(l);
	}
	e->late_end = &e->late;
	return true;
}

/* ---- connections that are there ---- */

/* Is there nothing to judge: nobody knows yet where it goes, or it is none of the rules'? */
static bool is_open_question(const struct egr_conn *c)
{
	return c->is_dead || c->is_inside || !c->naddrs || !egr_proxy_is_judged(c);
}

static void tell_end(struct egr *e, const struct egr_conn *c, const struct sbx_host *host,
		     const struct sbx_connect_answer *a)
{
	struct egr_tell t = {.what = EGR_TOLD_REQUEST,
			     .why = (uint8_t)a->why,
			     .rule = (uint32_t)(a->rule + 1),
			     .id = c->id};
	char endpoint[SBX_HOST_MAX + 16];

	egr_endpoint_text(host, c->port, endpoint);
	snprintf(t.text, sizeof t.text, "%s - ended: the rules have changed", endpoint);
	if (e->late || !egr_tell(e, &t))
		tell_later(e, &t);
}

/* As proxy.c and the broker do: the loopback interface is the host's only where a rule says a port
 * of it. */
static bool is_allowed(const struct egr *e, const struct egr_conn *c, const struct sbx_host *host,
		       struct sbx_connect_answer *a)
{
	enum sbx_addr_class class = sbx_addr_class(&c->addr[0]);

	if (c->name)
		return sbx_connect_resolved(&e->image, host->name, host->len, c->addr, c->naddrs,
					    c->port, &c->by, a);
	if (class == SBX_ADDR_LOOPBACK || class == SBX_ADDR_UNSPECIFIED)
		return sbx_connect_is_hosts(&e->image, &c->addr[0], c->port, &c->by, a);
	return sbx_connect_addr(&e->image, &c->addr[0], c->port, &c->by, a);
}

/* True: it goes on. */
static bool judge_again(struct egr *e, struct egr_conn *c)
{
	struct sbx_connect_answer a = {.rule = -1, .why = SBX_CONNECT_CLASS};
	struct sbx_host host;

	if (egr_conn_host(e, c, &host) && is_allowed(e, c, &host, &a) &&
	    (!c->is_up || c->caller.fd < 0 || egr_http_change(e, c, &a)))
		return true;
	tell_end(e, c, &host, &a);
	egr_dial_refuse(e, c);
	return false;
}

static void judge_all(struct egr *e, struct egr_reloaded *out)
{
	for (struct egr_conn *c = e->all; c; c = c->next_of_all) {
		if (is_open_question(c))
			continue;
		if (judge_again(e, c))
			out->kept++;
		else
			out->closed++;
	}
}

/* ---- the policy ---- */

static void take(struct egr *e, int fd, struct egr_reloaded *out)
{
	struct sbx_image before = e->image;

	out->err = egr_policy_map(fd, &e->image, &e->requests);
	if (out->err)
		return;
	judge_all(e, out);
	/* sets of rules are asked for by their numbers, and all have new ones */
	(void)munmap((void *)(uintptr_t)before.base, before.size);
}

void egr_control_ready(struct egr *e, struct egr_source *s, uint32_t events)
{
	struct egr_reloaded said = {0};
	int fd = -1;

	(void)events;
	if (egr_sockets_receive(s->fd, MSG_DONTWAIT, &fd, 1) < 0) {
		if (errno == EAGAIN)
			return;
		close(s->fd); /* the supervisor is gone, and so are we soon */
		s->fd = -1;
		return;
	}
	take(e, fd, &said);
	(void)send(s->fd, &said, sizeof said, MSG_DONTWAIT | MSG_NOSIGNAL);
}
