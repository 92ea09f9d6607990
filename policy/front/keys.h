/*
 * keys.h - reading the mappings of a policy document by tables of keys. Private to policy/front/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_err;
struct pol_doc;
struct pol_profile;
struct pol_texts;
struct pol_ynode;

/* A document that is being read. */
struct pol_front {
	struct pol_doc *doc;
	size_t nrules;
	struct b_err *err;
	struct pol_profile *profile; /* the one being read */
};

/* One key of a mapping. A mapping that is `strict` refuses keys that have no row. */
struct pol_key {
	const char *name;
	bool required;
	int (*take)(struct pol_front *, const struct pol_ynode *key, const struct pol_ynode *value);
};

/* Calls `take` for each key. `where` is how messages call the mapping. */
int pol_front_map(struct pol_front *, const struct pol_ynode *map, const char *where, bool strict,
		  const struct pol_key *rows, size_t n);
/* A list of rules, as they are written, is appended to *out. */
int pol_front_rules(struct pol_front *, const struct pol_ynode *key, const struct pol_ynode *list,
		    struct pol_texts *out);
/* sandbox.c: `spec.sandbox`. */
int pol_front_sandbox(struct pol_front *, const struct pol_ynode *key,
		      const struct pol_ynode *value);
