/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - what the questions of sbx-policy share. A question is a function of the options and the
 * words behind its name that prints its answer and gives the exit status.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/run/dirs.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"

struct b_err;
struct b_str;
struct pol_doc;
struct pol_engine;

enum { YES = 0, NO = 1, TROUBLE = 2 }; /* exit statuses, as grep(1)'s */

enum ask_plan { PLAN_LANDLOCK, PLAN_SECCOMP, PLAN_SBPL, PLAN_BWRAP, PLAN_NONE };

enum ask_mounts { MOUNTS_OURS, MOUNTS_CALIBAN };

enum ask_on { ON_THIS_HOST, ON_MACOS };

struct ask_opts {
	struct lau_options run; /* first: the rows of lau_policy_table count from the start */
	bool json, from_stdin, all, table, write, check_only, floor, effective, help, version;
	int plan;		 /* enum ask_plan */
	int to;			 /* enum pol_dialect */
	uint64_t abi;		 /* of Landlock, 0 = this host's */
	int style;		 /* enum sbpl_style */
	int mounts;		 /* enum ask_mounts */
	int on;			 /* enum ask_on */
	struct b_strlist listed; /* of approve */
	struct b_strlist exes;	 /* of why: the program, then its ancestors */
	bool auto_allow;
	const char *output;
	int completion; /* enum b_shell, -1 = none */
};

/* The questions. */
int ask_why(struct ask_opts *, char const *const *words, size_t n);
int ask_show(struct ask_opts *, char const *const *words, size_t n);
int ask_list(struct ask_opts *, char const *const *words, size_t n);
int ask_add(struct ask_opts *, char const *const *words, size_t n);
int ask_presets(struct ask_opts *, char const *const *words, size_t n);
int ask_trust(struct ask_opts *, char const *const *words, size_t n);
int ask_distrust(struct ask_opts *, char const *const *words, size_t n);
int ask_diff(struct ask_opts *, char const *const *words, size_t n);
int ask_test(struct ask_opts *, char const *const *words, size_t n);
int ask_compile(struct ask_opts *, char const *const *words, size_t n);
int ask_fmt(struct ask_opts *, char const *const *words, size_t n);
int ask_schema(struct ask_opts *, char const *const *words, size_t n);
int ask_convert(struct ask_opts *, char const *const *words, size_t n);
int ask_approve(struct ask_opts *, char const *const *words, size_t n);
int ask_lint(struct ask_opts *, char const *const *words, size_t n);

/* Prints the message; TROUBLE. */
int ask_trouble(const struct b_err *);
/* The same for each line of the report, if it has several. */
int ask_trouble_all(const struct b_str *report, const struct b_err *);
/* Prints to standard output; `status`, or TROUBLE when that fails. */
int ask_print(const struct b_str *text, int status);

/* All that is wrong with the file, a line each, is added to *report, where its language lists it.
 */
int ask_parse_file(const struct ask_opts *, const char *file, struct b_str *report,
		   struct pol_doc *, struct b_err *);

/* ask_suffix.c: can everybody register a name directly below this one? false where nothing here
 * knows. */
bool ask_is_public_suffix(const char *name);

/* What sbx-launch would make of the options. */
struct asked {
	struct lau_dirs dirs;
	struct lau_plan plan;
	struct ask_macos *macos; /* NULL until asked for */
};
/* Of nothing yet: safe to release. */
#define ASKED_NONE                                                                                 \
	{                                                                                          \
		.dirs = {.scratch = {.base = -1, .lock = -1} }                                     \
	}
/* The rules alone, and with the floor. Also after a failure *out is to be released. */
int ask_policy(const struct ask_opts *, struct asked *out, struct b_err *);
int ask_run(const struct ask_opts *, struct asked *out, struct b_err *);
void asked_release(struct asked *);
/* The profile that macOS would be given: its text, and what it answers. */
struct ask_macos;
int ask_macos_show(const struct ask_opts *, const struct asked *, struct b_str *out,
		   struct b_err *);
int ask_macos_new(const struct ask_opts *, const struct asked *, struct ask_macos **out,
		  struct b_err *);
void ask_macos_free(struct ask_macos *);
/* `path` canonical. *out_line (0 = none) is that of the profile, whose text *out_text is. */
bool ask_macos_allows(struct ask_macos *, enum sbx_op, const char *path, unsigned *out_line,
		      const char **out_text);
/* What of an allowed change the profile denies all the same: calls `tell` for each. */
typedef void ask_macos_exception(void *ctx, const char *what, unsigned line, const char *text);
void ask_macos_exceptions(struct ask_macos *, const char *path, ask_macos_exception *tell,
			  void *ctx);
/* Lines for the person, to standard error. */
/* What a document of another system has to tell, as `note:` lines. */
void ask_notes(const struct pol_doc *);
/* Names what of the document nothing here enforces, whatever the host. True: a strict run of it is
 * refused. */
bool ask_refused(const struct pol_doc *);
void ask_notices(const struct pol_engine *);
