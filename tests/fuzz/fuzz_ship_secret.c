/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of credentials: an error, or values that go into a header as they are. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "ship/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const char *s, size_t room)
{
	size_t n = strnlen(s, room);

	if (n == room)
		abort();
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ship_secret s = {0};
	struct b_err err = {0};

	if (ship_secret_read((const char *)data, n, "f", &s, &err) < 0 &&
	    (err.kind != B_USAGE || strncmp(err.msg, "f: ", 3) != 0))
		abort();
	check(s.user, sizeof s.user);
	check(s.password, sizeof s.password);
	check(s.token, sizeof s.token);
	return 0;
}
