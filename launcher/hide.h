/*
 * hide.h - what is shown of a run's words and texts: without the values of variables whose names
 * say that they are secret (redact.h), of the caller's and of --setenv. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "launcher/redact.h"

struct b_arena;
struct lau_options;

/* Borrowed from both. `but_paths`: not values that are absolute paths, for lines whose point is a
 * path (XAUTHORITY, SSH_AUTH_SOCK). */
void lau_hide_collect(const struct lau_options *, char *const *vars, bool but_paths,
		      struct lau_secrets *out);
void lau_hide_text(const struct lau_secrets *, const char *text, struct b_str *out);
/* A copy in the arena, NULL at the end. */
char **lau_hide_words(const struct lau_secrets *, char *const *words, struct b_arena *);
/* The entry of `vars` whose value is at `s`, by the longest secret that begins there, and that a
 * shell can name; NULL = none. *out_len: of the value, *out_name_len: of the name. */
const char *lau_hide_named(const struct lau_secrets *, char *const *vars, const char *s,
			   size_t *out_name_len, size_t *out_len);
/* Can a shell name a variable so? */
bool lau_hide_is_shell_name(const char *s, size_t n);
