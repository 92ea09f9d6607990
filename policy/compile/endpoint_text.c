/* SPDX-License-Identifier: Apache-2.0 */
/* endpoint_text.c - endpoints as people write them. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/endpoints.h"

bool pol_is_socket_path(const char *text)
{
	return text[0] == '/' || text[0] == '~' || (text[0] == '.' && text[1] == '/') ||
	       (text[0] == '$' && text[1] == '{');
}

bool pol_program_is_glob(const char *text)
{
	return strpbrk(text, "*?") != NULL;
}

static int fail(const char *text, const char *what, struct b_err *err)
{
	return b_fail(err, B_POLICY, 0, "`%s`: %s", text, what);
}

/* ---- ports ---- */

static bool parse_port(const char *s, size_t len, uint16_t *out)
{
	unsigned v = 0;

	if (len == 0 || len > 5 || (len > 1 && s[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		v = v * 10 + (unsigned)(s[i] - '0');
	}
	*out = (uint16_t)v;
	return v > 0 && v < 65536;
}

static int parse_ports(const char *text, const char *s, struct pol_endpoint *out, struct b_err *err)
{
	size_t dash = strcspn(s, "-");
	bool is_range = s[dash] != '\0';

	if (!parse_port(s, dash, &out->low) ||
	    !parse_port(is_range ? s + dash + 1 : s, is_range ? strlen(s + dash + 1) : dash,
			&out->high))
		return fail(text, "expected a port from 1 to 65535, or two as 5000-5010", err);
	if (out->high < out->low)
		return fail(text, "the range of ports ends before it begins", err);
	return 0;
}

/* Where the host ends: at the colon before the ports; an IPv6 address with ports is in brackets.
 * *out_ports = the text after it, NULL = none. */
static int split(const char *text, size_t *out_len, const char **out_ports, struct b_err *err)
{
	const char *colon, *close;

	*out_ports = NULL;
	*out_len = strlen(text);
	if (text[0] == '[') {
		close = strchr(text, ']');
		if (!close)
			return fail(text, "`[` without `]`", err);
		colon = close + 1;
		if (*colon == '/') /* [2001:db8::]/32 */
			colon += strcspn(colon, ":");
		if (*colon && *colon != ':')
			return fail(text, "expected `:` and a port behind `]`", err);
	} else {
		colon = text + strcspn(text, ":");
		if (*colon && strchr(colon + 1, ':')) /* an IPv6 address, which has no ports */
			return 0;
	}
	*out_len = (size_t)(colon - text);
	if (*colon)
		*out_ports = colon + 1;
	return 0;
}

/* ---- hosts ---- */

/* A range written for mapped addresses means the addresses inside. */
static void unmap(struct sbx_cidr *c)
{
	struct sbx_addr in;
	bool is_mapped;

	if (c->bits < 96 || !sbx_addr_inside(&c->addr, &in, &is_mapped) || !is_mapped)
		return;
	c->addr = in;
	c->bits = (uint8_t)(c->bits - 96);
}

static bool parse_range(const char *host, size_t len, struct pol_endpoint *out)
{
	b_auto(b_str_release) struct b_str plain = {0};
	const char *close = host[0] == '[' ? memchr(host, ']', len) : NULL;

	if (close) {
		b_str_addn(&plain, host + 1, (size_t)(close - host) - 1);
		b_str_addn(&plain, close + 1, len - (size_t)(close - host) - 1);
	} else {
		b_str_addn(&plain, host, len);
	}
	if (!sbx_cidr_parse(b_str_c(&plain), plain.len, &out->range))
		return false;
	unmap(&out->range);
	out->shape = POL_HOST_RANGE;
	out->host = NULL;
	return true;
}

static int parse_wildcard(struct b_arena *a, const char *text, const char *host, size_t len,
			  struct pol_endpoint *out, struct b_err *err)
{
	size_t stars = strspn(host, "*"), skip = stars + 1;
	struct sbx_host h;

	if (stars == len)
		return fail(text, "every host: name those that are needed", err);
	if (stars == 0 || stars > 2 || host[stars] != '.' || memchr(host + stars, '*', len - stars))
		return fail(text,
			    "a wildcard is a whole label in front: *.example.org (one label), "
			    "**.example.org (one or more)",
			    err);
	if (sbx_host_parse(host + skip, len - skip, &h) != SBX_HOST_NAME)
		return fail(text, sbx_host_kind_text(h.kind), err);
	if (!strchr(h.name, '.'))
		return fail(text, "every name below a top-level domain: name those that are needed",
			    err);
	out->shape = stars == 1 ? POL_HOST_ONE : POL_HOST_DEEP;
	out->host = b_arena_strndup(a, h.name, h.len);
	return 0;
}

/* `**` as a whole label in front, `*` and `?` anywhere: labels as of a name once they are letters.
 */
static int parse_pattern(struct b_arena *a, const char *text, const char *host, size_t len,
			 struct pol_endpoint *out, struct b_err *err)
{
	char *plain = b_arena_strndup(a, host, len), *glob = b_arena_alloc(a, len + 1);
	struct sbx_host h;
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		plain[i] = host[i] == '*' || host[i] == '?' ? 'a' : host[i];
	if (sbx_host_parse(plain, len, &h) != SBX_HOST_NAME)
		return fail(text, sbx_host_kind_text(h.kind), err);
	for (size_t i = 0; i < h.len; i++) {
		bool doubles = host[i] == '*' && i > 0 && host[i - 1] == '*';

		/* beside other characters two stars are one */
		if (doubles && !(i == 1 && host[2] == '.'))
			continue;
		glob[n++] = host[i] == '*' || host[i] == '?' ? host[i] : h.name[i];
	}
	glob[n] = '\0';
	out->shape = POL_HOST_GLOB;
	out->host = glob;
	return 0;
}

static int parse_any(struct b_arena *a, const char *text, const char *host, size_t len,
		     struct pol_endpoint *out, struct b_err *err)
{
	size_t stars;

	if (strspn(host, "*") >= len - (len > 1 && host[len - 1] == '.')) {
		out->shape = POL_HOST_ALL;
		return 0;
	}
	if (parse_pattern(a, text, host, len, out, err) < 0)
		return -1;
	stars = strspn(out->host, "*");
	if (stars && out->host[stars] == '.' && !strpbrk(out->host + stars, "*?")) {
		out->shape = stars == 1 ? POL_HOST_ONE : POL_HOST_DEEP;
		out->host += stars + 1;
	}
	return 0;
}

static int parse_host(struct b_arena *a, const char *text, const char *host, size_t len,
		      bool is_foreign, struct pol_endpoint *out, struct b_err *err)
{
	struct sbx_host h;

	if (parse_range(host, len, out))
		return 0;
	if (is_foreign && (memchr(host, '*', len) || memchr(host, '?', len)))
		return parse_any(a, text, host, len, out, err);
	if (memchr(host, '*', len))
		return parse_wildcard(a, text, host, len, out, err);
	if (memchr(host, '/', len))
		return fail(text,
			    "expected a host and a port like example.org:443, or a range of "
			    "addresses like 10.0.0.0/8",
			    err);
	if (sbx_host_parse(host, len, &h) != SBX_HOST_NAME)
		return fail(text, sbx_host_kind_text(h.kind), err);
	out->shape = POL_HOST_NAME;
	out->host = b_arena_strndup(a, h.name, h.len);
	return 0;
}

/* ---- the normal form ---- */

static void add_range(const struct sbx_cidr *c, bool has_port, struct b_str *out)
{
	char text[SBX_ADDR_TEXT];
	bool in_brackets = c->addr.is_v6 && has_port;

	sbx_addr_text(&c->addr, text);
	b_str_addf(out, in_brackets ? "[%s]" : "%s", text);
	if (c->bits < (c->addr.is_v6 ? 128 : 32))
		b_str_addf(out, "/%u", c->bits);
}

void pol_endpoint_text(const struct pol_endpoint *e, struct b_str *out)
{
	static const char *const heads[] = {[POL_HOST_ONE] = "*.", [POL_HOST_DEEP] = "**."};

	if (e->shape == POL_HOST_RANGE)
		add_range(&e->range, !POL_ANY_PORT(e), out);
	else if (e->shape == POL_HOST_NAMES || e->shape == POL_HOST_ALL)
		b_str_addc(out, '*');
	else
		b_str_addf(out, "%s%s",
			   e->shape == POL_HOST_ONE || e->shape == POL_HOST_DEEP ? heads[e->shape]
										 : "",
			   e->host);
	if (POL_ANY_PORT(e))
		return;
	b_str_addf(out, ":%u", e->low);
	if (e->high != e->low)
		b_str_addf(out, "-%u", e->high);
}

static int parse(struct b_arena *a, const char *text, bool is_foreign, struct pol_endpoint *out,
		 struct b_err *err)
{
	b_auto(b_str_release) struct b_str matched = {0};
	const char *ports;
	size_t len;

	if (*text == '\0')
		return fail(text, "empty, expected a host like example.org:443", err);
	if (strstr(text, "://"))
		return fail(text, "expected a host and a port like example.org:443, not a URL",
			    err);
	if (split(text, &len, &ports, err) < 0 ||
	    parse_host(a, text, text, len, is_foreign, out, err) < 0)
		return -1;
	out->low = 0;
	out->high = 65535;
	if (ports && parse_ports(text, ports, out, err) < 0)
		return -1;
	pol_endpoint_text(out, &matched);
	out->matched = b_arena_strndup(a, b_str_c(&matched), matched.len);
	return 0;
}

int pol_endpoint_parse(struct b_arena *a, const char *text, struct pol_endpoint *out,
		       struct b_err *err)
{
	return parse(a, text, false, out, err);
}

int pol_endpoint_parse_foreign(struct b_arena *a, const char *text, struct pol_endpoint *out,
			       struct b_err *err)
{
	return parse(a, text, true, out, err);
}

int pol_endpoint_question(const char *text, struct sbx_host *out_host, uint16_t *out_port,
			  struct b_err *err)
{
	const char *ports;
	size_t len;

	if (split(text, &len, &ports, err) < 0)
		return -1;
	if (!ports || !parse_port(ports, strlen(ports), out_port))
		return b_fail(err, B_USAGE, 0, "`%s`: expected HOST:PORT, like example.org:443",
			      text);
	if (sbx_host_parse(text, len, out_host) > SBX_HOST_ADDRESS)
		return b_fail(err, B_USAGE, 0, "`%s`: %s", text,
			      sbx_host_kind_text(out_host->kind));
	return 0;
}
