/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - two documents as one, a profile with its global denials, and a preset below a
 * document. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/compile/requests.h"
#include "policy/document/model.h"
#include "policy/document/settings.h"

/* Two documents as one: Orbit's merged(global, workspace). */

static const char *copy(struct pol_doc *to, const char *s)
{
	return s ? b_arena_strndup(&to->arena, s, strlen(s)) : NULL;
}

static struct pol_text copy_text(struct pol_doc *to, const struct pol_text *text)
{
	struct pol_text t = *text;

	t.s = copy(to, text->s);
	t.pos.file = copy(to, text->pos.file);
	return t;
}

static void add_all(struct pol_doc *to, struct pol_texts *list, const struct pol_texts *from)
{
	for (size_t i = 0; i < from->n; i++)
		pol_texts_add(to, list, copy_text(to, &from->v[i]));
}

static void add_connects(struct pol_doc *to, struct pol_connects *list,
			 const struct pol_connects *from)
{
	for (size_t i = 0; i < from->n; i++) {
		struct pol_connect c = from->v[i];

		c.to = copy_text(to, &from->v[i].to);
		c.by = c.places = (struct pol_texts){0};
		if (c.http)
			c.http = pol_http_rules_copy(&to->arena, c.http);
		add_all(to, &c.by, &from->v[i].by);
		add_all(to, &c.places, &from->v[i].places);
		pol_connects_add(to, list, c);
	}
}

/* ---- denies ---- */

/*
 * A deny that is there already, by exact text, is not said twice: unless an exception has been
 * taken out of it since. Then it is what takes that back, and dropping it would open what the
 * workspace's own document keeps closed.
 */
static bool is_said(const struct pol_texts *list, const struct pol_text *text)
{
	for (size_t i = list->n; i-- > 0;) {
		if (strcmp(list->v[i].s, text->s) == 0)
			return true;
		if (pol_rule_is_negated(list->v[i].s) != pol_rule_is_negated(text->s))
			return false;
	}
	return false;
}

/* What a document opens beside its profiles stands behind its own denies, and never behind
 * another's (conflicts.c): then each has to be there as its own. */
static bool opens(const struct pol_doc *doc)
{
	static const enum pol_root_list lists[] = {POL_ROOTS_openRead, POL_ROOTS_openModify,
						   POL_ROOTS_readRoots, POL_ROOTS_sideRoots,
						   POL_ROOTS_allowRead};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (doc->settings.roots[lists[i]].n)
			return true;
	return false;
}

static void add_denies(struct pol_doc *to, struct pol_texts *list, const struct pol_texts *from,
		       bool keeps_all)
{
	for (size_t i = 0; i < from->n; i++)
		if (keeps_all || !is_said(list, &from->v[i]))
			pol_texts_add(to, list, copy_text(to, &from->v[i]));
}

/* Is the exception `rule` one of the host's, or within one? */
static bool is_within(struct b_arena *a, const struct pol_text *host, const char *rule,
		      const char **out_exception)
{
	struct b_err ignored;
	bool negated;

	*out_exception = pol_rule_normalise(a, host->s, "denyModify", &negated, &ignored);
	return *out_exception && negated &&
	       (strcmp(*out_exception, rule) == 0 || pol_rule_contains(*out_exception, rule));
}

/* Does the host itself take back its deny number i there, by an exception behind it? */
static bool is_taken_back(struct b_arena *a, const struct pol_texts *host, size_t i,
			  const char *deny, const char *rule)
{
	const char *exception;

	for (size_t k = i + 1; k < host->n; k++)
		if (is_within(a, &host->v[k], rule, &exception) &&
		    pol_rule_contains(deny, exception))
			return true;
	return false;
}

/* The exception takes back all denies that contain it: those of the host must be taken back there
 * by the host's own exceptions. */
static bool is_on_surface(struct b_arena *a, const struct pol_texts *host, const char *rule)
{
	bool is_excepted = false, negated;
	struct b_err ignored;
	const char *s;

	for (size_t i = 0; i < host->n; i++) {
		is_excepted |= is_within(a, &host->v[i], rule, &s);
		s = pol_rule_normalise(a, host->v[i].s, "denyModify", &negated, &ignored);
		if (!s ||
		    (!negated && pol_rule_contains(s, rule) && !is_taken_back(a, host, i, s, rule)))
			return false;
	}
	return is_excepted;
}

