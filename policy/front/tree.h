/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - a document as a tree with positions: its readers for YAML, JSON and TOML, and typed
 * access to keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/document/model.h"

struct b_err;
struct b_str;
struct pol_doc;
struct pol_http_rules;
struct pol_profile;
struct pol_texts;
struct pol_ynode;

/*
 * YAML text -> a tree of nodes with positions, for every front-end that reads YAML.
 *
 * Hostile input: size, depth, node count (after alias expansion) and anchors are limited; an
 * alias shares the node it names, so that a bomb costs no memory, and is counted as if it were
 * copied. Refused with file:line:col: text that is not UTF-8, tabs as indentation, a second
 * document, duplicate keys anywhere, keys that are not scalars, tags other than !!str, cyclic
 * aliases. Scalars carry the type of the YAML 1.2 core schema.
 *
 *	struct pol_ynode *root;
 *	if (pol_yaml_parse(&arena, "policy.yaml", text, len, &root, err) < 0)
 *		return -1;
 *	kind = pol_yaml_get(root, "kind");
 */

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
	size_t n;			  /* SEQ: items; MAP: pairs */
	size_t weight;			  /* nodes of this subtree, aliases counted as copies */
	unsigned height;		  /* levels below this one */
};

/* `name` (borrowed as long as the arena) is how messages call the text. */
int pol_yaml_parse(struct b_arena *, const char *name, const char *text, size_t len,
		   struct pol_ynode **out, struct b_err *err);

/* Value of a key of a mapping, NULL when absent or no mapping. */
const struct pol_ynode *pol_yaml_get(const struct pol_ynode *map, const char *key);

/* Is it there, and `true`; and this string? */
bool pol_yaml_is_true(const struct pol_ynode *);
bool pol_yaml_is_text(const struct pol_ynode *, const char *text);

const char *pol_yaml_kind_name(enum pol_ykind);

/* B_POLICY "file:line:col: text"; returns -1. */
int pol_pos_fail(struct b_err *err, const struct pol_pos *, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Is the node of this kind? Otherwise -1 and "`what` is a list, expected a string". A string
 * with a NUL in it is refused too. */
int pol_yaml_expect(const struct pol_ynode *, enum pol_ykind, const char *what, struct b_err *err);

/*
 * Shared by the readers of JSON and TOML: a cursor with its place in the text, and trees of the
 * nodes of tree.h, so that all front-ends read one structure. Private to policy/front/.
 */

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
/* Whether the text continues with this. If so, skips it. */
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

/*
 * Reading the mappings of a policy document by tables of keys. Private to policy/front/.
 */

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

/* Reports the error in f->err: returns -1, or, if findings are collected, adds it there and returns
 * 0. */
int pol_front_found(struct pol_front *);
/* Ends the reading: -1 when there are findings, with the first, and how many more, in f->err. */
int pol_front_judge(struct pol_front *);
/* Calls `take` for each key. `where` is how messages call the mapping. */
int pol_front_map(struct pol_front *, const struct pol_ynode *map, const char *where, bool strict,
		  const struct pol_key *rows, size_t n);
/* A list of rules, as they are written, is appended to *out. */
int pol_front_rules(struct pol_front *, const struct pol_ynode *key, const struct pol_ynode *list,
		    struct pol_texts *out);
/* connects.c: a list of endpoints and paths of sockets is appended to *out; `!` in front turns one
 * that allows into one that denies. */
/* `http` of an entry of `connect`, in the document's arena. */
int pol_front_http(struct pol_front *, const struct pol_ynode *list,
		   const struct pol_http_rules **out);
int pol_front_connects(struct pol_front *, const struct pol_ynode *key,
		       const struct pol_ynode *list, bool allow, struct pol_connects *out);
/* sandbox_net.c: keys of `spec.sandbox`. */
int pol_front_local(struct pol_front *, const struct pol_ynode *key, const struct pol_ynode *);
int pol_front_publish(struct pol_front *, const struct pol_ynode *key, const struct pol_ynode *);
int pol_front_net_limits(struct pol_front *, const struct pol_ynode *key, const struct pol_ynode *);
int pol_front_upstream(struct pol_front *, const struct pol_ynode *key, const struct pol_ynode *);
/* orbit.c: `spec.sandbox`. */
int pol_front_sandbox(struct pol_front *, const struct pol_ynode *key,
		      const struct pol_ynode *value);

/*
 * JSON text (RFC 8259) -> a tree of nodes with positions (tree.h). Comments of both
 * kinds are passed over, as people write them into settings; a comma behind the last value is
 * refused. Hostile input: size, depth and the number of values are limited.
 */

/* `name` (borrowed as long as the arena) is how messages call the text. B_POLICY with
 * file:line:col: anything that is not JSON, a key twice, text behind the value. */
int pol_json_parse(struct b_arena *, const char *name, const char *text, size_t len,
		   struct pol_ynode **out, struct b_err *err);

/*
 * TOML text (version 1.0) -> a tree of nodes with positions (tree.h): tables are
 * mappings, arrays are lists. Dates and times are numbers of kind FLOAT, by their text. Hostile
 * input: size, depth and the number of values are limited.
 */

/* `name` (borrowed as long as the arena) is how messages call the text. B_POLICY with
 * file:line:col: anything that is not TOML, a key or table twice. */
int pol_toml_parse(struct b_arena *, const char *name, const char *text, size_t len,
		   struct pol_ynode **out, struct b_err *err);

/* The scalars of TOML, toml.c. Private to toml.c. */

/* Whether the byte may be in a key without quotes. */
bool pol_toml_is_bare(int byte);
/* A string of any of the four kinds; a key is one line. */
int pol_toml_string(struct pol_cursor *, bool is_key, const struct pol_ynode **out);
/* true, false, a number, a date. */
int pol_toml_word(struct pol_cursor *, const struct pol_ynode **out);
