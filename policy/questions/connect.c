/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - which rule decides on an endpoint, and the rules on endpoints as text. */
#include "policy/questions/connect.h"

#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "policy/engine.h"
#include "policy/rules/workspace.h"

struct sbx_exe pol_connect_exe(struct b_arena *a, const char *path)
{
	const char *given = pol_given_path(a, path);
	struct sbx_exe exe = {.path = pol_canonical(a, given ? given : path)};
	struct stat st;

	exe.path_len = strlen(exe.path);
	if (stat(exe.path, &st) == 0) {
		exe.dev = st.st_dev;
		exe.ino = st.st_ino;
	}
	return exe;
}

const char *pol_connect_asked(struct b_arena *a, const struct sbx_host *host, uint16_t port)
{
	char addr[SBX_ADDR_TEXT];

	if (host->kind == SBX_HOST_NAME)
		return b_arena_printf(a, "%s:%u", host->name, port);
	sbx_addr_text(&host->addr, addr);
	return b_arena_printf(a, host->addr.is_v6 ? "[%s]:%u" : "%s:%u", addr, port);
}

static bool matches(const struct pol_endpoint *e, const struct pol_connect_answer *q,
		    const struct pol_who *who)
{
	const struct sbx_addr *a = &q->host.addr;
	struct sbx_addr in;
	bool is_mapped;

	if (q->host.kind == SBX_HOST_NAME)
		return pol_endpoint_matches(e, q->host.name, NULL, q->port, who);
	if (sbx_addr_inside(a, &in, &is_mapped) && is_mapped)
		a = &in;
	return pol_endpoint_matches(e, NULL, a, q->port, who);
}

/* The last rule before it that says the opposite. */
static const struct pol_endpoint *find_overrode(const struct pol_engine *e,
						const struct pol_connect_answer *q,
						const struct pol_who *who)
{
	const struct pol_endpoints *net = &e->rules.net;

	for (size_t i = (size_t)(q->rule - net->v); i-- > 0;)
		if (net->v[i].layer == q->rule->layer && net->v[i].allow != q->rule->allow &&
		    matches(&net->v[i], q, who))
			return &net->v[i];
	return NULL;
}

static void name_rule(const struct pol_engine *e, struct pol_connect_answer *out,
		      const struct pol_who *who)
{
	const struct pol_endpoints *net = &e->rules.net;

	if (out->a.rule >= 0) {
		out->rule = &net->v[(size_t)out->a.rule - e->image.hdr->net.first_rule];
		out->matched = out->rule->matched;
		out->origin = out->rule->origin;
		out->overrode = find_overrode(e, out, who);
	} else if (out->a.why == SBX_CONNECT_OPEN) {
		out->matched = "network: host";
		out->origin = "builtin:network:1";
	} else {
		out->matched = net->n ? "<no matching rule>" : "[]";
		out->origin = "builtin:default";
	}
}

int pol_connect_check(const struct pol_engine *e, struct b_arena *a, const char *text,
		      const struct pol_who *who, struct pol_connect_answer *out, struct b_err *err)
{
	struct sbx_programs programs;

	*out = (struct pol_connect_answer){.port = 0};
	if (pol_endpoint_question(text, &out->host, &out->port, err) < 0)
		return -1;
	sbx_connect_programs(&e->image, who->v, who->n, &programs);
	sbx_connect_host(&e->image, &out->host, out->port, &programs, &out->a);
	out->asked = pol_connect_asked(a, &out->host, out->port);
	name_rule(e, out, who);
	return 0;
}

/* As the broker takes them (launcher/linux/broker/net.c): 0.0.0.0 and :: lead there as well. */
static bool is_loopback(const struct sbx_host *h, struct sbx_addr *out)
{
	enum sbx_addr_class class;
	bool is_mapped;

	*out = h->addr;
	if (h->kind == SBX_HOST_NAME) {
		*out = (struct sbx_addr){.b = {127, 0, 0, 1}};
		return strcmp(h->name, "localhost") == 0;
	}
	if (sbx_addr_inside(&h->addr, out, &is_mapped) && !is_mapped)
		*out = h->addr;
	class = sbx_addr_class(out);
	return class == SBX_ADDR_LOOPBACK ||
	       (class == SBX_ADDR_UNSPECIFIED &&
		(out->is_v6 || memcmp(out->b, (const unsigned char[4]){0}, 4) == 0));
}

