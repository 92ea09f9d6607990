/* SPDX-License-Identifier: Apache-2.0 */
/* opt.c - the parser of opt.h; the help text is in opt_help.c. */
#include "base/opt.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct parse {
	const struct b_opt *table;
	size_t n;
	int argc, at; /* at = the word looked at */
	char **argv;
	void *target;
	bool *seen; /* by row */
	struct b_strlist *words;
	struct b_opt_uses *uses;
	struct b_err *err;
};

void b_strlist_add(struct b_strlist *list, const char *s)
{
	b_grow(list->v, list->n, list->cap);
	list->v[list->n++] = s;
}

void b_strlist_release(struct b_strlist *list)
{
	free(list->v);
	*list = (struct b_strlist){0};
}

/* ---- suggestions ---- */

static int unknown_long(struct parse *p, const char *name, size_t len)
{
	struct b_near near = B_NEAR_INIT;
	size_t i;

	for (i = 0; i < p->n; i++)
		b_near_offer(&near, name, len, p->table[i].name, strlen(p->table[i].name));
	if (!near.text)
		return b_fail(p->err, B_USAGE, 0, "unknown option `--%.*s`", (int)len, name);
	return b_fail(p->err, B_USAGE, 0, "unknown option `--%.*s`; did you mean `--%s`?", (int)len,
		      name, near.text);
}

static const struct b_opt *by_name(const struct parse *p, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (strncmp(p->table[i].name, name, len) == 0 && !p->table[i].name[len])
			return &p->table[i];
	return NULL;
}

static const struct b_opt *by_letter(const struct parse *p, char letter)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->table[i].letter && p->table[i].letter == letter)
			return &p->table[i];
	return NULL;
}

static int unknown_letter(struct parse *p, const char *letter, const char *word)
{
	size_t len = strcspn(word + 1, "=");

	/* `-policy`: one dash short. Whole bytes of a character, not its first alone. */
	if (by_name(p, word + 1, len))
		return b_fail(p->err, B_USAGE, 0, "unknown option `%s`; did you mean `--%.*s`?",
			      word, (int)len, word + 1);
	if (word[2] == '\0' || (unsigned char)*letter >= 0x80)
		return b_fail(p->err, B_USAGE, 0, "unknown option `%s`", word);
	return b_fail(p->err, B_USAGE, 0, "unknown option `-%c` in `%s`", *letter, word);
}

/* ---- one row applied ---- */

static int set_enum(const struct b_opt *o, const char *value, int *out, struct b_err *err)
{
	struct b_near near = B_NEAR_INIT;
	size_t n = strlen(value);
	const char *v = o->values, *known = v + (*v == '|');
	int index;

	for (index = 0;; index++) {
		size_t len = strcspn(v, "|");

		if (len == n && memcmp(v, value, n) == 0) {
			*out = index;
			return 0;
		}
		if (len > 0)
			b_near_offer(&near, value, n, v, len);
		if (!v[len])
			break;
		v += len + 1;
	}
	if (near.text)
		return b_fail(err, B_USAGE, 0,
			      "--%s: unknown value `%s`; did you mean `%.*s`? (one of %s)", o->name,
			      value, (int)near.len, near.text, known);
	return b_fail(err, B_USAGE, 0, "--%s: unknown value `%s` (one of %s)", o->name, value,
		      known);
}

static int set_number(const struct b_opt *o, const char *value, uint64_t *out, struct b_err *err)
{
	unsigned long long v;

	if (o->kind == B_OPT_MS && b_parse_duration_ms(value, &v) < 0)
		return b_fail(err, B_USAGE, 0,
			      "--%s: `%s` is not a duration (such as 250ms, 1.5s, 90, 5m, 2h)",
			      o->name, value);
	if (o->kind == B_OPT_U64 && b_parse_u64(value, UINT64_MAX, &v) < 0)
		return b_fail(err, B_USAGE, 0, "--%s: `%s` is not a whole number in range", o->name,
			      value);
	*out = v;
	return 0;
}

static int set_flag(struct parse *p, const struct b_opt *o, void *field)
{
	size_t i;

	if (!o->value) {
		*(bool *)field = true;
		return 0;
	}
	for (i = 0; i < p->n; i++) {
		const struct b_opt *other = &p->table[i];

		if (p->seen[i] && other->kind == B_OPT_FLAG && other->offset == o->offset &&
		    other->value && other->value != o->value)
			return b_fail(p->err, B_USAGE, 0, "--%s: cannot be used with --%s", o->name,
				      other->name);
	}
	*(int *)field = o->value;
	return 0;
}

