/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_head.h - heads of HTTP/1 messages, read strictly and written anew. A message that two
 * readers could understand differently is refused: the server must answer the very request that
 * the relay judged. Values only, no allocation; the bytes of requests are the command's, those of
 * responses a server's, and either may be the attacker.
 *
 *	size_t seen = 0;			of this head; begins anew with the next
 *	switch (egr_http_request(in, n, &seen, &head)) {
 *	case EGR_HTTP_MORE: ... call again with the same bytes and more ...
 *	case EGR_HTTP_BAD:  ... answer egr_http_wrong_status(head.wrong), and close ...
 *	case EGR_HTTP_GO:   ... head.used bytes were the head; then its body (http_body.h) ...
 *
 * The relay never forwards the bytes that came: egr_http_write_request() writes the judged
 * target, one Host, the fields that are for the other end, and one field that frames the body.
 * Fields for the next hop are left out, and made anew: Connection and what it names, TE, Trailer,
 * Upgrade, Keep-Alive, Expect and those of proxies.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/host.h"
#include "core/target.h"
#include "egress/http_text.h"

#define EGR_HTTP_HEAD_MAX 16384u /* bytes of a head, the empty line included */
#define EGR_HTTP_FIELDS	  100u
#define EGR_HTTP_ROOM	  (EGR_HTTP_HEAD_MAX + SBX_TARGET_PATH_MAX + 512u) /* of one that goes on */

/* Status: what a request with it is answered; a response with it is answered by 502. */
#define EGR_HTTP_WRONGS(X)                                                                         \
	X(NONE, 200, "nothing")                                                                    \
	X(LINE, 400, "a first line that is not METHOD TARGET HTTP/1.1")                            \
	X(VERSION, 505, "a version other than HTTP/1.1 and HTTP/1.0")                              \
	X(METHOD, 501, "a method that is not passed on")                                           \
	X(STATUS, 400, "a malformed status line")                                                  \
	X(BYTE, 400, "a control character, or a line that does not end in CR and LF")              \
	X(UTF8, 400, "bytes that are not UTF-8")                                                   \
	X(FOLD, 400, "a line that goes on in the next")                                            \
	X(FIELD, 400, "a line that is not NAME: VALUE")                                            \
	X(MANY, 431, "more than 100 fields")                                                       \
	X(LONG, 431, "a head of more than 16384 bytes")                                            \
	X(HOST, 400, "no Host field, several, or one that is not a host")                          \
	X(LENGTH, 400, "several Content-Length fields, or one that is not a number")               \
	X(CODING, 501, "a Transfer-Encoding other than chunked")                                   \
	X(BOTH, 400, "a Content-Length beside a Transfer-Encoding")                                \
	X(CONNECTION, 400, "a Connection that names a field it may not")                           \
	X(EXPECT, 417, "an Expect other than 100-continue")                                        \
	X(UPGRADE, 400, "an Upgrade that does not fit its request")

enum egr_http_wrong {
#define X(name, status, text) EGR_HTTP_WRONG_##name,
	EGR_HTTP_WRONGS(X)
#undef X
		EGR_HTTP_WRONG_COUNT
};
const char *egr_http_wrong_text(enum egr_http_wrong);
unsigned egr_http_wrong_status(enum egr_http_wrong);

enum egr_http_said { EGR_HTTP_MORE, EGR_HTTP_GO, EGR_HTTP_BAD };

enum egr_body_kind {
	EGR_BODY_NONE,
	EGR_BODY_LENGTH,
	EGR_BODY_CHUNKED,
	EGR_BODY_TO_END, /* a response that ends with its connection */
};

struct egr_http_field {
	struct egr_text name, value;
	bool is_left_out; /* for the next hop, or written anew */
};

/* Texts are borrowed from the bytes that were read. */
struct egr_http_head {
	enum egr_http_wrong wrong;
	size_t used;
	struct egr_text method, target; /* of a request */
	unsigned status;		/* of a response; 0: of a request */
	struct egr_text reason;
	bool answers_head; /* of a response */
	unsigned minor;	   /* 0, 1 */
	bool has_host;
	struct sbx_host host; /* NAME or ADDRESS */
	uint16_t port;	      /* 0: Host says none */
	enum egr_body_kind body;
	bool has_length;
	uint64_t length; /* of the body, or of the one that HEAD and 304 speak of */
	bool closes;	 /* the last of its connection */
	bool expects;	 /* 100-continue, before the body comes */
	bool upgrades;	 /* to a WebSocket: a request asks for it; a response (101) grants it */
	size_t nfields;
	struct egr_http_field field[EGR_HTTP_FIELDS];
};

/* n may be more than the head. *seen: bytes that an earlier call looked at. */
enum egr_http_said egr_http_request(const char *in, size_t n, size_t *seen,
				    struct egr_http_head *out);
/* What a response answers. */
struct egr_http_asked {
	bool is_head;  /* HEAD: there is no body, whatever its fields say */
	bool upgrades; /* to a WebSocket */
};
struct egr_http_asked egr_http_asked(const struct egr_http_head *request);
/* 100 to 199 but 101 are followed by another response. A 101 that was not asked for is BAD. */
enum egr_http_said egr_http_response(const char *in, size_t n, size_t *seen,
				     const struct egr_http_asked *, struct egr_http_head *out);

/* Is the request for this host and port: its Host, and its URL if the target is one? */
bool egr_http_is_for(const struct egr_http_head *, const struct sbx_target *,
		     const struct sbx_host *, uint16_t port, uint16_t default_port);

/* ---- http_write.c ---- */

/* The head as it goes on; `closes`: as the last of its connection. Its length, or 0: no room. */
size_t egr_http_write_request(const struct egr_http_head *, const struct sbx_target *, bool closes,
			      char *out, size_t room);
size_t egr_http_write_response(const struct egr_http_head *, bool closes, char *out, size_t room);
