/*
 * complete.h - completions for shells, from the same table as the parser and the help (opt.h).
 *
 *	static const char *const verbs[] = {"check", "why", NULL};
 *	const struct b_completion c = {"sbx-policy", table, n, verbs, false};
 *	b_complete(&c, B_SHELL_BASH, &out);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_opt;
struct b_str;

#define B_SHELLS "bash|zsh|fish"
enum b_shell { B_SHELL_BASH, B_SHELL_ZSH, B_SHELL_FISH };

struct b_completion {
	const char *program;
	const struct b_opt *table;
	size_t n;
	const char *const *verbs; /* the first word is one of these, NULL-terminated; NULL = none */
	bool runs_command;	  /* the first word that is no option is a command, and ends them */
};

/* A script for the shell, to be sourced or installed. */
void b_complete(const struct b_completion *, enum b_shell, struct b_str *out);
