/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caliban.c - the `[sandbox]` table of caliban's settings (TOML). The command may read and modify
 * each listed path with all below it, and may read the system's directories; denies win. Other
 * tables of the settings are not looked at.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "policy/document/settings.h"

#define KEYS(rows) rows, sizeof(rows) / sizeof *(rows)

/* ---- filesystem ---- */

static int add_path(struct pol_front *f, const struct pol_ynode *item, enum pol_root_list list)
{
	struct pol_doc *doc = f->doc;
	size_t n = item->len;

	while (n > 1 && item->s[n - 1] == '/')
		n--;
	/* The root is all that may be read anywhere, less what a run must never see. */
	if (n == 1 && item->s[0] == '/' && list == POL_ROOTS_openRead) {
		pol_foreign_set(doc, POL_SET_reads, POL_READS_BROAD, item->pos);
		pol_foreign_rule(doc, &doc->profiles[0].read, "./**", item->pos);
		return 0;
	}
	return pol_foreign_root(f, list, b_arena_strndup(&doc->arena, item->s, n), item->pos, true);
}

static int add_allow_read(struct pol_front *f, const struct pol_ynode *item)
{
	return add_path(f, item, POL_ROOTS_openRead);
}

static int add_allow_write(struct pol_front *f, const struct pol_ynode *item)
{
	return add_path(f, item, POL_ROOTS_openModify);
}

static int add_deny_write(struct pol_front *f, const struct pol_ynode *item)
{
	return add_path(f, item, POL_ROOTS_denyModify);
}

/* An empty directory, or an empty file, stands in its place there: nothing is changed either. */
static int add_deny_read(struct pol_front *f, const struct pol_ynode *item)
{
	return add_path(f, item, POL_ROOTS_denyRead) < 0 ? -1 : add_deny_write(f, item);
}

static int take_paths(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	static const struct {
		const char *key;
		int (*add)(struct pol_front *, const struct pol_ynode *item);
	} lists[] = {{"allow_read", add_allow_read},
		     {"deny_read", add_deny_read},
		     {"allow_write", add_allow_write},
		     {"deny_write", add_deny_write}};
	size_t i = 0;

	while (strcmp(lists[i].key, key->s) != 0)
		i++;
	return pol_foreign_strings(f, value, key->s, lists[i].add);
}

static int take_filesystem(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "allow_read", .take = take_paths},
		{.name = "deny_read", .take = take_paths},
		{.name = "allow_write", .take = take_paths},
		{.name = "deny_write", .take = take_paths},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

/* ---- network ---- */

static int take_port(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	unsigned long long ignored;

	return pol_foreign_number(f, value, key->s, 0, 65535, &ignored);
}

static int take_outbound(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	bool on;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	if (on)
		pol_foreign_set(f->doc, POL_SET_network, POL_NET_HOST, value->pos);
	return 0;
}

static int take_sockets(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	bool on;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	if (on)
		pol_foreign_set(f->doc, POL_SET_unixSockets, POL_UNIX_HOST, value->pos);
	return 0;
}

static const struct pol_ynode *port_of(const struct pol_ynode *net, const char *key)
{
	const struct pol_ynode *port = pol_yaml_get(net, key);

	return port && strcmp(port->s, "0") != 0 ? port : NULL;
}

/* Words of `macos`, model.h. */
static void open_on_macos(struct pol_front *f, const char *word, const char *what,
			  struct pol_pos pos)
{
	pol_texts_add(f->doc, &f->doc->settings.macos,
		      (struct pol_text){
			      .s = b_arena_printf(&f->doc->arena, "%s%s", word, what),
			      .pos = pos,
		      });
}

static int take_binding(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	bool on;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	if (on)
		open_on_macos(f, "loopback", "", value->pos);
	return 0;
}

static int add_service(struct pol_front *f, const struct pol_ynode *item)
{
	open_on_macos(f, "mach:", item->s, item->pos);
	return 0;
}

static int take_services(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, add_service);
}

static int check_network(struct pol_front *f, const struct pol_ynode *net)
{
	static const char *const lists[] = {"allowed_domains", "denied_domains"};
	const struct pol_ynode *http = port_of(net, "http_proxy_port");
	const struct pol_ynode *socks = port_of(net, "socks_proxy_port");
	const struct pol_ynode *proxy = http ? http : socks;

	if (http && socks)
		return pol_pos_fail(
			f->err, &socks->pos,
			"invalid sandbox config: http_proxy_port and socks_proxy_port are "
			"both set: set at most one");
	for (size_t i = 0; i < 2; i++) {
		const struct pol_ynode *list = pol_yaml_get(net, lists[i]);

		if (list && list->n > 0 && !proxy)
			return pol_pos_fail(f->err, &list->pos,
					    "invalid sandbox config: %s needs http_proxy_port or "
					    "socks_proxy_port",
					    lists[i]);
	}
	if (!proxy)
		return 0;
	/* A proxy closes everything else, even with allow_all_outbound. */
	pol_foreign_set(f->doc, POL_SET_network, POL_NET_NONE, proxy->pos);
	open_on_macos(f, "proxy:", proxy->s, proxy->pos);
	pol_foreign_proxy(f, proxy);
	pol_foreign_net_loss(f->doc, &proxy->pos,
			     "%s: this rule is not enforced, because sbx-launch does not use this "
			     "proxy: the command has no network",
			     http ? "http_proxy_port" : "socks_proxy_port");
	return 0;
}

