/* SPDX-License-Identifier: Apache-2.0 */
/* dialect.c - recognizes the language of a document, and has what the languages of other systems
 * share. */
#include "policy/front/dialect.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "policy/document/model.h"
#include "policy/document/settings.h"
#include "policy/front/tree.h"

const char *pol_dialect_word(enum pol_dialect d)
{
	static const char *const words[] = {
#define X(name, text) [POL_DIALECT_##name] = #name,
		POL_DIALECTS(X)
#undef X
	};

	return words[d];
}

const char *pol_dialect_name(enum pol_dialect d)
{
	static const char *const names[] = {
#define X(name, text) [POL_DIALECT_##name] = text,
		POL_DIALECTS(X)
#undef X
	};

	return names[d];
}

bool pol_doc_is_foreign(const struct pol_doc *doc)
{
	return doc->foreign.dialect > POL_DIALECT_orbit;
}

/* ---- by the content ---- */

static const char *const openshell_keys[] = {"filesystem_policy", "landlock", "process",
					     "network_policies", "network_middlewares"};
static const char *const orbit_keys[] = {"kind", "schemaVersion", "metadata", "spec"};
enum { OPENSHELL_KEYS = sizeof openshell_keys / sizeof *openshell_keys };
enum { ORBIT_KEYS = sizeof orbit_keys / sizeof *orbit_keys };

static bool is_among(const char *s, size_t len, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(words[i]) == len && memcmp(words[i], s, len) == 0)
			return true;
	return false;
}

/* Past blanks and comments of JSON's two kinds; no comment of YAML begins so. */
static const char *skip_blanks(const char *p, const char *end, bool *out_comments)
{
	for (;;) {
		while (p < end && strchr(" \t\r\n", *p))
			p++;
		if (end - p < 2 || p[0] != '/' || (p[1] != '/' && p[1] != '*'))
			return p;
		*out_comments = true;
		if (p[1] == '/') {
			p = memchr(p, '\n', (size_t)(end - p));
		} else {
			p = memmem(p + 2, (size_t)(end - p) - 2, "*/", 2);
			p = p ? p + 2 : NULL;
		}
		if (!p)
			return end;
	}
}

/* The end of a string in quotes that begins at p. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\' && p + 1 < end;
	return p < end ? p + 1 : end;
}

/* The language of an object in braces. YAML has those, too, so its keys decide. The test is loose:
 * the parser reports errors. */
static bool is_json(const char *p, const char *end)
{
	bool has_keys = false, comments;
	int depth = 0;

	while (p < end) {
		const char *from = p;

		if (*p == '"') {
			p = skip_string(p, end);
			if (depth != 1 || p - from < 2)
				continue;
			has_keys = true;
			if (is_among(from + 1, (size_t)(p - from) - 2, orbit_keys, ORBIT_KEYS) ||
			    is_among(from + 1, (size_t)(p - from) - 2, openshell_keys,
				     OPENSHELL_KEYS))
				return false;
		} else if (*p == '/') {
			p = skip_blanks(p, end, &comments);
			p += p == from;
		} else {
			depth += *p == '{' || *p == '[' ? 1 : *p == '}' || *p == ']' ? -1 : 0;
			p++;
		}
	}
	return has_keys;
}

/* The first line with content: `[table]`, or `key =`. */
static bool is_toml(const char *p, const char *end)
{
	const char *line_end;

	for (;;) {
		while (p < end && strchr(" \t\r\n", *p))
			p++;
		if (p == end || *p != '#')
			break;
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return false;
	}
	line_end = memchr(p, '\n', (size_t)(end - p));
	if (!line_end)
		line_end = end;
	if (p < end && *p == '[')
		return memchr(p, ']', (size_t)(line_end - p)) != NULL;
	while (p < line_end && (strchr("._-\"' \t", *p) || (*p >= '0' && *p <= '9') ||
				((*p | 32) >= 'a' && (*p | 32) <= 'z')))
		p++;
	return p < line_end && *p == '=';
}

