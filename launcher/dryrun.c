/* dryrun.c - see dryrun.h. */
#include "launcher/dryrun.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/environment.h"
#include "launcher/hide.h"
#include "launcher/options.h"
#include "launcher/os.h"
#include "launcher/plan.h"
#include "policy/engine.h"

static void add_text(struct b_str *out, const char *head, const char *text)
{
	b_str_add(out, head);
	b_str_add_visible(out, text, strlen(text));
	b_str_addc(out, '\n');
}

static void add_policy(const struct pol_engine *e, struct b_str *out)
{
	size_t i;

	add_text(out, "policy: ", e->policy_name);
	if (e->rules.profile)
		add_text(out, "profile: ", e->rules.profile);
	for (i = 0; i < e->rules.nworkspaces; i++)
		add_text(out, "workspace: ", e->rules.workspaces[i]);
	b_str_add(out, "rules:");
	for (i = 0; i < SBX_OP_COUNT; i++)
		b_str_addf(out, " %zu %s%s", e->rules.op[i].n, sbx_op_name((enum sbx_op)i),
			   i + 1 < SBX_OP_COUNT ? "," : "\n");
}

static void add_floor(struct lau_plan *p, struct b_str *out)
{
	const char **list;
	size_t n, i;

	list = lau_plan_mechanisms(p, 0, &n);
	b_str_add(out, "floor:");
	for (i = 0; i < n; i++)
		b_str_addf(out, "%s %s", i ? "," : "", list[i]);
	b_str_addc(out, '\n');
	for (i = 0; i < LAU_BOUND_COUNT; i++)
		if (p->bounds.v[i])
			b_str_addf(out, "%s: %llu, held by %s\n", lau_bound_name((enum lau_bound)i),
				   (unsigned long long)p->bounds.v[i],
				   lau_holder_name(p->bounds.by[i]));
	for (i = 0; i < p->nlosses; i++)
		add_text(out, p->losses[i].fatal ? "not enforced: " : "limit: ", p->losses[i].text);
}

static void add_environment(const struct lau_plan *p, const struct lau_environment *env,
			    struct b_str *out)
{
	b_str_addf(out, "environment: %s%s\n", p->env_mode, p->nremoved_vars ? ", without" : "");
	for (size_t i = 0; i < p->nremoved_vars; i++)
		add_text(out, "  - ", p->removed_vars[i]);
	lau_environment_show(env, out);
}

void lau_dryrun_show(const struct lau_options *o, struct lau_plan *p,
		     const struct lau_environment *env, const char *program, struct b_str *shown)
{
	b_auto(lau_secrets_release) struct lau_secrets secrets = {0};
	b_auto(b_str_release) struct b_str text = {0};
	struct b_str *out = &text;
	char **argv;
	size_t i;

	lau_hide_collect(o, lau_os_environ(), false, &secrets);
	add_policy(p->engine, out);
	add_floor(p, out);
	if (p->nfatal && !p->engine->effect.lax)
		b_str_add(out, "would be refused: not everything can be enforced (--best-effort "
			       "runs all the same)\n");
	add_environment(p, env, out);
	add_text(out, "program: ", program);
	b_str_add(out, "command:");
	/* before what is not printable is escaped, and the rest of the text as it is */
	argv = lau_hide_words(&secrets, o->argv, &p->arena);
	for (i = 0; argv[i]; i++) {
		b_str_addc(out, ' ');
		b_str_add_visible(out, argv[i], strlen(argv[i]));
	}
	b_str_addc(out, '\n');
	lau_hide_text(&secrets, b_str_c(&text), shown);
}
