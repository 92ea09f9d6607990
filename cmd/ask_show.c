/* ask_show.c - sbx-policy show: the rules, the floor, the kernel's plans. */
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/back/bwrap.h"
#include "policy/back/seccomp.h"
#include "policy/documents.h"
#include "policy/front/caliban_bwrap.h"
#include "policy/load.h"
#include "policy/engine.h"
#include "policy/explain.h"
#include "policy/model.h"

/* What another system's document opens and closes: paths with all below them. */
static void show_roots(const struct pol_doc *doc, struct b_str *out)
{
	static const char *const keys[] = {
#define X(key) [POL_ROOTS_##key] = #key,
		POL_ROOT_LISTS(X)
#undef X
	};

	for (int i = 0; i < POL_ROOT_LIST_COUNT; i++) {
		const struct pol_texts *list = &doc->settings.roots[i];

		if (list->n)
			b_str_addf(out, "%s:\n", keys[i]);
		for (size_t k = 0; k < list->n; k++) {
			const struct pol_text *t = &list->v[k];

			b_str_add(out, "  ");
			b_str_add_visible(out, t->s, strlen(t->s));
			b_str_add(out, t->is_exact ? "  (alone; " : "  (");
			b_str_add_visible(out, t->pos.file, strlen(t->pos.file));
			b_str_addf(out, ":%u:%u)\n", t->pos.line, t->pos.col);
		}
	}
}

static int show_effective(const struct ask_opts *o, struct b_str *out, struct b_err *err)
{
	const struct b_strlist *files = &o->run.policy.policies;
	b_auto(pol_doc_release) struct pol_doc doc = {0};
	struct pol_effective eff;
	const char *name = o->run.policy.profile, *title;

	if (pol_documents_load(files->v, files->n, (enum pol_dialect)o->run.policy.dialect, &doc,
			       &title, err) < 0)
		return -1;
	for (size_t i = 0; i < (name ? 1 : doc.nprofiles); i++) {
		if (pol_doc_effective(&doc, name ? name : doc.profiles[i].name.s, &eff, err) < 0)
			return -1;
		pol_explain_effective(&eff, out);
		if (pol_doc_is_foreign(&doc))
			show_roots(&doc, out);
	}
	return 0;
}

static void show_bwrap(struct asked *a, struct b_str *out)
{
	b_auto_free char *cwd = getcwd(NULL, 0);
	b_auto(b_str_release) struct b_str args = {0};
	struct pol_bwrap options;

	lau_plan_wrap(&a->plan, geteuid() == 0, cwd ? cwd : "/", &options);
	pol_bwrap_arguments(&a->plan.mounts, &options, &args);
	pol_bwrap_show(&args, out);
}

static int show_caliban(const struct ask_opts *o, struct b_str *out, struct b_err *err)
{
	const struct b_strlist *files = &o->run.policy.policies;
	b_auto(b_str_release) struct b_str text = {0}, args = {0};

	if (files->n != 1)
		return b_fail(err, B_USAGE, 0,
			      "--bwrap-style caliban: expected one file, caliban's settings");
	if (pol_policy_read(files->v[0], &text, err) < 0 ||
	    pol_caliban_bwrap(files->v[0], b_str_c(&text), text.len, pol_fsview_host(), &args,
			      err) < 0)
		return -1;
	pol_bwrap_show(&args, out);
	return 0;
}

static int show_plan(const struct ask_opts *o, struct asked *a, struct b_str *out,
		     struct b_err *err)
{
	switch ((enum ask_plan)o->plan) {
	case PLAN_LANDLOCK:
		lau_plan_kernel(&a->plan);
		if (a->plan.landlock_abi > 0)
			pol_ll_show(&a->plan.landlock, out);
		else
			b_str_add(out, "this host has no Landlock: --abi N shows another's plan\n");
		break;
	case PLAN_SECCOMP:
		pol_sc_show(a->plan.seccomp_flags, out);
		break;
	case PLAN_SBPL:
		return ask_macos_show(o, a, out, err);
	case PLAN_BWRAP:
		show_bwrap(a, out);
		break;
	case PLAN_NONE:
		break;
	}
	return 0;
}

/* What a run would do: its floor, a plan of the kernel's, or the ruleset. */
static int show_run(const struct ask_opts *o, struct b_str *out, struct b_err *err)
{
	b_auto(asked_release) struct asked a = ASKED_NONE;

	if (o->mounts == MOUNTS_CALIBAN)
		return o->plan == PLAN_BWRAP
			       ? show_caliban(o, out, err)
			       : b_fail(err, B_USAGE, 0, "--bwrap-style: only with --plan bwrap");
	if (ask_run(o, &a, err) < 0)
		return -1;
	ask_notices(a.plan.engine);
	if (o->floor)
		pol_floor_show(&a.plan.floor, out);
	if (o->plan != PLAN_NONE)
		return show_plan(o, &a, out, err);
	if (!o->floor)
		pol_engine_show(a.plan.engine, out);
	return 0;
}

int ask_show(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;

	if (o->plan == PLAN_BWRAP)
		o->run.backend = LAU_BACKEND_BWRAP;
	for (size_t i = 0; i < n; i++)
		b_strlist_add(&o->run.policy.policies, words[i]);
	if (o->effective && show_effective(o, &out, &err) < 0)
		return ask_trouble(&err);
	if ((!o->effective || o->floor || o->plan != PLAN_NONE) && show_run(o, &out, &err) < 0)
		return ask_trouble(&err);
	return ask_print(&out, YES);
}
