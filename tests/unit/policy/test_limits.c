/* SPDX-License-Identifier: Apache-2.0 */
/* The table of limits (policy/plan/limits.c) and docs/THREAT-MODEL.md name the same. */
#include <string.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/plan/floor.h"

/* Of "- **Names, and others.** Text": the name, without what ends it. */
static size_t name_of(const char *line, const char **out)
{
	const char *end;

	if (strncmp(line, "- **", 4) != 0)
		return 0;
	*out = line + 4;
	end = strstr(*out, "**");
	cr_assert_not_null(end, "%.80s", line);
	while (end > *out && strchr(".,", end[-1]))
		end--;
	return (size_t)(end - *out);
}

static bool is_in_table(const char *name, size_t n)
{
	const char *known, *text;

	for (int with_broker = 0; with_broker < 2; with_broker++)
		for (size_t i = 0; pol_limit(with_broker, i, &known, &text); i++)
			if (strlen(known) == n && memcmp(known, name, n) == 0)
				return true;
	return false;
}

static void read_limits(struct b_str *out)
{
	b_auto(b_str_release) struct b_str text = {0};
	const char *from, *to;
	struct b_err err;

	cr_assert_eq(b_read_file("docs/THREAT-MODEL.md", 1 << 20, &text, &err), 0, "%s", err.msg);
	from = strstr(text.s, "\n## Known limits");
	cr_assert_not_null(from);
	to = strstr(from + 1, "\n## ");
	cr_assert_not_null(to);
	b_str_addn(out, from + 1, (size_t)(to - from));
}

Test(policy_limits, what_the_threat_model_names_the_doctor_prints)
{
	b_auto(b_str_release) struct b_str text = {0};
	size_t n = 0;

	read_limits(&text);
	for (const char *line = text.s, *name; *line; line += strcspn(line, "\n") + 1) {
		size_t len = name_of(line, &name);

		n += len > 0;
		cr_expect(!len || is_in_table(name, len),
			  "`%.*s` is not in the table of policy/plan/limits.c", (int)len, name);
	}
	cr_expect_gt(n, 50);
}

Test(policy_limits, what_the_doctor_prints_the_threat_model_explains)
{
	b_auto(b_str_release) struct b_str text = {0};
	const char *known, *what;

	read_limits(&text);
	for (int with_broker = 0; with_broker < 2; with_broker++)
		for (size_t i = 0; pol_limit(with_broker, i, &known, &what); i++) {
			b_auto(b_str_release) struct b_str head = {0};

			b_str_addf(&head, "- **%s", known);
			cr_expect(strstr(text.s, head.s), "`%s` is not in docs/THREAT-MODEL.md",
				  known);
		}
}
