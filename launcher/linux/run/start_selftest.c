/* SPDX-License-Identifier: Apache-2.0 */
/* start_selftest.c - `--selftest` becomes the program that has the attacks: see host.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "launcher/options/options.h"
#include "launcher/plan/program.h"
#include "launcher/report/host.h"
#include "launcher/run/os.h"

static const char me[] = "sbx-launch";

int lau_selftest(int argc, char **argv, const struct lau_options *o)
{
	b_auto_free char *program = NULL;
	b_auto_free char **words = b_calloc((size_t)argc + 3, sizeof *words);
	char own[4096];
	struct b_err err;
	size_t n = 0;

	if (o->argv) {
		b_fail(&err, B_USAGE, 0, "--selftest: takes no command");
		return b_report(me, &err);
	}
	if (lau_selftest_find(&program, &err) < 0)
		return b_report(me, &err);
	if (!lau_os_own_path(own, sizeof own)) {
		b_fail(&err, B_SYSTEM, 0,
		       "--selftest: /proc does not show where sbx-launch is installed");
		return b_report(me, &err);
	}
	words[n++] = program;
	words[n++] = own;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--selftest") != 0)
			words[n++] = argv[i];
	execv(program, words);
	b_fail(&err, B_SYSTEM, errno, "%s: %s", program, strerror(errno));
	return b_report(me, &err);
}
