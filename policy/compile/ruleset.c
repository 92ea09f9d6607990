/* SPDX-License-Identifier: Apache-2.0 */
/* ruleset.c - ordered rules and the language of their patterns. */
#include "policy/compile/ruleset.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void pol_ruleset_init(struct pol_ruleset *rs)
{
	*rs = (struct pol_ruleset){.profile = ""};
}

void pol_ruleset_release(struct pol_ruleset *rs)
{
	for (int op = 0; op < SBX_OP_COUNT; op++)
		free(rs->op[op].v);
	free(rs->net.v);
	b_arena_release(&rs->arena);
	*rs = (struct pol_ruleset){.profile = ""};
}

static const char *copy(struct pol_ruleset *rs, const char *s)
{
	return s ? b_arena_strndup(&rs->arena, s, strlen(s)) : NULL;
}

static struct pol_rule own(struct pol_ruleset *rs, const struct pol_rule *rule)
{
	struct pol_rule r = *rule;

	r.base = b_arena_strndup(&rs->arena, rule->base, rule->base_len);
	r.glob = copy(rs, rule->glob);
	r.matched = copy(rs, rule->matched);
	r.origin = copy(rs, rule->origin);
	return r;
}

static struct pol_rule *append(struct pol_list *list, const struct pol_rule *rule)
{
	b_grow(list->v, list->n, list->cap);
	list->v[list->n] = *rule;
	return &list->v[list->n++];
}

struct pol_rule *pol_ruleset_add(struct pol_ruleset *rs, enum sbx_op op,
				 const struct pol_rule *rule)
{
	const struct pol_rule r = own(rs, rule);

	return append(&rs->op[op], &r);
}

void pol_ruleset_add_to(struct pol_ruleset *rs, unsigned ops, const struct pol_rule *rule)
{
	const struct pol_rule r = own(rs, rule);

	for (unsigned op = 0; op < SBX_OP_COUNT; op++)
		if (ops & 1u << op)
			append(&rs->op[op], &r);
}

void pol_ruleset_copy(struct pol_ruleset *rs, enum sbx_op from, enum sbx_op to)
{
	const struct pol_list *src = &rs->op[from];
	struct pol_list *dst = &rs->op[to];

	dst->v = b_realloc(dst->v, src->n + 1, sizeof *dst->v);
	dst->cap = src->n + 1;
	dst->n = src->n;
	if (src->n)
		memcpy(dst->v, src->v, src->n * sizeof *dst->v);
}

bool pol_rule_matches(const struct pol_rule *r, const char *path, size_t len)
{
	if (len == 1 && path[0] == '/')
		len = 0; /* "" is the root, as in `base` */
	if (len < r->base_len || memcmp(path, r->base, r->base_len) != 0)
		return false;
	path += r->base_len;
	len -= r->base_len;
	if (len > 0 && path[0] != '/')
		return false;
	switch (r->shape) {
	case POL_EXACT:
		return len == 0;
	case POL_TREE:
		return true;
	case POL_GLOB:
		if (len == 0)
			return r->base_is_root && pol_glob_match(r->glob, "", 0);
		return (r->folds ? pol_glob_match_folded : pol_glob_match)(r->glob, path + 1,
									   len - 1);
	}
	return false;
}

int pol_list_last_match(const struct pol_list *list, size_t end, const char *path, size_t len)
{
	if (end > list->n)
		end = list->n;
	for (size_t i = end; i-- > 0 && list->v[i].layer == list->v[end - 1].layer;)
		if (pol_rule_matches(&list->v[i], path, len))
			return (int)i;
	return -1;
}

size_t pol_layer_end(const struct pol_list *list, size_t first)
{
	size_t end = first;

	while (end < list->n && list->v[end].layer == list->v[first].layer)
		end++;
	return end;
}

int pol_list_decide(const struct pol_list *list, const char *path, size_t len)
{
	int found = -1;

	for (size_t first = 0, end; first < list->n; first = end) {
		int last;

		end = pol_layer_end(list, first);
		last = pol_list_last_match(list, end, path, len);
		if (last < 0 || !list->v[last].allow)
			return last;
		if (found < 0 || list->v[last].layer == POL_LAYER_MAIN)
			found = last;
	}
	return found;
}

