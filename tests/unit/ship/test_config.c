/* SPDX-License-Identifier: Apache-2.0 */
/* Where the record may be sent, and what is known of it afterwards. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "ship/config.h"
#include "ship/state.h"

static struct ship_config config(const char *to)
{
	return (struct ship_config){.to = to,
				    .name = "default",
				    .database = "sbx",
				    .interval_ms = 1000,
				    .timeout_ms = 1000};
}

Test(ship_config, addresses_that_say_too_much_or_nothing_are_refused)
{
	static const char *const bad[] = {"ftp://h/",
					  "https://",
					  "https:///x",
					  "https://?x",
					  "h:8443",
					  "http://h",
					  "https://u@h/",
					  "https://u:p@h",
					  "https://h/?user=x",
					  "https://h/?a=1&PassWord=x",
					  "https://h/?query=DROP",
					  "https://h/ x",
					  "https://h/#x",
					  "https://h/\n",
					  "https://h/?token=1"};
	static const char *const good[] = {"https://h", "https://h/", "HTTPS://h:8443/x@y",
					   "https://h/?a=b@c", "https://h?users=1"};
	struct b_err err;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct ship_config c = config(bad[i]);

		cr_assert_eq(ship_config_check(&c, &err), -1, "%s", bad[i]);
		cr_assert_eq(err.kind, B_USAGE);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct ship_config c = config(good[i]);

		cr_assert_eq(ship_config_check(&c, &err), 0, "%s: %s", good[i], err.msg);
	}
}

Test(ship_config, names_stay_names)
{
	struct ship_config c = config("https://h");
	struct b_err err;

	c.database = "a&query=x";
	cr_assert_eq(ship_config_check(&c, &err), -1);
	c.database = "";
	cr_assert_eq(ship_config_check(&c, &err), -1);
	c.database = "sbx_2";
	cr_assert_eq(ship_config_check(&c, &err), 0);
	c.name = "../x";
	cr_assert_eq(ship_config_check(&c, &err), -1);
}

Test(ship_config, the_statement_goes_behind_what_the_address_says)
{
	static const char *const rows[][2] = {{"https://h", "https://h/?"},
					      {"https://h/p", "https://h/p?"},
					      {"https://h/?x=1", "https://h/?x=1&"},
					      {"https://h/?", "https://h/?"}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(b_str_release) struct b_str url = {0}, want = {0};
		struct ship_config c = config(rows[i][0]);

		b_str_addf(&want,
			   "%sdatabase=sbx&query=INSERT%%20INTO%%20runs%%20FORMAT%%20JSONEachRow",
			   rows[i][1]);
		ship_config_url(&c, SHIP_RUNS, &url);
		cr_assert_str_eq(url.s, want.s);
	}
}

static void put(const char *path, const char *text)
{
	struct b_err err;

	cr_assert_eq(b_write_file(path, 0600, text, strlen(text), false, &err), 0);
}

Test(ship_config, a_credential_is_one_clean_line)
{
	static const char *const bad[] = {"user=a\tb\n", "password=x\n", "token=x\nuser=y\n",
					  "key=x\n",	 "user=\n",	 "token=a\rb\n"};
	char dir[] = "/tmp/sbx-ship-unit.XXXXXX", path[64];
	struct ship_config c = config("https://h");
	struct b_err err;

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/c", dir);
	c.credentials = path;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		c.secret = (struct ship_secret){0};
		put(path, bad[i]);
		cr_assert_eq(ship_config_secret(&c, &err), -1, "%s", bad[i]);
	}
	put(path, "# who\nuser=a\npassword=b c\n");
	cr_assert_eq(ship_config_secret(&c, &err), 0, "%s", err.msg);
	cr_assert_str_eq(c.secret.password, "b c");
	ship_config_forget(&c);
	cr_assert_eq(*c.secret.password, 0);
	unlink(path);
	rmdir(dir);
}

Test(ship_state, is_read_as_it_was_written_and_refused_when_damaged)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"{\"schemaVersion\":2}",
		"{\"schemaVersion\":1,\"lines\":-1,\"rows\":0,\"bytes\":0,\"planned\":0,\"host\":"
		"\"h\"}",
		"{\"schemaVersion\":1,\"lines\":9,\"rows\":9,\"bytes\":0,\"planned\":9,\"host\":"
		"\"h\"}",
		"{\"schemaVersion\":1,\"lines\":9,\"rows\":10,\"bytes\":0,\"planned\":0,\"host\":"
		"\"h\"}",
		"{\"schemaVersion\":1,\"lines\":9,\"rows\":9,\"bytes\":0,\"planned\":0}"};
	struct ship_state s = {.lines = 9, .rows = 8, .bytes = 700, .planned = 12, .host = "h"},
			  got;
	char dir[] = "/tmp/sbx-ship-unit.XXXXXX", path[64];
	struct b_err err;

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/ship-x.json", dir);
	cr_assert_eq(ship_state_load(dir, "x", &got, &err), 0);
	cr_assert_eq(got.lines, 0);
	cr_assert_eq(ship_state_save(dir, "x", &s, true, &err), 0);
	cr_assert_eq(ship_state_load(dir, "x", &got, &err), 0);
	cr_assert_eq(memcmp(&s, &got, sizeof s), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put(path, bad[i]);
		cr_assert_eq(ship_state_load(dir, "x", &got, &err), -1, "%s", bad[i]);
		cr_assert_eq(err.kind, B_FORMAT);
	}
	unlink(path);
	rmdir(dir);
}
