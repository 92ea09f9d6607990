/* SPDX-License-Identifier: Apache-2.0 */
/*
 * door.h - what launcher, broker and sbx-egress share of a run whose policy opens endpoints.
 *
 * The run has a network namespace with nothing in it but a loopback interface. The broker decides
 * each connect(2). It announces an allowed connection to sbx-egress, under a number that no other
 * connection of the run has. Then it connects the caller's own socket to the relay's port, at an
 * address that contains this number. The relay takes no connection that was not announced:
 *
 *	broker				sbx-egress
 *	egr_ask DIAL, id, slot  ------>	resolves, judges the addresses, connects
 *	waits for slot		<------	errno in the slot
 *	connect(caller's socket, egr_id4(id) : relay) ------> accept(2): getsockname(2) says id
 *
 * A caller that does not wait (O_NONBLOCK) is announced by CARRY, without an answer.
 *
 * Where the run has a proxy (`--proxy-env`) it is at the relay's port of the loopback interface:
 * the broker announces such a connection by PROXY, and the caller says in it where it goes
 * (proxy.c).
 *
 * When all callers are gone the broker shuts its half of the channel down. sbx-egress begins
 * nothing more then, and ends; the broker reads until it has.
 *
 * The supervisor may hand over another compiled policy at any time (struct egr_reloaded). The
 * broker has the same one by then.
 *
 * The page is shared: the resolver in sbx-egress writes names, the broker reads which name a fake
 * address stands for. A name never changes and never goes.
 */
#pragma once

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/connect.h"

/* ---- descriptors of sbx-egress, in this order from 3 on ---- */

enum egr_fd {
	EGR_FD_CHANNEL = 3, /* SOCK_SEQPACKET to the broker */
	EGR_FD_PAGE,	    /* of struct egr_page */
	EGR_FD_POLICY,	    /* the compiled policy */
	EGR_FD_CONTROL,	    /* SOCK_SEQPACKET to the supervisor: other policies, while it runs */
	EGR_FD_SOCKETS,	    /* EGR_SOCKETS of them, made in the run's namespace; then those
			       of page->publish: its listeners, and its sockets of the namespace */
};

/* Where rules look into what is encrypted (`ends_tls` of the page) it is started before the
 * command, which reads its files, and before there is a namespace. Then, from EGR_FD_SOCKETS on: */
enum egr_tls_fd {
	EGR_FD_LATER = EGR_FD_SOCKETS, /* it says by a byte that the files are written; then the
					  sockets come by it */
	EGR_FD_OWN,  /* to write to: the run's own certificate and those of EGR_TRUST_VARS; */
	EGR_FD_ALL,  /* these with all that the host trusts; */
	EGR_FD_JAVA, /* the same for Java */
	EGR_FD_TLS_END
};

/* Variables by which clients find certificates. ALL: a file in the place of what they trust; OWN:
 * one of what they trust as well. In the launcher's environment the files that they name are
 * trusted as well as the host's. Java has options in the place of one (JAVA_TOOL_OPTIONS). */
#define EGR_TRUST_VARS(X)                                                                          \
	X(SSL_CERT_FILE, ALL)			   /* OpenSSL, Python, Go, Rust, Ruby, PHP */      \
	X(CURL_CA_BUNDLE, ALL)			   /* curl, Python's requests */                   \
	X(GIT_SSL_CAINFO, ALL)			   /* git, also where it is of GnuTLS */           \
	X(REQUESTS_CA_BUNDLE, ALL)		   /* Python's requests */                         \
	X(PIP_CERT, ALL)			   /* pip */                                       \
	X(CARGO_HTTP_CAINFO, ALL)		   /* cargo */                                     \
	X(CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE, ALL) /* gcloud */                                    \
	X(AWS_CA_BUNDLE, ALL)			   /* the AWS tools */                             \
	X(NIX_SSL_CERT_FILE, ALL)		   /* nix */                                       \
	X(HEX_CACERTS_PATH, ALL)		   /* mix, rebar3 */                               \
	X(BUNDLE_SSL_CA_CERT, ALL)		   /* bundler */                                   \
	X(PERL_LWP_SSL_CA_FILE, ALL)		   /* LWP */                                       \
	X(npm_config_cafile, ALL)		   /* npm, pnpm */                                 \
	X(NODE_EXTRA_CA_CERTS, OWN)		   /* Node, Bun */                                 \
	X(DENO_CERT, OWN)			   /* Deno */

