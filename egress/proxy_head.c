/* SPDX-License-Identifier: Apache-2.0 */
/* proxy_head.c - see proxy_head.h. */
#include "egress/proxy_head.h"

#include <string.h>
#include <strings.h>

#include "egress/http_text.h"

/* ---- HTTP ---- */

/* The length of the head with the empty line; 0: it is not whole. */
static size_t head_length(const char *in, size_t n)
{
	const char *p = memmem(in, n, "\r\n\r\n", 4);

	return p ? (size_t)(p - in) + 4 : 0;
}

/* Lines end in both characters, and hold no other control character but tabs. */
static bool is_clean(const char *in, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)in[i];

		if (c == '\r' && i + 1 < n && in[i + 1] == '\n')
			i++;
		else if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static void put(struct egr_proxy_ask *out, const char *s, size_t n)
{
	/* what goes on is no longer than what came and two short lines; were it, it would be cut
	 * and the request be wrong */
	if (n > sizeof out->head - out->len)
		n = sizeof out->head - out->len;
	memcpy(out->head + out->len, s, n);
	out->len += n;
}

static void put_text(struct egr_proxy_ask *out, const char *s)
{
	put(out, s, strlen(s));
}

static bool is_for_proxies(struct egr_text name)
{
	static const char *const names[] = {"host", "connection", "proxy-connection",
					    "proxy-authorization", "keep-alive"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (egr_is_name(name, names[i]))
			return true;
	return false;
}

/* Lines of the head behind the first, as they are or without what is for proxies. */
static bool take_fields(struct egr_text rest, bool copies, struct egr_proxy_ask *out)
{
	struct egr_text line, name;

	while (egr_cut(&rest, '\n', &line)) {
		struct egr_text all = {line.s, line.n + 1};

		if (line.n == 1)
			return true; /* the empty one */
		if (!egr_cut(&line, ':', &name) || !egr_is_token(name))
			return false;
		if (copies && !is_for_proxies(name))
			put(out, all.s, all.n);
	}
	return false;
}

/* "http://host[:port][/path][?query]" */
static bool read_url(struct egr_text method, struct egr_text url, struct egr_text version,
		     struct egr_proxy_ask *out)
{
	static const char scheme[] = "http://";
	const size_t n = sizeof scheme - 1;
	struct egr_text host;

	if (url.n < n || strncasecmp(url.s, scheme, n) != 0 || memchr(url.s, '#', url.n))
		return false;
	url.s += n;
	url.n -= n;
	host = url;
	for (size_t i = 0; i < url.n && host.n == url.n; i++)
		if (url.s[i] == '/' || url.s[i] == '?')
			host.n = i;
	out->port = 80;
	if (!egr_read_authority(host, &out->host, &out->port))
		return false;
	url.s += host.n;
	url.n -= host.n;
	put(out, method.s, method.n);
	put_text(out, " ");
	if (url.n == 0 || url.s[0] == '?')
		put_text(out, url.n == 0 && egr_is_word(method, "OPTIONS") ? "*" : "/");
	put(out, url.s, url.n);
	put_text(out, " ");
	put(out, version.s, version.n);
	put_text(out, "\r\nHost: ");
	put(out, host.s, host.n);
	put_text(out, "\r\n");
	return true;
}

/* Of CONNECT, which says its port. */
static bool read_authority(struct egr_text text, struct egr_proxy_ask *out)
{
	return egr_read_authority(text, &out->host, &out->port) && out->port != 0;
}

static enum egr_proxy_said read_http(const char *in, size_t n, struct egr_proxy_ask *out)
{
	size_t len = head_length(in, n);
	struct egr_text rest = {in, len}, line, method, target;
	bool is_connect;

	if (n >= 7 && memcmp(in, "CONNECT", 7) != 0)
		out->kind = EGR_PROXY_URL;
	if (!len)
		return is_clean(in, in[n - 1] == '\r' ? n - 1 : n) ? EGR_PROXY_MORE : EGR_PROXY_BAD;
	out->used = len;
	if (!is_clean(in, len) || !egr_cut(&rest, '\n', &line) || !egr_cut(&line, ' ', &method) ||
	    !egr_is_token(method) || !egr_cut(&line, ' ', &target) || line.n < 1)
		return EGR_PROXY_BAD;
	line.n--; /* the carriage return */
	if (!egr_is_word(line, "HTTP/1.1") && !egr_is_word(line, "HTTP/1.0"))
		return EGR_PROXY_BAD;
	is_connect = egr_is_word(method, "CONNECT");
	out->kind = is_connect ? EGR_PROXY_CONNECT : EGR_PROXY_URL;
	if (is_connect ? !read_authority(target, out) : !read_url(method, target, line, out))
		return EGR_PROXY_BAD;
	if (!take_fields(rest, !is_connect, out))
		return EGR_PROXY_BAD;
	if (!is_connect)
		put_text(out, "Connection: close\r\n\r\n");
	return EGR_PROXY_GO;
}

/* ---- SOCKS, RFC 1928 ---- */

#define SOCKS	      5
#define SOCKS_CONNECT 1

static enum egr_proxy_said read_greeting(const uint8_t *in, size_t n, struct egr_proxy_ask *out)
{
	if (n < 2 || n < 2 + (size_t)in[1])
		return EGR_PROXY_MORE;
	out->used = 2 + (size_t)in[1];
	return memchr(in + 2, 0, in[1]) ? EGR_PROXY_GREETING : EGR_PROXY_METHODS;
}

static enum egr_proxy_said read_socks(const uint8_t *in, size_t n, struct egr_proxy_ask *out)
{
	size_t at = 4, len;

	if (n < 5)
		return EGR_PROXY_MORE;
	if (in[0] != SOCKS || in[2] != 0)
		return EGR_PROXY_BAD;
	if (in[1] != SOCKS_CONNECT)
		return EGR_PROXY_COMMAND;
	if (in[3] != 1 && in[3] != 3 && in[3] != 4)
		return EGR_PROXY_ADDRESS;
	len = in[3] == 1 ? 4 : in[3] == 4 ? 16 : in[4];
	at += in[3] == 3;
	if (n < at + len + 2)
		return EGR_PROXY_MORE;
	if (in[3] == 3) {
		(void)sbx_host_parse((const char *)in + at, len, &out->host);
	} else {
		out->host.kind = SBX_HOST_ADDRESS;
		out->host.addr.is_v6 = in[3] == 4;
		memcpy(out->host.addr.b, in + at, len);
	}
	out->port = (uint16_t)(in[at + len] << 8 | in[at + len + 1]);
	out->used = at + len + 2;
	return out->port ? EGR_PROXY_GO : EGR_PROXY_BAD;
}

enum egr_proxy_said egr_proxy_read(const uint8_t *in, size_t n, bool greeted,
				   struct egr_proxy_ask *out)
{
	out->kind = EGR_PROXY_CONNECT;
	out->host = (struct sbx_host){.kind = SBX_HOST_BAD};
	out->port = 0;
	out->used = out->len = 0;
	if (n == 0)
		return EGR_PROXY_MORE;
	if (!greeted && in[0] != SOCKS)
		return read_http((const char *)in, n, out);
	out->kind = EGR_PROXY_SOCKS;
	return greeted ? read_socks(in, n, out) : read_greeting(in, n, out);
}
