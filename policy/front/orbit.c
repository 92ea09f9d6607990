#include "policy/front/orbit.h"

#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/front/keys.h"
#include "policy/front/yaml.h"
#include "policy/model.h"

static int take_read(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	return pol_front_rules(f, key, value, &f->profile->read);
}

static int take_modify(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	return pol_front_rules(f, key, value, &f->profile->modify);
}

static int take_deny_read(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	return pol_front_rules(f, key, value, &f->doc->deny_read);
}

static int take_deny_modify(struct pol_front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	return pol_front_rules(f, key, value, &f->doc->deny_modify);
}

static int take_profiles(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
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
		f->profile = pol_doc_add_profile(f->doc,
						 (struct pol_text){.s = name->s, .pos = name->pos});
		b_str_addf(&where, "fsProfile `%s`", name->s);
		rc = pol_front_map(f, value->v[2 * i + 1], b_str_c(&where), true, rows,
				   sizeof rows / sizeof *rows);
		b_str_release(&where);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int take_description(struct pol_front *f, const struct pol_ynode *key,
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

static int take_timestamp(struct pol_front *f, const struct pol_ynode *key,
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

static int take_spec(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "description", .take = take_description},
		{.name = "denyRead", .take = take_deny_read},
		{.name = "denyModify", .take = take_deny_modify},
		{.name = "fsProfiles", .take = take_profiles},
		{.name = "created_at", .take = take_timestamp},
		{.name = "updated_at", .take = take_timestamp},
		{.name = "sandbox", .take = pol_front_sandbox},
	};

	return pol_front_map(f, value, key->s, true, rows, sizeof rows / sizeof *rows);
}

static int take_name(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	const char *reason;

	/* The name is judged with its NULs, before the check for strings would refuse them. */
	if (value->kind == POL_Y_STR && (reason = pol_name_check_n(value->s, value->len)))
		return pol_pos_fail(f->err, &value->pos, "metadata.name `%s` %s", value->s, reason);
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	f->doc->name = (struct pol_text){.s = value->s, .pos = value->pos};
	return 0;
}

static int take_strings(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_MAP, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (pol_yaml_expect(value->v[2 * i + 1], POL_Y_STR, value->v[2 * i]->s, f->err) < 0)
			return -1;
	return 0;
}

static int take_metadata(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "name", .required = true, .take = take_name},
		{.name = "labels", .take = take_strings},
		{.name = "annotations", .take = take_strings},
	};

	return pol_front_map(f, value, key->s, false, rows, sizeof rows / sizeof *rows);
}

static int take_kind(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	if (strcmp(value->s, "Policy") != 0)
		return pol_pos_fail(f->err, &value->pos, "expected kind Policy, found %s",
				    value->s);
	return 0;
}

static int take_version(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
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

/* Unknown keys are fine out here (newer documents may have them), rules that went astray are not.
 */
static int check_astray(struct pol_front *f, const struct pol_ynode *root)
{
	static const char *const inner[] = {"denyRead", "denyModify", "fsProfiles", "sandbox"};

	for (size_t i = 0; i < root->n; i++)
		for (size_t k = 0; k < sizeof inner / sizeof *inner; k++)
			if (strcmp(root->v[2 * i]->s, inner[k]) == 0)
				return pol_pos_fail(
					f->err, &root->v[2 * i]->pos,
					"`%s` stands beside spec, where nothing reads it: "
					"indent it under spec",
					inner[k]);
	return 0;
}

/* The envelope tells what the document is; it is judged before the rest, so that a document of
 * another kind or version is called that, not full of unknown keys. */
static int take_document(struct pol_front *f, const struct pol_ynode *root)
{
	static const struct pol_key envelope[] = {
		{.name = "kind", .required = true, .take = take_kind},
		{.name = "schemaVersion", .required = true, .take = take_version},
	};
	static const struct pol_key body[] = {
		{.name = "metadata", .required = true, .take = take_metadata},
		{.name = "spec", .required = true, .take = take_spec},
	};

	if (pol_front_map(f, root, "the policy", false, envelope, 2) < 0 ||
	    pol_front_map(f, root, "the policy", false, body, 2) < 0 || check_astray(f, root) < 0)
		return -1;
	return pol_doc_validate(f->doc, f->err);
}

int pol_orbit_take_in(const struct pol_ynode *root, struct pol_doc *doc, struct b_err *err)
{
	struct pol_front f = {.doc = doc, .err = err};

	return take_document(&f, root);
}

int pol_orbit_take(const struct pol_ynode *root, struct pol_doc *out, struct b_err *err)
{
	struct pol_doc doc = {0};

	if (pol_orbit_take_in(root, &doc, err) < 0) {
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
	    pol_orbit_take_in(root, &doc, err) < 0) {
		pol_doc_release(&doc);
		return -1;
	}
	*out = doc;
	return 0;
}