/* The order is that of the message in which the broker sends them. */
enum egr_socket {
	EGR_DNS4,
	EGR_DNS6,
	EGR_DNS4_TCP,
	EGR_DNS6_TCP,
	EGR_RELAY4,
	EGR_RELAY6,
	EGR_SOCKETS
};

/* In one message. -1 with errno; EPIPE: the other end is gone. */
int egr_sockets_send(int sock, const int *fds, size_t n);
int egr_sockets_receive(int sock, int flags, int *fds, size_t n);

/* ---- names and their addresses ---- */

#define EGR_FAKE_NET  0xc6120000u /* 198.18.0.0/15, RFC 2544: nobody's on the Internet */
#define EGR_FAKE_MASK 0xfffe0000u
#define EGR_NAMES     16384u /* of a run; the first is none */
#define EGR_NAME_MAX  253u

struct egr_name {
	_Atomic uint32_t len; /* 0 = not written yet */
	char text[EGR_NAME_MAX + 3];
};

/* ---- one answer to the broker ---- */

#define EGR_SLOTS 256u
#define EGR_SLOT_DONE                                                                              \
	0x8000u /* the rest of the lower half is the errno, the upper half the turn                \
		 */

/* How a proxy refuses: as the system whose document the policy is. */
enum egr_shape { EGR_SHAPE_OURS, EGR_SHAPE_SRT, EGR_SHAPE_OPENSHELL };

/* What the run may use at most; 0 = no limit. */
struct egr_limits {
	uint64_t connections, bytes, rate;
};

/* The proxy by which the world is reached. */
struct egr_upstream {
	char host[256]; /* "" = none */
	uint16_t port;
	char auth[512]; /* of Proxy-Authorization, "" = none */
};

/* Ports of the run that are seen outside: sockets that listen there, and some of the run's
 * namespace, by which its servers are reached (publish.c). */
#define EGR_LISTENERS_MAX 32u
#define EGR_INSIDE4	  64u
#define EGR_INSIDE6	  16u
#define EGR_INSIDE	  (EGR_INSIDE4 + EGR_INSIDE6)
struct egr_published {
	uint32_t n; /* 0: then there are no sockets of the namespace, either */
	uint16_t port[EGR_LISTENERS_MAX];
};

/* The first three are set before anything else. */
struct egr_page {
	struct egr_limits limits;
	struct egr_upstream upstream;
	struct egr_published publish;
	_Atomic uint32_t shape;	   /* enum egr_shape; set before anything else */
	_Atomic uint32_t ends_tls; /* the same: enum egr_tls_fd holds */
	/* Messages but EGR_TOLD_CLOSED, as each side counts them: what lies between is lost when
	 * the run is over, and its record is not complete. */
	_Atomic uint64_t told, heard;
	_Atomic uint32_t slot[EGR_SLOTS];
	struct egr_name name[EGR_NAMES];
};

/* All that sbx-egress is given: EGR_SOCKETS, the listeners of published ports, and EGR_INSIDE
 * sockets of the namespace with them. */
#define EGR_DOOR_MAX (EGR_SOCKETS + EGR_LISTENERS_MAX + EGR_INSIDE)
static inline size_t egr_door_fds(const struct egr_page *page)
{
	uint32_t n = page->publish.n < EGR_LISTENERS_MAX ? page->publish.n : EGR_LISTENERS_MAX;

	return EGR_SOCKETS + (n ? n + EGR_INSIDE : 0);
}

/* ---- messages ---- */

enum egr_asked {
	EGR_ASK_DIAL,  /* connect, answer in the slot, then carry what comes by the id */
	EGR_ASK_CARRY, /* the same without an answer */
	EGR_ASK_PROXY, /* what comes by the id says itself where it goes */
	EGR_ASK_DROP,  /* nothing will come by the id */
};

#define EGR_PROXY_PORT	3128 /* of a relay that is a proxy, too */
#define EGR_PROGRAM_MAX 256  /* a longer path is cut: it is for the record */

struct egr_ask {
	uint8_t what;	/* enum egr_asked */
	uint8_t family; /* AF_INET, AF_INET6: addr; 0: the name */
	uint16_t port;
	uint32_t id;
	uint32_t name; /* of the page; 0 = none */
	uint16_t slot;
	uint16_t turn;
	uint8_t addr[16];
	struct sbx_programs by; /* of the caller: rules on addresses may name programs, too */
	uint32_t pid;		/* PROXY: the caller, */
	char program[EGR_PROGRAM_MAX]; /* and its path */
};

