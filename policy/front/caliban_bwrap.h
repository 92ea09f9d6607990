/*
 * caliban_bwrap.h - the arguments that caliban itself gives bubblewrap for its `[sandbox]` table,
 * in its order: to compare, or for what is built on them. What this product mounts is bwrap.h's.
 */
#pragma once

#include <stddef.h>

struct b_err;
struct b_str;
struct pol_fsview;

/* Appends them up to, and without, `--` and the command, each ended by a NUL. The text is checked
 * as pol_front_parse() does; `fs` says what is a directory. B_POLICY. */
int pol_caliban_bwrap(const char *name, const char *text, size_t len, const struct pol_fsview *fs,
		      struct b_str *out, struct b_err *err);
