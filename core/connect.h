/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.h - the only code that decides on endpoints of the network. Walks an image as decide.h
 * does; no allocation, no library, no system call. Everything here is [AS-safe] [MT-safe]
 * [no-alloc].
 *
 *	struct sbx_programs who;
 *	struct sbx_connect_answer a;
 *	struct sbx_host host;
 *
 *	sbx_connect_programs(&img, exes, n, &who);	the caller, then its ancestors
 *	sbx_host_parse(text, len, &host);
 *	if (!sbx_connect_host(&img, &host, 443, &who, &a))
 *		... denied by a.rule (-1: no rule), a.why ...
 *	resolve, then with all answers:
 *	if (!sbx_connect_resolved(&img, host.name, host.len, addrs, naddrs, 443, &who, &a))
 *		... one answer is at a place that no rule opens: refuse the connection ...
 *	dial one of addrs.
 *
 * Rules are one ordered list, the last that matches wins. A name is decided by the rules on names
 * alone; then its addresses by the rules on addresses and by their class. Where several documents
 * must all allow (layers), each is asked, and the first that denies is named. A layer that is only
 * watched denies nothing but addresses of a class that is never open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/host.h"
#include "core/image.h"

/* Which of the image's patterns of programs hold for a process. Zeroed: none. Partial: others may
 * hold as well; then all rules that deny for a program hold, and of those that allow these alone.
 * Replaced: patterns whose program is not the one it was; rules that deny for it hold, and none
 * that allows. */
struct sbx_programs {
	bool is_partial;
	uint64_t bit[SBX_PROGRAMS_MAX / 64];
	uint64_t replaced[SBX_PROGRAMS_MAX / 64];
};

/* An executable that runs. `path` as /proc/PID/exe has it and opened outside leads to the same file
 * (dev, ino); NULL where it does not: deleted, a memfd, covered by a mount. A rule that names a
 * path is met by its file, whatever the text; a rule with wildcards by the text. */
struct sbx_exe {
	uint64_t dev, ino;
	const char *path;
	size_t path_len;
};

/* Whether any rule names programs. If not, the caller need not find them. */
bool sbx_connect_asks_programs(const struct sbx_image *);
/* The patterns that one of these executables meets: the caller's and those of its ancestors. */
void sbx_connect_programs(const struct sbx_image *, const struct sbx_exe *, size_t n,
			  struct sbx_programs *out);
/* Sets the patterns of a file that was at this path when the image was made, and is another now, as
 * replaced. */
void sbx_connect_displaced(const struct sbx_image *, const struct sbx_exe *,
			   struct sbx_programs *out);

#define SBX_CONNECT_WHYS(X)                                                                        \
	X(RULE, "a rule")     /* `rule` allows or denies */                                        \
	X(NO_RULE, "no rule") /* no rule matches: denied */                                        \
	X(CLASS,                                                                                   \
	  "the class of the address") /* `rule`, of the name, does not open such addresses */      \
	X(NOT_LISTED, "not in allowed_ips")                                                        \
	X(PORT, "a port that allowed_ips never opens")                                             \
	X(LIMIT, "a limit of the run is reached")                                                  \
	X(OPEN, "an open network") /* no rules on the network: allowed */                          \
	X(BAD, "not a host")                                                                       \
	X(REPLACED, "Binary integrity violation") /* OpenShell's words. `rule` would allow, and is \
						     for a program that was replaced */

enum sbx_connect_why {
#define X(name, text) SBX_CONNECT_##name,
	SBX_CONNECT_WHYS(X)
#undef X
		SBX_CONNECT_WHY_COUNT
};
const char *sbx_connect_why_text(enum sbx_connect_why);

struct sbx_connect_answer {
	bool allowed;
	bool would_deny; /* allowed only because of `network: watch`; the fields below say why it
			    would be denied */
	int rule; /* in the image's rule table, as sbx_attribute(); texts: sbx_explain_rule() with
		     SBX_CONNECT. -1: none */
	enum sbx_connect_why why;
	enum sbx_addr_class class; /* CLASS: of the address that is refused */
	struct sbx_addr addr;	   /* CLASS, NOT_LISTED, and RULE of sbx_connect_resolved(): the
				      address; else zero */
};

/* Whether the run has rules on endpoints, or is watched. If not, the setting `network` alone
 * decides. */
bool sbx_connect_is_said(const struct sbx_image *);

/* A name (before it is resolved) or a literal address. `programs` NULL = none holds. Returns
 * out->allowed. */
bool sbx_connect_host(const struct sbx_image *, const struct sbx_host *, uint16_t port,
		      const struct sbx_programs *, struct sbx_connect_answer *out);
/* A literal address alone: what connect(2) was given. */
bool sbx_connect_addr(const struct sbx_image *, const struct sbx_addr *, uint16_t port,
		      const struct sbx_programs *, struct sbx_connect_answer *out);
/* Whether a rule with ports opens this address of the loopback interface. If so, the host's
 * interface is meant; otherwise the run's own, which needs no rule. */
bool sbx_connect_is_hosts(const struct sbx_image *, const struct sbx_addr *, uint16_t port,
			  const struct sbx_programs *, struct sbx_connect_answer *out);
/* A name (normal form) and all its addresses: the name is judged again, and one address that is
 * refused refuses all. n = 0 is refused. */
bool sbx_connect_resolved(const struct sbx_image *, const char *name, size_t len,
			  const struct sbx_addr *, size_t n, uint16_t port,
			  const struct sbx_programs *, struct sbx_connect_answer *out);

/* Finds the sets of rules on requests (request.h) for an allowed connection, at most one of each
 * layer. Returns how many; 0: its requests are not inspected. */
size_t sbx_connect_sets(const struct sbx_image *, const struct sbx_host *, uint16_t port,
			const struct sbx_programs *, uint32_t out[SBX_LAYERS_MAX]);
/* Is there a rule on requests that may come encrypted? Not where it is for port 80 alone. */
bool sbx_connect_ends_tls(const struct sbx_image *);

/*
 * For a resolver, which knows no port and perhaps no program: true if some program may connect to
 * this name at some port. `is_exact` (may be NULL): a rule has the whole name, so that a look-up
 * outside leaks nothing. *out is an answer that allows, or else the denial to report.
 */
bool sbx_connect_may_resolve(const struct sbx_image *, const char *name, size_t len,
			     bool *out_exact, struct sbx_connect_answer *out);
