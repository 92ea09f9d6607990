/* SPDX-License-Identifier: Apache-2.0 */
/* orbit.c - documents of our own language, which is Orbit's with spec.sandbox. */
#include "policy/front/dialect.h"

#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "core/host.h"
#include "policy/document/model.h"
#include "policy/document/settings.h"
#include "policy/front/tree.h"
#include "policy/front/presets.h"

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

static int take_connect(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	return pol_front_connects(f, key, value, true, &f->profile->connect);
}

static int take_deny_connect(struct pol_front *f, const struct pol_ynode *key,
			     const struct pol_ynode *value)
{
	return pol_front_connects(f, key, value, false, &f->doc->deny_connect);
}

static int take_profiles(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "read", .take = take_read},
		{.name = "modify", .take = take_modify},
		{.name = "connect", .take = take_connect},
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
		{.name = "denyConnect", .take = take_deny_connect},
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
	static const char *const inner[] = {"denyRead", "denyModify", "denyConnect", "fsProfiles",
					    "sandbox"};

	for (size_t i = 0; i < root->n; i++)
		for (size_t k = 0; k < sizeof inner / sizeof *inner; k++)
			if (strcmp(root->v[2 * i]->s, inner[k]) == 0)
				return pol_pos_fail(f->err, &root->v[2 * i]->pos,
						    "`%s` is outside of spec, where it has no "
						    "effect: indent it under spec",
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

/* `spec.sandbox` of a document: settings of the run. */

static const char *const setting_keys[] = {
#define X(key, words) [POL_SET_##key] = #key,
	POL_SETTINGS(X)
#undef X
};
static const char *const root_keys[] = {
#define X(key) [POL_ROOTS_##key] = #key,
	POL_ROOT_LISTS(X)
#undef X
};

/* Index of the word in "a|b|c", or -1. */
static int find_word(const char *words, const char *s, size_t len)
{
	for (int i = 0; *words; i++) {
		size_t n = strcspn(words, "|");

		if (n == len && memcmp(words, s, n) == 0)
			return i;
		words += n + (words[n] == '|');
	}
	return -1;
}

static int fail_word(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value, const char *words)
{
	struct b_near near = B_NEAR_INIT;

	for (const char *w = words; *w;) {
		size_t n = strcspn(w, "|");

		b_near_offer(&near, value->s, value->len, w, n);
		w += n + (w[n] == '|');
	}
	if (near.text)
		return pol_pos_fail(f->err, &value->pos, "%s is `%s`, did you mean `%.*s`?", key->s,
				    value->s, (int)near.len, near.text);
	return pol_pos_fail(f->err, &value->pos, "%s is `%s`, expected one of %s", key->s, value->s,
			    words);
}

static int take_value(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	struct pol_setting_value *out;
	const char *words;
	int i = 0;

	while (strcmp(setting_keys[i], key->s) != 0)
		i++;
	out = &f->doc->settings.value[i];
	words = pol_setting_words((enum pol_setting)i);
	if (!words) {
		if (pol_yaml_expect(value, POL_Y_BOOL, key->s, f->err) < 0)
			return -1;
		/* YAML 1.2, core schema: true, True, TRUE */
		out->v = value->s[0] == 't' || value->s[0] == 'T';
	} else {
		if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
			return -1;
		out->v = find_word(words, value->s, value->len);
		if (out->v < 0)
			return fail_word(f, key, value, words);
	}
	out->said = true;
	out->pos = value->pos;
	return 0;
}

static int take_roots(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value, enum pol_root_list which)
{
	struct pol_texts *list = &f->doc->settings.roots[which];
	size_t before = list->n;

	if (pol_front_rules(f, key, value, list) < 0)
		return -1;
	for (size_t i = before; i < list->n; i++)
		if (pol_root_check(&list->v[i], key->s, f->err) < 0)
			return -1;
	return 0;
}

static int take_root_list(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	int i = 0;

	while (strcmp(root_keys[i], key->s) != 0)
		i++;
	return take_roots(f, key, value, (enum pol_root_list)i);
}

/* `none`, `host`, or the paths that are open. */
static int take_sockets(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	struct pol_setting_value *out = &f->doc->settings.value[POL_SET_unixSockets];

	if (value->kind != POL_Y_SEQ)
		return take_value(f, key, value);
	*out = (struct pol_setting_value){.said = true, .v = POL_UNIX_NONE, .pos = value->pos};
	return take_roots(f, key, value, POL_ROOTS_sockets);
}

static int take_endpoints(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	return pol_front_connects(f, key, value, true, &f->doc->settings.connect);
}

/* Ranges in which a resolver of this host makes up addresses, as some VPNs do. */
static int take_trusted(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	struct pol_texts *list = &f->doc->settings.trusted;
	size_t i = list->n;
	struct sbx_cidr range;

	if (pol_front_rules(f, key, value, list) < 0)
		return -1;
	for (; i < list->n; i++)
		if (!sbx_cidr_parse(list->v[i].s, strlen(list->v[i].s), &range))
			return pol_pos_fail(f->err, &list->v[i].pos,
					    "%s: `%s`, expected a range like 198.18.0.0/15", key->s,
					    list->v[i].s);
	return 0;
}

/* `presets` and `providers`, by name: both are presets. */
static int take_presets(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const char *const providers[] = {"codex", "claude", "gemini", "grok"};
	struct pol_texts *list = &f->doc->settings.presets;
	bool is_provider = strcmp(key->s, "providers") == 0, found;
	size_t i = list->n;

	if (pol_front_rules(f, key, value, list) < 0)
		return -1;
	for (; i < list->n; i++) {
		found = !is_provider && pol_preset_find(list->v[i].s);
		for (size_t k = 0; k < sizeof providers / sizeof *providers; k++)
			found |= strcmp(list->v[i].s, providers[k]) == 0;
		if (!found)
			return pol_pos_fail(f->err, &list->v[i].pos,
					    "%s: no `%s`, expected one of %s", key->s, list->v[i].s,
					    is_provider ? "codex, claude, gemini, grok"
							: "those of sbx-policy presets");
	}
	return 0;
}

/* Names; `*` matches any part of one. */
static int take_pass_env(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	struct pol_texts *list = &f->doc->settings.pass_env;
	size_t i = list->n;

	if (pol_front_rules(f, key, value, list) < 0)
		return -1;
	for (; i < list->n; i++)
		if (!*list->v[i].s || strchr(list->v[i].s, '='))
			return pol_pos_fail(f->err, &list->v[i].pos,
					    "%s: `%s`, expected the name of a variable", key->s,
					    list->v[i].s);
	return 0;
}

/* What of macOS is opened: groups of sbpl/emit.h, services, the loopback, a proxy's port. */
static bool is_macos_word(const char *s)
{
	static const char *const words[] = {"base",	"tty",	 "tools",   "python",	"node",
					    "java",	"dns",	 "tls",	    "fsevents", "ssh-agent",
					    "keychain", "power", "loopback"};
	unsigned long long port;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(s, words[i]) == 0)
			return true;
	if (strncmp(s, "mach:", 5) == 0)
		return s[5] != '\0';
	return strncmp(s, "proxy:", 6) == 0 && b_parse_u64(s + 6, 65535, &port) == 0 && port > 0;
}

