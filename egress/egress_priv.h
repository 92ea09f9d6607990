/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress_priv.h - sbx-egress from inside. One thread runs the loop and owns all of this; threads of
 * lookup.c ask the system for addresses and touch nothing else.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/connect.h"
#include "core/image.h"
#include "core/request.h"
#include "egress/dns.h"
#include "egress/door.h"

struct b_err;
struct egr;
struct egr_conn;
struct egr_http;
struct egr_late;
struct egr_lookup;
struct egr_proxied;
struct egr_tls_world;

/* What epoll(7) tells of. First in whatever it is a part of. */
struct egr_source {
	int fd; /* -1 = none */
	void (*ready)(struct egr *, struct egr_source *, uint32_t events);
};

struct egr_pipe {
	int fd[2];
};

struct egr {
	int ep;
	struct egr_page *page;
	struct sbx_image image;
	struct sbx_requests requests; /* of the image */
	struct egr_tls_world *tls;    /* NULL = nothing that is encrypted is looked into */
	struct egr_source channel, answers, control;
	struct egr_source socket[EGR_SOCKETS];
	bool is_over; /* the broker is gone */
	uint64_t now_ms;
	/* lookup.c */
	struct egr_lookup *lookup;
	/* dial.c: connections that were announced, by id */
	struct egr_conn *by_id[4096];
	struct egr_conn *dialing; /* list: those that wait for something, with a deadline */
	struct egr_conn *all;	  /* list, until they are freed */
	/* relay.c */
	struct egr_conn *busy; /* list: more to do than one turn allows */
	struct egr_conn *dead; /* list: freed when no event can name them any more */
	unsigned nconns, conns_max;
	unsigned nhttp;			   /* whose requests are judged */
	struct egr_http *held, **held_end; /* of these, who wait for the broker */
	unsigned nproxied;		   /* whose head is not dealt with yet */
	struct egr_pipe pipes[64];	   /* empty ones, to be used again */
	unsigned npipes;
	/* new_policy.c */
	struct egr_late *late, **late_end; /* what the broker has not taken yet */
	/* resolver.c */
	uint32_t nnames; /* taken, the first is none */
	struct egr_pending *pending;
	unsigned npending;
	/* limits.c */
	struct egr_limits limits;
	uint64_t nbegun, carried;
	uint64_t tokens, filled_ms; /* bytes that may be carried now, as of then */
	/* publish.c, upstream.c; NULL = none */
	struct egr_publish *publish;
	struct egr_via *via;
	unsigned nstreams; /* TCP clients of the resolver */
	struct egr_stream *streams;
};

/* ---- serve.c ---- */

int egr_source_add(struct egr *, struct egr_source *, uint32_t events);
int egr_source_change(struct egr *, struct egr_source *, uint32_t events);
/* Tells the broker. False: it takes no more now. */
bool egr_tell(struct egr *, const struct egr_tell *);
/* Where what is told has happened: what the broker does not take counts as lost. */
void egr_tell_or_lose(struct egr *, const struct egr_tell *);

/* The compiled policy in this file, which is closed; an errno. */
int egr_policy_map(int fd, struct sbx_image *out, struct sbx_requests *out_requests);

/* ---- new_policy.c: another policy while it runs ---- */

void egr_control_ready(struct egr *, struct egr_source *, uint32_t events);
/* The broker takes more again. False: not all that it was to be told. */
bool egr_late_go_on(struct egr *);

/* ---- confine.c ---- */

/* Files, programs, capabilities and calls that it needs no more, given up and tried. Before any
 * thread. */
int egr_confine(struct b_err *err);

/* ---- lookup.c: getaddrinfo(3) by threads ---- */

#define EGR_ADDRS 16 /* of a name; more are left out */

enum egr_found {
	EGR_FOUND_YET,	   /* nobody knows yet */
	EGR_FOUND_ALL,	   /* addr[] */
	EGR_FOUND_MISSING, /* the name is not there */
	EGR_FOUND_FAILED,  /* nobody answered */
};

