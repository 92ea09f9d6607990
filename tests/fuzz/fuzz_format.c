/* SPDX-License-Identifier: Apache-2.0 */
/* A document of any bytes: what is formatted means the same and is not formatted further; the list
 * of tests of it is read without harm. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/questions/explain.h"
#include "policy/questions/convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct b_str once = {0}, twice = {0};
	struct pol_tests tests;
	struct b_err err;

	if (n > 4096)
		return 0;
	/* pol_format() itself compares meaning and comments. */
	if (pol_format("fuzz", (const char *)data, n, &once, &err) == 0) {
		if (pol_format("fuzz", b_str_c(&once), once.len, &twice, &err) < 0 ||
		    once.len != twice.len || memcmp(once.s, twice.s, once.len) != 0)
			abort();
	}
	b_str_release(&once);
	b_str_release(&twice);
	if (pol_tests_parse("fuzz", (const char *)data, n, &tests, &err) == 0)
		pol_tests_release(&tests);
	return 0;
}
