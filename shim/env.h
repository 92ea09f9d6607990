/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h - the environment of a program about to start, with our two variables in it. Built
 * on the caller's stack in two passes; `environ` is never touched. [AS-safe] [no-alloc]
 *
 *	struct shim_env env;
 *	if (shim_env_plan(&env, envp) && env.is_needed)
 *		envp = shim_env_build(&env, __builtin_alloca(shim_env_bytes(&env)));
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct shim_env {
	char *const *from; /* may be NULL: an empty one */
	size_t count;
	size_t preload_at, channel_at;	 /* entry to replace; count = to be added */
	size_t preload_len, channel_len; /* bytes of the new entries, NUL included; 0 = keep */
	const char *wanted, *unwanted;	 /* entries of LD_PRELOAD; "" = none is unwanted */
	bool is_doubled;		 /* a name stands there twice: each is replaced */
	bool is_needed;			 /* false: it has all it needs */
};

/* For a program of the other word size the sibling takes our place. */
bool shim_env_plan_for(struct shim_env *, char *const *envp, bool is_sibling);
/* false = so big that a copy could overflow the stack: use it as it is. */
bool shim_env_plan(struct shim_env *, char *const *envp);
size_t shim_env_bytes(const struct shim_env *);
char *const *shim_env_build(const struct shim_env *, void *memory);
/* Value of a variable of this process's own environment, or NULL. */
const char *shim_getenv(const char *name);
char *const *shim_environ(void);
