/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - what a policy document says, before it meets a host: the Orbit v2 shapes with
 * positions. Filled by policy/front/. Arena-owned. Everything here is pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "core/image.h"

struct b_err;
struct pol_ynode;

/* Limits of a document (a document is hostile input). */
#define POL_MAX_FILE	 (4u << 20) /* bytes */
#define POL_MAX_DEPTH	 32
#define POL_MAX_NODES	 200000 /* YAML events after alias expansion */
#define POL_MAX_RULES	 20000	/* in a document */
#define POL_MAX_RULE_LEN 4096

struct pol_http_rules;

struct pol_pos {
	const char *file;   /* as the user named it */
	unsigned line, col; /* from 1 */
};

struct pol_text {
	const char *s; /* as written, UTF-8, without NUL */
	struct pol_pos pos;
	bool is_literal; /* of a root list: no character of it is a wildcard */
	bool is_final;	 /* of denyRead: allowRead does not open it */
	bool is_exact;	 /* the same, and nothing below it is meant */
	bool is_implied; /* of openModify: nobody wrote it, and what closes it counts more */
	unsigned up;	 /* of a root list: directories above where it is relative to */
	bool only_named; /* of openModify: opens what a set closes, where all else leaves it open */
	const char
		*name; /* of a root list, the entry as a name: where that is there, it is meant */
};

struct pol_texts {
	struct pol_text *v;
	size_t n, cap;
};

/* An entry of `connect` or `denyConnect`: the path of a socket (pol_is_socket_path()), or an
 * endpoint of the network with the programs that may use it. */
struct pol_connect {
	struct pol_text to;
	bool allow;
	struct pol_texts by; /* programs, none = all: absolute paths, patterns of them */
	struct pol_texts
		places; /* of dialects: what a name may resolve to; has_places: only these */
	bool has_places;
	const struct pol_http_rules *http; /* what its requests may be; NULL: not looked into */
	bool is_shut;	 /* of dialects: opens no class of addresses that is never open */
	bool is_foreign; /* of dialects: wildcards anywhere, `*` alone is every host */
};

struct pol_connects {
	struct pol_connect *v;
	size_t n, cap;
};

struct pol_profile {
	struct pol_text name;
	struct pol_texts read, modify;
	struct pol_connects connect;
};

/* Settings of `spec.sandbox` that are one value: its words, NULL = a boolean. settings.h and
 * sbx-policy(5) have their meaning. */
#define POL_SETTINGS(X)                                                                            \
	X(reads, "broad|system|listed")                                                            \
	X(network, "none|loopback|watch|host")                                                     \
	X(unixSockets, "none|host")                                                                \
	X(env, "keep|scrub|pass|clear")                                                            \
	X(scratch, NULL)                                                                           \
	X(cache, NULL)                                                                             \
	X(strict, NULL)                                                                            \
	X(allowFallback, NULL)                                                                     \
	X(enabled, NULL)                                                                           \
	X(nested, NULL)

enum pol_setting {
#define X(key, words) POL_SET_##key,
	POL_SETTINGS(X)
#undef X
		POL_SETTING_COUNT
};

/* Settings that are rules on absolute paths, variables allowed (settings.h). */
#define POL_ROOT_LISTS(X)                                                                          \
	X(openRead) /* as a profile: the sets stay closed below */                                 \
	X(openModify)                                                                              \
	X(readRoots)                                                                               \
	X(sideRoots)                                                                               \
	X(denyRead)                                                                                \
	X(denyModify)                                                                              \
	X(denyModifyAnyCase) /* names in either case */                                            \
	X(allowRead)	     /* opens what denyRead closes */                                      \
	X(sockets)	     /* unixSockets, when it is a list */

enum pol_root_list {
#define X(key) POL_ROOTS_##key,
	POL_ROOT_LISTS(X)
#undef X
		POL_ROOT_LIST_COUNT
};

