#include "policy/front/orbit.h"

#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/near.h"
#include "base/str.h"
#include "policy/front/yaml.h"
#include "policy/model.h"

struct front {
	struct pol_doc *doc;
	size_t nrules;
	struct b_err *err;
	struct pol_profile *profile; /* the one being read */
};

/* One key of a mapping. A mapping that is `strict` refuses keys that have no row. */
struct key {
	const char *name;
	bool required;
	int (*take)(struct front *, const struct pol_ynode *key, const struct pol_ynode *value);
	const char *refused; /* text of a key that is known, and refused */
};

static int fail_unknown(struct front *f, const struct pol_ynode *key, const char *where,
			const struct key *rows, size_t n)
{
	struct b_near near = B_NEAR_INIT;
	struct b_str known = {0};

	for (size_t i = 0; i < n; i++) {
		if (rows[i].refused && strcmp(rows[i].name, key->s) == 0) {
			b_str_release(&known);
			return pol_pos_fail(f->err, &key->pos, "unknown field `%s` in %s: %s",
					    key->s, where, rows[i].refused);
		}
		if (rows[i].refused)
			continue;
		b_near_offer(&near, key->s, key->len, rows[i].name, strlen(rows[i].name));
		b_str_addf(&known, "%s%s", known.len ? ", " : "", rows[i].name);
	}
	if (near.text)
		pol_pos_fail(f->err, &key->pos, "unknown field `%s` in %s, did you mean `%s`?",
			     key->s, where, near.text);
	else
		pol_pos_fail(f->err, &key->pos, "unknown field `%s` in %s, expected one of %s",
			     key->s, where, b_str_c(&known));
	b_str_release(&known);
	return -1;
}

static const struct key *find_key(const struct key *rows, size_t n, const struct pol_ynode *key)
{
	for (size_t i = 0; i < n; i++)
		if (!rows[i].refused && strlen(rows[i].name) == key->len &&
		    memcmp(rows[i].name, key->s, key->len) == 0)
			return &rows[i];
	return NULL;
}