const char *pol_tier_name(enum pol_tier tier)
{
	static const char *const names[POL_TIER_COUNT] = {
#define X(name, text) [POL_TIER_##name] = text,
		POL_TIERS(X)
#undef X
	};

	return (unsigned)tier < POL_TIER_COUNT ? names[tier] : "?";
}

/* ---- patterns ---- */

/* A pattern as a list of elements; OPTION may jump over the elements of its group. */
enum kind { LITERAL, ANY, STAR, DSTAR, OPTION };

struct element {
	unsigned char kind;
	unsigned char byte; /* LITERAL: the byte; OPTION: elements to jump over */
};

#define WINDOW 5 /* a token has at most four bytes: rows i .. i + 4 are alive */

static size_t parse_pieces(const char *p, const char *end, struct element *out)
{
	size_t n = 0;

	while (p < end) {
		if (end - p >= 3 && !memcmp(p, "**/", 3)) {
			out[n++] = (struct element){OPTION, 2};
			out[n++] = (struct element){DSTAR, 0};
			out[n++] = (struct element){LITERAL, '/'};
			p += 3;
		} else if (end - p >= 2 && !memcmp(p, "**", 2)) {
			out[n++] = (struct element){DSTAR, 0};
			p += 2;
		} else {
			unsigned char c = (unsigned char)*p++;
			unsigned char kind = c == '*' ? STAR : c == '?' ? ANY : LITERAL;

			out[n++] = (struct element){kind, c};
		}
	}
	return n;
}

static size_t parse(const char *glob, struct element *out)
{
	size_t len = strlen(glob), n;

	if (len == 1 && glob[0] == '.')
		return 0;
	if (len == 3 && !memcmp(glob, "/**", 3))
		return parse_pieces(glob + 1, glob + 3, out);
	if (len < 3 || memcmp(glob + len - 3, "/**", 3) != 0)
		return parse_pieces(glob, glob + len, out);
	n = parse_pieces(glob, glob + len - 3, out);
	out[n++] = (struct element){OPTION, 2};
	out[n++] = (struct element){LITERAL, '/'};
	out[n++] = (struct element){DSTAR, 0};
	return n;
}

/* Elements that may be passed without a byte; targets lie to the right, one pass suffices. */
static void close_row(const struct element *e, size_t n, bool *row)
{
	for (size_t j = 0; j < n; j++) {
		if (!row[j])
			continue;
		if (e[j].kind == OPTION)
			row[j + 1] = row[j + 1 + e[j].byte] = true;
		else if (e[j].kind == STAR || e[j].kind == DSTAR)
			row[j + 1] = true;
	}
}

/* From row i over byte c, or, for ANY, over the token of `token` bytes (0: none starts here). */
static void advance(const struct element *e, size_t n, unsigned char c, size_t token,
		    const bool *row, bool *next, bool *after_token)
{
	for (size_t j = 0; j < n; j++) {
		if (!row[j])
			continue;
		if (e[j].kind == LITERAL && e[j].byte == c)
			next[j + 1] = true;
		else if (e[j].kind == DSTAR || (e[j].kind == STAR && c != '/'))
			next[j] = true;
		else if (e[j].kind == ANY && c != '/' && token > 0)
			after_token[j + 1] = true;
	}
}

static unsigned char small(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c - 'A' + 'a') : c;
}

