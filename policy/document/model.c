/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - a document as values: growth, one spelling for each rule, and Orbit's checks in
 * Orbit's order. */
#include "policy/document/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/* Arena arrays double by copying: the old half stays behind until the document is freed. */
static void *grow(struct b_arena *a, void *v, size_t n, size_t *cap, size_t size)
{
	void *bigger;

	if (n < *cap)
		return v;
	*cap = *cap ? *cap * 2 : 8;
	bigger = b_arena_alloc(a, *cap * size);
	if (n)
		memcpy(bigger, v, n * size);
	return bigger;
}

void pol_texts_add(struct pol_doc *doc, struct pol_texts *list, struct pol_text text)
{
	list->v = grow(&doc->arena, list->v, list->n, &list->cap, sizeof *list->v);
	list->v[list->n++] = text;
}

void pol_connects_add(struct pol_doc *doc, struct pol_connects *list, struct pol_connect entry)
{
	list->v = grow(&doc->arena, list->v, list->n, &list->cap, sizeof *list->v);
	list->v[list->n++] = entry;
}

struct pol_profile *pol_doc_add_profile(struct pol_doc *doc, struct pol_text name)
{
	struct pol_profile *p;

	doc->profiles = grow(&doc->arena, doc->profiles, doc->nprofiles, &doc->profiles_cap,
			     sizeof *doc->profiles);
	p = &doc->profiles[doc->nprofiles++];
	*p = (struct pol_profile){.name = name};
	return p;
}

void pol_doc_release(struct pol_doc *doc)
{
	b_arena_release(&doc->arena);
	*doc = (struct pol_doc){0};
}

/* One spelling for each Orbit rule and each path a person asks about. */

/* Unicode White_Space, which is what Orbit trims. */
static bool is_space(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} spaces[] = {
		{0x09, 0x0d},	  {0x20, 0x20},	    {0x85, 0x85},     {0xa0, 0xa0},
		{0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
		{0x205f, 0x205f}, {0x3000, 0x3000},
	};

	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (c >= spaces[i].first && c <= spaces[i].last)
			return true;
	return false;
}

static unsigned space_at(const char *s, size_t n)
{
	unsigned len = b_utf8_len((const unsigned char *)s, n);

	return len && is_space(b_utf8_decode((const unsigned char *)s, len)) ? len : 0;
}

static unsigned space_before(const char *s, size_t n)
{
	for (unsigned len = 1; len <= 3 && len <= n; len++)
		if (space_at(s + n - len, len) == len)
			return len;
	return 0;
}

static void trim(const char **s, size_t *n)
{
	unsigned len;

	while ((len = space_at(*s, *n)) > 0) {
		*s += len;
		*n -= len;
	}
	while ((len = space_before(*s, *n)) > 0)
		*n -= len;
}

/* Rebuilds from the components that name something. False when one is "..". */
static bool rebuild(const char *s, size_t n, char *out, size_t *out_len)
{
	size_t len = 0;

	for (size_t i = 0; i < n;) {
		const char *slash = memchr(s + i, '/', n - i);
		size_t part = slash ? (size_t)(slash - (s + i)) : n - i;

		if (part == 2 && s[i] == '.' && s[i + 1] == '.')
			return false;
		if (part > 0 && !(part == 1 && s[i] == '.')) {
			if (len)
				out[len++] = '/';
			memcpy(out + len, s + i, part);
			len += part;
		}
		i += part + 1;
	}
	out[len] = '\0';
	*out_len = len;
	return true;
}

/* Components joined by '/', "" for the root. NULL: leaves the workspace. */
static const char *inside(struct b_arena *a, const char *s, size_t n)
{
	char *out = b_arena_alloc(a, n + 1);
	size_t len;

	if (n > 0 && s[0] == '/')
		return NULL;
	/* `~user` is an ordinary name; `~` is, too, once something stands before it. */
	if (n > 0 && s[0] == '~' && (n == 1 || s[1] == '/'))
		return NULL;
	return rebuild(s, n, out, &len) ? out : NULL;
}

/* The same of what a person wrote: trimmed, and a backslash is a slash. */
static const char *text_inside(struct b_arena *a, const char *s, size_t n)
{
	char *slashed = b_arena_strndup(a, s, n);

	for (size_t i = 0; i < n; i++)
		if (slashed[i] == '\\')
			slashed[i] = '/';
	return inside(a, slashed, n);
}

