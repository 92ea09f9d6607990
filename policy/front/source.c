/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/front/source.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/tree.h"

struct range {
	size_t from, to;
};

struct reader {
	struct pol_ysource_doc *doc;
	const char *name, *text;
	size_t len;
	uint32_t *byte_of; /* of each character: libyaml counts these */
	size_t nchars;
	yaml_parser_t parser;
	struct range *scalars; /* bytes that are scalars, in order */
	size_t nscalars, scalars_cap;
	struct b_err *err;
};

static int fail(struct reader *r, yaml_mark_t mark, const char *what)
{
	struct pol_pos pos = {r->name, (unsigned)mark.line + 1, (unsigned)mark.column + 1};

	return pol_pos_fail(r->err, &pos, "%s", what);
}

static void index_characters(struct reader *r)
{
	r->byte_of = b_calloc(r->len + 1, sizeof *r->byte_of);
	for (size_t i = 0; i < r->len; i++)
		if (((unsigned char)r->text[i] & 0xc0) != 0x80)
			r->byte_of[r->nchars++] = (uint32_t)i;
	r->byte_of[r->nchars] = (uint32_t)r->len;
}

static size_t byte_at(const struct reader *r, yaml_mark_t mark)
{
	return r->byte_of[mark.index < r->nchars ? mark.index : r->nchars];
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/*
 * The bytes of the line break at `i`, 0 = none: YAML 1.1's, as libyaml's marks count them, which
 * are CR, LF, both, NEL, LS and PS.
 */
static size_t break_len(const char *s, size_t i, size_t len)
{
	if (s[i] == '\n')
		return 1;
	if (s[i] == '\r')
		return i + 1 < len && s[i + 1] == '\n' ? 2 : 1;
	if (len - i >= 2 && memcmp(s + i, "\xc2\x85", 2) == 0)
		return 2;
	if (len - i >= 3 &&
	    (memcmp(s + i, "\xe2\x80\xa8", 3) == 0 || memcmp(s + i, "\xe2\x80\xa9", 3) == 0))
		return 3;
	return 0;
}

static bool has_break(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (break_len(s, i, len) > 0)
			return true;
	return false;
}

/* Anchor and tag, which libyaml counts as part of what they belong to. Returns their end. */
static size_t take_props(struct reader *r, size_t from, size_t to, struct pol_ysource *node)
{
	b_auto(b_str_release) struct b_str props = {0};

	while (from < to && (r->text[from] == '&' || r->text[from] == '!')) {
		size_t end = from;

		while (end < to && !is_space(r->text[end]))
			end++;
		b_str_addf(&props, "%s%.*s", props.len ? " " : "", (int)(end - from),
			   r->text + from);
		for (from = end; from < to && is_space(r->text[from]);)
			from++;
	}
	if (props.len)
		node->props = b_arena_strndup(&r->doc->arena, props.s, props.len);
	return from;
}

/* A scalar of several lines on one. */
static void quote(const char *s, size_t len, struct b_str *out)
{
	b_str_addc(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '\n')
			b_str_add(out, "\\n");
		else if (c == '"' || c == '\\')
			b_str_addf(out, "\\%c", c);
		else if (c < ' ' || c == 127)
			b_str_addf(out, "\\x%02x", c);
		else
			b_str_addc(out, (char)c);
	}
	b_str_addc(out, '"');
}

static int take_block(struct reader *r, const yaml_event_t *ev, size_t from, size_t to,
		      struct pol_ysource *node)
{
	size_t i = from + 1;

	for (; i < to && r->text[i] != '\n' && r->text[i] != '#'; i++)
		if (r->text[i] >= '0' && r->text[i] <= '9')
			return fail(r, ev->start_mark,
				    "a block scalar with a number for its indentation cannot be "
				    "formatted, expected quotes");
	while (to > from && is_space(r->text[to - 1]))
		to--;
	node->kind = POL_YS_BLOCK;
	node->text = b_arena_strndup(&r->doc->arena, r->text + from, to - from);
	return 0;
}

