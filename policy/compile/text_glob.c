/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_glob.c - see text_glob.h. Braces are multiplied out; what is left becomes one operation
 * after the other.
 */
#include "policy/compile/text_glob.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/target.h"

/* Behind the class that begins at p, or NULL: it has no end. A bracket that is first is a member.
 */
static const char *class_end(const char *p)
{
	p++;
	p += *p == '!' || *p == '^';
	p += *p == ']';
	for (; *p; p++)
		if (*p == ']')
			return p + 1;
	return NULL;
}

/* The end of the unit at p: an escape, a class, or one byte. */
static const char *skip_one(const char *p)
{
	if (*p == '\\')
		return p[1] ? p + 2 : NULL;
	return *p == '[' ? class_end(p) : p + 1;
}

/* The place after the brace that closes the one at p. */
static const char *brace_end(const char *p)
{
	int depth = 0;

	while (p && *p) {
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		if (*p == '}' && depth == 0)
			return p + 1;
		p = skip_one(p);
	}
	return NULL;
}

const char *pol_glob_check(const char *pattern)
{
	int depth = 0;

	for (const char *p = pattern; *p;) {
		if (*p == '[' && !class_end(p))
			return "has unclosed '['";
		if (*p == '\\' && !p[1])
			return "ends in a backslash";
		if (*p == '{' && !brace_end(p))
			return "has unclosed '{'";
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		if (depth < 0)
			return "has unopened '}'";
		p = skip_one(p);
	}
	return NULL;
}

/* ---- one pattern without braces ---- */

struct maker {
	struct pol_globs *to;
	enum pol_glob_text text;
	struct pol_glob glob;
	bool is_at_start; /* of a component */
};

static void emit(struct maker *m, enum sbx_glob_kind kind, uint32_t operand)
{
	struct pol_globs *g = m->to;

	b_grow(g->op, g->nops, g->ops_cap);
	g->op[g->nops++] = SBX_GLOB_OP(kind, operand);
	m->glob.nops++;
}

static bool ends_in(const struct maker *m, enum sbx_glob_kind kind)
{
	return m->glob.nops && SBX_GLOB_KIND(m->to->op[m->to->nops - 1]) == kind;
}

static uint32_t char_at(const char *p, size_t *len)
{
	unsigned n = b_utf8_len((const unsigned char *)p, strlen(p));

	*len = n ? n : 1;
	return n ? b_utf8_decode((const unsigned char *)p, n) : 0x110000u + (unsigned char)*p;
}

static void emit_escaped(struct maker *m, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";

	emit(m, SBX_GLOB_CHAR, '%');
	emit(m, SBX_GLOB_CHAR, (unsigned char)digits[c >> 4]);
	emit(m, SBX_GLOB_CHAR, (unsigned char)digits[c & 15]);
}

