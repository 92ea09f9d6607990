/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - see status.h. */
#include "ship/status.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/pack.h"
#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

enum { VERSION = 1, FILE_MAX = 16 << 20, PENDING_MAX = 20000 };

/* ---- the file ---- */

static void copy(char *to, size_t room, const char *from)
{
	size_t n = from ? strnlen(from, room - 1) : 0;

	/* at the end of a character, or the next one that reads it reads another text */
	while (n && ((unsigned char)from[n] & 0xc0) == 0x80)
		n--;
	if (n)
		memcpy(to, from, n);
	to[n] = '\0';
}

static uint64_t get_u64(const json_t *o, const char *key)
{
	int64_t v = aud_json_int(json_object_get(o, key), 0);

	return v < 0 ? 0 : (uint64_t)v;
}

static void read_pending(struct ship_status *s, const json_t *list)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		struct ship_pending p = {.lines = get_u64(one, "lines")};

		copy(p.id, sizeof p.id, json_string_value(json_object_get(one, "run_id")));
		copy(p.host, sizeof p.host, json_string_value(json_object_get(one, "host")));
		if (!aud_run_id_valid(p.id) || s->n >= PENDING_MAX)
			continue;
		b_grow(s->pending, s->n, s->cap);
		s->pending[s->n++] = p;
	}
}

void ship_status_read(struct ship_status *s, const char *text, size_t n)
{
	json_error_t why;
	json_t *all = aud_json_load(text, n, &why);

	if (!s->to && json_is_string(json_object_get(all, "to")))
		s->to = b_strdup(json_string_value(json_object_get(all, "to")));
	s->acknowledged_ms = get_u64(all, "acknowledged_ms");
	s->error_ms = get_u64(all, "error_ms");
	copy(s->error, sizeof s->error, json_string_value(json_object_get(all, "error")));
	s->removed = get_u64(all, "removed");
	read_pending(s, json_object_get(all, "pending"));
	json_decref(all);
}

void ship_status_init(struct ship_status *s, const char *root, const char *name, const char *to)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_str path = {0};
	struct b_err err;

	*s = (struct ship_status){.to = to ? b_strdup(to) : NULL};
	pthread_mutex_init(&s->lock, NULL);
	b_str_addf(&path, "%s/.ship-%s.json", root, name);
	s->path = b_str_take(&path);
	if (access(s->path, F_OK) == 0 && b_read_file(s->path, FILE_MAX, &text, &err) == 0)
		ship_status_read(s, b_str_c(&text), text.len);
}

void ship_status_release(struct ship_status *s)
{
	free(s->path);
	free(s->to);
	free(s->pending);
	pthread_mutex_destroy(&s->lock);
}

static void add_u64(struct b_json *j, const char *key, uint64_t v)
{
	b_json_key(j, key);
	b_json_u64(j, v);
}

void ship_status_write(const struct ship_status *s, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	add_u64(&j, "schemaVersion", VERSION);
	b_json_key(&j, "to");
	b_json_str(&j, s->to ? s->to : "");
	add_u64(&j, "acknowledged_ms", s->acknowledged_ms);
	add_u64(&j, "error_ms", s->error_ms);
	b_json_key(&j, "error");
	b_json_str(&j, s->error);
	add_u64(&j, "removed", s->removed);
	b_json_key(&j, "pending");
	b_json_open(&j, '[');
	for (size_t i = 0; i < s->n; i++) {
		b_json_open(&j, '{');
		b_json_key(&j, "run_id");
		b_json_str(&j, s->pending[i].id);
		b_json_key(&j, "host");
		b_json_str(&j, s->pending[i].host);
		add_u64(&j, "lines", s->pending[i].lines);
		b_json_close(&j, '}');
	}
	b_json_close(&j, ']');
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

static void write_file(const struct ship_status *s)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;

	ship_status_write(s, &text);
	(void)!b_write_file(s->path, 0600, text.s, text.len, false, &err);
}

void ship_status_error(struct ship_status *s, const char *text)
{
	pthread_mutex_lock(&s->lock);
	s->error_ms = b_now_real_ns() / 1000000;
	copy(s->error, sizeof s->error, text);
	write_file(s);
	pthread_mutex_unlock(&s->lock);
}

void ship_status_sent(struct ship_status *s)
{
	pthread_mutex_lock(&s->lock);
	s->acknowledged_ms = b_now_real_ns() / 1000000;
	*s->error = '\0';
	write_file(s);
	pthread_mutex_unlock(&s->lock);
}

void ship_status_pend(struct ship_status *s, struct ship_pending *v, size_t n, uint64_t removed)
{
	pthread_mutex_lock(&s->lock);
	s->n = 0;
	for (size_t i = 0; i < n && i < PENDING_MAX; i++) {
		b_grow(s->pending, s->n, s->cap);
		s->pending[s->n++] = v[i];
	}
	s->removed += removed;
	write_file(s);
	pthread_mutex_unlock(&s->lock);
}

/* ---- the question ---- */

struct lag {
	uint64_t runs, complete, waiting, open, damaged, rows, bytes;
	uint64_t since_ms; /* the oldest of what waits was written then; 0 = nothing waits */
};

