/* SPDX-License-Identifier: Apache-2.0 */
/* views.c - what all views share; see views.h. */
#include "views/views.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/str.h"

enum { FLUSH = 1 << 16 };

int view_flush(struct view *v, struct b_err *err)
{
	return v->out->len < FLUSH ? 0 : v->write(v->out, err);
}

int view_next(struct view *v, struct aud_reader *r, struct b_err *err)
{
	int got;

	while ((got = aud_reader_next(r, err)) == AUD_READ_BAD)
		if (!v->bad++) {
			v->first_bad = r->l.number;
			v->why = r->why;
		}
	return got;
}

void view_absolute(const struct aud_run *run, const char *path, struct b_str *out)
{
	const char *ws = run->nworkspaces ? run->workspaces[0] : "";

	if (*path != '.' || (path[1] && path[1] != '/')) {
		b_str_add(out, path);
		return;
	}
	if (strcmp(ws, "/") != 0 || !path[1])
		b_str_add(out, ws);
	b_str_add(out, path + 1);
}

bool view_is_done(const struct aud_entry *e)
{
	return strcmp(e->kind, "result") == 0 && strcmp(e->op, "modify") == 0 && !e->err &&
	       !e->is_claim;
}

void view_add_inside(const struct view *v)
{
	int64_t n = aud_run_int(v->run, "runs_inside", 0);

	if (n > 0 && !v->json)
		b_str_addf(v->out,
			   "%" PRId64 " runs inside this one have records of their own: "
			   "sbx-audit runs lists them\n",
			   n);
}

void view_text(struct b_str *out, const char *s)
{
	b_str_add_visible(out, s, strlen(s));
}

void view_steady_path(const char *path, struct b_str *out)
{
	static const char scratch[] = "/tmp/sbx-launch-";

	if (b_has_prefix(path, scratch)) {
		path += sizeof scratch - 1;
		path += strcspn(path, "/");
		b_str_add(out, "TMPDIR");
	}
	b_str_add(out, path);
}

int64_t view_time(const char *ts)
{
	struct tm tm = {0};
	const char *rest = strptime(ts, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t ns = 0, unit = 100000000;

	if (!rest)
		return 0;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9' && unit; rest++, unit /= 10)
			ns += (*rest - '0') * unit;
	return (int64_t)timegm(&tm) * 1000000000 + ns;
}