static int check_exceptions(struct b_arena *a, const struct pol_texts *host,
			    const struct pol_texts *workspace, struct b_err *err)
{
	for (size_t i = 0; i < workspace->n; i++) {
		const struct pol_text *t = &workspace->v[i];
		const char *rule;
		bool negated;

		rule = pol_rule_normalise(a, t->s, "denyModify", &negated, err);
		if (!rule)
			return -1;
		if (!negated || is_on_surface(a, host, rule))
			continue;
		return b_fail(err, B_POLICY, 0,
			      "%s:%u:%u: denyModify exception `!%s` is outside the host policy "
			      "exception surface, expected it within an exception of the policy "
			      "before",
			      t->pos.file, t->pos.line, t->pos.col, rule);
	}
	return 0;
}

/* ---- profiles ---- */

static bool has_profile(const struct pol_doc *doc, const char *name)
{
	for (size_t i = 0; i < doc->nprofiles; i++)
		if (strcmp(doc->profiles[i].name.s, name) == 0)
			return true;
	return false;
}

static void add_profile(struct pol_doc *to, const struct pol_profile *from)
{
	struct pol_profile *p = pol_doc_add_profile(to, copy_text(to, &from->name));

	add_all(to, &p->read, &from->read);
	add_all(to, &p->modify, &from->modify);
	add_connects(to, &p->connect, &from->connect);
}

/* ---- times ---- */

/* RFC 3339, as the front-end let it pass: seconds since 1970, and what comes behind the point. */
static int64_t seconds(const char *s, const char **out_fraction)
{
	struct tm tm = {.tm_year = atoi(s) - 1900,
			.tm_mon = atoi(s + 5) - 1,
			.tm_mday = atoi(s + 8),
			.tm_hour = atoi(s + 11),
			.tm_min = atoi(s + 14),
			.tm_sec = atoi(s + 17)};
	int64_t t = timegm(&tm);
	const char *zone = s + strlen("2026-05-18T01:02:03");

	*out_fraction = "";
	if (*zone == '.') {
		*out_fraction = zone + 1;
		zone += 1 + strspn(zone + 1, "0123456789");
	}
	if (*zone == 'Z')
		return t;
	return t - (*zone == '-' ? -60 : 60) * (atoi(zone + 1) * 60 + atoi(zone + 4));
}

static bool is_later(const char *a, const char *b)
{
	const char *x, *y;
	int64_t s = seconds(a, &x), t = seconds(b, &y);
	size_t m = strspn(x, "0123456789"), n = strspn(y, "0123456789");
	int cmp = strncmp(x, y, m < n ? m : n);

	if (s != t)
		return s > t;
	return cmp ? cmp > 0 : m > n;
}

static const char *later(const char *a, const char *b)
{
	if (!a || !b)
		return a ? a : b;
	return is_later(a, b) ? a : b;
}

/* ---- settings ---- */

/* What the workspace says counts; its rules come behind those that are there. */
static void merge_settings(struct pol_doc *to, const struct pol_settings *global,
			   const struct pol_settings *workspace)
{
	for (int i = 0; i < POL_SETTING_COUNT; i++) {
		const struct pol_setting_value *w = &workspace->value[i];

		to->settings.value[i] = w->said ? *w : global->value[i];
		if (to->settings.value[i].said)
			to->settings.value[i].pos.file = copy(to, to->settings.value[i].pos.file);
	}
	/* Two ways to say one thing: who says the one takes the other back. */
	if (workspace->value[POL_SET_strict].said)
		to->settings.value[POL_SET_allowFallback] =
			(struct pol_setting_value){.said = false};
	if (workspace->value[POL_SET_allowFallback].said)
		to->settings.value[POL_SET_strict] = (struct pol_setting_value){.said = false};
	add_all(to, &to->settings.presets, &global->presets);
	add_all(to, &to->settings.presets, &workspace->presets);
	add_all(to, &to->settings.macos, &global->macos);
	add_all(to, &to->settings.macos, &workspace->macos);
	add_all(to, &to->settings.pass_env, &global->pass_env);
	add_all(to, &to->settings.pass_env, &workspace->pass_env);
	add_all(to, &to->settings.trusted, &global->trusted);
	add_all(to, &to->settings.trusted, &workspace->trusted);
	add_connects(to, &to->settings.connect, &global->connect);
	add_connects(to, &to->settings.connect, &workspace->connect);
	add_all(to, &to->settings.publish, &global->publish);
	add_all(to, &to->settings.publish, &workspace->publish);
	to->settings.upstream =
		copy_text(to, workspace->upstream.s ? &workspace->upstream : &global->upstream);
	pol_net_limits_tighten(&to->settings.net_limits, &global->net_limits);
	pol_net_limits_tighten(&to->settings.net_limits, &workspace->net_limits);
	for (int i = 0; i < POL_ROOT_LIST_COUNT; i++) {
		add_all(to, &to->settings.roots[i], &global->roots[i]);
		add_all(to, &to->settings.roots[i], &workspace->roots[i]);
	}
}