static int hex_of(char c)
{
	const char digits[] = "0123456789abcdef";
	const char *p = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* A character of the pattern as paths have it. Its length. */
static size_t emit_in_path(struct maker *m, const char *p, size_t len)
{
	int high = *p == '%' ? hex_of(p[1]) : -1, low = high < 0 ? -1 : hex_of(p[2]);
	unsigned char c = low < 0 ? (unsigned char)*p : (unsigned char)(high << 4 | low);

	if (c == '/' ? low < 0 : sbx_target_is_plain(c))
		emit(m, SBX_GLOB_CHAR, c);
	else if (low >= 0)
		emit_escaped(m, c);
	else
		for (size_t i = 0; i < len; i++)
			emit_escaped(m, (unsigned char)p[i]);
	return low < 0 ? len : 3;
}

static const char *make_char(struct maker *m, const char *p)
{
	size_t len;
	uint32_t c;

	p += *p == '\\';
	c = char_at(p, &len);
	m->is_at_start = c == m->glob.separator;
	if (m->text == POL_GLOB_PATH)
		return p + emit_in_path(m, p, len);
	emit(m, SBX_GLOB_CHAR, c);
	return p + len;
}

/* Ranges are of characters. */
static const char *make_class(struct maker *m, const char *p)
{
	const char *end = class_end(p);
	bool negated = p[1] == '!' || p[1] == '^';
	uint32_t first = m->glob.nranges;
	size_t len;

	for (p += 1 + negated; p < end - 1;) {
		struct pol_globs *g = m->to;
		struct sbx_glob_range r;

		r.low = r.high = char_at(p, &len);
		p += len;
		if (*p == '-' && p + 1 < end - 1) {
			r.high = char_at(p + 1, &len);
			p += 1 + len;
		}
		b_grow(g->range, g->nranges, g->ranges_cap);
		g->range[g->nranges++] = r;
		m->glob.nranges++;
	}
	m->is_at_start = false;
	emit(m, SBX_GLOB_CLASS,
	     (negated ? SBX_GLOB_NEGATED : 0) | (m->glob.nranges - first) << 12 | first);
	return end;
}

/* Two stars that are a whole component, or some that are a part of one. */
static const char *make_stars(struct maker *m, const char *p)
{
	size_t n = strspn(p, "*");
	bool is_whole = n == 2 && m->is_at_start && m->glob.separator;

	if (is_whole && !p[2]) {
		emit(m, SBX_GLOB_ALL, 0);
		return p + 2;
	}
	if (is_whole && (unsigned char)p[2] == m->glob.separator) {
		if (!ends_in(m, SBX_GLOB_INSIDE)) {
			emit(m, SBX_GLOB_ENTRY, 0);
			emit(m, SBX_GLOB_INSIDE, 0);
		}
		return p + 3; /* at the start of a component still */
	}
	m->is_at_start = false;
	emit(m, m->glob.separator ? SBX_GLOB_STAR : SBX_GLOB_ALL, 0);
	return p + n;
}

static int add_plain(struct pol_globs *to, const char *pattern, enum pol_glob_text text,
		     struct b_err *err)
{
	static const char separators[] = {
		[POL_GLOB_PATH] = '/', [POL_GLOB_PLAIN] = '/', [POL_GLOB_DOTS] = '.'};
	struct maker m = {.to = to, .text = text, .is_at_start = true};

	m.glob.separator = text == POL_GLOB_TEXT ? 0 : (uint32_t)separators[text];
	m.glob.first_op = (uint32_t)to->nops;
	m.glob.first_range = (uint32_t)to->nranges;
	for (const char *p = pattern; *p;) {
		if (m.glob.nops > SBX_GLOB_OPS - 12 || m.glob.nranges > SBX_GLOB_RANGES_N)
			return b_fail(err, B_POLICY, 0, "pattern too long: `%.64s...`", pattern);
		if (*p == '*') {
			p = make_stars(&m, p);
		} else if (*p == '[') {
			p = make_class(&m, p);
		} else if (*p == '?') {
			m.is_at_start = false;
			emit(&m, SBX_GLOB_ANY, 0);
			p++;
		} else {
			p = make_char(&m, p);
		}
	}
	if (m.glob.nranges > SBX_GLOB_RANGES_N)
		return b_fail(err, B_POLICY, 0, "pattern too long: `%.64s...`", pattern);
	b_grow(to->v, to->n, to->cap);
	to->v[to->n++] = m.glob;
	return 0;
}

/* ---- braces ---- */

/* Of `{a,b}` at p the part that ends at the returned comma or brace. */
static const char *part_end(const char *p)
{
	int depth = 0;

	while (depth > 0 || (*p != ',' && *p != '}')) {
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
		p = skip_one(p);
	}
	return p;
}

static int add_all(struct pol_globs *to, const char *pattern, enum pol_glob_text text, int *budget,
		   struct b_err *err)
{
	const char *open = pattern, *end;

	while (*open && *open != '{')
		open = skip_one(open);
	if (--*budget < 0)
		return b_fail(err, B_POLICY, 0, "pattern with more than %d alternatives",
			      POL_GLOB_ALTERNATIVES);
	if (!*open)
		return add_plain(to, pattern, text, err);
	end = brace_end(open);
	for (const char *part = open + 1; part < end; part = part_end(part) + 1) {
		b_auto(b_str_release) struct b_str one = {0};

		b_str_addn(&one, pattern, (size_t)(open - pattern));
		b_str_addn(&one, part, (size_t)(part_end(part) - part));
		b_str_add(&one, end);
		if (add_all(to, b_str_c(&one), text, budget, err) < 0)
			return -1;
	}
	return 0;
}

int pol_globs_add(struct pol_globs *to, const char *pattern, enum pol_glob_text text,
		  struct b_err *err)
{
	const char *wrong = pol_glob_check(pattern);
	int budget = POL_GLOB_ALTERNATIVES;

	if (wrong)
		return b_fail(err, B_POLICY, 0, "glob pattern '%s' %s", pattern, wrong);
	return add_all(to, pattern, text, &budget, err);
}

struct sbx_glob pol_globs_get(const struct pol_globs *g, size_t i)
{
	const struct pol_glob *at = &g->v[i];

	/* where there are none there is no table of them */
	return (struct sbx_glob){.op = at->nops ? g->op + at->first_op : NULL,
				 .nops = at->nops,
				 .separator = at->separator,
				 .range = at->nranges ? g->range + at->first_range : NULL,
				 .nranges = at->nranges};
}

bool pol_globs_match(const struct pol_globs *g, size_t first, size_t n, const char *text,
		     size_t len)
{
	for (size_t i = first; i < first + n; i++) {
		struct sbx_glob one = pol_globs_get(g, i);

		if (sbx_glob_match(&one, text, len))
			return true;
	}
	return false;
}

void pol_globs_release(struct pol_globs *g)
{
	free(g->v);
	free(g->op);
	free(g->range);
	*g = (struct pol_globs){0};
}
