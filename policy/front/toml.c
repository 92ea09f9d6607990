/* SPDX-License-Identifier: Apache-2.0 */
/* toml.c - tables, keys and values; strings and numbers are toml.c's. */
#include "policy/front/tree.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

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
		return pol_cursor_expected(c, "`=` after the key");
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

/* ---- strings and numbers ---- */

bool pol_toml_is_bare(int b)
{
	return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') ||
	       b == '_' || b == '-';
}

/* ---- strings ---- */

/* A backslash at the end of a line: the break and all blanks behind it are no part of the text. */
static bool skip_continuation(struct pol_cursor *c)
{
	size_t n = 0;
	int b;

	while (pol_cursor_peek(c, n) == ' ' || pol_cursor_peek(c, n) == '\t')
		n++;
	if (pol_cursor_peek(c, n) != '\n' &&
	    !(pol_cursor_peek(c, n) == '\r' && pol_cursor_peek(c, n + 1) == '\n'))
		return false;
	while ((b = pol_cursor_peek(c, 0)) == ' ' || b == '\t' || b == '\n' || b == '\r')
		(void)pol_cursor_next(c);
	return true;
}

static int escape(struct pol_cursor *c, bool is_multi, struct b_str *out)
{
	static const char names[] = "btnfr\"\\", chars[] = "\b\t\n\f\r\"\\";
	struct pol_pos pos = pol_cursor_pos(c);
	const char *p;
	int b;

	(void)pol_cursor_next(c); /* the backslash */
	if (is_multi && skip_continuation(c))
		return 0;
	b = pol_cursor_next(c);
	if (b == 'u' || b == 'U') {
		if (!pol_tree_add_char(out, pol_cursor_hex(c, b == 'u' ? 4 : 8)))
			return pol_pos_fail(
				c->err, &pos,
				"not a character, expected \\u and four digits, or \\U and eight");
		return 0;
	}
	p = b > 0 ? strchr(names, b) : NULL;
	if (!p)
		return pol_pos_fail(c->err, &pos,
				    "unknown escape, expected one of \\b \\t \\n \\f \\r \\\" \\\\ "
				    "\\u \\U (a string in ' quotes has none)");
	b_str_addc(out, chars[p - names]);
	return 0;
}

struct quotes {
	const char *text; /* one, or three */
	bool is_multi, has_escapes;
};

/* Up to two quotes may stand before the three that end the string. */
static bool take_end(struct pol_cursor *c, const struct quotes *q, struct b_str *out)
{
	int quote = q->text[0];

	if (!pol_cursor_take(c, q->text))
		return false;
	for (int i = 0; q->is_multi && i < 2 && pol_cursor_peek(c, 0) == quote; i++)
		b_str_addc(out, (char)pol_cursor_next(c));
	return true;
}

static int string_body(struct pol_cursor *c, const struct quotes *q, const struct pol_pos *pos,
		       struct b_str *out)
{
	while (!take_end(c, q, out)) {
		int b = pol_cursor_peek(c, 0);
		bool is_break = b == '\n' || (b == '\r' && pol_cursor_peek(c, 1) == '\n');

		if (b < 0 || (is_break && !q->is_multi))
			return pol_pos_fail(c->err, pos, "a string without its end %s", q->text);
		if ((b < ' ' && b != '\t' && !is_break) || b == 0x7f)
			return pol_cursor_expected(c, "a character or an escape");
		if (b == '\\' && q->has_escapes) {
			if (escape(c, q->is_multi, out) < 0)
				return -1;
		} else {
			b_str_addc(out, (char)pol_cursor_next(c));
		}
	}
	return 0;
}

int pol_toml_string(struct pol_cursor *c, bool is_key, const struct pol_ynode **out)
{
	static const struct quotes kinds[] = {{"\"\"\"", true, true},
					      {"'''", true, false},
					      {"\"", false, true},
					      {"'", false, false}};
	b_auto(b_str_release) struct b_str s = {0};
	struct pol_pos pos = pol_cursor_pos(c);
	const struct quotes *q = kinds + (is_key ? 2 : 0);

	while (!pol_cursor_take(c, q->text))
		q++;
	if (q->is_multi && !pol_cursor_take(c, "\n"))
		(void)pol_cursor_take(c, "\r\n");
	if (string_body(c, q, &pos, &s) < 0)
		return -1;
	*out = pol_tree_scalar(c, POL_Y_STR, pos, &s);
	return *out ? 0 : -1;
}

