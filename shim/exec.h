/*
 * exec.h - starting programs: judged, told, and with the shim's variables in their
 * environment. All memory is the caller's stack. [AS-safe] [no-alloc], good in a vfork child.
 */
#pragma once

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The search of execvp(3): every candidate is judged for itself. -1 with errno. */
int shim_execvp(unsigned call, const char *file, char *const argv[], char *const envp[]);
/* flags as for execveat(2); AT_FDCWD and 0 make it execve(2). -1 with errno. */
int shim_exec(unsigned call, int dirfd, const char *path, char *const argv[], char *const envp[],
	      int flags);

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