static int take_scalar(struct reader *r, const yaml_event_t *ev, struct pol_ysource *node)
{
	size_t from = byte_at(r, ev->start_mark), to = byte_at(r, ev->end_mark);
	yaml_scalar_style_t style = ev->data.scalar.style;

	from = take_props(r, from, to, node);
	b_grow(r->scalars, r->nscalars, r->scalars_cap);
	r->scalars[r->nscalars++] = (struct range){from, to};
	if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE)
		return take_block(r, ev, from, to, node);
	while (to > from && style == YAML_PLAIN_SCALAR_STYLE && is_space(r->text[to - 1]))
		to--;
	if (has_break(r->text + from, to - from)) {
		b_auto(b_str_release) struct b_str s = {0};

		quote((const char *)ev->data.scalar.value, ev->data.scalar.length, &s);
		node->text = b_arena_strndup(&r->doc->arena, s.s, s.len);
	} else {
		node->text = b_arena_strndup(&r->doc->arena, r->text + from, to - from);
	}
	return 0;
}

static int take_node(struct reader *r, const yaml_event_t *ev, struct pol_ysource **out);

static int take_children(struct reader *r, struct pol_ysource *node)
{
	yaml_event_type_t end =
		node->kind == POL_YS_SEQ ? YAML_SEQUENCE_END_EVENT : YAML_MAPPING_END_EVENT;
	b_auto_free struct pol_ysource **v = NULL;
	size_t n = 0, cap = 0;

	for (;;) {
		yaml_event_t ev;
		bool is_end;
		int rc = 0;

		if (!yaml_parser_parse(&r->parser, &ev))
			return b_fail(r->err, B_POLICY, 0, "%s: not YAML", r->name);
		is_end = ev.type == end;
		b_grow(v, n, cap);
		if (!is_end)
			rc = take_node(r, &ev, &v[n++]);
		yaml_event_delete(&ev);
		if (rc < 0)
			return -1;
		if (is_end)
			break;
	}
	node->v = b_arena_alloc(&r->doc->arena, (n + 1) * sizeof *v);
	if (n > 0)
		memcpy(node->v, v, n * sizeof *v);
	node->n = n;
	return 0;
}

static int take_node(struct reader *r, const yaml_event_t *ev, struct pol_ysource **out)
{
	struct pol_ysource *node = b_arena_alloc(&r->doc->arena, sizeof *node);
	size_t from = byte_at(r, ev->start_mark);

	*out = node;
	node->at = from;
	node->line = (unsigned)ev->start_mark.line;
	node->col = (unsigned)ev->start_mark.column;
	switch (ev->type) {
	case YAML_ALIAS_EVENT:
		node->kind = POL_YS_ALIAS;
		node->text =
			b_arena_printf(&r->doc->arena, "*%s", (const char *)ev->data.alias.anchor);
		return 0;
	case YAML_SCALAR_EVENT:
		return take_scalar(r, ev, node);
	case YAML_SEQUENCE_START_EVENT:
		node->kind = POL_YS_SEQ;
		node->is_flow = ev->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
		break;
	case YAML_MAPPING_START_EVENT:
		node->kind = POL_YS_MAP;
		node->is_flow = ev->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
		break;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		b_bug(__FILE__, __LINE__, "event out of order");
	}
	take_props(r, from, byte_at(r, ev->end_mark), node);
	return take_children(r, node);
}