enum pol_dialect pol_front_guess(const char *text, size_t len)
{
	const char *end = text + len, *p = text;
	bool has_comments = false;

	if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	if (memchr(p, '\0', (size_t)(end - p)))
		return POL_DIALECT_auto; /* the reader of YAML reports it */
	p = skip_blanks(p, end, &has_comments);
	if (p < end && *p == '{' && (has_comments || is_json(p, end)))
		return POL_DIALECT_srt;
	return is_toml(p, end) ? POL_DIALECT_caliban : POL_DIALECT_auto;
}

static bool has_key(const struct pol_ynode *root, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pol_yaml_get(root, keys[i]))
			return true;
	return false;
}

static enum pol_dialect guess_tree(const struct pol_ynode *root)
{
	if (pol_yaml_get(root, "kind") || pol_yaml_get(root, "schemaVersion"))
		return POL_DIALECT_orbit;
	if (has_key(root, openshell_keys, OPENSHELL_KEYS))
		return POL_DIALECT_openshell;
	if (pol_yaml_get(root, "version") && !has_key(root, orbit_keys, ORBIT_KEYS))
		return POL_DIALECT_openshell;
	return POL_DIALECT_orbit;
}

/* ---- reading ---- */

int pol_front_tree(const struct pol_input *in, struct b_arena *arena, struct pol_ynode **out,
		   struct b_err *err)
{
	const char *name = b_arena_strndup(arena, in->name, strlen(in->name));

	switch (in->dialect == POL_DIALECT_auto ? pol_front_guess(in->text, in->len)
						: in->dialect) {
	case POL_DIALECT_srt:
	case POL_DIALECT_claude:
		return pol_json_parse(arena, name, in->text, in->len, out, err);
	case POL_DIALECT_caliban:
	case POL_DIALECT_codex:
		return pol_toml_parse(arena, name, in->text, in->len, out, err);
	case POL_DIALECT_auto:
	case POL_DIALECT_orbit:
	case POL_DIALECT_openshell:
	case POL_DIALECT_COUNT:
		break;
	}
	return pol_yaml_parse(arena, name, in->text, in->len, out, err);
}

static int take_language(const struct pol_input *in, enum pol_dialect dialect, struct pol_doc *doc,
			 struct b_err *err)
{
	bool is_guessed = in->dialect == POL_DIALECT_auto;
	struct pol_ynode *root;

	if (pol_front_tree(in, &doc->arena, &root, err) < 0)
		return -1;
	if (dialect == POL_DIALECT_srt || dialect == POL_DIALECT_claude) {
		if (dialect == POL_DIALECT_claude || (is_guessed && pol_claude_is(root)))
			return pol_claude_take(root, doc, err);
		return pol_srt_take(root, doc, err);
	}
	if (dialect == POL_DIALECT_caliban || dialect == POL_DIALECT_codex) {
		if (dialect == POL_DIALECT_codex || (is_guessed && pol_codex_is(root)))
			return pol_codex_take(root, doc, err);
		return pol_caliban_take(root, doc, err);
	}
	if (dialect == POL_DIALECT_auto)
		dialect = guess_tree(root);
	if (dialect == POL_DIALECT_openshell)
		return pol_openshell_take(root, doc, in->report, err);
	return pol_orbit_take_in(root, doc, err);
}

int pol_front_parse(const struct pol_input *in, struct pol_doc *out, struct b_err *err)
{
	struct pol_doc doc = {0};
	enum pol_dialect dialect =
		in->dialect == POL_DIALECT_auto ? pol_front_guess(in->text, in->len) : in->dialect;

	if (take_language(in, dialect, &doc, err) < 0) {
		pol_doc_release(&doc);
		return -1;
	}
	if (doc.foreign.dialect == POL_DIALECT_auto)
		doc.foreign.dialect = POL_DIALECT_orbit;
	*out = doc;
	return 0;
}

