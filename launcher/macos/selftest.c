/* selftest.c - see launcher/selftest.h: the attacks are those of Linux. On a Mac tests/mac/smoke.sh
 * asks the questions that matter there. */
#include "launcher/selftest.h"

#include "base/err.h"

int lau_selftest(int argc, char **argv, const struct lau_options *o)
{
	struct b_err err;

	(void)argc, (void)argv, (void)o;
	b_fail(&err, B_USAGE, 0, "--selftest: has no attacks for macOS: run tests/mac/smoke.sh");
	return b_report("sbx-launch", &err);
}
