/* SPDX-License-Identifier: Apache-2.0 */
/* tsv.c - see tsv.h. */
#include "tests/support/tsv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

enum { FILE_MAX = 8 * 1024 * 1024 };

__attribute__((format(printf, 3, 4))) static _Noreturn void die(const char *path, size_t line,
								const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%zu: ", path, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

/* Row i stands on line i + 2: no line is empty and none is a comment. */
static size_t line_of(const struct tsv_row *row)
{
	return (size_t)(row - row->file->rows) + 2;
}

/* In place, since the text only gets shorter. */
static void unescape(char *cell, const char *path, size_t line)
{
	static const char letter[] = "\\tnr", byte[] = "\\\t\n\r";
	char *to = cell;

	for (; *cell; cell++) {
		const char *known;

		if (*cell != '\\') {
			*to++ = *cell;
			continue;
		}
		known = *++cell ? strchr(letter, *cell) : NULL;
		if (!known)
			die(path, line, "unknown escape `\\%.1s`", cell);
		*to++ = byte[known - letter];
	}
	*to = '\0';
}

/* Cuts a line at its tabs; gives the cells. */
static char **split(char *line, size_t *out_n)
{
	char **v = NULL;
	size_t n = 0, cap = 0;

	for (;;) {
		b_grow(v, n, cap);
		v[n++] = line;
		line = strchr(line, '\t');
		if (!line)
			break;
		*line++ = '\0';
	}
	*out_n = n;
	return v;
}

static void check_id(const struct tsv *t, const char *id, size_t line)
{
	size_t i;

	if (!*id)
		die(t->path, line, "row without an id");
	for (i = 0; i < t->n_rows; i++)
		if (strcmp(t->rows[i].cells[0], id) == 0)
			die(t->path, line, "id `%s` stands in line %zu already", id, i + 2);
}

static char **split_row(const struct tsv *t, char *text, size_t line)
{
	size_t n, i;
	char **cells = split(text, &n);

	if (n != t->n_columns)
		die(t->path, line, "%zu cells, the header has %zu", n, t->n_columns);
	for (i = 0; i < n; i++)
		unescape(cells[i], t->path, line);
	check_id(t, cells[0], line);
	return cells;
}

/* The line at *next without its newline; moves *next behind it. */
static char *take_line(char **next)
{
	char *line = *next, *end = strchr(line, '\n');

	*next = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

struct tsv *tsv_load(const char *path)
{
	struct tsv *t = b_calloc(1, sizeof *t);
	struct b_str text = {0};
	struct b_err err;
	size_t cap = 0, line;
	char *next;

	t->path = b_strdup(path);
	if (b_read_file(path, FILE_MAX, &text, &err) < 0)
		die(path, 0, "%s", err.msg);
	if (strlen(b_str_c(&text)) != text.len)
		die(path, 0, "holds a NUL byte");
	next = t->text = b_str_take(&text);
	if (*next != '#')
		die(path, 1, "no header: the first line must start with #");
	t->columns = split(take_line(&next) + 1, &t->n_columns);
	for (line = 2; *next; line++) {
		char **cells = split_row(t, take_line(&next), line);

		b_grow(t->rows, t->n_rows, cap);
		t->rows[t->n_rows++] = (struct tsv_row){t, cells};
	}
	if (!t->n_rows)
		die(path, 2, "no rows");
	return t;
}

void tsv_free(struct tsv *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->n_rows; i++)
		free(t->rows[i].cells);
	free(t->rows);
	free(t->columns);
	free(t->text);
	free(t->path);
	free(t);
}

/* How well a column's name answers to what was asked for; 0 = not. */
static int likeness(const char *name, const char *asked)
{
	size_t n = strlen(asked);

	if (strncmp(name, asked, n) != 0)
		return 0;
	if (!name[n])
		return 3;
	return name[n] == '(' || name[n] == ' ' ? 2 : 1;
}

static size_t find_column(const struct tsv_row *row, const char *asked)
{
	const struct tsv *t = row->file;
	size_t i, found = 0;
	int best = 0;
	bool is_shared = false;

	for (i = 0; i < t->n_columns; i++) {
		int like = likeness(t->columns[i], asked);

		if (!like || like < best)
			continue;
		is_shared = like == best;
		best = like;
		found = i;
	}
	if (!best)
		die(t->path, 1, "no column `%s`", asked);
	if (is_shared)
		die(t->path, 1, "more than one column `%s`", asked);
	return found;
}

const char *tsv_cell(const struct tsv_row *row, const char *column)
{
	return row->cells[find_column(row, column)];
}

bool tsv_is_true(const struct tsv_row *row, const char *column)
{
	const char *cell = tsv_cell(row, column);

	if (strcmp(cell, "T") != 0 && strcmp(cell, "F") != 0)
		die(row->file->path, line_of(row), "`%s` is `%s`, not T or F", column, cell);
	return *cell == 'T';
}

json_t *tsv_json(const struct tsv_row *row, const char *column)
{
	json_error_t why;
	json_t *value = json_loads(tsv_cell(row, column), JSON_DECODE_ANY, &why);

	if (!value)
		die(row->file->path, line_of(row), "`%s` is not JSON: %s", column, why.text);
	return value;
}
