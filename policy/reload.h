/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.h - other rules on endpoints in the place of those that a run began with. All else of the
 * images that come out is as in the first one, and numbers of rules and programs mean the same in
 * all of them (compile/past.h).
 *
 *	struct pol_reload *r = pol_reload_new(first, has_tls);
 *	pol_engine_new(&rq, &now, &err);
 *	if (pol_reload_image(r, now, &data, &size, &err) < 0) ...	nothing has changed
 *	pol_reload_free(r);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/document/model.h"

struct b_err;
struct b_str;
struct pol_engine;
struct pol_reload;

/* `first` is borrowed. has_tls: the run can look into what is encrypted. */
struct pol_reload *pol_reload_new(const struct pol_engine *first, bool has_tls);
/* The same rules as those of `now` (which needs no image) on endpoints, all else as in the first
 * engine; *out_data is malloc'ed. B_POLICY with a place: what a run cannot change (a socket's path,
 * a program that the first engine does not name, a first look into TLS). B_FLOOR: what would not be
 * enforced. B_LIMIT. */
int pol_reload_image(struct pol_reload *, const struct pol_engine *now, void **out_data,
		     size_t *out_size, struct b_err *err);
void pol_reload_free(struct pol_reload *);
/* The text of a document now, against that of the start: pol_front_unchanged(). */
int pol_reload_compare(const char *name, enum pol_dialect, const struct b_str *was,
		       const struct b_str *is, struct b_err *err);