static bool match(const char *glob, const char *path, size_t len, bool folds)
{
	const unsigned char *p = (const unsigned char *)path;
	/* "**" + "/" makes three elements of three bytes: never more elements than bytes. */
	b_auto_free struct element *e = b_calloc(strlen(glob) + 1, sizeof *e);
	size_t n = parse(glob, e), token_end = 0;
	b_auto_free bool *rows = b_calloc(WINDOW * (n + 1), sizeof *rows);

	for (size_t i = 0; folds && i < n; i++)
		e[i].byte = e[i].kind == LITERAL ? small(e[i].byte) : e[i].byte;
	rows[0] = true;
	for (size_t i = 0; i < len; i++) {
		bool *row = rows + i % WINDOW * (n + 1);
		size_t token = 0;

		if (i == token_end) {
			token = b_utf8_len(p + i, len - i);
			token = token ? token : 1;
			token_end += token;
		}
		close_row(e, n, row);
		advance(e, n, folds ? small(p[i]) : p[i], token, row,
			rows + (i + 1) % WINDOW * (n + 1), rows + (i + token) % WINDOW * (n + 1));
		memset(row, 0, (n + 1) * sizeof *row);
	}
	close_row(e, n, rows + len % WINDOW * (n + 1));
	return rows[len % WINDOW * (n + 1) + n];
}

bool pol_glob_match(const char *glob, const char *path, size_t len)
{
	return match(glob, path, len, false);
}

bool pol_glob_match_folded(const char *glob, const char *path, size_t len)
{
	return match(glob, path, len, true);
}

/*
 * One token on bytes. A well-formed sequence begins with a byte that occurs nowhere else in
 * one, so wherever one is found it is a token of the path. A stray byte neither begins such a
 * sequence (first assertion) nor lies in one that began one, two or three bytes before.
 */
#define UTF8_2 "[\\xc2-\\xdf][\\x80-\\xbf]"
#define UTF8_3                                                                                     \
	"\\xe0[\\xa0-\\xbf][\\x80-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}|"                 \
	"\\xed[\\x80-\\x9f][\\x80-\\xbf]"
#define UTF8_4                                                                                     \
	"\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf1-\\xf3][\\x80-\\xbf]{3}|"                        \
	"\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}"
#define TOKEN                                                                                      \
	"(?:[\\x00-\\x2e\\x30-\\x7f]|" UTF8_2 "|" UTF8_3 "|" UTF8_4 "|"                            \
	"(?!" UTF8_2 "|" UTF8_3 "|" UTF8_4 ")"                                                     \
	"(?<!(?=" UTF8_2 "|" UTF8_3 "|" UTF8_4 ").)"                                               \
	"(?<!(?=" UTF8_3 "|" UTF8_4 ")..)(?<!(?=" UTF8_4 ")...)[\\x80-\\xff])"

static void regex_pieces(const char *p, const char *end, struct b_str *out)
{
	while (p < end) {
		if (end - p >= 3 && !memcmp(p, "**/", 3)) {
			b_str_add(out, "(?:.*/)?");
			p += 3;
		} else if (end - p >= 2 && !memcmp(p, "**", 2)) {
			b_str_add(out, ".*");
			p += 2;
		} else if (*p == '*') {
			b_str_add(out, "[^/]*");
			p++;
		} else if (*p == '?') {
			b_str_add(out, TOKEN);
			p++;
		} else {
			if (strchr("\\.+()[]{}|^$#-&~", *p))
				b_str_addc(out, '\\');
			b_str_addc(out, *p++);
		}
	}
}

void pol_glob_regex(const char *glob, struct b_str *out)
{
	size_t len = strlen(glob);
	bool covers_anchor = len >= 3 && !memcmp(glob + len - 3, "/**", 3);

	b_str_addc(out, '^');
	if (len == 3 && covers_anchor) {
		b_str_add(out, ".*");
	} else if (len != 1 || glob[0] != '.') {
		regex_pieces(glob, glob + len - (covers_anchor ? 3 : 0), out);
		if (covers_anchor)
			b_str_add(out, "(?:/.*)?");
	}
	b_str_addc(out, '$');
}

bool pol_glob_is_literal(const char *glob)
{
	return glob[strcspn(glob, "*?")] == '\0';
}

size_t pol_glob_literal_prefix(const char *glob)
{
	size_t n = strcspn(glob, "*?");

	if (glob[n] == '\0')
		return n;
	while (n > 0 && glob[n - 1] != '/')
		n--;
	return n > 0 ? n - 1 : 0;
}
