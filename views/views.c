/* SPDX-License-Identifier: Apache-2.0 */
/* views.c - what all views share; see views.h. */
#include "views/views.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/part.h"

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

int view_alone(struct view *v, const struct view_part *part, struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	void *gathered;
	int got;

	if (aud_reader_open(&r, v->run, err) < 0)
		return -1;
	gathered = part->open(v, &r, err);
	if (!gathered)
		return -1;
	while ((got = view_next(v, &r, err)) > 0)
		part->add(gathered, &r.e);
	if (got == 0)
		got = part->show(gathered, v, err);
	if (got >= 0)
		part->add_inside(v);
	part->close(gathered);
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
	return *e->op == 'm' && strcmp(e->op, "modify") == 0 && strcmp(e->kind, "result") == 0 &&
	       !e->err && !e->is_claim;
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
