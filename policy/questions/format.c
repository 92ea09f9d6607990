/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - see convert.h. */
#include "policy/questions/convert.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/source.h"
#include "policy/front/tree.h"

enum { STEP = 2 };

struct writer {
	const struct pol_ysource_doc *doc;
	struct b_str *out;
	size_t next;	      /* comment to be written */
	unsigned last_indent; /* of the entry written last */
	bool is_open;	      /* the line has something on it */
};

static void end_line(struct writer *w)
{
	if (w->is_open)
		b_str_addc(w->out, '\n');
	w->is_open = false;
}

/* One blank line where the source has some before this line, but not at the beginning. */
static void keep_blank(struct writer *w, unsigned line)
{
	end_line(w);
	if (w->out->len > 0 && line > 0 && w->doc->is_blank[line - 1])
		b_str_addc(w->out, '\n');
}

static void add_indent(struct writer *w, unsigned n)
{
	while (n-- > 0)
		b_str_addc(w->out, ' ');
}

/* The comments before byte `at`, where an entry begins at the column and in the line given. */
static void flush(struct writer *w, size_t at, unsigned line, unsigned col, unsigned indent)
{
	for (; w->next < w->doc->ncomments && w->doc->comments[w->next].at < at; w->next++) {
		const struct pol_ycomment *c = &w->doc->comments[w->next];

		if (c->is_trailing && w->is_open) {
			b_str_addf(w->out, "  %s", c->text);
			end_line(w);
			continue;
		}
		keep_blank(w, c->line);
		/* Deeper than what follows: it closes what came before. */
		add_indent(w, c->col > col ? w->last_indent : indent);
		b_str_add(w->out, c->text);
		w->is_open = true;
		end_line(w);
	}
	keep_blank(w, line);
}

/* ---- on one line ---- */

static void add_flow(const struct pol_ysource *n, struct b_str *out);

static void add_key(const struct pol_ysource *key, struct b_str *out)
{
	if (key->props)
		b_str_addf(out, "%s ", key->props);
	/* "*name:" would be an alias of that name. */
	b_str_addf(out, "%s%s", key->text, key->kind == POL_YS_ALIAS ? " :" : ":");
}

static void add_flow(const struct pol_ysource *n, struct b_str *out)
{
	size_t step = n->kind == POL_YS_MAP ? 2 : 1;

	if (n->props)
		b_str_addf(out, "%s%s", n->props, n->n > 0 || n->text ? " " : "");
	if (n->kind != POL_YS_SEQ && n->kind != POL_YS_MAP) {
		b_str_add(out, n->text);
		return;
	}
	b_str_addc(out, step == 2 ? '{' : '[');
	for (size_t i = 0; i < n->n; i += step) {
		if (i > 0)
			b_str_add(out, ", ");
		if (step == 2) {
			add_key(n->v[i], out);
			b_str_addc(out, ' ');
		}
		add_flow(n->v[i + step - 1], out);
	}
	b_str_addc(out, step == 2 ? '}' : ']');
}

static bool has_block(const struct pol_ysource *n)
{
	for (size_t i = 0; i < n->n; i++)
		if (has_block(n->v[i]))
			return true;
	return n->kind == POL_YS_BLOCK;
}

/* Where the node ends at the latest: the last scalar in it begins. */
static size_t last_at(const struct pol_ysource *n)
{
	return n->n > 0 ? last_at(n->v[n->n - 1]) : n->at;
}

static bool is_empty(const struct pol_ysource *n)
{
	return (n->kind == POL_YS_SEQ || n->kind == POL_YS_MAP) && n->n == 0;
}

/* Is it to stay on the line that is at `column`? */
static bool fits(const struct writer *w, const struct pol_ysource *n, unsigned column)
{
	b_auto(b_str_release) struct b_str line = {0};
	size_t next = w->next, last = last_at(n);

	if (n->kind != POL_YS_SEQ && n->kind != POL_YS_MAP)
		return n->kind != POL_YS_BLOCK;
	if (is_empty(n))
		return true;
	if (!n->is_flow || has_block(n))
		return false;
	while (next < w->doc->ncomments && w->doc->comments[next].at < n->at)
		next++;
	if (next < w->doc->ncomments && w->doc->comments[next].at < last)
		return false;
	add_flow(n, &line);
	return column + line.len <= POL_FORMAT_WIDTH;
}

/* ---- in lines ---- */

static void add_entries(struct writer *w, const struct pol_ysource *n, unsigned indent,
			bool on_line);

/* "|" and what follows, moved to its new indentation. */
static void add_block(struct writer *w, const struct pol_ysource *n, unsigned indent)
{
	const char *p = n->text;
	size_t len = strcspn(p, "\n"), margin = SIZE_MAX;

	b_str_addn(w->out, p, len - (len > 0 && p[len - 1] == '\r'));
	for (const char *q = p + len; *q; q += strcspn(q, "\n")) {
		size_t spaces = strspn(++q, " ");

		if (q[spaces] != '\n' && q[spaces] != '\r' && q[spaces] && spaces < margin)
			margin = spaces;
	}
	for (p += len; *p; p += len) {
		len = strcspn(++p, "\n");
		b_str_addc(w->out, '\n');
		if (len <= margin)
			continue;
		add_indent(w, indent);
		b_str_addn(w->out, p + margin, len - margin - (p[len - 1] == '\r'));
	}
}