/* ---- languages of other systems ---- */

struct pol_profile *pol_foreign_begin(struct pol_doc *doc, const struct pol_ynode *root,
				      enum pol_dialect dialect)
{
	const struct pol_text name = {.s = pol_dialect_word(dialect), .pos = root->pos};

	doc->foreign.dialect = dialect;
	doc->foreign.tree = root;
	doc->name = name;
	/* The document itself lists what may be written. */
	pol_foreign_set(doc, POL_SET_cache, false, root->pos);
	return pol_doc_add_profile(doc, (struct pol_text){.s = "default", .pos = root->pos});
}

void pol_foreign_rule(struct pol_doc *doc, struct pol_texts *list, const char *rule,
		      struct pol_pos pos)
{
	pol_texts_add(doc, list, (struct pol_text){.s = rule, .pos = pos});
}

void pol_foreign_set(struct pol_doc *doc, enum pol_setting s, int value, struct pol_pos pos)
{
	doc->settings.value[s] = (struct pol_setting_value){true, value, pos};
}

int pol_foreign_root(struct pol_front *f, enum pol_root_list list, const char *text,
		     struct pol_pos pos, bool is_literal)
{
	const struct pol_text t = {.s = text, .pos = pos, .is_literal = is_literal};

	if (++f->nrules > POL_MAX_RULES)
		return pol_pos_fail(f->err, &pos, "more than %d rules", POL_MAX_RULES);
	if (pol_root_check(&t, "a path", f->err) < 0)
		return -1;
	pol_texts_add(f->doc, &f->doc->settings.roots[list], t);
	return 0;
}

static __attribute__((format(printf, 4, 0))) void add_line(struct pol_doc *doc,
							   struct pol_texts *list,
							   const struct pol_pos *pos,
							   const char *fmt, va_list ap)
{
	struct b_str s = {0};

	b_str_addf(&s, "%s:%u:%u: ", pos->file, pos->line, pos->col);
	b_str_addfv(&s, fmt, ap);
	pol_texts_add(doc, list,
		      (struct pol_text){.s = b_arena_strndup(&doc->arena, b_str_c(&s), s.len),
					.pos = *pos});
	b_str_release(&s);
}

void pol_foreign_loss(struct pol_doc *doc, const struct pol_pos *pos, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(doc, &doc->foreign.losses, pos, fmt, ap);
	va_end(ap);
}

void pol_foreign_net_loss(struct pol_doc *doc, const struct pol_pos *pos, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(doc, &doc->foreign.net_losses, pos, fmt, ap);
	va_end(ap);
}

static __attribute__((format(printf, 4, 5))) void add_text(struct pol_doc *doc,
							   struct pol_texts *list,
							   const struct pol_pos *pos,
							   const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(doc, list, pos, fmt, ap);
	va_end(ap);
}

void pol_foreign_host_loss(struct pol_doc *doc, const struct pol_pos *pos, const char *key)
{
	add_text(
		doc, &doc->foreign.host_losses, pos,
		"%s: rules on the network are not enforced here: the command has the whole network",
		key);
}

void pol_foreign_note(struct pol_doc *doc, const struct pol_pos *pos, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(doc, &doc->foreign.notes, pos, fmt, ap);
	va_end(ap);
}

int pol_foreign_strings(struct pol_front *f, const struct pol_ynode *list, const char *what,
			int (*take)(struct pol_front *, const struct pol_ynode *item))
{
	if (pol_yaml_expect(list, POL_Y_SEQ, what, f->err) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_ynode *item = list->v[i];
		int rc = pol_yaml_expect(item, POL_Y_STR, what, f->err);

		if (rc == 0 && item->len == 0)
			rc = pol_pos_fail(f->err, &item->pos, "%s: empty, expected some text",
					  what);
		if (rc == 0)
			rc = take(f, item);
		if (rc < 0 && pol_front_found(f) < 0)
			return -1;
	}
	return 0;
}

