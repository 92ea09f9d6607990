/* validate.c - what makes a parsed document a valid one, Orbit's checks in Orbit's order. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policy/model.h"

/* A normalised list. */
struct norm {
	const char **rule;
	bool *negated;
	const struct pol_text *text;
	size_t n;
};

/* Sorted rule texts: membership by bisection, so that hostile lists stay cheap. */
struct set {
	const char **v;
	size_t n;
};

static int fail_at(struct b_err *err, const struct pol_pos *pos)
{
	return b_wrap(err, "%s:%u:%u", pos->file, pos->line, pos->col);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool set_has(const struct set *set, const char *s)
{
	return set->n && bsearch(&s, set->v, set->n, sizeof *set->v, compare);
}

static struct set set_of_positives(struct b_arena *a, const struct norm *list)
{
	struct set set = {b_arena_alloc(a, (list->n + 1) * sizeof *set.v), 0};

	for (size_t i = 0; i < list->n; i++)
		if (!list->negated[i])
			set.v[set.n++] = list->rule[i];
	if (set.n)
		qsort(set.v, set.n, sizeof *set.v, compare);
	return set;
}

static int normalise(struct b_arena *a, const struct pol_texts *texts, const char *label,
		     struct norm *out, struct b_err *err)
{
	out->n = texts->n;
	out->text = texts->v;
	out->rule = b_arena_alloc(a, (texts->n + 1) * sizeof *out->rule);
	out->negated = b_arena_alloc(a, texts->n + 1);
	for (size_t i = 0; i < texts->n; i++) {
		out->rule[i] = pol_rule_normalise(a, texts->v[i].s, label, &out->negated[i], err);
		if (!out->rule[i])
			return fail_at(err, &texts->v[i].pos);
	}
	return 0;
}

static int check_deny_read(const struct norm *list, struct b_err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		if (!list->negated[i])
			continue;
		b_fail(err, B_POLICY, 0,
		       "denyRead rule `!%s` cannot be an exception, expected a path rule without "
		       "`!`",
		       list->rule[i]);
		return fail_at(err, &list->text[i].pos);
	}
	return 0;
}

static int check_exception(const struct norm *list, size_t i, struct b_err *err)
{
	size_t len;
	bool below;

	if (!pol_rule_is_subtree(list->rule[i], &len, &below)) {
		b_fail(err, B_POLICY, 0,
		       "denyModify exception `!%s` must name an exact path or `<path>/**` subtree",
		       list->rule[i]);
		return fail_at(err, &list->text[i].pos);
	}
	for (size_t j = 0; j < i; j++)
		if (!list->negated[j] && pol_rule_contains(list->rule[j], list->rule[i]))
			return 0;
	b_fail(err, B_POLICY, 0,
	       "denyModify exception `!%s` must be strictly contained by an earlier denyModify "
	       "rule",
	       list->rule[i]);
	return fail_at(err, &list->text[i].pos);
}

static int check_duplicates(const char *profile, const char *op, const struct norm *list,
			    const struct set *denies, const char *deny_name, struct b_err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->negated[i] || !set_has(denies, list->rule[i]))
			continue;
		b_fail(err, B_POLICY, 0,
		       "fsProfile `%s` %s rule `%s` duplicates global %s entry, expected one of "
		       "the two",
		       profile, op, list->rule[i], deny_name);
		return fail_at(err, &list->text[i].pos);
	}
	return 0;
}

/* The union of pol_rule_covers() over a set of read rules: the rule itself, `**`, and each of
 * its prefixes followed by slash-star-star. */
static bool is_covered(const struct set *read, const char *rule, char *buf)
{
	size_t n = strlen(rule);

	if (set_has(read, "**") || set_has(read, rule))
		return true;
	for (size_t i = 1; i <= n; i++) {
		if (rule[i] != '/' && rule[i] != '\0')
			continue;
		memcpy(buf, rule, i);
		memcpy(buf + i, "/**", sizeof "/**");
		if (set_has(read, buf))
			return true;
	}
	return false;
}

static int check_coverage(struct b_arena *a, const char *profile, const struct norm *read,
			  const struct norm *modify, struct b_err *err)
{
	struct set set = set_of_positives(a, read);
	char *buf = b_arena_alloc(a, POL_MAX_RULE_LEN + sizeof "/**");

	for (size_t i = 0; i < modify->n; i++) {
		if (modify->negated[i] || is_covered(&set, modify->rule[i], buf))
			continue;
		b_fail(err, B_POLICY, 0,
		       "fsProfile `%s` has modify rule `%s` that is not covered by any read rule, "
		       "expected the same rule, `**` or `<prefix>/**` under read",
		       profile, modify->rule[i]);
		return fail_at(err, &modify->text[i].pos);
	}
	return 0;
}

struct denies {
	struct set read, modify;
};

static int check_profile(struct b_arena *a, const struct pol_profile *p, const struct denies *deny,
			 struct b_err *err)
{
	const char *name = p->name.s;
	struct norm read, modify;
	const char *label;

	label = b_arena_printf(a, "fsProfile `%s` read", name);
	if (normalise(a, &p->read, label, &read, err) < 0)
		return -1;
	label = b_arena_printf(a, "fsProfile `%s` modify", name);
	if (normalise(a, &p->modify, label, &modify, err) < 0)
		return -1;
	if (check_duplicates(name, "read", &read, &deny->read, "denyRead", err) < 0 ||
	    check_duplicates(name, "modify", &modify, &deny->modify, "denyModify", err) < 0 ||
	    check_duplicates(name, "modify", &modify, &deny->read, "denyRead", err) < 0)
		return -1;
	return check_coverage(a, name, &read, &modify, err);
}

/* An fsProfile name of nothing but white space; other names are free. */
static bool is_blank(const char *s)
{
	const char *reason = pol_name_check(s);

	if (*s == '\0')
		return true;
	if (!reason || !strstr(reason, "whitespace"))
		return false;
	return s[strspn(s, " \t\r\n\v\f")] == '\0';
}

static int validate(const struct pol_doc *doc, struct b_arena *a, struct b_err *err)
{
	const char *reason = pol_name_check(doc->name.s);
	struct norm deny_read, deny_modify;
	struct denies deny;

	if (reason) {
		b_fail(err, B_POLICY, 0, "metadata.name `%s` %s", doc->name.s, reason);
		return fail_at(err, &doc->name.pos);
	}
	if (normalise(a, &doc->deny_read, "denyRead", &deny_read, err) < 0 ||
	    normalise(a, &doc->deny_modify, "denyModify", &deny_modify, err) < 0 ||
	    check_deny_read(&deny_read, err) < 0)
		return -1;
	for (size_t i = 0; i < deny_modify.n; i++)
		if (deny_modify.negated[i] && check_exception(&deny_modify, i, err) < 0)
			return -1;
	deny.read = set_of_positives(a, &deny_read);
	deny.modify = set_of_positives(a, &deny_modify);
	for (size_t i = 0; i < doc->nprofiles; i++) {
		const struct pol_profile *p = &doc->profiles[i];

		if (is_blank(p->name.s)) {
			b_fail(err, B_POLICY, 0, "policy `%s` has an empty fsProfile name",
			       doc->name.s);
			return fail_at(err, &p->name.pos);
		}
		if (check_profile(a, p, &deny, err) < 0)
			return -1;
	}
	return 0;
}

int pol_doc_validate(const struct pol_doc *doc, struct b_err *err)
{
	struct b_arena arena = {0};
	int rc = validate(doc, &arena, err);

	b_arena_release(&arena);
	return rc;
}
