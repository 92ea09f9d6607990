/*
 * keys.h - reading the mappings of a policy document by tables of keys. Private to policy/front/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct b_err;
struct pol_doc;
struct pol_profile;
struct pol_texts;
struct pol_ynode;

/* All that is wrong with a document, where its system lists it all. */
struct pol_findings {
	struct b_str text; /* a line each */
	size_t n;
};

/* A document that is being read. */
struct pol_front {
	struct pol_doc *doc;
	size_t nrules;
	struct b_err *err;
	struct pol_findings *findings; /* NULL: the first thing wrong ends the reading */
	struct pol_profile *profile;   /* the one being read */
	bool passes_comments; /* keys that begin with _ or $ are passed over, with a line */
};

/* One key of a mapping. A mapping that is `strict` refuses keys that have no row. */
struct pol_key {
	const char *name;
	bool required;
	int (*take)(struct pol_front *, const struct pol_ynode *key, const struct pol_ynode *value);
};

/* What is in f->err was found: -1, or with findings it is put there, and 0. */
int pol_front_found(struct pol_front *);
/* Ends the reading: -1 when there are findings, with the first, and how many more, in f->err. */
int pol_front_judge(struct pol_front *);
/* Calls `take` for each key. `where` is how messages call the mapping. */
int pol_front_map(struct pol_front *, const struct pol_ynode *map, const char *where, bool strict,
		  const struct pol_key *rows, size_t n);
/* A list of rules, as they are written, is appended to *out. */
int pol_front_rules(struct pol_front *, const struct pol_ynode *key, const struct pol_ynode *list,
		    struct pol_texts *out);
/* sandbox.c: `spec.sandbox`. */
int pol_front_sandbox(struct pol_front *, const struct pol_ynode *key,
		      const struct pol_ynode *value);
