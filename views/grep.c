/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grep.c - events that an expression is true of:
 *
 *	or    = and { "or" and }
 *	and   = not { "and" not }
 *	not   = "not" not | "(" or ")" | test
 *	test  = FIELD | FIELD ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) VALUE
 *	      | FIELD "~" GLOB | FIELD "=~" REGEX
 *
 * FIELD is a key of a line (audit/fields.h), or `denied`. Alone it asks whether it is true, or
 * there at all. A value is a word, or in quotes; a glob is of the language of rules, a regular
 * expression of PCRE2.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <string.h>

#include "audit/show.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/str.h"
#include "views/views.h"

enum type { INT, BOOL, FLAG, WORD, TEXT, TIME, PATH, LIST, MAP, DENIED };

static const struct field {
	const char *key;
	enum type type;
	size_t at;
	int bit;
} fields[] = {
#define X(member, key, type, ...) {key, type, offsetof(struct aud_entry, member), AUD_F_##member},
	AUD_FIELDS(X)
#undef X
		{"denied", DENIED, 0, 0},
};

enum node_kind { OR, AND, NOT, IS, EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST, GLOB, REGEX };

/* Operators, the longer before its beginning. */
static const struct {
	const char *text;
	enum node_kind kind;
} operators[] = {
	{"=~", REGEX}, {"!=", UNEQUAL}, {"<=", AT_MOST}, {">=", AT_LEAST},
	{"=", EQUAL},  {"<", LESS},	{">", MORE},	 {"~", GLOB},
};

struct node {
	enum node_kind kind;
	int left, right; /* of OR, AND, NOT */
	const struct field *field;
	char *value;
	int64_t number;
	pcre2_code *code;
};

enum { NODES_MAX = 256, DEPTH_MAX = 64 };

struct query {
	struct node v[NODES_MAX];
	int n, depth, root;
	const char *text, *p;
	struct aud_filter filter; /* what globs need to know */
	pcre2_match_data *match;
};

static void release(struct query *q)
{
	int i;

	for (i = 0; i < q->n; i++) {
		free(q->v[i].value);
		pcre2_code_free(q->v[i].code);
	}
	pcre2_match_data_free(q->match);
}

/* ---- parsing: an index, or -1 with err ---- */

static int wrong(const struct query *q, struct b_err *err, const char *what)
{
	return b_fail(err, B_USAGE, 0, "grep: at character %d of `%.120s`: %s",
		      (int)(q->p - q->text) + 1, q->text, what);
}

static void skip_blanks(struct query *q)
{
	while (isspace((unsigned char)*q->p))
		q->p++;
}

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static bool take_word(struct query *q, const char *word)
{
	size_t n = strlen(word);

	skip_blanks(q);
	if (strncmp(q->p, word, n) != 0 || (isalpha((unsigned char)*word) && is_letter(q->p[n])))
		return false;
	q->p += n;
	return true;
}

static int add_node(struct query *q, struct node node, struct b_err *err)
{
	if (q->n == NODES_MAX)
		return wrong(q, err, "the expression is too long");
	q->v[q->n] = node;
	return q->n++;
}

static int find_field(struct query *q, const struct field **out, struct b_err *err)
{
	struct b_near near = B_NEAR_INIT;
	const char *start;
	size_t n = 0, i;

	skip_blanks(q);
	start = q->p;
	while (is_letter(start[n]))
		n++;
	for (i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (strlen(fields[i].key) == n && memcmp(fields[i].key, start, n) == 0) {
			*out = &fields[i];
			q->p += n;
			return 0;
		}
		b_near_offer(&near, start, n, fields[i].key, strlen(fields[i].key));
	}
	if (near.text)
		return b_fail(err, B_USAGE, 0, "grep: no field `%.*s`: did you mean %s?", (int)n,
			      start, near.text);
	return wrong(q, err,
		     n ? "no such field: `sbx-audit schema` has them all" : "a field is missing");
}

static int take_value(struct query *q, char **out, struct b_err *err)
{
	const char *end;
	char quote;

	skip_blanks(q);
	quote = *q->p;
	if (quote == '\'' || quote == '"') {
		end = strchr(q->p + 1, quote);
		if (!end)
			return wrong(q, err, "the quote is not closed");
		*out = b_strndup(q->p + 1, (size_t)(end - q->p - 1));
		q->p = end + 1;
		return 0;
	}
	for (end = q->p; *end && !isspace((unsigned char)*end) && *end != ')' && *end != '(';)
		end++;
	if (end == q->p)
		return wrong(q, err, "a value is missing");
	*out = b_strndup(q->p, (size_t)(end - q->p));
	q->p = end;
	return 0;
}

