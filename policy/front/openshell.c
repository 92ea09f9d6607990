/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openshell.c - OpenShell's policy, version 1: its lists are all that may be touched, each entry
 * with everything below it, no character a wildcard. As there, everything wrong is found, not the
 * first thing only.
 */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/front/dialect.h"
#include "policy/document/settings.h"

enum { MAX_PATHS = 256, MAX_PATH = 4096 };

static struct pol_profile *profile(struct pol_front *f)
{
	return &f->doc->profiles[0];
}

/* ---- filesystem_policy ---- */

const char *pol_openshell_path(struct b_arena *a, const char *text)
{
	char *s = b_arena_alloc(a, strlen(text) + 2), *to = s;

	if (*text == '/')
		*to++ = '/';
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "/");

		if (n > 0 && !(n == 1 && *p == '.')) {
			if (to > s && to[-1] != '/')
				*to++ = '/';
			memcpy(to, p, n);
			to += n;
		}
		p += n + (p[n] == '/');
	}
	*to = '\0';
	return s;
}

static bool has_dotdot(const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "/");

		if (n == 2 && s[0] == '.' && s[1] == '.')
			return true;
		s += n + (s[n] == '/');
	}
	return false;
}

/* Both may be wrong, and both are reported. */
static int check_path(struct pol_front *f, const struct pol_ynode *item)
{
	if (item->len > MAX_PATH)
		return pol_pos_fail(f->err, &item->pos, "path of %zu bytes, expected at most %d",
				    item->len, MAX_PATH);
	if (item->s[0] != '/') {
		pol_pos_fail(f->err, &item->pos, "path must be absolute (start with '/'): %s",
			     item->s);
		if (!has_dotdot(item->s) || pol_front_found(f) < 0)
			return -1;
	}
	if (has_dotdot(item->s))
		return pol_pos_fail(f->err, &item->pos,
				    "path contains '..' traversal component: %s", item->s);
	return 0;
}

static int take_path(struct pol_front *f, const struct pol_ynode *item, enum pol_root_list list)
{
	struct pol_doc *doc = f->doc;
	const char *path;

	if (check_path(f, item) < 0)
		return -1;
	path = pol_openshell_path(&doc->arena, item->s);
	if (path[1] == '\0' && list == POL_ROOTS_openModify)
		return pol_pos_fail(f->err, &item->pos, "read-write path is overly broad: %s",
				    item->s);
	pol_texts_add(doc, &doc->foreign.listed, (struct pol_text){.s = path, .pos = item->pos});
	/* The root is all that may be read anywhere, less what a run must never see. */
	if (path[1] == '\0') {
		pol_foreign_set(doc, POL_SET_reads, POL_READS_BROAD, item->pos);
		pol_foreign_rule(doc, &profile(f)->read, "./**", item->pos);
		return 0;
	}
	return pol_foreign_root(f, list, path, item->pos, true);
}

static int take_read_only(struct pol_front *f, const struct pol_ynode *item)
{
	return take_path(f, item, POL_ROOTS_openRead);
}

static int take_read_write(struct pol_front *f, const struct pol_ynode *item)
{
	return take_path(f, item, POL_ROOTS_openModify);
}

static int take_read_only_list(struct pol_front *f, const struct pol_ynode *key,
			       const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, take_read_only);
}

static int take_read_write_list(struct pol_front *f, const struct pol_ynode *key,
				const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, take_read_write);
}

static void allow_workdir(struct pol_front *f, struct pol_pos pos)
{
	pol_foreign_rule(f->doc, &profile(f)->read, "./**", pos);
	pol_foreign_rule(f->doc, &profile(f)->modify, "./**", pos);
}

static int take_workdir(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	bool on;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	if (on)
		allow_workdir(f, value->pos);
	return 0;
}

static size_t count(const struct pol_ynode *map, const char *key)
{
	const struct pol_ynode *list = pol_yaml_get(map, key);

	return list && list->kind == POL_Y_SEQ ? list->n : 0;
}

