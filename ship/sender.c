/* SPDX-License-Identifier: Apache-2.0 */
/* sender.c - see sender.h. */
#include "ship/sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "ship/batch.h"
#include "ship/config.h"
#include "ship/post.h"
#include "ship/state.h"
#include "ship/status.h"

enum { PAUSE_MIN_MS = 200, PAUSE_MAX_MS = 60000, SLICE_MS = 100 };

struct ship_sender {
	const struct ship_config *config;
	struct ship_status *status;
	const atomic_int *stop;
	struct ship_post *post;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct ship_batch *waiting; /* the next one; below the lock */
	bool is_sending, is_closing, has_failed;
	struct b_err err; /* has_failed */
	uint64_t rows;
};

/* ---- the thread ---- */

static bool sleep_ms(const struct ship_sender *s, uint64_t ms)
{
	uint64_t end = b_deadline_ms(ms);

	while (!atomic_load(s->stop) && b_now_ms() < end)
		usleep(SLICE_MS * 1000);
	return !atomic_load(s->stop);
}

/* A random part, so that the hosts of a fleet do not come back at once. */
static uint64_t pause_of(unsigned tries, const struct ship_answer *a)
{
	uint64_t ms = PAUSE_MIN_MS;

	for (unsigned i = 0; i < tries && ms < PAUSE_MAX_MS; i++)
		ms *= 2;
	if (ms > PAUSE_MAX_MS)
		ms = PAUSE_MAX_MS;
	if (a->wait_ms > ms)
		ms = a->wait_ms;
	return ms / 2 + b_now_real_ns() / 1000 % (ms / 2 + 1);
}

static int give_up(const struct ship_sender *s, const struct ship_answer *a, struct b_err *err)
{
	return b_fail(err, a->outcome == SHIP_LATER ? B_NOTFOUND : B_AUDIT, 0, "%s: %s",
		      s->config->to, a->text);
}

/* Said once for each kind of trouble, not at each try. */
static void tell(const struct ship_sender *s, const struct ship_answer *a, char *last, size_t room)
{
	struct b_err err;

	ship_status_error(s->status, a->text);
	if (strcmp(last, a->text) == 0 || !s->config->is_following)
		return;
	give_up(s, a, &err);
	b_wrap(&err, "tried again");
	b_report("sbx-ship", &err);
	memcpy(last, a->text, strlen(a->text) < room ? strlen(a->text) + 1 : 1);
}

static int deliver(struct ship_sender *s, const struct ship_batch *b, struct b_err *err)
{
	uint64_t end = b_deadline_ms(s->config->retry_ms);
	struct ship_answer a;
	char last[sizeof a.text] = "";

	for (unsigned tries = 0;; tries++) {
		uint64_t ms;

		ship_post_send(s->post, b, &a);
		if (a.outcome == SHIP_ACKNOWLEDGED)
			return 0;
		tell(s, &a, last, sizeof last);
		ms = pause_of(tries, &a);
		if (!s->config->is_following &&
		    (a.outcome == SHIP_REFUSED || b_now_ms() + ms > end))
			return give_up(s, &a, err);
		if (!sleep_ms(s, ms))
			return give_up(s, &a, err);
	}
}

static int save(const struct ship_sender *s, const struct ship_share *share, bool is_plan,
		struct b_err *err)
{
	const struct ship_state *state = is_plan ? &share->part.before : &share->part.after;

	/* a record that was removed meanwhile needs no state */
	if (access(share->dir, F_OK) < 0 && errno == ENOENT)
		return 0;
	return ship_state_save(share->dir, s->config->name, state, is_plan, err);
}

static int send_one(struct ship_sender *s, const struct ship_batch *b, struct b_err *err)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->shares[i].part.is_planned && save(s, &b->shares[i], true, err) < 0)
			return -1;
	if (deliver(s, b, err) < 0)
		return -1;
	for (size_t i = 0; i < b->n; i++)
		if (save(s, &b->shares[i], false, err) < 0)
			return -1;
	ship_status_sent(s->status);
	return 0;
}

static void *serve(void *arg)
{
	struct ship_sender *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->is_closing || s->waiting) {
		struct ship_batch *b = s->waiting;
		struct b_err err;
		int rc;

		if (!b) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		s->waiting = NULL;
		s->is_sending = true;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		rc = s->has_failed ? 0 : send_one(s, b, &err);
		pthread_mutex_lock(&s->lock);
		if (rc < 0) {
			s->has_failed = true;
			s->err = err;
		} else if (!s->has_failed && b->table == SHIP_EVENTS) {
			s->rows += b->rows;
		}
		ship_batch_free(b);
		s->is_sending = false;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- for the one that makes batches ---- */

struct ship_sender *ship_sender_new(const struct ship_config *c, struct ship_status *status,
				    const atomic_int *stop, struct b_err *err)
{
	struct ship_sender *s = b_calloc(1, sizeof *s);
	int rc;

	s->config = c;
	s->status = status;
	s->stop = stop;
	s->post = ship_post_new(c, stop, err);
	if (!s->post) {
		free(s);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	rc = pthread_create(&s->thread, NULL, serve, s);
	if (rc) {
		b_fail(err, B_SYSTEM, rc, "no thread can be started: %s", strerror(rc));
		ship_post_free(s->post);
		free(s);
		return NULL;
	}
	return s;
}

static int failed(const struct ship_sender *s, struct b_err *err)
{
	if (!s->has_failed)
		return 0;
	*err = s->err;
	return -1;
}

int ship_sender_put(struct ship_sender *s, struct ship_batch *b, struct b_err *err)
{
	int rc;

	if (b && ship_batch_end(b, err) < 0) {
		ship_batch_free(b);
		return -1;
	}
	pthread_mutex_lock(&s->lock);
	while (b && s->waiting && !s->has_failed)
		pthread_cond_wait(&s->changed, &s->lock);
	rc = failed(s, err);
	if (rc < 0)
		ship_batch_free(b);
	else if (b)
		s->waiting = b;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int ship_sender_drain(struct ship_sender *s, struct b_err *err)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	while ((s->waiting || s->is_sending) && !s->has_failed)
		pthread_cond_wait(&s->changed, &s->lock);
	rc = failed(s, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void ship_sender_free(struct ship_sender *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_closing = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	ship_post_free(s->post);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
}

uint64_t ship_sender_rows(struct ship_sender *s)
{
	uint64_t rows;

	pthread_mutex_lock(&s->lock);
	rows = s->rows;
	pthread_mutex_unlock(&s->lock);
	return rows;
}