/* ---- the whole ---- */

int pol_doc_merge(const struct pol_doc *global, const struct pol_doc *workspace,
		  struct pol_doc *out, struct b_err *err)
{
	struct pol_doc doc = {0};

	if (check_exceptions(&doc.arena, &global->deny_modify, &workspace->deny_modify, err) < 0)
		goto failed;
	doc.name = copy_text(&doc, &workspace->name);
	doc.description =
		copy(&doc, workspace->description ? workspace->description : global->description);
	doc.created_at =
		copy(&doc, global->created_at ? global->created_at : workspace->created_at);
	doc.updated_at = copy(&doc, later(global->updated_at, workspace->updated_at));
	add_all(&doc, &doc.files, &global->files);
	add_all(&doc, &doc.files, &workspace->files);
	add_denies(&doc, &doc.deny_read, &global->deny_read, false);
	add_denies(&doc, &doc.deny_read, &workspace->deny_read, opens(global));
	add_denies(&doc, &doc.deny_modify, &global->deny_modify, false);
	add_denies(&doc, &doc.deny_modify, &workspace->deny_modify, opens(global));
	add_connects(&doc, &doc.deny_connect, &global->deny_connect);
	add_connects(&doc, &doc.deny_connect, &workspace->deny_connect);
	for (size_t i = 0; i < global->nprofiles; i++)
		if (!has_profile(workspace, global->profiles[i].name.s))
			add_profile(&doc, &global->profiles[i]);
	for (size_t i = 0; i < workspace->nprofiles; i++)
		add_profile(&doc, &workspace->profiles[i]);
	merge_settings(&doc, &global->settings, &workspace->settings);
	if (pol_doc_validate(&doc, err) < 0)
		goto failed;
	*out = doc;
	return 0;
failed:
	pol_doc_release(&doc);
	return -1;
}

/* One profile with the global denies behind it: what is in force for a run. */

static const struct pol_profile *find(const struct pol_doc *doc, const char *name)
{
	for (size_t i = 0; i < doc->nprofiles; i++)
		if (strcmp(doc->profiles[i].name.s, name) == 0)
			return &doc->profiles[i];
	return NULL;
}

static int fail_unknown(const struct pol_doc *doc, const char *name, struct b_err *err)
{
	struct b_str known = {0};

	for (size_t i = 0; i < doc->nprofiles && known.len < 512; i++)
		b_str_addf(&known, "%s`%s`", i ? ", " : "", doc->profiles[i].name.s);
	b_fail(err, B_PROFILE, 0, "no fsProfile `%s` in policy `%s`, expected %s%s`unrestricted`",
	       name, doc->name.s, b_str_c(&known), known.len ? " or " : "");
	b_str_release(&known);
	return -1;
}

static int append(struct pol_doc *doc, const struct pol_texts *texts, bool is_deny,
		  struct pol_eff_rule *out, size_t *n, struct b_err *err)
{
	for (size_t i = 0; i < texts->n; i++) {
		struct pol_eff_rule *r = &out[*n];

		r->rule =
			pol_rule_normalise(&doc->arena, texts->v[i].s,
					   is_deny ? "global deny" : "fsProfile", &r->negated, err);
		if (!r->rule)
			return -1;
		r->pos = texts->v[i].pos;
		r->is_global_deny = is_deny;
		if (is_deny) {
			/* What is written with `!` among the denies is an exception to them. */
			r->is_exception = r->negated;
			r->negated = !r->is_exception;
		}
		++*n;
	}
	return 0;
}

int pol_doc_effective(struct pol_doc *doc, const char *name, struct pol_effective *out,
		      struct b_err *err)
{
	const struct pol_profile *p = find(doc, name);
	struct pol_text all = {.s = "./**", .pos = {doc->name.pos.file, 1, 1}};
	struct pol_profile unrestricted = {.name = {.s = "unrestricted", .pos = all.pos},
					   .read = {&all, 1, 1},
					   .modify = {&all, 1, 1}};
	const struct pol_texts *lists[2][2];

