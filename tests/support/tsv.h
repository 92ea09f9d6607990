/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsv.h - the reader of conformance rows (tests/vectors).
 *
 *	struct tsv *t = tsv_load("tests/vectors/glob.tsv");
 *	for (size_t i = 0; i < t->n_rows; i++) {
 *		const struct tsv_row *row = &t->rows[i];
 *		cr_expect_eq(match(tsv_cell(row, "rule"), tsv_cell(row, "path_raw")),
 *			     tsv_is_true(row, "match_head"), "%s", row->cells[0]);
 *	}
 *	tsv_free(t);
 *
 * The format: one row a line, cells parted by tabs. The first line starts with # and names the
 * columns; every row has as many cells, the first is its id and unique. Inside a cell `\\`, `\t`,
 * `\n`, `\r` stand for one backslash, tab, newline, carriage return; any other backslash is an
 * error. A test must not pass on rows it did not understand: what is wrong with a file, a column
 * or a cell is said on stderr and ends the process by abort().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

struct tsv_row {
	const struct tsv *file;
	char **cells; /* file->n_columns of them, unescaped; cells[0] is the id */
};

struct tsv {
	char *path;
	char **columns; /* as the header spells them, without the # */
	size_t n_columns;
	struct tsv_row *rows;
	size_t n_rows; /* at least one */
	char *text;    /* what all of the above point into */
};

/* The whole file. To be freed by tsv_free(). */
struct tsv *tsv_load(const char *path);
void tsv_free(struct tsv *);

/* The cell of a column, by its name or the start of its name: "args" finds `args(json)`.
 * A whole name, then a name up to its `(` or blank, goes before a mere prefix; a prefix that
 * two columns share is an error. Borrowed from the file. */
const char *tsv_cell(const struct tsv_row *row, const char *column);
/* A cell that must be T or F. */
bool tsv_is_true(const struct tsv_row *row, const char *column);
/* A cell that must be JSON of any kind; a new reference. */
json_t *tsv_json(const struct tsv_row *row, const char *column);
