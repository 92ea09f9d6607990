/* environment.c - see environment.h. */
#include "launcher/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/str.h"
#include "core/channel.h"

void lau_environment_release(struct lau_environment *env)
{
	free(env->vars);
	b_arena_release(&env->arena);
	*env = (struct lau_environment){0};
}

void lau_environment_set(struct lau_environment *env, const char *name, const char *value)
{
	const char *copy = b_arena_strndup(&env->arena, value, strlen(value));
	size_t i;

	for (i = 0; i < env->n; i++) {
		if (strcmp(env->vars[i].name, name) == 0) {
			env->vars[i].value = copy;
			return;
		}
	}
	b_grow(env->vars, env->n, env->cap);
	env->vars[env->n++] =
		(struct lau_env_var){b_arena_strndup(&env->arena, name, strlen(name)), copy};
}

static bool is_shim(const char *path, size_t n)
{
	size_t len = strlen(SBX_SHIM_SONAME);

	return n >= len && memcmp(path + n - len, SBX_SHIM_SONAME, len) == 0 &&
	       (n == len || path[n - len - 1] == '/');
}

void lau_environment_preload(struct lau_environment *env, const char *shim, const char *old)
{
	static const char separators[] = ": "; /* ld.so(8): spaces or colons */
	b_auto(b_str_release) struct b_str list = {0};

	b_str_add(&list, shim);
	for (old = old ? old : ""; *old;) {
		size_t n = strcspn(old, separators);

		if (n && !is_shim(old, n)) {
			b_str_addc(&list, ':');
			b_str_addn(&list, old, n);
		}
		old += n;
		old += strspn(old, separators);
	}
	lau_environment_set(env, "LD_PRELOAD", list.s);
}

static bool is_changed(const struct lau_environment *env, const char *entry)
{
	size_t n = strcspn(entry, "="), i;

	for (i = 0; i < env->n; i++)
		if (strncmp(env->vars[i].name, entry, n) == 0 && !env->vars[i].name[n])
			return true;
	return false;
}

char **lau_environment_build(struct lau_environment *env, char *const *base)
{
	size_t n = 0, i;
	char **envp;

	while (base[n])
		n++;
	envp = b_calloc(n + env->n + 1, sizeof *envp);
	n = 0;
	for (i = 0; base[i]; i++)
		if (!is_changed(env, base[i]))
			envp[n++] = base[i];
	for (i = 0; i < env->n; i++)
		envp[n++] =
			b_arena_printf(&env->arena, "%s=%s", env->vars[i].name, env->vars[i].value);
	return envp;
}

void lau_environment_show(const struct lau_environment *env, struct b_str *out)
{
	size_t i;

	for (i = 0; i < env->n; i++) {
		b_str_add(out, "  ");
		b_str_add(out, env->vars[i].name);
		b_str_addc(out, '=');
		b_str_add_visible(out, env->vars[i].value, strlen(env->vars[i].value));
		b_str_addc(out, '\n');
	}
}
