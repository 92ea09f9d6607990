/*
 * program.h - a program about to be started: what it is, and whether the policy allows it.
 * [AS-safe] [MT-safe] [no-alloc], good in a vfork child.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/event.h"
#include "core/path.h"

struct shim_program {
	char path[SBX_PATH_MAX];   /* canonical */
	char interp[SBX_PATH_MAX]; /* canonical path of a script's last interpreter */
	size_t len, interp_len;	   /* 0 = not known, none */
	enum sbx_exec_class class;
	bool is_denied;
	bool is_interp_denied;
	bool is_sibling; /* of the other word size, and there is a shim for it */
	bool is_cut;	 /* path is the beginning of a longer one ... */
	unsigned rule;	 /* ... and this is what decided, for struct sbx_event */
	int err;	 /* the kernel's refusal: ENOENT, EACCES, ...; 0 = it will try */
};

/* Looks at what execveat(dirfd, path, .., flags) would start. `path` may be "" with
 * AT_EMPTY_PATH. */
void shim_program_look(struct shim_program *, int dirfd, const char *path, int flags);
/* Nothing was found to look at. */
void shim_program_missing(struct shim_program *);
/* A program that only the child will find: told without a path, refused where the image says so. */
void shim_program_unknown(struct shim_program *);
/* Would the loader of such a program load the shim? */
bool shim_program_is_witnessed(enum sbx_exec_class);
