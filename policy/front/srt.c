/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srt.c - the settings of Anthropic's sandbox runtime (JSON). Everything may be read but what is
 * listed; nothing modified but what is listed, less the mandatory denies, which hold for names
 * that do not exist yet, too. Entries that lie in each other are `nested` (policy/rules/build.h).
 *
 * A path is it and all below it; a trailing slash-star-star says the same. Other wildcards are
 * enforced: `*` and `?` within a name, `**` across, classes as all their members. What is relative
 * is below the current directory. docs/DIALECTS.md lists where this differs from srt itself.
 */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "policy/document/settings.h"

enum { DEPTH_DEFAULT = 3, DEPTH_MAX = 10 };

#define KEYS(rows) rows, sizeof(rows) / sizeof *(rows)

/* ---- filesystem ---- */

static int add_deny_read(struct pol_front *f, const struct pol_ynode *item)
{
	return pol_srt_path(f, item, POL_ROOTS_denyRead);
}

static int add_allow_read(struct pol_front *f, const struct pol_ynode *item)
{
	return pol_srt_path(f, item, POL_ROOTS_allowRead);
}

static int add_allow_write(struct pol_front *f, const struct pol_ynode *item)
{
	return pol_srt_path(f, item, POL_ROOTS_openModify);
}

static int add_deny_write(struct pol_front *f, const struct pol_ynode *item)
{
	return pol_srt_path(f, item, POL_ROOTS_denyModify);
}

static int take_deny_read(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, add_deny_read);
}

static int take_allow_read(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, add_allow_read);
}

static int take_allow_write(struct pol_front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, add_allow_write);
}

static int take_deny_write(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, add_deny_write);
}

/* Its meaning is a command that may touch everything, which is a refusal here. */
static int take_disabled(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	bool off;

	if (pol_foreign_bool(f, value, key->s, &off) < 0)
		return -1;
	if (off)
		return pol_pos_fail(f->err, &value->pos,
				    "filesystem.disabled is true, but sbx-launch runs nothing "
				    "without a sandbox");
	return 0;
}

static int take_filesystem(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "denyRead", .required = true, .take = take_deny_read},
		{.name = "allowRead", .take = take_allow_read},
		{.name = "allowWrite", .required = true, .take = take_allow_write},
		{.name = "denyWrite", .required = true, .take = take_deny_write},
		{.name = "allowGitConfig", .take = pol_foreign_either},
		{.name = "disabled", .take = take_disabled},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

/* What srt opens without an entry in the document. */
static int add_implied(struct pol_front *f, const char *dir, struct pol_pos pos)
{
	struct pol_texts *list = &f->doc->settings.roots[POL_ROOTS_openModify];

	if (pol_foreign_root(f, POL_ROOTS_openModify, dir, pos, true) < 0)
		return -1;
	list->v[list->n - 1].is_implied = true;
	return 0;
}

static int add_mandatory(struct pol_front *f, const struct pol_ynode *root, unsigned depth)
{
	const struct pol_ynode *fs = pol_yaml_get(root, "filesystem");
	const struct pol_ynode *git = fs ? pol_yaml_get(fs, "allowGitConfig") : NULL;
	size_t n = POL_SRT_DENIED;
	struct pol_texts *open;
	struct b_str up = {0};
	int rc = 0;

	if (git && git->s[0] == 't') {
		n = POL_SRT_GIT_CONFIG; /* and named, so that the protected set does not close it */
		rc = pol_foreign_root(f, POL_ROOTS_openModify, "${WORKSPACE}/.git/config", git->pos,
				      true);
		open = &f->doc->settings.roots[POL_ROOTS_openModify];
		open->v[open->n - 1].only_named = true;
	}
	for (const char *const *dir = pol_srt_writable; *dir && rc == 0; dir++)
		rc = add_implied(f, *dir, root->pos);
	for (; depth > 0 && rc == 0; depth--, b_str_add(&up, "*/"))
		for (size_t i = 0; i < n && rc == 0; i++) {
			const char *text =
				b_arena_printf(&f->doc->arena, "${WORKSPACE}/%s%s%s", b_str_c(&up),
					       pol_srt_denied[i], up.len ? "/**" : "");

			rc = pol_foreign_root(f, POL_ROOTS_denyModifyAnyCase, text, root->pos,
					      false);
		}
	b_str_release(&up);
	return rc;
}

/* ---- network ---- */

/* Two labels or more, or localhost; `*.` before two or more. `n` bytes. */
static bool is_host(struct b_arena *a, const char *text, size_t n)
{
	const char *s = b_arena_strndup(a, text, n);
	const char *base = strncmp(s, "*.", 2) == 0 ? s + 2 : s;

	n = strlen(base);
	if (strcmp(s, "localhost") == 0)
		return true;
	if (strpbrk(base, "*/:") || n == 0 || base[0] == '.' || base[n - 1] == '.')
		return false;
	if (base != s && strstr(base, ".."))
		return false;
	return strchr(base, '.') != NULL;
}

