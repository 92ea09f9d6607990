/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance rows on the network: documents of other systems, what they mean, and how their
 * endpoints are decided. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "policy/front/presets.h"
#include "policy/rules/build.h"
#include "tests/support/engine.h"
#include "tests/support/tsv.h"

static struct engine e;
static struct pol_doc doc;

/* Programs go by their text here: the rows speak of files that this host may not have. */
static struct pol_programs programs_of(const struct pol_texts *by)
{
	struct pol_program *v = b_arena_alloc(&e.rules.arena, (by->n + 1) * sizeof *v);

	for (size_t i = 0; i < by->n; i++)
		v[i] = (struct pol_program){.text = by->v[i].s, .glob = by->v[i].s + 1};
	return (struct pol_programs){v, by->n};
}

static void lower(const struct pol_connects *list)
{
	for (size_t i = 0; i < list->n; i++) {
		char origin[64];
		struct pol_endpoint r = {.layer = POL_LAYER_MAIN,
					 .origin = origin,
					 .by = programs_of(&list->v[i].by)};
		struct b_err err;

		snprintf(origin, sizeof origin, "%u", list->v[i].to.pos.line);
		cr_assert_eq(pol_connect_lower(&e.rules, &list->v[i], &r, &err), 0, "%s", err.msg);
	}
}

/* false: the document is refused, with err in e.err. */
static bool load(const char *text, enum pol_dialect dialect)
{
	const struct pol_input in = {
		.name = "f", .text = text, .len = strlen(text), .dialect = dialect};

	engine_init(&e);
	if (pol_front_parse(&in, &doc, &e.err) < 0)
		return false;
	pol_endpoints_layer(&e.rules, POL_LAYER_MAIN, false);
	lower(&doc.profiles[0].connect);
	lower(&doc.deny_connect);
	engine_compile(&e);
	return true;
}

static void unload(void)
{
	pol_doc_release(&doc);
	engine_release(&e);
}

/* ---- OpenShell: network policies ---- */

#define HEAD "version: 1\nnetwork_policies:\n"

/* The policy column, and a policy a line. */
static const struct {
	const char *row, *text;
} policies[] = {
	{"F", HEAD
	 "  claude_code: {endpoints: [{host: api.anthropic.com, port: 443}, {host: "
	 "statsig.anthropic.com, port: 443}], binaries: [{path: /usr/local/bin/claude}, {path: "
	 "/usr/bin/node}]}\n"
	 "  github_ssh_over_https: {endpoints: [{host: github.com, port: 443, protocol: rest, "
	 "enforcement: enforce, access: full}], binaries: [{path: /usr/bin/git}]}\n"
	 "  copilot: {endpoints: [{host: github.com, port: 443}, {host: api.github.com, port: "
	 "443}], binaries: [{path: \"/opt/copilot/**\"}, {path: /usr/bin/node}]}\n"
	 "  gitlab: {endpoints: [{host: gitlab.com, port: 443}], binaries: [{path: "
	 "/usr/bin/glab}]}\n"},
	{"bins [\"/usr/bin/*\"] example.com:443",
	 HEAD "  p: {endpoints: [{host: example.com, port: 443}], binaries: [{path: "
	      "\"/usr/bin/*\"}]}\n"},
	{"bins [\"/usr/local/bin/*\"] example.com:443",
	 HEAD "  p: {endpoints: [{host: example.com, port: 443}], binaries: [{path: "
	      "\"/usr/local/bin/*\"}]}\n"},
	{"network_policies: {}", "version: 1\nnetwork_policies: {}\n"},
	{"hostless :9443 allowed_ips \342\200\246",
	 HEAD "  p: {endpoints: [{port: 9443, allowed_ips: [10.0.5.0/24]}], binaries: [{path: "
	      "/usr/bin/curl}]}\n"},
	{"api.example.com ports [443,8443]; bin curl",
	 HEAD "  p: {endpoints: [{host: api.example.com, ports: [443, 8443]}], binaries: [{path: "
	      "/usr/bin/curl}]}\n"},
	{"api.example.com port 443; bin curl",
	 HEAD "  p: {endpoints: [{host: api.example.com, port: 443}], binaries: [{path: "
	      "/usr/bin/curl}]}\n"},
	{"\"*.example.com\":443; bin curl",
	 HEAD "  p: {endpoints: [{host: \"*.example.com\", port: 443}], binaries: [{path: "
	      "/usr/bin/curl}]}\n"},
	{"\"*.EXAMPLE.COM\":443; bin curl",
	 HEAD "  p: {endpoints: [{host: \"*.EXAMPLE.COM\", port: 443}], binaries: [{path: "
	      "/usr/bin/curl}]}\n"},
	{"\"*.example.com\" ports [443,8443]; bin curl",
	 HEAD "  p: {endpoints: [{host: \"*.example.com\", ports: [443, 8443]}], binaries: "
	      "[{path: /usr/bin/curl}]}\n"},
};

