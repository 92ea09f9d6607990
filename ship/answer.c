/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - see answer.h. */
#include "ship/answer.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

enum { SHOWN = 240 };

void ship_heard_release(struct ship_heard *h)
{
	b_str_release(&h->body);
}

void ship_heard_reset(struct ship_heard *h)
{
	b_str_reset(&h->body);
	h->head_bytes = 0;
	h->wait_ms = 0;
	h->has_exception = false;
}

/* ---- as it comes ---- */

static bool is_header(const char *p, size_t n, const char *name, const char **value)
{
	size_t k = strlen(name);

	if (n < k || strncasecmp(p, name, k) != 0)
		return false;
	*value = p + k;
	return true;
}

/* Seconds; a date, which HTTP has as well, is nothing that a sender needs. */
static void hear_wait(struct ship_heard *h, const char *value, size_t n)
{
	unsigned long long seconds;
	char text[16];
	size_t k = 0;

	for (; n && *value == ' '; n--)
		value++;
	for (; k < n && k + 1 < sizeof text && value[k] > ' '; k++)
		text[k] = value[k];
	text[k] = '\0';
	if (b_parse_u64(text, SHIP_WAIT_MAX_MS / 1000, &seconds) == 0)
		h->wait_ms = seconds * 1000;
}

bool ship_hear_head(struct ship_heard *h, const char *p, size_t n)
{
	const char *value;

	if (n > SHIP_ANSWER_MAX - h->head_bytes)
		return false;
	h->head_bytes += n;
	if (is_header(p, n, "X-ClickHouse-Exception-Code:", &value))
		h->has_exception = true;
	else if (is_header(p, n, "Retry-After:", &value))
		hear_wait(h, value, n - (size_t)(value - p));
	return true;
}

bool ship_hear_body(struct ship_heard *h, const char *p, size_t n)
{
	if (n > SHIP_ANSWER_MAX - h->body.len)
		return false;
	b_str_addn(&h->body, p, n);
	return true;
}

/* ---- judging ---- */

void ship_answer_say(struct ship_answer *out, const char *text, size_t n)
{
	b_auto(b_str_release) struct b_str clean = {0};
	size_t room = sizeof out->text - 1;

	b_str_add_visible(&clean, text, n < SHOWN ? n : SHOWN);
	n = clean.len < room ? clean.len : room;
	memcpy(out->text, b_str_c(&clean), n);
	out->text[n] = '\0';
}

/* A server that has begun to answer 200 can only say so in the text. */
static bool tells_exception(const struct ship_heard *h)
{
	return h->has_exception ||
	       (h->body.len && memmem(h->body.s, h->body.len, "DB::Exception", 13) != NULL);
}

void ship_judge(const struct ship_heard *h, long status, struct ship_answer *out)
{
	b_auto(b_str_release) struct b_str text = {0};
	bool is_good = status >= 200 && status <= 204;

	*out = (struct ship_answer){.status = status, .wait_ms = h->wait_ms};
	if (is_good && !tells_exception(h)) {
		out->outcome = SHIP_ACKNOWLEDGED;
		return;
	}
	out->outcome = is_good || status >= 500 || status == 408 || status == 425 || status == 429
			       ? SHIP_LATER
			       : SHIP_REFUSED;
	b_str_addf(&text, "HTTP status %ld", status);
	if (h->body.len) {
		b_str_add(&text, ": ");
		b_str_addn(&text, h->body.s, strcspn(b_str_c(&h->body), "\r\n"));
	}
	ship_answer_say(out, text.s, text.len);
}
