/* SPDX-License-Identifier: Apache-2.0 */
/* ask_show.c - sbx-policy show, list, add, presets, trust: rules, plans and the documents that
 * are there. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/plan/mounts.h"
#include "policy/plan/seccomp.h"
#include "policy/document/documents.h"
#include "policy/engine.h"
#include "policy/questions/explain.h"
#include "policy/document/layers.h"
#include "policy/document/model.h"
#include "policy/front/presets.h"
#include "policy/rules/workspace.h"

/* Sbx-policy show: the rules, the floor, the kernel's plans. */

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
			b_str_add(out, "this host has no Landlock: --abi N shows the plan for a "
				       "kernel that has\n");
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

/* Sbx-policy list and add: policies by name; presets: those compiled in; trust and
 * distrust: project files. */

int ask_list(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct pol_store store;
	const char **names;
	struct b_err err;
	size_t n_names;

	(void)o;
	if (n > 0) {
		b_fail(&err, B_USAGE, 0, "list: takes no `%s`", words[0]);
		return ask_trouble(&err);
	}
	pol_store_find(&a, &store);
	if (pol_store_list(&store, &a, &names, &n_names, &err) < 0)
		return ask_trouble(&err);
	for (size_t i = 0; i < n_names; i++)
		b_str_addf(&out, "%s\n", names[i]);
	return ask_print(&out, YES);
}

int ask_add(struct ask_opts *o, char const *const *files, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct pol_store store;
	struct b_err err;
	const char *path;

	(void)o;
	if (n == 0) {
		b_fail(&err, B_USAGE, 0, "add: no file, expected sbx-policy add FILE...");
		return ask_trouble(&err);
	}
	pol_store_find(&a, &store);
	for (size_t i = 0; i < n; i++) {
		if (pol_store_add(&store, &a, files[i], &path, &err) < 0)
			return ask_trouble(&err);
		b_str_add_visible(&out, path, strlen(path));
		b_str_addc(&out, '\n');
	}
	return ask_print(&out, YES);
}

int ask_presets(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;

	(void)o;
	for (unsigned i = 0; n == 0 && i < pol_presets_n; i++)
		b_str_addf(&out, "%s\n", pol_presets[i].name);
	for (size_t i = 0; i < n; i++) {
		const struct pol_preset *p = pol_preset_find(words[i]);

		if (!p) {
			b_fail(&err, B_USAGE, 0,
			       "presets: no preset `%s`; without a name, all are listed", words[i]);
			return ask_trouble(&err);
		}
		b_str_addn(&out, p->text, p->len);
	}
	return ask_print(&out, YES);
}

/* The project file that is meant: it, or the one in that directory. Canonical; need not be there.
 */
static int find_project(struct b_arena *a, const char *text, const char **out, struct b_err *err)
{
	const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text, *dir = text;

	if (strcmp(name, POL_PROJECT_FILE) == 0)
		dir = slash == text ? "/"
		      : slash	    ? b_arena_strndup(a, text, (size_t)(slash - text))
				    : ".";
	if (pol_file_given(a, dir, &dir, err) < 0)
		return -1;
	*out = b_arena_printf(a, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, POL_PROJECT_FILE);
	return 0;
}

static int trust_one(struct b_arena *a, const char *text, bool trust, struct b_str *out,
		     struct b_err *err)
{
	b_auto(b_str_release) struct b_str content = {0};
	struct pol_doc doc = {0};
	char hash[B_SHA256_HEX];
	const char *path;
	bool is_there;
	struct pol_input in = {.dialect = POL_DIALECT_orbit};

	if (find_project(a, text, &path, err) < 0)
		return -1;
	if (!trust)
		return pol_trust_set(pol_config_dir(a), path, NULL, err);
	in.name = path;
	/* What is hashed is what was found valid. */
	if (pol_project_read(path, &content, &is_there, err) < 0)
		return -1;
	if (!is_there)
		return b_fail(err, B_POLICY, 0, "%s: there is no such file", path);
	in.text = b_str_c(&content);
	in.len = content.len;
	if (pol_documents_put(&in, &doc, err) < 0)
		return -1;
	pol_doc_release(&doc);
	b_sha256_hex(content.s, content.len, hash);
	if (pol_trust_set(pol_config_dir(a), path, hash, err) < 0)
		return -1;
	b_str_addf(out, "%s  ", hash);
	b_str_add_visible(out, path, strlen(path));
	b_str_addc(out, '\n');
	return 0;
}

static int trust_all(char const *const *files, size_t n, bool trust)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct b_err err;

	for (size_t i = 0; i < n; i++)
		if (trust_one(&a, files[i], trust, &out, &err) < 0)
			return ask_trouble(&err);
	return ask_print(&out, YES);
}

/* Names of files are anybody's: a line of the list is shown as any other line with one. */
int ask_trust(struct ask_opts *o, char const *const *files, size_t n)
{
	b_auto(b_str_release) struct b_str list = {0}, out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	const char *line;

	(void)o;
	if (n > 0)
		return trust_all(files, n, true);
	pol_trust_list(pol_config_dir(&a), &list);
	for (line = b_str_c(&list); *line;) {
		size_t len = strcspn(line, "\n");

		b_str_add_visible(&out, line, len);
		b_str_addc(&out, '\n');
		line += len + (line[len] == '\n');
	}
	return ask_print(&out, YES);
}

int ask_distrust(struct ask_opts *o, char const *const *files, size_t n)
{
	struct b_err err;

	(void)o;
	if (n > 0)
		return trust_all(files, n, false);
	b_fail(&err, B_USAGE, 0, "distrust: no file, expected sbx-policy distrust FILE...");
	return ask_trouble(&err);
}
