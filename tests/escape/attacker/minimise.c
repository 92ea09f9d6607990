/* SPDX-License-Identifier: Apache-2.0 */
/* minimise.c - a program that found something, cut down to what it takes. */
#include "attack.h"

#include <stdlib.h>
#include <string.h>

static bool has(const struct ak_outcome *o, enum ak_find kind)
{
	for (unsigned i = 0; i < o->nfound; i++)
		if (o->found[i].kind == kind)
			return true;
	return false;
}

struct wanted {
	enum ak_find kind;
	unsigned found;
};

static void count_record(void *ctx, const struct ak_prog *p, const struct ak_outcome *o)
{
	struct wanted *w = ctx;

	(void)p;
	w->found += has(o, w->kind);
}

unsigned ak_reproduces(const struct ak_options *o, const struct ak_prog *p, enum ak_find kind,
		       unsigned tries, unsigned enough)
{
	struct ak_session *s = ak_session_start(o);
	struct ak_outcome *out = calloc(1, sizeof *out);
	struct wanted w = {.kind = kind};
	unsigned found = 0, lines;

	while (tries-- > 0 && found < enough && w.found < enough) {
		int rc = ak_session_run(s, p, out, &lines);

		found += has(out, kind) || (rc < 0 && kind == AK_F_DIED);
		if (rc < 0) {
			ak_session_end(s, count_record, &w);
			s = ak_session_start(o);
		}
	}
	ak_session_end(s, count_record, &w);
	free(out);
	return found + w.found;
}

static bool still(const struct ak_options *o, const struct ak_prog *p, enum ak_find kind,
		  unsigned tries)
{
	return p->n > 0 && ak_reproduces(o, p, kind, tries, 1) > 0;
}

void ak_minimise(const struct ak_options *o, struct ak_prog *p, enum ak_find kind)
{
	unsigned tries = p->flags & AK_RACE ? 40 : 3;
	bool is_less = true;

	for (unsigned bit = 1; bit <= AK_FREEZE; bit <<= 1) {
		struct ak_prog less = *p;

		less.flags &= ~bit;
		if (less.flags != p->flags && still(o, &less, kind, tries))
			*p = less;
	}
	while (is_less) {
		is_less = false;
		for (unsigned i = p->n; i-- > 0 && p->n > 1;) {
			struct ak_prog less = *p;

			memmove(&less.op[i], &less.op[i + 1], (less.n - i - 1) * sizeof less.op[0]);
			less.n--;
			if (still(o, &less, kind, tries)) {
				*p = less;
				is_less = true;
			}
		}
	}
}
