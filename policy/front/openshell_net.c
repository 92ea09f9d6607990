/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openshell_net.c - `network_policies` of an OpenShell policy: they are checked as strictly as the
 * rest, kept with the document, and become rules on endpoints (foreign_net.c). A rule that looks
 * into requests is a loss of the run. A questionable rule gets a note.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "core/host.h"
#include "policy/compile/text_glob.h"
#include "policy/front/dialect.h"

#define WITH(f, node, ...) pol_pos_fail((f)->err, &(node)->pos, __VA_ARGS__)

/* ---- values ---- */

static int take_size(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	unsigned long long ignored;

	return pol_foreign_number(f, value, key->s, 1, 1u << 30, &ignored);
}

static int take_words(struct pol_front *f, const struct pol_ynode *value, const char *what,
		      const char *words)
{
	int ignored;

	return pol_foreign_word(f, value, what, words, &ignored);
}

/* globset would refuse it when it is matched, too late for a person. */
static void check_glob(struct pol_front *f, const struct pol_ynode *glob)
{
	const char *wrong = pol_glob_check(glob->s);

	if (wrong)
		pol_foreign_note(f->doc, &glob->pos, "glob pattern '%s' %s", glob->s, wrong);
}

/* ---- hosts and ports ---- */

static size_t labels(const char *host)
{
	size_t n = 1;

	for (; *host; host++)
		n += *host == '.' && host[1];
	return n;
}

/* HEAD's rules: `**` only as the whole first label, `*` within the first or as a whole other. */
static int check_wildcards(struct pol_front *f, const struct pol_ynode *host)
{
	const char *s = host->s;

	if (strcmp(s, "*") == 0 || strcmp(s, "**") == 0)
		return WITH(f, host,
			    "host wildcard '%s' matches all hosts; use specific patterns like "
			    "'*.example.com'",
			    s);
	if (labels(s) <= 2)
		return WITH(f, host,
			    "TLD wildcard '%s' is not allowed; use subdomain wildcards like "
			    "'*.example.com' instead",
			    s);
	for (bool first = true; *s; first = false) {
		size_t n = strcspn(s, "."), stars = 0;

		for (size_t i = 0; i < n; i++)
			stars += s[i] == '*';
		if ((memmem(s, n, "**", 2) && !(first && n == 2)) || (stars && !first && n != 1))
			return WITH(f, host,
				    "invalid host wildcard: middle DNS label wildcards must be the "
				    "entire label '*' and recursive '**' is only allowed as the "
				    "entire first label, got '%s'",
				    host->s);
		s += n + (s[n] == '.');
	}
	return 0;
}

static int take_host(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	for (const char *p = value->s; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == '/')
			return WITH(f, value, "invalid host '%s'; expected a name or an address",
				    value->s);
	return strchr(value->s, '*') ? check_wildcards(f, value) : 0;
}

static int take_port(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	unsigned long long port;

	if (pol_yaml_expect(value, POL_Y_INT, key->s, f->err) < 0)
		return -1;
	if (b_parse_u64(value->s, 65535, &port) < 0 || port == 0)
		return WITH(f, value, "invalid port %s; expected 1..=65535", value->s);
	return 0;
}

static int take_ports(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (take_port(f, key, value->v[i]) < 0 && pol_front_found(f) < 0)
			return -1;
	return 0;
}

/* One bad entry refuses the list. */
static int take_ip(struct pol_front *f, const struct pol_ynode *item)
{
	struct sbx_cidr range;

	if (!sbx_cidr_parse(item->s, item->len, &range))
		return WITH(f, item, "invalid CIDR/IP in allowed_ips: %s", item->s);
	if (range.bits < 16)
		pol_foreign_note(f->doc, &item->pos, "allowed_ips: %s is broader than /16",
				 item->s);
	return 0;
}

static int take_ips(struct pol_front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, take_ip);
}

/* ---- rules ---- */

static int check_any(struct pol_front *f, const struct pol_ynode *any)
{
	if (any->kind != POL_Y_SEQ)
		return WITH(f, any, ".any: expected a list of strings");
	if (any->n == 0)
		return WITH(f, any, ".any: list must not be empty");
	for (size_t i = 0; i < any->n; i++) {
		if (any->v[i]->kind != POL_Y_STR)
			return WITH(f, any->v[i], ".any: all values must be strings");
		check_glob(f, any->v[i]);
	}
	return 0;
}

