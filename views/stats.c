/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c - a run in numbers; see views.h. */
#include <inttypes.h>
#include <string.h>
#include <uthash.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/inside.h"
#include "views/views.h"

enum { NAMES_MAX = 50000, NAMES_SHOWN = 10 };

struct name {
	UT_hash_handle hh;
	char *text;
	uint64_t n;
};

/* One way to divide the events. */
enum by { BY_KIND, BY_OP, BY_CALL, BY_EXE, BY_RULE, BY_COUNT };
static const char *const titles[BY_COUNT] = {"kind", "op", "call", "exe", "rule"};

struct numbers {
	struct name *by[BY_COUNT];
	uint64_t lines, events, denied, changed, bytes;
};

static void count(struct name **table, const char *text, uint64_t n)
{
	struct name *one;

	if (!*text)
		return;
	HASH_FIND_STR(*table, text, one);
	if (!one && HASH_COUNT(*table) >= NAMES_MAX)
		return;
	if (!one) {
		one = b_calloc(1, sizeof *one);
		one->text = b_strdup(text);
		HASH_ADD_KEYPTR(hh, *table, one->text, strlen(one->text), one);
	}
	one->n += n;
}

static void release(struct numbers *s)
{
	size_t i;

	for (i = 0; i < BY_COUNT; i++) {
		struct name *one = s->by[i], *next;

		HASH_CLEAR(hh, s->by[i]);
		for (; one; one = next) {
			next = one->hh.next;
			free(one->text);
			free(one);
		}
	}
}

static int by_count(const struct name *a, const struct name *b)
{
	int order = (a->n < b->n) - (a->n > b->n);

	return order ? order : strcmp(a->text, b->text);
}

static void add(struct numbers *s, const struct aud_reader *r)
{
	const struct aud_entry *e = &r->e;
	uint64_t n = (uint64_t)e->count;

	s->lines++;
	s->bytes += r->line.len + 1;
	s->events += e->has_verdict ? n : 0;
	s->denied += aud_entry_is_denied(e) ? n : 0;
	s->changed += view_is_done(e);
	count(&s->by[BY_KIND], e->kind, n);
	count(&s->by[BY_OP], e->op, n);
	count(&s->by[BY_CALL], e->call, n);
	count(&s->by[BY_EXE], e->exe, n);
	count(&s->by[BY_RULE], e->rule, n);
}

static void add_json(struct numbers *s, const struct aud_run *run, struct b_str *out)
{
	struct b_json j = {.out = out};
	struct name *one, *next;
	size_t i;

	b_json_open(&j, '{');
#define NUMBER(name)                                                                               \
	b_json_key(&j, #name);                                                                     \
	b_json_u64(&j, s->name)
	NUMBER(lines);
	NUMBER(bytes);
	NUMBER(events);
	NUMBER(denied);
	NUMBER(changed);
#undef NUMBER
	b_json_key(&j, "runs_inside");
	b_json_i64(&j, aud_run_int(run, "runs_inside", 0));
	b_json_key(&j, "claimed");
	b_json_open(&j, '[');
	b_json_str(&j, titles[BY_EXE]);
	b_json_close(&j, ']');
	for (i = 0; i < BY_COUNT; i++) {
		b_json_key(&j, titles[i]);
		b_json_open(&j, '{');
		HASH_ITER(hh, s->by[i], one, next)
		{
			b_json_key(&j, one->text);
			b_json_u64(&j, one->n);
		}
		b_json_close(&j, '}');
	}
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

static void add_text(struct numbers *s, struct b_str *out)
{
	struct name *one, *next;
	size_t i;

	b_str_addf(out,
		   "%" PRIu64 " lines of %" PRIu64 " bytes, %" PRIu64 " events, %" PRIu64
		   " changes, %" PRIu64 " denied\n",
		   s->lines, s->lines ? s->bytes / s->lines : 0, s->events, s->changed, s->denied);
	for (i = 0; i < BY_COUNT; i++) {
		unsigned shown = 0;

		b_str_addf(out, "%s%s\n", titles[i],
			   i == BY_EXE ? ", as programs call themselves" : "");
		HASH_ITER(hh, s->by[i], one, next)
		{
			if (shown++ == NAMES_SHOWN)
				break;
			b_str_addf(out, "%10" PRIu64 "  ", one->n);
			view_text(out, one->text);
			b_str_addc(out, '\n');
		}
	}
}

int view_stats(struct view *v, struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	b_auto(release) struct numbers s = {0};
	size_t i;
	int got;

	if (aud_reader_open(&r, v->run, err) < 0)
		return -1;
	while ((got = view_next(v, &r, err)) > 0)
		add(&s, &r);
	if (got < 0)
		return -1;
	for (i = 0; i < BY_COUNT; i++)
		HASH_SORT(s.by[i], by_count);
	if (v->json)
		add_json(&s, v->run, v->out);
	else
		add_text(&s, v->out);
	if (!v->json)
		view_add_inside(v);
	return s.lines > 0;
}
