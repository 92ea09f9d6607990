/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - see json.h. */
#include "policy/front/tree.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static int value(struct pol_cursor *c, unsigned depth, struct pol_ynode **out);

static int skip_comment(struct pol_cursor *c)
{
	struct pol_pos pos = pol_cursor_pos(c);

	if (pol_cursor_take(c, "//")) {
		while (pol_cursor_peek(c, 0) >= 0 && pol_cursor_peek(c, 0) != '\n')
			(void)pol_cursor_next(c);
		return 0;
	}
	if (!pol_cursor_take(c, "/*"))
		return pol_cursor_expected(c, "a comment or a value");
	while (!pol_cursor_take(c, "*/"))
		if (pol_cursor_next(c) < 0)
			return pol_pos_fail(c->err, &pos, "a comment without its end `*/`");
	return 0;
}

static int skip(struct pol_cursor *c)
{
	for (;;) {
		int b = pol_cursor_peek(c, 0);

		if (b == '/') {
			if (skip_comment(c) < 0)
				return -1;
		} else if (b == ' ' || b == '\t' || b == '\n' || b == '\r') {
			(void)pol_cursor_next(c);
		} else {
			return 0;
		}
	}
}

/* \uXXXX, or two of them for a character beyond FFFF. */
static int escape_unicode(struct pol_cursor *c, struct b_str *out, const struct pol_pos *pos)
{
	uint32_t v = pol_cursor_hex(c, 4), low;

	if (v >= 0xd800 && v < 0xdc00 && pol_cursor_take(c, "\\u")) {
		low = pol_cursor_hex(c, 4);
		v = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00)
						  : UINT32_MAX;
	}
	if (!pol_tree_add_char(out, v))
		return pol_pos_fail(c->err, pos, "not a character, expected \\u and four digits");
	return 0;
}

static int escape(struct pol_cursor *c, struct b_str *out)
{
	static const char names[] = "\"\\/bfnrt", chars[] = "\"\\/\b\f\n\r\t";
	struct pol_pos pos = pol_cursor_pos(c);
	const char *p;
	int b;

	(void)pol_cursor_next(c); /* the backslash */
	if (pol_cursor_take(c, "u"))
		return escape_unicode(c, out, &pos);
	b = pol_cursor_peek(c, 0);
	p = b > 0 ? strchr(names, b) : NULL;
	if (!p)
		return pol_pos_fail(c->err, &pos,
				    "unknown escape, expected one of \\\" \\\\ \\/ \\b \\f \\n \\r "
				    "\\t \\u");
	(void)pol_cursor_next(c);
	b_str_addc(out, chars[p - names]);
	return 0;
}

static int string(struct pol_cursor *c, struct pol_ynode **out)
{
	b_auto(b_str_release) struct b_str s = {0};
	struct pol_pos pos = pol_cursor_pos(c);

	if (pol_cursor_peek(c, 0) == '\'')
		return pol_pos_fail(c->err, &pos, "strings need \" quotes");
	(void)pol_cursor_next(c);
	for (;;) {
		int b = pol_cursor_peek(c, 0);

		if (b < 0)
			return pol_pos_fail(c->err, &pos, "a string without its end `\"`");
		if (b < ' ')
			return pol_cursor_expected(c, "a character or an escape like \\n");
		if (b == '"')
			break;
		if (b != '\\')
			b_str_addc(&s, (char)pol_cursor_next(c));
		else if (escape(c, &s) < 0)
			return -1;
	}
	(void)pol_cursor_next(c);
	*out = pol_tree_scalar(c, POL_Y_STR, pos, &s);
	return *out ? 0 : -1;
}

static size_t digits(struct pol_cursor *c, struct b_str *out)
{
	size_t n = 0;

	for (; pol_cursor_peek(c, 0) >= '0' && pol_cursor_peek(c, 0) <= '9'; n++)
		b_str_addc(out, (char)pol_cursor_next(c));
	return n;
}

static int number(struct pol_cursor *c, struct pol_ynode **out)
{
	b_auto(b_str_release) struct b_str s = {0};
	struct pol_pos pos = pol_cursor_pos(c);
	enum pol_ykind kind = POL_Y_INT;
	bool zero;

	if (pol_cursor_take(c, "-"))
		b_str_addc(&s, '-');
	zero = pol_cursor_peek(c, 0) == '0';
	if (digits(c, &s) == 0)
		return pol_cursor_expected(c, "a digit");
	if (zero && s.s[s.len - 1] != '0')
		return pol_pos_fail(c->err, &pos, "a number that begins with 0");
	if (pol_cursor_take(c, ".")) {
		kind = POL_Y_FLOAT;
		b_str_addc(&s, '.');
		if (digits(c, &s) == 0)
			return pol_cursor_expected(c, "a digit");
	}
	if ((pol_cursor_peek(c, 0) | 32) == 'e') {
		kind = POL_Y_FLOAT;
		b_str_addc(&s, (char)pol_cursor_next(c));
		if (pol_cursor_peek(c, 0) == '+' || pol_cursor_peek(c, 0) == '-')
			b_str_addc(&s, (char)pol_cursor_next(c));
		if (digits(c, &s) == 0)
			return pol_cursor_expected(c, "a digit");
	}
	*out = pol_tree_scalar(c, kind, pos, &s);
	return *out ? 0 : -1;
}

