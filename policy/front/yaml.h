/*
 * yaml.h - YAML text -> a tree of nodes with positions, for every front-end that reads YAML.
 *
 * Hostile input: size, depth, node count (after alias expansion) and anchors are limited; an
 * alias shares the node it names, so that a bomb costs no memory, and is counted as if it were
 * copied. Refused with file:line:col: text that is not UTF-8, tabs as indentation, a second
 * document, duplicate keys anywhere, keys that are no scalars, tags other than !!str, cyclic
 * aliases. Scalars carry the type of the YAML 1.2 core schema.
 *
 *	struct pol_ynode *root;
 *	if (pol_yaml_parse(&arena, "policy.yaml", text, len, &root, err) < 0)
 *		return -1;
 *	kind = pol_yaml_get(root, "kind");
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "policy/model.h"

struct b_err;

#define POL_MAX_ANCHORS 256

/* kind, what a person calls it */
#define POL_YKINDS(X)                                                                              \
	X(NULL, "nothing")                                                                         \
	X(BOOL, "a boolean")                                                                       \
	X(INT, "an integer")                                                                       \
	X(FLOAT, "a number")                                                                       \
	X(STR, "a string")                                                                         \
	X(SEQ, "a list")                                                                           \
	X(MAP, "a mapping")

enum pol_ykind {
#define X(name, text) POL_Y_##name,
	POL_YKINDS(X)
#undef X
		POL_Y_COUNT
};

struct pol_ynode {
	enum pol_ykind kind;
	struct pol_pos pos;
	const char *s; /* scalars: the text, NUL-terminated; may contain NULs */
	size_t len;
	const struct pol_ynode *const *v; /* SEQ: items; MAP: key, value, key, value ... */
	size_t n;	 /* SEQ: items; MAP: pairs */
	size_t weight;	 /* nodes of this subtree, aliases counted as copies */
	unsigned height; /* levels below this one */
};

/* `name` (borrowed as long as the arena) is how messages call the text. */
int pol_yaml_parse(struct b_arena *, const char *name, const char *text, size_t len,
		   struct pol_ynode **out, struct b_err *err);

/* Value of a key of a mapping, NULL when absent or no mapping. */
const struct pol_ynode *pol_yaml_get(const struct pol_ynode *map, const char *key);

const char *pol_yaml_kind_name(enum pol_ykind);

/* B_POLICY "file:line:col: text"; returns -1. */
int pol_pos_fail(struct b_err *err, const struct pol_pos *, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Is the node of this kind? Otherwise -1 and "`what` is a list, expected a string". A string
 * with a NUL in it is refused too. */
int pol_yaml_expect(const struct pol_ynode *, enum pol_ykind, const char *what, struct b_err *err);
