/* SPDX-License-Identifier: Apache-2.0 */
/* http_text.c - see http_text.h. */
#include "egress/http_text.h"

#include <string.h>
#include <strings.h>

bool egr_is_word(struct egr_text a, const char *word)
{
	return a.n == strlen(word) && memcmp(a.s, word, a.n) == 0;
}

bool egr_is_name(struct egr_text a, const char *word)
{
	return a.n == strlen(word) && strncasecmp(a.s, word, a.n) == 0;
}

bool egr_is_token(struct egr_text a)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < a.n; i++) {
		char c = a.s[i], small = (char)(c | 0x20);

		if (!(c >= '0' && c <= '9') && !(small >= 'a' && small <= 'z') &&
		    (c == '\0' || !strchr(others, c)))
			return false;
	}
	return a.n > 0;
}

bool egr_cut(struct egr_text *from, char at, struct egr_text *out)
{
	const char *p = from->n ? memchr(from->s, at, from->n) : NULL;

	if (!p)
		return false;
	*out = (struct egr_text){from->s, (size_t)(p - from->s)};
	from->n -= out->n + 1;
	from->s = p + 1;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct egr_text egr_trim(struct egr_text a)
{
	while (a.n && is_blank(a.s[0])) {
		a.s++;
		a.n--;
	}
	while (a.n && is_blank(a.s[a.n - 1]))
		a.n--;
	return a;
}

static bool read_port(struct egr_text a, uint16_t *out)
{
	unsigned v = 0;

	if (a.n == 0 || a.n > 5)
		return false;
	for (size_t i = 0; i < a.n; i++) {
		if (a.s[i] < '0' || a.s[i] > '9')
			return false;
		v = v * 10 + (unsigned)(a.s[i] - '0');
	}
	*out = (uint16_t)v;
	return v > 0 && v <= 65535;
}

bool egr_read_authority(struct egr_text a, struct sbx_host *out_host, uint16_t *out_port)
{
	const char *colon = a.n ? memrchr(a.s, ':', a.n) : NULL;
	const char *bracket = a.n ? memrchr(a.s, ']', a.n) : NULL;
	size_t host = a.n;

	if (colon && (!bracket || colon > bracket)) {
		host = (size_t)(colon - a.s);
		if (!read_port((struct egr_text){colon + 1, a.n - host - 1}, out_port))
			return false;
	}
	if (!host || (!bracket && memchr(a.s, ':', host)))
		return false; /* an address of IPv6 stands in brackets here */
	(void)sbx_host_parse(a.s, host, out_host);
	return true;
}
