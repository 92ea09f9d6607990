/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint.h - what in a valid policy is probably not meant. Rules are judged by the paths they match,
 * on automata, not by their text: a finding "never decides" is a proof.
 *
 *	struct pol_lint lint = {0};
 *	pol_lint_document(&lint, &doc, &err);
 *	pol_lint_host(&lint, &doc, engine, &floor, &err);
 *	pol_lint_text(&lint, &out);
 *	pol_lint_release(&lint);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "policy/document/model.h"

struct b_err;
struct b_str;
struct pol_engine;
struct pol_floor;

/* code, name */
#define POL_LINTS(X)                                                                               \
	X(NEVER, "never-matches")	  /* no path can match the rule */                         \
	X(SHADOWED, "shadowed")		  /* whatever it matches later rules match, too */         \
	X(NO_EFFECT, "no-effect")	  /* without it all verdicts are the same */               \
	X(DIRECTORY, "literal-directory") /* names a directory, not what is in it */               \
	X(LITERAL, "literal-character")	  /* [a-z] {a,b} \ are not wildcards here */               \
	X(SUFFIX, "public-suffix")	  /* names that anyone can register */                     \
	X(DENY_READ, "deny-read-only")	  /* not to be read, but to be changed */                  \
	X(SECRET, "secret-reachable")	  /* credentials can be read */                            \
	X(OBEYED, "obeyed-outside")	  /* opens what programs outside run or obey */            \
	X(LOOKALIKE, "look-alike")	  /* a denied name in another case or form */              \
	X(NOT_ENFORCED, "not-enforced")	  /* this host cannot enforce it */                        \
	X(WEAKENED, "layer-weakened")	  /* opens what another layer closes */                    \
	X(LINKED, "hard-link")		  /* a denied file has further names */                    \
	X(CLOSED, "opens-nothing")	  /* all that it opens others close */                     \
	X(TEMPORARY, "no-temporary")	  /* temporary files can be made nowhere */                \
	X(PROGRAM, "program-changeable")  /* that a rule is for, and the command may change */

enum pol_lint_code {
#define X(code, name) POL_LINT_##code,
	POL_LINTS(X)
#undef X
		POL_LINT_COUNT
};
const char *pol_lint_name(enum pol_lint_code);

struct pol_finding {
	enum pol_lint_code code;
	const char *where; /* "file:line:col" or another origin */
	const char *rule;  /* as it is reported by events; "" = about no rule */
	const char *text;
	size_t seen;   /* lists of rules that it was found in */
	bool is_exact; /* reported as it is, not only if it applies in each list that has the rule
			*/
};

/* Rules compiled for proofs, all together: some seconds. Few documents need any. */
#define POL_LINT_WORK 300000
/* Rules that sample paths are matched against, all together: the same. */
#define POL_LINT_MATCHES 5000000

/* Zeroed: nothing found. */
struct pol_lint {
	struct b_arena arena;
	struct pol_finding *v;
	size_t n, cap;
	size_t work;	   /* see POL_LINT_WORK */
	size_t matches;	   /* see POL_LINT_MATCHES */
	size_t unexamined; /* rules left out when that was used up */
	bool is_cut;	   /* not all names were looked at for hard links */
	/* Can everybody register a name directly below this one? NULL: nobody knows. */
	bool (*is_public_suffix)(const char *name);
};
void pol_lint_release(struct pol_lint *);

/* Findings that need no host: all except the last nine of the table. -1: B_LIMIT. */
int pol_lint_document(struct pol_lint *, struct pol_doc *, struct b_err *err);
/* Directories, secrets and mechanisms of this host; the engine is one of this document. */
int pol_lint_host(struct pol_lint *, struct pol_doc *, struct pol_engine *,
		  const struct pol_floor *, struct b_err *err);

/* By place. "where: text [name]" a line; an array of {file, line, column, code, rule, message}. */
void pol_lint_text(struct pol_lint *, struct b_str *out);
void pol_lint_json(struct pol_lint *, struct b_str *out);

/* For the parts of lint: adds a finding, once for each place and code. `fmt` is the text. */
struct pol_finding *pol_lint_add(struct pol_lint *, enum pol_lint_code, const char *where,
				 const char *rule, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* The parts of lint that ask this host. Private to policy/lint*.c. */

/* lint.c: names beside what a rule denies that differ in case or form alone. `ws` is the
 * workspace, "" = the root directory. */
void pol_lint_names(struct pol_lint *, const struct pol_engine *, const char *ws);
/* lint_found.c: further names of denied files, openings that stay closed, temporary files. */
int pol_lint_found(struct pol_lint *, const struct pol_doc *, const struct pol_engine *,
		   struct b_err *);
