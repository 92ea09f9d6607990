/* SPDX-License-Identifier: Apache-2.0 */
/* convert_connect.c - endpoints and sockets of `connect` in another language. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/endpoints.h"
#include "policy/compile/requests.h"
#include "policy/questions/convert.h"

static void put_to(struct b_str *out, const struct pol_connect *c, bool allow)
{
	b_auto(b_str_release) struct b_str text = {0};

	b_str_addf(&text, "%s%s", c->allow == allow ? "" : "!", c->to.s);
	cv_quote(out, b_str_c(&text));
}

static void put_params(struct b_str *out, const struct pol_http_rule *r)
{
	b_str_add(out, ", query: {");
	for (size_t i = 0; i < r->nparams; i++) {
		b_str_add(out, i ? ", " : "");
		cv_quote(out, r->param[i].key);
		b_str_add(out, ": [");
		for (size_t k = 0; k < r->param[i].nglobs; k++) {
			b_str_add(out, k ? ", " : "");
			cv_quote(out, r->param[i].glob[k]);
		}
		b_str_addc(out, ']');
	}
	b_str_addc(out, '}');
}

static void put_requests(struct b_str *out, const struct pol_http_rules *rules)
{
	for (size_t i = 0; rules && i < rules->n; i++) {
		const struct pol_http_rule *r = &rules->v[i];
		b_auto(b_str_release) struct b_str text = {0};

		b_str_addf(&text, "%s%s %s", r->allow ? "" : "!", r->method ? r->method : "*",
			   r->path ? r->path : "**");
		b_str_add(out, i ? ", " : ", http: [");
		b_str_add(out, r->nparams ? "{to: " : "");
		cv_quote(out, b_str_c(&text));
		if (r->nparams) {
			put_params(out, r);
			b_str_addc(out, '}');
		}
	}
	b_str_add(out, rules ? "]" : "");
}

/* Of another language: are there words for it in ours? */
static bool has_words(const struct pol_http_rules *rules)
{
	if (!rules)
		return true;
	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i].nparams && rules->v[i].query != POL_GLOB_TEXT)
			return false;
	return rules->n && !rules->is_audit && !rules->keeps_slashes && !rules->no_tls;
}

static void put_entry(struct b_str *out, const struct pol_connect *c, bool allow)
{
	if (c->by.n == 0 && !c->http) {
		put_to(out, c, allow);
		return;
	}
	b_str_add(out, "{to: ");
	put_to(out, c, allow);
	for (size_t i = 0; i < c->by.n; i++) {
		b_str_add(out, i ? ", " : ", by: [");
		cv_quote(out, c->by.v[i].s);
	}
	b_str_add(out, c->by.n ? "]" : "");
	put_requests(out, c->http);
	b_str_addc(out, '}');
}

/* What only its own language can say of an endpoint; NULL: nothing. */
static const char *beyond(const struct pol_connect *c)
{
	struct b_arena arena = {0};
	struct pol_endpoint ignored;
	struct b_err err;
	bool is_plain = pol_is_socket_path(c->to.s) ||
			pol_endpoint_parse(&arena, c->to.s, &ignored, &err) == 0;

	b_arena_release(&arena);
	if (!is_plain)
		return "this wildcard cannot be written";
	if (!has_words(c->http))
		return "these rules on requests cannot be written";
	return c->has_places ? "allowed_ips cannot be written" : NULL;
}

void cv_put_connects(struct cv *c, const char *indent, const char *key,
		     const struct pol_connects *list, bool allow)
{
	bool begun = false;

	for (size_t i = 0; i < list->n; i++) {
		const char *why = beyond(&list->v[i]);

		if (why) {
			cv_name(c, &list->v[i].to, why);
			continue;
		}
		if (!begun)
			b_str_addf(c->out, "%s%s:\n", indent, key);
		begun = true;
		b_str_addf(c->out, "%s  - ", indent);
		put_entry(c->out, &list->v[i], allow);
		b_str_addc(c->out, '\n');
	}
}

void cv_name_connects(struct cv *c, const struct pol_connects *list, const char *why)
{
	for (size_t i = 0; i < list->n; i++)
		cv_name(c, &list->v[i].to, why);
}