const char *pol_rule_normalise(struct b_arena *a, const char *raw, const char *label,
			       bool *out_negated, struct b_err *err)
{
	const char *s = raw, *norm;
	size_t n = strlen(raw);
	bool negated = false;

	if (n > POL_MAX_RULE_LEN) {
		b_fail(err, B_POLICY, 0, "%s contains a rule of more than %d bytes", label,
		       POL_MAX_RULE_LEN);
		return NULL;
	}
	if (!b_utf8_valid(raw, n)) {
		b_fail(err, B_POLICY, 0, "%s contains a rule that is not UTF-8", label);
		return NULL;
	}
	trim(&s, &n);
	if (n == 0) {
		b_fail(err, B_POLICY, 0, "%s contains an empty path rule", label);
		return NULL;
	}
	if (*s == '!') {
		negated = true;
		s++;
		n--;
	}
	/* "./~" and ".//x" name things inside: the prefix goes before the checks. */
	while (n >= 2 && s[0] == '.' && (s[1] == '/' || s[1] == '\\')) {
		s += 2;
		n -= 2;
	}
	norm = text_inside(a, s, n);
	if (!norm) {
		b_fail(err, B_POLICY, 0, "%s rule `%s` must stay inside the workspace root", label,
		       raw);
		return NULL;
	}
	*out_negated = negated;
	return *norm ? norm : ".";
}

bool pol_rule_is_negated(const char *raw)
{
	size_t n = strlen(raw);

	trim(&raw, &n);
	return n > 0 && *raw == '!';
}

static const char *path_or_fail(const char *norm, size_t n, const char *raw, struct b_err *err)
{
	if (n == 0)
		b_fail(err, B_USAGE, 0, "filesystem path must not be empty");
	else if (!norm)
		b_fail(err, B_USAGE, 0, "path `%s` must stay inside the workspace root%s", raw,
		       *raw == '~' ? ": write the home directory in full" : "");
	return n ? norm : NULL;
}

const char *pol_path_normalise(struct b_arena *a, const char *raw, struct b_err *err)
{
	const char *s = raw;
	size_t n = strlen(raw);

	trim(&s, &n);
	return path_or_fail(text_inside(a, s, n), n, raw, err);
}

const char *pol_path_inside(struct b_arena *a, const char *path, struct b_err *err)
{
	size_t n = strlen(path);

	return path_or_fail(inside(a, path, n), n, path, err);
}

bool pol_rule_is_subtree(const char *rule, size_t *out_len, bool *out_with_below)
{
	size_t n = strlen(rule);
	bool below = false;

	if (strcmp(rule, ".") == 0) {
		n = 0;
	} else if (strcmp(rule, "**") == 0 || strcmp(rule, "/**") == 0) {
		n = 0;
		below = true;
	} else if (n > 3 && strcmp(rule + n - 3, "/**") == 0) {
		n -= 3;
		below = true;
	}
	if (memchr(rule, '*', n) || memchr(rule, '?', n))
		return false;
	*out_len = n;
	*out_with_below = below;
	return true;
}

bool pol_rule_contains(const char *outer, const char *inner)
{
	size_t out_len, in_len;
	bool out_below, in_below;

	if (!pol_rule_is_subtree(outer, &out_len, &out_below) || !out_below ||
	    !pol_rule_is_subtree(inner, &in_len, &in_below))
		return false;
	return in_len > out_len && memcmp(outer, inner, out_len) == 0 &&
	       (out_len == 0 || inner[out_len] == '/');
}

bool pol_rule_covers(const char *read_rule, const char *modify_rule)
{
	size_t n = strlen(read_rule);

	if (strcmp(read_rule, modify_rule) == 0 || strcmp(read_rule, "**") == 0 ||
	    strcmp(read_rule, "/**") == 0)
		return true;
	if (n < 3 || strcmp(read_rule + n - 3, "/**") != 0)
		return false;
	n -= 3;
	return strncmp(read_rule, modify_rule, n) == 0 &&
	       (modify_rule[n] == '\0' || modify_rule[n] == '/');
}

/* A file stem with an extension: the last dot has something before it. */
static bool has_extension(const char *s, size_t n)
{
	return n > 1 && memchr(s + 1, '.', n - 1);
}

const char *pol_name_check_n(const char *name, size_t len)
{
	const char *s = name;
	size_t n = len;

	if (len == 0)
		return "must not be empty";
	trim(&s, &n);
	if (n != len)
		return "must not have leading or trailing whitespace";
	if (name[0] == '.')
		return "must not start with `.`";
	for (size_t i = 0; i + 1 < len; i++)
		if (name[i] == '.' && name[i + 1] == '.')
			return "must not contain `..`";
	for (size_t i = 0; i < len;) {
		unsigned step = b_utf8_len((const unsigned char *)name + i, len - i);
		uint32_t c = step ? b_utf8_decode((const unsigned char *)name + i, step) : 0;

		/* Cc: C0, DEL and C1; a byte that is no UTF-8 counts as NUL. */
		if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == '/' || c == '\\' || c == ':')
			return "must not contain separators, drive prefixes, or control characters";
		i += step;
	}
	return has_extension(name, len) ? "must be a single file stem" : NULL;
}

const char *pol_name_check(const char *name)
{
	return pol_name_check_n(name, strlen(name));
}

/* What makes a parsed document a valid one, Orbit's checks in Orbit's order. */

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
