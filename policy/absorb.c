/* absorb.c - a preset under a document: pol_doc_absorb(). */
#include <string.h>

#include "policy/model.h"

static struct pol_text copy(struct pol_doc *to, const struct pol_text *text)
{
	struct pol_text t = *text;

	t.s = b_arena_strndup(&to->arena, text->s, strlen(text->s));
	t.pos.file = b_arena_strndup(&to->arena, text->pos.file, strlen(text->pos.file));
	return t;
}

static void add(struct pol_doc *to, struct pol_texts *list, const struct pol_texts *from)
{
	for (size_t i = 0; i < from->n; i++)
		pol_texts_add(to, list, copy(to, &from->v[i]));
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

/* Strictness is said by either of two keys: a preset's never wins over the other. */
static bool is_said(const struct pol_settings *s, int i)
{
	if (i == POL_SET_strict || i == POL_SET_allowFallback)
		return s->value[POL_SET_strict].said || s->value[POL_SET_allowFallback].said;
	return s->value[i].said;
}

static void absorb_settings(struct pol_doc *to, const struct pol_settings *from)
{
	for (int i = 0; i < POL_SETTING_COUNT; i++) {
		struct pol_setting_value *v = &to->settings.value[i];

		if (is_said(&to->settings, i) || !from->value[i].said)
			continue;
		*v = from->value[i];
		v->pos.file = b_arena_strndup(&to->arena, v->pos.file, strlen(v->pos.file));
	}
	add_before(to, &to->settings.macos, &from->macos);
	add_before(to, &to->settings.pass_env, &from->pass_env);
	for (int i = 0; i < POL_ROOT_LIST_COUNT; i++)
		add_before(to, &to->settings.roots[i], &from->roots[i]);
}

static void absorb_profiles(struct pol_doc *to, const struct pol_doc *from)
{
	to->nprofiles = 0;
	for (size_t i = 0; i < from->nprofiles; i++) {
		struct pol_profile *p = pol_doc_add_profile(to, copy(to, &from->profiles[i].name));

		add(to, &p->read, &from->profiles[i].read);
		add(to, &p->modify, &from->profiles[i].modify);
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
	absorb_settings(doc, &preset->settings);
	return pol_doc_validate(doc, err);
}