struct pol_setting_value {
	bool said;
	int v; /* index of the word, or 0 and 1 */
	struct pol_pos pos;
};

/* Limits on a run's use of the network; 0 = no limit. */
struct pol_net_limits {
	unsigned long long connections; /* begun by the run */
	unsigned long long bytes;	/* carried, both ways together */
	unsigned long long rate;	/* bytes in a second */
};

struct pol_settings {
	struct pol_setting_value value[POL_SETTING_COUNT];
	struct pol_texts roots[POL_ROOT_LIST_COUNT];
	struct pol_texts presets; /* `presets` and `providers` */
	/* More that is open on macOS alone: a group's name, `mach:SERVICE`, `loopback`,
	 * `proxy:PORT`. */
	struct pol_texts macos;
	struct pol_texts
		spares; /* names of directories below which denyModifyAnyCase does not apply */
	struct pol_texts pass_env;   /* names of variables; `*` in one that is not literal */
	struct pol_texts trusted;    /* ranges of private addresses that any name may resolve to */
	struct pol_connects connect; /* endpoints for every profile, before the profiles' own */
	struct pol_texts publish;    /* ports inside that the host's loopback interface shows */
	struct pol_net_limits net_limits;
	struct pol_text upstream; /* URL of the upstream proxy; s NULL = none */
};

/* The languages of documents: the word of --dialect, and the name in messages. `auto` is not a
 * language: it asks for recognition by the content. */
#define POL_DIALECTS(X)                                                                            \
	X(auto, "auto")                                                                            \
	X(orbit, "Orbit")                                                                          \
	X(openshell, "OpenShell")                                                                  \
	X(srt, "srt")                                                                              \
	X(caliban, "caliban")                                                                      \
	X(claude, "Claude Code")                                                                   \
	X(codex, "Codex")
/* Those that are written, too; settings of agents are only read. */
#define POL_DIALECT_NAMES "orbit|openshell|srt|caliban"
#define POL_DIALECT_WORDS "auto|" POL_DIALECT_NAMES "|claude|codex"

enum pol_dialect {
#define X(name, text) POL_DIALECT_##name,
	POL_DIALECTS(X)
#undef X
		POL_DIALECT_COUNT
};

/* The user of OpenShell's commands if a policy names none. */
#define POL_OPENSHELL_USER "sandbox"

/* Content of another system's document that Orbit's structures cannot express. Such a document does
 * not merge with any other. */
struct pol_foreign {
	enum pol_dialect dialect;
	/* Rules that nothing here enforces: strict refuses them; other runs print and record them.
	 */
	struct pol_texts losses;
	struct pol_texts net_losses;  /* the same, unless rules on endpoints are enforced */
	struct pol_texts host_losses; /* the same where the command has the host's network */
	struct pol_texts notes;	      /* lines for the user */
	struct pol_texts listed;      /* paths that should exist, in the order of the document */
	bool must_exist;	      /* a missing one is a refusal; otherwise a note */
	struct pol_text user, group;  /* of the command, s NULL = not named */
	bool is_user_implied;	      /* not named: applies only to root's runs */
	struct pol_text bwrap;	      /* the program of --backend bwrap, s NULL = not named */
	bool must_have_bwrap;	      /* it must be trustworthy, whatever the back-end */
	bool is_at_cwd;	  /* relative rules are below the current directory, where no workspace is
			     named */
	bool is_nested;	  /* inside another sandbox: fewer namespaces for bwrap */
	bool auto_allows; /* caliban: what runs sandboxed needs nobody's leave */
	struct pol_texts no_env;      /* names of variables that the command does not get */
	const struct pol_ynode *tree; /* all of it, for who asks for more: rules on the network */
};

