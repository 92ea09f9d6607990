/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.h - what the person at the terminal reads of denials while the command runs. A line into
 * the screen of an editor would spoil it: it waits until the program gives the screen back.
 *
 *	struct lau_prompt p = {.is_terminal = isatty(STDERR_FILENO)};
 *	lau_prompt_say(&p, line);
 *	lau_prompt_look(&p);		(now and then)
 *	lau_prompt_end(&p);		(the command has ended)
 *	lau_prompt_release(&p);
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct lau_prompt {
	bool is_terminal; /* standard error */
	bool has_ended;	  /* no program draws on the screen any more */
	struct b_str held;
	unsigned nheld, beyond; /* lines that wait; more than those, which are only counted */
};

/* Writes the line to standard error with the program's name before it, or keeps it. */
void lau_prompt_say(struct lau_prompt *, const char *line);
/* Writes what waits, where the screen is free again. */
void lau_prompt_look(struct lau_prompt *);
/* Writes what waits. From here on nothing does. */
void lau_prompt_end(struct lau_prompt *);
void lau_prompt_release(struct lau_prompt *);