	if (!p && strcmp(name, "unrestricted") == 0)
		p = &unrestricted;
	if (!p)
		return fail_unknown(doc, name, err);
	lists[SBX_READ][0] = &p->read;
	lists[SBX_READ][1] = &doc->deny_read;
	lists[SBX_MODIFY][0] = &p->modify;
	lists[SBX_MODIFY][1] = &doc->deny_modify;
	*out = (struct pol_effective){.name = b_arena_strndup(&doc->arena, name, strlen(name)),
				      .connect = p->connect,
				      .deny_connect = doc->deny_connect};
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		size_t room = lists[op][0]->n + lists[op][1]->n;

		out->v[op] = b_arena_alloc(&doc->arena, (room + 1) * sizeof **out->v);
		for (int part = 0; part < 2; part++)
			if (append(doc, lists[op][part], part == 1, out->v[op], &out->n[op], err) <
			    0)
				return -1;
	}
	return 0;
}

/* A preset under a document: pol_doc_absorb(). */

static struct pol_text absorb_copy(struct pol_doc *to, const struct pol_text *text)
{
	struct pol_text t = *text;

	t.s = b_arena_strndup(&to->arena, text->s, strlen(text->s));
	t.pos.file = b_arena_strndup(&to->arena, text->pos.file, strlen(text->pos.file));
	return t;
}

static void add(struct pol_doc *to, struct pol_texts *list, const struct pol_texts *from)
{
	for (size_t i = 0; i < from->n; i++)
		pol_texts_add(to, list, absorb_copy(to, &from->v[i]));
}

/* The document's own come last: it may deny what a preset opens. */
static void add_before(struct pol_doc *to, struct pol_texts *list, const struct pol_texts *from)
{
	struct pol_texts own = *list;

	*list = (struct pol_texts){0};
	add(to, list, from);
	for (size_t i = 0; i < own.n; i++)
		pol_texts_add(to, list, own.v[i]);
}

static void add_connects_before(struct pol_doc *to, struct pol_connects *list,
				const struct pol_connects *from)
{
	struct pol_connects own = *list;

	*list = (struct pol_connects){0};
	add_connects(to, list, from);
	for (size_t i = 0; i < own.n; i++)
		pol_connects_add(to, list, own.v[i]);
}

/* Either of two keys sets strictness. A preset's key never overrides the document's other one. */
static bool absorb_is_said(const struct pol_settings *s, int i)
{
	if (i == POL_SET_strict || i == POL_SET_allowFallback)
		return s->value[POL_SET_strict].said || s->value[POL_SET_allowFallback].said;
	return s->value[i].said;
}

static void absorb_settings(struct pol_doc *to, const struct pol_settings *from)
{
	for (int i = 0; i < POL_SETTING_COUNT; i++) {
		struct pol_setting_value *v = &to->settings.value[i];

		if (absorb_is_said(&to->settings, i) || !from->value[i].said)
			continue;
		*v = from->value[i];
		v->pos.file = b_arena_strndup(&to->arena, v->pos.file, strlen(v->pos.file));
	}
	add_before(to, &to->settings.macos, &from->macos);
	add_before(to, &to->settings.pass_env, &from->pass_env);
	add_before(to, &to->settings.trusted, &from->trusted);
	add_connects_before(to, &to->settings.connect, &from->connect);
	add_before(to, &to->settings.publish, &from->publish);
	if (!to->settings.upstream.s)
		to->settings.upstream = copy_text(to, &from->upstream);
	pol_net_limits_tighten(&to->settings.net_limits, &from->net_limits);
	for (int i = 0; i < POL_ROOT_LIST_COUNT; i++)
		add_before(to, &to->settings.roots[i], &from->roots[i]);
}

static void absorb_profiles(struct pol_doc *to, const struct pol_doc *from)
{
	to->nprofiles = 0;
	for (size_t i = 0; i < from->nprofiles; i++) {
		struct pol_profile *p =
			pol_doc_add_profile(to, absorb_copy(to, &from->profiles[i].name));

		add(to, &p->read, &from->profiles[i].read);
		add(to, &p->modify, &from->profiles[i].modify);
		add_connects(to, &p->connect, &from->profiles[i].connect);
	}
}

int pol_doc_absorb(struct pol_doc *doc, const struct pol_doc *preset, struct b_err *err)
{
	if (doc->files.n == 0 && preset->nprofiles)
		absorb_profiles(doc, preset);
	/* Before the document's: an exception takes back denies that stand before it, so those of a
	 * preset never touch the document's. */
	add_before(doc, &doc->deny_read, &preset->deny_read);
	add_before(doc, &doc->deny_modify, &preset->deny_modify);
	add_connects_before(doc, &doc->deny_connect, &preset->deny_connect);
	absorb_settings(doc, &preset->settings);
	return pol_doc_validate(doc, err);
}
