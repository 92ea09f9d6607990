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
