/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_settings.c - settings of agents as policies: settings.json of Claude Code (`permissions`,
 * `sandbox`) and config.toml of Codex (`sandbox_mode`). They hold much else, which is none of ours;
 * of what decides about files and the network each key is taken, named, or refused.
 *
 * Both let everything be read but what is listed, and the workspace be modified.
 */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/document/settings.h"
#include "policy/front/dialect.h"

#define KEYS(rows) rows, sizeof(rows) / sizeof *(rows)

static struct pol_profile *begin(struct pol_doc *doc, const struct pol_ynode *root,
				 enum pol_dialect dialect)
{
	struct pol_profile *p = pol_foreign_begin(doc, root, dialect);

	pol_foreign_rule(doc, &p->read, "./**", root->pos);
	pol_foreign_set(doc, POL_SET_reads, POL_READS_BROAD, root->pos);
	pol_foreign_set(doc, POL_SET_network, POL_NET_NONE, root->pos);
	doc->foreign.is_at_cwd = true;
	return p;
}

/* ---- Claude Code: rules of permission ---- */

/* A rule's path as srt would write it: two slashes are the root, one is the project, and a name
 * without any is meant in each directory. */
static const char *path_of_rule(struct b_arena *a, const char *s)
{
	size_t n = strlen(s);

	if (strncmp(s, "//", 2) == 0)
		return s + 1;
	if (s[0] == '/')
		return b_arena_printf(a, ".%s", s);
	if (s[0] == '~' || (memchr(s, '/', n) && strchr(s, '/') != s + n - 1))
		return s;
	return b_arena_printf(a, "**/%s", s);
}

static int add_path(struct pol_front *f, const struct pol_ynode *item, const char *path,
		    enum pol_root_list list)
{
	struct pol_ynode node = *item;

	node.s = path;
	node.len = strlen(path);
	return pol_srt_path(f, &node, list);
}

/* "Read(path)": the path, in the arena, when it is one of these tools; NULL: another's rule. "" is
 * all of them. */
static const char *path_for(struct b_arena *a, const struct pol_ynode *item,
			    const char *const *tools)
{
	size_t n = strcspn(item->s, "("), len = strlen(item->s);

	for (; *tools; tools++)
		if (strlen(*tools) == n && memcmp(*tools, item->s, n) == 0)
			break;
	if (!*tools)
		return NULL;
	if (!item->s[n] || item->s[len - 1] != ')')
		return "";
	return b_arena_strndup(a, item->s + n + 1, len - n - 2);
}

static const char *const readers[] = {"Read", NULL};
static const char *const writers[] = {"Edit", "Write", "MultiEdit", "NotebookEdit", NULL};

static int deny_path(struct pol_front *f, const struct pol_ynode *item, const char *path,
		     enum pol_root_list list)
{
	if (!*path || strcmp(path, "*") == 0 || strcmp(path, "**") == 0)
		return pol_pos_fail(
			f->err, &item->pos,
			"permissions.deny: `%s` closes everything, and no command could start: to "
			"make everything read-only, use --preset readonly",
			item->s);
	return add_path(f, item, path_of_rule(&f->doc->arena, path), list);
}

static int take_denied(struct pol_front *f, const struct pol_ynode *item)
{
	const char *path = path_for(&f->doc->arena, item, readers);

	if (path)
		return deny_path(f, item, path, POL_ROOTS_denyRead);
	path = path_for(&f->doc->arena, item, writers);
	if (path)
		return deny_path(f, item, path, POL_ROOTS_denyModify);
	pol_foreign_note(f->doc, &item->pos,
			 "permissions.deny: `%s` is about a tool or the words of a command: Claude "
			 "Code enforces it, a sandbox cannot",
			 item->s);
	return 0;
}

/* Paths outside the workspace that may be modified. Other `allow` rules only skip a question, and
 * open no file. */
static int take_allowed(struct pol_front *f, const struct pol_ynode *item)
{
	const char *path = path_for(&f->doc->arena, item, writers);

	if (!path || !*path || strcmp(path, "*") == 0 || strcmp(path, "**") == 0)
		return 0;
	return add_path(f, item, path_of_rule(&f->doc->arena, path), POL_ROOTS_openModify);
}

static int take_deny(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, take_denied);
}

static int take_allow(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, take_allowed);
}

static int add_open(struct pol_front *f, const struct pol_ynode *item)
{
	return pol_srt_path(f, item, POL_ROOTS_openModify);
}

static int take_open(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, add_open);
}

static int take_permissions(struct pol_front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "deny", .take = take_deny},
		{.name = "allow", .take = take_allow},
		{.name = "ask", .take = pol_foreign_texts},
		{.name = "additionalDirectories", .take = take_open},
		{.name = "defaultMode", .take = pol_foreign_string},
		{.name = "disableBypassPermissionsMode", .take = pol_foreign_string},
		{.name = "disableAutoMode", .take = pol_foreign_string},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

