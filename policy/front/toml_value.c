/* toml_value.c - see toml_priv.h. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/toml_priv.h"

bool pol_toml_is_bare(int b)
{
	return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') ||
	       b == '_' || b == '-';
}

/* ---- strings ---- */

/* A backslash at the end of a line: the break and all blanks behind it are no part of the text. */
static bool skip_continuation(struct pol_cursor *c)
{
	size_t n = 0;
	int b;

	while (pol_cursor_peek(c, n) == ' ' || pol_cursor_peek(c, n) == '\t')
		n++;
	if (pol_cursor_peek(c, n) != '\n' &&
	    !(pol_cursor_peek(c, n) == '\r' && pol_cursor_peek(c, n + 1) == '\n'))
		return false;
	while ((b = pol_cursor_peek(c, 0)) == ' ' || b == '\t' || b == '\n' || b == '\r')
		(void)pol_cursor_next(c);
	return true;
}

static int escape(struct pol_cursor *c, bool is_multi, struct b_str *out)
{
	static const char names[] = "btnfr\"\\", chars[] = "\b\t\n\f\r\"\\";
	struct pol_pos pos = pol_cursor_pos(c);
	const char *p;
	int b;

	(void)pol_cursor_next(c); /* the backslash */
	if (is_multi && skip_continuation(c))
		return 0;
	b = pol_cursor_next(c);
	if (b == 'u' || b == 'U') {
		if (!pol_tree_add_char(out, pol_cursor_hex(c, b == 'u' ? 4 : 8)))
			return pol_pos_fail(c->err, &pos,
					    "no character, expected \\u and four digits, or \\U "
					    "and eight");
		return 0;
	}
	p = b > 0 ? strchr(names, b) : NULL;
	if (!p)
		return pol_pos_fail(c->err, &pos,
				    "unknown escape, expected one of \\b \\t \\n \\f \\r \\\" \\\\ "
				    "\\u \\U (a string in ' quotes has none)");
	b_str_addc(out, chars[p - names]);
	return 0;
}

struct quotes {
	const char *text; /* one, or three */
	bool is_multi, has_escapes;
};

/* Up to two quotes may stand before the three that end the string. */
static bool take_end(struct pol_cursor *c, const struct quotes *q, struct b_str *out)
{
	int quote = q->text[0];

	if (!pol_cursor_take(c, q->text))
		return false;
	for (int i = 0; q->is_multi && i < 2 && pol_cursor_peek(c, 0) == quote; i++)
		b_str_addc(out, (char)pol_cursor_next(c));
	return true;
}

static int string_body(struct pol_cursor *c, const struct quotes *q, const struct pol_pos *pos,
		       struct b_str *out)
{
	while (!take_end(c, q, out)) {
		int b = pol_cursor_peek(c, 0);
		bool is_break = b == '\n' || (b == '\r' && pol_cursor_peek(c, 1) == '\n');

		if (b < 0 || (is_break && !q->is_multi))
			return pol_pos_fail(c->err, pos, "a string without its end %s", q->text);
		if ((b < ' ' && b != '\t' && !is_break) || b == 0x7f)
			return pol_cursor_expected(c, "a character or an escape");
		if (b == '\\' && q->has_escapes) {
			if (escape(c, q->is_multi, out) < 0)
				return -1;
		} else {
			b_str_addc(out, (char)pol_cursor_next(c));
		}
	}
	return 0;
}

int pol_toml_string(struct pol_cursor *c, bool is_key, const struct pol_ynode **out)
{
	static const struct quotes kinds[] = {{"\"\"\"", true, true},
					      {"'''", true, false},
					      {"\"", false, true},
					      {"'", false, false}};
	b_auto(b_str_release) struct b_str s = {0};
	struct pol_pos pos = pol_cursor_pos(c);
	const struct quotes *q = kinds + (is_key ? 2 : 0);

	while (!pol_cursor_take(c, q->text))
		q++;
	if (q->is_multi && !pol_cursor_take(c, "\n"))
		(void)pol_cursor_take(c, "\r\n");
	if (string_body(c, q, &pos, &s) < 0)
		return -1;
	*out = pol_tree_scalar(c, POL_Y_STR, pos, &s);
	return *out ? 0 : -1;
}

/* ---- true, numbers, dates ---- */

