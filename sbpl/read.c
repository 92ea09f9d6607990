/* SPDX-License-Identifier: Apache-2.0 */
#include "sbpl/machine.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

struct reader {
	struct b_arena *arena;
	const char *name;
	const char *p, *end;
	unsigned line, col;
	size_t nodes;
	struct sbpl_node *open[SBPL_MAX_DEPTH + 1]; /* lists without their ) so far; [0] the file */
	bool quote[SBPL_MAX_DEPTH + 1]; /* this list is a quote: it closes after one element */
	size_t depth;
	struct b_str text; /* of the string being read */
	struct b_err *err;
};

static int complain(const struct reader *r, enum b_kind kind, const char *what)
{
	return b_fail(r->err, kind, 0, "%s:%u:%u: %s", r->name, r->line, r->col, what);
}

static char take(struct reader *r)
{
	char c = *r->p++;

	if (c == '\n') {
		r->line++;
		r->col = 1;
	} else {
		r->col++;
	}
	return c;
}

static void append(struct reader *r, struct sbpl_node *node)
{
	struct sbpl_node *list = r->open[r->depth];

	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 4;
		struct sbpl_node **v = b_arena_alloc(r->arena, cap * sizeof(*v));

		if (list->n)
			memcpy(v, list->v, list->n * sizeof(*v));
		list->v = v;
		list->cap = cap;
	}
	list->v[list->n++] = node;
}

static struct sbpl_node *new_node(struct reader *r, enum sbpl_kind kind)
{
	struct sbpl_node *node;

	if (++r->nodes > SBPL_MAX_NODES) {
		complain(r, B_LIMIT, "too many elements");
		return NULL;
	}
	node = b_arena_alloc(r->arena, sizeof *node);
	node->kind = kind;
	node->line = r->line;
	node->col = r->col;
	return node;
}

/* A list was closed, or an element added to it: quotes around it are complete. */
static void close_quotes(struct reader *r)
{
	while (r->quote[r->depth])
		r->quote[r->depth--] = false;
}

static int open_list(struct reader *r, bool is_quote)
{
	struct sbpl_node *list = new_node(r, SBPL_LIST), *word;

	if (!list)
		return -1;
	if (r->depth == SBPL_MAX_DEPTH)
		return complain(r, B_LIMIT, "lists nested too deep");
	append(r, list);
	r->open[++r->depth] = list;
	r->quote[r->depth] = is_quote;
	take(r);
	if (!is_quote)
		return 0;
	word = new_node(r, SBPL_SYMBOL);
	if (!word)
		return -1;
	word->s = "quote";
	word->len = 5;
	append(r, word);
	return 0;
}

