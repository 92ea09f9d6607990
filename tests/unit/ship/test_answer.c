/* SPDX-License-Identifier: Apache-2.0 */
/* What a server's answer means, and what is kept and shown of one that is hostile. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "ship/answer.h"

#define HEAD(h, s) ship_hear_head(h, s, sizeof(s) - 1)

Test(ship_answer, a_yes_is_a_status_and_the_absence_of_an_exception)
{
	static const struct {
		long status;
		const char *head, *body;
		enum ship_outcome wanted;
	} rows[] = {
		{200, "X: y\r\n", "", SHIP_ACKNOWLEDGED},
		{204, "X: y\r\n", "fine", SHIP_ACKNOWLEDGED},
		{200, "x-clickhouse-exception-code: 241\r\n", "", SHIP_LATER},
		{200, "X: y\r\n", "Code: 241. DB::Exception: x", SHIP_LATER},
		{205, "X: y\r\n", "", SHIP_REFUSED},
		{307, "X: y\r\n", "", SHIP_REFUSED},
		{400, "X: y\r\n", "Code: 27. DB::Exception: x", SHIP_REFUSED},
		{408, "X: y\r\n", "", SHIP_LATER},
		{425, "X: y\r\n", "", SHIP_LATER},
		{429, "X: y\r\n", "", SHIP_LATER},
		{503, "X: y\r\n", "", SHIP_LATER},
		{0, "X: y\r\n", "", SHIP_REFUSED},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(ship_heard_release) struct ship_heard h = {0};
		struct ship_answer a;

		cr_assert(ship_hear_head(&h, rows[i].head, strlen(rows[i].head)));
		cr_assert(ship_hear_body(&h, rows[i].body, strlen(rows[i].body)));
		ship_judge(&h, rows[i].status, &a);
		cr_assert_eq(a.outcome, rows[i].wanted, "row %zu", i);
	}
}

Test(ship_answer, a_server_may_ask_for_a_pause_of_five_minutes)
{
	static const struct {
		const char *line;
		uint64_t ms;
	} rows[] = {{"Retry-After: 30\r\n", 30000},
		    {"retry-after:  300\r\n", 300000},
		    {"Retry-After: 301\r\n", 0},
		    {"Retry-After: -1\r\n", 0},
		    {"Retry-After: 1e3\r\n", 0},
		    {"Retry-After:", 0},
		    {"Retry-After: 99999999999999999999999\r\n", 0},
		    {"Retry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n", 0}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(ship_heard_release) struct ship_heard h = {0};
		struct ship_answer a;

		cr_assert(ship_hear_head(&h, rows[i].line, strlen(rows[i].line)));
		ship_judge(&h, 503, &a);
		cr_assert_eq(a.wait_ms, rows[i].ms, "%s", rows[i].line);
	}
}

Test(ship_answer, so_much_is_read_and_the_next_one_begins_anew)
{
	b_auto(ship_heard_release) struct ship_heard h = {0};
	static char big[SHIP_ANSWER_MAX + 1];
	struct ship_answer a;

	memset(big, 'x', sizeof big);
	cr_assert_not(ship_hear_body(&h, big, sizeof big));
	cr_assert(ship_hear_body(&h, big, sizeof big - 1));
	cr_assert_not(ship_hear_body(&h, big, 1));
	cr_assert_not(ship_hear_head(&h, big, sizeof big));
	cr_assert(HEAD(&h, "X-ClickHouse-Exception-Code: 1\r\nX"));
	cr_assert_not(ship_hear_head(&h, big, SHIP_ANSWER_MAX - 5));
	ship_heard_reset(&h);
	ship_judge(&h, 200, &a);
	cr_assert_eq(a.outcome, SHIP_ACKNOWLEDGED);
}

Test(ship_answer, what_is_shown_is_one_line_of_text)
{
	b_auto(ship_heard_release) struct ship_heard h = {0};
	static const char body[] = "Code: 27\x1b[2J\x80\r\nnext";
	struct ship_answer a;

	cr_assert(ship_hear_body(&h, body, sizeof body - 1));
	ship_judge(&h, 400, &a);
	cr_assert_str_eq(a.text, "HTTP status 400: Code: 27\\x1b[2J\\x80");
}
