/* SPDX-License-Identifier: Apache-2.0 */
/* What a run inside a run asks for: any bytes as the head of a request and the texts behind it. All
 * lists that are accepted are as long as the head says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "launcher/linux/nested/nest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void walk(char **list, uint32_t n)
{
	uint32_t i = 0;

	for (; list[i]; i++)
		(void)strlen(list[i]);
	if (i != n)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct lau_nest_request rq = {0};
	struct lau_nest_head head;
	struct b_err err;
	char *texts;

	if (n < sizeof head)
		return 0;
	memcpy(&head, data, sizeof head);
	n -= sizeof head;
	head.texts = n; /* the receiver has as many */
	texts = malloc(n + 1);
	if (n)
		memcpy(texts, data + sizeof head, n);
	if (lau_nest_parse(&head, texts, &rq, &err) == 0) {
		walk(rq.args, head.nargs);
		walk(rq.env, head.nenv);
		walk(rq.workspaces, head.nworkspaces);
		walk(rq.presets, head.npresets);
		walk(rq.pass, head.npass);
		walk(rq.set, head.nset);
		(void)(strlen(rq.program) + strlen(rq.caps));
	}
	b_arena_release(&rq.arena);
	free(texts);
	return 0;
}
