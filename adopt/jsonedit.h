/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonedit.h - changes in the text of a JSON file that leave all else as it is: order, white space,
 * comments. Pure.
 *
 *	static const char *const path[] = {"hooks", "PreToolUse", NULL};
 *	if (ad_json_append(text, path, "{\"matcher\": \"Bash\"}", &out, &err) < 0) ...
 *
 * Comments and a comma behind the last value are taken as editors of such files take them. Other
 * errors are B_FORMAT with the line; so are keys that stand twice on the way, and a value on the
 * way that is neither an object nor, at its end, a list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct b_err;

/* Bytes of the text. */
struct ad_span {
	size_t at, end;
};

/* Is all of it one object? */
int ad_json_check(const char *text, struct b_err *err);

/* The value that the keys lead to. 1 = found, 0 = not there, -1 = B_FORMAT. */
int ad_json_find(const char *text, const char *const *path, struct ad_span *out, struct b_err *err);

/* Item i of the list `list`: false = it has fewer. */
bool ad_json_item(const char *text, struct ad_span list, size_t i, struct ad_span *out);

/* The text with one item more at the end of the list that the keys lead to; what is not there on
 * the way is made. An empty text is an object without anything. */
int ad_json_append(const char *text, const char *const *path, const char *item, struct b_str *out,
		   struct b_err *err);

/* The text without the value at `span`, an item of a list or the value of a key, and without the
 * comma and the blanks that belong to it. */
void ad_json_cut(const char *text, struct ad_span span, struct b_str *out);
