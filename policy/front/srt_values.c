/* SPDX-License-Identifier: Apache-2.0 */
/* srt_values.c - paths and credentials in the settings of srt. */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/document/settings.h"
#include "policy/front/dialect.h"

/*
 * An entry of a list of paths in srt's settings becomes rules of ours: literals are
 * trees, patterns are our globs, and a class stands for each of its members.
 */

enum { MAX_EXPANDED = 512 };

static char *trim_tree(struct b_arena *a, const char *text)
{
	size_t n = strlen(text);

	while (n >= 3 && memcmp(text + n - 3, "/**", 3) == 0)
		n -= 3;
	while (n > 1 && text[n - 1] == '/')
		n--;
	return b_arena_strndup(a, n ? text : "/", n ? n : 1);
}

/* A relative path without "." and "..", which srt takes off by the text alone; how many of the
 * latter lead out. Arena. */
static const char *folded(struct b_arena *a, const char *text, unsigned *out_up)
{
	char *s = b_arena_strndup(a, text, strlen(text));
	size_t len = 0;

	*out_up = 0;
	for (const char *p = text; *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		bool is_up = n == 2 && memcmp(p, "..", 2) == 0;

		if (is_up && len == 0) {
			++*out_up;
		} else if (is_up) {
			while (len > 0 && s[len - 1] != '/')
				len--;
			len -= len > 0;
		} else if (n > 0 && !(n == 1 && *p == '.')) {
			if (len > 0)
				s[len++] = '/';
			memmove(s + len, p, n);
			len += n;
		}
		p += n;
	}
	s[len] = '\0';
	return s;
}

/* The beginning of a rule: the root, the home, or the workspace. */
static const char *anchored(struct b_arena *a, const char *text, unsigned *out_up)
{
	*out_up = 0;
	if (text[0] == '/' || (text[0] == '~' && (text[1] == '/' || text[1] == '\0')))
		return text;
	text = folded(a, text, out_up);
	return *text ? b_arena_printf(a, "${WORKSPACE}/%s", text) : "${WORKSPACE}";
}

static bool has_wildcards(const char *text)
{
	return strpbrk(text, "*?") || (strchr(text, '[') && strchr(strchr(text, '['), ']'));
}

/* The bytes of a class that begins at s, "[a-z_]"; *out_len of the text. False: it cannot be
 * written as a list of names (a negated one, one with other than ASCII, an empty one). */
static bool members(const char *s, char out[128], size_t *out_len)
{
	const char *end = strchr(s, ']'), *p = s + 1;
	bool in[128] = {false};
	size_t n = 0;

	*out_len = (size_t)(end - s) + 1;
	if (*p == '^' || *p == '!' || p == end)
		return false;
	for (; p < end; p++) {
		int from = (unsigned char)p[0], to = from;

		if (p + 2 < end && p[1] == '-') {
			to = (unsigned char)p[2];
			p += 2;
		}
		if (from > 127 || to > 127 || from > to || p[0] == '\\')
			return false;
		for (; from <= to; from++)
			in[from] = true;
	}
	for (int c = 1; c < 128; c++)
		if (in[c] && c != '/' && c != '*' && c != '?')
			out[n++] = (char)c;
	out[n] = '\0';
	return n > 0;
}

/* Does the list open what it names? */
static bool opens(enum pol_root_list list)
{
	return list == POL_ROOTS_openModify || list == POL_ROOTS_allowRead ||
	       list == POL_ROOTS_sockets;
}

struct entry {
	enum pol_root_list list;
	struct pol_pos pos;
	const char *text; /* as written */
	const char *name; /* what opens, with brackets alone: where such a file is, it is meant */
	unsigned up;	  /* directories above the one it is relative to */
	size_t n;	  /* rules that came of it */
};

/* A pattern that denies also covers everything below its matches. A pattern that allows modifying,
 * which srt ignores on Linux, covers only its matches. */
