/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and runs as rows: always JSON that a table can take, whatever a log says. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "audit/entry.h"
#include "audit/read_log.h"
#include "base/mem.h"
#include "base/str.h"
#include "ship/row.h"

static const struct ship_row_of of = {.host = "h", .run_id = "20261127T232401Z-1a2b3c", .batch = 5};

static json_t *row(const char *text, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(aud_entry_release) struct aud_entry e = {0};
	struct aud_line line = {.s = text, .len = n};
	json_error_t why;
	const char *bad;
	json_t *j;

	if (aud_entry_parse(&line, &e, &bad) == 0)
		ship_row_event(&of, 7, &line, &e, &out);
	else
		ship_row_unreadable(&of, 7, &line, &out);
	cr_assert_eq(strcspn(out.s, "\n"), out.len - 1, "one line");
	j = json_loadb(out.s, out.len, JSON_REJECT_DUPLICATES, &why);
	cr_assert_not_null(j, "%s: %s", why.text, out.s);
	return j;
}

static const char *text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static json_int_t number(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

#define ROW(s) row(s, sizeof(s) - 1)

Test(ship_row, an_event_has_its_key_its_time_and_its_line)
{
	static const char line[] =
		"{\"schemaVersion\":2,\"seq\":9,\"ts\":\"2026-11-27T23:24:01.000000042Z\","
		"\"kind\":\"denied\",\"op\":\"read\",\"path\":\"/home/u/.ssh/"
		"id\",\"allowed\":false,"
		"\"matched_rule\":\".ssh\",\"rule\":\"preset:secrets:3:5\",\"call\":\"openat\","
		"\"errno\":13,"
		"\"count\":4,\"pid\":7}";
	json_t *j = ROW(line);

	cr_assert_str_eq(text(j, "run_id"), of.run_id);
	cr_assert_eq(number(j, "no"), 7);
	cr_assert_eq(number(j, "batch"), 5);
	cr_assert_eq(number(j, "seq"), 9);
	cr_assert_str_eq(text(j, "ts"), "2026-11-27 23:24:01");
	cr_assert_eq(number(j, "ns"), 42);
	cr_assert_eq(number(j, "denied"), 1);
	cr_assert_eq(number(j, "n"), 4);
	cr_assert_str_eq(text(j, "line"), line);
	json_decref(j);
}

Test(ship_row, a_time_that_no_column_has_is_left_out)
{
	static const char *const times[] = {
		"9999-01-01T00:00:00.0Z", "0000-01-01T00:00:00Z", "x",
		"2026-11-27 23:24:01",	  "-026-11-27T23:24:01",  "2026-13-01T00:00:00Z",
		"2026-01-00T00:00:00Z",	  "2026-01-01T24:00:00Z"};

	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		char line[200];
		json_t *j;

		snprintf(line, sizeof line, "{\"schemaVersion\":2,\"kind\":\"gap\",\"ts\":\"%s\"}",
			 times[i]);
		j = row(line, strlen(line));
		cr_assert_null(json_object_get(j, "ts"), "%s", times[i]);
		json_decref(j);
	}
}

Test(ship_row, what_is_no_event_is_sent_as_it_is)
{
	json_t *j = ROW("{\"kind\":\xff\x01");

	cr_assert_str_eq(text(j, "kind"), "unreadable");
	cr_assert_str_eq(text(j, "line"), "{\"kind\":\xef\xbf\xbd\x01");
	json_decref(j);
}

Test(ship_row, bytes_of_a_path_that_are_no_text_are_escaped)
{
	json_t *j = ROW(
		"{\"schemaVersion\":2,\"kind\":\"denied\",\"op\":\"read\",\"path\":\"/a\\\\xff\","
		"\"path_b64\":\"L2H/\",\"allowed\":false,\"rule\":\"r\"}");

	cr_assert_str_eq(text(j, "path"), "/a\\xff");
	json_decref(j);
}

Test(ship_row, numbers_of_any_size_stay_numbers)
{
	json_t *j =
		ROW("{\"schemaVersion\":2,\"kind\":\"gap\",\"seq\":-5,\"lost\":1e300,\"pid\":-9}");

	cr_assert_eq(number(j, "seq"), 0);
	cr_assert(json_is_integer(json_object_get(j, "lost")));
	json_decref(j);
}
