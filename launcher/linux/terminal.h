/*
 * terminal.h - the modes of the controlling terminal, for a command that could not put them back.
 *
 * A shell puts them back when its job died by a signal; it sees ours exit with 128+n, which says
 * to it that all is as it should be.
 */
#pragma once

#include <stdbool.h>
#include <termios.h>

struct lau_terminal {
	bool is_known;
	struct termios modes;
};

/* Before the command starts; without a terminal nothing is known. */
void lau_terminal_look(struct lau_terminal *);
/* When nobody of the run is left: unless another job has the terminal now. */
void lau_terminal_restore(const struct lau_terminal *);
