/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_proxy - what a program says to the proxy: what is read lies within what was said, a request
 * that goes on has one Host, is the last of its connection, and holds no line that was not one.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "egress/proxy_head.h"

static void check_head(const struct egr_proxy_ask *a)
{
	static const char end[] = "Connection: close\r\n\r\n";
	const size_t n = sizeof end - 1;
	unsigned hosts = 0;

	if (a->len < n || a->len > sizeof a->head || memcmp(a->head + a->len - n, end, n) != 0)
		abort();
	if (memmem(a->head, a->len, "\r\n\r\n", 4) != a->head + a->len - 4)
		abort();
	for (size_t i = 0; i + 7 < a->len; i++)
		hosts += a->head[i] == '\n' && strncasecmp(a->head + i + 1, "host:", 5) == 0;
	if (hosts != 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct egr_proxy_ask whole, part;
	enum egr_proxy_said said;
	bool greeted = size && data[0] & 0x80;

	if (size > EGR_PROXY_MAX)
		size = EGR_PROXY_MAX;
	if (greeted) {
		data++;
		size--;
	}
	said = egr_proxy_read(data, size, greeted, &whole);
	if (whole.used > size)
		abort();
	if (said == EGR_PROXY_GO && (whole.port == 0 || whole.used == 0))
		abort();
	if (said == EGR_PROXY_GO && whole.kind == EGR_PROXY_URL)
		check_head(&whole);
	/* what is enough is enough whatever follows, and what comes in pieces means the same */
	if (said == EGR_PROXY_GO &&
	    (egr_proxy_read(data, whole.used, greeted, &part) != EGR_PROXY_GO ||
	     part.len != whole.len || part.port != whole.port))
		abort();
	return 0;
}