static bool is_digit(int b)
{
	return b >= '0' && b <= '9';
}

/* Digits with single `_` between them; *out without those. */
static bool all_digits(const char *s, size_t n, struct b_str *out)
{
	if (n == 0 || s[0] == '_' || s[n - 1] == '_')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '_' && s[i - 1] == '_')
			return false;
		if (s[i] != '_' && !is_digit((unsigned char)s[i]))
			return false;
		if (s[i] != '_')
			b_str_addc(out, s[i]);
	}
	return true;
}

/* 0x1f, 0o17, 0b11, as a decimal number. */
static bool take_based(const char *s, struct b_str *out)
{
	static const struct {
		char letter;
		unsigned bits;
	} bases[] = {{'x', 4}, {'o', 3}, {'b', 1}};
	unsigned bits = 0;
	uint64_t v = 0;

	for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
		if (s[0] == '0' && s[1] == bases[i].letter)
			bits = bases[i].bits;
	if (!bits || !s[2] || s[2] == '_' || s[strlen(s) - 1] == '_')
		return false;
	for (s += 2; *s; s++) {
		unsigned d = is_digit((unsigned char)*s) ? (unsigned)(*s - '0')
							 : (unsigned)((*s | 32) - 'a' + 10);

		if (*s == '_' && s[1] != '_')
			continue;
		if (d >= 1u << bits || v >> (63 - bits))
			return false;
		v = v << bits | d;
	}
	b_str_add_u64(out, v);
	return true;
}

static bool take_decimal(const char *s, struct b_str *out)
{
	if (*s == '-' || *s == '+') {
		if (*s == '-')
			b_str_addc(out, '-');
		s++;
	}
	return !(s[0] == '0' && s[1]) && all_digits(s, strlen(s), out);
}

/* 1.5, 1e9, inf, nan; loosely: nothing here means one. */
static bool is_float(const char *s)
{
	bool has_point = false;

	s += *s == '-' || *s == '+';
	if (strcmp(s, "inf") == 0 || strcmp(s, "nan") == 0)
		return true;
	if (!is_digit((unsigned char)*s))
		return false;
	for (; *s; s++) {
		has_point |= *s == '.' || (*s | 32) == 'e';
		if (!is_digit((unsigned char)*s) && !strchr("._eE+-", *s))
			return false;
	}
	return has_point;
}

/* 2026-05-18, 09:30:00, both with T and a zone. */
static bool is_date(const char *s)
{
	return is_digit((unsigned char)s[0]) && is_digit((unsigned char)s[1]) &&
	       (strspn(s, "0123456789-:.TtZz+ ") == strlen(s)) &&
	       (strchr(s, '-') || strchr(s, ':'));
}

static void read_word(struct pol_cursor *c, struct b_str *out)
{
	for (;;) {
		int b = pol_cursor_peek(c, 0);
		bool is_space_of_date = b == ' ' && out->len == strlen("2026-05-18") &&
					out->s[4] == '-' && is_digit(pol_cursor_peek(c, 1));

		if (!pol_toml_is_bare(b) && b != '+' && b != '.' && b != ':' && !is_space_of_date)
			return;
		b_str_addc(out, (char)pol_cursor_next(c));
	}
}

int pol_toml_word(struct pol_cursor *c, const struct pol_ynode **out)
{
	b_auto(b_str_release) struct b_str s = {0}, number = {0};
	struct pol_pos pos = pol_cursor_pos(c);
	enum pol_ykind kind = POL_Y_FLOAT;
	const struct b_str *text = &s;

	read_word(c, &s);
	if (s.len == 0)
		return pol_cursor_expected(c, "a value");
	if (strcmp(s.s, "true") == 0 || strcmp(s.s, "false") == 0) {
		kind = POL_Y_BOOL;
	} else if (take_decimal(s.s, &number)) {
		kind = POL_Y_INT;
		text = &number;
	} else {
		b_str_reset(&number);
		if (take_based(s.s, &number)) {
			kind = POL_Y_INT;
			text = &number;
		} else if (!is_float(s.s) && !is_date(s.s)) {
			return pol_pos_fail(c->err, &pos,
					    "`%s` is no value, expected quotes around a string",
					    s.s);
		}
	}
	*out = pol_tree_scalar(c, kind, pos, text);
	return *out ? 0 : -1;
}
