/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents_kept.h - the documents of a run that are read again while it lasts (--reloadable), and
 * how the one who asked for it (--reload) learns what came of it.
 *
 *	lau_documents_keep(&kept, &options, &dirs, &err);	when they were read first
 *	if (lau_documents_again(&kept, &engine, &err) < 0) ...	err has the place
 *	lau_reload_answer(dirfd, started_ns, &err);
 *	lau_documents_release(&kept);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct lau_dirs;
struct lau_options;
struct pol_engine;

/* The files of the run's documents, as they were first. */
struct lau_documents {
	const struct lau_options *o; /* borrowed */
	struct lau_dirs *dirs;	     /* borrowed */
	struct lau_document *v;
	size_t n, cap;
};

int lau_documents_keep(struct lau_documents *, const struct lau_options *, struct lau_dirs *,
		       struct b_err *err);
/* As they are now; *out is the caller's. What they say of endpoints alone may be other than first:
 * B_POLICY with the place of what else is. B_POLICY as well: one changed while it was read. */
int lau_documents_again(const struct lau_documents *, struct pol_engine **out, struct b_err *err);
void lau_documents_release(struct lau_documents *);

/* A file in the run's directory: what the reload that began then has come to; kind B_OK: it holds,
 * and the message says what it has changed. Errors are nobody's to hear. */
void lau_reload_answer(int dirfd, uint64_t started_ns, const struct b_err *);
/* Reads it: false when there is none of a reload that began at `since_ns` or later. */
bool lau_reload_answered(const char *run_dir, uint64_t since_ns, struct b_err *out);
/* The clock of both: CLOCK_MONOTONIC, which all processes share. */
uint64_t lau_reload_now_ns(void);
