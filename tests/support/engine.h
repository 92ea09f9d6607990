/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - rulesets and paths for tests of the engine: written by hand in one line each, or
 * drawn at random from small alphabets, where collisions are likely.
 *
 *	struct engine e;
 *	engine_init(&e);
 *	engine_rule(&e, "+ /ws **");          (glob `**` below /ws)
 *	engine_rule(&e, "- /ws/secrets/");    (tree)
 *	engine_rule(&e, "- /ws/a.env");       (exact)
 *	engine_compile(&e);
 *	cr_expect(engine_allows(&e, "/ws/x"));
 *	engine_release(&e);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/decide.h"
#include "policy/compile/ruleset.h"

struct engine {
	struct pol_ruleset rules;
	struct sbx_image image;
	void *data;
	size_t size;
	struct b_err err;
	bool folds; /* set before it is compiled */
};

void engine_init(struct engine *);
void engine_release(struct engine *);
/* Adds to the list of SBX_READ, or of another operation. Globs match their base when they
 * match "". Matched text and origin are the text itself. */
void engine_rule(struct engine *, const char *text);
void engine_rule_for(struct engine *, enum sbx_op op, const char *text);
/* A rule on endpoints in the main layer: "+ *.example.org:443", "- 10.0.0.0/8", wildcards anywhere;
 * " by GLOB" at the end: for programs whose path below the root matches. */
void engine_endpoint(struct engine *, const char *text);
/* Asks all that may be asked of endpoints, for what a damaged image does with it. */
void engine_ask_endpoints(const struct sbx_image *);
/* Aborts when it fails; the image has passed the whole check. */
void engine_compile(struct engine *);
/* 0 or -1 and engine.err. */
int engine_try(struct engine *);
bool engine_allows(const struct engine *, const char *path); /* SBX_READ */

/* Pseudo-random numbers: a test says its seed, so that a failure is found again. */
struct draw {
	uint64_t state;
};
void draw_seed(struct draw *, uint64_t seed);
unsigned draw(struct draw *, unsigned n); /* 0 .. n - 1 */

#define DRAWN_MAX 128
/* A glob without leading slash or empty component; `rich`: with `?` and all kinds of bytes. */
void draw_glob(struct draw *, bool rich, char out[DRAWN_MAX]);
/* A canonical path: components of up to a few characters, well-formed and broken. Its length. */
size_t draw_path(struct draw *, char out[DRAWN_MAX]);
/* A rule of any shape and polarity for SBX_READ. */
void draw_rule(struct draw *, bool rich, struct pol_ruleset *);