struct egr_found_addrs {
	enum egr_found state;
	size_t n;
	struct sbx_addr addr[EGR_ADDRS];
};

int egr_lookup_start(struct egr *, struct b_err *err);
/* What is known of the name; asks when nothing is, and then egr_looked_up() comes. */
const struct egr_found_addrs *egr_lookup(struct egr *, uint32_t name);

/* ---- dial.c ---- */

void egr_channel_ready(struct egr *, struct egr_source *, uint32_t events);
void egr_relay_ready(struct egr *, struct egr_source *, uint32_t events);
/* A proxy's caller waits until the broker can be told: egr_proxy_go_on() then. */
void egr_dial_hold(struct egr *);
/* Of a name: its addresses are known now. */
void egr_dial_looked_up(struct egr *, uint32_t name);
/* The connection has this long from now on for what it does next. */
void egr_dial_wait(struct egr *, struct egr_conn *, uint64_t ms);
/* Of a proxy's caller: to c->name, or to this address, which was judged. */
void egr_dial(struct egr *, struct egr_conn *, const struct sbx_addr *);
/* Milliseconds until something is late; -1 = never. */
int egr_dial_due(struct egr *);

/* By another way than connect(2) alone (upstream.c): the other end is there, or errno. */
void egr_dial_connected(struct egr *, struct egr_conn *, int err);
/* Waits for more of them: a new one without an id. */
struct egr_conn *egr_conn_new(struct egr *);
/* It is not allowed any more, however far it is. */
void egr_dial_refuse(struct egr *, struct egr_conn *);

/* ---- upstream.c: the world by a proxy ---- */

/* Finds its addresses: before files are given up. */
int egr_upstream_start(struct egr *, struct b_err *err);
/* Where to connect for this address: itself, or the proxy. */
const struct sbx_addr *egr_upstream_of(const struct egr *, const struct sbx_addr *, uint16_t *port);
/* Connected: asks the proxy for the address; egr_dial_connected() comes. */
void egr_upstream_ask(struct egr *, struct egr_conn *);

/* ---- publish.c: servers inside, seen outside ---- */

/* fds: the listeners, then EGR_INSIDE sockets of the namespace. */
int egr_publish_start(struct egr *, const int *fds, struct b_err *err);
/* Its socket of the namespace is free again. */
void egr_publish_give_back(struct egr *, struct egr_conn *);

/* ---- limits.c ---- */

/* One connection more: false: that is too many. */
bool egr_limit_begin(struct egr *);
bool egr_limit_has_connection(const struct egr *);
/* Bytes that may be carried now; 0: later, or never more. */
size_t egr_limit_room(struct egr *);
bool egr_limit_is_over(const struct egr *);
void egr_limit_carried(struct egr *, uint64_t n);
/* Milliseconds until there is room; 0: there is. */
int egr_limit_wait(struct egr *);
/* Tells that the connection is refused, or ended, for a limit. */
void egr_limit_tell(struct egr *, const struct egr_conn *);

/* ---- relay.c ---- */

/* One direction of a connection. */
struct egr_half {
	struct egr_source *from, *to;
	struct egr_pipe pipe; /* fd[0] < 0 = none: nothing is on its way */
	size_t held;
	const uint8_t *early; /* goes before what is read; borrowed */
	size_t nearly;
	uint64_t total;
	bool has_ended, is_shut;
};

