/*
 * glob.h - the one glob language (DESIGN §3), as a judge of single patterns.
 *
 * `*` run without '/' (may be empty, matches dot files); `**` + '/' zero or more
 * directories; other `**` crosses '/'; `?` one token: a well-formed UTF-8 sequence, or one
 * byte that belongs to none, never '/'; trailing slash-star-star covers its anchor; "." is
 * the root. Everything else, `[ ] { } \` included, is literal.
 *
 * This matcher is the naive one (linear per pattern, no compile): the automata
 * (policy/back/automaton.c) decide; it serves explanations and tests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_str;

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
