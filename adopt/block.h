/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - our lines in a text file whose comments begin with `#`, between two lines that say
 * whose they are. Pure.
 *
 *	ad_block_put(text, "npm", "script-shell=/usr/bin/sbx-shell\n", false, &out);
 */
#pragma once

#include <stdbool.h>

#include "adopt/jsonedit.h"
#include "base/str.h"

/* Where the block stands, its two lines included. */
bool ad_block_find(const char *text, const char *name, struct ad_span *out);
/* The text with these lines: in the place of the block, else at the end, or at the top (behind a
 * first line with `#!`). */
void ad_block_put(const char *text, const char *name, const char *lines, bool at_top,
		  struct b_str *out);
/* The text without the block. */
void ad_block_cut(const char *text, struct ad_span block, struct b_str *out);

/* The value of a line `KEY = value` or `KEY: value`, which is not one of the block when that is cut
 * out before. The key is a word of the line and not in a comment; its small letters match either.
 * `is_makefile`: takes the last such line, and passes over recipes; else takes the first. Returns
 * NULL if no line has the key. */
const char *ad_block_value(const char *text, const char *key, bool is_makefile, size_t *out_len);
