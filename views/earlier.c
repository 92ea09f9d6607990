/* SPDX-License-Identifier: Apache-2.0 */
/* earlier.c - see earlier.h. */
#include "views/earlier.h"

#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/views.h"

enum { RUNS_MAX = 20, PAST_MAX = 100000 };
/* Of logs, compressed or not: a tenth of a second. */
#define BYTES_MAX (INT64_C(32) << 20)

struct view_past {
	UT_hash_handle hh;
	char *key;
	unsigned count, last; /* last: the run that it was counted for */
};

static void make_key(const struct aud_entry *e, struct b_str *key)
{
	const char *const paths[] = {e->path, e->path2};

	b_str_add(key, e->op);
	b_str_addc(key, ' ');
	b_str_add(key, e->reason);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		b_str_addc(key, ' ');
		view_steady_path(paths[i], key);
	}
}

static void note(struct view_earlier *p, const struct aud_entry *e)
{
	b_auto(b_str_release) struct b_str key = {0};
	struct view_past *past;

	make_key(e, &key);
	HASH_FIND(hh, p->table, key.s, key.len, past);
	if (!past && HASH_COUNT(p->table) < PAST_MAX) {
		past = b_calloc(1, sizeof *past);
		past->key = b_str_take(&key);
		HASH_ADD_KEYPTR(hh, p->table, past->key, strlen(past->key), past);
	}
	if (past && past->last != p->runs)
		past->count++;
	if (past)
		past->last = p->runs;
}

static bool is_same_place(const struct aud_run *a, const struct aud_run *b)
{
	return a->nworkspaces && b->nworkspaces && strcmp(a->workspaces[0], b->workspaces[0]) == 0;
}

/* A line that has no such word in it is no denial: most are passed over unread. */
static int read_denials(const struct aud_run *run, struct view_earlier *p, struct b_err *err)
{
	static const char denied[] = "\"denied\"";
	b_auto(aud_lines_release) struct aud_lines l = {.fd = -1};
	b_auto(aud_entry_release) struct aud_entry e = {0};
	struct aud_line line;
	const char *why;
	int got;

	if (aud_lines_open(&l, run->log, err) < 0)
		return -1;
	while ((got = aud_lines_next(&l, &line, err)) > 0) {
		if (!memmem(line.s, line.len, denied, sizeof denied - 1))
			continue;
		if (aud_entry_parse(&line, &e, &why) == 0 && aud_entry_is_denied(&e) &&
		    (!run->is_shared || strcmp(e.run_id, run->id) == 0))
			note(p, &e);
	}
	return got;
}

/* Whether there was one to look at. */
static bool look_at(const struct view *v, const char *id, int64_t *left, struct view_earlier *p)
{
	b_auto(aud_run_release) struct aud_run run = {0};
	struct b_err ignored;
	struct stat st;

	if (aud_run_load(v->root, id, &run, &ignored) < 0 || !is_same_place(v->run, &run) ||
	    stat(run.log, &st) < 0)
		return false;
	*left -= st.st_size;
	if (*left < 0)
		return true;
	p->runs++;
	/* one that cannot be read had no denial that anybody knows of */
	if (aud_run_int(&run, "counts.denied", 1))
		(void)read_denials(&run, p, &ignored);
	return true;
}

int view_earlier_read(struct view *v, struct view_earlier *p, struct b_err *err)
{
	int64_t left = BYTES_MAX;
	unsigned seen = 0;
	char **names;
	size_t n;

	if (aud_runs_list(v->root, &names, &n, err) < 0)
		return -1;
	for (size_t i = n; i-- && seen < RUNS_MAX && left > 0;)
		if (strcmp(names[i], v->run->id) < 0)
			seen += look_at(v, names[i], &left, p);
	aud_runs_free(names, n);
	return 0;
}

unsigned view_earlier_count(const struct view_earlier *p, const struct aud_entry *e)
{
	b_auto(b_str_release) struct b_str key = {0};
	struct view_past *past;

	if (!p->table)
		return 0;
	make_key(e, &key);
	HASH_FIND(hh, p->table, key.s, key.len, past);
	return past ? past->count : 0;
}

void view_earlier_release(struct view_earlier *p)
{
	struct view_past *past = p->table, *next;

	HASH_CLEAR(hh, p->table);
	for (; past; past = next) {
		next = past->hh.next;
		free(past->key);
		free(past);
	}
}
