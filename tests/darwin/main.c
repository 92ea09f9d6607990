/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - runs what was built for macOS, on Linux.
 *
 *	load run PROGRAM ARG...		a program, from constructors to the status of main; with the
 *					library of DYLD_INSERT_LIBRARIES, when there is one
 *	load shim LIBRARY DIR		the library's constructor and its replacements, on files in
 *					DIR; SBX_CHANNEL names the run. TAP on standard output.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/darwin/load.h"
#include "tests/darwin/tests.h"

static unsigned ntests, nfailed;

void ok(bool good, const char *what)
{
	nfailed += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", ++ntests, what);
}

#ifdef __aarch64__
__asm(".text\n.global darwin_variadic\n.type darwin_variadic, %function\n"
      "darwin_variadic:\n"
      "\tstp x29, x30, [sp, #-16]!\n\tmov x29, sp\n\tsub sp, sp, #16\n"
      "\tstr x5, [sp]\n\tmov x9, x0\n\tmov x0, x1\n\tmov x1, x2\n\tmov x2, x3\n"
      "\tmov x3, x4\n\tmov x5, #-1\n\tblr x9\n\tadd sp, sp, #16\n"
      "\tldp x29, x30, [sp], #16\n\tret\n");
#endif

typedef int open_fn(const char *, int, ...);
typedef int openat_fn(int, const char *, int, ...);
typedef int path_fn(const char *);
typedef int paths_fn(const char *, const char *);
typedef FILE *fopen_fn(const char *, const char *);
typedef int mkdir_fn(const char *, uint16_t);
typedef int execve_fn(const char *, char *const *, char *const *);

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

static void test_opens(const struct macho *m)
{
	open_fn *o = REPLACED(m, open_fn, "_open"),
		*nocancel = REPLACED(m, open_fn, "_open$NOCANCEL");
	openat_fn *at = REPLACED(m, openat_fn, "_openat");
	fopen_fn *f = REPLACED(m, fopen_fn, "_fopen");
	int fd;

	ok(o && nocancel && at && f, "open, openat, fopen and their other names are replaced");
	umask(0);
	fd = CALL_OPEN(o, "made", 1 | DARWIN_O_CREAT, 0640);
	ok(fd >= 0 && mode_of("made") == 0640, "open passes the mode of O_CREAT on");
	close(fd);
	fd = CALL_OPENAT(at, -2, "made-at", 1 | DARWIN_O_CREAT, 0604);
	ok(fd >= 0 && mode_of("made-at") == 0604, "so does openat");
	close(fd);
	fd = o("../tree/./made", 0);
	ok(fd >= 0, "a path with .. is opened");
	close(fd);
	fd = o("link", 0);
	ok(fd >= 0, "a symlink to what is allowed is opened");
	close(fd);
	ok(o("secret", 0) < 0 && d_errno() == DARWIN_EACCES, "a denied read fails with EACCES");
	ok(o("to-secret", 0) < 0 && d_errno() == DARWIN_EACCES, "so it does through a symlink");
	ok(nocancel("secret", 0) < 0 && d_errno() == DARWIN_EACCES, "and by the other name");
	ok(CALL_OPENAT(at, -2, "secret", 0, 0) < 0 && d_errno() == DARWIN_EACCES, "and by openat");
	ok(!f("secret", "r") && d_errno() == DARWIN_EACCES, "and by fopen");
	ok(o("keep", 1 | DARWIN_O_TRUNC) < 0 && d_errno() == DARWIN_EACCES &&
		   mode_of("keep") == 0644,
	   "a denied write fails");
	ok(CALL_OPEN(o, "new.keep", 1 | DARWIN_O_CREAT, 0644) < 0 && access("new.keep", F_OK) < 0,
	   "a denied name is not created");
	ok(o("missing", 0) < 0 && d_errno() == ENOENT, "what is missing is missing");
	*libsystem_errno() = 77;
	fd = o("made", 0);
	ok(fd >= 0 && d_errno() == 77, "a call that succeeds leaves errno alone");
	close(fd);
	ok(o((const char *)8, 0) < 0 && d_errno() == EFAULT, "a bad pointer is EFAULT");
}

static void test_changes(const struct macho *m)
{
	path_fn *un = REPLACED(m, path_fn, "_unlink"), *rm = REPLACED(m, path_fn, "_rmdir");
	paths_fn *mv = REPLACED(m, paths_fn, "_rename"), *ln = REPLACED(m, paths_fn, "_link");
	mkdir_fn *mk = REPLACED(m, mkdir_fn, "_mkdir");

	ok(un("keep") < 0 && d_errno() == DARWIN_EACCES && access("keep", F_OK) == 0,
	   "a denied unlink fails");
	ok(un("gone") < 0 && d_errno() == ENOENT, "unlink of nothing is ENOENT");
	ok(mk("dir", 0755) == 0 && rm("dir") == 0, "directories are made and removed");
	ok(mv("secret", "public") < 0 && access("public", F_OK) < 0,
	   "a denied file is not renamed to an allowed name");
	ok(ln("secret", "public") < 0 && access("public", F_OK) < 0, "nor linked");
	ok(mv("made", "moved") == 0 && access("moved", F_OK) == 0, "a rename works");
	ok(un("moved") == 0, "an unlink works");
}

static void test_exec(const struct macho *m)
{
	execve_fn *ex = REPLACED(m, execve_fn, "_execve");
	char *argv[] = {(char *)(uintptr_t) "secret", NULL}, *envp[] = {NULL};

	ok(ex && ex("./secret", argv, envp) < 0 && d_errno() == DARWIN_EACCES,
	   "a denied program is not started");
}

static int test_shim(const char *library, const char *dir)
{
	struct macho m;

	libsystem_library = library;
	macho_load(library, &m);
	if (chdir(dir) < 0)
		return 98;
	macho_construct(&m, 0, (char *[]){NULL}, environ);
	test_opens(&m);
	test_changes(&m);
	test_exec(&m);
	test_names(&m);
	printf("1..%u\n", ntests);
	return nfailed != 0;
}

int main(int argc, char **argv)
{
	static char loader[PATH_MAX], file[PATH_MAX], first[PATH_MAX];
	const char *library = getenv("DYLD_INSERT_LIBRARIES");
	static struct macho shim;
	struct macho m;

	if (argc < 3 || readlink("/proc/self/exe", loader, sizeof loader - 1) < 0 ||
	    !realpath(argv[2], file))
		return 98;
	libsystem_loader = loader;
	libsystem_self = file;
	if (strcmp(argv[1], "shim") == 0 && argc == 4)
		return test_shim(file, argv[3]);
	if (strcmp(argv[1], "run") != 0)
		return 98;
	if (library && *library) {
		snprintf(first, sizeof first, "%.*s", (int)strcspn(library, ":"), library);
		libsystem_library = first;
		macho_load(first, &shim);
		macho_construct(&shim, argc - 2, argv + 2, environ);
		macho_insert(&shim);
	}
	macho_load(file, &m);
	macho_construct(&m, argc - 2, argv + 2, environ);
	exit(macho_main(&m, argc - 2, argv + 2, environ));
}