static int add_expanded(struct pol_front *f, const struct entry *e, const char *text)
{
	struct pol_texts *list = &f->doc->settings.roots[e->list];

	if (e->list == POL_ROOTS_denyModify && strpbrk(text, "*?"))
		text = b_arena_printf(&f->doc->arena, "%s/**", text);
	if (pol_foreign_root(f, e->list, text, e->pos, false) < 0)
		return -1;
	list->v[list->n - 1].is_exact = e->list != POL_ROOTS_allowRead && opens(e->list);
	list->v[list->n - 1].name = e->name;
	list->v[list->n - 1].up = e->up;
	return 0;
}

/* `done` and all that the classes of `rest` can be. */
static int expand(struct pol_front *f, struct entry *e, const char *done, const char *rest)
{
	struct b_arena *a = &f->doc->arena;
	const char *open = strchr(rest, '[');
	char chars[128];
	size_t len;

	if (!open || !strchr(open, ']')) {
		if (++e->n > MAX_EXPANDED)
			return pol_pos_fail(f->err, &e->pos,
					    "`%s`: its classes match more than %d names", e->text,
					    MAX_EXPANDED);
		return add_expanded(f, e, b_arena_printf(a, "%s%s", done, rest));
	}
	if (!members(open, chars, &len))
		return pol_pos_fail(f->err, &e->pos,
				    "`%.*s`: this class cannot be enforced, expected a list of "
				    "characters like [a-z_]",
				    (int)len, open);
	for (const char *c = chars; *c; c++)
		if (expand(f, e, b_arena_printf(a, "%s%.*s%c", done, (int)(open - rest), rest, *c),
			   open + len) < 0)
			return -1;
	return 0;
}

static int add_literal(struct pol_front *f, const struct entry *e, const char *text)
{
	struct pol_texts *list = &f->doc->settings.roots[e->list];

	if (pol_foreign_root(f, e->list, text, e->pos, true) < 0)
		return -1;
	list->v[list->n - 1].up = e->up;
	return 0;
}

/* Brackets alone of an absolute path, which a program may have written, may be a name: what is to
 * be closed is closed as both. */
static int add_bracketed(struct pol_front *f, const char *text, struct entry *e)
{
	if (strpbrk(text, "*?"))
		return 0;
	if (opens(e->list))
		e->name = text;
	return add_literal(f, e, text);
}

/* srt removes the slash only from relative paths. */
static bool is_slashed(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && text[n - 1] == '/' && (text[0] == '/' || text[0] == '~');
}

static bool ends_in_tree(const char *text)
{
	size_t n = strlen(text);

	return n >= 3 && strcmp(text + n - 3, "/**") == 0;
}

int pol_srt_path(struct pol_front *f, const struct pol_ynode *item, enum pol_root_list list)
{
	struct b_arena *a = &f->doc->arena;
	struct entry e = {.list = list, .pos = item->pos, .text = item->s};
	const char *text = anchored(a, trim_tree(a, item->s), &e.up);

	if (!has_wildcards(text))
		return add_literal(f, &e, text);
	if (opens(list) && is_slashed(item->s)) {
		pol_foreign_note(f->doc, &item->pos,
				 "`%s`: left out: for srt a pattern with a slash behind it matches "
				 "nothing",
				 item->s);
		return 0;
	}
	if (text[0] == '/' && add_bracketed(f, text, &e) < 0)
		return -1;
	/* A bare name with a wildcard is meant wherever it is; there it would be at the top alone,
	 * which a deny may exceed and an allow may not. */
	if (!opens(list) && !strchr(item->s, '/') && item->s[0] != '~')
		text = b_arena_printf(a, "${WORKSPACE}/**/%s", item->s);
	if (list == POL_ROOTS_openModify && strpbrk(text, "*?"))
		pol_foreign_note(f->doc, &item->pos,
				 "`%s`: srt on Linux ignores patterns in allowWrite; here they "
				 "open what they match, as on macOS",
				 item->s);
	if (expand(f, &e, "", text) < 0)
		return -1;
	/* With a tree behind it each name below is matched as well, deeper than what opens above.
	 */
	if (list != POL_ROOTS_denyRead || !ends_in_tree(item->s))
		return 0;
	return expand(f, &e, "", b_arena_printf(a, "%s/**/*", text));
}

/*
 * `credentials` of srt's settings: files that are not to be read, variables
 * that are not to be had. Where a credential is to be masked, srt's proxy would put it back on the
 * way out: there is no such proxy here, so it is closed, as srt itself does on macOS, and that is a
 * loss.
 */

