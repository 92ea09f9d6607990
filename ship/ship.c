/* SPDX-License-Identifier: Apache-2.0 */
/* ship.c - see ship.h. */
#include "ship/ship.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "ship/batch.h"
#include "ship/config.h"
#include "ship/row.h"
#include "ship/sender.h"
#include "ship/spool.h"
#include "ship/state.h"
#include "ship/status.h"

enum { SLICE_MS = 100 };

struct job {
	const struct ship_config *config;
	const char *root;
	const atomic_int *stop;
	struct ship_sender *sender;
	struct ship_status status;
	struct ship_spool *spools; /* of runs that are not done */
	struct ship_batch *batch[SHIP_TABLE_COUNT];
	struct b_str bad; /* ids of runs that were reported, a line each */
	uint64_t trouble;
	uint64_t removed; /* in this look */
};

/* ---- batches ---- */

static struct ship_batch *batch_of(struct job *j, enum ship_table table)
{
	if (!j->batch[table])
		j->batch[table] = ship_batch_new(table, (enum ship_coding)j->config->coding);
	return j->batch[table];
}

/* Events before the rows of their runs: a run's last row says that all its events are there. */
static int flush(struct job *j, struct b_err *err)
{
	for (unsigned t = 0; t < SHIP_TABLE_COUNT; t++) {
		struct ship_batch *b = j->batch[t];

		j->batch[t] = NULL;
		if (b && ship_sender_put(j->sender, b, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_full(const struct ship_batch *b)
{
	return b->rows >= SHIP_BATCH_ROWS || b->body.len >= SHIP_BATCH_BYTES;
}

static int put_rows(void *arg, struct b_str *rows, struct b_err *err)
{
	return ship_batch_put(batch_of(arg, SHIP_EVENTS), rows, err);
}

/* The state that follows an acknowledgement goes with it. */
static int put_run_row(struct job *j, const struct ship_spool *s, enum ship_run_state state,
		       struct b_err *err)
{
	b_auto(aud_run_release) struct aud_run run = {0};
	b_auto(b_str_release) struct b_str row = {0};
	struct ship_part part = {.rows = 1, .after = s->state};
	struct ship_batch *b = batch_of(j, SHIP_RUNS);

	if (aud_run_load(j->root, s->id, &run, err) < 0)
		return -1;
	ship_row_run(s->state.host, &run, state, s->state.rows, &row);
	if (ship_batch_put(b, &row, err) < 0)
		return -1;
	ship_batch_add(b, s->dir, &part);
	return 0;
}

/* ---- runs ---- */

static void complain(struct job *j, const char *id, struct b_err *err)
{
	b_auto(b_str_release) struct b_str line = {0};

	j->trouble++;
	b_str_addf(&line, "\n%s\n", id);
	if (strstr(b_str_c(&j->bad), line.s))
		return;
	b_str_add(&j->bad, line.s);
	b_wrap(err, "run %s is not sent", id);
	b_report("sbx-ship", err);
}

static void name_default_host(struct ship_spool *s)
{
	if (!*s->state.host &&
	    (gethostname(s->state.host, sizeof s->state.host - 1) < 0 || !*s->state.host))
		memcpy(s->state.host, "unknown", sizeof "unknown");
}

/* -1: the run's trouble, or, where the sender has failed, that of all. */
static int send_run(struct job *j, struct ship_spool *s, struct b_err *err)
{
	struct ship_part part;
	int got;

	ship_spool_look(s, j->root);
	while ((got = ship_spool_next(s, put_rows, j, &part, err)) > 0) {
		ship_batch_add(batch_of(j, SHIP_EVENTS), s->dir, &part);
		if (is_full(j->batch[SHIP_EVENTS]) && flush(j, err) < 0)
			return -1;
		if (atomic_load(j->stop))
			return 0;
	}
	if (got < 0)
		return -1;
	/* its first line names the host, which is a part of the key of every row */
	if (s->is_open_end && (s->state.has_run_row || !s->state.rows))
		return 0;
	name_default_host(s);
	s->state.has_run_row = true;
	s->state.is_done = !s->is_open_end;
	return put_run_row(j, s, s->state.is_done ? SHIP_RUN_ENDED : SHIP_RUN_GOES_ON, err);
}

static struct ship_spool *find(struct job *j, const char *id, struct b_err *err)
{
	struct ship_spool *s = j->spools;

	while (s && strcmp(s->id, id) != 0)
		s = s->next;
	if (s)
		return s;
	s = ship_spool_new(j->root, id, j->config->name, j->config->host, err);
	if (s) {
		s->next = j->spools;
		j->spools = s;
	}
	return s;
}

static void drop(struct job *j, struct ship_spool *s)
{
	struct ship_spool **at = &j->spools;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	ship_spool_free(s);
}

static bool sender_failed(struct job *j)
{
	struct b_err err;

	return ship_sender_put(j->sender, NULL, &err) < 0;
}

/* Runs that are gone, or in trouble, are let go. */
static void let_go(struct job *j, bool all)
{
	struct ship_spool *s = j->spools, *next;

	for (; s; s = next) {
		next = s->next;
		if (all || !s->was_seen)
			drop(j, s);
		else
			s->was_seen = false;
	}
}

static int look_at(struct job *j, const char *id, struct b_err *err)
{
	struct ship_spool *s = find(j, id, err);

	if (!s) {
		complain(j, id, err);
		return 0;
	}
	s->was_seen = true;
	if (s->state.is_done || send_run(j, s, err) == 0) {
		if (s->state.is_done)
			drop(j, s); /* what waits for it is in a batch */
		return 0;
	}
	if (sender_failed(j))
		return -1;
	s->was_seen = false;
	complain(j, id, err);
	return 0;
}

/* ---- records that were removed before they were sent ---- */

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int note_removed(struct job *j, char **names, size_t n, struct b_err *err)
{
	b_auto(b_str_release) struct b_str row = {0};

	j->removed = 0;
	for (size_t i = 0; i < j->status.n; i++) {
		const struct ship_pending *p = &j->status.pending[i];
		const char *id = p->id;
		const struct ship_part part = {.rows = 1};

		if (n && bsearch(&id, names, n, sizeof *names, compare))
			continue;
		j->removed++;
		ship_row_removed(*p->host ? p->host : "unknown", id, p->lines, &row);
		if (ship_batch_put(batch_of(j, SHIP_RUNS), &row, err) < 0)
			return -1;
		ship_batch_add(j->batch[SHIP_RUNS], "/nonexistent", &part);
	}
	return 0;
}

static int add_pending(const struct job *j, const char *id, struct ship_pending *out)
{
	b_auto(b_str_release) struct b_str dir = {0};
	struct ship_state state;
	struct b_err err;

	b_str_addf(&dir, "%s/%s", j->root, id);
	if (ship_state_load(dir.s, j->config->name, &state, &err) < 0 || state.is_done)
		return 0;
	*out = (struct ship_pending){.lines = state.rows};
	memcpy(out->id, id, strlen(id) + 1);
	memcpy(out->host, state.host, sizeof out->host);
	return 1;
}

/* What is not all there, for the next look, which may be another process's. */
static void note_pending(struct job *j, char **names, size_t n)
{
	struct ship_pending *v = b_calloc(n + 1, sizeof *v);
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += (size_t)add_pending(j, names[i], &v[k]);
	ship_status_pend(&j->status, v, k, j->removed);
	j->removed = 0;
	free(v);
}

/* ---- looks ---- */

static int look(struct job *j, struct b_err *err)
{
	char **names;
	size_t n;
	int rc;

	if (aud_runs_list(j->root, &names, &n, err) < 0)
		return -1;
	rc = note_removed(j, names, n, err);
	for (size_t i = 0; i < n && rc == 0 && !atomic_load(j->stop); i++)
		rc = look_at(j, names[i], err);
	if (rc == 0)
		rc = flush(j, err);
	if (rc == 0)
		rc = ship_sender_drain(j->sender, err);
	note_pending(j, names, n);
	aud_runs_free(names, n);
	return rc;
}

static void wait_ms(const struct job *j, uint64_t ms)
{
	uint64_t end = b_deadline_ms(ms);

	while (!atomic_load(j->stop) && b_now_ms() < end)
		usleep(SLICE_MS * 1000);
}

static int lock(const char *root, const char *name, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};
	int fd;

	if (b_mkdirs(root, err) < 0)
		return -1;
	b_str_addf(&path, "%s/.ship-%s.lock", root, name);
	fd = open(path.s, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return b_fail(err, B_AUDIT, errno, "%s: %s", path.s, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		b_fail(err, B_AUDIT, errno, "%s: another process already sends to `%s`", path.s,
		       name);
		close(fd);
		return -1;
	}
	return fd;
}

static int work(struct job *j, struct b_err *err)
{
	int rc = 0;

	while (rc == 0 && !atomic_load(j->stop)) {
		j->trouble = 0;
		rc = look(j, err);
		let_go(j, false);
		if (!j->config->is_following)
			break;
		if (rc == 0)
			wait_ms(j, j->config->interval_ms);
	}
	return rc;
}

int ship_all(const struct ship_config *c, const char *root, const atomic_int *stop,
	     struct ship_result *out, struct b_err *err)
{
	struct job j = {.config = c, .root = root, .stop = stop};
	b_auto_fd int fd = lock(root, c->name, err);
	int rc;

	if (fd < 0)
		return -1;
	ship_status_init(&j.status, root, c->name, c->to);
	j.sender = ship_sender_new(c, &j.status, stop, err);
	rc = j.sender ? work(&j, err) : -1;
	if (atomic_load(stop))
		rc = c->is_following ? 0
				     : b_fail(err, B_NOTFOUND, 0,
					      "interrupted: events that were not acknowledged are "
					      "sent the next time");
	if (j.sender)
		*out = (struct ship_result){.rows = ship_sender_rows(j.sender),
					    .trouble = j.trouble};
	let_go(&j, true);
	for (unsigned t = 0; t < SHIP_TABLE_COUNT; t++)
		ship_batch_free(j.batch[t]);
	ship_sender_free(j.sender);
	ship_status_release(&j.status);
	b_str_release(&j.bad);
	return rc;
}
