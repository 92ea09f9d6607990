/* envplan.c - see envplan.h. */
#include "launcher/envplan.h"

#include <string.h>

#include "base/err.h"
#include "launcher/environment.h"
#include "launcher/options.h"
#include "launcher/plan.h"
#include "policy/document/layers.h"

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
