/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the file that a command starts, and the files that this program is made of. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "core/event.h"

struct b_arena;
struct b_err;

/*
 * Finding the command before anything is forked, as execvp(3) would, so that the
 * statuses 126 and 127 are exact and nothing was prepared in vain.
 */

/* Path to hand to execve(2) for `name`: itself when it has a slash, else the first executable
 * regular file of that name in `path` (a PATH value; NULL: the system's default). malloc'ed.
 * B_NOTFOUND, or B_NOEXEC when there is such a file and it may not be executed. */
int lau_program_find(const char *name, const char *path, char **out, struct b_err *err);

/* Is this file a script for /bin/sh although it names no interpreter? True when its first line
 * holds no NUL byte, bash's test. For execve's ENOEXEC. [AS-safe] [no-alloc] */
int lau_program_is_text(const char *file);

/*
 * The first line of a script, as the kernel of macOS reads it: an interpreter and, for
 * this module, one argument, blanks included. Pure.
 */

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

/* Where the shim lies, and what else this program is made of. */

/* Beside this program (a build tree), else where `make install` puts it. malloc'ed. B_SHIM when
 * there is none, or its path cannot stand in LD_PRELOAD. */
int lau_shim_find(char **out, struct b_err *err);

/* sbx-selftest, in the same places. malloc'ed. B_SYSTEM when there is none. */
int lau_selftest_find(char **out, struct b_err *err);
int lau_audit_find(char **out, struct b_err *err);  /* sbx-audit */
int lau_adopt_find(char **out, struct b_err *err);  /* sbx-adopt */
int lau_ship_find(char **out, struct b_err *err);   /* sbx-ship */
int lau_bundle_find(char **out, struct b_err *err); /* sbx-bundle */

/* sbx-egress, likewise. */
int lau_egress_find(char **out, struct b_err *err);

/* When the program that runs lies in one of the workspaces: the canonical paths, in the arena, of
 * our programs there, the shim last. How many. Elsewhere only --modify could open them. */
#define LAU_OWN_MAX 12
size_t lau_own_files(struct b_arena *, const char *const *workspaces, size_t nworkspaces,
		     const char *out[LAU_OWN_MAX]);

/* What kind of image the command starts: will the shim load into it? */

/* Follows a script to its interpreter. */
enum sbx_exec_class lau_exec_class(const char *file);
