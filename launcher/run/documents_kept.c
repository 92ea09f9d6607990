/* SPDX-License-Identifier: Apache-2.0 */
/* documents_kept.c - see documents_kept.h. */
#include "launcher/run/documents_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/run/dirs.h"
#include "launcher/run/run.h"
#include "policy/document/layers.h"
#include "policy/engine.h"
#include "policy/reload.h"

#define ANSWER	   "reload"
#define ANSWER_NEW ".reload.new"
#define ANSWER_MAX 4096

struct lau_document {
	char *path;
	struct b_str text;
	bool is_absent; /* it was not there, or is no file of its own (a signed policy) */
};

/* ---- the content of the documents ---- */

static int read_one(const char *path, struct b_str *out, bool *out_absent, struct b_err *err)
{
	*out_absent = access(path, F_OK) < 0;
	return *out_absent ? 0 : b_read_file(path, POL_MAX_FILE, out, err);
}

static int keep(struct lau_documents *d, const char *path, struct b_err *err)
{
	struct lau_document one = {.path = b_strdup(path)};

	if (read_one(path, &one.text, &one.is_absent, err) < 0) {
		free(one.path);
		return -1;
	}
	b_grow(d->v, d->n, d->cap);
	d->v[d->n++] = one;
	return 0;
}

static int keep_all(struct lau_documents *d, const struct pol_texts *files, struct b_err *err)
{
	for (size_t i = 0; i < files->n; i++)
		if (keep(d, files->v[i].s, err) < 0)
			return -1;
	return 0;
}

int lau_documents_keep(struct lau_documents *d, const struct lau_options *o, struct lau_dirs *dirs,
		       struct b_err *err)
{
	const struct pol_layers *l = &dirs->layers;

	*d = (struct lau_documents){.o = o, .dirs = dirs};
	if (keep_all(d, &l->main.files, err) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++)
		if (keep_all(d, &l->v[i].doc.files, err) < 0)
			return -1;
	return 0;
}

/* `pass` 0: compares with what was first; 1: with what was read a moment ago. */
static int compare(const struct lau_documents *d, struct b_str *now, int pass, struct b_err *err)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct lau_document *was = &d->v[i];
		b_auto(b_str_release) struct b_str text = {0};
		bool is_absent;

		if (read_one(was->path, &text, &is_absent, err) < 0)
			return -1;
		if (is_absent != was->is_absent ||
		    (pass && (text.len != now[i].len ||
			      memcmp(b_str_c(&text), b_str_c(&now[i]), text.len) != 0)))
			return b_fail(err, B_POLICY, 0, "%s: %s", was->path,
				      is_absent	       ? "no longer exists"
				      : was->is_absent ? "did not exist when the run began"
						       : "changed while it was read: try again");
		if (pass)
			continue;
		if (!is_absent &&
		    pol_reload_compare(was->path, (enum pol_dialect)d->o->policy.dialect,
				       &was->text, &text, err) < 0)
			return -1;
		b_str_addn(&now[i], b_str_c(&text), text.len);
	}
	return 0;
}

static int engine_of(const struct lau_documents *d, struct pol_engine **out, struct b_err *err)
{
	struct lau_request q = {0};

	lau_parts_request(d->o, d->dirs, &q);
	q.rq.layers = NULL; /* they are to be read */
	q.rq.with_endpoints = true;
	q.rq.no_image = true;
	return pol_engine_new(&q.rq, out, err);
}

/* Compared before and after: what the engine has read is what was compared. */
int lau_documents_again(const struct lau_documents *d, struct pol_engine **out, struct b_err *err)
{
	struct b_str *now = b_calloc(d->n + 1, sizeof *now);
	struct pol_engine *engine = NULL;
	int rc = compare(d, now, 0, err);

	if (rc == 0)
		rc = engine_of(d, &engine, err);
	if (rc == 0)
		rc = compare(d, now, 1, err);
	for (size_t i = 0; i < d->n; i++)
		b_str_release(&now[i]);
	free(now);
	if (rc < 0)
		pol_engine_free(engine);
	else
		*out = engine;
	return rc;
}

void lau_documents_release(struct lau_documents *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].path);
		b_str_release(&d->v[i].text);
	}
	free(d->v);
	*d = (struct lau_documents){0};
}

/* ---- what came of it ---- */

uint64_t lau_reload_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* "STARTED KIND MESSAGE" */
void lau_reload_answer(int dirfd, uint64_t started_ns, const struct b_err *err)
{
	b_auto_fd int fd = openat(dirfd, ANSWER_NEW,
				  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	b_auto(b_str_release) struct b_str text = {0};

	b_str_addf(&text, "%" PRIu64 " %d %s", started_ns, (int)err->kind, err->msg);
	if (fd >= 0 && b_write_all(fd, text.s, text.len) == 0)
		(void)renameat(dirfd, ANSWER_NEW, dirfd, ANSWER);
}

bool lau_reload_answered(const char *run_dir, uint64_t since_ns, struct b_err *out)
{
	b_auto(b_str_release) struct b_str path = {0}, text = {0};
	unsigned long long started;
	int kind, at = 0;
	struct b_err none;

	b_str_addf(&path, "%s/" ANSWER, run_dir);
	if (b_read_file(path.s, ANSWER_MAX, &text, &none) < 0 ||
	    sscanf(b_str_c(&text), "%llu %d %n", &started, &kind, &at) < 2 || !at ||
	    started < since_ns)
		return false;
	b_fail(out, (enum b_kind)kind, 0, "%s", b_str_c(&text) + at);
	return true;
}
