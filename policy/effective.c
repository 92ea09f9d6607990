/* effective.c - one profile with the global denies behind it: what is in force for a run. */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/model.h"

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
	*out = (struct pol_effective){.name = b_arena_strndup(&doc->arena, name, strlen(name))};
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