void pol_connect_inside(const struct pol_engine *e, const struct pol_who *who,
			struct pol_connect_answer *q)
{
	struct sbx_connect_answer said;
	struct sbx_programs programs;
	struct sbx_addr addr;

	if (e->effect.network == POL_NET_HOST || !is_loopback(&q->host, &addr))
		return;
	sbx_connect_programs(&e->image, who->v, who->n, &programs);
	if (sbx_connect_is_hosts(&e->image, &addr, q->port, &programs, &said))
		return;
	q->is_own = true;
	q->a = (struct sbx_connect_answer){.allowed = true, .rule = -1, .why = SBX_CONNECT_OPEN};
	q->rule = q->overrode = NULL;
	q->matched = "<own loopback>";
	q->origin = "builtin:network:1";
}

/* ---- as text ---- */

static const char *carrier(const struct pol_engine *e, const struct pol_connect_answer *q)
{
	if (q->is_own)
		return "nothing: the run has a loopback interface of its own";
	if (e->effect.network == POL_NET_HOST)
		return "nothing: the network is open";
	if (!e->effect.by_endpoint)
		return "no network";
	return e->has_endpoints ? "broker" : "no network: rules on endpoints are not enforced here";
}

static void add_rule(const char *before, const char *matched, const char *origin, struct b_str *out)
{
	b_str_addf(out, "%s", before);
	b_str_add_visible(out, matched, strlen(matched));
	b_str_add(out, " (");
	b_str_add_visible(out, origin, strlen(origin));
	b_str_addc(out, ')');
}

static void add_programs(const struct pol_programs *by, struct b_str *out)
{
	for (size_t i = 0; i < by->n; i++) {
		b_str_add(out, i ? ", " : " by ");
		b_str_add_visible(out, by->v[i].text, strlen(by->v[i].text));
	}
}

void pol_connect_rule_text(const struct pol_endpoint *e, struct b_str *out)
{
	b_str_add_visible(out, e->matched, strlen(e->matched));
	add_programs(&e->by, out);
}

static void add_match(const struct pol_endpoint *r, bool decides, struct b_str *out)
{
	b_str_addf(out, "  %c %-5s  %-7s  ", decides ? '>' : ' ', r->allow ? "allow" : "deny",
		   pol_tier_name((enum pol_tier)r->tier));
	pol_connect_rule_text(r, out);
	b_str_add(out, " (");
	b_str_add_visible(out, r->origin, strlen(r->origin));
	b_str_add(out, ")\n");
}

void pol_connect_text(const struct pol_engine *e, const struct pol_connect_answer *q,
		      const struct pol_who *who, bool all, struct b_str *out)
{
	const struct pol_endpoints *net = &e->rules.net;

	b_str_addf(out, "%-7s  connect  ",
		   q->a.would_deny ? "watched"
		   : q->a.allowed  ? "allowed"
				   : "denied");
	b_str_add_visible(out, q->asked, strlen(q->asked));
	add_rule("  by rule ", q->matched, q->origin, out);
	if (q->overrode)
		add_rule(", against ", q->overrode->matched, q->overrode->origin, out);
	if (q->a.why == SBX_CONNECT_CLASS)
		b_str_addf(out, ", which opens no %s address", sbx_addr_class_name(q->a.class));
	else if (q->a.why == SBX_CONNECT_PORT || q->a.why == SBX_CONNECT_NOT_LISTED)
		b_str_addf(out, ", but %s", sbx_connect_why_text(q->a.why));
	if (q->a.would_deny)
		b_str_add(out, ", and passes: network watch");
	b_str_addf(out, "  [%s]\n", carrier(e, q));
	for (size_t i = 0; all && i < net->n; i++)
		if (matches(&net->v[i], q, who))
			add_match(&net->v[i], &net->v[i] == q->rule, out);
}

/* ---- as JSON ---- */

static void json_rule(struct b_json *j, const char *matched, const char *origin)
{
	b_json_bytes(j, "matched_rule", matched, strlen(matched));
	b_json_bytes(j, "rule", origin, strlen(origin));
}

static void json_match(struct b_json *j, const struct pol_endpoint *r, bool decides)
{
	b_json_open(j, '{');
	json_rule(j, r->matched, r->origin);
	b_json_key(j, "allow");
	b_json_bool(j, r->allow);
	b_json_key(j, "tier");
	b_json_str(j, pol_tier_name((enum pol_tier)r->tier));
	b_json_key(j, "decides");
	b_json_bool(j, decides);
	b_json_close(j, '}');
}

