/* SPDX-License-Identifier: Apache-2.0 */
/* What a run inside a run asks for: any bytes as a packed request. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "launcher/linux/nested/nest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void walk(char **list)
{
	for (; *list; list++)
		(void)strlen(*list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct lau_nest_request rq = {0};
	struct b_err err;

	if (lau_nest_parse(data, n, &rq, &err) == 0) {
		walk(rq.args);
		walk(rq.env);
		walk(rq.workspaces);
		walk(rq.presets);
		walk(rq.options);
		(void)strlen(rq.program);
		if (!rq.args[0] || !rq.bundle || rq.npipes > LAU_NEST_PIPES)
			abort();
	}
	b_arena_release(&rq.arena);
	return 0;
}
