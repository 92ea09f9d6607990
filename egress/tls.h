/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.h - a connection whose encryption ends here: to the caller we are the server that it asked
 * for, by a certificate of the run's authority; to the server we are a client that trusts what the
 * host trusts. All that is said of names agrees, or there is no connection: the host that was
 * dialled, the server name of the caller's hello, the certificate of the server. HTTP/1.1 is what
 * either end is offered.
 *
 *	struct egr_tls *t = egr_tls_new(world, &host, caller_fd, peer_fd);
 *
 *	while (egr_tls_shake(t) == EGR_TLS_WAITS)	again with each event
 *		...
 *	n = egr_tls_recv(t, EGR_HTTP_SERVER, p, n);	as recv(2) with MSG_DONTWAIT
 *	n = egr_tls_send(t, EGR_HTTP_CALLER, p, n);
 *	egr_tls_shut(t, EGR_HTTP_CALLER);		nothing more comes from us
 *	egr_tls_free(t);				descriptors stay
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "egress/http_conn.h"

struct egr_tls;
struct egr_tls_world;
struct sbx_host;

/* Does what the caller says begin as TLS does? */
static inline bool egr_tls_is_begun(uint8_t first)
{
	return first == 0x16; /* a record that is a handshake (RFC 8446, 5.1) */
}

/* NULL: it cannot be made. */
struct egr_tls *egr_tls_new(struct egr_tls_world *, const struct sbx_host *, int caller_fd,
			    int peer_fd);
/* What was read from the caller before. Borrowed until egr_tls_shake() is done. */
void egr_tls_early(struct egr_tls *, const uint8_t *early, size_t n);
void egr_tls_free(struct egr_tls *);

enum egr_tls_said {
	EGR_TLS_WAITS,
	EGR_TLS_IS_UP,
	EGR_TLS_NO_CALLER, /* it did not come to terms with us: egr_tls_why() */
	EGR_TLS_NO_SERVER, /* the caller did, but not we with the server: egr_tls_why() */
};

enum egr_tls_said egr_tls_shake(struct egr_tls *);
/* Of what went wrong, in one line; also when it did after the handshake. "": nothing. */
const char *egr_tls_why(const struct egr_tls *);

/* -1 with EAGAIN: not now. 0: that end has said that it is done; an end that breaks off without
 * saying so is -1 with ECONNRESET. */
ssize_t egr_tls_recv(struct egr_tls *, enum egr_http_end, void *buf, size_t n);
ssize_t egr_tls_send(struct egr_tls *, enum egr_http_end, const void *buf, size_t n);
void egr_tls_shut(struct egr_tls *, enum egr_http_end);