/* ---- true, numbers, dates ---- */

static bool is_digit(int b)
{
	return b >= '0' && b <= '9';
}

/* Digits with single `_` between them; *out without those. */
static bool all_digits(const char *s, size_t n, struct b_str *out)
{
	if (n == 0 || s[0] == '_' || s[n - 1] == '_')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '_' && s[i - 1] == '_')
			return false;
		if (s[i] != '_' && !is_digit((unsigned char)s[i]))
			return false;
		if (s[i] != '_')
			b_str_addc(out, s[i]);
	}
	return true;
}

/* 0x1f, 0o17, 0b11, as a decimal number. */
static bool take_based(const char *s, struct b_str *out)
{
	static const struct {
		char letter;
		unsigned bits;
	} bases[] = {{'x', 4}, {'o', 3}, {'b', 1}};
	unsigned bits = 0;
	uint64_t v = 0;

	for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
		if (s[0] == '0' && s[1] == bases[i].letter)
			bits = bases[i].bits;
	if (!bits || !s[2] || s[2] == '_' || s[strlen(s) - 1] == '_')
		return false;
	for (s += 2; *s; s++) {
		unsigned d = is_digit((unsigned char)*s) ? (unsigned)(*s - '0')
							 : (unsigned)((*s | 32) - 'a' + 10);

		if (*s == '_' && s[1] != '_')
			continue;
		if (d >= 1u << bits || v >> (63 - bits))
			return false;
		v = v << bits | d;
	}
	b_str_add_u64(out, v);
	return true;
}

static bool take_decimal(const char *s, struct b_str *out)
{
	if (*s == '-' || *s == '+') {
		if (*s == '-')
			b_str_addc(out, '-');
		s++;
	}
	return !(s[0] == '0' && s[1]) && all_digits(s, strlen(s), out);
}

/* 1.5, 1e9, inf, nan; loosely: nothing here means one. */
static bool is_float(const char *s)
{
	bool has_point = false;

	s += *s == '-' || *s == '+';
	if (strcmp(s, "inf") == 0 || strcmp(s, "nan") == 0)
		return true;
	if (!is_digit((unsigned char)*s))
		return false;
	for (; *s; s++) {
		has_point |= *s == '.' || (*s | 32) == 'e';
		if (!is_digit((unsigned char)*s) && !strchr("._eE+-", *s))
			return false;
	}
	return has_point;
}

/* 2026-05-18, 09:30:00, both with T and a zone. */
static bool is_date(const char *s)
{
	return is_digit((unsigned char)s[0]) && is_digit((unsigned char)s[1]) &&
	       (strspn(s, "0123456789-:.TtZz+ ") == strlen(s)) &&
	       (strchr(s, '-') || strchr(s, ':'));
}

static void read_word(struct pol_cursor *c, struct b_str *out)
{
	for (;;) {
		int b = pol_cursor_peek(c, 0);
		bool is_space_of_date = b == ' ' && out->len == strlen("2026-05-18") &&
					out->s[4] == '-' && is_digit(pol_cursor_peek(c, 1));

		if (!pol_toml_is_bare(b) && b != '+' && b != '.' && b != ':' && !is_space_of_date)
			return;
		b_str_addc(out, (char)pol_cursor_next(c));
	}
}

int pol_toml_word(struct pol_cursor *c, const struct pol_ynode **out)
{
	b_auto(b_str_release) struct b_str s = {0}, number = {0};
	struct pol_pos pos = pol_cursor_pos(c);
	enum pol_ykind kind = POL_Y_FLOAT;
	const struct b_str *text = &s;

	read_word(c, &s);
	if (s.len == 0)
		return pol_cursor_expected(c, "a value");
	if (strcmp(s.s, "true") == 0 || strcmp(s.s, "false") == 0) {
		kind = POL_Y_BOOL;
	} else if (take_decimal(s.s, &number)) {
		kind = POL_Y_INT;
		text = &number;
	} else {
		b_str_reset(&number);
		if (take_based(s.s, &number)) {
			kind = POL_Y_INT;
			text = &number;
		} else if (!is_float(s.s) && !is_date(s.s)) {
			return pol_pos_fail(c->err, &pos,
					    "`%s` is not a value, expected quotes around a string",
					    s.s);
		}
	}
	*out = pol_tree_scalar(c, kind, pos, text);
	return *out ? 0 : -1;
}