struct pol_doc {
	struct b_arena arena;
	struct pol_foreign foreign;
	struct pol_text name;
	const char *description;	     /* NULL = absent */
	const char *created_at, *updated_at; /* RFC 3339; NULL = absent */
	struct pol_texts files;		     /* read for it, in the order of merging */
	struct pol_settings settings;
	struct pol_texts deny_read, deny_modify;
	struct pol_connects deny_connect;
	struct pol_profile *profiles;
	size_t nprofiles, profiles_cap;
};
void pol_doc_release(struct pol_doc *);
/* Appends to a list of the document (arena memory; the string is borrowed). */
void pol_texts_add(struct pol_doc *, struct pol_texts *, struct pol_text);
void pol_connects_add(struct pol_doc *, struct pol_connects *, struct pol_connect);
struct pol_profile *pol_doc_add_profile(struct pol_doc *, struct pol_text name);

/* Normal form of a rule: trim, one leading '!', '\' -> '/', "./" stripped, components
 * rebuilt; `.` = root. B_POLICY with `label` on: empty, `~`, absolute, any "..", bad UTF-8,
 * too long. Returns arena memory; *out_negated may not be NULL. The result has no '!'. */
const char *pol_rule_normalise(struct b_arena *, const char *raw, const char *label,
			       bool *out_negated, struct b_err *err);
/* Has its normal form a '!' in front? */
bool pol_rule_is_negated(const char *raw);
/* Normal form of a workspace-relative path in a document's text; "" = root. */
const char *pol_path_normalise(struct b_arena *, const char *raw, struct b_err *err);
/* The same for a file's name, byte by byte: does not trim, and a backslash is not a slash. */
const char *pol_path_inside(struct b_arena *, const char *path, struct b_err *err);
/* Is a positive modify rule covered by this read rule (both normalised)? Textual. */
bool pol_rule_covers(const char *read_rule, const char *modify_rule);
/* Resource names (policy, profile stores): NULL = fine, else the reason. */
const char *pol_name_check(const char *name);
const char *pol_name_check_n(const char *name, size_t len);
/* Is the normalised rule one path, or one `<path>` with everything below? *out_len = length of
 * the path ("" for `.` and `**`). */
bool pol_rule_is_subtree(const char *rule, size_t *out_len, bool *out_with_below);
/* Does normalised deny rule `outer` strictly contain literal path or subtree `inner`? Textual. */
bool pol_rule_contains(const char *outer, const char *inner);

/* All of Orbit's validate(); B_POLICY "file:line:col: what, what is expected". */
int pol_doc_validate(const struct pol_doc *, struct b_err *err);

/* One normalised, polarised, positioned rule of the effective profile. */
struct pol_eff_rule {
	bool negated;
	bool is_global_deny;
	bool is_exception; /* `!` in denyModify: undoes the denies that contain it, grants nothing
			    */
	const char *rule;
	struct pol_pos pos;
};
struct pol_effective {
	const char *name;
	struct pol_eff_rule *v[2]; /* indexed by SBX_READ, SBX_MODIFY */
	size_t n[2];
	/* The profile's `connect` and the document's `denyConnect`: borrowed. */
	struct pol_connects connect, deny_connect;
};
/* Orbit's merged(): `global` is the host's, `workspace` adds to it. Denies of both, global first;
 * a profile of the workspace replaces the global one of its name; exceptions of the workspace must
 * lie within those of the host. Revalidated. Copies: both stay the caller's. */
int pol_doc_merge(const struct pol_doc *global, const struct pol_doc *workspace,
		  struct pol_doc *out, struct b_err *err);

/* Puts a preset under the document: its roots and denies are added, a setting counts where the
 * document says nothing. Its profiles count where `doc` has no file behind it (the built-in
 * default). Revalidated; copies. */
int pol_doc_absorb(struct pol_doc *doc, const struct pol_doc *preset, struct b_err *err);

/* Profile `name` with the global denies appended; "unrestricted" is synthesised when the
 * document does not define it; B_PROFILE lists the known names. Arena-owned. */
int pol_doc_effective(struct pol_doc *, const char *name, struct pol_effective *out,
		      struct b_err *err);