static const char *text_of(const char *policy)
{
	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
		if (strcmp(policies[i].row, policy) == 0)
			return policies[i].text;
	cr_assert_fail("no policy for `%s`", policy);
	return NULL;
}

/* The key on the line that the deciding rule is of. */
static void key_at(const char *text, int rule, char out[64])
{
	const char *origin = e.rules.net.v[rule - (int)e.image.hdr->net.first_rule].origin;

	for (int line = atoi(origin); line > 1; line--)
		text = strchr(text, '\n') + 1;
	text += strspn(text, " ");
	snprintf(out, 64, "%.*s", (int)strcspn(text, ":"), text);
}

static struct sbx_exe exe_of(const char *path)
{
	return (struct sbx_exe){.dev = 1, .ino = 1, .path = path, .path_len = strlen(path)};
}

static void check_row(const struct tsv_row *row)
{
	const char *text = text_of(tsv_cell(row, "policy"));
	const char *matched = tsv_cell(row, "matched_policy");
	json_t *ancestors = tsv_json(row, "ancestors");
	struct sbx_connect_answer a;
	struct sbx_programs who;
	struct sbx_exe exes[8] = {exe_of(tsv_cell(row, "exe"))};
	struct sbx_host host;
	char key[64];

	cr_assert(load(text, POL_DIALECT_openshell), "%s: %s", row->cells[0], e.err.msg);
	for (size_t i = 0; i < json_array_size(ancestors); i++)
		exes[1 + i] = exe_of(json_string_value(json_array_get(ancestors, i)));
	sbx_connect_programs(&e.image, exes, 1 + json_array_size(ancestors), &who);
	sbx_host_parse(tsv_cell(row, "host"), strlen(tsv_cell(row, "host")), &host);
	sbx_connect_host(&e.image, &host, (uint16_t)atoi(tsv_cell(row, "port")), &who, &a);
	cr_expect_eq(a.allowed, strcmp(tsv_cell(row, "action"), "allow") == 0, "%s", row->cells[0]);
	if (strcmp(matched, "-") != 0) {
		cr_assert_geq(a.rule, 0, "%s", row->cells[0]);
		key_at(text, a.rule, key);
		cr_expect_str_eq(key, matched, "%s", row->cells[0]);
	}
	json_decref(ancestors);
	unload();
}

Test(policy_network_rows, openshell_policies)
{
	struct tsv *t = tsv_load("tests/vectors/openshell_network.tsv");

	/* -039 is on loading a policy anew */
	for (size_t i = 0; i < t->n_rows; i++)
		if (strcmp(t->rows[i].cells[0], "openshell_network-039") != 0)
			check_row(&t->rows[i]);
	cr_expect_geq(t->n_rows, 25);
	tsv_free(t);
}

/* ---- OpenShell: patterns of hosts ---- */

static bool host_matches(const char *pattern, const char *name)
{
	struct b_arena arena = {0};
	struct pol_endpoint r = {.allow = true};
	struct sbx_host h;
	struct b_err err;
	bool found;

	cr_assert_eq(pol_endpoint_parse_foreign(&arena, pattern, &r, &err), 0, "%s", err.msg);
	found = sbx_host_parse(name, strlen(name), &h) == SBX_HOST_NAME &&
		pol_endpoint_matches(&r, h.name, NULL, 443, NULL);
	b_arena_release(&arena);
	return found;
}

Test(policy_network_rows, openshell_patterns_of_hosts)
{
	/* judged in normal form: an empty label is no host, a dot at the end is none */
	static const struct {
		const char *id;
		bool match;
	} instead[] = {{"openshell_glob-004", false},
		       {"openshell_glob-006", true},
		       {"openshell_glob-011", false}};
	struct tsv *t = tsv_load("tests/vectors/openshell_glob_host.tsv");
	size_t asked = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *pattern = tsv_cell(row, "pattern");
		bool expected = tsv_is_true(row, "match");

		/* every host: no endpoint may say so (openshell_validate) */
		if (strcmp(tsv_cell(row, "kind"), "host") != 0 || strcmp(pattern, "*") == 0 ||
		    strcmp(pattern, "**") == 0)
			continue;
		for (size_t k = 0; k < 3; k++)
			if (strcmp(row->cells[0], instead[k].id) == 0)
				expected = instead[k].match;
		cr_expect_eq(host_matches(pattern, tsv_cell(row, "value")), expected, "%s",
			     row->cells[0]);
		asked++;
	}
	cr_expect_geq(asked, 14);
	tsv_free(t);
}

