/*
 * ruleset.h - one ordered list per operation; the last rule that matches wins.
 *
 * Everything after the front-ends works on this and nothing else: no dialect is known here.
 * Memory lives in the ruleset's arena.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/image.h"

enum pol_shape {
	POL_EXACT, /* `base` itself */
	POL_TREE,  /* `base` and all beneath */
	POL_GLOB   /* `base` is a literal directory, `glob` is relative to it */
};

/* Where a rule stands in the order of DESIGN §3; printed by `sbx-policy show`. */
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
	bool folds;	   /* POL_GLOB: letters of `glob` (ASCII) match in either case */
	bool twin;	   /* canonical spelling of the rule before it (symlinked prefix) */
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
	const char *profile; /* name reported in events */
	/* Roots whose paths are shown as ./x; the first is "the" workspace. Canonical. */
	const char **workspaces;
	size_t nworkspaces;
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
/* Where the layer ends that begins at rule `first`. */
size_t pol_layer_end(const struct pol_list *, size_t first);
const char *pol_tier_name(enum pol_tier);