static int call_row(const struct parse *p, const struct b_opt *o, const char *value)
{
	return o->call(p->target, value, p->err) < 0 ? b_wrap(p->err, "--%s", o->name) : 0;
}

static int apply(struct parse *p, const struct b_opt *o, const char *value)
{
	void *field = (char *)p->target + o->offset;
	size_t row = (size_t)(o - p->table);
	bool twice = p->seen[row];

	p->seen[row] = true;
	if (p->uses) {
		b_grow(p->uses->v, p->uses->n, p->uses->cap);
		p->uses->v[p->uses->n++] = (struct b_opt_use){o->name, value};
	}
	switch (o->kind) {
	case B_OPT_FLAG:
		return set_flag(p, o, field);
	case B_OPT_COUNT:
		++*(unsigned *)field;
		return 0;
	case B_OPT_STR:
		if (twice)
			return b_fail(p->err, B_USAGE, 0, "--%s: given twice", o->name);
		*(const char **)field = value;
		return 0;
	case B_OPT_LIST:
		b_strlist_add(field, value);
		return 0;
	case B_OPT_ENUM:
		return set_enum(o, value, field, p->err);
	case B_OPT_MS:
	case B_OPT_U64:
		return set_number(o, value, field, p->err);
	case B_OPT_CALL:
		return call_row(p, o, value);
	}
	b_bug(__FILE__, __LINE__, "option kind");
}

/* ---- grammar ---- */

/* The next word, for an option that needs a value and has none of its own. */
static const char *next_word(struct parse *p)
{
	return p->at + 1 < p->argc ? p->argv[++p->at] : NULL;
}

static int missing(struct parse *p, const struct b_opt *o)
{
	return b_fail(p->err, B_USAGE, 0, "--%s: needs a value: --%s %s", o->name, o->name, o->arg);
}

static int parse_long(struct parse *p, const char *name)
{
	size_t len = strcspn(name, "=");
	const struct b_opt *o = by_name(p, name, len);
	const char *value = name[len] ? name + len + 1 : NULL;

	if (!o)
		return unknown_long(p, name, len);
	if (!o->arg && value)
		return b_fail(p->err, B_USAGE, 0, "--%s: takes no value", o->name);
	if (o->arg && !value && !(value = next_word(p)))
		return missing(p, o);
	return apply(p, o, value);
}

static int parse_letters(struct parse *p, const char *word)
{
	const char *c;

	for (c = word + 1; *c; c++) {
		const struct b_opt *o = by_letter(p, *c);
		const char *value = NULL;

		if (!o)
			return unknown_letter(p, c, word);
		if (o->arg) {
			value = c[1] ? c + 1 : next_word(p);
			if (!value)
				return missing(p, o);
		}
		if (apply(p, o, value) < 0)
			return -1;
		if (value)
			break;
	}
	return 0;
}

static void check_table(const struct b_opt *table, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct b_opt *o = &table[i];
		bool bare = o->kind == B_OPT_FLAG || o->kind == B_OPT_COUNT;

		B_ASSERT(o->name && *o->name);
		B_ASSERT(o->kind == B_OPT_CALL ? o->call != NULL : bare == !o->arg);
		B_ASSERT(o->kind != B_OPT_ENUM || o->values);
	}
}

static int parse_line(struct parse *p, int *out_rest)
{
	check_table(p->table, p->n);
	for (; p->at < p->argc; p->at++) {
		const char *word = p->argv[p->at];
		int rc;

		if (word[0] != '-' || !word[1]) {
			if (!p->words)
				break;
			b_strlist_add(p->words, word);
			continue;
		}
		if (strcmp(word, "--") == 0) {
			p->at++;
			break;
		}
		rc = word[1] == '-' ? parse_long(p, word + 2) : parse_letters(p, word);
		if (rc < 0)
			return -1;
	}
	while (p->words && p->at < p->argc)
		b_strlist_add(p->words, p->argv[p->at++]);
	if (out_rest)
		*out_rest = p->at < p->argc ? p->at : p->argc; /* argc may be 0 (execve(2)) */
	return 0;
}

int b_opt_parse(const struct b_opt *table, size_t n, int argc, char **argv, void *target,
		struct b_strlist *words, int *out_rest, struct b_err *err)
{
	b_auto_free bool *seen = b_calloc(n, sizeof *seen);
	struct parse p = {table, n, argc, 1, argv, target, seen, words, NULL, err};

	return parse_line(&p, out_rest);
}

int b_opt_parse_uses(const struct b_opt *table, size_t n, int argc, char **argv, void *target,
		     struct b_opt_uses *uses, int *out_rest, struct b_err *err)
{
	b_auto_free bool *seen = b_calloc(n, sizeof *seen);
	struct parse p = {table, n, argc, 1, argv, target, seen, NULL, uses, err};

