/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_head.h - what a program says to a proxy first: HTTP's CONNECT and requests with a whole
 * URL, and SOCKS 5. Values only; the bytes come from the command, which may be hostile.
 *
 *	switch (egr_proxy_read(in, n, greeted, &ask)) {
 *	case EGR_PROXY_MORE: ... more bytes are needed; with n == EGR_PROXY_MAX they do not come ...
 *	case EGR_PROXY_GO: ... ask.host, ask.port; ask.used bytes were its head ...
 *
 * A request with a URL goes on as ask.head: with the path alone, with the URL's host as its only
 * Host, without what is for proxies, and as the last of its connection, so that a second request,
 * which may be for another host, never follows it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/host.h"

#define EGR_PROXY_MAX  8192u		     /* bytes of a head */
#define EGR_PROXY_ROOM (EGR_PROXY_MAX + 64u) /* of one that goes on */

enum egr_proxy_said {
	EGR_PROXY_MORE,
	EGR_PROXY_GREETING, /* SOCKS: `used` bytes, to be answered by 5, 0 */
	EGR_PROXY_GO,
	EGR_PROXY_BAD,	   /* neither language, or wrong in it */
	EGR_PROXY_METHODS, /* SOCKS: only ways to log in */
	EGR_PROXY_COMMAND, /* SOCKS: not CONNECT */
	EGR_PROXY_ADDRESS, /* SOCKS: another kind of address */
};

enum egr_proxy_kind { EGR_PROXY_CONNECT, EGR_PROXY_URL, EGR_PROXY_SOCKS };

struct egr_proxy_ask {
	enum egr_proxy_kind kind; /* of anything but SOCKS: CONNECT or URL, also when it is BAD */
	struct sbx_host host;	  /* may be of a kind that is no host: that is to be refused */
	uint16_t port;
	size_t used;
	size_t len; /* URL: of head */
	char head[EGR_PROXY_ROOM];
};

/* `greeted`: the greeting of SOCKS was taken already. n is at most EGR_PROXY_MAX. */
enum egr_proxy_said egr_proxy_read(const uint8_t *in, size_t n, bool greeted,
				   struct egr_proxy_ask *out);
