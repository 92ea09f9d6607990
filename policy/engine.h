/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - from a request to a compiled policy: the face that sbx-launch, sbx-policy and
 * (later) embedders share.
 *
 *	struct pol_request rq = { ... };
 *	struct pol_engine *e;
 *	if (pol_engine_new(&rq, &e, &err) < 0) ...
 *	pol_engine_check(e, SBX_READ, "/etc/passwd", &answer, &err);
 *	pol_engine_free(e);
 *
 * Order of rules, of which the last match decides: base, profile, global denies, sets, side
 * roots, command line. The literal prefix of each rule is resolved here: where it passes through
 * a symlink a twin rule with the canonical spelling follows it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/decide.h"
#include "policy/compile/imgcache.h"
#include "policy/compile/ruleset.h"
#include "policy/document/request.h"

struct b_err;
struct b_str;
struct pol_layers;
struct pol_mounted;

struct pol_engine {
	struct pol_ruleset rules;
	struct sbx_image image;
	void *image_data;	  /* image.size bytes */
	struct pol_cached cached; /* they lie in this file, when cached.map; else malloc'ed */
	const char *policy_name;  /* "builtin:default" or the file */
	struct pol_effect effect;
	bool has_endpoints;   /* rules on endpoints are enforced (request.with_endpoints) */
	const char **notices; /* a line each for the person: set rules re-opened ... */
	size_t nnotices;
	const struct pol_opened *opened; /* see there */
	size_t nopened;
	const char **losses; /* a line each: what the policy says and nothing enforces */
	size_t nlosses;
	/* Of this process, as they were when rules were given the names of other mounts
	 * (mountinfo.h) */
	const struct pol_mounted *mounts;
	size_t nmounts;
	char hash[65]; /* SHA-256 of the image */
	/* How many rules of each list are the run's own; those of the run around it stand behind.
	 */
	size_t own_rules[SBX_OP_COUNT];
	/* pol_engine_part(): each document of its own alone. */
	struct pol_engine *part[POL_LAYERS_MAX];
	size_t nparts;
};

int pol_engine_new(const struct pol_request *, struct pol_engine **out, struct b_err *err);
void pol_engine_free(struct pol_engine *);
/* Fills `part`, where `image` is not the one own document: what compares the verdicts at two names
 * asks each document, or one could deny both names to make them equal. `cache` as image_cache. */
int pol_engine_part(struct pol_engine *, const char *cache, struct b_err *err);
/* Is nothing lost that may not be? B_FLOOR. */
int pol_engine_refuse(const struct pol_engine *, struct b_err *err);
/* Calls `told` once for each program of a rule on endpoints that the policy lets the command
 * change: its file, or names where its pattern begins. */
void pol_engine_changeable(const struct pol_engine *,
			   void (*told)(void *ctx, const struct pol_endpoint *,
					const struct pol_program *),
			   void *ctx);
/* Names the rules, see pol_imgcache_rules_key(). */
void pol_engine_rules_key(struct pol_engine *, char out[B_SHA256_HEX]);

struct pol_answer {
	enum sbx_op op;
	bool allowed;
	const char *path;    /* the path judged, as "./x" when asked relative to the workspace */
	const char *real;    /* canonical absolute path judged */
	const char *matched; /* matched_rule */
	const char *origin;  /* rule */
	bool folded; /* the rule denies the name in another case or form, which is one there */
	const struct pol_rule *rule; /* NULL: none matched */
	const struct pol_rule
		*overrode; /* last earlier matching rule of the other polarity, or NULL */
};
/* Absolute path: symlinks resolved as far as it exists, judged on the whole ruleset.
 * Relative path: no "..", no "~" at its front; judged at workspace/path. Byte by byte: a blank or
 * a backslash is part of a name, unlike in a rule's text. Strings live in the engine. */
int pol_engine_check(struct pol_engine *, enum sbx_op, const char *path, struct pol_answer *out,
		     struct b_err *err);
/* The same, with the strings that the question makes in another arena: for who asks for long. */
int pol_engine_check_in(const struct pol_engine *, struct b_arena *, enum sbx_op, const char *path,
			struct pol_answer *out, struct b_err *err);

/* The same for a path that is resolved already, as an event has it: links that stand there now are
 * not followed. */
int pol_engine_check_resolved(const struct pol_engine *, struct b_arena *, enum sbx_op,
			      const char *path, struct pol_answer *out, struct b_err *err);

/* Rules of the answer's list that match its path, in order; the last is the one that decided.
 * Calls each(arg, rule, decides). */
void pol_engine_matches(const struct pol_engine *, const struct pol_answer *,
			void (*each)(void *arg, const struct pol_rule *, bool decides), void *arg);

/* Appends a canonical path as events show it: below the first workspace as "./x". */
void pol_engine_shown(const struct pol_engine *, const char *real, struct b_str *out);

/* The rules as text, in order, with tier and origin (`sbx-policy show`). */
void pol_engine_show(const struct pol_engine *, struct b_str *out);
