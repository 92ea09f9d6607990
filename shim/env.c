/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - see env.h. */
#include "shim/env.h"

#include "core/channel.h"
#include "shim/mem.h"
#include "shim/proc.h"

/* Copying more than this many pointers could overflow the small stack of a thread. */
enum { ENTRIES_MAX = 8192 };

#define PRELOAD SBX_ENV_PRELOAD

#ifdef __APPLE__
#include <crt_externs.h>
#define THE_ENVIRONMENT (*_NSGetEnviron())
#else
extern char **__environ __attribute__((weak));
#define THE_ENVIRONMENT (&__environ ? __environ : NULL)
#endif

char *const *shim_environ(void)
{
	return THE_ENVIRONMENT;
}

const char *shim_getenv(const char *name)
{
	char *const *e = shim_environ();
	const char *v = NULL;

	for (; e && *e && !v; e++)
		v = shim_env_value(*e, name);
	return v;
}

static bool has_entry(const char *list, const char *entry)
{
	size_t n = strlen(entry);

	while (*list) {
		size_t len = 0;

		while (list[len] && list[len] != ':' && list[len] != ' ')
			len++;
		if (len == n && memcmp(list, entry, n) == 0)
			return true;
		list += len;
		while (*list == ':' || *list == ' ')
			list++;
	}
	return false;
}

/* Of two entries with one name glibc's loader takes the last, musl's the first, as getenv does. */
static bool is_last_taken(void)
{
#ifdef __APPLE__
	return false;
#else
	return gnu_get_libc_version != NULL;
#endif
}

bool shim_env_plan(struct shim_env *env, char *const *envp)
{
	return shim_env_plan_for(env, envp, false);
}

bool shim_env_plan_for(struct shim_env *env, char *const *envp, bool is_sibling)
{
	const char *preload = NULL, *channel = NULL, *v;
	size_t i;

	*env = (struct shim_env){.from = envp,
				 .wanted = is_sibling ? shim.sibling : shim.preload,
				 .unwanted = is_sibling ? shim.preload : shim.sibling};
	for (i = 0; envp && envp[i]; i++) {
		if ((v = shim_env_value(envp[i], PRELOAD))) {
			env->is_doubled |= preload != NULL;
			if (preload && !is_last_taken())
				continue;
			preload = v;
			env->preload_at = i;
		} else if ((v = shim_env_value(envp[i], SBX_ENV_CHANNEL))) {
			env->is_doubled |= channel != NULL;
			channel = v;
			env->channel_at = i;
		}
	}
	env->count = i;
	if (!preload)
		env->preload_at = i;
	if (!channel)
		env->channel_at = i;
	if (!shim.preload[0])
		return false;
	if (!preload || env->is_doubled || !has_entry(preload, env->wanted) ||
	    (env->unwanted[0] && has_entry(preload, env->unwanted)))
		env->preload_len = sizeof PRELOAD + strlen(env->wanted) +
				   (preload ? strlen(preload) + 1 : 0) + 1;
	if (!channel || env->is_doubled || !shim_equal(channel, shim.channel))
		env->channel_len = sizeof SBX_ENV_CHANNEL + strlen(shim.channel) + 1;
	env->is_needed = env->preload_len || env->channel_len;
	return !env->is_needed || (i <= ENTRIES_MAX && env->preload_len <= 2ul * SHIM_ENV_MAX);
}

size_t shim_env_bytes(const struct shim_env *env)
{
	return (env->count + 3) * sizeof(char *) + env->preload_len + env->channel_len;
}

static char *put(char *to, const char *s)
{
	size_t n = strlen(s);

	memcpy(to, s, n + 1);
	return to + n;
}

/* The wanted entry replaces the other, or stays where it already was. */
static void put_replaced(const struct shim_env *env, const char *old, char *to)
{
	bool has_wanted = has_entry(old, env->wanted);
	size_t n = strlen(env->unwanted);

	while (*old) {
		size_t len = 0;

		while (old[len] && old[len] != ':' && old[len] != ' ')
			len++;
		if (len != n || memcmp(old, env->unwanted, n) != 0) {
			memcpy(to, old, len);
			to += len;
		} else if (!has_wanted) {
			to = put(to, env->wanted);
			has_wanted = true;
		}
		for (old += len; *old == ':' || *old == ' ';)
			*to++ = *old++;
	}
	*to = '\0';
}

/* The foreign entries stay in front, in their order: they were first in line before us too. */
static void put_preload(const struct shim_env *env, char *to)
{
	const char *old = env->preload_at < env->count
				  ? shim_env_value(env->from[env->preload_at], PRELOAD)
				  : "";

	to = put(to, PRELOAD "=");
	if (env->unwanted[0] && has_entry(old, env->unwanted)) {
		put_replaced(env, old, to);
		return;
	}
	if (has_entry(old, env->wanted)) {
		put(to, old);
		return;
	}
	if (*old)
		to = put(put(to, old), ":");
	put(to, env->wanted);
}

/* Changes every copy, because loaders and shells choose different ones. */
static void replace_all(const struct shim_env *env, char **to, const char *name, char *text)
{
	size_t i;

	for (i = 0; i < env->count; i++)
		if (shim_env_value(env->from[i], name))
			to[i] = text;
}

char *const *shim_env_build(const struct shim_env *env, void *memory)
{
	char **to = memory, *text = (char *)(to + env->count + 3);
	size_t n = env->count, i;

	for (i = 0; i < n; i++)
		to[i] = env->from[i];
	if (env->preload_len) {
		put_preload(env, text);
		to[env->preload_at < env->count ? env->preload_at : n++] = text;
		if (env->is_doubled)
			replace_all(env, to, PRELOAD, text);
		text += env->preload_len;
	}
	if (env->channel_len) {
		put(put(text, SBX_ENV_CHANNEL "="), shim.channel);
		to[env->channel_at < env->count ? env->channel_at : n++] = text;
		if (env->is_doubled)
			replace_all(env, to, SBX_ENV_CHANNEL, text);
	}
	to[n] = NULL;
	return to;
}