static int take_stream(struct reader *r)
{
	for (;;) {
		yaml_event_t ev;
		yaml_event_type_t type;
		int rc = 0;

		if (!yaml_parser_parse(&r->parser, &ev))
			return b_fail(r->err, B_POLICY, 0, "%s: not YAML", r->name);
		type = ev.type;
		if (type == YAML_DOCUMENT_START_EVENT) {
			r->doc->has_start = !ev.data.document_start.implicit;
			r->doc->start_at = byte_at(r, ev.start_mark);
			if (ev.data.document_start.version_directive ||
			    ev.data.document_start.tag_directives.start !=
				    ev.data.document_start.tag_directives.end)
				rc = fail(r, ev.start_mark, "directives cannot be formatted");
		} else if (type == YAML_SCALAR_EVENT || type == YAML_ALIAS_EVENT ||
			   type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT) {
			rc = take_node(r, &ev, &r->doc->root);
		}
		yaml_event_delete(&ev);
		if (rc < 0 || type == YAML_STREAM_END_EVENT)
			return rc;
	}
}

/* ---- what stands between the scalars ---- */

static bool is_only_dashes(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] != '-' && s[i] != '?' && !is_space(s[i]))
			return false;
	return true;
}

static size_t count_lines(const char *s, size_t len)
{
	size_t n = 1;

	for (size_t i = 0; i < len;) {
		size_t step = break_len(s, i, len);

		n += step > 0;
		i += step ? step : 1;
	}
	return n;
}

static bool is_only_spaces(const char *s, size_t n)
{
	while (n > 0 && is_space(s[n - 1]))
		n--;
	return n == 0;
}

/* The comment at byte `i` of the line that begins at `line_at`. Returns its end. */
static size_t take_comment(struct reader *r, size_t i, size_t line_at, unsigned line, size_t *cap)
{
	struct pol_ysource_doc *doc = r->doc;
	size_t end = i, text_end;

	while (end < r->len && break_len(r->text, end, r->len) == 0)
		end++;
	for (text_end = end; is_space(r->text[text_end - 1]);) /* the `#` is none */
		text_end--;
	b_grow(doc->comments, doc->ncomments, *cap);
	doc->comments[doc->ncomments++] = (struct pol_ycomment){
		.at = i,
		.line = line,
		.col = (unsigned)(i - line_at),
		.is_trailing = !is_only_dashes(r->text + line_at, i - line_at),
		.text = b_arena_strndup(&doc->arena, r->text + i, text_end - i),
	};
	return end;
}

/* In a gap between scalars a `#` behind white space begins a comment, whatever else is there. */
static void find_comments(struct reader *r)
{
	size_t next = 0, line_at = 0, cap = 0;
	unsigned line = 0;

	r->doc->is_blank = b_arena_alloc(&r->doc->arena, count_lines(r->text, r->len));
	for (size_t i = 0; i < r->len;) {
		size_t step = break_len(r->text, i, r->len);

		while (next < r->nscalars && r->scalars[next].to <= i)
			next++;
		if (step > 0) {
			r->doc->is_blank[line++] = is_only_spaces(r->text + line_at, i - line_at);
			line_at = i += step;
			continue;
		}
		if (r->text[i] == '#' && (i == line_at || is_space(r->text[i - 1])) &&
		    (next >= r->nscalars || r->scalars[next].from > i))
			i = take_comment(r, i, line_at, line, &cap);
		else
			i++;
	}
}

int pol_ysource_parse(const char *name, const char *text, size_t len, struct pol_ysource_doc *out,
		      struct b_err *err)
{
	struct reader r = {.doc = out, .name = name, .text = text, .len = len, .err = err};
	int rc;

	*out = (struct pol_ysource_doc){.root = NULL};
	if (!yaml_parser_initialize(&r.parser))
		return b_fail(err, B_LIMIT, 0, "%s: out of memory", name);
	index_characters(&r);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	rc = take_stream(&r);
	if (rc == 0)
		find_comments(&r);
	yaml_parser_delete(&r.parser);
	free(r.byte_of);
	free(r.scalars);
	if (rc < 0)
		pol_ysource_release(out);
	return rc;
}

void pol_ysource_release(struct pol_ysource_doc *doc)
{
	free(doc->comments);
	b_arena_release(&doc->arena);
	*doc = (struct pol_ysource_doc){.root = NULL};
}