static int take_network(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "allowed_domains", .take = pol_foreign_host_rules},
		{.name = "denied_domains", .take = pol_foreign_host_rules},
		{.name = "http_proxy_port", .take = take_port},
		{.name = "socks_proxy_port", .take = take_port},
		{.name = "allow_all_outbound", .take = take_outbound},
		{.name = "allow_unix_sockets", .take = take_sockets},
		/* on Linux the command has a loopback of its own anyway, and there is no Mach */
		{.name = "allow_local_binding", .take = take_binding},
		{.name = "allow_mach_lookup", .take = take_services},
	};

	int allows;

	/* its guide's spelling */
	if (value->kind == POL_Y_STR) {
		if (pol_foreign_word(f, value, key->s, "deny|allow", &allows) < 0)
			return -1;
		pol_foreign_set(f->doc, POL_SET_network, allows ? POL_NET_HOST : POL_NET_NONE,
				value->pos);
		return 0;
	}
	if (pol_front_map(f, value, key->s, true, KEYS(rows)) < 0)
		return -1;
	return check_network(f, value);
}

/* ---- the rest of the table ---- */

static int take_scrub(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	bool on;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	pol_foreign_set(f->doc, POL_SET_env, on ? POL_ENV_SCRUB : POL_ENV_KEEP, value->pos);
	return 0;
}

static int add_pass_env(struct pol_front *f, const struct pol_ynode *item)
{
	pol_texts_add(f->doc, &f->doc->settings.pass_env,
		      (struct pol_text){.s = item->s, .pos = item->pos, .is_literal = true});
	return 0;
}

static int take_passthrough(struct pol_front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, add_pass_env);
}

static int take_env(struct pol_front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "scrub_secrets", .take = take_scrub},
		{.name = "passthrough", .take = take_passthrough},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

static int take_enabled(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	bool on;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	pol_foreign_set(f->doc, POL_SET_enabled, on, value->pos);
	return 0;
}

/* If the key is missing, caliban runs the command without a sandbox. Here only an explicit value
 * weakens the run. */
static int take_fail(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	bool on;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	pol_foreign_set(f->doc, POL_SET_strict, on, value->pos);
	return 0;
}

static int take_unsandboxed(struct pol_front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	if (pol_foreign_texts(f, key, value) < 0)
		return -1;
	if (value->n > 0)
		pol_foreign_note(
			f->doc, &value->pos,
			"allow_unsandboxed_commands: sbx-launch runs nothing without a sandbox");
	return 0;
}

static int take_bwrap(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	if (pol_foreign_string(f, key, value) < 0)
		return -1;
	f->doc->foreign.bwrap = (struct pol_text){.s = value->s, .pos = value->pos};
	f->doc->foreign.must_have_bwrap = true;
	return 0;
}

/* Without bwrap no namespace is needed: they are had where the host allows it. */
static int take_nested(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	return pol_foreign_bool(f, value, key->s, &f->doc->foreign.is_nested);
}

/* A run does not use it; sbx-policy approve does. */
static int take_auto_allow(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	return pol_foreign_bool(f, value, key->s, &f->doc->foreign.auto_allows);
}

static int take_sandbox(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "enabled", .take = take_enabled},
		{.name = "fail_if_unavailable", .take = take_fail},
		{.name = "auto_allow_bash_if_sandboxed", .take = take_auto_allow},
		{.name = "allow_unsandboxed_commands", .take = take_unsandboxed},
		{.name = "enable_weaker_nested_sandbox", .take = take_nested},
		{.name = "bwrap_path", .take = take_bwrap},
		{.name = "sandbox_exec_path", .take = pol_foreign_string},
		{.name = "filesystem", .take = take_filesystem},
		{.name = "network", .take = take_network},
		{.name = "env", .take = take_env},
	};

	pol_foreign_set(f->doc, POL_SET_enabled, false, key->pos); /* the default */
	return pol_front_map(f, value, "[sandbox]", true, KEYS(rows));
}

int pol_caliban_take(const struct pol_ynode *root, struct pol_doc *doc, struct b_err *err)
{
	static const struct pol_key rows[] = {
		{.name = "sandbox", .required = true, .take = take_sandbox},
	};
	struct pol_front f = {.doc = doc, .err = err};

	pol_foreign_begin(doc, root, POL_DIALECT_caliban);
	pol_foreign_set(doc, POL_SET_reads, POL_READS_LISTED, root->pos);
	pol_foreign_set(doc, POL_SET_network, POL_NET_NONE, root->pos);
	for (const char *const *dir = pol_caliban_readable; *dir; dir++)
		if (pol_foreign_root(&f, POL_ROOTS_openRead, *dir, root->pos, true) < 0)
			return -1;
	if (pol_front_map(&f, root, "caliban's settings (another kind: --dialect)", false, rows,
			  1) < 0)
		return -1;
	return pol_doc_validate(doc, err);
}
