/* commands.h - the table of commands that can be read-only; inside policy/approve/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_str;

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
