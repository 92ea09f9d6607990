/*
 * script.h - the first line of a script, as the kernel of macOS reads it: an interpreter and, for
 * this module, one argument, blanks included. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct lau_script {
	char *interpreter, *argument; /* arena; argument: NULL = none */
};

/* `head`: the first `n` bytes of the file. False: no script, or one without an absolute path. */
bool lau_script_parse(struct b_arena *, const char *head, size_t n, struct lau_script *out);
/* "env NAME" without options or assignments: the NAME that env would look for, else NULL. */
const char *lau_script_env(const struct lau_script *);
/* interpreter [argument] file rest-of-argv: what the kernel makes of it. In the arena. */
char **lau_script_argv(struct b_arena *, const struct lau_script *, const char *file,
		       char *const *argv);
