/* SPDX-License-Identifier: Apache-2.0 */
/* ruleset.h - ordered rules, and what is made of them: patterns, images, comparisons. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/image.h"
#include "policy/compile/endpoints.h"

struct b_err;
struct b_str;
struct pol_list;
struct pol_past;
struct pol_rule;
struct pol_ruleset;

/*
 * One ordered list per operation; the last rule that matches wins.
 *
 * Everything after the front-ends works on this and nothing else: no dialect is known here.
 * Memory lives in the ruleset's arena.
 */

enum pol_shape {
	POL_EXACT, /* `base` itself */
	POL_TREE,  /* `base` and all beneath */
	POL_GLOB   /* `base` is a literal directory, `glob` is relative to it */
};

/* The groups of rules, in the order in which they apply (the last match decides). `sbx-policy show`
 * prints them. */
#define POL_TIERS(X)                                                                               \
	X(BASE, "base")                                                                            \
	X(PROFILE, "profile")                                                                      \
	X(DENY, "deny")                                                                            \
	X(SET, "set")                                                                              \
	X(SIDE, "side")                                                                            \
	X(CLI, "cli")

enum pol_tier {
#define X(name, text) POL_TIER_##name,
	POL_TIERS(X)
#undef X
		POL_TIER_COUNT
};

/*
 * Documents that must all allow: each is a layer of the list, an ordered list of its own. Layers
 * stand one behind the other, in this order; what is said of "the last rule that matches" is said
 * within one. A list mostly is the main layer alone.
 */
enum pol_layer_number { POL_LAYER_MANAGED, POL_LAYER_MAIN, POL_LAYER_PROJECT /* and further */ };
#define POL_LAYERS_MAX 8

struct pol_rule {
	bool allow;
	uint8_t layer;
	enum pol_shape shape;
	enum pol_tier tier;
	bool folds; /* POL_GLOB: letters of `glob` (ASCII) match in either case */
	bool twin;  /* canonical spelling of the rule before it (symlinked prefix) */
	bool saves; /* a twin that is the temporary name by which the file of that is saved */
	bool base_is_root; /* POL_GLOB: a glob that matches "" also matches `base` itself */
	const char *base;  /* canonical absolute bytes, "" = the root directory "/" */
	size_t base_len;
	const char *glob;      /* POL_GLOB only */
	const char *matched;   /* the normalised rule without '!', as events report it */
	const char *origin;    /* "file:line:col", "builtin:base:3", "preset:secrets:12:5",
				  "cli:--read:1" */
	const char *obeyed_by; /* a denial of what this one runs or obeys outside; NULL = other;
				  borrowed from a preset */
};

struct pol_list {
	struct pol_rule *v;
	size_t n, cap;
};

struct pol_ruleset {
	struct b_arena arena;
	struct pol_list op[SBX_OP_COUNT];
	struct pol_endpoints net;
	const char *profile; /* name reported in events */
	/* Roots whose paths are shown as ./x; the first is "the" workspace. Canonical. */
	const char **workspaces;
	size_t nworkspaces;
	/* /tmp is the run's own, but for these paths of the host's, which lie below it: sorted,
	 * none in another. */
	bool own_tmp;
	const char **tmp_kept;
	size_t ntmp_kept;
};

void pol_ruleset_init(struct pol_ruleset *);
void pol_ruleset_release(struct pol_ruleset *);

/* Copies the rule (strings into the arena) to the end of the list. */
struct pol_rule *pol_ruleset_add(struct pol_ruleset *, enum sbx_op, const struct pol_rule *);
/* The same for the list of each operation of `ops` (bit 1u << op): they share one copy. */
void pol_ruleset_add_to(struct pol_ruleset *, unsigned ops, const struct pol_rule *);
/* Makes the list `to` the same as `from`; the strings, in the arena, are shared. */
void pol_ruleset_copy(struct pol_ruleset *, enum sbx_op from, enum sbx_op to);

/* Judges one rule by the naive matcher. `path` canonical absolute. */
bool pol_rule_matches(const struct pol_rule *, const char *path, size_t len);
/* Index of the last matching rule of the list before index `end`, in the layer of the one before
 * `end`, or -1. Slow, for explanations. */
int pol_list_last_match(const struct pol_list *, size_t end, const char *path, size_t len);
/* Index of the rule that decides, or -1, by the naive matcher: what sbx_attribute() says. */
int pol_list_decide(const struct pol_list *, const char *path, size_t len);
/* The end of the layer that begins at rule `first`. */
size_t pol_layer_end(const struct pol_list *, size_t first);
const char *pol_tier_name(enum pol_tier);

