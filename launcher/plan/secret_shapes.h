/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_shapes.h - secrets in the words of a command line that no variable has: the value behind
 * `--password`, `TOKEN=`, `Authorization:` or `-u USER:`, the password in a URL, and tokens whose
 * first letters say what they are. A word may be a script (`sh -c`). It removes rather too much
 * than too little, but cannot know a secret that looks like any other word (`mysql -pX`). Pure.
 *
 *	b_str_reset(&shown);
 *	lau_hide_shapes("--password", "hunter2", &shown);	("[REDACTED]")
 */
#pragma once

struct b_str;

/* `before`: the word before this one, or "". Appends. */
void lau_hide_shapes(const char *before, const char *word, struct b_str *out);
