/* SPDX-License-Identifier: Apache-2.0 */
/* jsonedit.c - see jsonedit.h. */
#include "adopt/jsonedit.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

enum { DEPTH_MAX = 200, UNIT_MAX = 8 };

struct scan {
	const char *s;
	size_t at;
	struct b_err *err;
};

static int fail(struct scan *p, const char *expected)
{
	unsigned line = 1;

	for (size_t i = 0; i < p->at && p->s[i]; i++)
		line += p->s[i] == '\n';
	return b_fail(p->err, B_FORMAT, 0, "line %u: expected %s", line, expected);
}

/* Blanks and comments. */
static void skip_blanks(struct scan *p)
{
	const char *end;

	for (;;) {
		p->at += strspn(p->s + p->at, " \t\r\n");
		if (strncmp(p->s + p->at, "//", 2) == 0)
			p->at += strcspn(p->s + p->at, "\n");
		else if (strncmp(p->s + p->at, "/*", 2) == 0 &&
			 (end = strstr(p->s + p->at + 2, "*/")))
			p->at = (size_t)(end - p->s) + 2;
		else
			return;
	}
}

static int skip_string(struct scan *p)
{
	if (p->s[p->at] != '"')
		return fail(p, "a string");
	for (p->at++; p->s[p->at] != '"'; p->at++) {
		if (p->s[p->at] == '\\')
			p->at++;
		if ((unsigned char)p->s[p->at] < ' ')
			return fail(p, "the end of a string");
	}
	p->at++;
	return 0;
}

/* A number or a word. */
static int skip_scalar(struct scan *p)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzE+-.0123456789";
	size_t n = strspn(p->s + p->at, letters);

	p->at += n;
	return n ? 0 : fail(p, "a value");
}

static int skip_value(struct scan *p, unsigned depth);

/* Behind the key and its colon. */
static int skip_key(struct scan *p)
{
	if (skip_string(p) < 0)
		return -1;
	skip_blanks(p);
	if (p->s[p->at] != ':')
		return fail(p, "`:`");
	p->at++;
	skip_blanks(p);
	return 0;
}

/* One step through a container: 1 = the cursor is at the next key or item, 0 = behind the end.
 * `first`: at the bracket. */
static int next_part(struct scan *p, char close, bool first)
{
	if (first)
		p->at++;
	skip_blanks(p);
	if (!first && p->s[p->at] == ',') {
		p->at++;
		skip_blanks(p);
	} else if (!first && p->s[p->at] != close) {
		return fail(p, close == '}' ? "`,` or `}`" : "`,` or `]`");
	}
	if (p->s[p->at] != close)
		return 1;
	p->at++;
	return 0;
}

static int skip_container(struct scan *p, char close, unsigned depth)
{
	bool first = true;
	int more;

	if (depth == DEPTH_MAX)
		return fail(p, "fewer levels");
	while ((more = next_part(p, close, first)) > 0) {
		first = false;
		if ((close == '}' && skip_key(p) < 0) || skip_value(p, depth + 1) < 0)
			return -1;
	}
	return more;
}

static int skip_value(struct scan *p, unsigned depth)
{
	switch (p->s[p->at]) {
	case '{':
		return skip_container(p, '}', depth);
	case '[':
		return skip_container(p, ']', depth);
	case '"':
		return skip_string(p);
	default:
		return skip_scalar(p);
	}
}

int ad_json_check(const char *text, struct b_err *err)
{
	struct scan p = {.s = text, .err = err};

	skip_blanks(&p);
	if (p.s[p.at] != '{')
		return fail(&p, "`{`");
	if (skip_value(&p, 0) < 0)
		return -1;
	skip_blanks(&p);
	return p.s[p.at] ? fail(&p, "the end") : 0;
}

/* ---- finding ---- */

static struct ad_span root_of(const char *text)
{
	struct scan p = {.s = text};
	struct ad_span root;

	skip_blanks(&p);
	root.at = p.at;
	(void)skip_value(&p, 0);
	root.end = p.at;
	return root;
}

/* Keys with escapes in them are none of ours. */
static bool is_key(const struct scan *p, const char *key)
{
	size_t n = strlen(key);

	return strncmp(p->s + p->at + 1, key, n) == 0 && p->s[p->at + 1 + n] == '"';
}

/* The value of a key of an object: 1, 0, -1. */
static int find_key(const char *text, struct ad_span object, const char *key, struct ad_span *out,
		    struct b_err *err)
{
	struct scan p = {.s = text, .at = object.at, .err = err};
	bool first = true, found = false;

	if (text[object.at] != '{')
		return fail(&p, "an object");
	for (; next_part(&p, '}', first) > 0; first = false) {
		bool is_it = is_key(&p, key);

		if (is_it && found)
			return fail(&p, "each key once");
		(void)skip_key(&p);
		if (is_it) {
			found = true;
			out->at = p.at;
		}
		(void)skip_value(&p, 0);
		if (is_it)
			out->end = p.at;
	}
	return found;
}