static int compile(struct query *q, struct node *n, struct b_err *err)
{
	PCRE2_UCHAR why[120];
	PCRE2_SIZE at;
	int code;

	n->code = pcre2_compile((PCRE2_SPTR)n->value, PCRE2_ZERO_TERMINATED, PCRE2_DOLLAR_ENDONLY,
				&code, &at, NULL);
	if (!n->code) {
		pcre2_get_error_message(code, why, sizeof why);
		return b_fail(err, B_USAGE, 0, "grep: `%.80s`: %s", n->value, (const char *)why);
	}
	(void)pcre2_jit_compile(n->code, PCRE2_JIT_COMPLETE);
	if (!q->match)
		q->match = pcre2_match_data_create(1, NULL);
	return 0;
}

/* What the operator asks of the value. */
static int check_value(struct query *q, struct node *n, struct b_err *err)
{
	const char *digits = n->value + (*n->value == '-');
	unsigned long long v;

	if (n->kind == REGEX)
		return compile(q, n, err);
	if (n->field->type == INT) {
		if (n->kind == GLOB || b_parse_u64(digits, INT64_MAX, &v) < 0)
			return wrong(q, err, "this field is a number");
		n->number = *n->value == '-' ? -(int64_t)v : (int64_t)v;
	} else if (n->field->type == BOOL || n->field->type == FLAG || n->field->type == DENIED) {
		if ((n->kind != EQUAL && n->kind != UNEQUAL) ||
		    (strcmp(n->value, "true") != 0 && strcmp(n->value, "false") != 0))
			return wrong(q, err, "this field is true or false");
	}
	return 0;
}

static int parse_test(struct query *q, struct b_err *err)
{
	struct node n = {.kind = IS, .left = -1, .right = -1};
	size_t i;
	int at;

	if (find_field(q, &n.field, err) < 0)
		return -1;
	for (i = 0; i < sizeof operators / sizeof *operators; i++)
		if (take_word(q, operators[i].text)) {
			n.kind = operators[i].kind;
			break;
		}
	at = add_node(q, n, err);
	if (at < 0 || n.kind == IS)
		return at;
	if (take_value(q, &q->v[at].value, err) < 0 || check_value(q, &q->v[at], err) < 0)
		return -1;
	return at;
}

static int parse_or(struct query *q, struct b_err *err);

static int parse_not(struct query *q, struct b_err *err)
{
	struct node n = {.kind = NOT, .right = -1};
	int inner;

	if (take_word(q, "not")) {
		if (++q->depth > DEPTH_MAX)
			return wrong(q, err, "too deep");
		n.left = parse_not(q, err);
		q->depth--;
		return n.left < 0 ? -1 : add_node(q, n, err);
	}
	if (!take_word(q, "("))
		return parse_test(q, err);
	if (++q->depth > DEPTH_MAX)
		return wrong(q, err, "too deep");
	inner = parse_or(q, err);
	q->depth--;
	if (inner >= 0 && !take_word(q, ")"))
		return wrong(q, err, "a `)` is missing");
	return inner;
}

static int parse_and(struct query *q, struct b_err *err)
{
	struct node n = {.kind = AND};
	int left = parse_not(q, err);

	while (left >= 0 && take_word(q, "and")) {
		n.left = left;
		n.right = parse_not(q, err);
		left = n.right < 0 ? -1 : add_node(q, n, err);
	}
	return left;
}

static int parse_or(struct query *q, struct b_err *err)
{
	struct node n = {.kind = OR};
	int left = parse_and(q, err);

	while (left >= 0 && take_word(q, "or")) {
		n.left = left;
		n.right = parse_and(q, err);
		left = n.right < 0 ? -1 : add_node(q, n, err);
	}
	return left;
}

/* ---- asking ---- */

