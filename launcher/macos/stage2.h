/*
 * stage2.h - the second half of a launch on macOS, inside the sandbox already: what sandbox-exec
 * executes is this program again. sandbox-exec is under System Integrity Protection and loses
 * DYLD_INSERT_LIBRARIES; from here it can be set, and here it is known whether it will work.
 *
 *	sbx-launch --stage2 FD SHIM|- PROGRAM ARGV0 ARGV1...
 *
 * What it has to say goes to the pipe FD, one line: "run CLASS" before the exec, which closes the
 * pipe, and "fail ERRNO" behind it when the exec failed.
 */
#pragma once

#include <stdbool.h>

#include "core/event.h"

#define LAU_STAGE2 "--stage2"

/* Does argv ask for it? */
bool lau_stage2_asked(int argc, char *const *argv);
/* Executes, or gives the exit status: 126, 127, and 125 when called wrongly. */
int lau_stage2(int argc, char **argv);
/* The second half as a function: confined already. `shim` may be NULL. */
int lau_stage2_run(int report, const char *shim, const char *program, char *const *argv);

struct lau_stage2_said {
	bool ran; /* the command was about to start */
	enum sbx_exec_class cls;
	int error; /* errno of the exec, 0 = it succeeded */
};
/* Reads the pipe to its end. */
void lau_stage2_listen(int fd, struct lau_stage2_said *out);