	return parse_line(&p, out_rest);
}

/* ---- what goes together ---- */

void b_opt_uses_release(struct b_opt_uses *uses)
{
	free(uses->v);
	*uses = (struct b_opt_uses){0};
}

/* Is the word in a list parted by bars? */
static bool is_listed(const char *list, const char *word, size_t n)
{
	size_t len;

	for (; list && *list; list += len + (list[len] == '|')) {
		len = strcspn(list, "|");
		if (len == n && memcmp(list, word, n) == 0)
			return true;
	}
	return false;
}

const struct b_opt_use *b_opt_given(const struct b_opt *o, const struct b_opt_uses *uses)
{
	const struct b_opt_use *last = NULL;

	for (size_t i = 0; i < uses->n; i++)
		if (strcmp(uses->v[i].name, o->name) == 0)
			last = &uses->v[i];
	if (last && last->value && is_listed(o->idle, last->value, strlen(last->value)))
		return NULL;
	return last;
}

/* The first entry of the list (`name` or `name=value`) that was given on the command line; *out_n =
 * its length. */
static const char *first_given(const struct parse *p, const char *list, size_t *out_n)
{
	for (; list && *list; list += *out_n + (list[*out_n] == '|')) {
		const size_t n = strcspn(list, "|"), name = strcspn(list, "|=");
		const struct b_opt *o = by_name(p, list, name);
		const struct b_opt_use *use = o ? b_opt_given(o, p->uses) : NULL;

		*out_n = n;
		if (use && (name == n || (use->value && strlen(use->value) == n - name - 1 &&
					  !memcmp(use->value, list + name + 1, n - name - 1))))
			return list;
	}
	return NULL;
}

/* a|b|c as `--a, --b or --c`, without options that the table does not have. */
static void show_list(const struct parse *p, const char *list, struct b_str *out)
{
	for (size_t n; *list; list += n + (list[n] == '|')) {
		n = strcspn(list, "|");
		if (by_name(p, list, n))
			b_str_addf(out, "%s--%.*s",
				   !out->len ? ""
				   : list[n] ? ", "
					     : " or ",
				   (int)n, list);
	}
}

static int check_use(const struct parse *p, const struct b_opt *o, unsigned where,
		     const char *place)
{
	b_auto(b_str_release) struct b_str list = {0};
	const char *other;
	size_t n;

	if (o->where && !(o->where & where))
		return b_fail(p->err, B_USAGE, 0, "--%s: not with %s", o->name, place);
	if (o->needs && !first_given(p, o->needs, &n)) {
		show_list(p, o->needs, &list);
		return b_fail(p->err, B_USAGE, 0, "--%s: only together with %s", o->name, list.s);
	}
	other = first_given(p, o->excludes, &n);
	if (!other)
		return 0;
	b_str_addn(&list, other, n);
	if (strchr(list.s, '='))
		*strchr(list.s, '=') = ' ';
	return b_fail(p->err, B_USAGE, 0, "--%s: cannot be used with --%s", o->name, list.s);
}

int b_opt_check(const struct b_opt *table, size_t n, const struct b_opt_uses *uses, unsigned where,
		const char *place, struct b_err *err)
{
	struct b_opt_uses given = *uses; /* borrowed */
	const struct parse p = {.table = table, .n = n, .uses = &given, .err = err};

	for (size_t i = 0; i < n; i++)
		if (b_opt_given(&table[i], uses) && check_use(&p, &table[i], where, place) < 0)
			return -1;
	return 0;
}

/* ---- the nearest of a few names ---- */

enum { NAME_MAX_LEN = 63 };

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Edit distance where swapped neighbours count as one (optimal string alignment); too many for
 * names too long. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[3][NAME_MAX_LEN + 1];
	size_t i, j;

	if (na > NAME_MAX_LEN || nb > NAME_MAX_LEN)
		return B_NEAR_MAX + 1;
	for (j = 0; j <= nb; j++)
		rows[0][j] = (unsigned)j;
	for (i = 1; i <= na; i++) {
		unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (j = 1; j <= nb; j++) {
			row[j] =
				min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min3(row[j], up2[j - 2] + 1, row[j]);
		}
	}
	return rows[na % 3][nb];
}

void b_near_offer(struct b_near *near, const char *typed, size_t n, const char *name, size_t len)
{
	unsigned d = distance(typed, n, name, len);

	if (d <= B_NEAR_MAX && d < near->best && (size_t)d * 2 < (n > len ? n : len))
		*near = (struct b_near){name, len, d};
}