static bool is_true(const struct field *f, const struct aud_entry *e)
{
	const char *at = (const char *)e + f->at;

	switch (f->type) {
	case DENIED:
		return aud_entry_is_denied(e);
	case BOOL:
	case FLAG:
		return *(const bool *)at;
	case INT:
		return e->has >> f->bit & 1;
	case WORD:
	case TEXT:
	case TIME:
	case PATH:
	case LIST:
	case MAP:
		break;
	}
	return **(const char *const *)at;
}

static bool compares(enum node_kind kind, int64_t order)
{
	switch (kind) {
	case EQUAL:
		return order == 0;
	case UNEQUAL:
		return order != 0;
	case LESS:
		return order < 0;
	case AT_MOST:
		return order <= 0;
	case MORE:
		return order > 0;
	case AT_LEAST:
		return order >= 0;
	case OR:
	case AND:
	case NOT:
	case IS:
	case GLOB:
	case REGEX:
		break;
	}
	return false;
}

static bool matches_regex(const struct query *q, const struct node *n, const char *text)
{
	return pcre2_match(n->code, (PCRE2_SPTR)text, strlen(text), 0, 0, q->match, NULL) >= 0;
}

static bool test(const struct query *q, const struct node *n, const struct aud_entry *e)
{
	const char *at = (const char *)e + n->field->at, *text;
	char digits[24];
	int64_t number;

	if (n->kind == IS)
		return is_true(n->field, e);
	if (n->field->type == BOOL || n->field->type == FLAG || n->field->type == DENIED)
		return (is_true(n->field, e) == (strcmp(n->value, "true") == 0)) ==
		       (n->kind == EQUAL);
	if (n->field->type == INT) {
		memcpy(&number, at, sizeof number);
		snprintf(digits, sizeof digits, "%lld", (long long)number);
		if (n->kind == REGEX)
			return matches_regex(q, n, digits);
		return compares(n->kind, (number > n->number) - (number < n->number));
	}
	text = *(const char *const *)at;
	if (n->kind == REGEX)
		return matches_regex(q, n, text);
	if (n->kind == GLOB)
		return aud_glob_match(&q->filter, n->value, text);
	return compares(n->kind, strcmp(text, n->value));
}

/* Globs and regular expressions are asked last. */
static unsigned cost(const struct query *q, int at)
{
	const struct node *n = &q->v[at];

	if (n->kind == OR || n->kind == AND || n->kind == NOT)
		return 1 + cost(q, n->left) + (n->right >= 0 ? cost(q, n->right) : 0);
	return n->kind == GLOB || n->kind == REGEX ? 100 : 1;
}

static void order(struct query *q)
{
	int i;

	for (i = 0; i < q->n; i++) {
		struct node *n = &q->v[i];
		int left = n->left;

		if ((n->kind != OR && n->kind != AND) || cost(q, left) <= cost(q, n->right))
			continue;
		n->left = n->right;
		n->right = left;
	}
}

static bool ask(const struct query *q, int at, const struct aud_entry *e)
{
	const struct node *n = &q->v[at];

	if (n->kind == OR)
		return ask(q, n->left, e) || ask(q, n->right, e);
	if (n->kind == AND)
		return ask(q, n->left, e) && ask(q, n->right, e);
	if (n->kind == NOT)
		return !ask(q, n->left, e);
	return test(q, n, e);
}

static int parse(struct query *q, const struct view *v, struct b_err *err)
{
	q->text = q->p = v->expression;
	q->filter.workspaces = v->run->workspaces;
	q->filter.nworkspaces = v->run->nworkspaces;
	q->root = parse_or(q, err);
	if (q->root < 0)
		return -1;
	order(q);
	skip_blanks(q);
	return *q->p ? wrong(q, err, "expected `and`, `or`, or the end") : 0;
}

int view_grep(struct view *v, struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	b_auto(release) struct query q = {.n = 0};
	int got, found = 0;

	if (parse(&q, v, err) < 0 || aud_reader_open(&r, v->run, err) < 0)
		return -1;
	while ((got = view_next(v, &r, err)) > 0) {
		if (!ask(&q, q.root, &r.e))
			continue;
		found = 1;
		if (v->json) {
			b_str_addn(v->out, r.line.s, r.line.len);
			b_str_addc(v->out, '\n');
		} else {
			aud_show_entry(&r.e, v->colour, v->out);
		}
		if (view_flush(v, err) < 0)
			return -1;
	}
	return got < 0 ? -1 : found;
}
