/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `spec.sandbox`: what a document says about the run beside its rules. Pure.
 *
 *	struct pol_said cli = pol_said_nothing();
 *	cli.v[POL_SET_network] = POL_NET_HOST;		(an option of the command line)
 *	pol_settings_settle(&doc.settings, limits, nlimits, &cli, &effect, &err);
 *
 * A setting that no document has gets its default. The command line wins over the document; a
 * limit, which is the document of another layer, can only tighten what these two say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/document/model.h"

struct b_arena;
struct b_err;
struct pol_build;
struct pol_text;

/* Outside the workspace: all but secrets and devices; the system's directories; what the document
 * lists. Each is a part of the one before. */
enum pol_reads { POL_READS_BROAD, POL_READS_SYSTEM, POL_READS_LISTED };
/* Watch: rules on endpoints are judged, what they deny is recorded, and passes. */
enum pol_network { POL_NET_NONE, POL_NET_LOOPBACK, POL_NET_WATCH, POL_NET_HOST };
enum pol_unix { POL_UNIX_NONE, POL_UNIX_HOST };
/* Variables of the caller's that the command has: all; all but secrets and hooks; the usual ones
 * and those named; three and those named (launcher/plan/environment.h). Each is a part of the one
 * before.
 */
enum pol_env { POL_ENV_KEEP, POL_ENV_SCRUB, POL_ENV_PASS, POL_ENV_CLEAR };

#define POL_UNSAID (-1)

#define POL_PUBLISH_MAX 16 /* ports of a run */

struct pol_ports {
	unsigned short v[POL_PUBLISH_MAX];
	size_t n;
};

/* One value for each setting, or POL_UNSAID; and what of the network is said beside. */
struct pol_said {
	int v[POL_SETTING_COUNT];
	struct pol_ports publish;
	struct pol_net_limits net_limits;
	const char *upstream; /* NULL = unsaid */
};
struct pol_said pol_said_nothing(void);

/* What holds. */
struct pol_effect {
	enum pol_reads reads;
	enum pol_network network;
	enum pol_unix unix_;
	enum pol_env env;
	/* All sockets are asked for, and a limit opens some: what it opens is open. */
	bool all_sockets;
	/* Sockets with abstract names are open: `unixSockets` is `host`, whatever paths are denied.
	 */
	bool abstract_sockets;
	bool by_endpoint; /* the network is what rules on endpoints open; `network` is not host */
	struct pol_ports publish; /* ports inside that are seen at the host's loopback interface */
	struct pol_net_limits net_limits;
	const char *upstream; /* URL of a proxy, NULL = none; as long as the documents or options */
	bool scratch;	      /* a private directory for temporary files */
	bool cache;	      /* a private build cache */
	bool lax;	      /* what cannot be enforced is told, and the command runs */
	/* The limit that forbade laxness that was asked for, NULL = none did. */
	const struct pol_pos *forbids_lax;
};

/* Nothing that the outer run has not. */
void pol_effect_tighten(struct pol_effect *, const struct pol_effect *outer);

/* Appends a port, once: -1 there are too many. */
int pol_ports_add(struct pol_ports *, unsigned short port);
/* The smaller of each two limits, of which 0 is none. */
void pol_net_limits_tighten(struct pol_net_limits *, const struct pol_net_limits *by);
/* "5432", "5000-5010": 0, or -1; *out_high may be NULL: then one port alone. */
int pol_port_parse(const char *text, unsigned short *out_low, unsigned short *out_high);
/* "500K", "10M", "2G", bytes without a letter: 0, or -1. Not 0. */
int pol_size_parse(const char *text, unsigned long long *out);

/* http://[USER[:PASSWORD]@]HOST[:PORT], a proxy. */
struct pol_upstream {
	const char *host, *userinfo; /* not NUL-terminated: in the URL */
	size_t host_len, userinfo_len;
	unsigned short port;
};
/* 0, or -1: it is not such a URL. */
int pol_upstream_parse(const char *url, struct pol_upstream *out);

/* Words of a setting ("none|loopback|watch|host"); NULL: true or false. */
const char *pol_setting_words(enum pol_setting);
const char *pol_setting_name(enum pol_setting);

/* Does the document want to run with losses (`strict: false`, `allowFallback: true`)? */
bool pol_settings_is_lax(const struct pol_settings *);
/* Fails where the document switches the sandbox off: such a one is never run. */
int pol_settings_enabled(const struct pol_settings *, struct b_err *err);

/* B_POLICY: a document says `enabled: false`, which is a refusal to run, never a bare run. */
int pol_settings_settle(const struct pol_settings *doc, const struct pol_settings *const *limits,
			size_t nlimits, const struct pol_said *cli, bool has_document,
			struct pol_effect *out, struct b_err *err);

/*
 * What the rules of `spec.sandbox` may begin with: `/`, `~`, or a variable that names a
 * directory of this host, such as `${XDG_CACHE_HOME}/npm`.
 *
 * A variable stands at the beginning only, so that what it holds is never read as a pattern.
 */

/* Could the text be such a rule? B_POLICY with its place: no absolute beginning, an unknown
 * variable, `..`, an empty text. */
int pol_root_check(const struct pol_text *, const char *key, struct b_err *err);

/* How many of the text's bytes are its beginning. */
size_t pol_root_head(const char *text);
/* Does it name another directory in each workspace (${WORKSPACE}, ${GIT_DIR} ...)? */
bool pol_root_is_local(const char *text);
/* The canonical directory that it begins with, for workspace w; NULL: this host or workspace has
 * none. Arena of the ruleset. */
const char *pol_root_dir(struct pol_build *, const char *text, size_t w);
/* The same where environment or home say it, with links as they are; NULL: they do not. */
const char *pol_root_spelled(struct pol_build *, const char *text);
/* The canonical directory that a variable of the environment names, or its place below the home
 * when the environment says nothing of it; NULL: neither, or no such variable. */
const char *pol_var_dir(struct b_arena *, const char *name);
/* The same, for the launcher to make something there; NULL also where a link that a run may have
 * made leads to it. */
const char *pol_var_place(struct b_arena *, const char *name, const char *const *workspaces,
			  size_t n);
