/* SPDX-License-Identifier: Apache-2.0 */
/*
 * law.h - what the programs of awkward situations share: PROGRAM CASE DIR runs one, PROGRAM list
 * names all. DIR/ok/file may be read, DIR/no/file may not. Status 0 = as it should be; else a
 * line on stderr says what went wrong.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OK_FILE "ok/file"
#define NO_FILE "no/file"

static int fail(const char *what)
{
	fprintf(stderr, "shim_law: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Opens and closes; the errno, 0 = opened. */
static int try_open(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

#define WANT(err, expr)                                                                            \
	do {                                                                                       \
		int got_ = (expr);                                                                 \
		if (got_ != (err)) {                                                               \
			fprintf(stderr, "shim_law: %s: got %s, want %s\n", #expr,                  \
				strerrorname_np(got_), strerrorname_np(err));                      \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static int both(void)
{
	WANT(0, try_open(OK_FILE, O_RDONLY));
	WANT(EACCES, try_open(NO_FILE, O_RDONLY));
	return 0;
}

struct law_case {
	const char *name;
	int (*run)(void);
};

static int law_main(int argc, char **argv, const struct law_case *cases, size_t ncases)
{
	size_t i;

	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (i = 0; i < ncases; i++)
			puts(cases[i].name);
		return 0;
	}
	if (argc != 3 || chdir(argv[2]) < 0)
		return 2;
	for (i = 0; i < ncases; i++)
		if (!strcmp(argv[1], cases[i].name))
			return cases[i].run();
	return 2;
}
