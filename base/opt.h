/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt.h - command-line options as a table: parser, help text, man-page check and
 * completions all read the same rows.
 *
 *	static const struct b_opt opts[] = {
 *		{ "policy", 0, "FILE", B_OPT_CALL, .call = add_policy, .help = "..." },
 *		{ "quiet", 'q', NULL, B_OPT_FLAG, .offset = offsetof(struct o, quiet) },
 *	};
 *
 * Grammar: --name VALUE, --name=VALUE, -x, -xVALUE, -x VALUE, grouped short flags;
 * `--` ends options. Names are matched whole (no abbreviations).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_err;
struct b_opt;
struct b_str;

enum b_opt_kind {
	B_OPT_FLAG,  /* bool at offset = true */
	B_OPT_COUNT, /* unsigned at offset += 1 */
	B_OPT_STR,   /* const char * at offset, borrowed from argv; twice is an error */
	B_OPT_LIST,  /* struct b_strlist at offset, appended */
	B_OPT_ENUM,  /* int at offset = index of the value in `values` ("a|b|c"); where that
		      * begins with a bar, 0 is left for the option that is not given */
	B_OPT_MS,    /* uint64_t at offset, b_parse_duration_ms */
	B_OPT_U64,   /* uint64_t at offset */
	B_OPT_CALL,  /* call(target, value, err) */
};

struct b_strlist {
	const char **v;
	size_t n, cap;
};
void b_strlist_add(struct b_strlist *, const char *s);
void b_strlist_release(struct b_strlist *); /* the array; the strings are borrowed */

struct b_opt {
	const char *name; /* without the dashes */
	char letter;	  /* 0 = none */
	const char *arg;  /* placeholder of the value, NULL = takes none */
	enum b_opt_kind kind;
	size_t offset;
	const char *values; /* B_OPT_ENUM */
	int value; /* B_OPT_FLAG with value != 0: int at offset = value (exclusive flags) */
	int (*call)(void *target, const char *value, struct b_err *err);
	const char *group; /* heading in the help text */
	const char *help;  /* one line, may be long: wrapped at 80; NULL: not shown */
	/* For b_opt_check(). Lists are names separated by bars, without dashes. */
	unsigned where;	      /* bits that the program defines; 0 = everywhere */
	const char *needs;    /* one of these must be given, too: "doctor|ps" */
	const char *excludes; /* none of these may be; "name=value": not with this value */
	const char *idle;     /* values that change nothing: as if the option were not given */
	const char *macos;    /* launcher/options/option_rows.h */
};

/* The options that were given, in their order. */
struct b_opt_uses {
	struct b_opt_use {
		const char *name, *value; /* of the row; from argv, NULL = takes none */
	} * v;
	size_t n, cap;
};
void b_opt_uses_release(struct b_opt_uses *);
/* The last use of the row with a value that changes something, or NULL. */
const struct b_opt_use *b_opt_given(const struct b_opt *, const struct b_opt_uses *);
/* 0, or -1 with B_USAGE: an option was given that does not apply at `where` (called `place` in the
 * message), or without the option that it needs, or with one that it excludes. */
int b_opt_check(const struct b_opt *table, size_t n, const struct b_opt_uses *, unsigned where,
		const char *place, struct b_err *err);

/* Parses argv[1..] into `target`, the struct to which the offsets belong. Returns 0, or -1 with
 * B_USAGE, which names the option and, if one is close, a suggestion. Errors of `call` keep their
 * kind and get the option's name in front.
 *
 * It stops at the first word that is not an option (a lone `-` is not one), or after `--`;
 * *out_rest is the index of that word, or argc. If `words` is not NULL, it collects such words, and
 * all words after `--`, in *words and continues: *out_rest = argc. An option takes the next word as
 * its value, whatever it looks like, as getopt(3) does. Flags with a `value` that share an offset
 * exclude each other; if another option is given twice, the last value counts. Values point into
 * argv. */
int b_opt_parse(const struct b_opt *table, size_t n, int argc, char **argv, void *target,
		struct b_strlist *words, int *out_rest, struct b_err *err);
/* The same for a program whose options end at the first word that is not one. Uses before an error
 * are in *uses, too; the caller releases it. */
int b_opt_parse_uses(const struct b_opt *table, size_t n, int argc, char **argv, void *target,
		     struct b_opt_uses *uses, int *out_rest, struct b_err *err);
/* Appends the "Options" part of --help. */
void b_opt_help(const struct b_opt *table, size_t n, struct b_str *out);

/*
 * Completions for shells, from the same table as the parser and the help (opt.h).
 *
 *	static const char *const verbs[] = {"check", "why", NULL};
 *	const struct b_completion c = {"sbx-policy", table, n, verbs, false};
 *	b_complete(&c, B_SHELL_BASH, &out);
 */

#define B_SHELLS "bash|zsh|fish"
enum b_shell { B_SHELL_BASH, B_SHELL_ZSH, B_SHELL_FISH };

struct b_completion {
	const char *program;
	const struct b_opt *table;
	size_t n;
	const char *const *verbs; /* the first word is one of these, NULL-terminated; NULL = none */
	bool runs_command;	  /* the first word that is not an option is a command, and ends the
				     options */
};

/* Appends a script for the shell, to be sourced or installed. */
void b_complete(const struct b_completion *, enum b_shell, struct b_str *out);

/* "did you mean": the nearest of a few names to what somebody typed. [no-alloc]
 *
 *	struct b_near near = B_NEAR_INIT;
 *	for each name: b_near_offer(&near, typed, typed_len, name, strlen(name));
 *	if (near.text) ... did you mean near.text (near.len bytes)
 */

struct b_near {
	const char *text; /* NULL: none was near */
	size_t len;
	unsigned best;
};

#define B_NEAR_MAX 2 /* edits; swapped neighbours count as one */
#define B_NEAR_INIT                                                                                \
	{                                                                                          \
		.best = B_NEAR_MAX + 1                                                             \
	}

/* Keeps `name` (borrowed) when it is nearer than those before. Less than half of the letters may
 * differ, or every two-letter name would be near every other. */
void b_near_offer(struct b_near *, const char *typed, size_t n, const char *name, size_t len);
