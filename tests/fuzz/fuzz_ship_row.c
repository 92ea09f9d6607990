/* SPDX-License-Identifier: Apache-2.0 */
/* Any line of a log as a row for the server: one line, one JSON object with the row's key and no
 * member twice, whatever the command wrote into its record. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/entry.h"
#include "audit/read_log.h"
#include "base/mem.h"
#include "base/str.h"
#include "ship/row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct ship_row_of of = {
		.host = "h", .run_id = "20261127T232401Z-1a2b3c", .batch = 5};
	const struct aud_line line = {.s = (const char *)data, .len = n};
	b_auto(aud_entry_release) struct aud_entry e = {0};
	b_auto(b_str_release) struct b_str out = {0};
	const char *why;
	json_t *row;

	if (aud_entry_parse(&line, &e, &why) == 0)
		ship_row_event(&of, 7, &line, &e, &out);
	else
		ship_row_unreadable(&of, 7, &line, &out);
	row = json_loadb(out.s, out.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!row || memchr(out.s, '\n', out.len) != out.s + out.len - 1 ||
	    json_integer_value(json_object_get(row, "no")) != 7 ||
	    json_integer_value(json_object_get(row, "batch")) != 5 ||
	    !json_is_string(json_object_get(row, "kind")) ||
	    !json_is_string(json_object_get(row, "line")))
		abort();
	json_decref(row);
	return 0;
}