struct egr_conn {
	struct egr_source caller, peer; /* fd -1 = not yet */
	struct egr_conn *next, **link;	/* in `dialing` or `busy` */
	struct egr_conn *next_by_id;
	struct egr_conn *next_of_all, **link_of_all;
	uint32_t id, name;
	uint16_t port, slot, turn;
	bool wants_answer, is_up, is_dead, is_busy;
	bool is_inside; /* peer is a server of the run's: its socket is lent (publish.c) */
	bool is_inside6;
	bool is_via; /* peer is the proxy upstream */
	int err;     /* of the address tried last */
	uint64_t begun_ms, due_ms;
	struct sbx_programs by;
	size_t naddrs, at; /* addresses to try, and the next of them */
	struct sbx_addr addr[EGR_ADDRS];
	struct egr_half half[2];     /* from the caller, to the caller */
	struct egr_http *http;	     /* NULL = nobody looks into requests */
	struct egr_proxied *proxied; /* NULL = not, or not any more, a proxy's business */
};

/* Both ends are connected: carries bytes from here on. */
void egr_relay_start(struct egr *, struct egr_conn *);
/* It has more to do, when the events of now are dealt with. */
void egr_relay_again(struct egr *, struct egr_conn *);
/* Closes: with a reset where it never was up, or has failed. */
void egr_relay_end(struct egr *, struct egr_conn *, bool reset);
/* One turn of each connection that has more to do. */
void egr_relay_turn(struct egr *);
void egr_relay_bury(struct egr *);
void egr_close_reset(int fd);

/* ---- http_relay.c ---- */

/* The name or the address that the connection is for. False: neither is known. */
bool egr_conn_host(const struct egr *, const struct egr_conn *, struct sbx_host *out);
/* Both ends are connected: 1: rules on requests hold, c->http is there; 0: none; -1: they cannot be
 * found, and the connection must not be. */
int egr_http_inspect(struct egr *, struct egr_conn *);
/* Other rules hold: they are asked from the next request on. False: whether requests are looked
 * into, or into TLS, is another question now, which cannot be answered in the middle of one. */
bool egr_http_change(struct egr *, struct egr_conn *, const struct sbx_connect_answer *);
/* Moves bytes of this connection, about 1 MiB at most. True: more could be moved, and the caller
 * calls again after it has served the other connections. */
bool egr_http_turn(struct egr *, struct egr_conn *);
void egr_http_release(struct egr *, struct egr_conn *);
/* The broker takes more again. */
void egr_http_go_on(struct egr *);

/* ---- proxy.c ---- */

/* "host:port", "[address]:port" */
void egr_endpoint_text(const struct sbx_host *, uint16_t port, char out[SBX_HOST_MAX + 16]);
/* Sets the process and the program that asked the proxy. Of a connection that came past the proxy
 * it changes neither. */
void egr_proxy_caller(const struct egr_conn *, uint32_t *pid, char program[EGR_PROGRAM_MAX]);

/* False: there are too many already. */
bool egr_proxy_announced(struct egr *, struct egr_conn *, const struct egr_ask *);
/* The caller's end is there: reads what it asks for. */
void egr_proxy_arrived(struct egr *, struct egr_conn *);
/* The other end is connected: says so, and the relay goes on. */
void egr_proxy_connected(struct egr *, struct egr_conn *);
/* Was it held? False: the broker takes no more, and it is held on. */
bool egr_proxy_go_on(struct egr *, struct egr_conn *);
/* Has it been judged, by what it asked for? */
bool egr_proxy_is_judged(const struct egr_conn *);
/* It cannot be had, or somebody was late. */
void egr_proxy_failed(struct egr *, struct egr_conn *, int err);
void egr_proxy_release(struct egr *, struct egr_conn *);

/* ---- resolver.c ---- */

/* The number of the name, which it has from now on; 0: there are too many. */
uint32_t egr_name_number(struct egr *, const char *name, size_t len);

int egr_resolver_start(struct egr *, struct b_err *err);
void egr_datagram_ready(struct egr *, struct egr_source *, uint32_t events);
void egr_stream_ready(struct egr *, struct egr_source *, uint32_t events);
void egr_resolver_looked_up(struct egr *, uint32_t name);
int egr_resolver_due(struct egr *);