/* ---- OpenShell: addresses ---- */

/* "allowed_ips [...]" and "host H": a document with them. */
static void ips_document(const char *policy, uint16_t port, char out[512])
{
	const char *ips = strchr(policy, '['), *host = strstr(policy, "host ");
	int n = ips ? (int)(strchr(ips, ']') - ips) + 1 : 2;

	snprintf(out, 512,
		 HEAD "  p: {endpoints: [{host: \"%s\", port: %u, allowed_ips: %.*s}], binaries: "
		      "[{path: \"/**\"}]}\n",
		 host && ips ? host + 5 : "internal.example.com", port, n, ips ? ips : "[]");
}

/* "10.0.5.1", "8.8.8.8:443" */
static uint16_t split(const char *address, struct sbx_addr *out)
{
	size_t n = strcspn(address, ":");

	cr_assert(sbx_addr_parse(address, n, out), "%s", address);
	return address[n] ? (uint16_t)atoi(address + n + 1) : 443;
}

static bool reaches(const char *name, const struct sbx_addr *addr, size_t n, uint16_t port)
{
	const struct sbx_exe exe = exe_of("/usr/bin/curl");
	struct sbx_connect_answer a;
	struct sbx_programs who;
	struct sbx_host h;

	sbx_connect_programs(&e.image, &exe, 1, &who);
	if (sbx_host_parse(name, strlen(name), &h) == SBX_HOST_ADDRESS)
		return sbx_connect_addr(&e.image, &h.addr, port, &who, &a);
	return sbx_connect_resolved(&e.image, h.name, h.len, addr, n, port, &who, &a);
}

static void check_address(const struct tsv_row *row)
{
	const char *policy = tsv_cell(row, "policy"), *result = tsv_cell(row, "result");
	const char *address = tsv_cell(row, "address"), *host = strstr(policy, "host ");
	struct sbx_addr addr = {0};
	char text[512];
	uint16_t port = strcmp(address, "-") == 0 ? 443 : split(address, &addr);

	ips_document(policy, port, text);
	if (strcmp(address, "-") == 0) {
		bool is_valid = load(text, POL_DIALECT_openshell);

		cr_expect_eq(is_valid, strncmp(result, "ERR", 3) != 0, "%s", row->cells[0]);
		if (is_valid)
			cr_expect_gt(doc.foreign.notes.n, 0, "%s", row->cells[0]);
		else
			cr_expect(strstr(e.err.msg, "invalid CIDR/IP in allowed_ips"), "%s",
				  e.err.msg);
		unload();
		return;
	}
	cr_assert(load(text, POL_DIALECT_openshell), "%s: %s", row->cells[0], e.err.msg);
	cr_expect_eq(reaches(host ? host + 5 : "internal.example.com", &addr, 1, port),
		     strcmp(result, "ok") == 0, "%s", row->cells[0]);
	unload();
}

Test(policy_network_rows, openshell_addresses)
{
	struct tsv *t = tsv_load("tests/vectors/openshell_ssrf_policy.tsv");
	struct sbx_addr two[2];

	for (size_t i = 0; i < t->n_rows; i++) {
		const char *policy = tsv_cell(&t->rows[i], "policy");

		/* -019 and -021 are no list of addresses: below */
		if (strncmp(policy, "allowed_ips", 11) == 0)
			check_address(&t->rows[i]);
	}
	cr_expect_geq(t->n_rows, 15);
	tsv_free(t);
	cr_assert(load(HEAD "  p: {endpoints: [{host: 10.0.0.5, port: 443}, {host: "
			    "\"*.example.com\", port: 443}], binaries: [{path: \"/**\"}]}\n",
		       POL_DIALECT_openshell));
	cr_expect(reaches("10.0.0.5", NULL, 0, 443), "-019");
	cr_expect_not(reaches("10.0.0.6", NULL, 0, 443), "-019");
	split("93.184.216.34", &two[0]);
	split("10.0.0.1", &two[1]);
	cr_expect(reaches("a.example.com", two, 1, 443));
	cr_expect_not(reaches("a.example.com", two, 2, 443), "-021");
	unload();
}

/* ---- srt ---- */

#define SRT(allowed, denied)                                                                       \
	"{\"network\": {\"allowedDomains\": [" allowed "], \"deniedDomains\": [" denied "]},"      \
	"\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []}}"

