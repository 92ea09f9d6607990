/*
 * printenv.h - preload-only mode, for harnesses that start programs and cannot put a prefix
 * before them: `eval "$(sbx-launch --print-env ...)"`.
 *
 * Makes a run directory with the compiled policy, the shims' shared counters and the log, and
 * prints the variables as a shell's export commands. Every dynamic program started from there on
 * is checked and witnessed by its shim, and by nothing else: the first line of the log says that
 * no floor stands below. A failure prints commands that stop the shell which evaluates them.
 */
#pragma once

struct lau_options;

/* Exit status. */
int lau_print_env(const struct lau_options *);
/* Printed at each failure, those that come before that as well. In a function, a sourced file or a
 * script: wherever the text is evaluated, it goes no further. */
#define LAU_PRINT_ENV_STOP "return 125 2>/dev/null || exit 125\n"
