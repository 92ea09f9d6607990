/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of tests/support/tsv.c: a reader that misread rows would make other tests lie. */
#include "tests/support/tsv.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

static char path[] = "/tmp/test-tsv-XXXXXX";

static void make(void)
{
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
}

static void drop(void)
{
	unlink(path);
}

TestSuite(support_tsv, .init = make, .fini = drop);

static struct tsv *load(const char *text)
{
	cr_assert_eq(b_write_file(path, 0600, text, strlen(text), false, NULL), 0);
	return tsv_load(path);
}

static struct tsv *sample(void)
{
	return load("#id\trule\tmatch_seed\tmatch_head\targs(json)\targs_note\n"
		    "x-1\t\tF\tT\t[\"a b\", 2]\t\n"
		    "x-2\ta\\\\b\\tc\\nd\\re\\\\n\tT\tmaybe\tnull\tlast");
}

Test(support_tsv, rows_and_cells)
{
	struct tsv *t = sample();

	cr_assert_eq(t->n_columns, 6);
	cr_expect_str_eq(t->columns[0], "id");
	cr_expect_str_eq(t->columns[5], "args_note");
	cr_assert_eq(t->n_rows, 2);
	cr_expect_str_eq(t->rows[0].cells[0], "x-1");
	cr_expect_str_eq(tsv_cell(&t->rows[0], "rule"), "", "an empty cell");
	cr_expect_str_eq(tsv_cell(&t->rows[0], "args_note"), "", "an empty cell at the end");
	cr_expect_str_eq(tsv_cell(&t->rows[1], "args_note"), "last", "no newline at the end");
	tsv_free(t);
	tsv_free(NULL);
}

Test(support_tsv, escapes_are_read_once_from_left_to_right)
{
	struct tsv *t = sample();

	cr_expect_str_eq(tsv_cell(&t->rows[1], "rule"), "a\\b\tc\nd\re\\n");
	tsv_free(t);
}

Test(support_tsv, columns_are_found_by_name_word_and_start)
{
	struct tsv *t = sample();

	cr_expect_str_eq(tsv_cell(&t->rows[0], "match_h"), "T");
	cr_expect_str_eq(tsv_cell(&t->rows[1], "args"), "null", "the word goes before the prefix");
	cr_expect_str_eq(tsv_cell(&t->rows[1], "args(json)"), "null");
	cr_expect_str_eq(tsv_cell(&t->rows[1], "id"), "x-2");
	tsv_free(t);
}

Test(support_tsv, truth_and_json)
{
	struct tsv *t = sample();
	json_t *list = tsv_json(&t->rows[0], "args"), *null = tsv_json(&t->rows[1], "args");

	cr_expect(tsv_is_true(&t->rows[0], "match_head"));
	cr_expect_not(tsv_is_true(&t->rows[0], "match_seed"));
	cr_assert_eq(json_array_size(list), 2);
	cr_expect_str_eq(json_string_value(json_array_get(list, 0)), "a b");
	cr_expect_eq(json_integer_value(json_array_get(list, 1)), 2);
	cr_expect(json_is_null(null));
	json_decref(list);
	json_decref(null);
	tsv_free(t);
}

/* What cannot be understood ends the process, so that no test passes on it. The child's stderr
 * comes back through a pipe. */
static void expect_death(const char *text, void (*act)(const struct tsv_row *), const char *message)
{
	char said[512];
	int fds[2], status;
	pid_t pid;

	cr_assert_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		struct rlimit no_core = {0};
		struct tsv *t;

		setrlimit(RLIMIT_CORE, &no_core);
		dup2(fds[1], STDERR_FILENO);
		close(fds[1]);
		t = load(text);
		if (act)
			act(&t->rows[0]);
		_exit(0);
	}
	close(fds[1]);
	ssize_t n = b_read_full(fds[0], said, sizeof said - 1);
	cr_assert_geq(n, 0);
	said[n] = '\0';
	close(fds[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %#x for `%s`", status,
		  text);
	cr_expect_not_null(strstr(said, message), "said `%s` for `%s`", said, text);
}

Test(support_tsv, bad_files_end_the_process)
{
	static const char *const rows[][2] = {
		{"", ":1: no header"},
		{"id\tx\n1\t2\n", ":1: no header"},
		{"#id\tx\n", ":2: no rows"},
		{"#id\tx\n1\t2\n2\n", ":3: 1 cells, the header has 2"},
		{"#id\tx\n1\t2\t3\n", ":2: 3 cells, the header has 2"},
		{"#id\tx\n1\t2\n\n3\t4\n", ":3: 1 cells"},
		{"#id\tx\n\t2\n", ":2: row without an id"},
		{"#id\tx\n1\t2\n2\t2\n1\t3\n", ":4: id `1` stands in line 2 already"},
		{"#id\tx\n1\ta\\x\n", ":2: unknown escape `\\x`"},
		{"#id\tx\n1\ta\\\n", ":2: unknown escape `\\`"},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_death(rows[i][0], NULL, rows[i][1]);
}

static void ask_missing(const struct tsv_row *row)
{
	tsv_cell(row, "colour");
}

static void ask_shared(const struct tsv_row *row)
{
	tsv_cell(row, "match");
}

static void ask_truth(const struct tsv_row *row)
{
	tsv_is_true(row, "match_seed");
}

static void ask_json(const struct tsv_row *row)
{
	json_decref(tsv_json(row, "list"));
}

Test(support_tsv, bad_questions_end_the_process)
{
	static const char text[] = "#id\tmatch_seed\tmatch_head\tlist\n1\tmaybe\tT\t[1\n";

	expect_death(text, ask_missing, ":1: no column `colour`");
	expect_death(text, ask_shared, ":1: more than one column `match`");
	expect_death(text, ask_truth, ":2: `match_seed` is `maybe`, not T or F");
	expect_death(text, ask_json, ":2: `list` is not JSON: ");
}

Test(support_tsv, a_missing_file_ends_the_process, .signal = SIGABRT)
{
	struct rlimit no_core = {0};

	drop();
	setrlimit(RLIMIT_CORE, &no_core);
	cr_redirect_stderr();
	tsv_load(path);
}
