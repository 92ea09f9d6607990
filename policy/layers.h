/*
 * layers.h - the documents of a run and what they settle.
 *
 *	struct pol_layers layers = {0};
 *	if (pol_layers_load(&rq, workspaces, n, &layers, &err) < 0) ...
 *	rq.layers = &layers;			(else pol_engine_new() loads them itself)
 *	pol_layers_release(&layers);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/model.h"
#include "policy/settings.h"

struct b_err;
struct pol_request;

struct pol_layers {
	struct pol_doc main;
	const char *main_name; /* how messages call it */
	struct pol_effect effect;
};

/* `workspaces` canonical. *out is released by pol_layers_release() on success. */
int pol_layers_load(const struct pol_request *, const char *const *workspaces, size_t nworkspaces,
		    struct pol_layers *out, struct b_err *err);
void pol_layers_release(struct pol_layers *);
