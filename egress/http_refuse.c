/* SPDX-License-Identifier: Apache-2.0 */
/* http_refuse.c - what a caller reads whose request is refused (http_conn.h). */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "egress/http_conn.h"

static const char *reason_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} rows[] = {{400, "Bad Request"},
		    {403, "Forbidden"},
		    {417, "Expectation Failed"},
		    {421, "Misdirected Request"},
		    {431, "Request Header Fields Too Large"},
		    {501, "Not Implemented"},
		    {502, "Bad Gateway"},
		    {505, "HTTP Version Not Supported"}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].status == status)
			return rows[i].text;
	return "Error";
}

static void answer(unsigned status, const char *fields, const struct b_str *body, struct b_str *out)
{
	b_str_addf(out, "HTTP/1.1 %u %s\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n",
		   status, reason_of(status), fields, body->len);
	b_str_addn(out, body->s, body->len);
}

static void answer_text(unsigned status, const char *text, struct b_str *out)
{
	b_auto(b_str_release) struct b_str body = {0};

	b_str_addf(&body, "sbx-launch: %s\n", text);
	answer(status, "Content-Type: text/plain\r\n", &body, out);
}

void egr_http_bad_gateway(enum egr_http_wrong wrong, struct b_str *out)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (wrong == EGR_HTTP_WRONG_NONE)
		b_str_add(&text, "the server closed the connection before it answered");
	else
		b_str_addf(&text, "the server's answer has %s", egr_http_wrong_text(wrong));
	answer_text(502, b_str_c(&text), out);
}

void egr_http_no_gateway(const char *why, struct b_str *out)
{
	answer_text(502, why, out);
}

/* ---- what the rules refuse ---- */

/* A part of the policy's text. */
static void key(struct b_json *j, const char *name, const struct sbx_requests *r,
		struct sbx_request_text t)
{
	b_json_key(j, name);
	b_json_strn(j, r->text + t.at, t.len);
}

/* "GET /repos/x" */
static void add_request(const struct egr_http_told *t, struct b_str *out)
{
	b_str_addn(out, t->head->method.s, t->head->method.n);
	b_str_addf(out, " %s", t->target->path);
}

/* {"error":"policy_denied","policy":NAME,"rule":"GET /x","detail":...}, as OpenShell's. */
static void write_openshell(const struct egr_http_conn *c, const struct egr_http_told *t,
			    struct b_str *fields, struct b_str *body)
{
	const struct sbx_request_text name = c->rules->set[t->set].name;
	b_auto(b_str_release) struct b_str request = {0}, detail = {0};
	struct b_json j = {.out = body};

	add_request(t, &request);
	if (t->answer.rule >= 0)
		b_str_addf(&detail, "%s blocked by deny rule", b_str_c(&request));
	else
		b_str_addf(&detail, "%s not permitted by policy", b_str_c(&request));
	b_json_open(&j, '{');
	b_json_key(&j, "error");
	b_json_str(&j, "policy_denied");
	key(&j, "policy", c->rules, name);
	b_json_key(&j, "rule");
	b_json_str(&j, b_str_c(&request));
	b_json_key(&j, "detail");
	b_json_str(&j, b_str_c(&detail));
	b_json_close(&j, '}');
	b_str_add(fields, "Content-Type: application/json\r\nX-OpenShell-Policy: ");
	/* a header is one line */
	b_str_add_visible(fields, c->rules->text + name.at, name.len);
	b_str_add(fields, "\r\n");
}

static void write_ours(const struct egr_http_conn *c, const struct egr_http_told *t,
		       struct b_str *body)
{
	b_auto(b_str_release) struct b_str request = {0};
	struct b_json j = {.out = body};
	const struct sbx_request_rule *rule =
		t->answer.rule >= 0 ? &c->rules->rule[t->answer.rule] : NULL;

	add_request(t, &request);
	b_json_open(&j, '{');
	b_json_key(&j, "error");
	b_json_str(&j, "denied by the policy");
	b_json_key(&j, "request");
	b_json_str(&j, b_str_c(&request));
	b_json_key(&j, "why");
	b_json_str(&j, sbx_request_why_text(t->answer.why));
	if (rule) {
		key(&j, "rule", c->rules, rule->matched);
		key(&j, "place", c->rules, rule->origin);
	}
	if (c->program) {
		b_json_key(&j, "program");
		b_json_str(&j, c->program);
	}
	b_json_key(&j, "remedy");
	b_json_str(&j, t->answer.why == SBX_REQUEST_QUERY
			       ? "send a query without ';', and with whole escapes"
		       : rule ? "ask for the rule to be changed"
			      : "add a rule on this request to `http` of the endpoint");
	b_json_close(&j, '}');
	b_str_add(body, "\n");
}

void egr_http_refusal(const struct egr_http_conn *c, const struct egr_http_told *t,
		      struct b_str *out)
{
	b_auto(b_str_release) struct b_str body = {0}, fields = {0};

	if (t->head->wrong != EGR_HTTP_WRONG_NONE) {
		b_str_addf(&body, "the request has %s", egr_http_wrong_text(t->head->wrong));
		answer_text(egr_http_wrong_status(t->head->wrong), b_str_c(&body), out);
	} else if (!t->target) {
		b_str_addf(&body, "the request's target: %s", sbx_target_kind_text(t->target_kind));
		answer_text(400, b_str_c(&body), out);
	} else if (t->is_for_another) {
		answer_text(421, "the request is for another host than the connection", out);
	} else if (c->shape == EGR_SHAPE_OPENSHELL) {
		write_openshell(c, t, &fields, &body);
		answer(403, b_str_c(&fields), &body, out);
	} else if (c->shape == EGR_SHAPE_SRT) {
		b_str_add(&body, "Connection blocked by network allowlist");
		answer(403, "Content-Type: text/plain\r\nX-Proxy-Error: blocked-by-allowlist\r\n",
		       &body, out);
	} else {
		write_ours(c, t, &body);
		answer(403, "Content-Type: application/json\r\nX-Sbx-Denied: policy\r\n", &body,
		       out);
	}
}