static int check_matcher(struct pol_front *f, const struct pol_ynode *m)
{
	const struct pol_ynode *glob = pol_yaml_get(m, "glob"), *any = pol_yaml_get(m, "any");

	if (m->kind == POL_Y_STR) {
		check_glob(f, m);
		return 0;
	}
	if (m->kind != POL_Y_MAP)
		return WITH(f, m, "query: expected string glob or object with `any`");
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->v[2 * i]->s, "glob") != 0 && strcmp(m->v[2 * i]->s, "any") != 0)
			return WITH(
				f, m->v[2 * i],
				"query: unknown matcher keys; only `glob` or `any` are supported");
	if (glob && any)
		return WITH(f, m, "query: matcher cannot specify both `glob` and `any`");
	if (!glob && !any)
		return WITH(f, m,
			    "query: object matcher requires `glob` string or non-empty `any` list");
	if (any)
		return check_any(f, any);
	if (glob->kind != POL_Y_STR)
		return WITH(f, glob, ".glob: expected glob string");
	check_glob(f, glob);
	return 0;
}

static int take_query(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	(void)key;
	if (value->kind != POL_Y_MAP)
		return WITH(f, value, "query: expected map of query matchers");
	for (size_t i = 0; i < value->n; i++)
		if (check_matcher(f, value->v[2 * i + 1]) < 0 && pol_front_found(f) < 0)
			return -1;
	return 0;
}

static int take_glob(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	check_glob(f, value);
	return 0;
}

static int take_match(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "method", .take = pol_foreign_string},
		{.name = "path", .take = take_glob},
		{.name = "query", .take = take_query},
		{.name = "command", .take = pol_foreign_string},
		/* of graphql, json-rpc and mcp */
		{.name = "operation_type", .take = pol_foreign_string},
		{.name = "operation_name", .take = pol_foreign_string},
		{.name = "fields", .take = pol_foreign_anything},
		{.name = "rpc_method", .take = pol_foreign_string},
		{.name = "tool", .take = pol_foreign_anything},
		{.name = "params", .take = pol_foreign_anything},
	};

	return pol_front_map(f, value, key->s, true, rows, sizeof rows / sizeof *rows);
}

static int take_rule(struct pol_front *f, const struct pol_ynode *rule)
{
	static const struct pol_key rows[] = {
		{.name = "allow", .required = true, .take = take_match},
	};

	return pol_front_map(f, rule, "a rule", true, rows, 1);
}

static int take_rules(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	if (value->n == 0)
		return WITH(f, value,
			    "rules list cannot be empty (would deny all traffic). Use `access: "
			    "full` or remove rules.");
	for (size_t i = 0; i < value->n; i++)
		if (take_rule(f, value->v[i]) < 0 && pol_front_found(f) < 0)
			return -1;
	return 0;
}

/* Each is the match itself, without an `allow` around it. */
static int take_deny_rules(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	if (value->n == 0)
		return WITH(f, value, "deny_rules: list must not be empty");
	for (size_t i = 0; i < value->n; i++)
		if (take_match(f, key, value->v[i]) < 0 && pol_front_found(f) < 0)
			return -1;
	return 0;
}

/* ---- endpoints ---- */

static int take_protocol(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	return take_words(f, value, key->s, "rest|websocket|graphql|mcp|json-rpc|sql|tcp");
}

static int take_tls(struct pol_front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	if (take_words(f, value, key->s, "skip|terminate|passthrough|auto") < 0)
		return -1;
	if (pol_yaml_is_text(value, "terminate") || pol_yaml_is_text(value, "passthrough"))
		pol_foreign_note(f->doc, &value->pos, "tls: %s is deprecated: leave it out",
				 value->s);
	return 0;
}

static int take_enforcement(struct pol_front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	return take_words(f, value, key->s, "audit|enforce");
}

static int take_access(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	return take_words(f, value, key->s, "read-only|read-write|full");
}

static int take_queries(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	return take_words(f, value, key->s, "deny|allow_registered");
}

static bool is_signing(const struct pol_ynode *value)
{
	return pol_yaml_is_text(value, "sigv4") || pol_yaml_is_text(value, "sigv4:body") ||
	       pol_yaml_is_text(value, "sigv4:no_body");
}

static int take_signing(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	if (is_signing(value))
		return 0;
	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	return WITH(f, value,
		    "unrecognized credential_signing value `%s` (expected sigv4, sigv4:body, or "
		    "sigv4:no_body)",
		    value->s);
}

static int take_binding(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {{.name = "provider", .take = pol_foreign_string}};

	return pol_front_map(f, value, key->s, true, rows, 1);
}