/* A host, and maybe a port behind it. */
static int check_domain(struct pol_front *f, const struct pol_ynode *item, bool may_be_all)
{
	const char *colon = strrchr(item->s, ':');
	size_t n = colon ? (size_t)(colon - item->s) : item->len;
	unsigned long long port;

	if ((may_be_all && n == 1 && item->s[0] == '*') || is_host(&f->doc->arena, item->s, n)) {
		if (!colon || (b_parse_u64(colon + 1, 65535, &port) == 0 && port > 0))
			return 0;
		return pol_pos_fail(f->err, &item->pos,
				    "`%s`: the port is not a number from 1 to 65535", item->s);
	}
	return pol_pos_fail(f->err, &item->pos,
			    "`%s` is not a domain, expected example.com, *.example.com or "
			    "localhost, with or without a :port",
			    item->s);
}

static int take_allowed(struct pol_front *f, const struct pol_ynode *item)
{
	return check_domain(f, item, false) < 0 ? -1 : pol_srt_domain(f, item, true);
}

static int take_denied(struct pol_front *f, const struct pol_ynode *item)
{
	return check_domain(f, item, true) < 0 ? -1 : pol_srt_domain(f, item, false);
}

static int take_domains(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	bool is_allowed = key->s[0] == 'a';

	if (pol_foreign_strings(f, value, key->s, is_allowed ? take_allowed : take_denied) < 0)
		return -1;
	if (value->n > 0 && !is_allowed)
		pol_foreign_host_loss(f->doc, &key->pos, key->s);
	if (value->n > 0 && is_allowed)
		pol_foreign_net_loss(f->doc, &key->pos,
				     "%s: rules on the network are not enforced here: the command "
				     "has no network (with --network host: the whole network)",
				     key->s);
	return 0;
}

static int take_port(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	unsigned long long ignored;

	if (pol_foreign_number(f, value, key->s, 1, 65535, &ignored) < 0)
		return -1;
	pol_foreign_net_loss(f->doc, &key->pos,
			     "%s: this rule is not enforced, because sbx-launch does not use this "
			     "proxy: the command has no network",
			     key->s);
	return 0;
}

/* With a proxy of its own nothing else is reached, and names are that proxy's affair. */
static void settle_proxies(struct pol_front *f, const struct pol_ynode *net)
{
	static const char *const keys[] = {"httpProxyPort", "socksProxyPort"};
	bool has_proxy = pol_yaml_get(net, keys[0]) || pol_yaml_get(net, keys[1]);

	if (has_proxy)
		f->doc->profiles[0].connect.n = f->doc->deny_connect.n = 0;
	for (size_t i = 0; i < 2; i++)
		if (pol_yaml_get(net, keys[i]))
			pol_foreign_proxy(f, pol_yaml_get(net, keys[i]));
}

static int take_addresses(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	if (pol_foreign_strings(f, value, key->s, pol_foreign_denied_address) < 0)
		return -1;
	if (value->n > 0)
		pol_foreign_host_loss(f->doc, &key->pos, key->s);
	return 0;
}

static int add_socket(struct pol_front *f, const struct pol_ynode *item)
{
	return pol_srt_path(f, item, POL_ROOTS_sockets);
}

static int take_sockets(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, add_socket);
}

static int take_all_sockets(struct pol_front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	bool on;

	if (pol_foreign_bool(f, value, key->s, &on) < 0)
		return -1;
	if (on)
		pol_foreign_set(f->doc, POL_SET_unixSockets, POL_UNIX_HOST, value->pos);
	return 0;
}

/* How its own proxy is to do things, which does not run here. */
static int take_later(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	if (value->kind == POL_Y_BOOL && value->s[0] == 'f')
		return 0;
	pol_foreign_loss(f->doc, &key->pos,
			 "%s: sbx-launch does not have the proxy that this is for: the command has "
			 "no network",
			 key->s);
	return 0;
}

/* Settings about denials; each is reported at its own entry. */
static int take_reasons(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_MAP, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (pol_foreign_string(f, key, value->v[2 * i + 1]) < 0)
			return -1;
	return 0;
}

static int take_network(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "allowedDomains", .required = true, .take = take_domains},
		{.name = "deniedDomains", .required = true, .take = take_domains},
		{.name = "allowUnixSockets", .take = take_sockets},
		{.name = "allowAllUnixSockets", .take = take_all_sockets},
		{.name = "allowLocalBinding", .take = pol_foreign_either},
		{.name = "httpProxyPort", .take = take_port},
		{.name = "socksProxyPort", .take = take_port},
		{.name = "strictAllowlist", .take = pol_foreign_either},
		{.name = "allowAllDomains", .take = take_later},
		{.name = "deniedDomainReasons", .take = take_reasons},
		{.name = "deniedResolvedAddresses", .take = take_addresses},
		{.name = "parentProxy", .take = take_later},
		{.name = "mitmProxy", .take = take_later},
		{.name = "tlsTerminate", .take = take_later},
		{.name = "filterRequest", .take = take_later},
		{.name = "allowMachLookup", .take = pol_foreign_texts},
	};

	if (pol_front_map(f, value, key->s, true, KEYS(rows)) < 0)
		return -1;
	settle_proxies(f, value);
	return 0;
}