static int close_list(struct reader *r)
{
	if (r->depth == 0)
		return complain(r, B_FORMAT, "a ) without its (");
	if (r->quote[r->depth])
		return complain(r, B_FORMAT, "a quote of nothing");
	r->depth--;
	take(r);
	close_quotes(r);
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int read_hex(struct reader *r)
{
	int high = r->p < r->end ? hex_digit(*r->p) : -1;
	int low = r->end - r->p >= 2 ? hex_digit(r->p[1]) : -1;

	if (high < 0 || low < 0)
		return complain(r, B_FORMAT, "\\x without two hexadecimal digits");
	r->p += 2;
	r->col += 2;
	b_str_addc(&r->text, (char)(high * 16 + low));
	return 0;
}

static int read_octal(struct reader *r, char first)
{
	int value = first - '0';

	for (int i = 0; i < 2 && r->p < r->end && *r->p >= '0' && *r->p <= '7'; i++)
		value = value * 8 + (take(r) - '0');
	if (value > 255)
		return complain(r, B_FORMAT, "an octal escape past one byte");
	b_str_addc(&r->text, (char)value);
	return 0;
}

static int read_escape(struct reader *r)
{
	char c;

	if (r->p == r->end)
		return complain(r, B_FORMAT, "a string without its end");
	c = take(r);
	switch (c) {
	case 'n':
		b_str_addc(&r->text, '\n');
		return 0;
	case 't':
		b_str_addc(&r->text, '\t');
		return 0;
	case 'r':
		b_str_addc(&r->text, '\r');
		return 0;
	case 'x':
	case 'X':
		return read_hex(r);
	default:
		if (c >= '0' && c <= '7')
			return read_octal(r, c);
		b_str_addc(&r->text, c);
		return 0;
	}
}

/* Behind the opening quote. In a raw string a backslash stands for itself unless before ". */
static int read_string(struct reader *r, bool raw)
{
	struct sbpl_node *node = new_node(r, SBPL_STRING);

	if (!node)
		return -1;
	b_str_reset(&r->text);
	for (;;) {
		char c;

		if (r->p == r->end)
			return complain(r, B_FORMAT, "a string without its end");
		if (r->text.len > SBPL_MAX_STRING)
			return complain(r, B_LIMIT, "Error reading string: longer than 1024 bytes");
		c = take(r);
		if (c == '"')
			break;
		if (c == '\\' && (!raw || (r->p < r->end && *r->p == '"'))) {
			if (read_escape(r) < 0)
				return -1;
		} else {
			b_str_addc(&r->text, c);
		}
	}
	if (memchr(b_str_c(&r->text), '\0', r->text.len))
		return complain(r, B_FORMAT, "a NUL in a string");
	node->s = b_arena_strndup(r->arena, b_str_c(&r->text), r->text.len);
	node->len = r->text.len;
	append(r, node);
	close_quotes(r);
	return 0;
}

static bool is_number(const char *s, size_t len, long *out)
{
	bool negative = len > 1 && s[0] == '-';
	unsigned base = 10;
	unsigned long value = 0;
	size_t i = negative;

	if (len > 2 && s[0] == '#' && s[1] == 'x') {
		base = 16;
		i = 2;
	}
	if (len - i == 0 || len - i > 15)
		return false;
	for (; i < len; i++) {
		int digit = hex_digit(s[i]);

		if (digit < 0 || (unsigned)digit >= base)
			return false;
		value = value * base + (unsigned)digit;
	}
	*out = negative ? -(long)value : (long)value;
	return true;
}

static bool ends_word(char c)
{
	return strchr(" \t\r\n\f();\"'", c) != NULL; /* NUL, too */
}

static int read_word(struct reader *r)
{
	struct sbpl_node *node = new_node(r, SBPL_SYMBOL);
	const char *start = r->p;

	if (!node)
		return -1;
	while (r->p < r->end && !ends_word(*r->p)) {
		if ((unsigned char)*r->p < ' ' || *r->p == 0x7f)
			return complain(r, B_FORMAT, "a control character");
		take(r);
	}
	node->len = (size_t)(r->p - start);
	if (node->len == 0 || node->len > SBPL_MAX_STRING)
		return complain(r, B_FORMAT, "not a word");
	node->s = b_arena_strndup(r->arena, start, node->len);
	if (strcmp(node->s, "#t") == 0 || strcmp(node->s, "#f") == 0) {
		node->kind = SBPL_BOOL;
		node->num = node->s[1] == 't';
	} else if (is_number(node->s, node->len, &node->num)) {
		node->kind = SBPL_NUMBER;
	} else if (node->s[0] == '#') {
		return complain(r, B_FORMAT, "an unknown # form");
	}
	append(r, node);
	close_quotes(r);
	return 0;
}

static int read_element(struct reader *r)
{
	switch (*r->p) {
	case '(':
		return open_list(r, false);
	case ')':
		return close_list(r);
	case '\'':
		return open_list(r, true);
	case '"':
		take(r);
		return read_string(r, false);
	case '#':
		if (r->end - r->p >= 2 && r->p[1] == '"') {
			take(r);
			take(r);
			return read_string(r, true);
		}
		return read_word(r);
	default:
		return read_word(r);
	}
}

static void skip_comment(struct reader *r)
{
	while (r->p < r->end && *r->p != '\n')
		take(r);
}

static int read_all(struct reader *r)
{
	while (r->p < r->end) {
		if (*r->p == ';')
			skip_comment(r);
		else if (*r->p && strchr(" \t\r\n\f", *r->p))
			take(r);
		else if (read_element(r) < 0)
			return -1;
	}
	if (r->depth > 0) {
		r->line = r->open[r->depth]->line;
		r->col = r->open[r->depth]->col;
		return complain(r, B_FORMAT,
				r->quote[r->depth] ? "a quote of nothing" : "a ( without its )");
	}
	return 0;
}

int sbpl_read(struct b_arena *a, const char *name, const char *text, size_t len,
	      struct sbpl_node **out_root, struct b_err *err)
{
	struct reader r = {.arena = a, .name = name, .p = text, .line = 1, .col = 1, .err = err};
	struct sbpl_node *root;
	int rc = -1;

	if (len > SBPL_MAX_TEXT)
		return b_fail(err, B_LIMIT, 0, "%s: longer than %u bytes", name, SBPL_MAX_TEXT);
	r.end = text + len;
	root = new_node(&r, SBPL_LIST);
	if (root) {
		r.open[0] = root;
		rc = read_all(&r);
	}
	b_str_release(&r.text);
	if (rc == 0)
		*out_root = root;
	return rc;
}
