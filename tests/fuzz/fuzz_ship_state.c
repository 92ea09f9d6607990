/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the files that `ship` keeps beside the runs: of a run, and of a destination. What is
 * read of them is what is written again, fits the file, and never says what no sender writes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/rundir.h"
#include "base/mem.h"
#include "base/str.h"
#include "ship/state.h"
#include "ship/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool ok)
{
	if (!ok)
		abort();
}

static void check_state(const char *text, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct ship_state s, again;

	memset(&s, 0x5a, sizeof s);
	again = s;
	if (!ship_state_read(text, n, &s)) {
		expect(memcmp(&s, &again, sizeof s) == 0);
		return;
	}
	expect(memchr(s.host, '\0', sizeof s.host) != NULL);
	expect(s.rows <= s.lines && (!s.planned || s.planned > s.lines));
	ship_state_write(&s, &out);
	expect(out.len <= SHIP_STATE_MAX);
	expect(ship_state_read(out.s, out.len, &again));
	expect(s.lines == again.lines && s.rows == again.rows && s.bytes == again.bytes &&
	       s.planned == again.planned && s.has_run_row == again.has_run_row &&
	       s.is_done == again.is_done && strcmp(s.host, again.host) == 0);
}

static void check_status(const char *text, size_t n)
{
	b_auto(ship_status_release) struct ship_status s = {0}, again = {0};
	b_auto(b_str_release) struct b_str out = {0}, twice = {0};

	ship_status_read(&s, text, n);
	for (size_t i = 0; i < s.n; i++)
		expect(aud_run_id_valid(s.pending[i].id));
	ship_status_write(&s, &out);
	ship_status_read(&again, out.s, out.len);
	ship_status_write(&again, &twice);
	expect(strcmp(out.s, twice.s) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	check_state((const char *)data, n);
	check_status((const char *)data, n);
	return 0;
}
