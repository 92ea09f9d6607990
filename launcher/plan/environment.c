/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - see environment.h. */
#include "launcher/plan/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/channel.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "policy/document/layers.h"

void lau_environment_release(struct lau_environment *env)
{
	free(env->vars);
	free(env->judges);
	b_arena_release(&env->arena);
	*env = (struct lau_environment){0};
}

static struct lau_env_var *find(const struct lau_environment *env, const char *name, size_t n)
{
	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->vars[i].name, name, n) == 0 && !env->vars[i].name[n])
			return &env->vars[i];
	return NULL;
}

static struct lau_env_var *set(struct lau_environment *env, const char *name, size_t n,
			       const char *value)
{
	struct lau_env_var *var = find(env, name, n);

	if (!var) {
		b_grow(env->vars, env->n, env->cap);
		var = &env->vars[env->n++];
		*var = (struct lau_env_var){.name = b_arena_strndup(&env->arena, name, n)};
	}
	var->value = b_arena_strndup(&env->arena, value, strlen(value));
	return var;
}

void lau_environment_set(struct lau_environment *env, const char *name, const char *value)
{
	set(env, name, strlen(name), value);
}

void lau_environment_offer(struct lau_environment *env, const char *name, const char *value)
{
	const struct lau_env_var *var = find(env, name, strlen(name));

	if (!var || !var->is_users)
		lau_environment_set(env, name, value);
}

int lau_environment_users(struct lau_environment *env, const char *entry, struct b_err *err)
{
	const char *value = strchr(entry, '=');
	size_t n = strcspn(entry, "=");

	if (!value || n == 0)
		return b_fail(err, B_USAGE, 0, "`%.*s`, expected NAME=VALUE", (int)n, entry);
	if (strncmp(entry, "SBX_", 4) == 0)
		return b_fail(err, B_USAGE, 0, "`%.*s`: names that begin with SBX_ are reserved",
			      (int)n, entry);
	set(env, entry, n, value + 1)->is_users = true;
	return 0;
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

/* ---- what is taken away ---- */

void lau_environment_judge(struct lau_environment *env, enum pol_env mode,
			   const struct lau_env_name *names, size_t n)
{
	b_grow(env->judges, env->njudges, env->judges_cap);
	env->judges[env->njudges++] = (struct lau_env_judge){mode, names, n};
}

void lau_environment_deny(struct lau_environment *env, const struct lau_env_name *names, size_t n)
{
	env->denied = (struct lau_env_judge){.names = names, .nnames = n};
}

enum pol_env lau_environment_mode(const struct lau_environment *env)
{
	enum pol_env mode = POL_ENV_KEEP;

	for (size_t i = 0; i < env->njudges; i++)
		if (env->judges[i].mode > mode)
			mode = env->judges[i].mode;
	return mode;
}

static bool is_named(const struct lau_env_judge *j, const char *name)
{
	for (size_t i = 0; i < j->nnames; i++)
		if (j->names[i].is_literal ? strcmp(j->names[i].name, name) == 0
					   : lau_env_matches(j->names[i].name, name))
			return true;
	return false;
}

static bool lets_pass(const struct lau_env_judge *j, const char *name)
{
	switch (j->mode) {
	case POL_ENV_KEEP:
		return true;
	case POL_ENV_SCRUB:
		return (!lau_name_is_secret(name, LAU_SECRET_SCRUB) && !lau_env_is_hook(name)) ||
		       is_named(j, name);
	case POL_ENV_PASS:
		return lau_env_is_usual(name) || is_named(j, name);
	case POL_ENV_CLEAR:
		return lau_env_is_least(name) || is_named(j, name);
	}
	return false;
}

/* An entry without a `=` has no name: whoever judges by names drops it. */
static bool passes(const struct lau_environment *env, const char *entry)
{
	b_auto(b_str_release) struct b_str name = {0};

	if (lau_environment_mode(env) == POL_ENV_KEEP && env->denied.nnames == 0)
		return true;
	if (!strchr(entry, '='))
		return false;
	b_str_addn(&name, entry, strcspn(entry, "="));
	if (is_named(&env->denied, b_str_c(&name)))
		return false;
	for (size_t i = 0; i < env->njudges; i++)
		if (!lets_pass(&env->judges[i], b_str_c(&name)))
			return false;
	return true;
}

static bool is_kept(const struct lau_environment *env, const char *entry)
{
	return !find(env, entry, strcspn(entry, "=")) && passes(env, entry);
}

const char *lau_environment_get(const struct lau_environment *env, char *const *base,
				const char *name)
{
	const struct lau_env_var *var = find(env, name, strlen(name));
	size_t n = strlen(name);

	if (var)
		return var->value;
	for (; *base; base++)
		if (strncmp(*base, name, n) == 0 && (*base)[n] == '=')
			return passes(env, *base) ? *base + n + 1 : NULL;
	return NULL;
}

const char **lau_environment_removed(struct lau_environment *env, char *const *base, size_t *out_n)
{
	const char **names;
	size_t n = 0;

	while (base[n])
		n++;
	names = b_arena_alloc(&env->arena, (n + 1) * sizeof *names);
	*out_n = 0;
	for (; *base; base++) {
		size_t len = strcspn(*base, "=");

		if (!find(env, *base, len) && !passes(env, *base))
			names[(*out_n)++] = b_arena_strndup(&env->arena, *base, len);
	}
	names[*out_n] = NULL;
	return names;
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
		if (is_kept(env, base[i]))
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
		if (lau_name_is_secret(env->vars[i].name, LAU_SECRET_SHOWN))
			b_str_add(out, LAU_REDACTED);
		else
			b_str_add_visible(out, env->vars[i].value, strlen(env->vars[i].value));
		b_str_addc(out, '\n');
	}
}