/* Of a compressed log the size is not known without reading it: that of the file counts. */
static void weigh(const char *root, const char *id, const struct ship_state *s, struct lag *lag)
{
	b_auto(aud_run_release) struct aud_run run = {0};
	struct b_err err;
	struct stat st;
	uint64_t ms, n;
	bool is_open;

	if (aud_run_load(root, id, &run, &err) < 0) {
		lag->damaged++;
		return;
	}
	is_open = run.live || run.alone.is_alone;
	lag->open += is_open;
	if (stat(run.log, &st) < 0)
		st = (struct stat){0};
	n = (uint64_t)st.st_size > s->bytes ? (uint64_t)st.st_size - s->bytes : 0;
	if (is_open && !n && s->has_run_row) {
		lag->complete++;
		return;
	}
	lag->waiting++;
	lag->bytes += n;
	ms = (uint64_t)st.st_mtim.tv_sec * 1000;
	if (ms && (!lag->since_ms || ms < lag->since_ms))
		lag->since_ms = ms;
}

static int measure(const char *root, const char *name, struct lag *lag, struct b_err *err)
{
	char **names;
	size_t n, i;

	if (aud_runs_list(root, &names, &n, err) < 0)
		return -1;
	for (i = 0; i < n; i++) {
		b_auto(b_str_release) struct b_str dir = {0};
		struct ship_state s;
		struct b_err why;

		b_str_addf(&dir, "%s/%s", root, names[i]);
		if (ship_state_load(dir.s, name, &s, &why) < 0) {
			lag->damaged++;
			continue;
		}
		lag->rows += s.rows;
		if (s.is_done)
			lag->complete++;
		else
			weigh(root, names[i], &s, lag);
	}
	lag->runs = n;
	aud_runs_free(names, n);
	return 0;
}

static bool is_locked(const char *root, const char *name)
{
	b_auto(b_str_release) struct b_str path = {0};
	b_auto_fd int fd = -1;

	b_str_addf(&path, "%s/.ship-%s.lock", root, name);
	fd = open(path.s, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static void show_json(const struct ship_status *s, const struct lag *l, const char *name, bool runs,
		      double seconds, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	add_u64(&j, "schemaVersion", VERSION);
	b_json_key(&j, "name");
	b_json_str(&j, name);
	b_json_key(&j, "to");
	b_json_str(&j, s->to ? s->to : "");
	b_json_key(&j, "sending");
	b_json_bool(&j, runs);
	add_u64(&j, "runs", l->runs);
	add_u64(&j, "runs_complete", l->complete);
	add_u64(&j, "runs_waiting", l->waiting);
	add_u64(&j, "runs_going_on", l->open);
	add_u64(&j, "runs_damaged", l->damaged);
	add_u64(&j, "runs_removed_unsent", s->removed);
	add_u64(&j, "events_acknowledged", l->rows);
	add_u64(&j, "bytes_waiting", l->bytes);
	b_str_addf(out, ",\"lag_seconds\":%.3f", seconds);
	add_u64(&j, "last_acknowledged_ms", s->acknowledged_ms);
	add_u64(&j, "last_error_ms", s->error_ms);
	b_json_key(&j, "error");
	b_json_str(&j, s->error);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

static void show_text(const struct ship_status *s, const struct lag *l, const char *name, bool runs,
		      double seconds, struct b_str *out)
{
	b_str_addf(out, "%s: %s, %s\n", name, s->to ? s->to : "nothing was sent yet",
		   runs ? "sending" : "no process is sending");
	b_str_addf(out, "runs     %llu: %llu sent, %llu waiting, %llu not ended, %llu damaged\n",
		   (unsigned long long)l->runs, (unsigned long long)l->complete,
		   (unsigned long long)l->waiting, (unsigned long long)l->open,
		   (unsigned long long)l->damaged);
	b_str_addf(out, "events   %llu acknowledged, %llu bytes waiting, for %.1f s\n",
		   (unsigned long long)l->rows, (unsigned long long)l->bytes, seconds);
	if (s->removed)
		b_str_addf(out, "removed  %llu runs before they were sent\n",
			   (unsigned long long)s->removed);
	if (*s->error) {
		b_str_add(out, "error    ");
		b_str_add_visible(out, s->error, strlen(s->error));
		b_str_addc(out, '\n');
	}
}

int ship_status_show(const char *root, const char *name, bool json, struct b_str *out,
		     bool *out_waits, struct b_err *err)
{
	b_auto(ship_status_release) struct ship_status s;
	uint64_t now = b_now_real_ns() / 1000000;
	struct lag lag = {0};
	double seconds = 0;
	bool runs = is_locked(root, name);

	ship_status_init(&s, root, name, NULL);
	if (measure(root, name, &lag, err) < 0)
		return -1;
	if (lag.since_ms && now > lag.since_ms)
		seconds = (double)(now - lag.since_ms) / 1000;
	if (json)
		show_json(&s, &lag, name, runs, seconds, out);
	else
		show_text(&s, &lag, name, runs, seconds, out);
	*out_waits = lag.waiting || lag.damaged;
	return 0;
}
