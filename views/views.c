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

/* Two digits within bounds; -1. */
static int two_digits(const char *s, int min, int max)
{
	int n;

	if (s[0] < '0' || s[0] > '9' || s[1] < '0' || s[1] > '9')
		return -1;
	n = (s[0] - '0') * 10 + s[1] - '0';
	return n < min || n > max ? -1 : n;
}

/* Days from 1970-01-01; years begin in March, so that a leap day is the last of one. */
static int64_t days_of(int64_t year, int month, int day)
{
	int64_t era, in_era;

	year -= month <= 2;
	month += month <= 2 ? 9 : -3;
	era = year / 400;
	in_era = year % 400;
	return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + (153 * month + 2) / 5 +
	       day - 1 - 719468;
}

/* A run of a million changes has as many times: this is no strptime(3). */
int64_t view_time(const char *ts)
{
	static const char form[] = "....-..-..T..:..:..";
	int64_t ns = 0, unit = 100000000, days;
	int part[6]; /* century, year in it, month, day, hour, minute */
	int second;
	size_t i;

	for (i = 0; form[i]; i++)
		if (!ts[i] || (form[i] != '.' && ts[i] != form[i]))
			return 0;
	part[0] = two_digits(ts, 17, 21); /* as far as nanoseconds go */
	part[1] = two_digits(ts + 2, 0, 99);
	part[2] = two_digits(ts + 5, 1, 12);
	part[3] = two_digits(ts + 8, 1, 31);
	part[4] = two_digits(ts + 11, 0, 23);
	part[5] = two_digits(ts + 14, 0, 59);
	second = two_digits(ts + 17, 0, 60);
	for (i = 0; i < sizeof part / sizeof *part; i++)
		if (part[i] < 0)
			return 0;
	if (second < 0)
		return 0;
	for (ts += 19 + (ts[19] == '.'); *ts >= '0' && *ts <= '9' && unit; ts++, unit /= 10)
		ns += (*ts - '0') * unit;
	days = days_of(part[0] * 100 + part[1], part[2], part[3]);
	return (days * 86400 + part[4] * 3600 + part[5] * 60 + second) * 1000000000 + ns;
}