static int take_filesystem(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "include_workdir", .take = take_workdir},
		{.name = "read_only", .take = take_read_only_list},
		{.name = "read_write", .take = take_read_write_list},
	};
	size_t n = count(value, "read_only") + count(value, "read_write");

	if (n > MAX_PATHS) {
		pol_pos_fail(f->err, &value->pos, "too many filesystem paths (%zu > %d)", n,
			     MAX_PATHS);
		if (pol_front_found(f) < 0)
			return -1;
	}
	return pol_front_map(f, value, key->s, true, rows, sizeof rows / sizeof *rows);
}

/* ---- landlock, process, version ---- */

static int take_compatibility(struct pol_front *f, const struct pol_ynode *key,
			      const struct pol_ynode *value)
{
	int hard;

	if (pol_foreign_word(f, value, key->s, "best_effort|hard_requirement", &hard) < 0)
		return -1;
	f->doc->foreign.must_exist = hard;
	pol_foreign_set(f->doc, POL_SET_strict, hard, value->pos);
	return 0;
}

static int take_landlock(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "compatibility", .take = take_compatibility},
	};

	return pol_front_map(f, value, key->s, true, rows, 1);
}

/* A name, or a number from 1 to the last but one (the last means "unchanged" to chown(2)). */
static int take_identity(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	struct pol_foreign *foreign = &f->doc->foreign;
	unsigned long long id;
	bool is_number, is_name;

	if (value->kind != POL_Y_INT && pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	is_number = value->len && strspn(value->s, "0123456789") == value->len;
	is_name = isalpha((unsigned char)value->s[0]) || value->s[0] == '_';
	for (size_t i = 0; i < value->len; i++)
		is_name &=
			isalnum((unsigned char)value->s[i]) || strchr("_.-$", value->s[i]) != NULL;
	/* Other spellings of a number would be names that nobody has, and the command root's. */
	if (!(is_number || is_name) || strcmp(value->s, "root") == 0 ||
	    (is_number && (value->s[0] == '0' || b_parse_u64(value->s, 4294967294u, &id) < 0)) ||
	    (value->kind == POL_Y_INT && !is_number))
		return pol_pos_fail(f->err, &value->pos,
				    "%s must be a name other than root or a number in range [1, "
				    "4294967294], got '%s'",
				    key->s, value->s);
	*(strcmp(key->s, "run_as_user") == 0 ? &foreign->user : &foreign->group) =
		(struct pol_text){.s = value->s, .pos = value->pos};
	return 0;
}

static int take_process(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "run_as_user", .take = take_identity},
		{.name = "run_as_group", .take = take_identity},
	};

	return pol_front_map(f, value, key->s, true, rows, 2);
}

/* OpenShell's parser does not check the number; there is only one version yet. */
static int take_version(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_INT, key->s, f->err) < 0)
		return -1;
	if (strcmp(value->s, "1") != 0)
		pol_foreign_note(f->doc, &value->pos, "version %s: read as version 1", value->s);
	return 0;
}

/* ---- the whole ---- */

/* Where the section is left out, OpenShell takes that of its restrictive default. */
static const struct {
	const char *path;
	enum pol_root_list list;
} baseline[] = {
	{"/usr", POL_ROOTS_openRead},	      {"/lib", POL_ROOTS_openRead},
	{"/etc", POL_ROOTS_openRead},	      {"/app", POL_ROOTS_openRead},
	{"/var/log", POL_ROOTS_openRead},     {"/proc", POL_ROOTS_openRead},
	{"/dev/urandom", POL_ROOTS_openRead}, {"/tmp", POL_ROOTS_openModify},
};

static bool is_listed(const struct pol_front *f, const char *path)
{
	for (size_t i = 0; i < f->doc->foreign.listed.n; i++)
		if (strcmp(f->doc->foreign.listed.v[i].s, path) == 0)
			return true;
	return false;
}

static void add_listed(struct pol_front *f, enum pol_root_list list, const char *path,
		       struct pol_pos pos)
{
	if (!is_listed(f, path))
		pol_texts_add(f->doc, &f->doc->settings.roots[list],
			      (struct pol_text){.s = path, .pos = pos, .is_literal = true});
}

