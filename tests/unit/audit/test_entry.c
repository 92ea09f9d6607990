/* SPDX-License-Identifier: Apache-2.0 */
/* Reading lines back: limits, garbage, filters. */
#include "audit/read_log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

static struct aud_entry entry(const char *json)
{
	struct aud_line line = {.s = json, .len = strlen(json)};
	struct aud_entry e = {0};
	const char *why = "";

	cr_assert_eq(aud_entry_parse(&line, &e, &why), 0, "%s: %s", why, json);
	return e;
}

static bool matches(struct aud_filter f, const char *json)
{
	static const char *const ws[] = {"/ws", "/other"};
	struct aud_entry e = entry(json);
	bool yes;

	f.workspaces = ws;
	f.nworkspaces = 2;
	yes = aud_filter_match(&f, &e);
	aud_entry_release(&e);
	return yes;
}

#define ANY .op = -1, .verdict = AUD_ANY_VERDICT, .pid = -1

static bool glob(const char *g, const char *path)
{
	char json[256];

	snprintf(json, sizeof json, "{\"kind\":\"result\",\"path\":\"%s\"}", path);
	return matches((struct aud_filter){ANY, .globs = &g, .nglobs = 1}, json);
}

Test(audit_entry, globs_are_asked_of_the_shown_and_the_absolute_path)
{
	cr_assert(glob("src/**", "./src/a.c"));
	cr_assert(glob("./src/*.c", "./src/a.c"));
	cr_assert(glob("/ws/src/*", "./src/a.c"));
	cr_assert(glob("/other/src/*", "./src/a.c"));
	cr_assert(glob("**/a.c", "./src/a.c"));
	cr_assert(glob("**/id", "/home/u/.ssh/id"));
	cr_assert(glob("/home/**", "/home/u/.ssh/id"));
	cr_assert(glob(".", "."));
	cr_assert(glob("/ws", "."));
	cr_assert(glob("**/ws/**", "./src/a.c"));
	cr_assert(glob("/ws/**/?.c", "./src/a.c"));
	cr_assert(glob("**/src/**", "./src/a.c"));
	cr_assert(glob("**/a.c", "./a.c"));
	cr_assert_not(glob("**/sra/**", "./src/a.c"));
	cr_assert_not(glob("**/b.c", "./src/a.c"));
	cr_assert_not(glob("src/*", "./src/a/b"));
	cr_assert_not(glob("home/**", "/home/u/.ssh/id"));
	cr_assert_not(glob("/etc/**", "./etc/x"));
	cr_assert_not(glob("src", "..src"));
	cr_assert_not(glob("**", ""));
}

Test(audit_entry, the_root_directory_may_be_the_workspace)
{
	static const char *const ws[] = {"/"};
	static const struct {
		const char *glob, *path;
		bool matches;
	} t[] = {{"/etc/*", "./etc/x", true},
		 {"**/x", "./etc/x", true},
		 {"/", ".", true},
		 {"/etc/*", "./usr/x", false}};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		char json[64];
		struct aud_entry e = {0};

		snprintf(json, sizeof json, "{\"kind\":\"result\",\"path\":\"%s\"}", t[i].path);
		e = entry(json);
		cr_expect_eq(
			aud_filter_match(&(struct aud_filter){ANY, .globs = &t[i].glob, .nglobs = 1,
							      .workspaces = ws, .nworkspaces = 1},
					 &e),
			t[i].matches, "%s %s", t[i].glob, t[i].path);
		aud_entry_release(&e);
	}
}

Test(audit_entry, exact_bytes_are_matched_not_their_escapes)
{
	const char *json =
		"{\"kind\":\"denied\",\"path\":\"/t/\\\\xff\",\"path_b64\":\"L3Qv/w==\"}";
	const char *one = "/t/?", *four = "/t/????";

	cr_assert(matches((struct aud_filter){ANY, .globs = &one, .nglobs = 1}, json));
	cr_assert_not(matches((struct aud_filter){ANY, .globs = &four, .nglobs = 1}, json));
}

Test(audit_entry, what_is_no_base64_or_hides_a_nul_is_not_decoded)
{
	struct aud_entry e = entry("{\"kind\":\"x\",\"path\":\"p\",\"path_b64\":\"L3QA\"}");

	cr_assert_str_eq(e.path, "p");
	aud_entry_release(&e);
	e = entry("{\"kind\":\"x\",\"path\":\"p\",\"path_b64\":\"L3!A\"}");
	cr_assert_str_eq(e.path, "p");
	aud_entry_release(&e);
}

Test(audit_entry, filters_hold_together)
{
	const char *json = "{\"kind\":\"denied\",\"op\":\"read\",\"allowed\":false,\"pid\":7,"
			   "\"path\":\"/a\"}";
	const char *done = "{\"kind\":\"result\",\"op\":\"read\",\"allowed\":false,"
			   "\"shim_disagrees\":true,\"path\":\"/a\"}";
	const char *hello = "{\"kind\":\"hello\",\"pid\":7,\"path\":\"/a\"}";

	cr_assert(matches((struct aud_filter){ANY}, json));
	cr_assert(matches(
		(struct aud_filter){
			.op = SBX_READ, .verdict = AUD_ONLY_DENIED, .pid = 7, .kind = "denied"},
		json));
	cr_assert_not(matches((struct aud_filter){.op = SBX_EXEC, .verdict = -1, .pid = -1}, json));
	cr_assert_not(matches((struct aud_filter){.op = -1, .verdict = AUD_ONLY_ALLOWED, .pid = -1},
			      json));
	cr_assert_not(matches((struct aud_filter){.op = -1, .verdict = -1, .pid = 8}, json));
	cr_assert_not(matches((struct aud_filter){ANY, .kind = "result"}, json));
	cr_assert(
		matches((struct aud_filter){.op = -1, .verdict = AUD_ONLY_DENIED, .pid = -1}, done),
		"what the policy denies and a process did is found among the denied");
	cr_assert_not(matches((struct aud_filter){.op = -1, .verdict = AUD_ONLY_ALLOWED, .pid = -1},
			      hello));
}