void pol_connect_json(const struct pol_engine *e, const struct pol_connect_answer *q,
		      const struct pol_who *who, bool all, struct b_str *out)
{
	const struct pol_endpoints *net = &e->rules.net;
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	b_json_key(&j, "op");
	b_json_str(&j, "connect");
	b_json_key(&j, "endpoint");
	b_json_str(&j, q->asked);
	b_json_key(&j, "allowed");
	b_json_bool(&j, q->a.allowed);
	if (q->a.would_deny) {
		b_json_key(&j, "would_deny");
		b_json_bool(&j, true);
	}
	json_rule(&j, q->matched, q->origin);
	b_json_key(&j, "why");
	b_json_str(&j, sbx_connect_why_text(q->a.why));
	b_json_key(&j, "overrode");
	if (q->overrode) {
		b_json_open(&j, '{');
		json_rule(&j, q->overrode->matched, q->overrode->origin);
		b_json_close(&j, '}');
	} else {
		b_json_null(&j);
	}
	b_json_key(&j, "floor");
	b_json_str(&j, carrier(e, q));
	if (all) {
		b_json_key(&j, "matches");
		b_json_open(&j, '[');
		for (size_t i = 0; i < net->n; i++)
			if (matches(&net->v[i], q, who))
				json_match(&j, &net->v[i], &net->v[i] == q->rule);
		b_json_close(&j, ']');
	}
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

/* ---- all rules ---- */

/* What it is on, and where that is not what is written, as what. */
static void show_rule(const struct pol_endpoint *r, struct b_str *out)
{
	b_auto(b_str_release) struct b_str on = {0};

	pol_endpoint_text(r, &on);
	if (strcmp(b_str_c(&on), r->matched) != 0) {
		b_str_add_visible(out, on.s, on.len);
		b_str_add(out, "  as ");
	}
	pol_connect_rule_text(r, out);
}

static const char *layer_name(unsigned number)
{
	return number == POL_LAYER_MANAGED ? "managed"
	       : number == POL_LAYER_MAIN  ? "main"
					   : "project";
}

static void show_limit(const char *what, unsigned long long v, struct b_str *out)
{
	if (v)
		b_str_addf(out, "  at most %llu %s\n", v, what);
}

/* The login of the proxy is nobody's to read. */
static void show_beside(const struct pol_effect *e, struct b_str *out)
{
	struct pol_upstream by;

	for (size_t i = 0; i < e->publish.n; i++)
		b_str_addf(out, "  port %u is published at the host's loopback interface\n",
			   e->publish.v[i]);
	show_limit("connections", e->net_limits.connections, out);
	show_limit("bytes", e->net_limits.bytes, out);
	show_limit("bytes a second", e->net_limits.rate, out);
	if (e->upstream && pol_upstream_parse(e->upstream, &by) == 0)
		b_str_addf(out, "  by the proxy %.*s:%u\n", (int)by.host_len, by.host, by.port);
}

void pol_connect_show(const struct pol_engine *e, struct b_str *out)
{
	const struct pol_endpoints *net = &e->rules.net;

	b_str_add(out, "\nendpoints: the last rule that matches decides\n");
	if (e->effect.network == POL_NET_HOST)
		b_str_add(out, "  everything is allowed\n");
	else if (e->effect.network == POL_NET_WATCH)
		b_str_add(out, "  network watch: what these deny is recorded, and passes\n");
	else if (net->n == 0)
		b_str_add(out, "  nothing is allowed\n");
	show_beside(&e->effect, out);
	for (size_t i = 0; i < net->n; i++) {
		const struct pol_endpoint *r = &net->v[i];

		if (net->nlayers > 1 && (i == 0 || net->v[i - 1].layer != r->layer))
			b_str_addf(out, "  layer %s%s\n", layer_name(r->layer),
				   i == 0 ? ": all layers must allow" : "");
		b_str_addf(out, "  %-5s  %-7s  ", r->allow ? "allow" : "deny",
			   pol_tier_name((enum pol_tier)r->tier));
		show_rule(r, out);
		b_str_add(out, "  (");
		b_str_add_visible(out, r->origin, strlen(r->origin));
		b_str_add(out, ")\n");
	}
}