static int take_map(struct front *f, const struct pol_ynode *map, const char *where, bool strict,
		    const struct key *rows, size_t n)
{
	if (pol_yaml_expect(map, POL_Y_MAP, where, f->err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (rows[i].required && !pol_yaml_get(map, rows[i].name))
			return pol_pos_fail(f->err, &map->pos, "missing field `%s` in %s",
					    rows[i].name, where);
	for (size_t i = 0; i < map->n; i++) {
		const struct pol_ynode *key = map->v[2 * i];
		const struct key *row = find_key(rows, n, key);

		if (!row && strict)
			return fail_unknown(f, key, where, rows, n);
		if (row && row->take(f, key, map->v[2 * i + 1]) < 0)
			return -1;
	}
	return 0;
}

static int take_rules(struct front *f, const struct pol_ynode *key, const struct pol_ynode *list,
		      struct pol_texts *out)
{
	if (pol_yaml_expect(list, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_ynode *item = list->v[i];

		if (item->kind != POL_Y_STR)
			return pol_pos_fail(f->err, &item->pos,
					    "an entry of %s is %s, expected a string: rules that "
					    "start with * ! # { [ & ~ @ %% need quotes",
					    key->s, pol_yaml_kind_name(item->kind));
		if (pol_yaml_expect(item, POL_Y_STR, "a rule", f->err) < 0)
			return -1;
		if (++f->nrules > POL_MAX_RULES)
			return pol_pos_fail(f->err, &item->pos, "more than %d rules",
					    POL_MAX_RULES);
		pol_texts_add(f->doc, out, (struct pol_text){item->s, item->pos});
	}
	return 0;
}

static int take_read(struct front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	return take_rules(f, key, value, &f->profile->read);
}

static int take_modify(struct front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	return take_rules(f, key, value, &f->profile->modify);
}

static int take_deny_read(struct front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	return take_rules(f, key, value, &f->doc->deny_read);
}

static int take_deny_modify(struct front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	return take_rules(f, key, value, &f->doc->deny_modify);
}

static int take_profiles(struct front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	static const struct key rows[] = {
		{.name = "read", .take = take_read},
		{.name = "modify", .take = take_modify},
	};

	if (pol_yaml_expect(value, POL_Y_MAP, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++) {
		const struct pol_ynode *name = value->v[2 * i];
		struct b_str where = {0};
		int rc;

		if (strlen(name->s) != name->len)
			return pol_pos_fail(f->err, &name->pos, "an fsProfile name contains a NUL");
		f->profile = pol_doc_add_profile(f->doc, (struct pol_text){name->s, name->pos});
		b_str_addf(&where, "fsProfile `%s`", name->s);
		rc = take_map(f, value->v[2 * i + 1], b_str_c(&where), true, rows,
			      sizeof rows / sizeof *rows);
		b_str_release(&where);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int take_description(struct front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	if (value->kind == POL_Y_NULL)
		return 0;
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	f->doc->description = value->s;
	return 0;
}

/* Matches the letter d against a digit, every other letter against itself. */
static bool has_shape(const char *s, const char *shape)
{
	for (; *shape; s++, shape++)
		if (*shape == 'd' ? !isdigit((unsigned char)*s) : *s != *shape)
			return false;
	return true;
}

/* RFC 3339: 2026-05-18T01:02:03[.456](Z|+01:00) */
static bool is_timestamp(const char *s)
{
	if (!has_shape(s, "dddd-dd-ddTdd:dd:dd"))
		return false;
	s += strlen("dddd-dd-ddTdd:dd:dd");
	if (*s == '.')
		s += 1 + strspn(s + 1, "0123456789");
	if (strcmp(s, "Z") == 0)
		return true;
	return (*s == '+' || *s == '-') && has_shape(s + 1, "dd:dd") && strlen(s) == 6;
}

static int take_timestamp(struct front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	if (value->kind == POL_Y_NULL)
		return 0;
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	if (!is_timestamp(value->s))
		return pol_pos_fail(f->err, &value->pos,
				    "%s is `%s`, expected a time like 2026-05-18T09:30:00Z", key->s,
				    value->s);
	if (key->s[0] == 'c')
		f->doc->created_at = value->s;
	else
		f->doc->updated_at = value->s;
	return 0;
}

static int take_spec(struct front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	static const struct key rows[] = {
		{.name = "description", .take = take_description},
		{.name = "denyRead", .take = take_deny_read},
		{.name = "denyModify", .take = take_deny_modify},
		{.name = "fsProfiles", .take = take_profiles},
		{.name = "created_at", .take = take_timestamp},
		{.name = "updated_at", .take = take_timestamp},
		{.name = "sandbox",
		 .refused = "launcher settings in a document are not supported, expected them as "
			    "options of sbx-launch"},
	};

	return take_map(f, value, key->s, true, rows, sizeof rows / sizeof *rows);
}

static int take_name(struct front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	const char *reason;

	/* The name is judged with its NULs, before the check for strings would refuse them. */
	if (value->kind == POL_Y_STR && (reason = pol_name_check_n(value->s, value->len)))
		return pol_pos_fail(f->err, &value->pos, "metadata.name `%s` %s", value->s, reason);
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	f->doc->name = (struct pol_text){value->s, value->pos};
	return 0;
}

static int take_strings(struct front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_MAP, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (pol_yaml_expect(value->v[2 * i + 1], POL_Y_STR, value->v[2 * i]->s, f->err) < 0)
			return -1;
	return 0;
}

static int take_metadata(struct front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	static const struct key rows[] = {
		{.name = "name", .required = true, .take = take_name},
		{.name = "labels", .take = take_strings},
		{.name = "annotations", .take = take_strings},
	};

	return take_map(f, value, key->s, false, rows, sizeof rows / sizeof *rows);
}

static int take_kind(struct front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	if (strcmp(value->s, "Policy") != 0)
		return pol_pos_fail(f->err, &value->pos, "expected kind Policy, found %s",
				    value->s);
	return 0;
}

static int take_version(struct front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_INT, key->s, f->err) < 0)
		return -1;
	if (strcmp(value->s, "1") == 0)
		return pol_pos_fail(f->err, &value->pos,
				    "policy schemaVersion 1 is no longer supported; migrate to "
				    "schemaVersion 2 with `spec.denyRead`, `spec.denyModify`, and "
				    "`spec.fsProfiles`");
	if (strcmp(value->s, "2") != 0)
		return pol_pos_fail(f->err, &value->pos,
				    "unsupported policy schemaVersion %s, expected 2", value->s);
	return 0;
}

/* The envelope tells what the document is; it is judged before the rest, so that a document of
 * another kind or version is called that, not full of unknown keys. */
static int take_document(struct front *f, const struct pol_ynode *root)
{
	static const struct key envelope[] = {
		{.name = "kind", .required = true, .take = take_kind},
		{.name = "schemaVersion", .required = true, .take = take_version},
	};
	static const struct key body[] = {
		{.name = "metadata", .required = true, .take = take_metadata},
		{.name = "spec", .required = true, .take = take_spec},
	};

	if (take_map(f, root, "the policy", false, envelope, 2) < 0 ||
	    take_map(f, root, "the policy", false, body, 2) < 0)
		return -1;
	return pol_doc_validate(f->doc, f->err);
}

static int take_tree(struct pol_doc *doc, const struct pol_ynode *root, struct b_err *err)
{
	struct front f = {.doc = doc, .err = err};

	return take_document(&f, root);
}

int pol_orbit_take(const struct pol_ynode *root, struct pol_doc *out, struct b_err *err)
{
	struct pol_doc doc = {0};

	if (take_tree(&doc, root, err) < 0) {
		pol_doc_release(&doc);
		return -1;
	}
	*out = doc;
	return 0;
}

int pol_orbit_parse(const char *name, const char *text, size_t len, struct pol_doc *out,
		    struct b_err *err)
{
	struct pol_doc doc = {0};
	struct pol_ynode *root;
	const char *file = b_arena_strndup(&doc.arena, name, strlen(name));

	if (pol_yaml_parse(&doc.arena, file, text, len, &root, err) < 0 ||
	    take_tree(&doc, root, err) < 0) {
		pol_doc_release(&doc);
		return -1;
	}
	*out = doc;
	return 0;
}
