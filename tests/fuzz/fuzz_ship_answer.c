/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a server's answer: two of its status, then lines of its head up to an empty one,
 * then its body in pieces. Nothing but 200 to 204 without an exception is an acknowledgement; what
 * is kept, waited for and shown has bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ship/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PIECE = 7 };

static void expect(bool ok)
{
	if (!ok)
		abort();
}

/* Where the body begins, or NULL: the head was too long. */
static const char *hear_head(struct ship_heard *h, const char *p, const char *end)
{
	while (p < end && *p != '\n') {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) + 1 : (size_t)(end - p);

		if (!ship_hear_head(h, p, n))
			return NULL;
		p += n;
	}
	return p < end ? p + 1 : p;
}

static bool hear_body(struct ship_heard *h, const char *p, const char *end)
{
	while (p < end) {
		size_t n = end - p < PIECE ? (size_t)(end - p) : PIECE;

		if (!ship_hear_body(h, p, n))
			return false;
		p += n;
	}
	return true;
}

static void check(const struct ship_heard *h, long status, const char *body, size_t n)
{
	struct ship_answer a;
	bool is_good = status >= 200 && status <= 204;

	memset(&a, 0x5a, sizeof a);
	ship_judge(h, status, &a);
	expect(a.status == status && a.wait_ms <= SHIP_WAIT_MAX_MS);
	expect((a.outcome == SHIP_ACKNOWLEDGED) ==
	       (is_good && !h->has_exception && !(n && memmem(body, n, "DB::Exception", 13))));
	expect(a.outcome != SHIP_REFUSED || (!is_good && status < 500));
	expect(memchr(a.text, '\0', sizeof a.text) != NULL);
	for (const char *c = a.text; *c; c++)
		expect((unsigned char)*c >= ' ' && *c != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	b_auto(ship_heard_release) struct ship_heard h = {0};
	const char *end = (const char *)data + n, *body;

	if (n < 2)
		return 0;
	body = hear_head(&h, (const char *)data + 2, end);
	expect(h.head_bytes <= SHIP_ANSWER_MAX);
	if (!body || !hear_body(&h, body, end)) {
		expect(n > SHIP_ANSWER_MAX);
		return 0;
	}
	check(&h, data[0] << 2 | (data[1] & 3), body, (size_t)(end - body));
	ship_heard_reset(&h);
	check(&h, 200, "", 0);
	return 0;
}