/* What follows "key:" or "-" on the line, or below it. */
static void add_value(struct writer *w, const struct pol_ysource *n, unsigned indent)
{
	size_t start = w->out->len;
	unsigned column;

	while (start > 0 && w->out->s[start - 1] != '\n')
		start--;
	column = (unsigned)(w->out->len - start) + 1;
	if (fits(w, n, column)) {
		b_str_addc(w->out, ' ');
		add_flow(n, w->out);
		while (w->out->s[w->out->len - 1] == ' ') /* of nothing */
			w->out->s[--w->out->len] = '\0';
		return;
	}
	if (n->props)
		b_str_addf(w->out, " %s", n->props);
	if (n->kind == POL_YS_BLOCK) {
		b_str_addc(w->out, ' ');
		add_block(w, n, indent + STEP);
		return;
	}
	add_entries(w, n, indent + STEP, false);
}

static void add_entries(struct writer *w, const struct pol_ysource *n, unsigned indent,
			bool on_line)
{
	size_t step = n->kind == POL_YS_MAP ? 2 : 1;

	for (size_t i = 0; i < n->n; i += step) {
		const struct pol_ysource *first = n->v[i];

		if (!on_line || i > 0) {
			flush(w, first->at, first->line, first->col, indent);
			add_indent(w, indent);
		}
		w->last_indent = indent;
		w->is_open = true;
		if (step == 2) {
			add_key(first, w->out);
			add_value(w, n->v[i + 1], indent);
			continue;
		}
		b_str_addc(w->out, '-');
		/* "- key: value": a mapping begins on the line of its dash. */
		if (first->kind == POL_YS_MAP && first->n > 0 && !first->props &&
		    !fits(w, first, indent + STEP)) {
			b_str_addc(w->out, ' ');
			add_entries(w, first, indent + STEP, true);
		} else {
			add_value(w, first, indent);
		}
	}
}

static void write_document(struct writer *w)
{
	const struct pol_ysource *root = w->doc->root;

	if (w->doc->has_start) {
		flush(w, w->doc->start_at, 0, 0, 0);
		b_str_add(w->out, "---");
		w->is_open = true;
	}
	if (root->n > 0 && !root->props && (!root->is_flow || !fits(w, root, 0))) {
		add_entries(w, root, 0, false);
	} else {
		flush(w, root->at, root->line, root->col, 0);
		if (fits(w, root, 0))
			add_flow(root, w->out);
		else
			add_value(w, root, 0);
		w->is_open = true;
	}
	flush(w, SIZE_MAX, 0, 0, 0);
}

/* ---- is it the same still? ---- */

static bool same_meaning(const struct pol_ynode *a, const struct pol_ynode *b)
{
	size_t n = a->kind == POL_Y_MAP ? 2 * a->n : a->n;

	if (a->kind != b->kind || a->n != b->n)
		return false;
	if (a->kind != POL_Y_SEQ && a->kind != POL_Y_MAP)
		return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
	for (size_t i = 0; i < n; i++)
		if (!same_meaning(a->v[i], b->v[i]))
			return false;
	return true;
}

static bool same_comments(const struct pol_ysource_doc *a, const struct pol_ysource_doc *b)
{
	if (a->ncomments != b->ncomments)
		return false;
	for (size_t i = 0; i < a->ncomments; i++)
		if (strcmp(a->comments[i].text, b->comments[i].text) != 0)
			return false;
	return true;
}

/* Both readings of the result give what those of the source gave. */
static int check(const char *name, const struct pol_ynode *before,
		 const struct pol_ysource_doc *source, const struct b_str *after, struct b_err *err)
{
	struct b_arena a = {0};
	struct pol_ynode *root = NULL;
	struct pol_ysource_doc doc = {.root = NULL};
	bool is_same = pol_yaml_parse(&a, name, b_str_c(after), after->len, &root, NULL) == 0 &&
		       same_meaning(before, root) &&
		       pol_ysource_parse(name, b_str_c(after), after->len, &doc, NULL) == 0 &&
		       same_comments(source, &doc);

	pol_ysource_release(&doc);
	b_arena_release(&a);
	if (is_same)
		return 0;
	return b_fail(err, B_POLICY, 0,
		      "%s: cannot be formatted without changing its meaning: simplify its layout",
		      name);
}

static int format(const char *name, const char *text, size_t len, struct b_arena *a,
		  struct b_str *out, struct b_err *err)
{
	b_auto(pol_ysource_release) struct pol_ysource_doc doc = {.root = NULL};
	struct writer w = {.doc = &doc, .out = out};
	struct pol_ynode *root;

	if (pol_yaml_parse(a, name, text, len, &root, err) < 0)
		return -1;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	if (pol_ysource_parse(name, text, len, &doc, err) < 0)
		return -1;
	write_document(&w);
	return check(name, root, &doc, out, err);
}

int pol_format(const char *name, const char *text, size_t len, struct b_str *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str once = {0}, twice = {0};
	struct b_arena a = {0};
	int rc = format(name, text, len, &a, &once, err);

	b_arena_release(&a);
	if (rc == 0)
		rc = format(name, b_str_c(&once), once.len, &a, &twice, err);
	b_arena_release(&a);
	if (rc == 0 && (once.len != twice.len || memcmp(once.s, twice.s, once.len) != 0))
		return b_fail(err, B_POLICY, 0,
			      "%s: cannot be formatted: the place of its comments is ambiguous",
			      name);
	if (rc == 0)
		b_str_addn(out, once.s, once.len);
	return rc;
}