/* ---- Claude Code: its sandbox ---- */

static int add_sandbox_path(struct pol_front *f, const struct pol_ynode *item,
			    enum pol_root_list list)
{
	return add_path(f, item, item->s + (strncmp(item->s, "//", 2) == 0), list);
}

#define PATHS(name, list)                                                                          \
	static int add_##name(struct pol_front *f, const struct pol_ynode *item)                   \
	{                                                                                          \
		return add_sandbox_path(f, item, list);                                            \
	}                                                                                          \
	static int take_##name(struct pol_front *f, const struct pol_ynode *key,                   \
			       const struct pol_ynode *value)                                      \
	{                                                                                          \
		return pol_foreign_strings(f, value, key->s, add_##name);                          \
	}
PATHS(deny_read, POL_ROOTS_denyRead)
PATHS(allow_read, POL_ROOTS_allowRead)
PATHS(deny_write, POL_ROOTS_denyModify)
PATHS(allow_write, POL_ROOTS_openModify)
PATHS(sockets, POL_ROOTS_sockets)

static int take_filesystem(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "denyRead", .take = take_deny_read},
		{.name = "allowRead", .take = take_allow_read},
		{.name = "denyWrite", .take = take_deny_write},
		{.name = "allowWrite", .take = take_allow_write},
		{.name = "allowManagedReadPathsOnly", .take = pol_foreign_either},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

static int take_all_sockets(struct pol_front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	bool on = false;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	if (on)
		pol_foreign_set(f->doc, POL_SET_unixSockets, POL_UNIX_HOST, value->pos);
	return 0;
}

static int take_port(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	unsigned long long ignored;

	if (pol_foreign_number(f, value, key->s, 1, 65535, &ignored) < 0)
		return -1;
	pol_foreign_loss(f->doc, &key->pos, "%s: sbx-launch does not use this proxy", key->s);
	return 0;
}

static int take_domains(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	if (pol_foreign_host_rules(f, key, value) < 0)
		return -1;
	if (value->n > 0)
		pol_foreign_note(f->doc, &key->pos,
				 "%s: the command has no network unless --connect names hosts",
				 key->s);
	return 0;
}

static int take_network(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "allowedDomains", .take = take_domains},
		{.name = "deniedDomains", .take = pol_foreign_host_rules},
		{.name = "allowManagedDomainsOnly", .take = pol_foreign_either},
		{.name = "allowUnixSockets", .take = take_sockets},
		{.name = "allowAllUnixSockets", .take = take_all_sockets},
		{.name = "allowLocalBinding", .take = pol_foreign_either},
		{.name = "allowMachLookup", .take = pol_foreign_texts},
		{.name = "httpProxyPort", .take = take_port},
		{.name = "socksProxyPort", .take = take_port},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

static int take_excluded(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	if (pol_foreign_texts(f, key, value) < 0)
		return -1;
	if (value->n > 0)
		pol_foreign_note(f->doc, &key->pos,
				 "excludedCommands: these commands run in the sandbox, too");
	return 0;
}

static int take_map(struct pol_front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	return pol_yaml_expect(value, POL_Y_MAP, key->s, f->err);
}

static int take_sandbox(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "filesystem", .take = take_filesystem},
		{.name = "network", .take = take_network},
		{.name = "credentials", .take = pol_srt_credentials},
		{.name = "excludedCommands", .take = take_excluded},
		/* whether and how Claude Code sandboxes and asks: here every command is */
		{.name = "enabled", .take = pol_foreign_either},
		{.name = "failIfUnavailable", .take = pol_foreign_either},
		{.name = "autoAllowBashIfSandboxed", .take = pol_foreign_either},
		{.name = "allowUnsandboxedCommands", .take = pol_foreign_either},
		{.name = "enableWeakerNestedSandbox", .take = pol_foreign_either},
		{.name = "enableWeakerNetworkIsolation", .take = pol_foreign_either},
		{.name = "allowAppleEvents", .take = pol_foreign_either},
		{.name = "bwrapPath", .take = pol_foreign_string},
		{.name = "socatPath", .take = pol_foreign_string},
		{.name = "ignoreViolations", .take = take_map},
		{.name = "ripgrep", .take = take_map},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

bool pol_claude_is(const struct pol_ynode *root)
{
	return (pol_yaml_get(root, "permissions") || pol_yaml_get(root, "sandbox")) &&
	       !pol_yaml_get(root, "filesystem") && !pol_yaml_get(root, "network");
}

int pol_claude_take(const struct pol_ynode *root, struct pol_doc *doc, struct b_err *err)
{
	static const struct pol_key rows[] = {
		{.name = "permissions", .take = take_permissions},
		{.name = "sandbox", .take = take_sandbox},
	};
	struct pol_front f = {.doc = doc, .err = err};
	struct pol_profile *p = begin(doc, root, POL_DIALECT_claude);

	if (!pol_claude_is(root))
		return pol_pos_fail(err, &root->pos,
				    "settings of Claude Code have `permissions` or `sandbox`, and "
				    "neither `filesystem` nor `network` beside them");
	pol_foreign_rule(doc, &p->modify, "./**", root->pos);
	pol_foreign_set(doc, POL_SET_nested, true, root->pos);
	if (pol_front_map(&f, root, "the settings of Claude Code", false, KEYS(rows)) < 0)
		return -1;
	return pol_doc_validate(doc, err);
}

/* ---- Codex ---- */

enum { READ_ONLY, WORKSPACE_WRITE, FULL_ACCESS };

static int take_access(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	bool on = false;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	if (on)
		pol_foreign_set(f->doc, POL_SET_network, POL_NET_HOST, value->pos);
	return 0;
}

static int take_workspace_write(struct pol_front *f, const struct pol_ynode *table)
{
	static const struct pol_key rows[] = {
		{.name = "writable_roots", .take = take_open},
		{.name = "network_access", .take = take_access},
		/* temporary files have a directory of the run's */
		{.name = "exclude_tmpdir_env_var", .take = pol_foreign_either},
		{.name = "exclude_slash_tmp", .take = pol_foreign_either},
	};

	return pol_front_map(f, table, "sandbox_workspace_write", true, KEYS(rows));
}

/* The table that `profile` names; NULL = none. */
static const struct pol_ynode *chosen_profile(const struct pol_ynode *root)
{
	const struct pol_ynode *name = pol_yaml_get(root, "profile");

	return name && name->kind == POL_Y_STR
		       ? pol_yaml_get(pol_yaml_get(root, "profiles"), name->s)
		       : NULL;
}

static int take_mode(struct pol_front *f, const struct pol_ynode *root, int *out)
{
	const struct pol_ynode *profile = chosen_profile(root);
	const struct pol_ynode *mode = profile ? pol_yaml_get(profile, "sandbox_mode") : NULL;

	*out = READ_ONLY;
	mode = mode ? mode : pol_yaml_get(root, "sandbox_mode");
	if (!mode)
		return 0;
	if (pol_foreign_word(f, mode, "sandbox_mode",
			     "read-only|workspace-write|danger-full-access", out) < 0)
		return -1;
	if (*out == FULL_ACCESS)
		return pol_pos_fail(f->err, &mode->pos,
				    "sandbox_mode is danger-full-access, but sbx-launch runs "
				    "nothing without a sandbox");
	return 0;
}

/* Caliban's settings have tables by some of the names that Codex has. */
bool pol_codex_is(const struct pol_ynode *root)
{
	static const char *const keys[] = {"sandbox_mode",    "sandbox_workspace_write",
					   "approval_policy", "default_permissions",
					   "model_provider",  NULL};
	const struct pol_ynode *model = pol_yaml_get(root, "model");
	bool is_it = model && model->kind == POL_Y_STR;

	for (const char *const *key = keys; *key; key++)
		is_it |= pol_yaml_get(root, *key) != NULL;
	return is_it && !pol_yaml_get(root, "sandbox");
}

int pol_codex_take(const struct pol_ynode *root, struct pol_doc *doc, struct b_err *err)
{
	static const char *const closed[] = {"${WORKSPACE}/.git", "${WORKSPACE}/.codex",
					     "${WORKSPACE}/.agents", NULL};
	static const char *const newer[] = {"default_permissions", "permissions", NULL};
	const struct pol_ynode *table = pol_yaml_get(root, "sandbox_workspace_write"), *key;
	struct pol_front f = {.doc = doc, .err = err};
	struct pol_profile *p;
	int mode;

	key = pol_yaml_get(root, "sandbox");
	if (key)
		return pol_pos_fail(err, &key->pos, "Codex's settings have no table `sandbox`");
	p = begin(doc, root, POL_DIALECT_codex);
	for (const char *const *name = newer; *name; name++)
		if ((key = pol_yaml_get(root, *name)))
			return pol_pos_fail(err, &key->pos,
					    "%s: permission profiles are not supported: use "
					    "sandbox_mode and sandbox_workspace_write",
					    *name);
	if (take_mode(&f, root, &mode) < 0)
		return -1;
	if (mode == WORKSPACE_WRITE) {
		pol_foreign_rule(doc, &p->modify, "./**", root->pos);
		if (table && take_workspace_write(&f, table) < 0)
			return -1;
	}
	for (const char *const *dir = closed; *dir; dir++)
		if (pol_foreign_root(&f, POL_ROOTS_denyModify, *dir, root->pos, true) < 0)
			return -1;
	return pol_doc_validate(doc, err);
}
