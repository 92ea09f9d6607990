/* SPDX-License-Identifier: Apache-2.0 */
/* ask_diff.c - sbx-policy diff: what a second document allows or denies that a first does not. */
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/questions/convert.h"
#include "policy/questions/explain.h"
#include "policy/document/documents.h"
#include "policy/engine.h"
#include "policy/document/model.h"
#include "policy/document/settings.h"

struct diff {
	const struct ask_opts *o;
	const char *files[2];
	struct pol_doc docs[2];
	bool is_same;
	bool has_settings; /* that differ, of this profile */
	struct b_str *out;
	struct b_json json;
};

/* The engine of one file and profile, with the options of the question. */
static int engine_of(const struct diff *d, int side, const char *profile, struct asked *out,
		     struct b_err *err)
{
	struct ask_opts o = *d->o;
	int rc;

	o.run.policy.policies = (struct b_strlist){0};
	b_strlist_add(&o.run.policy.policies, d->files[side]);
	/* one of another system has only one, whatever it is called */
	o.run.policy.profile = pol_doc_is_foreign(&d->docs[side]) ? NULL : profile;
	/* what a run has for itself follows from host and network: no rule of a document's */
	if (!o.run.isolate_given)
		o.run.isolate = 0;
	o.run.isolate_given = true;
	/* The document itself may lie where it lets the command write: closed on both sides, that
	 * is no difference. */
	if (!pol_store_is_name(d->files[!side]))
		o.run.policy.also_used = d->files[!side];
	rc = ask_policy(&o, out, err);
	b_strlist_release(&o.run.policy.policies);
	return rc;
}

/* The word of a setting that two policies set differently. */
static void setting_word(enum pol_setting which, int value, struct b_str *out)
{
	const char *words = pol_setting_words(which);

	if (!words)
		words = "false|true";
	for (; value > 0; value--)
		words += strcspn(words, "|") + 1;
	b_str_addn(out, words, strcspn(words, "|"));
}

static void tell_change(struct diff *d, const char *name, const struct b_str *from,
			const struct b_str *to, struct b_json *out)
{
	d->has_settings = true;
	if (!d->o->json) {
		b_str_addf(out->out, "~ %s: ", name);
		b_str_add_visible(out->out, to->s, to->len);
		b_str_add(out->out, ", before ");
		b_str_add_visible(out->out, from->s, from->len);
		b_str_addc(out->out, '\n');
		return;
	}
	b_json_open(out, '{');
	b_json_key(out, "name");
	b_json_str(out, name);
	b_json_bytes(out, "before", from->s, from->len);
	b_json_bytes(out, "after", to->s, to->len);
	b_json_close(out, '}');
}

static void tell_setting(struct diff *d, enum pol_setting which, int before, int after,
			 struct b_json *out)
{
	b_auto(b_str_release) struct b_str from = {0}, to = {0};

	if (before == after)
		return;
	setting_word(which, before, &from);
	setting_word(which, after, &to);
	tell_change(d, pol_setting_name(which), &from, &to, out);
}

/* What the documents say and neither rule nor setting shows. */
static void tell_others(struct diff *d, const struct pol_doc *before, const struct pol_doc *after,
			struct b_json *out)
{
	struct pol_other a[POL_SAID_MAX], b[POL_SAID_MAX];
	size_t n;

	pol_others(before, a, &n);
	pol_others(after, b, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(b_str_c(&a[i].value), b_str_c(&b[i].value)) != 0)
			tell_change(d, a[i].name, &a[i].value, &b[i].value, out);
	pol_others_release(a, n);
	pol_others_release(b, n);
}

/* Settings that no verdict shows. */
static void tell_settings(struct diff *d, const struct pol_effect *a, const struct pol_effect *b,
			  struct b_json *out)
{
	tell_setting(d, POL_SET_network, a->network, b->network, out);
	tell_setting(d, POL_SET_unixSockets, a->unix_, b->unix_, out);
	tell_setting(d, POL_SET_env, a->env, b->env, out);
	tell_setting(d, POL_SET_scratch, a->scratch, b->scratch, out);
	tell_setting(d, POL_SET_cache, a->cache, b->cache, out);
	tell_setting(d, POL_SET_strict, !a->lax, !b->lax, out);
}

