/* SPDX-License-Identifier: Apache-2.0 */
/* network_words.c - ports, sizes and the URL of a proxy, as documents and options write them. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/document/settings.h"

static int parse_port(const char *s, size_t n, unsigned short *out)
{
	char digits[6] = "";
	unsigned long long port;

	if (n == 0 || n >= sizeof digits)
		return -1;
	memcpy(digits, s, n);
	if (b_parse_u64(digits, 65535, &port) < 0 || port == 0)
		return -1;
	*out = (unsigned short)port;
	return 0;
}

int pol_port_parse(const char *text, unsigned short *out_low, unsigned short *out_high)
{
	const char *dash = out_high ? strchr(text, '-') : NULL;

	if (parse_port(text, dash ? (size_t)(dash - text) : strlen(text), out_low) < 0)
		return -1;
	if (!out_high)
		return 0;
	*out_high = *out_low;
	return !dash || (parse_port(dash + 1, strlen(dash + 1), out_high) == 0 &&
			 *out_high >= *out_low)
		       ? 0
		       : -1;
}

int pol_size_parse(const char *text, unsigned long long *out)
{
	static const char letters[] = "KMGT";
	size_t n = strlen(text);
	const char *letter = n ? memchr(letters, text[n - 1], sizeof letters - 1) : NULL;
	unsigned shift = letter ? 10u * (unsigned)(letter - letters + 1) : 0;
	char digits[24] = "";

	n -= letter != NULL;
	if (n == 0 || n >= sizeof digits)
		return -1;
	memcpy(digits, text, n);
	if (b_parse_u64(digits, (1ull << 50) >> shift, out) < 0 || *out == 0)
		return -1;
	*out <<= shift;
	return 0;
}

/* memrchr(3), which macOS has not */
static const char *last_of(const char *from, const char *end, char what)
{
	while (end > from)
		if (*--end == what)
			return end;
	return NULL;
}

int pol_upstream_parse(const char *url, struct pol_upstream *out)
{
	static const char scheme[] = "http://";
	const char *at, *end, *colon;

	*out = (struct pol_upstream){.port = 80};
	if (!b_has_prefix(url, scheme))
		return -1;
	url += sizeof scheme - 1;
	end = url + strcspn(url, "/?#");
	if (*end && strcmp(end, "/") != 0)
		return -1;
	at = last_of(url, end, '@');
	if (at) {
		out->userinfo = url;
		out->userinfo_len = (size_t)(at - url);
		url = at + 1;
	}
	colon = last_of(url, end, ':');
	if (*url == '[') { /* an address of IPv6 */
		const char *close = memchr(url, ']', (size_t)(end - url));

		if (!close)
			return -1;
		colon = close[1] == ':' ? close + 1 : NULL;
		out->host = url + 1;
		out->host_len = (size_t)(close - url) - 1;
	} else {
		out->host = url;
		out->host_len = (size_t)((colon ? colon : end) - url);
	}
	if (colon && parse_port(colon + 1, (size_t)(end - colon) - 1, &out->port) < 0)
		return -1;
	return out->host_len && out->host_len <= 253 ? 0 : -1;
}
