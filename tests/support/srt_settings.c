/* SPDX-License-Identifier: Apache-2.0 */
/* srt_settings.c - see srt_settings.h. */
#include "tests/support/srt_settings.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

struct b_err srt_err;

int srt_parse(const char *text, struct pol_doc *out)
{
	const struct pol_input in = {
		.name = "s", .text = text, .len = strlen(text), .dialect = POL_DIALECT_srt};

	return pol_front_parse(&in, out, &srt_err);
}

int srt_parse_with(const char *network, const char *filesystem, const char *rest,
		   struct pol_doc *out)
{
	b_auto(b_str_release) struct b_str s = {0};

	b_str_addf(
		&s,
		"{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []%s},\n"
		" \"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []%s}%s}",
		network, filesystem, rest);
	return srt_parse(b_str_c(&s), out);
}

void srt_refused(const char *network, const char *filesystem, const char *rest, const char *message)
{
	struct pol_doc doc = {0};

	srt_err.msg[0] = '\0';
	cr_expect_eq(srt_parse_with(network, filesystem, rest, &doc), -1, "%s%s%s", network,
		     filesystem, rest);
	cr_expect(strstr(srt_err.msg, message), "%s", srt_err.msg);
}