static bool srt_reaches(const char *name)
{
	struct sbx_connect_answer a;
	struct sbx_host h;

	sbx_host_parse(name, strlen(name), &h);
	return sbx_connect_host(&e.image, &h, 443, NULL, &a);
}

Test(policy_network_rows, srt_domains_match)
{
	struct tsv *t = tsv_load("tests/vectors/srt_domain_match.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		char text[512];

		snprintf(text, sizeof text, SRT("\"%s\"", ""), tsv_cell(&t->rows[i], "pattern"));
		cr_assert(load(text, POL_DIALECT_srt), "%s", e.err.msg);
		cr_expect_eq(srt_reaches(tsv_cell(&t->rows[i], "host")),
			     tsv_is_true(&t->rows[i], "match"), "%s", t->rows[i].cells[0]);
		unload();
	}
	tsv_free(t);
}

static const struct {
	const char *what, *text, *host;
} decisions[] = {
	{"denied match", SRT("", "\"evil.example.com\""), "evil.example.com"},
	{"denied and allowed both match",
	 SRT("\"*.example.com\", \"evil.example.com\"", "\"evil.example.com\""),
	 "evil.example.com"},
	{"allowed match", SRT("\"*.example.com\"", "\"evil.example.com\""), "api.example.com"},
	{"no match, no callback", SRT("\"*.example.com\"", ""), "other.net"},
	{"allowedDomains empty list", SRT("", ""), "example.com"},
};

/* -005 is on asking, -007 is no document here, -008 to -010 are on a proxy's answers. */
Test(policy_network_rows, srt_decides)
{
	struct tsv *t = tsv_load("tests/vectors/srt_network_decision.tsv");
	size_t asked = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		for (size_t k = 0; k < sizeof decisions / sizeof *decisions; k++) {
			if (strcmp(tsv_cell(&t->rows[i], "case"), decisions[k].what) != 0)
				continue;
			cr_assert(load(decisions[k].text, POL_DIALECT_srt), "%s", e.err.msg);
			cr_expect_eq(srt_reaches(decisions[k].host),
				     strcmp(tsv_cell(&t->rows[i], "result"), "allowed") == 0, "%s",
				     t->rows[i].cells[0]);
			unload();
			asked++;
		}
	cr_expect_eq(asked, sizeof decisions / sizeof *decisions);
	tsv_free(t);
	cr_assert(load(SRT("\"example.com\"", "\"*\""), POL_DIALECT_srt));
	cr_expect_not(srt_reaches("example.com"), "all are denied");
	unload();
}

/* ---- caliban ---- */

Test(policy_network_rows, caliban_reaches_the_port_of_its_proxy_alone)
{
	cr_assert(load("[sandbox]\nenabled = true\n[sandbox.network]\nhttp_proxy_port = 3128\n"
		       "allow_all_outbound = true\nallowed_domains = [\"example.com\"]\n",
		       POL_DIALECT_caliban),
		  "%s", e.err.msg);
	cr_expect(reaches("127.0.0.1", NULL, 0, 3128));
	cr_expect(reaches("::1", NULL, 0, 3128));
	cr_expect_not(reaches("127.0.0.1", NULL, 0, 3129));
	cr_expect_not(srt_reaches("example.com"));
	unload();
}

/* ---- Grida ---- */

Test(policy_network_rows, the_hosts_of_grida)
{
	static const struct {
		const char *name;
		bool reaches;
	} rows[] = {
		{"openrouter.ai", true},
		{"ai-gateway.vercel.sh", true},
		{"vercel-ai.com", false},
		{"x.vercel-ai.com", true},
		{"registry.npmjs.org", true},
		{"npmjs.org", true},
		{"registry.yarnpkg.com", true},
		{"files.pythonhosted.org", true},
		{"static.crates.io", true},
		{"sum.golang.org", true},
		{"golang.org", false},
		{"raw.githubusercontent.com", true},
		{"github.com.evil.example", false},
		{"169.254.169.254", false},
		{"140.82.121.4", false},
	};
	const struct pol_preset *preset = pol_preset_find("grida-outer");

	engine_init(&e);
	cr_assert(preset && pol_orbit_take(pol_preset_root(preset), &doc, &e.err) == 0, "%s",
		  e.err.msg);
	pol_endpoints_layer(&e.rules, POL_LAYER_MAIN, false);
	lower(&doc.settings.connect);
	engine_compile(&e);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(srt_reaches(rows[i].name), rows[i].reaches, "%s", rows[i].name);
	unload();
}
