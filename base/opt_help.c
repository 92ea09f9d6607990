/* opt_help.c - the "Options" part of --help, from the rows of opt.h. */
#include "base/opt.h"

#include <string.h>

#include "base/str.h"

enum { WIDTH = 80, HELP_COLUMN = 28 };

static bool same_group(const struct b_opt *a, const struct b_opt *b)
{
	return a->group && b->group ? strcmp(a->group, b->group) == 0 : a->group == b->group;
}

/* Columns of n bytes of UTF-8: everything but continuation bytes. */
static size_t columns(const char *s, size_t n)
{
	size_t i, count = 0;

	for (i = 0; i < n; i++)
		count += ((unsigned char)s[i] & 0xc0) != 0x80;
	return count;
}

static void pad(struct b_str *out, size_t n)
{
	while (n--)
		b_str_addc(out, ' ');
}

/* Words of `text` from the help column on; `column` is where the line stands now. */
static void add_wrapped(struct b_str *out, const char *text, size_t column)
{
	static const char blank[] = " \t\n";
	bool first = true;

	for (text += strspn(text, blank); *text; text += strspn(text, blank)) {
		size_t len = strcspn(text, blank), wide = columns(text, len);

		/* two blanks at least between the option and its text */
		if (first ? column + 2 > HELP_COLUMN : column + 1 + wide > WIDTH) {
			b_str_addc(out, '\n');
			column = 0;
			first = true;
		}
		if (first) {
			pad(out, HELP_COLUMN - column);
			column = HELP_COLUMN + wide;
		} else {
			b_str_addc(out, ' ');
			column += 1 + wide;
		}
		first = false;
		b_str_addn(out, text, len);
		text += len;
	}
	b_str_addc(out, '\n');
}

static void add_row(const struct b_opt *o, struct b_str *out)
{
	size_t start = out->len;

	if (o->letter)
		b_str_addf(out, "  -%c, --%s", o->letter, o->name);
	else
		b_str_addf(out, "      --%s", o->name);
	if (o->arg)
		b_str_addf(out, " %s", o->arg);
	add_wrapped(out, o->help, columns(out->s + start, out->len - start));
}

/* Whether row i opens its group: the first of it that is shown. */
static bool opens_group(const struct b_opt *table, size_t i)
{
	size_t before;

	for (before = 0; before < i; before++)
		if (table[before].help && same_group(&table[before], &table[i]))
			return false;
	return table[i].help != NULL;
}

void b_opt_help(const struct b_opt *table, size_t n, struct b_str *out)
{
	size_t i, row;

	for (i = 0; i < n; i++) {
		if (!opens_group(table, i))
			continue;
		if (out->len)
			b_str_addc(out, '\n');
		b_str_addf(out, "%s:\n", table[i].group ? table[i].group : "Options");
		for (row = i; row < n; row++)
			if (table[row].help && same_group(&table[row], &table[i]))
				add_row(&table[row], out);
	}
}
