/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approve.h - recognizes commands that only read, from their words alone. It runs and opens
 * nothing.
 *
 * Judged is what the words can make the program do. It fails safe: a command, an option, a piece
 * of shell syntax that is not in the tables is not read-only. It is not a boundary: a command
 * that passes still runs under the floor, which is one.
 *
 *	b_auto(b_str_release) struct b_str why = {0};
 *	if (!pol_approve_argv(argv, argc, &why))
 *		printf("needs approval: %s\n", b_str_c(&why));
 *
 * Programs are named bare: `./ls` is anyone's. `sh -c TEXT` (also bash, dash) is split by
 * pol_approve_shell(), each of its commands must pass.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_str;

/* Each: true = read-only; else *why gets one line, visible characters only. */
bool pol_approve_argv(char const *const *argv, size_t n, struct b_str *why);
/* Commands joined by | && || ; and newline; words of plain characters and quotes without
 * expansion; as the only redirections those to /dev/null and 2>&1. */
bool pol_approve_shell(const char *text, struct b_str *why);
/* The text of `sh -c TEXT`, NULL when the words are something else. */
const char *pol_approve_text(char const *const *argv, size_t n);
/* Calls `each` for each command of the text, until it returns false: then false. A text that cannot
 * be split is false, too. */
typedef bool pol_approve_each(void *ctx, char const *const *argv, size_t n, struct b_str *why);
bool pol_approve_split(const char *text, pol_approve_each *, void *ctx, struct b_str *why);
/* All names that can pass, shells included; NULL behind the last. */
const char *pol_approve_name(size_t i);
/* No variable in `envp` makes such commands run, read or write something else. Those of the loader
 * that name files pass: launcher/run/dirs.h looks where they lead. */
bool pol_approve_environment(char const *const *envp, struct b_str *why);

/* NAME=VALUE, NULL-terminated: put over the environment of a read-only command, they keep git from
 * writing its index, fetching, paging and asking a file-system monitor, whatever the repository's
 * configuration says. Nothing takes diff.external and the drivers of attributes out of force from
 * outside: launcher/run/dirs.h looks for them. */
extern const char *const pol_approve_settings[];

/* A list of commands in caliban's language (allow_unsandboxed_commands): a pattern with a space is
 * matched against the whole command, else against its first word. None matches a command with one
 * of ; & | ` $ ( ) < > or a line's end in it, quoted or not. */
bool pol_approve_listed(char const *const *patterns, size_t n, const char *command);

/* The table of commands that can be read-only; inside policy/approve/. */

struct pol_command {
	const char *name;
	/* Options that look; NULL = every one does. Letters may be bundled. After a letter of
	 * `letters_with` the rest of the word is its value. `options` are exact words without their
	 * `=value`, separated by spaces: GNU's abbreviations are not in it, on purpose. */
	const char *letters, *letters_with, *options;
	unsigned max_operands; /* 0 = any: uniq(1) writes its second */
	/* In place of all that. */
	bool (*judge)(char const *const *args, size_t n, struct b_str *why);
};

/* NULL: not in the table. */
const struct pol_command *pol_command_find(const char *name);
/* The name of the i-th, NULL behind the last. */
const char *pol_command_name(size_t i);
/* `word` up to its `=` is one of the list. */
bool pol_command_has(const char *list, const char *word);
/* Puts the word into *why as the one that is not known to look; false. */
bool pol_command_refuse(struct b_str *why, const char *name, const char *word);
bool pol_command_git(char const *const *args, size_t n, struct b_str *why);

/* True when the format has a placeholder (%G?, %+GS, %(signature) ...) for which git starts
 * gpg.program. Pure. */
bool pol_format_asks_gpg(const char *text);
