/* printenv.c - see launcher/printenv.h. System programs drop DYLD_INSERT_LIBRARIES on macOS, the
 * shells first of all: an environment cannot carry the shim there. */
#include "launcher/printenv.h"

#include <unistd.h>

#include "base/err.h"
#include "base/io.h"

int lau_print_env(const struct lau_options *o)
{
	struct b_err err;

	(void)o;
	b_fail(&err, B_USAGE, 0,
	       "--print-env: macOS takes the shim out of the environment of its own programs: put "
	       "sbx-launch before the command");
	(void)b_write_all(STDOUT_FILENO, LAU_PRINT_ENV_STOP, sizeof LAU_PRINT_ENV_STOP - 1);
	return b_report("sbx-launch", &err);
}