/* What follows a value in a list or an object: `close`, or a comma and one more. */
static int go_on(struct pol_cursor *c, char close, bool *out_more)
{
	const char end[] = {close, '\0'};
	struct pol_pos pos;

	if (skip(c) < 0)
		return -1;
	pos = pol_cursor_pos(c);
	*out_more = pol_cursor_take(c, ",");
	if (!*out_more)
		return pol_cursor_take(c, end)
			       ? 0
			       : pol_cursor_expected(c, close == ']' ? "`,` or `]`" : "`,` or `}`");
	if (skip(c) < 0)
		return -1;
	if (pol_cursor_peek(c, 0) == close)
		return pol_pos_fail(c->err, &pos, "a comma after the last value: remove it");
	return 0;
}

static int list(struct pol_cursor *c, unsigned depth, struct pol_ynode **out)
{
	struct pol_ynode *n = pol_tree_node(c, POL_Y_SEQ, pol_cursor_pos(c)), *item;
	struct pol_nodes items = {0};
	bool more = true;

	(void)pol_cursor_next(c);
	if (!n || skip(c) < 0)
		return -1;
	if (pol_cursor_take(c, "]"))
		more = false;
	while (more) {
		if (value(c, depth + 1, &item) < 0)
			return -1;
		pol_nodes_add(c, &items, item);
		if (go_on(c, ']', &more) < 0)
			return -1;
	}
	n->v = items.v;
	n->n = items.n;
	*out = n;
	return 0;
}

static int object(struct pol_cursor *c, unsigned depth, struct pol_ynode **out)
{
	struct pol_ynode *n = pol_tree_node(c, POL_Y_MAP, pol_cursor_pos(c)), *key, *item;
	struct pol_nodes pairs = {0};
	bool more = true;

	(void)pol_cursor_next(c);
	if (!n || skip(c) < 0)
		return -1;
	if (pol_cursor_take(c, "}"))
		more = false;
	while (more) {
		if (pol_cursor_peek(c, 0) != '"')
			return pol_cursor_expected(c, "a key in \" quotes");
		if (string(c, &key) < 0 || skip(c) < 0)
			return -1;
		if (!pol_cursor_take(c, ":"))
			return pol_cursor_expected(c, "`:` after the key");
		if (skip(c) < 0 || value(c, depth + 1, &item) < 0 ||
		    pol_nodes_add_pair(c, &pairs, key, item) < 0 || go_on(c, '}', &more) < 0)
			return -1;
	}
	n->v = pairs.v;
	n->n = pairs.n / 2;
	*out = n;
	return 0;
}

static int word(struct pol_cursor *c, struct pol_ynode **out)
{
	static const struct {
		const char *text;
		enum pol_ykind kind;
	} words[] = {{"true", POL_Y_BOOL}, {"false", POL_Y_BOOL}, {"null", POL_Y_NULL}};
	struct pol_pos pos = pol_cursor_pos(c);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		b_auto(b_str_release) struct b_str s = {0};

		if (!pol_cursor_take(c, words[i].text))
			continue;
		b_str_add(&s, words[i].text);
		*out = pol_tree_scalar(c, words[i].kind, pos, &s);
		return *out ? 0 : -1;
	}
	return pol_cursor_expected(c, "a value");
}

static int value(struct pol_cursor *c, unsigned depth, struct pol_ynode **out)
{
	struct pol_pos pos = pol_cursor_pos(c);
	int b = pol_cursor_peek(c, 0);

	if (depth > POL_MAX_DEPTH)
		return pol_pos_fail(c->err, &pos, "more than %d levels", POL_MAX_DEPTH);
	switch (b) {
	case '{':
		return object(c, depth, out);
	case '[':
		return list(c, depth, out);
	case '"':
	case '\'':
		return string(c, out);
	default:
		return b == '-' || (b >= '0' && b <= '9') ? number(c, out) : word(c, out);
	}
}

int pol_json_parse(struct b_arena *a, const char *name, const char *text, size_t len,
		   struct pol_ynode **out, struct b_err *err)
{
	struct pol_cursor c;

	if (pol_cursor_init(&c, a, name, text, len, err) < 0 || skip(&c) < 0 ||
	    value(&c, 0, out) < 0 || skip(&c) < 0)
		return -1;
	if (pol_cursor_peek(&c, 0) >= 0)
		return pol_cursor_expected(&c, "the end of the text");
	return 0;
}
