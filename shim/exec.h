/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.h - starts programs: judges and reports them, and puts the shim's variables into their
 * environment. All memory is the caller's stack. [AS-safe] [no-alloc], good in a vfork child.
 */
#pragma once

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/event.h"
#include "core/path.h"

/* The search of execvp(3): every candidate is judged for itself. -1 with errno. */
int shim_execvp(unsigned call, const char *file, char *const argv[], char *const envp[]);
/* flags as for execveat(2); AT_FDCWD and 0 make it execve(2). -1 with errno. */
int shim_exec(unsigned call, int dirfd, const char *path, char *const argv[], char *const envp[],
	      int flags);

struct shim_told;
/* Tells with an exec or a hello the words of the command, as far as they fit, and where `is_here`
 * the current directory, where it fits behind them. `buf` has SHIM_WORDS_SIZE bytes. */
#define SHIM_WORDS_SIZE SBX_PATH_MAX
void shim_told_words(struct shim_told *, char *buf, char *const *argv, bool is_here);

struct shim_spawn {
	unsigned call;
	bool is_search; /* posix_spawnp */
	/* As it was before glibc 2.15: a file that is no program is a script for the shell. */
	bool is_old;
	pid_t *pid;
	const char *path;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attr;
	char *const *argv, *const *envp;
};
/* 0 or an error number. */
int shim_spawn(const struct shim_spawn *);

/* system(3), popen(3): judges the shell. 0 or errno; *out_bytes > 0: the command is to be
 * wrapped into so many bytes, because `environ` has lost our variables. */
int shim_shell_begin(unsigned call, const char *command, size_t *out_bytes);
/* The command to give to the library; NULL = refused, as it would run without the shim. */
const char *shim_shell_wrap(unsigned call, const char *command, char *memory, size_t bytes);
/* A shell that the library starts cannot be given our variables: told; 0 or errno. */
int shim_shell_without(unsigned call);

/*
 * The directory that a set of spawn file actions leads to: relative paths of the set,
 * and the program's, are of that one. Followed by the address of the set, from the wrappers of
 * posix_spawn_file_actions_*; the actions run in the child, inside the library, unseen.
 * [AS-safe] [MT-safe] for different sets [no-alloc]
 */

/* init and destroy: nothing is known of the set at this address. */
void shim_actions_reset(const void *set);
/* The action has been added. */
void shim_actions_chdir(const void *set, const char *path);
void shim_actions_fchdir(const void *set, int fd);
/* The set gives this number to another file: fchdir to it leads where only the child knows. */
void shim_actions_replace(const void *set, int fd);

enum shim_led {
	SHIM_LED_NOWHERE, /* the path means what it means here */
	SHIM_LED_TO,	  /* it means (dirfd, buf) here */
	SHIM_LED_UNKNOWN
};
/* buf: SBX_PATH_MAX bytes. Absolute paths: SHIM_LED_UNKNOWN when they name what is the child's
 * own (/proc/self/cwd, /dev/fd). */
enum shim_led shim_actions_lead(const void *set, const char *path, char *buf, int *out_dirfd);
/* Whether that is SHIM_LED_NOWHERE, without the room. */
bool shim_actions_is_plain(const void *set, const char *path);

/*
 * A program about to be started: what it is, and whether the policy allows it.
 * [AS-safe] [MT-safe] [no-alloc], good in a vfork child.
 */

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
/* No program was found that could be classified. */
void shim_program_missing(struct shim_program *);
/* A program that only the child will find. It is reported without a path, and refused if the image
 * demands that. */
void shim_program_unknown(struct shim_program *);
/* Would the loader of such a program load the shim? */
bool shim_program_is_witnessed(enum sbx_exec_class);
