/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as that of `sh -c`: an answer with a reason, or no reason; and a text that is taken has
 * nothing in it, outside quotes, by which a shell would do more than start the named programs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "policy/approve/approve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_plain(const char *p)
{
	char quote = 0;

	for (; *p; p++) {
		if (quote == '\'' ? *p == '\'' : quote && *p == '"')
			quote = 0;
		else if (!quote && (*p == '\'' || *p == '"'))
			quote = *p;
		else if (quote == '"' && *p == '\\' && p[1])
			p++;
		else if (quote != '\'' && (*p == '$' || *p == '`'))
			abort();
		else if (!quote && (strchr("()*?[]{}!#\\", *p) || (unsigned char)*p > 126))
			abort();
	}
	if (quote)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct b_str text = {0}, why = {0};
	bool ok;

	b_str_addn(&text, data, n);
	ok = pol_approve_shell(b_str_c(&text), &why);
	if (ok != (why.len == 0) || strchr(b_str_c(&why), '\n'))
		abort();
	if (ok)
		check_plain(b_str_c(&text));
	b_str_release(&text);
	b_str_release(&why);
	return 0;
}
