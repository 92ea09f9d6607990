/*
 * read.h - the reader of sandbox profiles: text to a tree, nothing evaluated.
 *
 *	struct b_arena a = {0};
 *	struct sbpl_node *root;
 *	if (sbpl_read(&a, "x.sb", text, len, &root, &err) < 0) ...
 *	root->kind == SBPL_LIST, its elements are the forms of the file
 *
 * Symbols, numbers, `#t` `#f`, strings ("..." with \\ \" \n \t \r \xHH and octal escapes; #"..."
 * raw, where only \" escapes), lists, 'quote, ; comments. Depth, size and string length are
 * limited; no recursion. Errors name file:line:col.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct b_err;

#define SBPL_MAX_TEXT	(4u << 20)
#define SBPL_MAX_NODES	(1u << 20)
#define SBPL_MAX_DEPTH	64
#define SBPL_MAX_STRING 1024 /* sandbox-exec stops with "Error reading string" past it */

enum sbpl_kind { SBPL_LIST, SBPL_SYMBOL, SBPL_STRING, SBPL_NUMBER, SBPL_BOOL };

struct sbpl_node {
	enum sbpl_kind kind;
	unsigned line, col;
	const char *s; /* SYMBOL, STRING: NUL-terminated */
	size_t len;
	long num;	      /* NUMBER; BOOL: 0 or 1 */
	struct sbpl_node **v; /* LIST */
	size_t n, cap;
};

/* The tree lives in the arena. -1 with B_FORMAT or B_LIMIT. `name` is borrowed for errors only. */
int sbpl_read(struct b_arena *, const char *name, const char *text, size_t len,
	      struct sbpl_node **out_root, struct b_err *err);