/*
 * The one glob language (sbx-policy(5)), as a judge of single patterns.
 *
 * `*` run without '/' (may be empty, matches dot files); `**` + '/' zero or more
 * directories; other `**` crosses '/'; `?` one token: a well-formed UTF-8 sequence, or one
 * byte that belongs to none, never '/'; trailing slash-star-star covers its anchor; "." is
 * the root. Everything else, `[ ] { } \` included, is literal.
 *
 * This matcher is the naive one (linear per pattern, no compile): the automata
 * (policy/compile/automaton.c) decide; it serves explanations and tests.
 */

/* Does relative pattern `glob` match relative path `path` ("" = the root of the rules)? */
bool pol_glob_match(const char *glob, const char *path, size_t len);

/* The same, letters of ASCII matching in either case. */
bool pol_glob_match_folded(const char *glob, const char *path, size_t len);

/* The same pattern as a PCRE2 regex over the relative path, anchored (^...$), to be compiled
 * with DOTALL and DOLLAR_ENDONLY, matched on bytes. Appends. */
void pol_glob_regex(const char *glob, struct b_str *out);

/* Has it any wildcard? */
bool pol_glob_is_literal(const char *glob);
/* Length of the literal directory prefix: "src/a*.c" -> 3 ("src"), "*x" -> 0. */
size_t pol_glob_literal_prefix(const char *glob);

/*
 * Ruleset -> image. Pure: values to bytes.
 *
 * Fails (B_LIMIT, naming the rule's origin) when the automata would pass the limits below.
 * Equal rulesets give equal bytes.
 */

#define POL_MAX_STATES (1u << 18) /* of one automaton, before minimisation */

struct pol_alias {
	const char *from, *to;
};

struct pol_compile_opts {
	const struct pol_alias *aliases;
	size_t naliases;
	bool deny_on_error;
	bool folds;  /* with folded denials, for file systems that fold names */
	bool inside; /* of a run inside a run */
	/* What the rules on endpoints are numbered by, which are at `past_at` there (past.h); NULL
	 * = there was no image before. */
	const struct pol_past *past;
	uint32_t past_at;
	/* An image of a ruleset that differs in endpoints alone: what it has of paths is copied.
	 * NULL = it is compiled. */
	const struct sbx_image *base;
};

/* *out_data is malloc'ed, *out_size bytes; `opts` may be NULL. */
int pol_compile(const struct pol_ruleset *, const struct pol_compile_opts *opts, void **out_data,
		size_t *out_size, struct b_err *err);

/*
 * Questions about all paths at once: is there one that these automata judge so? The
 * answer is a proof or a shortest example. Pure.
 *
 *	const struct pol_side sides[] = {{&old->image, SBX_READ}, {&new->image, SBX_READ}};
 *	struct b_str path = {0};
 *	rc = pol_find_path(sides, 2, POL_WHERE(0b01), &path, &err);	old allows, new denies
 *
 * Only canonical paths count: those that a call can be judged at.
 */

/* The verdicts of one operation of an image. */
struct pol_side {
	const struct sbx_image *image;
	enum sbx_op op;
};

#define POL_MAX_SIDES	 4
#define POL_MAX_PRODUCTS (1u << 21) /* states of all automata together; beyond: B_LIMIT */

/* Which verdicts are looked for: bit n stands for the verdicts n, whose bit i is side i's. */
#define POL_WHERE(verdicts) ((uint16_t)(1u << (verdicts)))

/* 1: *out_path is appended the shortest such path; 0: there is none; -1: B_LIMIT. */
int pol_find_path(const struct pol_side *, size_t n, uint16_t where, struct b_str *out_path,
		  struct b_err *err);

/* The same, of every state of the automata that has such paths the shortest one, shortest first,
 * until `each` gives other than 0; -1 when the limit was met before. */
typedef int pol_each_path(void *arg, const char *path, size_t len);
int pol_each_state(const struct pol_side *, size_t n, uint16_t where, pol_each_path *each,
		   void *arg, struct b_err *err);

/* Verdicts of a list of rules alone, as the operation SBX_READ of an image. */
struct pol_verdicts {
	struct sbx_image image;
	void *data;
};
int pol_verdicts_of(const struct pol_list *, struct pol_verdicts *out, struct b_err *err);
/* The paths that rule `i` of the list decides: it matches, and none behind it does. */
int pol_verdicts_decided(const struct pol_list *, size_t i, struct pol_verdicts *out,
			 struct b_err *err);
/* The paths that the rule matches. */
int pol_verdicts_matched(const struct pol_rule *, struct pol_verdicts *out, struct b_err *err);
void pol_verdicts_release(struct pol_verdicts *);