Test(audit_entry, what_is_no_event_is_refused_with_a_reason)
{
	static const char *const bad[] = {"",
					  "[]",
					  "{",
					  "{}",
					  "null",
					  "\"x\"",
					  "{\"kind\":1}",
					  "{\"kind\":\"a\"} {}",
					  "{\"kind\":\"a\",\"kind\":\"b\"}"};
	const char *why;
	struct aud_entry e = {0};
	size_t i;

	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct aud_line line = {.s = bad[i], .len = strlen(bad[i])};

		why = NULL;
		cr_assert_eq(aud_entry_parse(&line, &e, &why), -1, "%s", bad[i]);
		cr_assert_not_null(why);
	}
}

Test(audit_entry, values_of_the_wrong_type_are_as_good_as_absent)
{
	struct aud_entry e = entry("{\"kind\":\"denied\",\"path\":3,\"op\":[],\"pid\":\"x\","
				   "\"count\":-4,\"allowed\":\"no\"}");

	cr_assert_str_eq(e.path, "");
	cr_assert_str_eq(e.op, "");
	cr_assert_eq(e.pid, 0);
	cr_assert_eq(e.count, 1);
	cr_assert_not(e.has_verdict);
	aud_entry_release(&e);
}

static char name[64];

static void write_file(const char *text, size_t n, size_t times)
{
	int fd;

	strcpy(name, "/tmp/sbx-lines-XXXXXX");
	fd = mkostemp(name, O_CLOEXEC);
	cr_assert_geq(fd, 0);
	while (times--)
		cr_assert_eq(write(fd, text, n), (ssize_t)n);
	close(fd);
}

static void remove_file(void)
{
	unlink(name);
}

Test(audit_entry, lines_are_given_out_one_by_one, .fini = remove_file)
{
	struct aud_lines l;
	struct aud_line line;
	struct b_err err;
	uint64_t n = 0;

	write_file("a line of some length\n", 22, 50000); /* many buffers full */
	cr_assert_eq(aud_lines_open(&l, name, &err), 0);
	while (aud_lines_next(&l, &line, &err) == 1) {
		n++;
		cr_assert_eq(l.number, n);
		cr_assert_eq(line.len, 21);
		cr_assert_eq(memcmp(line.s, "a line of some length", 21), 0);
		cr_assert_not(line.torn || line.too_long);
	}
	cr_assert_eq(n, 50000);
	aud_lines_release(&l);
}

Test(audit_entry, a_line_longer_than_any_is_passed_over_and_the_next_one_read, .fini = remove_file)
{
	static char text[3 * AUD_LINE_MAX];
	struct aud_lines l;
	struct aud_line line;
	struct b_err err;

	memset(text, 'x', sizeof text);
	text[sizeof text - 6] = '\n';
	memcpy(text + sizeof text - 5, "next\n", 5);
	write_file(text, sizeof text, 1);
	cr_assert_eq(aud_lines_open(&l, name, &err), 0);
	cr_assert_eq(aud_lines_next(&l, &line, &err), 1);
	cr_assert(line.too_long);
	cr_assert_eq(aud_lines_next(&l, &line, &err), 1);
	cr_assert_eq(line.len, 4);
	cr_assert_eq(l.number, 2);
	cr_assert_eq(aud_lines_next(&l, &line, &err), 0);
	aud_lines_release(&l);
}

Test(audit_entry, a_torn_last_line_is_told, .fini = remove_file)
{
	struct aud_lines l;
	struct aud_line line;
	struct b_err err;

	write_file("one\ntw", 6, 1);
	cr_assert_eq(aud_lines_open(&l, name, &err), 0);
	cr_assert_eq(aud_lines_next(&l, &line, &err), 1);
	cr_assert_not(line.torn);
	cr_assert_eq(aud_lines_next(&l, &line, &err), 1);
	cr_assert(line.torn);
	cr_assert_eq(line.len, 2);
	cr_assert_eq(aud_lines_next(&l, &line, &err), 0);
	aud_lines_release(&l);
}

Test(audit_entry, a_fifo_or_a_directory_is_no_log)
{
	struct aud_lines l;
	struct b_err err;
	char fifo[] = "/tmp/sbx-fifo-XXXXXX";

	cr_assert_eq(aud_lines_open(&l, "/tmp", &err), -1);
	cr_assert_not_null(mkdtemp(fifo));
	rmdir(fifo);
	cr_assert_eq(mkfifo(fifo, 0600), 0);
	cr_assert_eq(aud_lines_open(&l, fifo, &err), -1);
	unlink(fifo);
}

Test(audit_entry, numbers_beyond_any_integer_are_held_to_it)
{
	struct aud_entry e = entry("{\"kind\":\"gap\",\"pid\":7,\"lost\":18446744073709551615}");

	cr_assert_eq(e.lost, INT64_MAX);
	cr_assert_eq(e.pid, 7);
	aud_entry_release(&e);
}
