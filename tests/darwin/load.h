/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - a loader for Mach-O files of this machine, for tests: enough of dyld to run our own
 * programs and library on Linux against a libSystem made of the C library's functions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MACHO_SEGMENTS 16

struct macho_segment;

struct macho {
	char *image; /* the file, mapped whole: the slice of this machine */
	const struct macho_segment *segments[MACHO_SEGMENTS];
	size_t nsegments;
	uint64_t entry; /* of LC_MAIN */
	char *base;	/* of the mapping; address 0 of a library, the header of a program */
	uint64_t slide;
	const char *file;
	char *interpose; /* pairs of pointers */
	size_t npairs;
};

/* Maps, rebases and binds; ends the process with a message on anything it does not know. */
void macho_load(const char *file, struct macho *out);
/* Runs the constructors, as dyld does before main. */
void macho_construct(const struct macho *, int argc, char **argv, char **envp);
/* Calls the entry of LC_MAIN. */
int macho_main(struct macho *, int argc, char **argv, char **envp);
/* What a library puts in the place of the libSystem function `name`, or NULL. */
void *macho_replacement(const struct macho *, const char *name);

/* What is loaded from now on calls the library's replacements, as dyld has it. Borrowed. */
void macho_insert(const struct macho *library);

/* libsystem.c: the address of "_name", NULL = unknown. */
void *libsystem_find(const char *symbol);
/* Set by main.c: the Mach-O file that runs, this loader, the library in it. */
extern const char *libsystem_self, *libsystem_loader, *libsystem_library;
int *libsystem_errno(void);

/* Numbers of macOS that the tests need. */
#define DARWIN_O_CREAT 0x0200
#define DARWIN_O_TRUNC 0x0400
#define DARWIN_EACCES  13
