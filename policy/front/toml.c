/* toml.c - see toml.h: tables, keys and values; strings and numbers are toml_value.c's. */
#include "policy/front/toml.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/toml_priv.h"

/* A table or array while it may still grow; the node is first, so that one leads to the other. */
struct box {
	struct pol_ynode node;
	struct pol_nodes list;
	bool is_inline;	 /* {...} or [...]: nothing is added from outside */
	bool is_defined; /* by a header of its own */
	bool is_dotted;	 /* by a.b = ... in the table that is being read */
};

static int value(struct pol_cursor *c, unsigned depth, const struct pol_ynode **out);

static struct box *box_of(const struct pol_ynode *n)
{
	return (struct box *)(uintptr_t)n;
}

static struct box *new_box(struct pol_cursor *c, enum pol_ykind kind, struct pol_pos pos)
{
	struct pol_ynode *counted = pol_tree_node(c, kind, pos);
	struct box *b;

	if (!counted)
		return NULL;
	b = b_arena_alloc(c->arena, sizeof *b);
	b->node = *counted;
	return b;
}

static void refresh(struct box *b)
{
	b->node.v = b->list.v;
	b->node.n = b->node.kind == POL_Y_MAP ? b->list.n / 2 : b->list.n;
}

static int put(struct pol_cursor *c, struct box *table, const struct pol_ynode *key,
	       const struct pol_ynode *v)
{
	if (pol_nodes_add_pair(c, &table->list, key, v) < 0)
		return -1;
	refresh(table);
	return 0;
}

static void append(struct pol_cursor *c, struct box *array, const struct pol_ynode *v)
{
	pol_nodes_add(c, &array->list, v);
	refresh(array);
}

/* ---- white space ---- */

static void skip_blanks(struct pol_cursor *c)
{
	while (pol_cursor_peek(c, 0) == ' ' || pol_cursor_peek(c, 0) == '\t')
		(void)pol_cursor_next(c);
}

static int skip_comment(struct pol_cursor *c)
{
	if (pol_cursor_peek(c, 0) != '#')
		return 0;
	for (int b; (b = pol_cursor_peek(c, 0)) >= 0 && b != '\n';) {
		if ((b < ' ' && b != '\t' && b != '\r') || b == 0x7f)
			return pol_cursor_expected(c, "text in the comment");
		(void)pol_cursor_next(c);
	}
	return 0;
}

static bool take_newline(struct pol_cursor *c)
{
	return pol_cursor_take(c, "\n") || pol_cursor_take(c, "\r\n");
}

/* Blanks, comments and line breaks. */
static int skip_lines(struct pol_cursor *c)
{
	do {
		skip_blanks(c);
		if (skip_comment(c) < 0)
			return -1;
	} while (take_newline(c));
	return 0;
}

static int end_line(struct pol_cursor *c)
{
	skip_blanks(c);
	if (skip_comment(c) < 0)
		return -1;
	if (pol_cursor_peek(c, 0) < 0 || take_newline(c))
		return 0;
	return pol_cursor_expected(c, "the end of the line");
}

/* ---- keys ---- */

static int key_part(struct pol_cursor *c, const struct pol_ynode **out)
{
	b_auto(b_str_release) struct b_str s = {0};
	struct pol_pos pos = pol_cursor_pos(c);
	int b = pol_cursor_peek(c, 0);

	if (b == '"' || b == '\'')
		return pol_toml_string(c, true, out);
	while (pol_toml_is_bare(pol_cursor_peek(c, 0)))
		b_str_addc(&s, (char)pol_cursor_next(c));
	if (s.len == 0)
		return pol_cursor_expected(c, "a key");
	*out = pol_tree_scalar(c, POL_Y_STR, pos, &s);
	return *out ? 0 : -1;
}

/* a.b."c" */
static int key_path(struct pol_cursor *c, struct pol_nodes *out)
{
	do {
		const struct pol_ynode *part;

		skip_blanks(c);
		if (key_part(c, &part) < 0)
			return -1;
		if (out->n >= POL_MAX_DEPTH)
			return pol_pos_fail(c->err, &part->pos, "more than %d levels",
					    POL_MAX_DEPTH);
		pol_nodes_add(c, out, part);
		skip_blanks(c);
	} while (pol_cursor_take(c, "."));
	return 0;
}

/* ---- values ---- */

static int array(struct pol_cursor *c, unsigned depth, const struct pol_ynode **out)
{
	struct box *b = new_box(c, POL_Y_SEQ, pol_cursor_pos(c));
	const struct pol_ynode *item;

	(void)pol_cursor_next(c);
	if (!b)
		return -1;
	b->is_inline = true;
	for (;;) {
		if (skip_lines(c) < 0)
			return -1;
		if (pol_cursor_take(c, "]"))
			break;
		if (value(c, depth + 1, &item) < 0)
			return -1;
		append(c, b, item);
		if (skip_lines(c) < 0)
			return -1;
		if (!pol_cursor_take(c, ",") && pol_cursor_peek(c, 0) != ']')
			return pol_cursor_expected(c, "`,` or `]`");
	}
	*out = &b->node;
	return 0;
}

static int pair(struct pol_cursor *c, struct box *table, unsigned depth);