static int take_macos(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	struct pol_texts *list = &f->doc->settings.macos;
	size_t i = list->n;

	if (pol_front_rules(f, key, value, list) < 0)
		return -1;
	for (; i < list->n; i++)
		if (!is_macos_word(list->v[i].s))
			return pol_pos_fail(f->err, &list->v[i].pos,
					    "%s: no `%s`, expected a group (java, tls, fsevents, "
					    "ssh-agent, keychain, power ...), mach:SERVICE, "
					    "loopback or proxy:PORT",
					    key->s, list->v[i].s);
	return 0;
}

static int check(struct pol_front *f)
{
	const struct pol_setting_value *strict = &f->doc->settings.value[POL_SET_strict];
	const struct pol_setting_value *fallback = &f->doc->settings.value[POL_SET_allowFallback];

	if (strict->said && fallback->said && strict->v == fallback->v)
		return pol_pos_fail(
			f->err, &fallback->pos,
			"allowFallback and strict contradict each other, expected one of them");
	return 0;
}

/* Names of directories, no paths. */
static int take_spares(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	struct pol_texts *list = &f->doc->settings.spares;
	size_t before = list->n;

	if (pol_front_rules(f, key, value, list) < 0)
		return -1;
	for (size_t i = before; i < list->n; i++)
		if (!*list->v[i].s || strpbrk(list->v[i].s, "/*?") || list->v[i].s[0] == '.')
			return pol_pos_fail(f->err, &list->v[i].pos,
					    "spareAnyCase: `%s`, expected the name of a directory",
					    list->v[i].s);
	return 0;
}

int pol_front_sandbox(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "reads", .take = take_value},
		{.name = "network", .take = take_value},
		{.name = "unixSockets", .take = take_sockets},
		{.name = "connect", .take = take_endpoints},
		{.name = "trustedAddresses", .take = take_trusted},
		{.name = "local", .take = pol_front_local},
		{.name = "publish", .take = pol_front_publish},
		{.name = "networkLimits", .take = pol_front_net_limits},
		{.name = "upstreamProxy", .take = pol_front_upstream},
		{.name = "env", .take = take_value},
		{.name = "passEnv", .take = take_pass_env},
		{.name = "macos", .take = take_macos},
		{.name = "scratch", .take = take_value},
		{.name = "cache", .take = take_value},
		{.name = "nested", .take = take_value},
		{.name = "openRead", .take = take_root_list},
		{.name = "openModify", .take = take_root_list},
		{.name = "readRoots", .take = take_root_list},
		{.name = "sideRoots", .take = take_root_list},
		{.name = "denyRead", .take = take_root_list},
		{.name = "allowRead", .take = take_root_list},
		{.name = "denyModify", .take = take_root_list},
		{.name = "denyModifyAnyCase", .take = take_root_list},
		{.name = "spareAnyCase", .take = take_spares},
		{.name = "presets", .take = take_presets},
		{.name = "providers", .take = take_presets},
		{.name = "strict", .take = take_value},
		{.name = "allowFallback", .take = take_value},
		{.name = "enabled", .take = take_value},
	};

	if (pol_front_map(f, value, key->s, true, rows, sizeof rows / sizeof *rows) < 0)
		return -1;
	return check(f);
}