/* As far as the keys lead: how many of them were found, the last value in *out. -1: B_FORMAT. */
static int walk(const char *text, const char *const *path, struct ad_span *out, struct b_err *err)
{
	int n = 0, rc;

	*out = root_of(text);
	for (; path[n]; n++) {
		struct ad_span next;

		rc = find_key(text, *out, path[n], &next, err);
		if (rc <= 0)
			return rc < 0 ? -1 : n;
		*out = next;
	}
	return n;
}

int ad_json_find(const char *text, const char *const *path, struct ad_span *out, struct b_err *err)
{
	int n;

	if (ad_json_check(text, err) < 0 || (n = walk(text, path, out, err)) < 0)
		return -1;
	return !path[n];
}

bool ad_json_item(const char *text, struct ad_span list, size_t i, struct ad_span *out)
{
	struct scan p = {.s = text, .at = list.at};
	bool first = true;

	if (text[list.at] != '[')
		return false;
	for (size_t k = 0; next_part(&p, ']', first) > 0; k++, first = false) {
		out->at = p.at;
		(void)skip_value(&p, 0);
		out->end = p.at;
		if (k == i)
			return true;
	}
	return false;
}

/* ---- changing ---- */

/* One step of indentation: that before the first key of the text, else two blanks. */
static const char *unit_of(const char *text, char unit[UNIT_MAX + 1])
{
	struct ad_span root = root_of(text);
	size_t at = root.at + 1, n;

	while (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')
		at++;
	n = text[at] == '\n' ? strspn(text + at + 1, " \t") : 0;
	if (n == 0 || n > UNIT_MAX)
		return "  ";
	memcpy(unit, text + at + 1, n);
	unit[n] = '\0';
	return unit;
}

static void add_line(struct b_str *out, const char *unit, unsigned depth)
{
	b_str_addc(out, '\n');
	while (depth-- > 0)
		b_str_add(out, unit);
}

/* What has to be made: the keys that are not there, each with the next in it, the item at last. */
static void add_new(struct b_str *out, const char *const *keys, const char *item, const char *unit,
		    unsigned depth)
{
	if (!*keys) {
		b_str_add(out, item);
		return;
	}
	b_str_addf(out, "\"%s\": %c", *keys, keys[1] ? '{' : '[');
	add_line(out, unit, depth + 1);
	add_new(out, keys + 1, item, unit, depth + 1);
	add_line(out, unit, depth);
	b_str_addc(out, keys[1] ? '}' : ']');
}

/* The end of the last value in it, or 0. */
static size_t last_end(const char *text, struct ad_span container)
{
	struct scan p = {.s = text, .at = container.at};
	char close = text[container.at] == '{' ? '}' : ']';
	bool first = true;
	size_t end = 0;

	for (; next_part(&p, close, first) > 0; first = false) {
		if (close == '}')
			(void)skip_key(&p);
		(void)skip_value(&p, 0);
		end = p.at;
	}
	return end;
}

int ad_json_append(const char *text, const char *const *path, const char *item, struct b_str *out,
		   struct b_err *err)
{
	char room[UNIT_MAX + 1];
	const char *unit;
	struct ad_span in;
	size_t at;
	int n;

	if (!text[strspn(text, " \t\r\n")])
		text = "{}\n";
	if (ad_json_check(text, err) < 0 || (n = walk(text, path, &in, err)) < 0)
		return -1;
	if (text[in.at] != (path[n] ? '{' : '[')) {
		struct scan p = {.s = text, .at = in.at, .err = err};

		return fail(&p, path[n] ? "an object" : "a list");
	}
	unit = unit_of(text, room);
	at = last_end(text, in);
	b_str_addn(out, text, at ? at : in.at + 1);
	if (at)
		b_str_addc(out, ',');
	add_line(out, unit, (unsigned)n + 1);
	add_new(out, path + n, item, unit, (unsigned)n + 1);
	if (!at)
		add_line(out, unit, (unsigned)n);
	/* an empty container loses the blanks that it had */
	b_str_add(out, text + (at ? at : in.end - 1));
	return 0;
}

/* Back over blanks; the cursor is behind what is none. */
static size_t back_blanks(const char *text, size_t at)
{
	while (at > 0 && strchr(" \t\r\n", text[at - 1]))
		at--;
	return at;
}

/* The beginning of the key whose value is at `at`; the same for an item. */
static size_t key_of(const char *text, size_t at)
{
	size_t from = back_blanks(text, at);

	if (from == 0 || text[from - 1] != ':')
		return at;
	from = back_blanks(text, from - 1) - 1; /* at the quote that ends the key */
	while (from > 0 && (text[from - 1] != '"' || (from > 1 && text[from - 2] == '\\')))
		from--;
	return from - 1;
}

void ad_json_cut(const char *text, struct ad_span span, struct b_str *out)
{
	size_t key = key_of(text, span.at), from = back_blanks(text, key), to = span.end;

	if (from > 0 && text[from - 1] == ',') {
		from--;
	} else {
		/* the first: what follows comes to its place */
		size_t n = strspn(text + to, " \t\r\n");

		if (text[to + n] == ',') {
			to += n + 1;
			to += strspn(text + to, " \t\r\n");
			from = key;
		} else {
			to += n;
		}
	}
	b_str_addn(out, text, from);
	b_str_add(out, text + to);
}