int pol_foreign_bool(struct pol_front *f, const struct pol_ynode *value, const char *what,
		     bool *out)
{
	if (pol_yaml_expect(value, POL_Y_BOOL, what, f->err) < 0)
		return -1;
	*out = value->s[0] == 't' || value->s[0] == 'T';
	return 0;
}

int pol_foreign_number(struct pol_front *f, const struct pol_ynode *value, const char *what,
		       unsigned long long min, unsigned long long max, unsigned long long *out)
{
	unsigned long long v;

	if (pol_yaml_expect(value, POL_Y_INT, what, f->err) < 0)
		return -1;
	if (b_parse_u64(value->s, max, &v) < 0 || v < min)
		return pol_pos_fail(f->err, &value->pos, "%s is %s, expected %llu to %llu", what,
				    value->s, min, max);
	*out = v;
	return 0;
}

int pol_foreign_word(struct pol_front *f, const struct pol_ynode *value, const char *what,
		     const char *words, int *out)
{
	struct b_near near = B_NEAR_INIT;
	int i = 0;

	if (pol_yaml_expect(value, POL_Y_STR, what, f->err) < 0)
		return -1;
	for (const char *w = words; *w; i++) {
		size_t n = strcspn(w, "|");

		if (n == value->len && memcmp(w, value->s, n) == 0) {
			*out = i;
			return 0;
		}
		b_near_offer(&near, value->s, value->len, w, n);
		w += n + (w[n] == '|');
	}
	if (near.text)
		return pol_pos_fail(f->err, &value->pos, "%s is `%s`, did you mean `%.*s`?", what,
				    value->s, (int)near.len, near.text);
	return pol_pos_fail(f->err, &value->pos, "%s is `%s`, expected one of %s", what, value->s,
			    words);
}

static int pass(struct pol_front *f, const struct pol_ynode *item)
{
	(void)f;
	(void)item;
	return 0;
}

int pol_foreign_texts(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, pass);
}

int pol_foreign_host_rules(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	if (pol_foreign_texts(f, key, value) < 0)
		return -1;
	if (value->n > 0)
		pol_foreign_host_loss(f->doc, &key->pos, key->s);
	return 0;
}

int pol_foreign_anything(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	(void)f;
	(void)key;
	(void)value;
	return 0;
}

int pol_foreign_either(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	bool ignored;

	return pol_foreign_bool(f, value, key->s, &ignored);
}

int pol_foreign_string(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	return pol_yaml_expect(value, POL_Y_STR, key->s, f->err);
}

/* ---- rules without a word in the document ---- */

const char *const pol_caliban_readable[] = {"/usr",   "/etc", "/bin",  "/lib",
					    "/lib64", "/opt", "/proc", NULL};

const char *const pol_srt_writable[] = {"/tmp/claude", "~/.npm/_logs", "~/.claude/debug", NULL};

const char *const pol_srt_denied[POL_SRT_DENIED] = {
	".gitconfig", ".gitmodules",	  ".bashrc",	    ".bash_profile", ".zshrc",
	".zprofile",  ".profile",	  ".ripgreprc",	    ".mcp.json",     ".vscode",
	".idea",      ".claude/commands", ".claude/agents", ".git/hooks",    ".git/config",
};

bool pol_srt_may_hold(const struct pol_text *path, const struct pol_texts *list)
{
	size_t n = strlen(path->s);

	for (size_t i = 0; i < list->n; i++) {
		const char *s = list->v[i].s;

		/* The home does not lie in a workspace; of others that begin otherwise nobody
		 * knows. */
		if (path->s[0] == '$' && s[0] == '~')
			continue;
		if (s[0] != path->s[0] ||
		    (strncmp(s, path->s, n) == 0 && (s[n] == '/' || s[n] == '\0')))
			return true;
	}
	return false;
}
