/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_conn.h - one connection whose requests are judged: bytes in at both ends, bytes out at both
 * ends. It reads a request, judges it, writes it anew, carries its body and its whole response, and
 * only then looks at what the caller sent next; so that every request of a connection is judged,
 * and no response is another's. Values only: sockets are the relay's.
 *
 *	room = egr_http_room(c, side, &p);	recv() into p; 0: not now
 *	egr_http_received(c, side, n);		n = 0: that end has closed its direction
 *	n = egr_http_pending(c, side, &p);	send() from p
 *	egr_http_sent(c, side, n);
 *
 * After each, egr_http_fate() says what becomes of the connection. Memory is the struct, whatever
 * the bodies are: nothing waits for more than a head. A request that cannot be reported yet
 * waits, unanswered, until egr_http_again().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/request.h"
#include "egress/door.h"
#include "egress/http_body.h"
#include "egress/http_head.h"

struct b_str;

/* Bytes that came and are not dealt with, and that are ready to go. A head has room in both. */
#define EGR_HTTP_BUFFER (EGR_HTTP_ROOM + 11776u)

enum egr_http_end { EGR_HTTP_CALLER, EGR_HTTP_SERVER, EGR_HTTP_ENDS };

struct egr_http_buffer {
	size_t from, to; /* bytes in it */
	char s[EGR_HTTP_BUFFER];
};

struct egr_http_side {
	struct egr_http_buffer in, out;
	size_t seen;	/* of the head that is read */
	bool has_ended; /* nothing comes any more */
	bool is_chunks; /* the body that goes out at this end is chunks */
};

/* A request and its verdict, or the fault for which it was refused unread. */
struct egr_http_told {
	const struct egr_http_head *head; /* wrong: not NONE, and the rest is of no use */
	const struct sbx_target *target;  /* NULL: it is none */
	enum sbx_target_kind target_kind; /* OK, or why not */
	bool is_for_another;		  /* its host is not the one that was dialled */
	struct sbx_request_answer answer; /* of the rules, */
	uint32_t set;			  /* of this set: the first that refuses, or the first */
};

struct egr_http_conn;
/* False: not now. The same request is judged and told again later. */
typedef bool egr_http_tell_fn(struct egr_http_conn *, const struct egr_http_told *);

enum egr_http_fate {
	EGR_HTTP_GOES_ON,
	EGR_HTTP_ENDS_CALLER, /* send what is pending to the caller, close; nothing for the server
			       */
	EGR_HTTP_IS_OVER,     /* all was said: close both */
	EGR_HTTP_IS_BROKEN,   /* reset both: what was said is not whole */
};

struct egr_http_conn {
	/* set by who makes it */
	const struct sbx_requests *rules;
	uint32_t set[SBX_LAYERS_MAX]; /* all must let a request pass */
	size_t nsets;
	struct sbx_host host; /* that was dialled, as it was asked for */
	uint16_t port;
	bool is_encrypted; /* what comes and goes here is in TLS: URLs are of https */
	/* Not NULL: there is no server behind it, for this reason; what would be sent on is
	 * answered so. */
	const char *no_server;
	enum egr_shape shape;
	const char *program; /* for answers: of the caller; NULL = not known */
	egr_http_tell_fn *tell;
	/* its own */
	enum egr_http_fate fate;
	enum { EGR_REQUEST_HEAD, EGR_REQUEST_BODY, EGR_REQUEST_DONE, EGR_RAW } up;
	enum { EGR_RESPONSE_NONE, EGR_RESPONSE_HEAD, EGR_RESPONSE_BODY } down;
	struct egr_http_asked asked;
	bool is_held;	   /* the request, until it can be told */
	bool is_last;	   /* of the connection: the request, or its response, closes it */
	bool has_answered; /* something of this response has gone to the caller */
	unsigned minor;	   /* of the request */
	struct egr_body body[EGR_HTTP_ENDS]; /* that comes from this end */
	struct egr_http_side side[EGR_HTTP_ENDS];
};

/* The fields of the first part are set; the others become those of a new connection. */
void egr_http_begin(struct egr_http_conn *);
size_t egr_http_room(struct egr_http_conn *, enum egr_http_end, char **out);
void egr_http_received(struct egr_http_conn *, enum egr_http_end, size_t n);
size_t egr_http_pending(const struct egr_http_conn *, enum egr_http_end, const char **out);
void egr_http_sent(struct egr_http_conn *, enum egr_http_end, size_t n);
/* The request that was held can be told now, perhaps. */
void egr_http_again(struct egr_http_conn *);
/* Has this end sent all that is for the other, which may be shut for writing? Raw alone. */
bool egr_http_is_shut(const struct egr_http_conn *, enum egr_http_end to);
static inline enum egr_http_fate egr_http_fate(const struct egr_http_conn *c)
{
	return c->fate;
}

/* ---- http_refuse.c ---- */

/* The whole answer to a request that is refused, in the shape of the document's system. Appends. */
void egr_http_refusal(const struct egr_http_conn *, const struct egr_http_told *,
		      struct b_str *out);
/* The same where the server's response cannot be passed on. */
void egr_http_bad_gateway(enum egr_http_wrong, struct b_str *out);
/* The same where there is no server. */
void egr_http_no_gateway(const char *why, struct b_str *out);
