/* SPDX-License-Identifier: Apache-2.0 */
/* adopt.h - `--hook` and `--setup`: sbx-adopt, a program of its own, does the work. */
#pragma once

#include <stdbool.h>

struct lau_options;

/* Answers a hook of an agent. The status is 0, or the one with which a hook refuses the call:
 * whatever is wrong with us, no command runs bare. */
int lau_hook(const struct lau_options *);
/* Is it for a hook? Asked of words that could not be read: then that status is due, too. */
bool lau_hook_is_asked(int argc, char **argv);
#define LAU_HOOK_BLOCKS 2

/* Becomes the program that changes an agent's settings; returns a status when it cannot. */
int lau_setup(const struct lau_options *);
