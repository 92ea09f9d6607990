/* SPDX-License-Identifier: Apache-2.0 */
/* Any line as a line of a log: parsed, filtered, shown. Nothing shown may hold a control byte. */
#include <stdint.h>
#include <stdlib.h>

#include "audit/read_log.h"
#include "audit/show.h"
#include "base/mem.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const ws[] = {"/ws"}, *const globs[] = {"**/x*", "/ws/?", "src/**"};
	struct aud_filter f = {.op = -1,
			       .verdict = AUD_ONLY_DENIED,
			       .globs = globs,
			       .nglobs = 3,
			       .pid = -1,
			       .workspaces = ws,
			       .nworkspaces = 1};
	struct aud_line line = {.s = (const char *)data, .len = n};
	b_auto(b_str_release) struct b_str out = {0};
	struct aud_entry e = {0};
	const char *why;
	size_t i;

	if (aud_entry_parse(&line, &e, &why) < 0) {
		aud_entry_release(&e);
		return 0;
	}
	aud_filter_match(&f, &e);
	aud_show_entry(&e, false, &out);
	for (i = 0; i + 1 < out.len; i++)
		if ((unsigned char)out.s[i] < 0x20 || out.s[i] == 0x7f)
			abort();
	aud_entry_release(&e);
	return 0;
}
