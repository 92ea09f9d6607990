/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell.h - sbx-launch where a shell is expected: `-c STRING`, and sbx-shell, which is this program
 * by another name. Pure.
 *
 *	if (lau_shell_is_asked(argv[0]))
 *		argv = lau_shell_words(&argc, argv, &options.is_shell);
 */
#pragma once

#include <stdbool.h>

#define LAU_SHELL "/bin/sh"

/* Was the program started as sbx-shell, or as -sbx-shell, which is a login shell? */
bool lau_shell_is_asked(const char *argv0);

/* The words of sbx-shell as words of sbx-launch: our options, `--`, /bin/sh, the rest. Ours are the
 * words in front that begin with two dashes and are not `--` itself; a value stands behind `=`. All
 * others are sh's. *out_is_bare: there were none of ours. malloc'ed, NULL at the end; the strings
 * are borrowed. */
char **lau_shell_words(int *argc, char **argv, bool *out_is_bare);

/* What runs `string` with these operands ($0, $1, ...), which end in NULL. malloc'ed with
 * a copy of the string; the operands are borrowed. */
#define LAU_SHELL_FRONT 3 /* words before the operands */
char **lau_shell_command(const char *string, char *const *operands);
