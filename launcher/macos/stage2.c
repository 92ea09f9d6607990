/* SPDX-License-Identifier: Apache-2.0 */
/* stage2.c - see stage2.h. */
#include "launcher/macos/seatbelt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "core/channel.h"
#include "launcher/supervise/supervise.h"

enum { FIRST = 2, FD = FIRST, SHIM, PROGRAM, ARGV0 }; /* places in argv */

bool lau_stage2_asked(int argc, char *const *argv)
{
	return argc >= FIRST && strcmp(argv[1], LAU_STAGE2) == 0;
}

static void say(int fd, const char *word, int value)
{
	char line[32];
	int n = snprintf(line, sizeof line, "%s %d\n", word, value);

	(void)b_write_all(fd, line, (size_t)n);
}

/* The shim in front of what was to be inserted anyway. */
static void insert(const char *shim)
{
	const char *old = getenv(SBX_ENV_PRELOAD);
	char value[2 * PATH_MAX];

	if (old && *old && strlen(shim) + 1 + strlen(old) < sizeof value) {
		snprintf(value, sizeof value, "%s:%s", shim, old);
		shim = value;
	}
	setenv(SBX_ENV_PRELOAD, shim, 1);
}

int lau_stage2_run(int report, const char *shim, const char *program, char *const *argv)
{
	struct lau_target t;
	int error;

	lau_target_find(program, argv, getenv("PATH"), &t);
	if (shim && t.cls == SBX_EXEC_DYNAMIC)
		insert(shim);
	say(report, "run", (int)t.cls);
	(void)fcntl(report, F_SETFD, FD_CLOEXEC);
	execve(t.path, t.argv, environ);
	error = errno;
	say(report, "fail", error);
	lau_target_release(&t);
	return error == ENOENT ? 127 : 126;
}

int lau_stage2(int argc, char **argv)
{
	unsigned long long fd;

	if (argc <= ARGV0 || b_parse_u64(argv[FD], INT_MAX, &fd) < 0)
		return LAU_STATUS_OURS;
	return lau_stage2_run((int)fd, strcmp(argv[SHIM], "-") == 0 ? NULL : argv[SHIM],
			      argv[PROGRAM], argv + ARGV0);
}

/* "WORD NUMBER\n" at the start of *text; moves it on. */
static bool take(char **text, const char *word, int *out)
{
	size_t n = strlen(word);
	char *end;
	long value;

	if (strncmp(*text, word, n) != 0 || (*text)[n] != ' ')
		return false;
	value = strtol(*text + n + 1, &end, 10);
	if (*end != '\n' || value < 0 || value > INT_MAX)
		return false;
	*out = (int)value;
	*text = end + 1;
	return true;
}

void lau_stage2_listen(int fd, struct lau_stage2_said *out)
{
	char text[64], *at = text;
	ssize_t n = b_read_full(fd, text, sizeof text - 1);
	int cls;

	*out = (struct lau_stage2_said){0};
	text[n > 0 ? n : 0] = '\0';
	out->ran = take(&at, "run", &cls) && cls < SBX_EXEC_CLASS_COUNT;
	if (!out->ran)
		return;
	out->cls = (enum sbx_exec_class)cls;
	(void)take(&at, "fail", &out->error);
}