#define KEYS(rows) rows, sizeof(rows) / sizeof *(rows)

static int take_mode(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	int mask;

	if (pol_foreign_word(f, value, key->s, "deny|mask", &mask) < 0)
		return -1;
	if (mask)
		pol_foreign_loss(
			f->doc, &value->pos,
			"credentials: sbx-launch does not mask credentials: the file is closed");
	return 0;
}

/* allowRead is for what denyRead closes. */
static int close_for_good(struct pol_front *f, const struct pol_ynode *value)
{
	struct pol_texts *list = &f->doc->settings.roots[POL_ROOTS_denyRead];
	size_t from = list->n;

	if (pol_srt_path(f, value, POL_ROOTS_denyRead) < 0)
		return -1;
	for (size_t i = from; i < list->n; i++)
		list->v[i].is_final = true;
	return 0;
}

static int take_path(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	if (pol_foreign_string(f, key, value) < 0)
		return -1;
	if (value->len == 0)
		return pol_pos_fail(f->err, &value->pos, "path: empty, expected some text");
	return close_for_good(f, value);
}

static bool is_variable(const char *s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char digits[] = "0123456789";

	if (!*s || !strchr(letters, *s))
		return false;
	for (; *s; s++)
		if (!strchr(letters, *s) && !strchr(digits, *s))
			return false;
	return true;
}

static int take_name(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	if (pol_foreign_string(f, key, value) < 0)
		return -1;
	if (!is_variable(value->s))
		return pol_pos_fail(
			f->err, &value->pos,
			"`%s` is not the name of a variable, expected letters, digits and _",
			value->s);
	pol_texts_add(f->doc, &f->doc->foreign.no_env,
		      (struct pol_text){.s = value->s, .pos = value->pos, .is_literal = true});
	return 0;
}

static int take_no_match(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	int ignored;

	return pol_foreign_word(f, value, key->s, "warn|deny|error", &ignored);
}

static int take_decode(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	int ignored;

	return pol_foreign_word(f, value, key->s, "jwt", &ignored);
}

/* How to mask: what is closed needs none of it. */
#define MASKING                                                                                    \
	{.name = "extract", .take = pol_foreign_string},                                           \
		{.name = "onExtractNoMatch", .take = take_no_match},                               \
		{.name = "decode", .take = take_decode},                                           \
		{.name = "maskClaims", .take = pol_foreign_texts},                                 \
		{.name = "maskDuplicates", .take = pol_foreign_either},                            \
	{                                                                                          \
		.name = "injectHosts", .take = pol_foreign_texts                                   \
	}

static int take_each(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value, const struct pol_key *rows, size_t n)
{
	if (pol_yaml_expect(value, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (pol_front_map(f, value->v[i], key->s, true, rows, n) < 0)
			return -1;
	return 0;
}

static int take_files(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "path", .required = true, .take = take_path},
		{.name = "mode", .required = true, .take = take_mode},
		MASKING,
	};

	return take_each(f, key, value, KEYS(rows));
}

static int take_variables(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "name", .required = true, .take = take_name},
		{.name = "mode", .required = true, .take = take_mode},
		MASKING,
	};

	return take_each(f, key, value, KEYS(rows));
}

/* Variables named here are masked above, or this is a mistake of srt's to find. */
static int take_pairs(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "accessKeyIdVar", .required = true, .take = take_name},
		{.name = "secretAccessKeyVar", .required = true, .take = take_name},
		{.name = "sessionTokenVar", .take = take_name},
	};

	return take_each(f, key, value, KEYS(rows));
}

static int take_policy(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	int ignored;

	return pol_foreign_word(f, value, key->s, "deny|passthrough", &ignored);
}

static int take_sigv4(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "streaming", .take = take_policy},
		{.name = "presigned", .take = take_policy},
		{.name = "sigv4a", .take = take_policy},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

int pol_srt_credentials(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "files", .take = take_files},
		{.name = "envVars", .take = take_variables},
		{.name = "allowPlaintextInject", .take = pol_foreign_either},
		{.name = "awsPairs", .take = take_pairs},
		{.name = "sigv4", .take = take_sigv4},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}
