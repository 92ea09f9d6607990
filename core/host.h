/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - names and addresses of the network: one spelling of each, and which addresses are not
 * on the public network. No allocation, no library, no system call. Everything here is [AS-safe]
 * [MT-safe] [no-alloc].
 *
 *	struct sbx_host h;
 *	sbx_host_parse("API.Example.com.", 16, &h);	h.kind == SBX_HOST_NAME, "api.example.com"
 *	sbx_host_parse("127.1", 5, &h);			h.kind == SBX_HOST_BAD
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBX_HOST_MAX  253 /* bytes of a name, the last dot not counted */
#define SBX_LABEL_MAX 63

/* Network order; of an IPv4 address the first four bytes, the others are 0. */
struct sbx_addr {
	uint8_t is_v6;
	uint8_t b[16];
};

/* The kind of a text, or why it is neither a name nor an address. */
#define SBX_HOST_KINDS(X)                                                                          \
	X(NAME, "a name")                                                                          \
	X(ADDRESS, "an address")                                                                   \
	X(BAD, "not a host name")                                                                  \
	X(EMPTY, "an empty host name")                                                             \
	X(LABEL, "a host name with an empty label, or one over 63 characters")                     \
	X(LONG, "a host name over 253 characters")                                                 \
	X(ODD, "an address in another form than 192.0.2.1 or 2001:db8::1")

enum sbx_host_kind {
#define X(name, text) SBX_HOST_##name,
	SBX_HOST_KINDS(X)
#undef X
		SBX_HOST_KIND_COUNT
};
const char *sbx_host_kind_text(enum sbx_host_kind);

struct sbx_host {
	enum sbx_host_kind kind;
	struct sbx_addr addr;	     /* ADDRESS */
	size_t len;		     /* NAME */
	char name[SBX_HOST_MAX + 1]; /* NAME: small letters, no dot at the end, NUL-terminated */
};

/*
 * The one function that says which host a text means. ASCII letters, digits, '-' and '_' in labels
 * of 1 to 63; letters become small, one dot at the end goes. A text whose last label is a number
 * ("127.1", "0x7f000001", "2130706433", "0177.0.0.1") is an address in four decimal parts without
 * leading zeros, or refused. An IPv6 address may stand in brackets; a zone is refused, as are NUL,
 * userinfo, blanks, and all that is not ASCII. Returns out->kind.
 */
enum sbx_host_kind sbx_host_parse(const char *text, size_t len, struct sbx_host *out);

/* The same of an address alone. */
bool sbx_addr_parse(const char *text, size_t len, struct sbx_addr *out);
bool sbx_addr_equal(const struct sbx_addr *, const struct sbx_addr *);

/* As it is shown: "192.0.2.1", "2001:db8::1". Returns the length; NUL-terminated. */
#define SBX_ADDR_TEXT 46
size_t sbx_addr_text(const struct sbx_addr *, char out[SBX_ADDR_TEXT]);

/* A range of addresses: those whose first `bits` bits are those of `addr`. */
struct sbx_cidr {
	struct sbx_addr addr;
	uint8_t bits;
	uint8_t pad[2];
};
/* "10.0.0.0/8", or an address, which is a range of one. Bits behind the prefix are cleared. */
bool sbx_cidr_parse(const char *text, size_t len, struct sbx_cidr *out);
bool sbx_cidr_has(const struct sbx_cidr *, const struct sbx_addr *);

/*
 * Classes of addresses. For a v4-mapped, v4-compatible, NAT64 (64:ff9b::/96, 64:ff9b:1::/48), 6to4
 * or Teredo address, the class of the address inside counts.
 */
#define SBX_ADDR_CLASSES(X)                                                                        \
	X(PUBLIC, "public")                                                                        \
	/* need a rule that names them */                                                          \
	X(PRIVATE, "private") /* 10/8, 172.16/12, 192.168/16, fc00::/7, fec0::/10 */               \
	X(SHARED, "shared")   /* 100.64/10, 192.0.0/24 */                                          \
	X(TEST, "test") /* 192.0.2/24, 198.51.100/24, 203.0.113/24, 198.18/15, 2001:db8::/32 */    \
	/* never by a name */                                                                      \
	X(LOOPBACK, "loopback")                                                                    \
	X(UNSPECIFIED, "unspecified") /* 0/8, :: */                                                \
	X(LINK_LOCAL, "link-local")                                                                \
	X(METADATA,                                                                                \
	  "metadata") /* of clouds: 169.254.169.254, fd00:ec2::254, 100.100.100.200 ... */         \
	X(MULTICAST, "multicast")                                                                  \
	X(BROADCAST, "broadcast") /* and the rest of 240/4 */

enum sbx_addr_class {
#define X(name, text) SBX_ADDR_##name,
	SBX_ADDR_CLASSES(X)
#undef X
		SBX_ADDR_CLASS_COUNT
};
const char *sbx_addr_class_name(enum sbx_addr_class);
enum sbx_addr_class sbx_addr_class(const struct sbx_addr *);
static inline bool sbx_addr_is_never(enum sbx_addr_class c)
{
	return c >= SBX_ADDR_LOOPBACK;
}

/* The IPv4 address that an IPv6 address leads to; false: none. A v4-mapped one is another spelling
 * of it; the others are sent somewhere that sends them on. */
bool sbx_addr_inside(const struct sbx_addr *, struct sbx_addr *out, bool *out_is_mapped);
