/*
 * program.h - finding the command before anything is forked, as execvp(3) would, so that the
 * statuses 126 and 127 are exact and nothing was prepared in vain.
 */
#pragma once

struct b_err;

/* Path to hand to execve(2) for `name`: itself when it has a slash, else the first executable
 * regular file of that name in `path` (a PATH value; NULL: the system's default). malloc'ed.
 * B_NOTFOUND, or B_NOEXEC when there is such a file and it may not be executed. */
int lau_program_find(const char *name, const char *path, char **out, struct b_err *err);

/* Is this file a script for /bin/sh although it names no interpreter? True when its first line
 * holds no NUL byte, bash's test. For execve's ENOEXEC. [AS-safe] [no-alloc] */
int lau_program_is_text(const char *file);