/* On a host with a GPU, the files that its libraries use. */
static void add_gpu(struct pol_front *f, struct pol_pos pos)
{
	static const char *const written[] = {
		"/dev/nvidiactl",      "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
		"/dev/nvidia-modeset", "/dev/dxg",	  "/proc"};
	enum { CARDS = 32 };

	if (access("/dev/nvidiactl", F_OK) < 0 && access("/dev/dxg", F_OK) < 0)
		return;
	add_listed(f, POL_ROOTS_openRead, "/run/nvidia-persistenced", pos);
	add_listed(f, POL_ROOTS_openRead, "/usr/lib/wsl", pos);
	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		add_listed(f, POL_ROOTS_openModify, written[i], pos);
	for (unsigned i = 0; i < CARDS; i++) {
		const char *card = b_arena_printf(&f->doc->arena, "/dev/nvidia%u", i);

		if (access(card, F_OK) == 0)
			add_listed(f, POL_ROOTS_openModify, card, pos);
	}
}

static void add_baseline(struct pol_front *f, struct pol_pos pos)
{
	for (size_t i = 0; i < sizeof baseline / sizeof *baseline; i++)
		add_listed(f, baseline[i].list, baseline[i].path, pos);
	add_gpu(f, pos);
}

static void add_default(struct pol_front *f, struct pol_pos pos)
{
	add_baseline(f, pos);
	pol_foreign_root(f, POL_ROOTS_openModify, "/sandbox", pos, true);
	allow_workdir(f, pos);
}

/* Nobody is named: no command of OpenShell's is ever root, so it is the user that it always has. */
static void imply_identity(struct pol_front *f, const struct pol_ynode *root)
{
	struct pol_foreign *foreign = &f->doc->foreign;
	const struct pol_ynode *process = pol_yaml_get(root, "process");

	if (foreign->user.s || foreign->group.s)
		return;
	foreign->user = (struct pol_text){.s = POL_OPENSHELL_USER,
					  .pos = process ? process->pos : root->pos};
	foreign->is_user_implied = true;
}

static bool has_entries(const struct pol_ynode *map)
{
	return map && map->kind == POL_Y_MAP && map->n > 0;
}

static int take_all(struct pol_front *f, const struct pol_ynode *root)
{
	static const struct pol_key rows[] = {
		{.name = "version", .take = take_version},
		{.name = "filesystem_policy", .take = take_filesystem},
		{.name = "landlock", .take = take_landlock},
		{.name = "process", .take = take_process},
		{.name = "network_policies", .take = pol_openshell_network},
		{.name = "network_middlewares", .take = pol_openshell_middlewares},
	};
	const struct pol_ynode *net;

	pol_foreign_begin(f->doc, root, POL_DIALECT_openshell);
	pol_foreign_set(f->doc, POL_SET_reads, POL_READS_LISTED, root->pos);
	pol_foreign_set(f->doc, POL_SET_network, POL_NET_NONE, root->pos);
	(void)pol_front_map(f, root, "the policy", true, rows, sizeof rows / sizeof *rows);
	if (pol_front_judge(f) < 0)
		return -1;
	imply_identity(f, root);
	net = pol_yaml_get(root, "network_policies");
	if (!pol_yaml_get(root, "filesystem_policy"))
		add_default(f, root->pos);
	else if (has_entries(net))
		add_baseline(f, net->pos);
	return pol_doc_validate(f->doc, f->err);
}

int pol_openshell_take(const struct pol_ynode *root, struct pol_doc *doc, struct b_str *report,
		       struct b_err *err)
{
	struct pol_findings findings = {0};
	struct b_err own;
	struct pol_front f = {.doc = doc, .err = err ? err : &own, .findings = &findings};
	int rc = take_all(&f, root);

	if (report && findings.n)
		b_str_addn(report, findings.text.s, findings.text.len);
	b_str_release(&findings.text);
	return rc;
}
