/* SPDX-License-Identifier: Apache-2.0 */
/* denial_notice.c - chooses the refusals that the terminal shows; see collect_priv.h. */
#include "audit/collect_priv.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/event.h"

enum { WINDOW_MS = 1000, PER_WINDOW = 10 };

/* Programs try again by other calls; one line will do. A forgotten or colliding hash costs a line
 * more or less, never one of the log. */
static bool told_before(struct aud_person *p, const struct aud_denial *d)
{
	size_t i, n;
	const char *text = aud_denial_topic(d, &n);
	uint64_t h =
		UINT64_C(0xcbf29ce484222325) + (uint64_t)d->op + (d->is_watched ? SBX_OP_COUNT : 0);

	for (i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	if (p->seen[h % AUD_PERSON_SEEN] == h)
		return true;
	p->seen[h % AUD_PERSON_SEEN] = h;
	return false;
}

/* Each shell reads its history when it starts and writes it when it ends: no news. */
static bool is_history(const struct aud_denial *d)
{
	static const char end[] = "_history";
	size_t n = sizeof end - 1;

	if (!b_has_prefix(d->origin, "preset:secrets:"))
		return false;
	if (strcmp(d->matched, "${HISTFILE}") == 0)
		return true;
	return d->path_len > n && memcmp(d->path + d->path_len - n, end, n) == 0;
}

void aud_person_denial(struct aud_person *p, const struct aud_denial *d, uint64_t now_ms)
{
	b_auto(b_str_release) struct b_str line = {0};

	if (!p->fn || is_history(d) || told_before(p, d))
		return;
	if (now_ms - p->window_start_ms >= WINDOW_MS) {
		p->window_start_ms = now_ms;
		p->in_window = 0;
	}
	if (p->in_window >= PER_WINDOW) {
		p->suppressed++;
		return;
	}
	p->in_window++;
	aud_denial_line(d, &line);
	p->fn(p->ctx, line.s);
}

void aud_person_say(struct aud_person *p, const char *text)
{
	if (p->fn)
		p->fn(p->ctx, text);
}

void aud_person_close(struct aud_person *p, uint64_t refused)
{
	b_auto(b_str_release) struct b_str line = {0};

	if (!p->suppressed)
		return;
	b_str_addf(&line, "%llu refused: sbx-audit denials", (unsigned long long)refused);
	aud_person_say(p, line.s);
	p->suppressed = 0;
}