static void tell(struct diff *d, const char *profile, const struct pol_differences *found,
		 const struct asked *was, const struct asked *is)
{
	const struct pol_engine *before = was->plan.engine, *after = is->plan.engine;
	b_auto(b_str_release) struct b_str text = {0};
	struct b_json settings = {.out = &text};
	bool is_same;

	d->has_settings = false;
	if (d->o->json)
		b_json_open(&settings, '[');
	tell_settings(d, &before->effect, &after->effect, &settings);
	tell_others(d, &was->dirs.layers.main, &is->dirs.layers.main, &settings);
	is_same = found->n == 0 && !d->has_settings;
	d->is_same &= is_same;
	if (d->o->json) {
		b_json_close(&settings, ']');
		b_json_open(&d->json, '{');
		b_json_bytes(&d->json, "profile", profile, strlen(profile));
		b_json_key(&d->json, "equal");
		b_json_bool(&d->json, is_same);
		b_json_key(&d->json, "differences");
		pol_differences_json(found, after, &d->json);
		b_json_key(&d->json, "settings");
		b_str_add(d->out, b_str_c(&text));
		b_json_close(&d->json, '}');
	} else if (!is_same) {
		b_str_add(d->out, "profile ");
		b_str_add_visible(d->out, profile, strlen(profile));
		b_str_addf(d->out, "\n%s", b_str_c(&text));
		pol_differences_text(found, after, d->out);
	}
}

static int compare(struct diff *d, const char *profile, struct b_err *err)
{
	b_auto(asked_release) struct asked before = ASKED_NONE, after = ASKED_NONE;
	struct pol_differences found;

	if (engine_of(d, 0, profile, &before, err) < 0 || engine_of(d, 1, profile, &after, err) < 0)
		return -1;
	if (pol_differences_find(before.plan.engine, after.plan.engine, &found, err) < 0)
		return -1;
	tell(d, profile, &found, &before, &after);
	pol_differences_release(&found);
	return 0;
}

static bool has_profile(const struct pol_doc *doc, const char *name)
{
	for (size_t i = 0; i < doc->nprofiles; i++)
		if (strcmp(doc->profiles[i].name.s, name) == 0)
			return true;
	return false;
}

static void tell_missing(struct diff *d, const char *profile, int side)
{
	d->is_same = false;
	if (d->o->json) {
		b_json_open(&d->json, '{');
		b_json_bytes(&d->json, "profile", profile, strlen(profile));
		b_json_key(&d->json, "equal");
		b_json_bool(&d->json, false);
		b_json_key(&d->json, "only_in");
		b_json_str(&d->json, side == 0 ? "before" : "after");
		b_json_close(&d->json, '}');
		return;
	}
	b_str_add(d->out, "profile ");
	b_str_add_visible(d->out, profile, strlen(profile));
	b_str_add(d->out, "\n  only in ");
	b_str_add_visible(d->out, d->files[side], strlen(d->files[side]));
	b_str_addc(d->out, '\n');
}

/* Each profile that both have; that one has alone is a difference. Of documents without any, what
 * they deny is what there is to compare. */
/* The other document's only profile, when that is Orbit's. */
static int compare_foreign(struct diff *d, struct b_err *err)
{
	const struct pol_doc *orbit = &d->docs[pol_doc_is_foreign(&d->docs[0])];

	return compare(d, orbit->nprofiles == 1 ? orbit->profiles[0].name.s : NULL, err);
}

static int compare_all(struct diff *d, struct b_err *err)
{
	if (pol_doc_is_foreign(&d->docs[0]) || pol_doc_is_foreign(&d->docs[1]))
		return compare_foreign(d, err);
	if (d->docs[0].nprofiles == 0 && d->docs[1].nprofiles == 0)
		return compare(d, "unrestricted", err);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < d->docs[side].nprofiles; i++) {
			const char *name = d->docs[side].profiles[i].name.s;

			if (!has_profile(&d->docs[!side], name))
				tell_missing(d, name, side);
			else if (side == 0 && compare(d, name, err) < 0)
				return -1;
		}
	return 0;
}

static int run(struct diff *d, struct b_err *err)
{
	const char *name;

	for (int side = 0; side < 2; side++)
		if (pol_documents_load(&d->files[side], 1,
				       (enum pol_dialect)d->o->run.policy.dialect, &d->docs[side],
				       &name, err) < 0)
			return -1;
	return d->o->run.policy.profile ? compare(d, d->o->run.policy.profile, err)
					: compare_all(d, err);
}

int ask_diff(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0}, text = {0};
	struct diff d = {.o = o, .is_same = true, .out = &text, .json = {.out = &text}};
	struct b_err err;
	int rc;

	if (n != 2 || o->run.policy.policies.n > 0) {
		b_fail(&err, B_USAGE, 0, "diff: expected sbx-policy diff [options] OLD NEW");
		return ask_trouble(&err);
	}
	d.files[0] = words[0];
	d.files[1] = words[1];
	rc = run(&d, &err);
	pol_doc_release(&d.docs[0]);
	pol_doc_release(&d.docs[1]);
	if (rc < 0)
		return ask_trouble(&err);
	if (o->json)
		b_str_addf(&out, "{\"equal\":%s,\"profiles\":[%s]}\n", d.is_same ? "true" : "false",
			   b_str_c(&text));
	else
		b_str_add(&out, d.is_same ? "equal: every verdict is the same\n" : b_str_c(&text));
	return ask_print(&out, d.is_same ? YES : NO);
}
