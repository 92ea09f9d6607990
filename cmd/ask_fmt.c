/* ask_fmt.c - sbx-policy fmt: documents in their usual shape; schema: what they may contain. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/format.h"
#include "policy/front/dialect.h"
#include "policy/model.h"
#include "policy/schema.h"

static int read_stdin(struct b_str *out, struct b_err *err)
{
	ssize_t n = b_read_full(STDIN_FILENO, b_str_room(out, POL_MAX_FILE + 1), POL_MAX_FILE + 1);

	if (n < 0)
		return b_fail(err, B_SYSTEM, errno, "standard input: %s", strerror(errno));
	if (n > (ssize_t)POL_MAX_FILE)
		return b_fail(err, B_LIMIT, 0, "standard input: larger than %u bytes",
			      POL_MAX_FILE);
	b_str_advance(out, (size_t)n);
	return 0;
}

/* In place of the file, with its mode. */
static int replace(const char *file, const struct b_str *text, struct b_err *err)
{
	struct stat st;
	unsigned mode;

	if (stat(file, &st) < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", file, strerror(errno));
	mode = st.st_mode & 07777;
	return b_replace_file(file, &mode, b_str_c(text), text->len, err);
}

static int format_file(const struct ask_opts *o, const char *file, bool *all_same,
		       struct b_str *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str before = {0}, after = {0};
	bool is_stdin = strcmp(file, "-") == 0, is_same;
	enum pol_dialect dialect;

	if ((is_stdin ? read_stdin(&before, err) : b_read_file(file, POL_MAX_FILE, &before, err)) <
	    0)
		return -1;
	dialect = pol_front_guess(b_str_c(&before), before.len);
	if (dialect != POL_DIALECT_auto)
		return b_fail(err, B_USAGE, 0, "%s: a document of %s, expected YAML",
			      is_stdin ? "standard input" : file, pol_dialect_name(dialect));
	if (pol_format(is_stdin ? "standard input" : file, b_str_c(&before), before.len, &after,
		       err) < 0)
		return -1;
	is_same = before.len == after.len && memcmp(before.s, after.s, after.len) == 0;
	if (o->check_only && !is_same) {
		*all_same = false;
		b_str_add_visible(out, file, strlen(file));
		b_str_add(out, ": not formatted\n");
	}
	if (o->check_only)
		return 0;
	if (o->write && !is_stdin)
		return is_same ? 0 : replace(file, &after, err);
	b_str_addn(out, b_str_c(&after), after.len);
	return 0;
}

int ask_fmt(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	bool all_same = true;
	struct b_err err;

	if (n == 0 || (n > 1 && !o->write && !o->check_only)) {
		b_fail(&err, B_USAGE, 0,
		       "fmt: expected sbx-policy fmt FILE, or -w or --check and files");
		return ask_trouble(&err);
	}
	for (size_t i = 0; i < n; i++)
		if (format_file(o, words[i], &all_same, &out, &err) < 0) {
			(void)ask_print(&out, NO);
			return ask_trouble(&err);
		}
	return ask_print(&out, all_same ? YES : NO);
}

int ask_schema(struct ask_opts *o, char const *const *words, size_t n)
{
	const char *name = n > 0 ? words[0] : "policy";
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;

	(void)o;
	for (size_t i = 0; n <= 1 && i < pol_nschemas; i++) {
		if (strcmp(pol_schemas[i].name, name) == 0) {
			b_str_add(&out, pol_schemas[i].text);
			return ask_print(&out, YES);
		}
	}
	b_fail(&err, B_USAGE, 0,
	       "schema: expected sbx-policy schema [policy | exec-result | fs-call-event | run]");
	return ask_trouble(&err);
}
