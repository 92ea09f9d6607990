/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex.h - the regular expressions of sandbox profiles, on bytes.
 *
 * What Apple's matcher is known to take: literals, `.`, classes, groups (`(?:` too), `|`, `*`,
 * `+`, `?`, `{n}`, `^` at the start, `$`. Search semantics: unanchored unless written. Refused,
 * because the whole profile would be: `(?i)`, `^` in the middle, classes of more than 15 ranges.
 *
 * Matching keeps a set of states, never backtracks: time is path length times program length.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct b_err;

#define SBPL_REGEX_STATES 8192 /* instructions of one expression; Apple's jumps have 16 bits */
#define SBPL_REGEX_RANGES 15   /* of one class */
#define SBPL_REGEX_DEPTH  32   /* nested groups */

struct sbpl_regex;
struct sbpl_scratch; /* what matching works in; one serves any number of expressions */

struct sbpl_scratch *sbpl_scratch_new(void);
void sbpl_scratch_free(struct sbpl_scratch *);

/* In the arena. NULL with B_FORMAT or B_LIMIT. */
struct sbpl_regex *sbpl_regex_new(struct b_arena *, const char *text, size_t len, struct b_err *);

size_t sbpl_regex_size(const struct sbpl_regex *); /* bytes it takes, about */

/* What is matched, prepared once for any number of expressions: `lower` is `s` with ASCII letters
 * folded, of the same length; both are borrowed. */
struct sbpl_subject {
	const char *s, *lower;
	size_t len;
	uint64_t pairs[4]; /* of neighbouring bytes, hashed: text that lacks one cannot be inside */
};
void sbpl_subject_init(struct sbpl_subject *, const char *s, const char *lower, size_t len);

bool sbpl_regex_match(const struct sbpl_regex *, struct sbpl_scratch *,
		      const struct sbpl_subject *);