/* ---- options ---- */

int lau_envplan_add_pass(void *target, const char *value, struct b_err *err)
{
	struct lau_options *o = target;

	if (!*value || strchr(value, '='))
		return b_fail(err, B_USAGE, 0, "`%.*s`, expected the name of a variable",
			      (int)strcspn(value, "="), value);
	b_strlist_add(&o->pass_env, value);
	return 0;
}

int lau_envplan_add_set(void *target, const char *value, struct b_err *err)
{
	struct lau_environment scratch = {0};
	struct lau_options *o = target;
	int rc = lau_environment_users(&scratch, value, err);

	lau_environment_release(&scratch);
	if (rc == 0)
		b_strlist_add(&o->set_env, value);
	return rc;
}

/* ---- the plan ---- */

/* Those of a document, then those of the command line. */
static const struct lau_env_name *list_names(struct lau_environment *env,
					     const struct pol_texts *doc,
					     const struct b_strlist *more, size_t *out_n)
{
	size_t n = 0, all = doc->n + (more ? more->n : 0);
	struct lau_env_name *names = b_arena_alloc(&env->arena, (all + 1) * sizeof *names);

	for (size_t i = 0; i < doc->n; i++)
		names[n++] = (struct lau_env_name){
			b_arena_strndup(&env->arena, doc->v[i].s, strlen(doc->v[i].s)),
			doc->v[i].is_literal};
	for (size_t i = 0; more && i < more->n; i++)
		names[n++] = (struct lau_env_name){more->v[i], false};
	*out_n = n;
	return names;
}

static enum pol_env asked(const struct lau_options *o, const struct pol_settings *doc)
{
	if (o->policy.said.v[POL_SET_env] != POL_UNSAID)
		return (enum pol_env)o->policy.said.v[POL_SET_env];
	return doc->value[POL_SET_env].said ? (enum pol_env)doc->value[POL_SET_env].v
					    : POL_ENV_KEEP;
}

int lau_envplan(const struct lau_options *o, const struct pol_layers *layers, char *const *base,
		struct lau_environment *env, struct b_err *err)
{
	const struct pol_settings *doc = &layers->main.settings;
	const struct lau_env_name *names;
	size_t n;

	names = list_names(env, &doc->pass_env, &o->pass_env, &n);
	lau_environment_judge(env, asked(o, doc), names, n);
	names = list_names(env, &layers->main.foreign.no_env, NULL, &n);
	lau_environment_deny(env, names, n);
	for (size_t i = 0; i < layers->n; i++) {
		const struct pol_settings *s = &layers->v[i].doc.settings;

		if (!s->value[POL_SET_env].said)
			continue;
		names = list_names(env, &s->pass_env, NULL, &n);
		lau_environment_judge(env, (enum pol_env)s->value[POL_SET_env].v, names, n);
	}
	for (size_t i = 0; i < o->set_env.n; i++)
		if (lau_environment_users(env, o->set_env.v[i], err) < 0)
			return -1;
	/* programs without a language count bytes */
	if (lau_environment_mode(env) == POL_ENV_CLEAR && !lau_environment_get(env, base, "LANG"))
		lau_environment_set(env, "LANG", "C.UTF-8");
	return 0;
}

void lau_envplan_note(struct lau_environment *env, char *const *base, struct lau_plan *p)
{
	static const char *const words[] = {"keep", "scrub", "pass", "clear"};
	const char **names = lau_environment_removed(env, base, &p->nremoved_vars);

	p->env_mode = words[lau_environment_mode(env)];
	p->removed_vars = names;
}
