/* lint.c - findings: kept, ordered, told. See lint.h. */
#include "policy/lint.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

const char *pol_lint_name(enum pol_lint_code code)
{
	static const char *const names[] = {
#define X(code, name) [POL_LINT_##code] = name,
		POL_LINTS(X)
#undef X
	};

	return names[code];
}

struct pol_finding *pol_lint_add(struct pol_lint *l, enum pol_lint_code code, const char *where,
				 const char *rule, const char *fmt, ...)
{
	b_auto(b_str_release) struct b_str text = {0};
	va_list ap;

	for (size_t i = 0; i < l->n; i++) {
		struct pol_finding *f = &l->v[i];

		if (f->code == code && strcmp(f->where, where) == 0 && strcmp(f->rule, rule) == 0) {
			f->seen++;
			return f;
		}
	}
	va_start(ap, fmt);
	b_str_addfv(&text, fmt, ap);
	va_end(ap);
	b_grow(l->v, l->n, l->cap);
	l->v[l->n] = (struct pol_finding){
		.code = code,
		.where = b_arena_strndup(&l->arena, where, strlen(where)),
		.rule = b_arena_strndup(&l->arena, rule, strlen(rule)),
		.text = b_arena_strndup(&l->arena, b_str_c(&text), text.len),
		.seen = 1,
	};
	return &l->v[l->n++];
}

void pol_lint_release(struct pol_lint *l)
{
	free(l->v);
	b_arena_release(&l->arena);
	*l = (struct pol_lint){.n = 0};
}

/* "file:line:col" apart; 0 where it is another kind of origin. */
struct place {
	size_t file; /* length of the name */
	unsigned long line, col;
};

static struct place place_of(const char *where)
{
	struct place none = {strlen(where), 0, 0}, p = none;
	size_t end = none.file;

	for (int part = 0; part < 2; part++) {
		unsigned long value = 0, unit = 1;
		size_t i = end;

		while (i > 0 && where[i - 1] >= '0' && where[i - 1] <= '9' && end - i < 9) {
			value += unit * (unsigned long)(where[--i] - '0');
			unit *= 10;
		}
		if (i == end || i == 0 || where[i - 1] != ':')
			return none;
		end = i - 1;
		*(part == 0 ? &p.col : &p.line) = value;
	}
	p.file = end;
	return p;
}

static int by_place(const void *a, const void *b)
{
	const struct pol_finding *x = a, *y = b;
	struct place p = place_of(x->where), q = place_of(y->where);
	int c = strncmp(x->where, y->where, p.file > q.file ? p.file : q.file);

	if (c == 0 || (p.file == q.file && memcmp(x->where, y->where, p.file) == 0)) {
		if (p.line != q.line)
			return p.line < q.line ? -1 : 1;
		if (p.col != q.col)
			return p.col < q.col ? -1 : 1;
		if (x->code != y->code)
			return x->code < y->code ? -1 : 1;
		return strcmp(x->rule, y->rule);
	}
	return c;
}

static void sort(struct pol_lint *l)
{
	if (l->n > 1)
		qsort(l->v, l->n, sizeof *l->v, by_place);
}

void pol_lint_text(struct pol_lint *l, struct b_str *out)
{
	sort(l);
	for (size_t i = 0; i < l->n; i++) {
		const struct pol_finding *f = &l->v[i];

		b_str_add_visible(out, f->where, strlen(f->where));
		b_str_add(out, ": ");
		b_str_add_visible(out, f->text, strlen(f->text));
		b_str_addf(out, " [%s]\n", pol_lint_name(f->code));
	}
}

void pol_lint_json(struct pol_lint *l, struct b_str *out)
{
	struct b_json j = {.out = out};

	sort(l);
	b_json_open(&j, '[');
	for (size_t i = 0; i < l->n; i++) {
		const struct pol_finding *f = &l->v[i];
		struct place p = place_of(f->where);

		b_json_open(&j, '{');
		b_json_bytes(&j, "file", f->where, p.file);
		b_json_key(&j, "line");
		b_json_u64(&j, p.line);
		b_json_key(&j, "column");
		b_json_u64(&j, p.col);
		b_json_key(&j, "code");
		b_json_str(&j, pol_lint_name(f->code));
		b_json_bytes(&j, "rule", f->rule, strlen(f->rule));
		b_json_bytes(&j, "message", f->text, strlen(f->text));
		b_json_close(&j, '}');
	}
	b_json_close(&j, ']');
	b_str_addc(out, '\n');
}
