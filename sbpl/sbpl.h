/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbpl.h - ruleset -> macOS sandbox profile. Pure: values to text.
 *
 *	struct sbpl_opts o = sbpl_opts_default();
 *	struct sbpl_profile prof;
 *	if (sbpl_compile(&engine->rules, &engine->image, &o, &prof, &err) < 0) ...
 *	sandbox-exec -f <file with prof.text> -D prof.params[i].name=prof.params[i].value ...
 *	sbpl_profile_release(&prof);
 *
 * Two styles. HARDENED says what the ruleset says: each block has one fixed set of
 * operations and keeps the order of the rules, exact stays exact, `?` is one UTF-8 character.
 * Behind it stand denials alone ("pins"), because the kernel asks about a move only at its two
 * ends and cannot compare them:
 *
 *  - what may not be read may not be unlinked, renamed, linked or, wherever it lies, cloned
 *    either; directories are not cloned at all;
 *  - a Unix socket may be made where files may (bind is a change of its directory), but connected
 *    to only where a rule says so, or below sbpl_opts.own_sockets: Seatbelt sees paths, not who
 *    listens;
 *  - a directory that lies above something denied may not be moved or removed, and, where writing
 *    is denied below it, not be created;
 *  - a deny that begins with two stars holds in every other writable tree as well, so that a
 *    directory moved there carries it along. Where a later rule re-opens a part, that does not
 *    help, and the directories below are pinned instead (a note says so).
 *
 * So the profile denies a little more than core/decide, never less; each kind is named in
 * sbpl_profile.notes. What programs for macOS need of the system (emit.h) is added to the rules
 * first, and named there where no rule says it. If several documents must all allow, the main one
 * gives the ordered blocks, and the denials of the others follow them. Letters in the glob part
 * of a deny match both cases (APFS usually does).
 *
 * ORBIT reproduces Orbit's own profile: broad reads, literals as subtrees, no pins.
 *
 * Every compile is checked: the profile is read back and run by our evaluator, under both
 * readings of precedence, and compared with core/decide on paths inside every rule and around
 * it. A difference fails the compile (B_POLICY).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "core/image.h"
#include "sbpl/program.h"

struct b_err;
struct b_str;
struct pol_effect;
struct pol_ruleset;
struct pol_settings;
struct pol_texts;
struct sbx_image;

enum sbpl_style { SBPL_STYLE_HARDENED, SBPL_STYLE_ORBIT };

enum sbpl_net {
	SBPL_NET_NONE,
	SBPL_NET_PROXY,	   /* the proxy's port on localhost only */
	SBPL_NET_LOOPBACK, /* localhost, both ways */
	SBPL_NET_HOST
};

/* Where Orbit's providers keep their state; NULL or "" = unset. */
struct sbpl_orbit_env {
	const char *home, *codex_home, *claude_config_dir, *grok_home;
};

struct sbpl_opts {
	enum sbpl_style style;
	/* `macos` of a document: services of Mach to be looked up; NULL = none */
	const struct pol_texts *extra;
	bool extra_left; /* there is a list, and other documents that say nothing of it: closed */
	unsigned groups; /* bits of enum sbpl_group */
	unsigned macos;	 /* 1404 = 14.4; 0 = any release */
	enum sbpl_net net;
	unsigned proxy_port; /* SBPL_NET_PROXY: 1 to 65535 */
	bool any_socket;     /* Unix sockets of the host, all of them */
	/* A directory of the run's own: what listens there the command has started. NULL = none */
	const char *own_sockets;
	bool inline_paths; /* paths in the text instead of parameters */
	bool exact_case;   /* deny globs match the case they are written in only */
	/* Directories that a re-opened deny could be escaped through stay free to move: a note says
	 * so. Else they are pinned, however many. */
	bool lax_moves;
	bool stat_ancestors;	     /* stat only above what a rule names; else stat is free */
	struct sbpl_orbit_env orbit; /* SBPL_STYLE_ORBIT */
};

struct sbpl_opts sbpl_opts_default(void);
/* Those that the settings of a policy ask for. */
struct sbpl_opts sbpl_opts_of(const struct pol_effect *);
/* And those of the main document, unless it is `limited` by others. Borrows the settings. */
void sbpl_opts_add(struct sbpl_opts *, const struct pol_settings *, bool limited);
/* The rules of these groups, for pol_request.system. */
void sbpl_system_rules(const struct sbpl_opts *, struct pol_ruleset *out);

struct sbpl_profile {
	struct b_arena arena;
	const char *text; /* ASCII */
	size_t len;
	struct sbpl_param *params;
	size_t nparams;
	const char **notes; /* lines for the person: what is denied beyond the rules, or not kept */
	size_t nnotes;
	size_t nrules, nchecks;
};

/* `image`: compiled from this ruleset, or NULL: compiled here. Errors name the rule's origin:
 * B_POLICY for what a profile cannot say, B_LIMIT for too many rules. */
int sbpl_compile(const struct pol_ruleset *, const struct sbx_image *image,
		 const struct sbpl_opts *, struct sbpl_profile *out, struct b_err *err);
void sbpl_profile_release(struct sbpl_profile *);

/* The operation that stands for ours in a profile: "file-read-data" ... Static. */
const char *sbpl_op_of(enum sbx_op);
/* A canonical path as the kernel of macOS spells it: /tmp/x is /private/tmp/x there. */
const char *sbpl_canonical_path(struct b_arena *, const char *path);

/* The text, its parameters as comments in front, notes behind (`sbx-policy show --plan sbpl`). */
void sbpl_profile_show(const struct sbpl_profile *, struct b_str *out);