enum egr_told {
	EGR_TOLD_NAME,	  /* the resolver refused the name in `text` */
	EGR_TOLD_ADDRESS, /* an address of the name was refused, and so the connection */
	EGR_TOLD_PROXIED, /* a program asked the proxy for an endpoint: allowed or not */
	EGR_TOLD_REQUEST, /* a request was judged, and passes or not: `text` is "host:port METHOD
			     /path" */
	EGR_TOLD_CLOSED,  /* a connection has ended: bytes and time */
};

struct egr_tell {
	uint8_t what;	    /* enum egr_told */
	uint8_t why;	    /* enum sbx_connect_why */
	uint16_t type;	    /* EGR_TOLD_NAME: of the question */
	uint32_t rule;	    /* that decided, + 1; 0 = none */
	uint32_t id;	    /* of the connection */
	uint32_t pid;	    /* EGR_TOLD_PROXIED: of who asked */
	uint8_t is_allowed; /* EGR_TOLD_PROXIED, _REQUEST; of others, with would_deny */
	uint8_t would_deny; /* allowed for want of enforcement */
	uint32_t ms;	    /* EGR_TOLD_CLOSED: how long it was there */
	uint64_t sent, got; /* EGR_TOLD_CLOSED: bytes from and to the caller */
	char text[544];	    /* the name; or "name:port address"; or "host:port program" */
};

/* By the control socket comes one descriptor of a compiled policy at a time (egr_sockets_send()),
 * in the place of the one before; the answer says that it holds, for connections that were there
 * before as well. What is not answered is not known. */
struct egr_reloaded {
	int32_t err;	       /* 0, or the errno: the policy before holds on */
	uint32_t kept, closed; /* connections */
};

/* ---- ids as addresses ---- */

#define EGR_IDS 0x7fffffu /* 23 bits, 0 is none */

/* 127.128.0.0/9: always of the loopback interface, whatever routes there are. */
static inline uint32_t egr_id4(uint32_t id)
{
	return 0x7f800000u | (id & EGR_IDS);
}
static inline uint32_t egr_id_of4(uint32_t addr)
{
	return (addr & 0xff800000u) == 0x7f800000u ? addr & EGR_IDS : 0;
}

/* fd53:6278::/96, RFC 4193; all addresses are local ones in the namespace. */
static inline struct in6_addr egr_id6(uint32_t id)
{
	struct in6_addr a = {.s6_addr = {0xfd, 0x53, 0x62, 0x78}};

	a.s6_addr[13] = (uint8_t)(id >> 16 & 0x7f);
	a.s6_addr[14] = (uint8_t)(id >> 8);
	a.s6_addr[15] = (uint8_t)id;
	return a;
}
static inline uint32_t egr_id_of6(const struct in6_addr *a)
{
	uint32_t id =
		(uint32_t)a->s6_addr[13] << 16 | (uint32_t)a->s6_addr[14] << 8 | a->s6_addr[15];
	struct in6_addr same = egr_id6(id);

	return memcmp(a, &same, sizeof same) == 0 ? id : 0;
}

/* ---- fake addresses ---- */

static inline uint32_t egr_fake(uint32_t name)
{
	return EGR_FAKE_NET + name;
}
/* Is it one, of whatever name? */
static inline bool egr_is_fake(uint32_t addr)
{
	return (addr & EGR_FAKE_MASK) == EGR_FAKE_NET;
}
/* The number of the name, 0 = of none that there could be. */
static inline uint32_t egr_name_of(uint32_t addr)
{
	uint32_t n = addr - EGR_FAKE_NET;

	return n < EGR_NAMES ? n : 0;
}
/* Copies the name, NUL-terminated: its length, or 0. The other process may write to the page at any
 * time, so that the copy is what is judged and used. */
static inline size_t egr_name_copy(const struct egr_page *page, uint32_t name,
				   char out[EGR_NAME_MAX + 1])
{
	uint32_t len;

	if (!name || name >= EGR_NAMES)
		return 0;
	len = atomic_load_explicit(&page->name[name].len, memory_order_acquire);
	if (!len || len > EGR_NAME_MAX)
		return 0;
	memcpy(out, page->name[name].text, len);
	out[len] = '\0';
	return strlen(out) == len ? len : 0;
}