static int take_rpc(struct pol_front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {{.name = "max_body_bytes", .take = take_size}};

	return pol_front_map(f, value, key->s, true, rows, 1);
}

static int take_mcp(struct pol_front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "max_body_bytes", .take = take_size},
		{.name = "strict_tool_names", .take = pol_foreign_either},
		{.name = "allow_all_known_mcp_methods", .take = pol_foreign_either},
	};

	return pol_front_map(f, value, key->s, true, rows, 3);
}

static bool is_address(const char *host)
{
	return strchr(host, ':') || (*host && strspn(host, "0123456789.") == strlen(host));
}

static int check_place(struct pol_front *f, const struct pol_ynode *e)
{
	const struct pol_ynode *host = pol_yaml_get(e, "host"),
			       *ips = pol_yaml_get(e, "allowed_ips"),
			       *ports = pol_yaml_get(e, "ports");
	bool is_tcp = pol_yaml_is_text(pol_yaml_get(e, "protocol"), "tcp");
	bool has_host = host && host->kind == POL_Y_STR && host->len;

	if (pol_yaml_get(e, "port") && pol_yaml_get(e, "ports"))
		return WITH(f, e,
			    "port and ports are mutually exclusive; use ports for multiple ports");
	if (!pol_yaml_get(e, "port") && (!ports || (ports->kind == POL_Y_SEQ && ports->n == 0)))
		return WITH(f, e, "endpoint without a port, expected port or ports");
	if (!has_host && (!ips || ips->n == 0 || is_tcp))
		return WITH(f, e,
			    "endpoint host must not be empty unless allowed_ips constrains a "
			    "non-TCP proxy endpoint");
	if (has_host && is_tcp && is_address(host->s))
		return WITH(f, host,
			    "protocol tcp endpoint must use a DNS hostname, not an IP literal");
	return 0;
}

static int check_inspection(struct pol_front *f, const struct pol_ynode *e)
{
	const struct pol_ynode *protocol = pol_yaml_get(e, "protocol");
	const struct pol_ynode *rules = pol_yaml_get(e, "rules"),
			       *deny = pol_yaml_get(e, "deny_rules");
	const struct pol_ynode *access = pol_yaml_get(e, "access"), *mcp = pol_yaml_get(e, "mcp");
	bool allows_known =
		mcp && pol_yaml_is_true(pol_yaml_get(mcp, "allow_all_known_mcp_methods"));

	if (rules && access)
		return WITH(f, e, "rules and access are mutually exclusive");
	if (deny && !protocol)
		return WITH(f, deny, "deny_rules require protocol");
	if (deny && !rules && !access && !allows_known)
		return WITH(f, deny, "deny_rules require a base allow: rules or access");
	if (protocol && !pol_yaml_is_text(protocol, "tcp") && !rules && !access && !allows_known)
		return WITH(f, protocol,
			    "protocol requires rules or access to define allowed traffic");
	if (pol_yaml_is_text(protocol, "sql") &&
	    pol_yaml_is_text(pol_yaml_get(e, "enforcement"), "enforce"))
		return WITH(f, protocol,
			    "SQL enforcement requires full SQL parsing (not available in v1). Use "
			    "`enforcement: audit`.");
	return 0;
}

static bool has_port(const struct pol_ynode *e, const char *port)
{
	const struct pol_ynode *one = pol_yaml_get(e, "port"), *all = pol_yaml_get(e, "ports");
	bool found = one && one->s && strcmp(one->s, port) == 0;

	for (size_t i = 0; all && all->kind == POL_Y_SEQ && i < all->n; i++)
		found |= all->v[i]->s && strcmp(all->v[i]->s, port) == 0;
	return found;
}

static int check_signing(struct pol_front *f, const struct pol_ynode *e)
{
	if (!is_signing(pol_yaml_get(e, "credential_signing")) ||
	    pol_yaml_get(e, "signing_service"))
		return 0;
	return WITH(f, e, "credential_signing needs signing_service");
}

