/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/front/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct anchor {
	char *name;
	struct pol_ynode *node;
	bool is_complete; /* false while its own children are read: an alias then is a cycle */
};

struct reader {
	struct b_arena *arena;
	const char *name;
	const char *text;
	size_t len;
	yaml_parser_t parser;
	struct anchor anchors[POL_MAX_ANCHORS];
	size_t nanchors;
	size_t weight; /* nodes so far, aliases expanded */
	struct b_err *err;
};

const char *pol_yaml_kind_name(enum pol_ykind kind)
{
	static const char *const names[] = {
#define X(name, text) [POL_Y_##name] = text,
		POL_YKINDS(X)
#undef X
	};

	return names[kind];
}

int pol_pos_fail(struct b_err *err, const struct pol_pos *pos, const char *fmt, ...)
{
	char msg[B_ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	return b_fail(err, B_POLICY, 0, "%s:%u:%u: %s", pos->file, pos->line, pos->col, msg);
}

static struct pol_pos pos_at(const struct reader *r, yaml_mark_t mark)
{
	return (struct pol_pos){r->name, (unsigned)mark.line + 1, (unsigned)mark.column + 1};
}

/* Position of a byte: for what is found before or below libyaml's own marks. */
static struct pol_pos pos_of_byte(const struct reader *r, size_t offset)
{
	struct pol_pos pos = {r->name, 1, 1};

	for (size_t i = 0; i < offset && i < r->len; i++) {
		unsigned char c = (unsigned char)r->text[i];

		if (c == '\n') {
			pos.line++;
			pos.col = 1;
		} else if ((c & 0xc0) != 0x80) {
			pos.col++;
		}
	}
	return pos;
}

static size_t first_invalid(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 0;

	while (i < len) {
		unsigned n = b_utf8_len(p + i, len - i);

		if (n == 0)
			break;
		i += n;
	}
	return i;
}

/* First byte of the place libyaml complains about; its index counts characters, not bytes. */
static unsigned char byte_at_mark(const struct reader *r, yaml_mark_t mark)
{
	const char *p = r->text, *end = r->text + r->len;

	for (size_t line = mark.line; line > 0 && p < end; p++)
		line -= *p == '\n';
	for (size_t col = mark.column; col > 0 && p < end; col--)
		do
			p++;
		while (p < end && ((unsigned char)*p & 0xc0) == 0x80);
	return p < end ? (unsigned char)*p : 0;
}

/* libyaml's complaints, with the remedy where a policy writer trips most often. */
static int fail_parser(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	struct pol_pos pos;
	unsigned char c;

	if (p->error == YAML_READER_ERROR) {
		pos = pos_of_byte(r, p->problem_offset);
		return pol_pos_fail(r->err, &pos, "%s, expected plain text", p->problem);
	}
	if (p->error == YAML_MEMORY_ERROR)
		return b_fail(r->err, B_LIMIT, 0, "%s: out of memory", r->name);
	pos = pos_at(r, p->problem_mark);
	c = byte_at_mark(r, p->problem_mark);
	if (c == '\t')
		return pol_pos_fail(r->err, &pos, "a tab, expected spaces for indentation");
	if (p->context && strstr(p->context, "alias"))
		return pol_pos_fail(
			r->err, &pos,
			"not an alias, expected quotes around a rule that starts with `*`");
	if (p->context && strstr(p->context, "a tag"))
		return pol_pos_fail(r->err, &pos,
				    "a tag, expected quotes around a rule that starts with `!`");
	if (c == '@' || c == '`' || c == '%')
		return pol_pos_fail(r->err, &pos,
				    "`%c` cannot start a plain value, expected quotes", c);
	return pol_pos_fail(r->err, &pos, "not YAML: %s%s%s%s", p->context ? p->context : "",
			    p->context ? ", " : "", p->problem ? p->problem : "unknown problem",
			    p->context && strstr(p->context, "block collection")
				    ? " (rules that start with { or [ need quotes)"
				    : "");
}

/* The type a plain scalar has in the core schema of YAML 1.2. */
static enum pol_ykind plain_kind(const char *s, size_t len)
{
	static const struct {
		const char *text;
		enum pol_ykind kind;
	} words[] = {
		{"", POL_Y_NULL},	{"~", POL_Y_NULL},     {"null", POL_Y_NULL},
		{"Null", POL_Y_NULL},	{"NULL", POL_Y_NULL},  {"true", POL_Y_BOOL},
		{"True", POL_Y_BOOL},	{"TRUE", POL_Y_BOOL},  {"false", POL_Y_BOOL},
		{"False", POL_Y_BOOL},	{"FALSE", POL_Y_BOOL}, {".inf", POL_Y_FLOAT},
		{"-.inf", POL_Y_FLOAT}, {".nan", POL_Y_FLOAT},
	};
	size_t i = 0, digits;
	const char *set;
	bool is_float = false;

	if (strlen(s) != len)
		return POL_Y_STR;
	for (size_t w = 0; w < sizeof words / sizeof *words; w++)
		if (strcmp(s, words[w].text) == 0)
			return words[w].kind;
	if (s[i] == '+' || s[i] == '-')
		i++;
	set = strncmp(s + i, "0x", 2) == 0   ? "0123456789abcdefABCDEF"
	      : strncmp(s + i, "0o", 2) == 0 ? "01234567"
					     : NULL;
	if (set) {
		digits = strspn(s + i + 2, set);
		return digits > 0 && i + 2 + digits == len ? POL_Y_INT : POL_Y_STR;
	}
	digits = strspn(s + i, "0123456789");
	i += digits;
	if (s[i] == '.') {
		size_t more = strspn(s + i + 1, "0123456789");

		is_float = true;
		digits += more;
		i += 1 + more;
	}
	if (digits == 0)
		return POL_Y_STR;
	if (s[i] == 'e' || s[i] == 'E') {
		i++;
		if (s[i] == '+' || s[i] == '-')
			i++;
		is_float = true;
		digits = strspn(s + i, "0123456789");
		if (digits == 0)
			return POL_Y_STR;
		i += digits;
	}
	if (i != len)
		return POL_Y_STR;
	return is_float ? POL_Y_FLOAT : POL_Y_INT;
}

static int charge(struct reader *r, const struct pol_pos *pos, size_t weight)
{
	/* Each operand is at most POL_MAX_NODES: no overflow. */
	if (r->weight + weight > POL_MAX_NODES)
		return pol_pos_fail(r->err, pos, "more than %u values after alias expansion",
				    POL_MAX_NODES);
	r->weight += weight;
	return 0;
}

static struct pol_ynode *new_node(struct reader *r, enum pol_ykind kind, struct pol_pos pos)
{
	struct pol_ynode *node = b_arena_alloc(r->arena, sizeof *node);

	node->kind = kind;
	node->pos = pos;
	node->weight = 1;
	return node;
}

static int set_anchor(struct reader *r, const yaml_char_t *name, struct pol_ynode *node,
		      struct anchor **out)
{
	*out = NULL;
	if (!name)
		return 0;
	if (r->nanchors == POL_MAX_ANCHORS)
		return pol_pos_fail(r->err, &node->pos, "more than %d anchors", POL_MAX_ANCHORS);
	*out = &r->anchors[r->nanchors++];
	(*out)->name = b_arena_strndup(r->arena, (const char *)name, strlen((const char *)name));
	(*out)->node = node;
	(*out)->is_complete = false;
	return 0;
}

static int take_alias(struct reader *r, const yaml_event_t *ev, unsigned depth,
		      struct pol_ynode **out)
{
	const char *name = (const char *)ev->data.alias.anchor;
	struct pol_pos pos = pos_at(r, ev->start_mark);
	struct pol_ynode *node;

	for (size_t i = r->nanchors; i-- > 0;) {
		const struct anchor *a = &r->anchors[i];

		if (strcmp(a->name, name) != 0)
			continue;
		if (!a->is_complete)
			return pol_pos_fail(r->err, &pos, "alias `*%s` contains itself", name);
		if (depth + a->node->height > POL_MAX_DEPTH)
			return pol_pos_fail(r->err, &pos, "nested deeper than %d levels",
					    POL_MAX_DEPTH);
		if (charge(r, &pos, a->node->weight) < 0)
			return -1;
		/* A copy of the head only: errors then point at the place of use. */
		node = b_arena_alloc(r->arena, sizeof *node);
		*node = *a->node;
		node->pos = pos;
		*out = node;
		return 0;
	}
	return pol_pos_fail(r->err, &pos,
			    "unknown alias `*%s`, expected quotes if a rule was meant", name);
}

static int take_scalar(struct reader *r, const yaml_event_t *ev, struct pol_ynode **out)
{
	const char *tag = (const char *)ev->data.scalar.tag;
	struct pol_ynode *node = new_node(r, POL_Y_STR, pos_at(r, ev->start_mark));
	struct anchor *anchor;

	if (charge(r, &node->pos, 1) < 0)
		return -1;
	node->len = ev->data.scalar.length;
	node->s = b_arena_strndup(r->arena, (const char *)ev->data.scalar.value, node->len);
	if (tag && strcmp(tag, YAML_STR_TAG) != 0 && strcmp(tag, "!") != 0)
		return pol_pos_fail(r->err, &node->pos,
				    "tag `%s`, expected quotes around a rule that starts with `!`",
				    tag);
	if (!tag && ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		node->kind = plain_kind(node->s, node->len);
	if (set_anchor(r, ev->data.scalar.anchor, node, &anchor) < 0)
		return -1;
	if (anchor)
		anchor->is_complete = true;
	*out = node;
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	const struct pol_ynode *x = *(struct pol_ynode *const *)a;
	const struct pol_ynode *y = *(struct pol_ynode *const *)b;
	size_t n = x->len < y->len ? x->len : y->len;
	int c = memcmp(x->s, y->s, n);

	if (c == 0 && x->len != y->len)
		c = x->len < y->len ? -1 : 1;
	/* The later of two equal keys comes second, so that it is the one reported. */
	if (c == 0 && x->pos.line != y->pos.line)
		c = x->pos.line < y->pos.line ? -1 : 1;
	return c ? c : (x->pos.col > y->pos.col) - (x->pos.col < y->pos.col);
}

static int refuse_duplicates(struct reader *r, const struct pol_ynode *map)
{
	b_auto_free const struct pol_ynode **keys = b_calloc(map->n + 1, sizeof *keys);

	for (size_t i = 0; i < map->n; i++) {
		keys[i] = map->v[2 * i];
		if (keys[i]->kind == POL_Y_SEQ || keys[i]->kind == POL_Y_MAP)
			return pol_pos_fail(r->err, &keys[i]->pos, "a key is %s, expected a string",
					    pol_yaml_kind_name(keys[i]->kind));
		if (strlen(keys[i]->s) != keys[i]->len)
			return pol_pos_fail(r->err, &keys[i]->pos,
					    "a key contains a NUL, expected a name without");
	}
	qsort(keys, map->n, sizeof *keys, compare_keys);
	for (size_t i = 1; i < map->n; i++)
		if (keys[i]->len == keys[i - 1]->len &&
		    memcmp(keys[i]->s, keys[i - 1]->s, keys[i]->len) == 0)
			return pol_pos_fail(r->err, &keys[i]->pos,
					    "duplicate key `%s`, first given in line %u",
					    keys[i]->s, keys[i - 1]->pos.line);
	return 0;
}

static int next_event(struct reader *r, yaml_event_t *ev)
{
	return yaml_parser_parse(&r->parser, ev) ? 0 : fail_parser(r);
}

static int take_node(struct reader *r, const yaml_event_t *ev, unsigned depth,
		     struct pol_ynode **out);

/* The children of a list or mapping, up to its end event. */
static int take_children(struct reader *r, struct pol_ynode *node, unsigned depth)
{
	yaml_event_type_t end =
		node->kind == POL_Y_SEQ ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT;
	b_auto_free const struct pol_ynode **v = NULL;
	const struct pol_ynode **kept;
	size_t n = 0, cap = 0;

	for (;;) {
		yaml_event_t ev;
		struct pol_ynode *child = NULL;
		bool is_end;
		int rc = 0;

		if (next_event(r, &ev) < 0)
			return -1;
		is_end = ev.type == end;
		if (!is_end)
			rc = take_node(r, &ev, depth + 1, &child);
		yaml_event_delete(&ev);
		if (rc < 0)
			return -1;
		if (is_end)
			break;
		B_ASSERT(child);
		b_grow(v, n, cap);
		v[n++] = child;
		node->weight += child->weight;
		if (child->height + 1 > node->height)
			node->height = child->height + 1;
	}
	kept = b_arena_alloc(r->arena, (n + 1) * sizeof *v);
	if (n)
		memcpy(kept, v, n * sizeof *v);
	node->v = kept;
	node->n = node->kind == POL_Y_SEQ ? n : n / 2;
	return node->kind == POL_Y_MAP ? refuse_duplicates(r, node) : 0;
}

static int take_node(struct reader *r, const yaml_event_t *ev, unsigned depth,
		     struct pol_ynode **out)
{
	bool is_seq = ev->type == YAML_SEQUENCE_START_EVENT;
	const yaml_char_t *tag = is_seq ? ev->data.sequence_start.tag : ev->data.mapping_start.tag;
	struct anchor *anchor;
	struct pol_ynode *node;

	if (ev->type == YAML_SCALAR_EVENT)
		return take_scalar(r, ev, out);
	if (ev->type == YAML_ALIAS_EVENT)
		return take_alias(r, ev, depth, out);
	if (!is_seq && ev->type != YAML_MAPPING_START_EVENT)
		b_bug(__FILE__, __LINE__, "event out of order");
	node = new_node(r, is_seq ? POL_Y_SEQ : POL_Y_MAP, pos_at(r, ev->start_mark));
	if (depth > POL_MAX_DEPTH)
		return pol_pos_fail(r->err, &node->pos, "nested deeper than %d levels",
				    POL_MAX_DEPTH);
	if (tag)
		return pol_pos_fail(r->err, &node->pos, "tag `%s`, expected none",
				    (const char *)tag);
	if (charge(r, &node->pos, 1) < 0 ||
	    set_anchor(r, is_seq ? ev->data.sequence_start.anchor : ev->data.mapping_start.anchor,
		       node, &anchor) < 0 ||
	    take_children(r, node, depth) < 0)
		return -1;
	if (anchor)
		anchor->is_complete = true;
	*out = node;
	return 0;
}

/* STREAM-START DOCUMENT-START node DOCUMENT-END STREAM-END, and nothing else. */
static int take_stream(struct reader *r, struct pol_ynode **out)
{
	struct pol_ynode *root = NULL;

	for (;;) {
		yaml_event_t ev;
		yaml_event_type_t type;
		struct pol_pos pos;
		int rc = 0;

		if (next_event(r, &ev) < 0)
			return -1;
		type = ev.type;
		pos = pos_at(r, ev.start_mark);
		if (type == YAML_DOCUMENT_START_EVENT && root)
			rc = pol_pos_fail(r->err, &pos, "a second document, expected one");
		else if (type == YAML_SCALAR_EVENT || type == YAML_ALIAS_EVENT ||
			 type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
			rc = take_node(r, &ev, 1, &root);
		yaml_event_delete(&ev);
		if (rc < 0)
			return -1;
		if (type == YAML_STREAM_END_EVENT)
			break;
	}
	if (!root) {
		struct pol_pos pos = {r->name, 1, 1};

		return pol_pos_fail(r->err, &pos, "empty, expected a YAML document");
	}
	*out = root;
	return 0;
}

/* U+0085, U+2028, U+2029 and a carriage return alone end a line in YAML 1.1, as libyaml reads it,
 * and in no editor: what looks like the rest of a comment would be settings. Where the first of
 * them is, or `len`. */
static size_t odd_break(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char *p = text + i;
		size_t left = len - i;

		if ((*p == '\r' && (left < 2 || p[1] != '\n')) ||
		    (left >= 2 && memcmp(p, "\xc2\x85", 2) == 0) ||
		    (left >= 3 && memcmp(p, "\xe2\x80", 2) == 0 &&
		     (p[2] == '\xa8' || p[2] == '\xa9')))
			return i;
	}
	return len;
}

int pol_yaml_parse(struct b_arena *arena, const char *name, const char *text, size_t len,
		   struct pol_ynode **out, struct b_err *err)
{
	b_auto_free struct reader *r = b_calloc(1, sizeof *r);
	size_t bad;
	int rc;

	/* libyaml looks for the mark only while it guesses the encoding. */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	r->arena = arena;
	r->name = name;
	r->text = text;
	r->len = len;
	r->err = err;
	if (len > POL_MAX_FILE)
		return b_fail(err, B_POLICY, 0, "%s: larger than %u bytes", name, POL_MAX_FILE);
	bad = first_invalid(text, len);
	if (bad < len) {
		struct pol_pos pos = pos_of_byte(r, bad);

		return pol_pos_fail(err, &pos, "byte 0x%02x is not UTF-8, expected UTF-8 text",
				    (unsigned char)text[bad]);
	}
	bad = odd_break(text, len);
	if (bad < len) {
		struct pol_pos pos = pos_of_byte(r, bad);

		return pol_pos_fail(err, &pos,
				    "a line break that editors do not show as one, expected a "
				    "newline");
	}
	if (!yaml_parser_initialize(&r->parser))
		return b_fail(err, B_LIMIT, 0, "%s: out of memory", name);
	yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, len);
	rc = take_stream(r, out);
	yaml_parser_delete(&r->parser);
	return rc;
}

const struct pol_ynode *pol_yaml_get(const struct pol_ynode *map, const char *key)
{
	if (!map || map->kind != POL_Y_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++)
		if (strcmp(map->v[2 * i]->s, key) == 0)
			return map->v[2 * i + 1];
	return NULL;
}

bool pol_yaml_is_true(const struct pol_ynode *v)
{
	return v && v->kind == POL_Y_BOOL && (v->s[0] | 32) == 't';
}

bool pol_yaml_is_text(const struct pol_ynode *v, const char *text)
{
	return v && v->kind == POL_Y_STR && strcmp(v->s, text) == 0;
}

int pol_yaml_expect(const struct pol_ynode *node, enum pol_ykind kind, const char *what,
		    struct b_err *err)
{
	if (node->kind != kind)
		return pol_pos_fail(err, &node->pos, "%s is %s, expected %s", what,
				    pol_yaml_kind_name(node->kind), pol_yaml_kind_name(kind));
	if (kind == POL_Y_STR && strlen(node->s) != node->len)
		return pol_pos_fail(err, &node->pos,
				    "%s contains a NUL, expected a name or rule without", what);
	return 0;
}
