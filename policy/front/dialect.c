/* dialect.c - see dialect.h. */
#include "policy/front/dialect.h"

#include <string.h>

#include "base/err.h"
#include "policy/front/foreign.h"
#include "policy/front/json.h"
#include "policy/front/orbit.h"
#include "policy/front/toml.h"
#include "policy/front/tree.h"
#include "policy/front/yaml.h"

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

/* Of an object in braces: YAML knows those, too, so its keys decide. Loosely: who parses it says
 * what is wrong with it. */
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

/* The first line that says something: `[table]`, or `key =`. */
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
		return POL_DIALECT_auto; /* the reader of YAML says so */
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

static int take(const struct pol_input *in, enum pol_dialect dialect, struct pol_doc *doc,
		struct b_err *err)
{
	const char *name = b_arena_strndup(&doc->arena, in->name, strlen(in->name));
	struct pol_ynode *root;

	if (dialect == POL_DIALECT_srt)
		return pol_json_parse(&doc->arena, name, in->text, in->len, &root, err) < 0
			       ? -1
			       : pol_srt_take(root, doc, err);
	if (dialect == POL_DIALECT_caliban)
		return pol_toml_parse(&doc->arena, name, in->text, in->len, &root, err) < 0
			       ? -1
			       : pol_caliban_take(root, doc, err);
	if (pol_yaml_parse(&doc->arena, name, in->text, in->len, &root, err) < 0)
		return -1;
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

	if (take(in, dialect, &doc, err) < 0) {
		pol_doc_release(&doc);
		return -1;
	}
	if (doc.foreign.dialect == POL_DIALECT_auto)
		doc.foreign.dialect = POL_DIALECT_orbit;
	*out = doc;
	return 0;
}
