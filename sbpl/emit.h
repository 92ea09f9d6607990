/* SPDX-License-Identifier: Apache-2.0 */
/* emit.h - the profile under construction. Private to sbpl/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/decide.h"
#include "policy/compile/ruleset.h"
#include "sbpl/sbpl.h"

struct b_str;
struct pol_rule;

#define SBPL_MAX_PIECE	200	   /* bytes of one string literal: stock TinyScheme stops at 256 */
#define SBPL_MAX_FORM	(8u << 10) /* bytes of a form of many filters; trouble near 16 KiB */
#define SBPL_WARN_RULES 1000	   /* a profile past this many costs seconds to load */

/* A deny beyond the rules: the same glob in another writable tree. */
struct sbpl_widened {
	enum sbx_op op;
	struct pol_rule rule;
};

struct sbpl_emit {
	const struct pol_ruleset *rs; /* bases as macOS spells them */
	struct pol_list writes;	      /* the main layer's, borrowed */
	const struct sbx_image *img;
	const struct sbpl_opts *o;
	struct sbpl_profile *prof; /* arena, notes, params */
	struct b_str out;
	size_t nrules;
	size_t params_cap, notes_cap;
	unsigned *param_table; /* open addressing by value: index + 1 */
	size_t param_slots;
	struct sbpl_widened *widened;
	size_t nwidened, widened_cap;
	struct b_err *err;
};

