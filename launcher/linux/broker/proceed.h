/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proceed.h - every answer that lets the kernel go on with a call. Private to launcher/linux/broker
 * and its tests.
 *
 * The kernel then reads the caller's memory, descriptors and directories once more, and another
 * thread may have changed all of them since the broker looked. Therefore each row states why no
 * such change gains anything, and what the kernel must know for that to be true; where it does not,
 * br_proceed() answers with the row's errno instead.
 * tests/unit/launcher/test_broker_proceed.c attacks each row.
 */
#pragma once

#include <stdbool.h>

/* What stands behind a row. */
enum br_behind {
	/* Nothing is needed: the policy has no rule on what the call does. */
	BR_BEHIND_NOTHING,
	/* Landlock grants the command no right to make, remove or rename a name. */
	BR_BEHIND_NAMES,
	/* It grants that in clean directories, of files and directories (docs/adr/016). */
	BR_BEHIND_CLEAN,
	/* Landlock grants no right to truncate (ABI 3). */
	BR_BEHIND_TRUNCATE,
	/* Landlock grants reading only where no rule denies it; writing and truncation nowhere. */
	BR_BEHIND_READS,
	/* A file that may not be read has no execute bit (exec.c). */
	BR_BEHIND_MODES,
};

/* Row, name, what stands behind, errno without that, why a change of memory, of a descriptor, of a
 * directory or of the object gains nothing. */
#define BR_PROCEED_TABLE(X)                                                                        \
	X(UMASK, "umask", NOTHING, EACCES,                                                         \
	  "its argument is a register, and the mask is the caller's own")                          \
	X(CREDENTIALS, "credentials", NOTHING, EACCES,                                             \
	  "the kernel lets a caller become less, and the broker asks again at each call")          \
	X(PRIORITY, "priority", NOTHING, EPERM,                                                    \
	  "the number is a register; it is the caller's own, which it has until the call ends, "   \
	  "or of a namespace where the run alone has numbers, or the broker sets limits and "      \
	  "processors itself: else a new owner gets its turn later than before, no more")          \
	X(SIGNAL, "signal", NOTHING, EPERM,                                                        \
	  "the number is a register, and is the caller's own process's, or one of a pid "          \
	  "namespace "                                                                             \
	  "that the run made")                                                                     \
	X(NAME, "name", NAMES, EACCES,                                                             \
	  "whatever the path becomes, Landlock refuses to make, remove or move it")                \
	X(CLEAN, "clean-name", CLEAN, EACCES,                                                      \
	  "whatever the path becomes, Landlock lets files and directories be made, removed and "   \
	  "moved where no rule can differ alone, and there a marked call could do it; what may "   \
	  "get set-id bits, or whose flags Landlock asks no right for, does not go on")            \
	X(TRUNCATE, "truncate", TRUNCATE, EACCES,                                                  \
	  "whatever the path becomes, Landlock refuses to truncate it")                            \
	X(OPEN, "open", READS, EACCES,                                                             \
	  "whatever path and flags become, Landlock grants reading what is clean, or ioctl alone") \
	X(NODE, "node", READS, EACCES,                                                             \
	  "as open; a device or pipe is opened by the caller, which may wait or get a terminal")   \
	X(PATH_ONLY, "path-only", READS, ENOSYS,                                                   \
	  "as open; struct open_how may change as the path may")                                   \
	X(PROGRAM, "program", NOTHING, EACCES,                                                     \
	  "no rule that the broker alone enforces says what may be executed; it remembers what "   \
	  "calls, and finds out later what that became")                                           \
	X(EXEC, "exec", MODES, EACCES,                                                             \
	  "what takes the program's place needs an execute bit: no file that may not be read "     \
	  "gets "                                                                                  \
	  "one; one that may be read, and not be run, is run (documented)")                        \
	X(EXEC_MEMORY, "exec-memory", MODES, EACCES,                                               \
	  "as exec; what was judged lies in no file system")

enum br_proceed {
#define X(row, ...) BR_PROCEED_##row,
	BR_PROCEED_TABLE(X)
#undef X
		BR_PROCEED_COUNT
};

/* The row's name, for counts and tests. */
const char *br_proceed_name(enum br_proceed);