static int inline_table(struct pol_cursor *c, unsigned depth, const struct pol_ynode **out)
{
	struct box *b = new_box(c, POL_Y_MAP, pol_cursor_pos(c));

	(void)pol_cursor_next(c);
	if (!b)
		return -1;
	skip_blanks(c);
	if (!pol_cursor_take(c, "}")) {
		do {
			if (pair(c, b, depth + 1) < 0)
				return -1;
			skip_blanks(c);
		} while (pol_cursor_take(c, ","));
		if (!pol_cursor_take(c, "}"))
			return pol_cursor_expected(c, "`,` or `}`");
	}
	b->is_inline = true;
	*out = &b->node;
	return 0;
}

static int value(struct pol_cursor *c, unsigned depth, const struct pol_ynode **out)
{
	struct pol_pos pos = pol_cursor_pos(c);

	if (depth > POL_MAX_DEPTH)
		return pol_pos_fail(c->err, &pos, "more than %d levels", POL_MAX_DEPTH);
	switch (pol_cursor_peek(c, 0)) {
	case '[':
		return array(c, depth, out);
	case '{':
		return inline_table(c, depth, out);
	case '"':
	case '\'':
		return pol_toml_string(c, false, out);
	default:
		return pol_toml_word(c, out);
	}
}

/* ---- tables ---- */

static int fail_twice(struct pol_cursor *c, const struct pol_ynode *key)
{
	return pol_pos_fail(c->err, &key->pos, "`%s` is there already, expected it once", key->s);
}

/* The table that part of a dotted key, or of a header, leads into. */
static struct box *step_into(struct pol_cursor *c, struct box *at, const struct pol_ynode *key,
			     bool is_header)
{
	const struct pol_ynode *there = pol_nodes_find(&at->list, key);
	struct box *b;

	if (!there) {
		b = new_box(c, POL_Y_MAP, key->pos);
		if (!b || put(c, at, key, &b->node) < 0)
			return NULL;
		b->is_dotted = !is_header;
		return b;
	}
	if (is_header && there->kind == POL_Y_SEQ && !box_of(there)->is_inline)
		there = there->v[there->n - 1];
	if (there->kind != POL_Y_MAP || box_of(there)->is_inline ||
	    (!is_header && !box_of(there)->is_dotted)) {
		fail_twice(c, key);
		return NULL;
	}
	return box_of(there);
}

static int pair(struct pol_cursor *c, struct box *table, unsigned depth)
{
	const struct pol_ynode *v;
	struct pol_nodes path = {0};

	if (key_path(c, &path) < 0)
		return -1;
	if (!pol_cursor_take(c, "="))
		return pol_cursor_expected(c, "`=` behind the key");
	skip_blanks(c);
	for (size_t i = 0; i + 1 < path.n; i++) {
		table = step_into(c, table, path.v[i], false);
		if (!table)
			return -1;
	}
	if (value(c, depth, &v) < 0)
		return -1;
	return put(c, table, path.v[path.n - 1], v);
}

/* [[a.b]]: one more table of the array. */
static struct box *open_item(struct pol_cursor *c, struct box *at, const struct pol_ynode *key)
{
	const struct pol_ynode *there = pol_nodes_find(&at->list, key);
	struct box *array, *item;

	if (there && (there->kind != POL_Y_SEQ || box_of(there)->is_inline)) {
		fail_twice(c, key);
		return NULL;
	}
	array = there ? box_of(there) : new_box(c, POL_Y_SEQ, key->pos);
	if (!array || (!there && put(c, at, key, &array->node) < 0))
		return NULL;
	item = new_box(c, POL_Y_MAP, key->pos);
	if (item)
		append(c, array, &item->node);
	return item;
}

static struct box *open_table(struct pol_cursor *c, struct box *at, const struct pol_ynode *key)
{
	struct box *b = step_into(c, at, key, true);

	if (!b)
		return NULL;
	if (b->is_defined || b->is_dotted) {
		fail_twice(c, key);
		return NULL;
	}
	b->is_defined = true;
	b->node.pos = key->pos;
	return b;
}

/* [a.b] or [[a.b]] */
static int header(struct pol_cursor *c, struct box *root, struct box **out)
{
	struct pol_nodes path = {0};
	bool is_array;

	(void)pol_cursor_next(c);
	is_array = pol_cursor_take(c, "[");
	if (key_path(c, &path) < 0)
		return -1;
	if (!pol_cursor_take(c, is_array ? "]]" : "]"))
		return pol_cursor_expected(c, is_array ? "`]]`" : "`]`");
	for (size_t i = 0; i + 1 < path.n; i++) {
		root = step_into(c, root, path.v[i], true);
		if (!root)
			return -1;
	}
	*out = (is_array ? open_item : open_table)(c, root, path.v[path.n - 1]);
	return *out ? end_line(c) : -1;
}

int pol_toml_parse(struct b_arena *a, const char *name, const char *text, size_t len,
		   struct pol_ynode **out, struct b_err *err)
{
	struct box *root, *table;
	struct pol_cursor c;

	if (pol_cursor_init(&c, a, name, text, len, err) < 0)
		return -1;
	root = table = new_box(&c, POL_Y_MAP, pol_cursor_pos(&c));
	if (!root)
		return -1;
	for (;;) {
		if (skip_lines(&c) < 0)
			return -1;
		if (pol_cursor_peek(&c, 0) < 0)
			break;
		if (pol_cursor_peek(&c, 0) == '[') {
			if (header(&c, root, &table) < 0)
				return -1;
		} else if (pair(&c, table, 0) < 0 || end_line(&c) < 0) {
			return -1;
		}
	}
	*out = &root->node;
	return 0;
}