/* text.c */
void sbpl_put_string(struct b_str *, const char *s, size_t len); /* ASCII, in pieces if long */
void sbpl_put_comment(struct b_str *, const char *s); /* " ; s" and the end of the line */
const char *sbpl_param_for(struct sbpl_emit *, const char *value); /* its name */
void sbpl_note(struct sbpl_emit *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

extern const char sbpl_char_define[]; /* defines sbx-char */

/* A regex being written: control bytes cannot occur in it, so 1 stands for `sbx-char`. */
#define SBPL_RE_CHAR '\1'
void sbpl_re_literal(struct b_str *, const char *s, size_t len, bool fold);
/* The pieces of a glob, a trailing slash-star-star included when `is_whole`. */
void sbpl_re_glob(struct b_str *, const char *glob, size_t len, bool is_whole, bool fold);
/* (regex "^base/tail$"). */
void sbpl_put_regex(struct sbpl_emit *, struct b_str *, const char *base, size_t base_len,
		    const struct b_str *tail);
/* (subpath "...") or (literal "..."). */
void sbpl_put_path(struct sbpl_emit *, struct b_str *, const char *kind, const char *path,
		   size_t len);
/* One filter that says what the rule says. `fold`: both cases in the glob. */
void sbpl_put_rule_filter(struct sbpl_emit *, struct b_str *, const struct pol_rule *, bool fold);
/* The same, its path as it stands. */
void sbpl_put_plain_filter(struct b_str *, const struct pol_rule *);

/* emit.c: counts rules. */
int sbpl_count_rules(struct sbpl_emit *, size_t n, const char *origin);
/* "; == title ==" */
void sbpl_put_title(struct sbpl_emit *, const char *title);

/* layers.c */
struct pol_list sbpl_layer_at(const struct pol_list *, size_t first); /* borrowed */
struct pol_list sbpl_main_layer(const struct pol_list *);
/* What the other layers deny, a filter each. -1 of `give` ends it. */
typedef int sbpl_denial(void *ctx, const struct b_str *filter, const struct pol_rule *);
int sbpl_each_denial(struct sbpl_emit *, enum sbx_op, sbpl_denial *give, void *ctx);
/* Behind the block of the operation: what the other layers deny. */
int sbpl_put_layers(struct sbpl_emit *, enum sbx_op, const char *operations);

/* layers.c: the block of file-clone. */
int sbpl_put_clones(struct sbpl_emit *);

/* layers.c: services that a document names. */
int sbpl_put_extra(struct sbpl_emit *);
/* layers.c: what the groups open beyond the rules. */
void sbpl_note_groups(struct sbpl_emit *);

/* pins.c: everything `r` speaks of is also spoken of by `by`. */
bool sbpl_is_covered(const struct pol_rule *r, const struct pol_rule *by);
/* What must stand behind the ordered blocks. */
void sbpl_find_widened(struct sbpl_emit *);
int sbpl_put_pins(struct sbpl_emit *);

/* orbit.c */
int sbpl_put_orbit(struct sbpl_emit *);

/* check.c: the finished text against core/decide. */
int sbpl_self_check(struct sbpl_emit *);

/* canon.c: the rules as the kernel of macOS spells paths, and those of `groups`, added to `out`.
 * True: some differ. */
bool sbpl_canonical(const struct pol_ruleset *, unsigned groups, struct pol_ruleset *out);

/*
 * What a program on macOS needs besides its policy: named groups of allowances, each
 * with its reason. Facts about macOS 13 to 26, collected from profiles in daily use; none was
 * tried on a Mac by us.
 */

/* name, text, on by default */
#define SBPL_GROUPS(X)                                                                             \
	X(BASE, "base", true)                                                                      \
	X(TTY, "tty", true)                                                                        \
	X(TOOLS, "tools", true)                                                                    \
	X(PYTHON, "python", true)                                                                  \
	X(NODE, "node", true)                                                                      \
	X(JAVA, "java", false)                                                                     \
	X(DNS, "dns", false)                                                                       \
	X(TLS, "tls", false)                                                                       \
	X(FSEVENTS, "fsevents", false)                                                             \
	X(SSH_AGENT, "ssh-agent", false)                                                           \
	X(KEYCHAIN, "keychain", false)                                                             \
	X(POWER, "power", false)

enum sbpl_group {
#define X(name, text, on) SBPL_GROUP_##name,
	SBPL_GROUPS(X)
#undef X
		SBPL_GROUP_COUNT
};

#define SBPL_GROUPS_DEFAULT sbpl_groups_default()

/* The bits of the groups that are on by default. */
unsigned sbpl_groups_default(void);

/* The bit of the group of this name, 0 = there is none. */
unsigned sbpl_group_bit(const char *name);

/* Appends the allowances of the groups in `bits` that are about no path, for release `macos`
 * (1404 = 14.4, 0 = any), comments included; returns the number of rules. */
size_t sbpl_groups_add(struct b_str *out, unsigned bits, unsigned macos);

/*
 * Those about files are rules of the base tier like others, so that the engine, its shim and the
 * profile answer alike, and a policy's rules may take them back. `ops`: bits 1u << enum sbx_op.
 * Strings live until `add` returns.
 */
#define SBPL_GROUP_ORIGIN "builtin:macos:"
typedef void sbpl_group_rule(void *ctx, unsigned ops, const struct pol_rule *);
void sbpl_groups_rules(unsigned bits, sbpl_group_rule *add, void *ctx);
bool sbpl_is_group_rule(const struct pol_rule *);
/* The text of "sbx-NAME.sb", for import: a whole group. False: no such file. */
bool sbpl_group_file(const char *file, struct b_str *out);

/* Paths that a rule speaks of. Private to sbpl/. */

#define SBPL_SAMPLES 4

/* Path number `variant` (< SBPL_SAMPLES) that the rule matches: names not used elsewhere stand
 * for its wildcards, of several lengths and depths. */
void sbpl_sample(const struct pol_rule *, unsigned variant, struct b_str *out);

/* An index of n things by name. Private to sbpl/. */

struct sbpl_names {
	const char *(*name)(const void *ctx, size_t i);
	const void *ctx;
	unsigned *slot; /* i + 1 by hash, 0 = free */
	size_t mask;
};

/* `name` and `ctx` are set by the caller; the slots come from the arena. Of equal names the first
 * counts. */
void sbpl_names_build(struct sbpl_names *, struct b_arena *, size_t n);
/* i + 1, or 0. */
unsigned sbpl_names_find(const struct sbpl_names *, const char *wanted);

/*
 * One name, several spellings: Unicode's canonical forms. A file system that
 * compares them alike (APFS) still hands out the bytes a name was made with.
 */

/* Appends the text decomposed (NFD), or composed (NFC). False, nothing appended: no well-formed
 * UTF-8. */
bool b_normalise(const char *s, size_t len, bool composed, struct b_str *out);
