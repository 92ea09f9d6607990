/* SPDX-License-Identifier: Apache-2.0 */
/* pager.h - a long answer on a terminal goes through a pager, as git's do: SBX_PAGER, PAGER, or
 * less where it is there, which leaves what fits on the screen.
 *
 *	pager_start();
 *	... write to standard output ...
 *	pager_end();
 */
#pragma once

#include <stdbool.h>

/* Does a person read what we write? Also when a pager stands between. */
bool pager_is_terminal(void);
/* Nothing when standard output is no terminal, or the pager is "" or "cat". */
void pager_start(void);
/* Waits until the person has read enough. */
void pager_end(void);
