/*
 * format.h - a document in its usual shape: two columns a level, one blank line at most, lists of
 * up to a line kept as they are, comments kept where they stand. Order, spelling and quotes of
 * what is written stay; so does what it means, which is checked. Pure.
 */
#pragma once

#include <stddef.h>

struct b_err;
struct b_str;

#define POL_FORMAT_WIDTH 100 /* columns of a list on one line */

/* Appends to *out. Formatting what was formatted changes nothing. B_POLICY with file:line:col: what
 * pol_yaml_parse() refuses, and what cannot be kept (directives, a block scalar with a number for
 * its indentation, comments in odd places). */
int pol_format(const char *name, const char *text, size_t len, struct b_str *out,
	       struct b_err *err);