static int take_endpoint(struct pol_front *f, const struct pol_ynode *e)
{
	static const struct pol_key rows[] = {
		{.name = "host", .take = take_host},
		{.name = "path", .take = take_glob},
		{.name = "port", .take = take_port},
		{.name = "ports", .take = take_ports},
		{.name = "protocol", .take = take_protocol},
		{.name = "tls", .take = take_tls},
		{.name = "enforcement", .take = take_enforcement},
		{.name = "access", .take = take_access},
		{.name = "rules", .take = take_rules},
		{.name = "deny_rules", .take = take_deny_rules},
		{.name = "allowed_ips", .take = take_ips},
		{.name = "allow_encoded_slash", .take = pol_foreign_either},
		{.name = "websocket_credential_rewrite", .take = pol_foreign_either},
		{.name = "request_body_credential_rewrite", .take = pol_foreign_either},
		{.name = "allow_uninspected_credentials", .take = pol_foreign_either},
		{.name = "persisted_queries", .take = take_queries},
		{.name = "graphql_persisted_queries", .take = pol_foreign_anything},
		{.name = "graphql_max_body_bytes", .take = take_size},
		{.name = "credential_signing", .take = take_signing},
		{.name = "signing_service", .take = pol_foreign_string},
		{.name = "signing_region", .take = pol_foreign_string},
		{.name = "credential_binding", .take = take_binding},
		{.name = "json_rpc", .take = take_rpc},
		{.name = "mcp", .take = take_mcp},
	};

	if (pol_front_map(f, e, "an endpoint", true, rows, sizeof rows / sizeof *rows) < 0)
		return -1;
	if (e->kind != POL_Y_MAP)
		return 0;
	if (check_place(f, e) < 0 && pol_front_found(f) < 0)
		return -1;
	if (check_inspection(f, e) < 0 && pol_front_found(f) < 0)
		return -1;
	if (check_signing(f, e) < 0 && pol_front_found(f) < 0)
		return -1;
	if (pol_yaml_is_text(pol_yaml_get(e, "tls"), "skip") && has_port(e, "443") &&
	    (pol_yaml_get(e, "rules") || pol_yaml_get(e, "access")))
		pol_foreign_note(f->doc, &e->pos,
				 "'tls: skip' with L7 rules on port 443: L7 inspection cannot work "
				 "on encrypted traffic");
	return 0;
}

static int take_endpoints(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	if (pol_yaml_expect(value, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (take_endpoint(f, value->v[i]) < 0 && pol_front_found(f) < 0)
			return -1;
	return 0;
}

static int take_binaries(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "path", .required = true, .take = take_glob},
		{.name = "harness", .take = pol_foreign_either},
	};

	if (pol_yaml_expect(value, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (pol_front_map(f, value->v[i], "a binary", true, rows, 2) < 0 &&
		    pol_front_found(f) < 0)
			return -1;
	return 0;
}

/* Endpoints whose requests are to be looked into, and are not; NULL: none. */
static const struct pol_ynode *inspected(const struct pol_ynode *policy)
{
	static const char *const keys[] = {"rules", "deny_rules", "access", "path",
					   "credential_signing"};
	const struct pol_ynode *all = pol_yaml_get(policy, "endpoints");

	for (size_t i = 0; all && all->kind == POL_Y_SEQ && i < all->n; i++) {
		const struct pol_ynode *protocol = pol_yaml_get(all->v[i], "protocol");

		if (pol_openshell_is_judged(all->v[i]))
			continue;
		if (protocol && !pol_yaml_is_text(protocol, "tcp"))
			return protocol;
		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
			if (pol_yaml_get(all->v[i], keys[k]))
				return pol_yaml_get(all->v[i], keys[k]);
	}
	return NULL;
}

static void lose_policy(struct pol_front *f, const struct pol_ynode *name,
			const struct pol_ynode *policy)
{
	const struct pol_ynode *what = inspected(policy);

	if (what)
		pol_foreign_loss(f->doc, &what->pos,
				 "network policy `%s`: requests of protocols other than rest, and "
				 "those that `tls: skip` leaves encrypted, are not inspected",
				 name->s);
	pol_foreign_net_loss(f->doc, &name->pos,
			     "network policy `%s`: rules on the network are not enforced here: the "
			     "command has no network (with --network host: the whole network)",
			     name->s);
}

int pol_openshell_network(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "name", .take = pol_foreign_string},
		{.name = "endpoints", .take = take_endpoints},
		{.name = "binaries", .take = take_binaries},
	};

	if (pol_yaml_expect(value, POL_Y_MAP, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++) {
		const struct pol_ynode *name = value->v[2 * i];

		if (pol_front_map(f, value->v[2 * i + 1], "a network policy", true, rows, 3) < 0 &&
		    pol_front_found(f) < 0)
			return -1;
		lose_policy(f, name, value->v[2 * i + 1]);
	}
	pol_openshell_connect(f, value);
	return 0;
}
