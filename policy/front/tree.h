/*
 * tree.h - what the readers of JSON and TOML share: a cursor that knows its place in the text, and
 * trees of the nodes of yaml.h, so that all front-ends read one shape. Private to policy/front/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/front/yaml.h"

struct b_err;
struct b_str;

/* Keys of one mapping: they are compared one with another. */
#define POL_MAX_KEYS 1024

struct pol_cursor {
	struct b_arena *arena;
	const char *name, *text;
	size_t len, at;
	unsigned line, col; /* from 1; a column is a character */
	size_t nodes;
	struct b_err *err;
};

/* A list of nodes that grows in the arena. */
struct pol_nodes {
	const struct pol_ynode **v;
	size_t n, cap;
};

/* B_POLICY: larger than POL_MAX_FILE, or not UTF-8. */
int pol_cursor_init(struct pol_cursor *, struct b_arena *, const char *name, const char *text,
		    size_t len, struct b_err *err);
/* The byte here, or the n-th behind it; -1: the text is over. */
int pol_cursor_peek(const struct pol_cursor *, size_t n);
/* The byte here, which is passed; -1: the text is over. */
int pol_cursor_next(struct pol_cursor *);
/* Does the text go on with this? Then it is passed. */
bool pol_cursor_take(struct pol_cursor *, const char *word);
struct pol_pos pol_cursor_pos(const struct pol_cursor *);
/* Fails at the cursor: "expected X, found Y"; -1. */
int pol_cursor_expected(struct pol_cursor *, const char *what);

/* NULL: too many nodes, B_LIMIT. */
struct pol_ynode *pol_tree_node(struct pol_cursor *, enum pol_ykind, struct pol_pos);
/* A scalar with a copy of the text. */
struct pol_ynode *pol_tree_scalar(struct pol_cursor *, enum pol_ykind, struct pol_pos,
				  const struct b_str *text);
void pol_nodes_add(struct pol_cursor *, struct pol_nodes *, const struct pol_ynode *);
/* The value of a key among key, value, key, value ..., NULL. */
const struct pol_ynode *pol_nodes_find(const struct pol_nodes *, const struct pol_ynode *key);
/* A key that is not there yet and the value: -1 with the place of the second. */
int pol_nodes_add_pair(struct pol_cursor *, struct pol_nodes *, const struct pol_ynode *key,
		       const struct pol_ynode *value);
/* Four or eight hexadecimal digits at the cursor; UINT32_MAX: there are none. */
uint32_t pol_cursor_hex(struct pol_cursor *, unsigned digits);
/* Appends a character as UTF-8; false: it is none (a surrogate, beyond 10FFFF). */
bool pol_tree_add_char(struct b_str *, uint32_t c);