/* ---- the rest ---- */

/* Which denials not to report: here all are recorded, and a person filters the log. */
static int take_ignored(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_MAP, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (pol_foreign_texts(f, key, value->v[2 * i + 1]) < 0)
			return -1;
	if (value->n > 0)
		pol_foreign_note(f->doc, &key->pos, "ignoreViolations: all denials are recorded");
	return 0;
}

static int take_ripgrep(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "command", .required = true, .take = pol_foreign_string},
		{.name = "args", .take = pol_foreign_texts},
		{.name = "argv0", .take = pol_foreign_string},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

static int take_depth(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	unsigned long long ignored;

	return pol_foreign_number(f, value, key->s, 1, DEPTH_MAX, &ignored);
}

/* Programs of its own, found elsewhere: those that nothing here needs. */
static int take_program(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	if (value->s[0] != '/')
		return pol_pos_fail(f->err, &value->pos, "%s is `%s`, expected an absolute path",
				    key->s, value->s);
	return 0;
}

static int take_bwrap(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	if (take_program(f, key, value) < 0)
		return -1;
	f->doc->foreign.bwrap = (struct pol_text){.s = value->s, .pos = value->pos};
	return 0;
}

static int take_nested(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	return pol_foreign_bool(f, value, key->s, &f->doc->foreign.is_nested);
}

/* Its filter is a program, ours is not. */
static int take_seccomp(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "applyPath", .take = pol_foreign_string},
		{.name = "argv0", .take = pol_foreign_string},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

/* In a run files keep their owners, so git's check of ownership works unchanged. */
static int take_git(struct pol_front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "safeDirectories", .take = pol_foreign_texts},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

static int take_windows(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	return pol_yaml_expect(value, POL_Y_MAP, key->s, f->err);
}

static int take_root(struct pol_front *f, const struct pol_ynode *root)
{
	static const struct pol_key rows[] = {
		{.name = "network", .required = true, .take = take_network},
		{.name = "filesystem", .required = true, .take = take_filesystem},
		{.name = "ignoreViolations", .take = take_ignored},
		{.name = "enableWeakerNestedSandbox", .take = take_nested},
		/* both open something on macOS, which stays closed */
		{.name = "enableWeakerNetworkIsolation", .take = pol_foreign_either},
		{.name = "allowAppleEvents", .take = pol_foreign_either},
		{.name = "ripgrep", .take = take_ripgrep},
		{.name = "mandatoryDenySearchDepth", .take = take_depth},
		{.name = "allowPty", .take = pol_foreign_either},
		{.name = "credentials", .take = pol_srt_credentials},
		{.name = "seccomp", .take = take_seccomp},
		{.name = "bwrapPath", .take = take_bwrap},
		{.name = "socatPath", .take = take_program},
		{.name = "javaAgentJarPath", .take = take_program},
		{.name = "git", .take = take_git},
		{.name = "windows", .take = take_windows},
	};

	return pol_front_map(f, root, "srt's settings (another kind: --dialect)", true, KEYS(rows));
}

int pol_srt_take(const struct pol_ynode *root, struct pol_doc *doc, struct b_err *err)
{
	struct pol_front f = {.doc = doc, .err = err};
	const struct pol_ynode *depth = pol_yaml_get(root, "mandatoryDenySearchDepth");
	unsigned long long levels = DEPTH_DEFAULT;
	struct pol_profile *p = pol_foreign_begin(doc, root, POL_DIALECT_srt);

	pol_foreign_rule(doc, &p->read, "./**", root->pos);
	pol_foreign_set(doc, POL_SET_reads, POL_READS_BROAD, root->pos);
	pol_foreign_set(doc, POL_SET_nested, true, root->pos);
	doc->foreign.is_at_cwd = true;
	pol_texts_add(doc, &doc->settings.spares,
		      (struct pol_text){.s = "node_modules", .pos = root->pos});
	f.passes_comments = true;
	pol_foreign_set(doc, POL_SET_network, POL_NET_NONE, root->pos);
	if (take_root(&f, root) < 0)
		return -1;
	if (depth)
		(void)b_parse_u64(depth->s, DEPTH_MAX, &levels);
	if (add_mandatory(&f, root, (unsigned)levels) < 0)
		return -1;
	return pol_doc_validate(doc, err);
}
