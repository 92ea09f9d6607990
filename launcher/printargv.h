/* printargv.h - --print-argv: the command with sbx-launch in front, for who starts it himself. */
#pragma once

struct lau_options;

/* On standard output: a line for a shell, or with --json an array. An exit status. */
int lau_print_argv(const struct lau_options *);
