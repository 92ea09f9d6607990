/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/options/options.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/run/confine.h"
#include "launcher/report/report.h"

static int parse(const char *line, struct lau_options *o, struct b_err *err)
{
	static char text[128];
	static char *argv[8];
	int argc = 1;

	strcpy(text, line);
	argv[0] = text;
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	lau_options_init(o);
	return lau_options_parse(argc, argv, o, err);
}

/* NULL: let through, with `notes` told. */
static void asks(const char *line, const char *refusal, const char *notes)
{
	b_auto(b_str_release) struct b_str told = {0};
	struct lau_options o;
	struct b_err err = {.kind = B_OK};
	int rc;

	cr_assert_eq(parse(line, &o, &err), 0, "%s", err.msg);
	rc = lau_macopts_check(&o, &told, &err);
	lau_options_release(&o);
	cr_assert_eq(rc, refusal ? -1 : 0, "%s", err.msg);
	if (refusal) {
		cr_expect_eq(err.kind, B_FLOOR);
		cr_expect(strstr(err.msg, refusal), "%s", err.msg);
	}
	cr_expect(strstr(b_str_c(&told), notes), "%s", b_str_c(&told));
	cr_expect(*notes || !told.len, "%s", b_str_c(&told));
}

Test(launcher_macopts, promises_that_cannot_be_kept_are_refused)
{
	asks("--caps none x", "--caps", "");
	asks("--isolate pid x", "--isolate", "");
	asks("--nofile 20 x", "--nofile", "");
}

Test(launcher_macopts, every_ability_of_linux_that_is_required_is_refused_by_name)
{
	for (int need = 0; need < LAU_NEED_COUNT; need++) {
		char line[64];

		snprintf(line, sizeof line, "--require %s x", lau_needs[need].name);
		asks(line, need == LAU_NEED_SHIM ? NULL : lau_needs[need].name, "");
	}
	asks("--require shim --no-shim x", "--no-shim", "");
}

Test(launcher_macopts, what_opens_nothing_here_is_told)
{
	asks("--allow debug x", NULL, "--allow has no effect");
	asks("--isolate none x", NULL, "");
	asks("x", NULL, "");
}
